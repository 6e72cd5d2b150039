//! The lines of pytest-reportlog.
//!
//! A test has a line per stage, and with several workers those of different tests interleave. The
//! session's end is a line of its own; without it the run died.

mod repr;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::lines::Lines;
use super::pytest::{self, NodeId, Problem, Tried, When};
use super::{Head, InputFormat, Parser, number};
use crate::event::{Event, Sink};
use crate::model::{Note, NoteKind, RunError, RunErrorKind, SkipKind, Timestamp};
use repr::{problem_of, skip_reason, subtest_label};

/// The lines of pytest-reportlog.
pub(super) struct PytestReportlog;

impl InputFormat for PytestReportlog {
    fn name(&self) -> &'static str {
        "pytest-reportlog"
    }

    fn description(&self) -> &'static str {
        "pytest-reportlog (JSON lines)"
    }

    fn framework(&self) -> &'static str {
        "pytest"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.line_has(&["$report_type"])
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(ReportlogParser::default())
    }
}

#[derive(Default)]
struct ReportlogParser {
    lines: Lines,
    state: State,
}

#[derive(Default)]
struct State {
    /// Tests that started and did not end, by node id, in an order that does not change.
    open: BTreeMap<String, Open>,
    finished: bool,
    status: Option<i64>,
    failures: u64,
    run_errors: u64,
    noted: bool,
}

/// A test that is under way.
#[derive(Default)]
struct Open {
    tried: Tried,
    line: Option<u32>,
    keywords: Vec<String>,
    properties: Vec<String>,
    progress: Progress,
    /// The attempt ended in a rerun, so another one follows.
    rerun: bool,
    /// An attempt came before.
    again: bool,
}

/// How far an attempt is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    /// A rerun was announced, and no stage of it was seen.
    #[default]
    Waiting,
    Started,
    /// The test itself ran, which with `--setup-only` it does not.
    Called,
}

#[derive(serde::Deserialize)]
struct Line<'a> {
    #[serde(rename = "$report_type", default)]
    kind: String,
    #[serde(default)]
    nodeid: String,
    #[serde(default)]
    outcome: String,
    #[serde(default)]
    when: Option<String>,
    #[serde(default, borrow)]
    longrepr: Option<&'a RawValue>,
    #[serde(default, borrow)]
    location: Option<&'a RawValue>,
    #[serde(default)]
    keywords: Option<Keys>,
    #[serde(default)]
    sections: Option<Vec<(String, String)>>,
    #[serde(default, borrow)]
    user_properties: Option<&'a RawValue>,
    #[serde(default)]
    duration: Option<f64>,
    #[serde(default)]
    start: Option<f64>,
    #[serde(default)]
    wasxfail: Option<Value>,
    #[serde(default, rename = "_subtest.context")]
    subtest: Option<Value>,
    #[serde(default)]
    exitstatus: Option<i64>,
}

/// The keys of an object, in their order.
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeysVisitor;
        impl<'de> Visitor<'de> for KeysVisitor {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = Vec::new();
                while let Some((key, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
                    keys.push(key);
                }
                Ok(Keys(keys))
            }
        }
        deserializer.deserialize_map(KeysVisitor)
    }
}

impl Parser for ReportlogParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let state = &mut self.state;
        self.lines.feed(text, sink, |line, number, sink| {
            state.line(line, number, sink);
        });
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if let Some((line, number)) = self.lines.finish() {
            // A torn last line is told by the end that is missing.
            let whole = serde_json::from_str::<IgnoredAny>(&line).is_ok();
            if whole || self.state.finished {
                self.state.line(&line, number, sink);
            }
        }
        self.state.finish(sink);
    }
}

