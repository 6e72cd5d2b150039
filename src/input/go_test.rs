//! One Go test, and the case it becomes, for all formats of `go test`.

use std::time::Duration;

use super::capped::Capped;
use super::go_failure;
use crate::event::{Event, Sink};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Outcome, Pairs, Skip, SkipKind, Timestamp,
};
use crate::text::strip_ansi;

/// What is said of a test without an end.
pub(super) const NEVER_ENDED: &str = "started and never ended";
const END_IS_MISSING: &str = "its end is missing";

/// The test above another one is looked for so many slashes up.
pub(super) const MAX_DEPTH: usize = 64;

/// What is known of a test. It is kept until its package ends, since the test may run again.
#[derive(Debug, Default)]
pub(super) struct Test {
    /// The whole name, with those of the tests around it.
    pub(super) name: String,
    pub(super) output: Capped,
    /// Where in the output the first error is, if events say so.
    pub(super) error_at: Option<usize>,
    pub(super) started: Option<Timestamp>,
    /// It runs now.
    pub(super) is_open: bool,
    pub(super) has_run: bool,
    pub(super) subtest_failed: bool,
    pub(super) properties: Vec<String>,
    pub(super) attachments: Vec<String>,
}

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Passed,
    Skipped,
    Failed,
    /// It has no end. The kind and the message say what that means.
    Missing(FailureKind, &'static str),
}

impl Test {
    /// Says how the test ended, and makes it ready to run again.
    pub(super) fn emit(
        &mut self,
        package: &str,
        end: End,
        duration: Option<Duration>,
        sink: &mut dyn Sink,
    ) {
        let output = self.output.take();
        let plain = match end {
            End::Passed => None,
            _ => Some(strip_ansi(&output)),
        };
        let plain = plain.as_deref().unwrap_or_default();
        let outcome = match end {
            End::Passed => Outcome::Passed,
            End::Skipped => Outcome::Skipped(Skip {
                kind: SkipKind::Skipped,
                reason: go_failure::skip_reason(plain),
            }),
            End::Failed => Outcome::Failed(self.failure(plain)),
            End::Missing(kind, message) => Outcome::Failed(unfinished(plain, kind, message)),
        };
        let mut lineage = Vec::new();
        let name = match self.name.rsplit_once('/') {
            Some((parents, name)) if !name.is_empty() => {
                lineage.extend(parents.split('/'));
                name
            }
            _ => self.name.as_str(),
        };
        let case = Case {
            id: CaseId { package, suite: List::from(&lineage), name, ..CaseId::default() },
            properties: Pairs::new(&self.properties),
            attachments: Pairs::new(&self.attachments),
            ..Case::default()
        };
        let attempt =
            Attempt { outcome, duration, started: self.started, stdout: &output, stderr: "" };
        sink.event(&Event::CaseFinished { case, attempt, again: self.has_run });
        self.properties.clear();
        self.attachments.clear();
        (self.is_open, self.has_run, self.subtest_failed) = (false, true, false);
        (self.started, self.error_at) = (None, None);
    }

    fn failure<'a>(&self, output: &'a str) -> Failure<'a> {
        let mut failure = go_failure::explain(output, self.error_at.unwrap_or(0));
        if failure.message.is_empty() {
            failure.message = if self.subtest_failed {
                "a subtest failed"
            } else {
                "failed, and the report does not say why"
            };
        }
        failure
    }
}

/// The failure of a test that never ended.
fn unfinished<'a>(output: &'a str, kind: FailureKind, message: &'a str) -> Failure<'a> {
    if go_failure::panic_at(output).is_some() {
        return go_failure::explain(output, 0);
    }
    Failure { kind, message, ..Failure::default() }
}

/// What becomes of a test without an end; nothing of a benchmark that only groups others.
pub(super) fn end_of(test: &Test, passed: Option<bool>, timed_out: bool) -> Option<End> {
    let output = test.output.as_str();
    // Before Go 1.20 a result was lost when the test's last line had no line end.
    let glued = |word: &str| output.contains(&format!("--- {word}: {} (", test.name));
    if passed.is_some() && glued("FAIL") {
        return Some(End::Failed);
    }
    if passed.is_some() && glued("SKIP") {
        return Some(End::Skipped);
    }
    if passed.is_some() && test.name.starts_with("Benchmark") {
        // Benchmarks have no end event unless they fail.
        if output.contains(" ns/op") {
            return Some(End::Passed);
        }
        if passed == Some(true) {
            return None;
        }
    }
    Some(match passed {
        // Nothing turns green by this: the package is red.
        Some(false) if glued("PASS") => End::Passed,
        Some(true) if glued("PASS") => End::Missing(FailureKind::Error, END_IS_MISSING),
        Some(true) => End::Missing(FailureKind::Error, NEVER_ENDED),
        _ if timed_out => {
            let message = "the time limit ran out before it ended";
            End::Missing(FailureKind::Timeout, message)
        }
        _ => End::Missing(FailureKind::Crash, NEVER_ENDED),
    })
}
