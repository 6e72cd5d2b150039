//! One case of a JUnit report: what its element says, and the attempts that amounts to.

use std::time::Duration;

use super::own::Facts;
use super::suite::Suites;
use crate::event::{Event, Sink};
use crate::input::{failure, number};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Outcome, Pairs, Skip, SkipKind, Timestamp,
};

/// A result element inside a case.
pub(super) struct Found {
    pub(super) kind: FoundKind,
    /// The element's name, so that its end tag is known.
    pub(super) element: String,
    pub(super) message: String,
    pub(super) type_name: String,
    pub(super) body: String,
    /// The stack trace alone, where testexec wrote the report.
    pub(super) exact: String,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) duration: Option<Duration>,
    pub(super) started: Option<Timestamp>,
}

/// The sorts of result element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoundKind {
    Failure,
    Error,
    Skipped,
    /// An earlier attempt of a case that passed in the end.
    Flaky(FailureKind),
    /// A later attempt of a case that failed.
    Rerun(FailureKind),
}

impl FoundKind {
    pub(super) fn of(element: &str) -> Option<Self> {
        Some(match element {
            // PHPUnit exits with 1 for a warning.
            "failure" | "warning" => Self::Failure,
            "error" => Self::Error,
            "skipped" | "ignored" | "disabled" | "pending" | "skip" => Self::Skipped,
            "flakyFailure" => Self::Flaky(FailureKind::Failure),
            "flakyError" => Self::Flaky(FailureKind::Error),
            "rerunFailure" => Self::Rerun(FailureKind::Failure),
            "rerunError" => Self::Rerun(FailureKind::Error),
            _ => return None,
        })
    }
}

impl Found {
    pub(super) fn new(kind: FoundKind, element: &str) -> Self {
        let none = String::new;
        Self {
            kind,
            element: element.to_owned(),
            message: none(),
            type_name: none(),
            body: none(),
            exact: none(),
            stdout: none(),
            stderr: none(),
            duration: None,
            started: None,
        }
    }

    pub(super) fn attribute(&mut self, key: &str, value: &str) {
        match key {
            "message" => value.clone_into(&mut self.message),
            "type" => value.clone_into(&mut self.type_name),
            "time" => self.duration = number::seconds(value),
            "timestamp" => self.started = Timestamp::parse(value),
            _ => {}
        }
    }

    fn failure<'a>(&'a self, kind: FailureKind, details: &'a str, case: &str) -> Failure<'a> {
        let (before, stack_trace) = failure::split_trace(details);
        let message = match self.message.as_str() {
            "" => own_message(before, case),
            // What pytest says of any file that does not load; the reason is in the text.
            "collection failure" => collection_reason(details).unwrap_or(&self.message),
            message => message,
        };
        let redundant = before.trim() == message.trim();
        let (expected, actual) = match failure::expected_actual(message) {
            (None, None) => failure::expected_actual(before),
            both => both,
        };
        Failure {
            kind: self.refined(kind),
            message,
            type_name: &self.type_name,
            details: if redundant { "" } else { before },
            stack_trace,
            expected,
            actual,
            location: failure::locate(details).or_else(|| failure::locate(message)),
        }
    }

    /// Time limits and crashes hide behind types and messages.
    fn refined(&self, kind: FailureKind) -> FailureKind {
        match self.type_name.as_str() {
            "test timeout" | "TimeoutException" => FailureKind::Timeout,
            "test abort" => FailureKind::Crash,
            _ if matches!(self.message.as_str(), "Timeout" | "test timed out") => {
                FailureKind::Timeout
            }
            _ if matches!(self.message.as_str(), "SEGFAULT" | "Subprocess aborted") => {
                FailureKind::Crash
            }
            _ => kind,
        }
    }
}

/// The line of pytest's text that says why a file did not load.
fn collection_reason(text: &str) -> Option<&str> {
    text.lines().rev().find_map(|line| line.strip_prefix("E   ")).map(str::trim)
}

/// The first line of a body that is not just the case's own name, as `PHPUnit` writes it.
fn own_message<'a>(body: &'a str, case: &str) -> &'a str {
    let first = failure::first_line(body);
    if !case.is_empty() && first.ends_with(case) {
        let rest = &body[body.find(first).map_or(0, |at| at + first.len())..];
        let second = failure::first_line(rest);
        if !second.is_empty() {
            return second;
        }
    }
    first
}

/// What is known of the case being read. Its strings are used again for the next case.
#[derive(Default)]
pub(super) struct CaseState {
    pub(super) name: String,
    class: String,
    file: String,
    pub(super) line: Option<u32>,
    pub(super) duration: Option<Duration>,
    pub(super) started: Option<Timestamp>,
    status: String,
    pub(super) odd_time: bool,
    pub(super) odd_line: Option<String>,
    pub(super) found: Vec<Found>,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) properties: Vec<String>,
    pub(super) own: Facts,
}

