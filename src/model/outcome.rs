//! What one attempt ended in ([`Outcome`]) and what all attempts amount to ([`Verdict`]).

use super::Location;

/// How one attempt at a case ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// It ran to its end and nothing was wrong.
    #[default]
    Passed,
    /// It did not hold, broke, hung or died; [`Failure::kind`] says which.
    Failed(Failure<'a>),
    /// It was left out on purpose.
    Skipped(Skip<'a>),
    /// It was announced and never started.
    NotRun,
}

/// What went wrong in an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failure<'a> {
    /// What sort of failure.
    pub kind: FailureKind,
    /// The message a person reads first. May have several lines.
    pub message: &'a str,
    /// The exception's or assertion's type, as the framework names it.
    pub type_name: &'a str,
    /// What the report says beyond the message: diffs, source excerpts, further failures.
    pub details: &'a str,
    /// The stack trace, from its first frame on.
    pub stack_trace: &'a str,
    /// The value that was wanted, where the format has it apart.
    pub expected: Option<&'a str>,
    /// The value that was there, where the format has it apart.
    pub actual: Option<&'a str>,
    /// Where it failed, as opposed to where the case is defined.
    pub location: Option<Location<'a>>,
}

/// The sorts of failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureKind {
    /// An assertion did not hold.
    #[default]
    Failure,
    /// Something broke outside of an assertion: an exception, a set-up step.
    Error,
    /// A time limit ran out.
    Timeout,
    /// The process died, or the case started and never ended.
    Crash,
}

impl FailureKind {
    /// Every kind, in the order of the enum.
    pub const ALL: [Self; 4] = [Self::Failure, Self::Error, Self::Timeout, Self::Crash];

    /// The word for it in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Failure => "failure",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Crash => "crash",
        }
    }

    /// The kind a report's word stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Why a case was left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skip<'a> {
    /// What sort of skip.
    pub kind: SkipKind,
    /// The reason given, or nothing.
    pub reason: &'a str,
}

/// The sorts of skip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipKind {
    /// Skipped, ignored or filtered.
    #[default]
    Skipped,
    /// Still to be written, or known not to work yet.
    Todo,
    /// Failed, and was expected to.
    ExpectedFailure,
    /// Switched off.
    Disabled,
}

impl SkipKind {
    /// Every kind, in the order of the enum.
    pub const ALL: [Self; 4] = [Self::Skipped, Self::Todo, Self::ExpectedFailure, Self::Disabled];

    /// The word for it in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Todo => "todo",
            Self::ExpectedFailure => "expected-failure",
            Self::Disabled => "disabled",
        }
    }

    /// The kind a report's word stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What all attempts at a case amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It passed.
    Passed,
    /// It passed and it failed, in whatever order.
    Flaky,
    /// It failed; the worst kind seen.
    Failed(FailureKind),
    /// It was left out.
    Skipped(SkipKind),
    /// It never started.
    NotRun,
}

impl Verdict {
    /// The verdict of these attempts' outcomes.
    ///
    /// "The last attempt passed" would not do: where a framework can only rerun everything, a case may
    /// pass first and fail later.
    pub fn of<'a>(outcomes: impl IntoIterator<Item = Outcome<'a>>) -> Self {
        let mut passed = false;
        let mut failed = None;
        let mut skipped = None;
        for outcome in outcomes {
            match outcome {
                Outcome::Passed => passed = true,
                Outcome::Failed(failure) => failed = failed.max(Some(failure.kind)),
                Outcome::Skipped(skip) => skipped = skipped.or(Some(skip.kind)),
                Outcome::NotRun => {}
            }
        }
        match (passed, failed, skipped) {
            (true, Some(_), _) => Self::Flaky,
            (true, None, _) => Self::Passed,
            (false, Some(kind), _) => Self::Failed(kind),
            (false, None, Some(kind)) => Self::Skipped(kind),
            (false, None, None) => Self::NotRun,
        }
    }

    /// Whether this verdict alone makes a run red.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed(_))
    }
}
