//! The JSON lines of Rust's `libtest`, and of cargo-nextest in the same format.
//!
//! nextest names the program in front of each test (`shop::orders$parses`), runs programs at the same
//! time, and numbers the last attempt (`parses#2`) without a word on the earlier ones.
//! See <https://nexte.st/docs/machine-readable/libtest-json/>.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::capped::Capped;
use super::libtest::{Binary, Build, emit, explain};
use super::lines::Lines;
use super::{Head, InputFormat, Parser, json, number};
use crate::event::{Event, Sink, Tool};
use crate::model::{
    Failure, FailureKind, Note, NoteKind, Outcome, RunError, RunErrorKind, Skip, SkipKind,
    Suite as SuiteFacts,
};
use crate::text::strip_ansi;

/// More attempts than these are not believed.
const MAX_ATTEMPTS: u32 = 100;

/// JSON lines of libtest and nextest.
pub(super) struct LibtestJson;

impl InputFormat for LibtestJson {
    fn name(&self) -> &'static str {
        "libtest-json"
    }

    fn description(&self) -> &'static str {
        "JSON lines of cargo test and cargo nextest"
    }

    fn framework(&self) -> &'static str {
        "cargo-test"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        !head.is_markup()
            && head.text.lines().take(5000).any(|line| {
                event_start(line).is_some_and(|at| {
                    let text = &line[at..];
                    super::head::has_key(text, "event")
                        && ["suite", "test", "bench"].iter().any(|word| {
                            text.contains(&format!("\"type\": \"{word}\""))
                                || text.contains(&format!("\"type\":\"{word}\""))
                        })
                })
            })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(LibtestJsonParser::default())
    }
}

/// Where an event starts in a line; text without a line end may stand before it.
fn event_start(line: &str) -> Option<usize> {
    line.find("{ \"type\": \"").or_else(|| line.find("{\"type\":\""))
}

#[derive(Default)]
struct LibtestJsonParser {
    lines: Lines,
    state: State,
}

impl Parser for LibtestJsonParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let state = &mut self.state;
        self.lines.feed(text, sink, |line, _, sink| state.line(line, sink));
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if let Some((last, _)) = self.lines.finish() {
            self.state.line(&last, sink);
        }
        self.state.finish(sink);
    }
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    event: Cow<'a, str>,
    #[serde(default, borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    exec_time: Option<&'a RawValue>,
    #[serde(default, borrow)]
    stdout: Cow<'a, str>,
    #[serde(default, borrow)]
    message: Cow<'a, str>,
    #[serde(default, borrow)]
    reason: Cow<'a, str>,
    test_count: Option<u64>,
    passed: Option<u64>,
    failed: Option<u64>,
    ignored: Option<u64>,
    #[serde(borrow)]
    nextest: Option<Nextest<'a>>,
}

#[derive(Deserialize)]
struct Nextest<'a> {
    #[serde(rename = "crate", borrow)]
    package: Cow<'a, str>,
    #[serde(borrow)]
    test_binary: Cow<'a, str>,
}

/// A suite between its start and its end.
#[derive(Default)]
struct Suite {
    binary: Binary,
    /// What nextest puts before the names of its tests, if that is known.
    prefix: String,
    planned: u64,
    passed: u64,
    failed: u64,
    ignored: u64,
}

#[derive(Default)]
struct State {
    suites: Vec<Suite>,
    /// Tests that started and did not end, with what was printed meanwhile.
    open: BTreeMap<String, Capped>,
    announced: Binary,
    build: Build,
    is_nextest: bool,
    /// The prefix of the last test that ended.
    last_prefix: String,
    /// Some event came, be it one that cannot be read.
    seen_event: bool,
    noted_noise: bool,
}

