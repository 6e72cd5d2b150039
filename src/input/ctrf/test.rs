//! One test of a CTRF report and its attempts.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::event::{Event, Sink};
use crate::input::json::{self, Text, nullable};
use crate::input::{failure, number};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Outcome, Pairs, Skip, SkipKind, Timestamp,
};
use crate::text::strip_ansi;

/// More attempts than this are not told one by one: the number comes from the report.
const MAX_ATTEMPTS: u64 = 100;

/// A test.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Test<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    status: Text<'a>,
    #[serde(borrow, default)]
    raw_status: Text<'a>,
    duration: Option<f64>,
    start: Option<f64>,
    #[serde(borrow, default)]
    message: Text<'a>,
    #[serde(borrow, default)]
    trace: Text<'a>,
    #[serde(borrow, default)]
    snippet: Text<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    stdout: Texts<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    stderr: Texts<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    suite: Texts<'a>,
    line: Option<u32>,
    #[serde(borrow, default)]
    file_path: Text<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    tags: Texts<'a>,
    retries: Option<u64>,
    flaky: Option<bool>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    retry_attempts: Vec<Retry<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    attachments: Vec<Attached<'a>>,
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    browser: Text<'a>,
    #[serde(borrow, default)]
    device: Text<'a>,
    #[serde(borrow)]
    extra: Option<&'a RawValue>,
}

/// An attempt before the last.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Retry<'a> {
    #[serde(borrow, default)]
    status: Text<'a>,
    #[serde(borrow, default)]
    raw_status: Text<'a>,
    duration: Option<f64>,
    start: Option<f64>,
    #[serde(borrow, default)]
    message: Text<'a>,
    #[serde(borrow, default)]
    trace: Text<'a>,
    #[serde(borrow, default)]
    snippet: Text<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    stdout: Texts<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    stderr: Texts<'a>,
}

/// A list of strings, or one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Texts<'a> {
    One(#[serde(borrow)] Text<'a>),
    Many(#[serde(borrow)] Vec<Text<'a>>),
}

impl Default for Texts<'_> {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Texts<'_> {
    fn iter(&self) -> impl Iterator<Item = &str> {
        let texts = match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        };
        texts.iter().map(|text| &**text)
    }

    fn joined(&self) -> String {
        self.iter().collect()
    }
}

#[derive(Deserialize)]
struct Attached<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    path: Text<'a>,
}

/// What a test and a retry have in common.
struct Result<'t> {
    status: &'t str,
    raw_status: &'t str,
    duration: Option<f64>,
    start: Option<f64>,
    message: &'t str,
    trace: &'t str,
    snippet: &'t str,
    stdout: String,
    stderr: String,
}

impl Test<'_> {
    /// Says what became of the test, attempt by attempt, and tells whether it failed.
    pub(super) fn emit(&self, sink: &mut dyn Sink) -> bool {
        let suite: Vec<&str> = match &self.suite {
            // Reporters join the names of suites.
            Texts::One(joined) => joined.split(" > ").filter(|name| !name.is_empty()).collect(),
            Texts::Many(_) => self.suite.iter().collect(),
        };
        let tags: Vec<&str> =
            self.tags.iter().map(|tag| tag.strip_prefix('@').unwrap_or(tag)).collect();
        let properties = self.properties();
        let attachments: Vec<&str> = self
            .attachments
            .iter()
            .filter(|attached| !attached.path.is_empty())
            .flat_map(|attached| [&*attached.name, &*attached.path])
            .collect();
        let case = Case {
            id: CaseId {
                file: &self.file_path,
                suite: List::from(&suite),
                name: &self.name,
                ..CaseId::default()
            },
            line: self.line.filter(|&line| line > 0),
            tags: List::from(&tags),
            properties: Pairs::new(&properties),
            attachments: Pairs::new(&attachments),
        };
        let again = self.emit_earlier(&case, sink);
        self.last().emit(&case, again, sink)
    }

    fn emit_earlier(&self, case: &Case<'_>, sink: &mut dyn Sink) -> bool {
        let retries = self.retries.unwrap_or(0);
        let mut told = self.retry_attempts.len();
        // Some reporters list the last attempt as well.
        if told > 0 && told as u64 > retries && retries > 0 {
            told -= 1;
        }
        for (index, retry) in self.retry_attempts.iter().take(told).enumerate() {
            retry.result().emit(case, index > 0, sink);
        }
        if told > 0 {
            return true;
        }
        let untold = match (&*self.status, self.flaky) {
            ("passed", Some(true)) => retries.max(1),
            ("passed", None) | ("failed", _) => retries,
            _ => 0,
        };
        let failure = Failure {
            message: "an earlier attempt failed, and the report does not say why",
            ..Failure::default()
        };
        for index in 0..untold.min(MAX_ATTEMPTS) {
            let attempt = Attempt { outcome: Outcome::Failed(failure), ..Attempt::default() };
            sink.event(&Event::CaseFinished { case: *case, attempt, again: index > 0 });
        }
        untold > 0
    }

    fn last(&self) -> Result<'_> {
        Result {
            status: &self.status,
            raw_status: &self.raw_status,
            duration: self.duration,
            start: self.start,
            message: &self.message,
            trace: &self.trace,
            snippet: &self.snippet,
            stdout: self.stdout.joined(),
            stderr: self.stderr.joined(),
        }
    }

    fn properties(&self) -> Vec<String> {
        let own = [("type", &self.kind), ("browser", &self.browser), ("device", &self.device)];
        let own = own
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .flat_map(|(name, value)| [name.to_owned(), value.to_string()]);
        let extra = self.extra.map_or("null", RawValue::get);
        let extra: BTreeMap<String, &RawValue> = serde_json::from_str(extra).unwrap_or_default();
        let says_something = |raw: &RawValue| !matches!(raw.get(), "null" | "[]" | "{}" | "\"\"");
        let extra = extra
            .into_iter()
            .filter(|(_, value)| says_something(value))
            .flat_map(|(name, value)| [name, json::plain(value)]);
        own.chain(extra).collect()
    }
}

