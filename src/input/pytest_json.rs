//! The report of pytest-json-report.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::json::{self, Document};
use super::pytest::{self, Frame, NodeId, Problem, Tried, When};
use super::{Head, InputFormat, Parser, number};
use crate::event::{Event, Sink, Tool};
use crate::model::{Note, NoteKind, SkipKind, Timestamp};
use crate::text::strip_ansi;

/// The report of pytest-json-report.
pub(super) struct PytestJson;

impl InputFormat for PytestJson {
    fn name(&self) -> &'static str {
        "pytest-json"
    }

    fn description(&self) -> &'static str {
        "pytest-json-report"
    }

    fn framework(&self) -> &'static str {
        "pytest"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object_has(&["created", "duration", "exitcode", "root"])
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(PytestJsonParser {
            document: Document::new(&[&["tests"], &["collectors"], &["warnings"]]),
            state: State::default(),
        })
    }
}

struct PytestJsonParser {
    document: Document,
    state: State,
}

#[derive(Default)]
struct State {
    tests: u64,
    failures: u64,
    run_errors: u64,
    unread: u64,
}

impl Parser for PytestJsonParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let state = &mut self.state;
        self.document.feed(text, sink, |array, raw, sink| match array {
            0 => state.test(&json::repair(raw), sink),
            1 => state.collector(&json::repair(raw), sink),
            _ => {}
        });
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        match self.document.finish() {
            Ok(skeleton) => self.state.finish(&json::repair(&skeleton), sink),
            Err(error) => sink.error(error),
        }
    }
}

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    created: Option<f64>,
    #[serde(default)]
    duration: Option<f64>,
    #[serde(default)]
    exitcode: Option<i64>,
    #[serde(default)]
    summary: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Test<'a> {
    nodeid: String,
    #[serde(default)]
    lineno: Option<i64>,
    outcome: String,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default, borrow)]
    user_properties: Option<&'a RawValue>,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(default, borrow)]
    setup: Option<Stage<'a>>,
    #[serde(default, borrow)]
    call: Option<Stage<'a>>,
    #[serde(default, borrow)]
    teardown: Option<Stage<'a>>,
    /// xdist's word for a worker that died.
    #[serde(default, borrow, rename = "???")]
    unknown: Option<Stage<'a>>,
}

#[derive(Deserialize)]
struct Stage<'a> {
    #[serde(default)]
    duration: Option<f64>,
    outcome: String,
    #[serde(default)]
    crash: Option<Place>,
    #[serde(default)]
    traceback: Vec<Place>,
    #[serde(default)]
    stdout: String,
    #[serde(default)]
    stderr: String,
    #[serde(default, borrow)]
    log: Option<&'a RawValue>,
    #[serde(default)]
    longrepr: String,
}

#[derive(Deserialize)]
struct Place {
    #[serde(default)]
    path: String,
    #[serde(default)]
    lineno: Option<i64>,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
struct Collector {
    nodeid: String,
    outcome: String,
    #[serde(default)]
    longrepr: String,
}

impl State {
    fn test(&mut self, raw: &str, sink: &mut dyn Sink) {
        let what = format!("test {}", self.tests + 1);
        self.tests += 1;
        let Some(test) = json::parse::<Test<'_>>(raw, &what, sink) else {
            self.unread += 1;
            return;
        };
        let tried = test.tried();
        self.failures += u64::from(tried.is_failure());
        let id = NodeId::new(&test.nodeid);
        let tags = id.markers(&test.keywords);
        let mut properties = Vec::new();
        for raw in [test.user_properties, test.metadata].into_iter().flatten() {
            collect_properties(raw.get(), &mut properties);
        }
        let line = pytest::line_from_zero(test.lineno);
        let case = pytest::case(&id, line, &tags, &properties);
        // pytest-rerunfailures: only the last attempt is in the report.
        let rerun = test.outcome == "rerun";
        if rerun {
            let words = "failed in an earlier attempt, which the report does not hold";
            let lost = Tried {
                problems: vec![(When::Call, Problem::from_text(words))],
                ..Tried::default()
            };
            lost.emit(case, false, sink);
        }
        tried.emit(case, rerun, sink);
    }

    fn collector(&mut self, raw: &str, sink: &mut dyn Sink) {
        let Some(collector) = json::parse::<Collector>(raw, "a collector", sink) else {
            self.run_errors += 1;
            return;
        };
        match collector.outcome.as_str() {
            "failed" => {
                self.run_errors += 1;
                sink.error(pytest::collect_error(&collector.nodeid, &collector.longrepr));
            }
            "skipped" => {
                let id = NodeId::new(&collector.nodeid);
                let tried = Tried {
                    skipped: Some((SkipKind::Skipped, skip_reason(&collector.longrepr))),
                    ..Tried::default()
                };
                tried.emit(pytest::case(&id, None, &[], &[]), false, sink);
            }
            _ => {}
        }
    }