impl State {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) {
        let Some(at) = event_start(line) else {
            return self.noise(line, sink);
        };
        if at > 0 {
            self.noise(&line[..at], sink);
        }
        let raw = json::repair(&line[at..]);
        let Some(event) = json::parse::<Line<'_>>(&raw, "an event", sink) else {
            self.seen_event = true;
            return;
        };
        match (event.kind.as_ref(), event.event.as_ref()) {
            ("suite", "started") => self.suite_started(&event, sink),
            ("suite", "ok" | "failed") => self.suite_ended(&event, sink),
            ("test", "started") => {
                self.look_at_name(&event.name, sink);
                self.open.insert(event.name.into_owned(), Capped::default());
            }
            ("test", "timeout") => {
                let message = format!("{} takes long", event.name);
                sink.note(Note::new(NoteKind::Message, message));
            }
            ("test" | "bench", _) => self.test_ended(&event, sink),
            _ => {}
        }
    }

    fn noise(&mut self, line: &str, sink: &mut dyn Sink) {
        if let Some(binary) = Binary::announced(&strip_ansi(line)) {
            self.announced = binary;
            return;
        }
        if self.suites.is_empty() {
            return self.build.line(line, sink);
        }
        if line.trim().is_empty() {
            return;
        }
        if self.open.len() == 1
            && let Some(output) = self.open.values_mut().next()
        {
            output.push(line);
            return output.push("\n");
        }
        if !std::mem::replace(&mut self.noted_noise, true) {
            let message = "lines that are no events are passed over";
            sink.note(Note::new(NoteKind::Noise, message));
        }
    }

    fn suite_started(&mut self, event: &Line<'_>, sink: &mut dyn Sink) {
        self.seen_event = true;
        self.build.clear();
        if event.nextest.is_some() {
            self.is_nextest = true;
            tool("nextest", sink);
        }
        // One program after the other: if one is still open, it died.
        if !self.is_nextest {
            self.close_suites(sink);
        }
        let mut suite = Suite {
            binary: std::mem::take(&mut self.announced),
            planned: event.test_count.unwrap_or(0),
            ..Suite::default()
        };
        if let Some(nextest) = &event.nextest {
            suite.prefix = format!("{}::{}", nextest.package, nextest.test_binary);
            suite.binary.package = binary_id(&suite.prefix);
        }
        self.suites.push(suite);
    }

    /// Without its own member, nextest shows in the names.
    fn look_at_name(&mut self, name: &str, sink: &mut dyn Sink) {
        if !self.is_nextest && nextest_name(name).is_some() {
            self.is_nextest = true;
            tool("nextest", sink);
        }
    }

    fn test_ended(&mut self, event: &Line<'_>, sink: &mut dyn Sink) {
        let (name, attempts) = self.without_attempt(&event.name);
        self.look_at_name(name, sink);
        let printed = self.open.remove(name).map_or_else(String::new, |mut text| text.take());
        let output =
            if event.stdout.is_empty() { printed } else { event.stdout.clone().into_owned() };
        let (prefix, own) = nextest_name(name).unwrap_or(("", name));
        let plain = strip_ansi(&output);
        let outcome = outcome_of(event, own, &plain);
        self.count(prefix, &outcome);
        let duration = event.exec_time.and_then(|raw| {
            let text = raw.get().trim_matches('"');
            number::seconds(text)
        });
        let binary = self.binary_of(prefix);
        for attempt in 1..attempts {
            let failure = Failure {
                message: "an earlier attempt failed; the report does not say how",
                ..Failure::default()
            };
            let again = attempt > 1;
            emit(&binary, own, Outcome::Failed(failure), (None, "", again), sink);
        }
        emit(&binary, own, outcome, (duration, &output, attempts > 1), sink);
    }

    /// The name without nextest's `#2`, and how many attempts there were.
    fn without_attempt<'a>(&self, name: &'a str) -> (&'a str, u32) {
        if self.open.contains_key(name) {
            return (name, 1);
        }
        match name.rsplit_once('#') {
            Some((bare, count)) if self.open.contains_key(bare) => {
                let count = count.parse().unwrap_or(1);
                (bare, u32::clamp(count, 1, MAX_ATTEMPTS))
            }
            _ => (name, 1),
        }
    }

    fn count(&mut self, prefix: &str, outcome: &Outcome<'_>) {
        prefix.clone_into(&mut self.last_prefix);
        let index = self.suites.iter().rposition(|suite| suite.prefix == prefix);
        let suite = match index {
            Some(index) => self.suites.get_mut(index),
            None => self.suites.last_mut(),
        };
        self.seen_event = true;
        let Some(suite) = suite else {
            return;
        };
        match outcome {
            Outcome::Passed => suite.passed += 1,
            Outcome::Failed(_) => suite.failed += 1,
            Outcome::Skipped(_) | Outcome::NotRun => suite.ignored += 1,
        }
    }

    fn binary_of(&self, prefix: &str) -> Binary {
        if !prefix.is_empty() {
            return Binary { package: binary_id(prefix), file: String::new() };
        }
        let suite = self.suites.last();
        suite.map_or_else(Binary::default, |suite| suite.binary.clone())
    }

    fn suite_ended(&mut self, event: &Line<'_>, sink: &mut dyn Sink) {
        let prefix = match &event.nextest {
            Some(nextest) => format!("{}::{}", nextest.package, nextest.test_binary),
            None => String::new(),
        };
        let index = self.suites.iter().rposition(|suite| suite.prefix == prefix);
        let Some(suite) = index.map(|index| self.suites.remove(index)) else {
            return;
        };
        let tests = self.open_tests(&prefix);
        let unsaid = event.ignored.unwrap_or(0).saturating_sub(suite.ignored);
        let (mut ignored, mut crashed) = (0, false);
        for name in tests {
            // nextest says in the suite's end only that a test was ignored.
            if ignored < unsaid {
                ignored += 1;
                self.open.remove(&name);
                let (prefix, own) = nextest_name(&name).unwrap_or(("", &name));
                let outcome = Outcome::Skipped(Skip::default());
                emit(&self.binary_or(&suite, prefix), own, outcome, (None, "", false), sink);
            } else {
                crashed = true;
                self.crash(&name, &suite, sink);
            }
        }
        let differs = event.passed.is_some_and(|passed| passed != suite.passed)
            || event.failed.is_some_and(|failed| failed != suite.failed);
        if differs {
            let message = "a suite's own counts are not those of its tests";
            sink.note(Note::new(NoteKind::Count, message));
        }
        if event.event == "failed" && suite.failed == 0 && !crashed {
            let message = "a suite says that it failed, and no test in it did";
            let error = RunError::new(RunErrorKind::Contradiction, message);
            sink.error(error.in_scope(suite.binary.package.clone()));
        }
        let duration = event.exec_time.map(|raw| raw.get().trim_matches('"'));
        if !suite.binary.package.is_empty() {
            sink.event(&Event::Suite(SuiteFacts {
                package: &suite.binary.package,
                file: &suite.binary.file,
                duration: duration.and_then(number::seconds),
                ..SuiteFacts::default()
            }));
        }
    }

    /// The open tests of the suite that ends: by its prefix, or by that of the last test.
    fn open_tests(&self, prefix: &str) -> Vec<String> {
        let prefix =
            if prefix.is_empty() && !self.suites.is_empty() { &self.last_prefix } else { prefix };
        if prefix.is_empty() {
            return self.open.keys().cloned().collect();
        }
        let start = format!("{prefix}$");
        let from = self.open.range(start.clone()..);
        from.map(|(name, _)| name).take_while(|name| name.starts_with(&start)).cloned().collect()
    }

    fn binary_or(&self, suite: &Suite, prefix: &str) -> Binary {
        if prefix.is_empty() { suite.binary.clone() } else { self.binary_of(prefix) }
    }

    /// A test that started and did not end.
    fn crash(&mut self, name: &str, suite: &Suite, sink: &mut dyn Sink) {
        let output = self.open.remove(name).map_or_else(String::new, |mut text| text.take());
        self.seen_event = true;
        let (prefix, own) = nextest_name(name).unwrap_or(("", name));
        let failure = Failure {
            kind: FailureKind::Crash,
            message: "started and never ended",
            ..Failure::default()
        };
        let binary = self.binary_or(suite, prefix);
        emit(&binary, own, Outcome::Failed(failure), (None, &output, false), sink);
    }

    /// Ends the suites that have no end.
    fn close_suites(&mut self, sink: &mut dyn Sink) {
        let suites = std::mem::take(&mut self.suites);
        let Some(suite) = suites.last() else {
            return;
        };
        let names: Vec<String> = self.open.keys().cloned().collect();
        for name in &names {
            self.crash(name, suite, sink);
        }
        let came = suite.passed + suite.failed + suite.ignored + names.len() as u64;
        if !self.is_nextest && suite.planned > came {
            sink.event(&Event::Missing(suite.planned - came));
        }
        if names.is_empty() {
            let message = "a suite has no end: the tests died, or the report is truncated";
            let error = RunError::new(RunErrorKind::Report, message);
            sink.error(error.in_scope(suite.binary.package.clone()));
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.close_suites(sink);
        let strays: Vec<String> = self.open.keys().cloned().collect();
        for name in strays {
            self.crash(&name, &Suite::default(), sink);
        }
        self.build.finish(sink);
        if !self.seen_event && !self.build.any_failed {
            let message = "there is no suite in it";
            sink.error(RunError::new(RunErrorKind::Report, message));
        }
    }
}

