//! What the two Cucumber formats share: the words for a step's result, and what they make of a scenario.

use std::time::Duration;

use super::capped::Capped;
use super::failure;
use crate::model::{Failure, FailureKind, Location, Outcome, Skip, SkipKind};
use crate::text::strip_ansi;

/// How a step, a hook or a scenario ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Passed,
    Failed,
    /// Broken, or cannot be run at all: undefined, pending and ambiguous steps fail the run.
    Errored,
    Skipped,
    ExpectedFailure,
    NotRun,
}

impl Status {
    /// The status a report's word stands for.
    pub(super) fn of(word: &str) -> Self {
        match word.to_ascii_lowercase().as_str() {
            "passed" => Self::Passed,
            "failed" | "xpassed" => Self::Failed,
            "skipped" => Self::Skipped,
            "xfailed" => Self::ExpectedFailure,
            "" => Self::NotRun,
            word if word.starts_with("untested") => Self::NotRun,
            _ => Self::Errored,
        }
    }

    fn is_bad(self) -> bool {
        matches!(self, Self::Failed | Self::Errored)
    }
}

/// A step as the report tells of it.
#[derive(Default)]
pub(super) struct StepText<'a> {
    /// `Given `, `Before`, …
    pub(super) keyword: &'a str,
    /// What it says.
    pub(super) text: &'a str,
    /// The report's word for how it ended.
    pub(super) word: &'a str,
    /// What went wrong.
    pub(super) error: &'a str,
    /// The exception's type, where the report has it apart.
    pub(super) type_name: &'a str,
    /// Where it stands.
    pub(super) file: &'a str,
    /// The line it stands on.
    pub(super) line: Option<u32>,
}

/// What is known of a scenario while its steps are read.
#[derive(Default)]
pub(super) struct Scenario {
    problem: Option<Problem>,
    steps: u64,
    passed: u64,
    skipped: u64,
    expected: u64,
    nanos: Option<u64>,
    /// What it wrote.
    pub(super) stdout: Capped,
}

struct Problem {
    kind: FailureKind,
    message: String,
    type_name: String,
    details: String,
    stack_trace: String,
    file: String,
    line: Option<u32>,
}

impl Scenario {
    /// A step or a hook ended.
    pub(super) fn step(&mut self, step: &StepText<'_>, duration: Option<Duration>) {
        self.steps += 1;
        if let Some(duration) = duration {
            let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
            self.nanos = Some(self.nanos.unwrap_or(0).saturating_add(nanos));
        }
        let status = Status::of(step.word);
        match status {
            Status::Passed => self.passed += 1,
            Status::Skipped => self.skipped += 1,
            Status::ExpectedFailure => self.expected += 1,
            Status::Failed | Status::Errored | Status::NotRun => {}
        }
        if status.is_bad() && self.problem.is_none() {
            self.problem = Some(Problem::of(step, status));
        }
    }

    /// How long its steps took together.
    pub(super) fn duration(&self) -> Option<Duration> {
        self.nanos.map(Duration::from_nanos)
    }

    /// What it amounts to. `said` is the report's own word for the scenario, if it has one.
    pub(super) fn outcome(&self, said: Option<&str>) -> Outcome<'_> {
        if let Some(problem) = &self.problem {
            return Outcome::Failed(problem.failure());
        }
        let skip = |kind, reason| Outcome::Skipped(Skip { kind, reason });
        let fail = |kind, message| Outcome::Failed(Failure { kind, message, ..Failure::default() });
        match said.map(Status::of) {
            Some(Status::Failed) => fail(FailureKind::Failure, "failed outside of its steps"),
            Some(Status::Errored) => fail(FailureKind::Error, "broke outside of its steps"),
            Some(Status::ExpectedFailure) => skip(SkipKind::ExpectedFailure, ""),
            Some(Status::Skipped) => skip(SkipKind::Skipped, ""),
            Some(Status::NotRun) => skip(SkipKind::Skipped, "not run"),
            _ if self.expected > 0 => skip(SkipKind::ExpectedFailure, ""),
            _ if self.skipped > 0 => skip(SkipKind::Skipped, ""),
            _ if self.steps == 0 => skip(SkipKind::Skipped, "it has no steps"),
            _ if self.passed < self.steps => {
                fail(FailureKind::Crash, "a step started and has no result")
            }
            _ => Outcome::Passed,
        }
    }

    /// What it amounts to when it never ended.
    pub(super) fn outcome_cut(&self) -> Outcome<'_> {
        match &self.problem {
            Some(problem) => Outcome::Failed(problem.failure()),
            None => Outcome::Failed(Failure {
                kind: FailureKind::Crash,
                message: "started and never ended",
                ..Failure::default()
            }),
        }
    }
}

