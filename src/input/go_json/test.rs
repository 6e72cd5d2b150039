//! One test of a package, and the case it becomes.

use std::time::Duration;

use crate::event::{Event, Sink};
use crate::input::capped::Capped;
use crate::input::go_failure;
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Outcome, Pairs, Skip, SkipKind, Timestamp,
};
use crate::text::strip_ansi;

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
            id: CaseId {
                package,
                suite: List::from(&lineage),
                name,
                ..CaseId::default()
            },
            properties: Pairs::new(&self.properties),
            attachments: Pairs::new(&self.attachments),
            ..Case::default()
        };
        let attempt = Attempt {
            outcome,
            duration,
            started: self.started,
            stdout: &output,
            stderr: "",
        };
        sink.event(&Event::CaseFinished {
            case,
            attempt,
            again: self.has_run,
        });
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
    Failure {
        kind,
        message,
        ..Failure::default()
    }
}