impl CaseState {
    pub(super) fn clear(&mut self) {
        for text in [&mut self.name, &mut self.class, &mut self.file, &mut self.status] {
            text.clear();
        }
        self.stdout.clear();
        self.stderr.clear();
        self.found.clear();
        self.properties.clear();
        self.own.clear();
        (self.line, self.duration, self.started, self.odd_time) = (None, None, None, false);
    }

    pub(super) fn attribute(&mut self, key: &str, value: &str) {
        match key {
            "name" if self.name.is_empty() => self.name.push_str(value),
            "classname" if self.class.is_empty() => self.class.push_str(value),
            "file" => value.clone_into(&mut self.file),
            "line" | "lineno" => {
                self.line = value.trim().parse().ok();
                if self.line.is_none() {
                    self.odd_line =
                        Some(format!("\"{}\" has line {value:?}, which is none", self.name));
                }
            }
            "time" => {
                self.duration = number::seconds(value);
                self.odd_time |= self.duration.is_none();
            }
            "timestamp" => self.started = Timestamp::parse(value),
            // GoogleTest has both `status` and `result`; either may say that it did not run.
            "status" | "result" if !did_not_run(&self.status) && !is_bad(&self.status) => {
                value.clone_into(&mut self.status);
            }
            "value_param" | "type_param" => {
                self.properties.push(key.to_owned());
                self.properties.push(value.to_owned());
            }
            _ => {}
        }
    }

    /// Says what became of the case, attempt by attempt.
    pub(super) fn emit(&mut self, whole: bool, suites: &mut Suites, sink: &mut dyn Sink) {
        if suites.is_own() {
            return self.emit_own(whole, suites, sink);
        }
        self.repair(suites);
        let joined = self.joined_body();
        let final_outcome = self.outcome(whole, &joined);
        let failed = matches!(final_outcome, Outcome::Failed(_));
        let is_failure = |found: &&Found| found.kind == FoundKind::Failure;
        let failures = self.found.iter().filter(is_failure).count() as u64;
        let is_error =
            |found: &&Found| !matches!(found.kind, FoundKind::Failure | FoundKind::Skipped);
        let errors = self.found.iter().filter(is_error).count() as u64;
        suites.count_case(failed, failures, errors);
        let attachments = attachments(&self.stdout);
        let case = Case {
            id: CaseId {
                package: &self.class,
                file: if self.file.is_empty() { suites.file() } else { &self.file },
                suite: suites.lineage(),
                name: &self.name,
                parameters: "",
            },
            line: self.line.filter(|&line| line > 0),
            tags: List::EMPTY,
            properties: Pairs::new(&self.properties),
            attachments: Pairs::new(&attachments),
        };
        let last = Attempt {
            outcome: final_outcome,
            duration: self.duration,
            started: self.started,
            stdout: &self.stdout,
            stderr: &self.stderr,
        };
        let mut again = false;
        let mut say = |attempt: Attempt<'_>, sink: &mut dyn Sink| {
            sink.event(&Event::CaseFinished { case, attempt, again });
            again = true;
        };
        for (found, kind) in self.reruns(true) {
            say(rerun_attempt(found, kind, &self.name), sink);
        }
        say(last, sink);
        for (found, kind) in self.reruns(false) {
            say(rerun_attempt(found, kind, &self.name), sink);
        }
    }

    /// Dialects: pytest counts lines from 0, busted puts file and line into the class name.
    fn repair(&mut self, suites: &Suites) {
        if suites.is_pytest {
            self.line = self.line.map(|line| line.saturating_add(1));
        }
        if self.class.as_bytes().last().is_some_and(u8::is_ascii_digit)
            && let Some((file, line)) = self.class.rsplit_once(':')
            && let Some(line) = number::line(line)
            && file.contains('.')
            && self.line.is_none()
        {
            self.line = Some(line);
            self.file = file.to_owned();
            self.class = file.to_owned();
        }
    }

    fn reruns(&self, flaky: bool) -> impl Iterator<Item = (&Found, FailureKind)> {
        self.found.iter().filter_map(move |found| match found.kind {
            FoundKind::Flaky(kind) if flaky => Some((found, kind)),
            FoundKind::Rerun(kind) if !flaky => Some((found, kind)),
            _ => None,
        })
    }

    fn failures(&self) -> impl Iterator<Item = &Found> {
        let is_failure =
            |found: &&Found| matches!(found.kind, FoundKind::Failure | FoundKind::Error);
        self.found.iter().filter(is_failure)
    }

    /// The bodies of all failures; one after the other where there are several.
    fn joined_body(&self) -> String {
        let mut joined = String::new();
        for (index, found) in self.failures().enumerate() {
            if index > 0 {
                joined.push_str(&format!("\n\n{}", found.message));
                joined.push('\n');
            }
            joined.push_str(&found.body);
        }
        joined
    }

    fn outcome<'a>(&'a self, whole: bool, body: &'a str) -> Outcome<'a> {
        let failed = self.failures().next();
        let skipped = self.found.iter().find(|found| found.kind == FoundKind::Skipped);
        // Only where the framework says that it was meant to fail does a skip outweigh a failure.
        let meant = skipped.is_some_and(|skip| {
            skip.type_name == "todo"
                || skip.type_name == "pytest.xfail"
                || skip.message.contains("fail")
        });
        let skipped = skipped.filter(|_| failed.is_none() || meant);
        match (failed, skipped) {
            (Some(found), None) => {
                let is_error = self.failures().any(|found| found.kind == FoundKind::Error);
                let kind = if is_error { FailureKind::Error } else { FailureKind::Failure };
                Outcome::Failed(found.failure(kind, body, &self.name))
            }
            // CTest calls a program that is not there skipped, and fails.
            (None, Some(skip))
                if matches!(
                    skip.message.as_str(),
                    "Unable to find executable" | "Required Files Missing"
                ) =>
            {
                Outcome::Failed(Failure {
                    kind: FailureKind::Error,
                    message: &skip.message,
                    ..Failure::default()
                })
            }
            (failed, Some(skip)) => Outcome::Skipped(skip_of(skip, failed.is_some())),
            (None, None) if !whole => cut_off(),
            (None, None) => self.outcome_by_status(),
        }
    }

    fn outcome_by_status(&self) -> Outcome<'_> {
        let status = self.status.as_str();
        if did_not_run(status) {
            let kind = if status.eq_ignore_ascii_case("skipped") {
                SkipKind::Skipped
            } else {
                SkipKind::Disabled
            };
            return Outcome::Skipped(Skip { kind, reason: "" });
        }
        if is_bad(status) {
            let message = "failed, and the report does not say why";
            return Outcome::Failed(Failure { message, ..Failure::default() });
        }
        Outcome::Passed
    }
}

