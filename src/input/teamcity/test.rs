//! One test of a `TeamCity` log: what the messages say of it, and what that amounts to.

use std::time::Duration;

use super::message::Message;
use crate::event::{Event, Sink};
use crate::input::capped::Capped;
use crate::input::{failure, number};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Outcome, Pairs, Skip, SkipKind, Timestamp,
};
use crate::text::strip_ansi;

/// Failures kept per test; a test with more repeats itself.
const MAX_FAILURES: usize = 100;

/// A test that messages tell of.
#[derive(Default)]
pub(super) struct Test {
    pub(super) package: String,
    pub(super) file: String,
    pub(super) lineage: Vec<String>,
    pub(super) name: String,
    line: Option<u32>,
    /// Whether a message said that it started.
    pub(super) started: bool,
    /// Whether text between the messages is its output.
    pub(super) takes_text: bool,
    /// The flow of the suites around it, and how many there are.
    pub(super) home: String,
    pub(super) depth: usize,
    /// Which test of the log it is.
    pub(super) order: u64,
    moment: Option<Timestamp>,
    ended: Option<Timestamp>,
    duration: Option<Duration>,
    pub(super) stdout: Capped,
    pub(super) stderr: Capped,
    failures: Vec<Text>,
    ignored: Option<String>,
    properties: Vec<String>,
    attachments: Vec<String>,
}

/// The texts of one `testFailed`.
struct Text {
    /// Whether the message says where it failed better than the details do.
    places_itself: bool,
    message: String,
    type_name: String,
    details: String,
    stack_trace: String,
    expected: Option<String>,
    actual: Option<String>,
}

impl Test {
    /// Takes name and place from the message that tells of the test first.
    pub(super) fn begin(&mut self, message: &Message<'_>) {
        message.get("name").trim().clone_into(&mut self.name);
        // teamcity-messages for Python puts the bare name here.
        let bare = message.get("metainfo");
        if let Some(package) = self.name.strip_suffix(bare.as_ref())
            && let Some(package) = package.strip_suffix('.')
            && !bare.is_empty()
        {
            self.package = package.to_owned();
            self.name = bare.into_owned();
        }
        self.locate(&message.get("locationHint"));
        self.moment = Timestamp::parse(&message.get("timestamp"));
        self.takes_text = message.get("captureStandardOutput") != "false";
    }

    /// `php_qn://file::\Class::method`, `file://path:12`, `java:test://com.acme.CartTest/adds`.
    fn locate(&mut self, hint: &str) {
        if let Some(place) = hint.strip_prefix("php_qn://") {
            let mut parts = place.split("::");
            parts.next().unwrap_or_default().clone_into(&mut self.file);
            let class = parts.next().unwrap_or_default();
            class.trim_start_matches('\\').clone_into(&mut self.package);
            self.lineage.retain(|name| *name != self.package);
        } else if let Some(place) = hint.strip_prefix("file://") {
            let (file, line) = match place.rsplit_once(':') {
                Some((file, line)) if number::line(line).is_some() => (file, number::line(line)),
                _ => (place, None),
            };
            file.clone_into(&mut self.file);
            self.line = line;
        } else if let Some(place) = hint.strip_prefix("java:test://")
            && let Some((class, _)) = place.rsplit_once(['/', '.'])
        {
            class.clone_into(&mut self.package);
        }
    }

    /// Started anew without having ended: mocha's way to say that it is tried again.
    pub(super) fn restart(&mut self) {
        self.failures.clear();
        self.ignored = None;
    }

    pub(super) fn fail(&mut self, message: &Message<'_>) {
        if self.failures.len() < MAX_FAILURES {
            self.failures.push(Text::of(message));
        }
    }

    pub(super) fn ignore(&mut self, message: &Message<'_>) {
        let reason = message.get("message");
        // mocha has no reason and gives the name instead.
        let reason = if reason == self.name.as_str() { "" } else { strip_prefixes(&reason) };
        self.ignored = Some(strip_ansi(reason).into_owned());
    }

    pub(super) fn end(&mut self, message: &Message<'_>) {
        self.ended = Timestamp::parse(&message.get("timestamp"));
        let millis = message.get("duration").trim().parse().ok();
        self.duration = millis.and_then(number::from_millis);
    }

    pub(super) fn metadata(&mut self, message: &Message<'_>) {
        let value = message.get("value").into_owned();
        let name = message.get("name").into_owned();
        let target = match message.get("type").as_ref() {
            "artifact" | "image" | "video" => &mut self.attachments,
            _ => &mut self.properties,
        };
        target.push(if name.is_empty() { value.clone() } else { name });
        target.push(value);
    }