impl State {
    fn line(&mut self, line: &str, number: u64, sink: &mut dyn Sink) {
        let line = line.trim();
        if !line.starts_with('{') {
            if !line.is_empty() {
                self.note(sink);
            }
            return;
        }
        let repaired = super::json::repair(line);
        let what = format!("line {number}");
        let Some(line) = super::json::parse::<Line<'_>>(&repaired, &what, sink) else {
            self.run_errors += 1;
            return;
        };
        match line.kind.as_str() {
            "SessionStart" => self.finished = false,
            "SessionFinish" => {
                self.finished = true;
                // Several sessions in one file: the worst one stands.
                self.status = self.status.max(line.exitstatus);
            }
            "CollectReport" => self.collected(&line, sink),
            "TestReport" => self.stage(&line, sink),
            kind if kind.eq_ignore_ascii_case("SubTestReport") => self.subtest(&line),
            "WarningMessage" => {}
            _ => self.note(sink),
        }
    }

    fn note(&mut self, sink: &mut dyn Sink) {
        if !std::mem::replace(&mut self.noted, true) {
            let message = "lines that are no report of pytest are passed over";
            sink.note(Note::new(NoteKind::Noise, message));
        }
    }

    fn collected(&mut self, line: &Line<'_>, sink: &mut dyn Sink) {
        match line.outcome.as_str() {
            "failed" => {
                self.run_errors += 1;
                let problem = problem_of(line.longrepr);
                sink.error(pytest::collect_error(&line.nodeid, &problem.text));
            }
            "skipped" => {
                let tried = Tried {
                    skipped: Some((SkipKind::Skipped, skip_reason(line.longrepr))),
                    ..Tried::default()
                };
                let id = NodeId::new(&line.nodeid);
                tried.emit(pytest::case(&id, None, &[], &[]), false, sink);
            }
            _ => {}
        }
    }

    fn stage(&mut self, line: &Line<'_>, sink: &mut dyn Sink) {
        let when = When::of(line.when.as_deref().unwrap_or_default());
        let open = self.open.entry(line.nodeid.clone()).or_default();
        let is_new = open.progress == Progress::Waiting;
        open.read(line, when);
        if is_new && when == When::Setup {
            let id = NodeId::new(&line.nodeid);
            let case = pytest::case(&id, open.line, &[], &[]);
            sink.event(&Event::CaseStarted(case));
        }
        if when == When::Teardown || when == When::Unknown {
            self.end(&line.nodeid, sink);
        }
    }

    /// A subtest counts only if it failed: then its test did, whatever that one's own line says.
    fn subtest(&mut self, line: &Line<'_>) {
        let open = self.open.entry(line.nodeid.clone()).or_default();
        open.progress = open.progress.max(Progress::Started);
        if matches!(line.outcome.as_str(), "passed" | "skipped") {
            return;
        }
        let mut problem = problem_of(line.longrepr);
        let label = subtest_label(line.subtest.as_ref());
        if !label.is_empty() {
            let message = pytest::headline(&problem.text).to_owned();
            let own = if problem.message.is_empty() { message } else { problem.message };
            problem.message = own;
            problem.text = format!("subtest {label}\n{}", problem.text);
        }
        open.tried.problems.push((When::Call, problem));
    }

    /// An attempt is over.
    fn end(&mut self, nodeid: &str, sink: &mut dyn Sink) {
        let Some(mut open) = self.open.remove(nodeid) else {
            return;
        };
        open.emit(nodeid, sink);
        if open.rerun {
            let next = Open { again: true, ..Open::default() };
            self.open.insert(nodeid.to_owned(), next);
        } else {
            self.failures += u64::from(open.tried.is_failure());
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        for (nodeid, mut open) in std::mem::take(&mut self.open) {
            // A rerun that never came leaves a test that failed.
            self.failures += 1;
            if open.progress > Progress::Waiting {
                let text = "started and never ended";
                let problem = (When::Unknown, Problem::from_text(text));
                open.tried.problems.insert(0, problem);
                open.emit(&nodeid, sink);
            }
        }
        if !self.finished {
            let message = "the report has no end of the session: the run died, or it is truncated";
            sink.error(RunError::new(RunErrorKind::Report, message));
        } else if let Some(status) = self.status {
            pytest::check_status(status, self.failures, self.run_errors, sink);
        }
    }
}

impl Open {
    fn read(&mut self, line: &Line<'_>, when: When) {
        let reached = match when {
            When::Call => Progress::Called,
            _ => Progress::Started,
        };
        self.progress = self.progress.max(reached);
        let duration = line.duration.and_then(number::from_float);
        self.tried.duration = self.tried.duration.saturating_add(duration.unwrap_or_default());
        self.tried.started = self.tried.started.or_else(|| line.start.and_then(moment));
        if let Some(raw) = line.location
            && let Ok((_, line, _)) =
                serde_json::from_str::<(IgnoredAny, Option<i64>, IgnoredAny)>(raw.get())
        {
            self.line = self.line.or(pytest::line_from_zero(line));
        }
        if let Some(Keys(keys)) = &line.keywords
            && !keys.is_empty()
        {
            self.keywords.clone_from(keys);
        }
        if let Some(raw) = line.user_properties {
            self.read_properties(raw.get());
        }
        // Each stage repeats the output of those before it.
        if let Some(sections) = &line.sections
            && !sections.is_empty()
        {
            self.read_sections(sections);
        }
        match line.outcome.as_str() {
            "passed" => {}
            "skipped" if line.wasxfail.is_some() => {
                let reason = line.wasxfail.as_ref().and_then(Value::as_str);
                let reason = reason.unwrap_or_default().to_owned();
                self.tried.skipped = Some((SkipKind::ExpectedFailure, reason));
            }
            "skipped" => {
                self.tried.skipped = Some((SkipKind::Skipped, skip_reason(line.longrepr)));
            }
            word => {
                self.rerun |= word == "rerun";
                self.tried.problems.push((when, problem_of(line.longrepr)));
            }
        }
    }

    fn read_properties(&mut self, raw: &str) {
        let Ok(pairs) = serde_json::from_str::<Vec<(Value, Value)>>(raw) else {
            return;
        };
        if pairs.is_empty() {
            return;
        }
        let text = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        self.properties.clear();
        for (name, value) in pairs {
            self.properties.extend([text(name), text(value)]);
        }
    }

    fn read_sections(&mut self, sections: &[(String, String)]) {
        self.tried.stdout.clear();
        self.tried.stderr.clear();
        for (title, text) in sections {
            if title.contains("stdout") {
                self.tried.stdout.push_str(text);
            } else {
                self.tried.stderr.push_str(text);
                if !text.ends_with('\n') {
                    self.tried.stderr.push('\n');
                }
            }
        }
    }

    fn emit(&mut self, nodeid: &str, sink: &mut dyn Sink) {
        let id = NodeId::new(nodeid);
        let tags = id.markers(&self.keywords);
        let case = pytest::case(&id, self.line, &tags, &self.properties);
        self.tried.not_called = self.progress < Progress::Called;
        self.tried.emit(case, self.again, sink);
    }
}

fn moment(seconds: f64) -> Option<Timestamp> {
    let since_epoch = number::from_float(seconds)?;
    let nanos = i64::try_from(since_epoch.as_nanos()).ok()?;
    (nanos > 0).then(|| Timestamp::from_nanos(nanos))
}