/// What becomes of a case that the report ends in.
pub(super) fn cut_off() -> Outcome<'static> {
    Outcome::Failed(Failure {
        kind: FailureKind::Crash,
        message: "the report ends before this case does",
        ..Failure::default()
    })
}

/// Whether a `status` or `result` says that the case was left out.
fn did_not_run(status: &str) -> bool {
    let words =
        ["disabled", "notrun", "skipped", "ignored", "suppressed", "pending", "notexecuted"];
    words.iter().any(|word| status.eq_ignore_ascii_case(word))
}

/// Whether a `status` or `result` says that the case went wrong.
fn is_bad(status: &str) -> bool {
    let words = [
        "fail",
        "failed",
        "failure",
        "error",
        "errored",
        "broken",
        "timeout",
        "timedout",
        "timed out",
        "aborted",
        "crashed",
        "panicked",
        "interrupted",
    ];
    words.iter().any(|word| status.eq_ignore_ascii_case(word))
}

fn skip_of(found: &Found, failed: bool) -> Skip<'_> {
    let kind = match found.type_name.as_str() {
        "pytest.xfail" => SkipKind::ExpectedFailure,
        "todo" => SkipKind::Todo,
        _ if failed => SkipKind::ExpectedFailure,
        _ if found.element == "disabled" => SkipKind::Disabled,
        _ if found.element == "pending" => SkipKind::Todo,
        _ => SkipKind::Skipped,
    };
    let reason = if found.message.is_empty() { found.body.trim() } else { &found.message };
    Skip { kind, reason }
}

fn rerun_attempt<'a>(found: &'a Found, kind: FailureKind, case: &str) -> Attempt<'a> {
    Attempt {
        outcome: Outcome::Failed(found.failure(kind, &found.body, case)),
        duration: found.duration,
        started: found.started,
        stdout: &found.stdout,
        stderr: &found.stderr,
    }
}

/// Files named in the output by the `[[ATTACHMENT|path]]` convention, as names and paths.
fn attachments(stdout: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = stdout;
    if stdout.is_empty() {
        return found;
    }
    while let Some((_, after)) = rest.split_once("[[ATTACHMENT|") {
        let Some((path, after)) = after.split_once("]]") else {
            break;
        };
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        found.extend([name, path]);
        rest = after;
    }
    found
}
