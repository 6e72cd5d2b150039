//! The one function that decides a run's verdict. Never green by accident.

#![deny(clippy::disallowed_methods)]

use crate::model::{Ending, RunErrorKind, TestRun, Totals};

/// What the user wants to be strict about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// What a case costs that passed and failed.
    pub flaky: Flaky,
    /// Whether a run without tests is fine.
    pub allow_no_tests: bool,
}

/// What a flaky case costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flaky {
    /// Nothing; it is shown.
    #[default]
    Pass,
    /// The run.
    Fail,
}

/// What a run amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Tests ran and all of them passed.
    Passed,
    /// Tests failed.
    Failed,
    /// Something broke outside of any case.
    Broken,
    /// A report could not be read to its end.
    Unreadable,
    /// No test ran.
    NoTests,
    /// The time limit was hit.
    TimedOut,
    /// Stopped by this signal.
    Interrupted(i32),
}

impl Judgement {
    /// The word of the shared schema: `passed`, `failed` or `error`.
    pub fn status(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            _ => "error",
        }
    }

    /// Whether the run is green.
    pub fn is_success(self) -> bool {
        self == Self::Passed
    }

    /// What a process that stands for the run exits with.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed | Self::Broken => 1,
            Self::Unreadable => 2,
            Self::NoTests => 4,
            Self::TimedOut => 124,
            Self::Interrupted(signal) => u8::try_from(128 + (signal & 0x7f)).unwrap_or(u8::MAX),
        }
    }
}

/// Decides what a run amounts to. The worst wins.
pub fn judge(run: &TestRun, policy: &Policy) -> Judgement {
    judge_counted(run, &Totals::of(run), policy)
}

/// The same, for a run that was counted already.
pub fn judge_counted(run: &TestRun, totals: &Totals, policy: &Policy) -> Judgement {
    let errors: Vec<RunErrorKind> = run.errors().map(|error| error.kind).collect();
    decide(totals, &errors, run.ending, *policy)
}

/// The rules, worst first, on nothing but facts.
fn decide(
    totals: &Totals,
    errors: &[RunErrorKind],
    ending: Option<Ending>,
    policy: Policy,
) -> Judgement {
    match ending {
        Some(Ending::Interrupted(signal)) => return Judgement::Interrupted(signal),
        Some(Ending::TimedOut) => return Judgement::TimedOut,
        _ => {}
    }
    let failed_cases = totals.failed - (errors.len() as u64).min(totals.failed);
    if errors.iter().any(|kind| kind.is_unreadable()) {
        return Judgement::Unreadable;
    }
    if !errors.is_empty() {
        return Judgement::Broken;
    }
    if failed_cases > 0 || (policy.flaky == Flaky::Fail && totals.flaky > 0) {
        return Judgement::Failed;
    }
    match ending {
        // The framework saw something that its report does not show.
        Some(Ending::Exited(code)) if code != 0 && totals.passed > 0 => return Judgement::Broken,
        Some(Ending::Signaled(_)) => return Judgement::Broken,
        _ => {}
    }
    match totals.passed {
        0 if !policy.allow_no_tests => Judgement::NoTests,
        _ if totals.not_run > 0 => Judgement::Broken,
        _ => Judgement::Passed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(passed: u64, failed: u64, skipped: u64) -> Totals {
        Totals { passed, failed, skipped, ..Totals::default() }
    }

    /// Every combination that matters, and what it amounts to.
    #[test]
    fn the_worst_wins() {
        use Judgement::{Broken, Failed, Interrupted, NoTests, Passed, TimedOut, Unreadable};
        use RunErrorKind::{Build, Contradiction, Crash, Internal, Report};
        let exited = |code| Some(Ending::Exited(code));
        let table: &[(Totals, &[RunErrorKind], Option<Ending>, Judgement)] = &[
            // A report alone.
            (totals(3, 0, 0), &[], None, Passed),
            (totals(3, 0, 2), &[], None, Passed),
            (totals(3, 1, 0), &[], None, Failed),
            (totals(0, 1, 0), &[], None, Failed),
            (totals(0, 0, 0), &[], None, NoTests),
            (totals(0, 0, 5), &[], None, NoTests),
            // Something broke beside the cases: each error also counts as failed.
            (totals(3, 1, 0), &[Build], None, Broken),
            (totals(0, 1, 0), &[Build], None, Broken),
            (totals(3, 2, 0), &[Crash], None, Broken),
            (totals(3, 1, 0), &[Contradiction], None, Broken),
            (totals(3, 1, 0), &[Report], None, Unreadable),
            (totals(3, 2, 0), &[Report], None, Unreadable),
            (totals(3, 2, 0), &[Build, Report], None, Unreadable),
            (totals(3, 1, 0), &[Internal], None, Unreadable),
            // A process and its report.
            (totals(3, 0, 0), &[], exited(0), Passed),
            (totals(3, 1, 0), &[], exited(1), Failed),
            (totals(3, 1, 0), &[], exited(0), Failed),
            (totals(3, 0, 0), &[], exited(1), Broken),
            (totals(0, 0, 0), &[], exited(0), NoTests),
            (totals(0, 0, 0), &[], exited(5), NoTests),
            (totals(3, 0, 0), &[], Some(Ending::Signaled(11)), Broken),
            (totals(3, 1, 0), &[], Some(Ending::Signaled(11)), Failed),
            (totals(0, 0, 0), &[], Some(Ending::Signaled(9)), Broken),
            // Stopped from outside: whatever else there is.
            (totals(3, 0, 0), &[], Some(Ending::TimedOut), TimedOut),
            (totals(3, 1, 0), &[Report], Some(Ending::TimedOut), TimedOut),
            (totals(3, 0, 0), &[], Some(Ending::Interrupted(2)), Interrupted(2)),
            (totals(0, 0, 0), &[], Some(Ending::Interrupted(15)), Interrupted(15)),
        ];
        for (totals, errors, ending, expected) in table {
            let decided = decide(totals, errors, *ending, Policy::default());
            assert_eq!(decided, *expected, "{totals:?} {errors:?} {ending:?}");
        }
    }

    #[test]
    fn flaky_costs_what_the_policy_says() {
        let flaky = Totals { flaky: 1, ..totals(3, 0, 0) };
        assert_eq!(decide(&flaky, &[], None, Policy::default()), Judgement::Passed);
        let strict = Policy { flaky: Flaky::Fail, ..Policy::default() };
        assert_eq!(decide(&flaky, &[], None, strict), Judgement::Failed);
    }

    #[test]
    fn no_tests_pass_only_when_allowed() {
        let lenient = Policy { allow_no_tests: true, ..Policy::default() };
        assert_eq!(decide(&totals(0, 0, 0), &[], None, lenient), Judgement::Passed);
    }

    #[test]
    fn a_case_that_never_ran_is_not_green() {
        let short = Totals { not_run: 2, ..totals(3, 0, 2) };
        assert_eq!(decide(&short, &[], None, Policy::default()), Judgement::Broken);
    }

    #[test]
    fn exit_codes_are_the_documented_ones() {
        let codes = [
            (Judgement::Passed, 0),
            (Judgement::Failed, 1),
            (Judgement::Broken, 1),
            (Judgement::Unreadable, 2),
            (Judgement::NoTests, 4),
            (Judgement::TimedOut, 124),
            (Judgement::Interrupted(2), 130),
            (Judgement::Interrupted(15), 143),
        ];
        for (judgement, code) in codes {
            assert_eq!(judgement.exit_code(), code, "{judgement:?}");
            assert_eq!(judgement.is_success(), code == 0);
        }
    }
}