    pub(super) fn case(&self) -> Case<'_> {
        Case {
            id: CaseId {
                package: &self.package,
                file: &self.file,
                suite: List::from(&self.lineage),
                name: &self.name,
                parameters: "",
            },
            line: self.line,
            tags: List::EMPTY,
            properties: Pairs::new(&self.properties),
            attachments: Pairs::new(&self.attachments),
        }
    }

    /// Says what became of the test. Returns whether it failed.
    pub(super) fn tell(mut self, ended: bool, again: bool, sink: &mut dyn Sink) -> bool {
        let (stdout, stderr) = (self.stdout.take(), self.stderr.take());
        let details = self.all_details();
        let outcome = self.outcome(ended, &details);
        let failed = matches!(outcome, Outcome::Failed(_));
        let clock = || {
            let (start, end) = (self.moment?.nanos(), self.ended?.nanos());
            Some(Duration::from_nanos(u64::try_from(end.checked_sub(start)?).ok()?))
        };
        let attempt = Attempt {
            outcome,
            duration: self.duration.or_else(clock),
            started: self.moment,
            stdout: stdout.trim_end_matches('\n'),
            stderr: stderr.trim_end_matches('\n'),
        };
        sink.event(&Event::CaseFinished { case: self.case(), attempt, again });
        failed
    }

    /// The details of the first failure, and everything about further ones.
    fn all_details(&self) -> String {
        let mut all = String::new();
        for (index, text) in self.failures.iter().enumerate() {
            if index > 0 {
                all.extend(["\n", &text.message, "\n"]);
            }
            all.push_str(&text.details);
            if index > 0 {
                all.push_str(&text.stack_trace);
            }
        }
        all
    }

    fn outcome<'a>(&'a self, ended: bool, details: &'a str) -> Outcome<'a> {
        if let Some(text) = self.failures.first() {
            return Outcome::Failed(text.failure(details));
        }
        if let Some(reason) = &self.ignored {
            let kind = skip_kind(reason, self.stdout.as_str());
            return Outcome::Skipped(Skip { kind, reason });
        }
        if ended {
            return Outcome::Passed;
        }
        Outcome::Failed(Failure {
            kind: FailureKind::Crash,
            message: "started and never ended",
            ..Failure::default()
        })
    }
}

impl Text {
    fn of(message: &Message<'_>) -> Self {
        let value = |key: &str| message.find(key).map(std::borrow::Cow::into_owned);
        let (whole, details) = (message.get("message"), message.get("details"));
        let (whole, details) = (strip_ansi(&whole), strip_ansi(&details));
        let (head, text) = what_happened(&whole);
        let text = without_place(text, &details);
        let (before, trace) = if details.starts_with("at ") {
            ("", details.as_ref())
        } else {
            failure::split_trace(&details)
        };
        let (type_name, before) = split_type(before, text);
        Self {
            places_itself: !head.is_empty(),
            message: text.trim_end().to_owned(),
            type_name: type_name.to_owned(),
            details: format!("{head}{}", before.trim_end()),
            stack_trace: trace.to_owned(),
            expected: value("expected"),
            actual: value("actual"),
        }
    }

    fn failure<'a>(&'a self, details: &'a str) -> Failure<'a> {
        let message = match self.message.as_str() {
            "" => failure::first_line(details),
            message => message,
        };
        let (expected, actual) = match (&self.expected, &self.actual) {
            (None, None) => failure::expected_actual(message),
            (expected, actual) => (expected.as_deref(), actual.as_deref()),
        };
        let own_place = failure::locate(message);
        Failure {
            kind: FailureKind::Failure,
            message,
            type_name: &self.type_name,
            details,
            stack_trace: &self.stack_trace,
            expected,
            actual,
            location: own_place
                .filter(|_| self.places_itself)
                .or_else(|| failure::locate(&self.stack_trace))
                .or_else(|| failure::locate(&self.details))
                .or(own_place),
        }
    }
}

/// Catch2 puts the place of the test and a dotted line before what happened.
fn what_happened(text: &str) -> (&str, &str) {
    match text.split_once("....................\n") {
        Some((head, text)) => (head.trim_end_matches('.'), text.trim_start()),
        None => ("", text),
    }
}

/// teamcity-messages for Python puts `file.py:21 (test_name)` first, and says more in the details.
fn without_place<'a>(message: &'a str, details: &'a str) -> &'a str {
    let (first, rest) = message.split_once('\n').unwrap_or((message, ""));
    if !(first.ends_with(')') && first.contains(".py:") && first.contains(" (")) {
        return message;
    }
    if !rest.trim().is_empty() {
        return rest;
    }
    let said = details.lines().find_map(|line| line.strip_prefix("E   "));
    said.map_or(message, str::trim)
}

/// `TypeError: message` before a trace says the type, and the message once more.
fn split_type<'a>(details: &'a str, message: &str) -> (&'a str, &'a str) {
    let bare = details.trim();
    let prefix = bare.strip_suffix(message.trim()).and_then(|before| before.strip_suffix(": "));
    match prefix {
        Some(type_name) if !type_name.contains('\n') => (type_name, ""),
        _ if bare == message.trim() => ("", ""),
        _ => ("", details),
    }
}

fn strip_prefixes(reason: &str) -> &str {
    let (_, reason) = what_happened(reason);
    reason.strip_prefix("Skipped: ").unwrap_or(reason).trim()
}

/// pytest's and Catch2's expected failures come as ignored tests.
fn skip_kind(reason: &str, stdout: &str) -> SkipKind {
    let marks = ["'ok to fail'", "XFailed", "[XPASS", "\nE   "];
    if marks.iter().any(|mark| reason.contains(mark)) || stdout.starts_with("XFAIL") {
        SkipKind::ExpectedFailure
    } else {
        SkipKind::Skipped
    }
}