    fn finish(&mut self, skeleton: &str, sink: &mut dyn Sink) {
        let Some(report) = json::parse::<Report>(skeleton, "the report", sink) else {
            return;
        };
        let started = report
            .created
            .and_then(moment)
            .zip(report.duration.and_then(number::from_float))
            .and_then(|(end, duration)| {
                let nanos = i64::try_from(duration.as_nanos()).ok()?;
                Some(Timestamp::from_nanos(end.nanos().checked_sub(nanos)?))
            });
        sink.event(&Event::Tool(Tool {
            framework: PytestJson.framework(),
            started,
            duration: report.duration.and_then(number::from_float),
        }));
        let run_errors = self.run_errors + self.unread;
        if let Some(status) = report.exitcode {
            pytest::check_status(status, self.failures, run_errors, sink);
        }
        let count = |name: &str| report.summary.get(name).and_then(Value::as_u64);
        if let Some(total) = count("total")
            && total != self.tests
        {
            let message = format!(
                "the report counts {total} tests, but has {}; its tests are believed",
                self.tests
            );
            sink.note(Note::new(NoteKind::Count, message));
        }
    }
}

impl Test<'_> {
    fn tried(&self) -> Tried {
        let mut tried = Tried { is_error: self.outcome == "error", ..Tried::default() };
        for (when, stage) in [
            (When::Setup, &self.setup),
            (When::Call, &self.call),
            (When::Unknown, &self.unknown),
            (When::Teardown, &self.teardown),
        ] {
            if let Some(stage) = stage {
                stage.add_to(&mut tried, when, self.outcome == "xfailed");
            }
        }
        if !tried.is_failure() && tried.skipped.is_none() {
            self.add_own_outcome(&mut tried);
        }
        tried
    }

    /// Stages may be left out of the report, and then the test's own outcome is all there is.
    fn add_own_outcome(&self, tried: &mut Tried) {
        match self.outcome.as_str() {
            "passed" | "xpassed" | "rerun" => {}
            "skipped" => tried.skipped = Some((SkipKind::Skipped, String::new())),
            "xfailed" => tried.skipped = Some((SkipKind::ExpectedFailure, String::new())),
            outcome => {
                let text = format!("the report calls it \"{outcome}\", and does not say why");
                let problem = (When::Call, Problem::from_text(&text));
                tried.problems.push(problem);
            }
        }
    }
}

impl Stage<'_> {
    fn add_to(&self, tried: &mut Tried, when: When, expected: bool) {
        let duration = self.duration.and_then(number::from_float);
        tried.duration = tried.duration.saturating_add(duration.unwrap_or_default());
        tried.stdout.push_str(&self.stdout);
        tried.stderr.push_str(&self.stderr);
        if let Some(log) = self.log {
            append_log(log.get(), &mut tried.stderr);
        }
        match self.outcome.as_str() {
            "passed" => {}
            "skipped" if expected => {
                let reason = self.crash.as_ref().map(|crash| crash.message.clone());
                let reason = reason.unwrap_or_else(|| skip_reason(&self.longrepr));
                tried.skipped = Some((SkipKind::ExpectedFailure, reason));
            }
            "skipped" => {
                let reason = skip_reason(&self.longrepr);
                tried.skipped = Some((SkipKind::Skipped, reason));
            }
            _ => tried.problems.push((when, self.problem())),
        }
    }

    fn problem(&self) -> Problem {
        let crash = self.crash.as_ref();
        Problem {
            message: crash.map_or(String::new(), |crash| strip_ansi(&crash.message).into_owned()),
            text: strip_ansi(&self.longrepr).into_owned(),
            frames: self.traceback.iter().map(Place::frame).collect(),
            crash: crash.map(Place::frame),
        }
    }
}

impl Place {
    fn frame(&self) -> Frame {
        Frame {
            path: self.path.clone(),
            line: pytest::line_from_one(self.lineno),
            message: self.message.clone(),
        }
    }
}

fn moment(seconds: f64) -> Option<Timestamp> {
    let since_epoch = number::from_float(seconds)?;
    i64::try_from(since_epoch.as_nanos()).ok().map(Timestamp::from_nanos)
}

/// The reason in `('/builds/test_a.py', 37, 'Skipped: no coupons yet')`.
fn skip_reason(text: &str) -> String {
    let reason = text.split_once("Skipped: ").map_or(text, |(_, reason)| reason);
    let reason = reason.strip_suffix("')").or_else(|| reason.strip_suffix("\")")).unwrap_or(reason);
    strip_ansi(reason).into_owned()
}

/// The records of `logging`, as far as they have a message.
fn append_log(raw: &str, output: &mut String) {
    let Ok(records) = serde_json::from_str::<Vec<Value>>(raw) else {
        return;
    };
    for record in &records {
        let word = |key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default();
        let (level, message) = (word("levelname"), word("msg"));
        let _ = writeln!(output, "{level} {}: {message}", word("name"));
    }
}

/// Pairs from `{"a": 1}` or from `[{"a": 1}, …]`.
fn collect_properties(raw: &str, properties: &mut Vec<String>) {
    let objects = match serde_json::from_str::<Value>(raw) {
        Ok(Value::Array(items)) => items,
        Ok(value) => vec![value],
        Err(_) => return,
    };
    for object in objects {
        let Value::Object(object) = object else {
            continue;
        };
        for (name, value) in object {
            let value = match value {
                Value::String(text) => text,
                other => other.to_string(),
            };
            properties.extend([name, value]);
        }
    }
}
