//! [`Totals`]: how many of each, counted anew whenever asked for.

use super::{FailureKind, TestRun, Verdict};

/// How the cases of a run ended up. What broke outside of any case counts as an error, so that no
/// consumer of counts sees green.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Passed in the end, flaky ones among them.
    pub passed: u64,
    /// Passed and failed.
    pub flaky: u64,
    /// Failed in whatever way, errors among them.
    pub failed: u64,
    /// Failed by an error, a time limit or a crash, and what broke outside of any case.
    pub errors: u64,
    /// Left out, those that never started among them.
    pub skipped: u64,
    /// Announced, and never started.
    pub not_run: u64,
}

impl Totals {
    /// Counts a run.
    pub fn of(run: &TestRun) -> Self {
        let broken = run.errors().count() as u64;
        let mut totals =
            Self { failed: broken, errors: broken, not_run: run.missing, ..Self::default() };
        for case in run.cases() {
            totals.count(case.verdict());
        }
        totals
    }

    /// Passed, failed and skipped together.
    pub fn total(&self) -> u64 {
        self.passed + self.failed + self.skipped
    }

    /// How many cases really ran.
    pub fn ran(&self) -> u64 {
        self.passed + self.failed
    }

    fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Flaky => {
                self.passed += 1;
                self.flaky += 1;
            }
            Verdict::Failed(kind) => {
                self.failed += 1;
                self.errors += u64::from(kind != FailureKind::Failure);
            }
            Verdict::Skipped(_) => self.skipped += 1,
            Verdict::NotRun => {
                self.skipped += 1;
                self.not_run += 1;
            }
        }
    }
}