fn tool(framework: &str, sink: &mut dyn Sink) {
    sink.event(&Event::Tool(Tool { framework, ..Tool::default() }));
}

/// Splits nextest's `crate::binary$test`.
fn nextest_name(name: &str) -> Option<(&str, &str)> {
    let (prefix, own) = name.split_once('$')?;
    (prefix.contains("::") && !prefix.contains(' ')).then_some((prefix, own))
}

/// nextest calls the program of a library by the package alone.
fn binary_id(prefix: &str) -> String {
    match prefix.split_once("::") {
        Some((package, binary)) if package.replace('-', "_") == binary.replace('-', "_") => {
            package.to_owned()
        }
        _ => prefix.to_owned(),
    }
}

fn outcome_of<'a>(event: &'a Line<'_>, name: &str, output: &'a str) -> Outcome<'a> {
    let reason: &str = if event.reason.is_empty() { &event.message } else { &event.reason };
    let skipped = |kind| Outcome::Skipped(Skip { kind, reason });
    match event.event.as_ref() {
        "ok" => Outcome::Passed,
        _ if event.kind == "bench" => Outcome::Passed,
        "ignored" => skipped(SkipKind::Skipped),
        "allowed_failure" => skipped(SkipKind::ExpectedFailure),
        "failed" => {
            let mut failure = explain(output, name, reason);
            if reason == "time limit exceeded" {
                failure.kind = FailureKind::Timeout;
            }
            Outcome::Failed(failure)
        }
        other => {
            let kind = FailureKind::Error;
            let message = if other.is_empty() {
                "its event does not say how it ended"
            } else {
                "it ended in a way that is not known"
            };
            Outcome::Failed(Failure { kind, message, ..Failure::default() })
        }
    }
}