impl Problem {
    fn of(step: &StepText<'_>, status: Status) -> Self {
        let error = strip_ansi(step.error);
        let (before, trace) = failure::split_trace(&error);
        let (found_type, message) = split_type(before.trim());
        let what = format!("{} {}", step.keyword.trim(), step.text);
        let message = if message.is_empty() {
            format!("{}: {}", step.word.to_ascii_lowercase(), what.trim())
        } else {
            message.to_owned()
        };
        let place = failure::locate(trace).filter(|place| !place.file.is_empty());
        let (file, line) = match place {
            Some(place) => (place.file, place.line),
            None => (step.file, step.line),
        };
        Self {
            kind: if status == Status::Failed { FailureKind::Failure } else { FailureKind::Error },
            message,
            type_name: if step.type_name.is_empty() {
                found_type.to_owned()
            } else {
                step.type_name.to_owned()
            },
            details: format!("in step: {}", what.trim()),
            stack_trace: trace.to_owned(),
            file: file.to_owned(),
            line,
        }
    }

    fn failure(&self) -> Failure<'_> {
        let (expected, actual) = failure::expected_actual(&self.message);
        Failure {
            kind: self.kind,
            message: &self.message,
            type_name: &self.type_name,
            details: &self.details,
            stack_trace: &self.stack_trace,
            expected,
            actual,
            location: (!self.file.is_empty()).then_some(Location {
                file: &self.file,
                line: self.line,
                column: None,
            }),
        }
    }
}

/// Splits `java.lang.AssertionError: no` into type and message.
fn split_type(text: &str) -> (&str, &str) {
    let Some((head, message)) = text.split_once(": ") else {
        return ("", text);
    };
    let word = head.split(' ').next().unwrap_or(head);
    let extra = head[word.len()..].trim();
    let is_type = ["Error", "Exception", "Failure"].iter().any(|end| word.ends_with(end))
        && (extra.is_empty() || (extra.starts_with('[') && extra.ends_with(']')));
    if is_type { (word, message) } else { ("", text) }
}

/// A feature's path as the rest of the project writes it: without a scheme.
pub(super) fn path_of(uri: &str) -> &str {
    uri.strip_prefix("classpath:")
        .or_else(|| uri.strip_prefix("file:").filter(|rest| !rest.starts_with("//")))
        .unwrap_or(uri)
}

/// The text that Base64 stands for, if it is text.
pub(super) fn decode_base64(data: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(data.len() / 4 * 3);
    let (mut bits, mut width) = (0_u32, 0);
    for byte in data.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0x00ff_ffff;
        width += 6;
        if width >= 8 {
            width -= 8;
            bytes.push((bits >> width & 0xff) as u8);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded() {
        assert_eq!(decode_base64("Z3LDtsOfZQ==").as_deref(), Some("größe"));
        assert_eq!(decode_base64("").as_deref(), Some(""));
        assert_eq!(decode_base64("*"), None);
    }

    #[test]
    fn types_are_told_from_messages() {
        for (text, type_name, message) in [
            ("AssertionError [ERR_ASSERTION]: no", "AssertionError", "no"),
            ("java.lang.AssertionError: a: b", "java.lang.AssertionError", "a: b"),
            ("ASSERT FAILED: expected 24", "", "ASSERT FAILED: expected 24"),
        ] {
            assert_eq!(split_type(text), (type_name, message));
        }
    }
}
