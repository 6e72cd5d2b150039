//! `GoogleTest`'s `--gtest_output=json`, <https://google.github.io/googletest/advanced.html#generating-a-json-report>.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::json::{self, Document};
use super::{Head, InputFormat, Parser, failure, number};
use crate::event::{Event, Sink};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Location, Note, NoteKind, Outcome, Pairs,
    RunError, RunErrorKind, Skip, SkipKind, Suite, Timestamp,
};
use crate::text::strip_ansi;

/// `GoogleTest`'s JSON.
pub(super) struct GoogletestJson;

impl InputFormat for GoogletestJson {
    fn name(&self) -> &'static str {
        "googletest-json"
    }

    fn description(&self) -> &'static str {
        "GoogleTest's --gtest_output=json"
    }

    fn framework(&self) -> &'static str {
        "googletest"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object_has(&["testsuites", "tests", "failures", "disabled"])
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(GoogletestParser {
            document: Document::new(&[&["testsuites"]]),
            state: State::default(),
        })
    }
}

struct GoogletestParser {
    document: Document,
    state: State,
}

#[derive(Default)]
struct State {
    suites: u64,
    tests: u64,
    failures: u64,
    unread: u64,
}

impl Parser for GoogletestParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let state = &mut self.state;
        self.document.feed(text, sink, |_, raw, sink| {
            state.suite(&json::repair(raw), sink);
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
    tests: Option<u64>,
    #[serde(default)]
    failures: u64,
    #[serde(default)]
    errors: u64,
}

#[derive(Deserialize)]
struct TestSuite {
    #[serde(default)]
    name: String,
    #[serde(default)]
    timestamp: String,
    #[serde(default)]
    time: String,
    #[serde(default)]
    testsuite: Vec<Test>,
    /// `RecordProperty` outside of tests, and counters.
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Test {
    #[serde(default)]
    name: String,
    #[serde(default)]
    file: String,
    #[serde(default)]
    line: Option<u32>,
    #[serde(default)]
    status: String,
    #[serde(default)]
    result: Option<String>,
    #[serde(default)]
    timestamp: String,
    #[serde(default)]
    time: String,
    #[serde(default)]
    failures: Vec<Problem>,
    #[serde(default)]
    skipped: Vec<Message>,
    /// `value_param`, `type_param`, and what `RecordProperty` added.
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Problem {
    #[serde(default)]
    failure: String,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    message: String,
}

impl State {
    fn suite(&mut self, raw: &str, sink: &mut dyn Sink) {
        self.suites += 1;
        let what = format!("test suite {}", self.suites);
        let Some(suite) = json::parse::<TestSuite>(raw, &what, sink) else {
            self.unread += 1;
            return;
        };
        let name = mend(&suite.name);
        let lineage = [&*name];
        let lineage = List::from(lineage.as_slice());
        // A failure of the suite itself has no file.
        let files = || suite.testsuite.iter().map(|test| test.file.as_str());
        let file = files().find(|file| !file.is_empty()).unwrap_or_default();
        for test in &suite.testsuite {
            self.tests += u64::from(!test.name.is_empty());
            self.failures += u64::from(test.emit(lineage, file, sink));
        }
        let counters = ["tests", "failures", "disabled", "errors", "skipped"];
        let properties = strings(&suite.others, &counters);
        sink.event(&Event::Suite(Suite {
            file,
            lineage,
            started: moment(&suite.timestamp),
            duration: number::seconds(&suite.time),
            properties: Pairs::new(&properties),
            ..Suite::default()
        }));
    }

    fn finish(&mut self, skeleton: &str, sink: &mut dyn Sink) {
        let Some(report) = json::parse::<Report>(skeleton, "the report", sink) else {
            return;
        };
        let claimed = report.failures.saturating_add(report.errors);
        if claimed > 0 && self.failures == 0 && self.unread == 0 {
            let message =
                format!("the report counts {claimed} failures, but none of its tests failed");
            sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
        if let Some(total) = report.tests
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

impl Test {
    /// Says what became of the test, and whether it failed.
    fn emit(&self, lineage: List<'_>, suite_file: &str, sink: &mut dyn Sink) -> bool {
        let texts: Vec<Cow<'_, str>> = self.failures.iter().map(Problem::text).collect();
        let details = texts.join("\n\n");
        let reason = self.skipped.iter().map(|skip| mend(&skip.message)).next();
        let outcome = self.outcome(&texts, &details, reason.as_deref().unwrap_or_default());
        let failed = matches!(outcome, Outcome::Failed(_));
        let name = if self.name.is_empty() {
            Cow::Borrowed("SetUpTestSuite or TearDownTestSuite")
        } else {
            mend(&self.name)
        };
        let properties = strings(&self.others, &["classname"]);
        let case = Case {
            id: CaseId {
                package: "",
                file: if self.file.is_empty() { suite_file } else { &self.file },
                suite: lineage,
                name: &name,
                parameters: "",
            },
            line: self.line.filter(|&line| line > 0),
            tags: List::EMPTY,
            properties: Pairs::new(&properties),
            attachments: Pairs::default(),
        };
        let attempt = Attempt {
            outcome,
            duration: number::seconds(&self.time),
            started: moment(&self.timestamp),
            ..Attempt::default()
        };
        sink.event(&Event::CaseFinished { case, attempt, again: false });
        failed
    }

    fn outcome<'a>(
        &self,
        texts: &'a [Cow<'a, str>],
        details: &'a str,
        reason: &'a str,
    ) -> Outcome<'a> {
        if let Some(first) = texts.first() {
            let details = if texts.len() > 1 { details } else { "" };
            return Outcome::Failed(failure_of(first, details));
        }
        // Before 1.10 there is no result.
        let result = self.result.as_deref().unwrap_or("COMPLETED");
        match (self.status.as_str(), result) {
            ("NOTRUN", _) | (_, "SUPPRESSED") => {
                Outcome::Skipped(Skip { kind: SkipKind::Disabled, reason })
            }
            (_, "SKIPPED") => {
                Outcome::Skipped(Skip { kind: SkipKind::Skipped, reason: split_place(reason).1 })
            }
            ("RUN", "COMPLETED") => Outcome::Passed,
            _ => Outcome::Failed(Failure {
                kind: FailureKind::Error,
                message: "the test has neither a known status nor a known result",
                ..Failure::default()
            }),
        }
    }
}

impl Problem {
    fn text(&self) -> Cow<'_, str> {
        match mend(&self.failure) {
            Cow::Borrowed(text) => strip_ansi(text.trim_end()),
            Cow::Owned(text) => Cow::Owned(strip_ansi(text.trim_end()).into_owned()),
        }
    }
}

fn failure_of<'a>(text: &'a str, details: &'a str) -> Failure<'a> {
    let (location, message) = split_place(text);
    let (expected, actual) = failure::expected_actual(message);
    Failure {
        kind: FailureKind::Failure,
        message: if message.is_empty() { text } else { message },
        type_name: "",
        details,
        stack_trace: "",
        expected,
        actual,
        location,
    }
}

/// Splits the place off: `cart_test.cc:16` or `unknown file` on a line of its own.
fn split_place(text: &str) -> (Option<Location<'_>>, &str) {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let place = failure::place_in(first);
    if place.is_some() || first == "unknown file" {
        (place, rest.trim())
    } else {
        (None, text.trim())
    }
}

/// A moment; the epoch stands for "never".
fn moment(text: &str) -> Option<Timestamp> {
    Timestamp::parse(text).filter(|moment| moment.nanos() > 0)
}

/// The entries that are plain values, except the named ones, as names and values.
fn strings(entries: &BTreeMap<String, Value>, except: &[&str]) -> Vec<String> {
    let mut pairs = Vec::new();
    for (name, value) in entries {
        let value = match value {
            Value::String(text) => mend(text).into_owned(),
            Value::Number(number) => number.to_string(),
            _ => continue,
        };
        if !except.contains(&name.as_str()) {
            pairs.extend([name.clone(), value]);
        }
    }
    pairs
}

/// `GoogleTest` escapes each byte of UTF-8 as a character of its own; this puts them together again.
fn mend(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.chars().all(|c| u32::from(c) < 0x100) {
        return Cow::Borrowed(text);
    }
    let bytes: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
    match bytes.map(String::from_utf8) {
        Some(Ok(mended)) => Cow::Owned(mended),
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_were_escaped_one_by_one_are_text_again() {
        assert_eq!(mend("gr\u{c3}\u{b6}\u{c3}\u{9f}e"), "größe");
        assert_eq!(mend("größe"), "größe");
        assert_eq!(mend("日本"), "日本");
    }
}