impl Retry<'_> {
    fn result(&self) -> Result<'_> {
        Result {
            status: &self.status,
            raw_status: &self.raw_status,
            duration: self.duration,
            start: self.start,
            message: &self.message,
            trace: &self.trace,
            snippet: &self.snippet,
            stdout: self.stdout.joined(),
            stderr: self.stderr.joined(),
        }
    }
}

impl Result<'_> {
    fn emit(&self, case: &Case<'_>, again: bool, sink: &mut dyn Sink) -> bool {
        let message = strip_ansi(self.message);
        let trace = strip_ansi(self.trace);
        let (_, rest) = failure::first_paragraph(&message);
        let mut details = rest.to_owned();
        if !self.snippet.is_empty() {
            let gap = if rest.is_empty() { "" } else { "\n\n" };
            details.push_str(gap);
            details.push_str(&strip_ansi(self.snippet));
        }
        let outcome = self.outcome(&message, &details, &trace);
        let attempt = Attempt {
            outcome,
            duration: self.duration.and_then(number::from_millis),
            started: self.start.and_then(moment),
            stdout: &self.stdout,
            stderr: &self.stderr,
        };
        sink.event(&Event::CaseFinished { case: *case, attempt, again });
        matches!(outcome, Outcome::Failed(_))
    }

    fn outcome<'t>(&'t self, message: &'t str, details: &'t str, trace: &'t str) -> Outcome<'t> {
        let reason = failure::first_line(message);
        let skipped = |kind| Outcome::Skipped(Skip { kind, reason });
        match (self.status, self.raw_status) {
            ("passed", _) => Outcome::Passed,
            ("failed", "timedOut" | "timeout" | "timedout") => {
                Outcome::Failed(failed(FailureKind::Timeout, message, details, trace))
            }
            ("failed", _) => Outcome::Failed(failed(FailureKind::Failure, message, details, trace)),
            ("skipped" | "pending", "xfailed" | "xfail") => skipped(SkipKind::ExpectedFailure),
            ("skipped" | "pending" | "other", "todo") => skipped(SkipKind::Todo),
            ("skipped" | "pending" | "other", "disabled") => skipped(SkipKind::Disabled),
            ("skipped" | "pending", _) | ("other", "skipped" | "pending" | "ignored") => {
                skipped(SkipKind::Skipped)
            }
            _ => Outcome::Failed(Failure {
                message: if message.is_empty() {
                    "neither passed nor failed nor skipped"
                } else {
                    message
                },
                details: if self.raw_status.is_empty() { self.status } else { self.raw_status },
                ..failed(FailureKind::Error, message, details, trace)
            }),
        }
    }
}

fn failed<'t>(
    kind: FailureKind,
    message: &'t str,
    details: &'t str,
    trace: &'t str,
) -> Failure<'t> {
    let (before, frames) = failure::split_trace(trace);
    // The trace often begins with the message, which is there already.
    let stack_trace = if before.trim() == message.trim() { frames } else { trace };
    let (expected, actual) = failure::expected_actual(message);
    let (first, _) = failure::first_paragraph(message);
    let first = if first.is_empty() { failure::first_line(trace) } else { first };
    Failure {
        kind,
        message: if first.is_empty() { "failed, and the report does not say why" } else { first },
        type_name: failure::type_name(first),
        details,
        stack_trace,
        expected,
        actual,
        location: failure::locate(trace),
    }
}

/// A moment in milliseconds; Playwright's reporter writes seconds.
fn moment(start: f64) -> Option<Timestamp> {
    number::moment_from_millis(if start < 1e11 { start * 1e3 } else { start })
}
