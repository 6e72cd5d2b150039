//! What makes a run red outside of its cases, for formats that know nothing but cases.
//!
//! Whoever reads such a format must see red where the run is: run errors, missing cases, a process that
//! was stopped, and a verdict that nothing else in the report explains.

use std::borrow::Cow;

use super::Report;
use crate::judge::Judgement;
use crate::model::{Ending, RunError, RunErrorKind};

/// Something red outside of any case.
pub(super) struct Outside<'a> {
    pub(super) cause: Cause,
    pub(super) message: Cow<'a, str>,
    pub(super) details: &'a str,
    pub(super) scope: &'a str,
    pub(super) source: &'a str,
}

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A run error, or an ending that amounts to one.
    Error(RunErrorKind),
    /// So many cases were announced and never came.
    Missing(u64),
    /// Nothing but the verdict.
    Verdict,
}

impl<'a> Outside<'a> {
    fn of_error(error: &'a RunError) -> Self {
        let RunError { kind, message, details, scope, source } = error;
        Self { cause: Cause::Error(*kind), message: Cow::Borrowed(message), details, scope, source }
    }

    fn new(cause: Cause, message: impl Into<Cow<'a, str>>) -> Self {
        Self { cause, message: message.into(), details: "", scope: "", source: "" }
    }

    /// A name for it among the cases.
    pub(super) fn name(&self) -> String {
        let word = self.word();
        if self.scope.is_empty() { word.to_owned() } else { format!("{word}: {}", self.scope) }
    }

    /// A word for what it is.
    pub(super) fn word(&self) -> &'static str {
        match self.cause {
            Cause::Error(kind) => kind.name(),
            Cause::Missing(_) => "missing",
            Cause::Verdict => "verdict",
        }
    }
}

/// Everything that makes the run red and is no case.
pub(super) fn outside<'a>(report: &Report<'a>) -> Vec<Outside<'a>> {
    let run = report.run;
    let mut found: Vec<_> = run.errors().map(Outside::of_error).collect();
    if run.missing > 0 {
        let message = format!("{} tests were announced and never came", run.missing);
        found.push(Outside::new(Cause::Missing(run.missing), message));
    }
    let stopped = match run.ending {
        Some(Ending::TimedOut) => {
            Some((RunErrorKind::Timeout, "the time limit was hit".to_owned()))
        }
        Some(Ending::Interrupted(signal)) => {
            Some((RunErrorKind::Crash, format!("stopped by signal {signal}")))
        }
        Some(Ending::Signaled(signal)) => {
            Some((RunErrorKind::Crash, format!("the test process was killed by signal {signal}")))
        }
        Some(Ending::Exited(code)) if code != 0 && is_green(report, &found) => Some((
            RunErrorKind::Contradiction,
            format!("no test failed, but the test process exited with {code}"),
        )),
        _ => None,
    };
    if let Some((kind, message)) = stopped {
        found.push(Outside::new(Cause::Error(kind), message));
    }
    if is_green(report, &found) && !report.judgement.is_success() {
        let message = match report.judgement {
            Judgement::NoTests => "no test ran",
            Judgement::Failed => "flaky tests fail the run",
            _ => "the run is no success",
        };
        found.push(Outside::new(Cause::Verdict, message));
    }
    found
}

/// Whether a reader would see nothing wrong so far.
fn is_green(report: &Report<'_>, found: &[Outside<'_>]) -> bool {
    report.totals.failed == 0 && found.is_empty()
}
