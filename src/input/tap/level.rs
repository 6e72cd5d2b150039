//! One level of a TAP document: a plan and the points that came for it.

use crate::event::{Event, Sink};
use crate::model::{Note, NoteKind, RunError, RunErrorKind};

/// The document itself or a subtest in it.
#[derive(Debug, Default)]
pub(super) struct Level {
    pub(super) indent: usize,
    /// The subtest's name, where it was announced.
    pub(super) name: String,
    /// The subtest that comes next, by its comment.
    pub(super) announced: Option<String>,
    pub(super) plan: Option<u64>,
    pub(super) points: u64,
    /// Points that had come when the plan came.
    before_plan: u64,
    /// A further plan, after all points of the first had come.
    pub(super) next_plan: Option<u64>,
    pub(super) failed: bool,
    in_the_middle: bool,
    beyond: u64,
    /// Points beyond the plan that are all skipped or to be done.
    beyond_idle: u64,
}

impl Level {
    pub(super) fn new(indent: usize, name: String) -> Self {
        Self { indent, name, ..Self::default() }
    }

    /// Whether everything planned has come, and the plan came last.
    pub(super) fn is_over(&self) -> bool {
        let trails = self.before_plan > 0 || self.next_plan.is_some();
        trails && self.plan == Some(self.points)
    }

    /// Whether everything planned has come.
    pub(super) fn is_complete(&self) -> bool {
        self.plan == Some(self.points)
    }

    /// Takes a plan. Tells if a new document starts with it.
    pub(super) fn take_plan(&mut self, count: u64, sink: &mut dyn Sink) -> bool {
        match self.plan {
            None => {
                self.plan = Some(count);
                self.before_plan = self.points;
            }
            Some(_) if self.is_complete() && self.points > 0 => {
                if self.plan != Some(count) {
                    return true;
                }
                self.next_plan = Some(count);
            }
            Some(plan) if plan == count => repeated(sink),
            Some(plan) => {
                let message = format!("the plan is 1..{plan} first and 1..{count} later");
                sink.error(RunError::new(RunErrorKind::Report, message));
            }
        }
        false
    }

    /// Takes a point. `idle` are those that are skipped or to be done.
    pub(super) fn take_point(&mut self, idle: bool, version: u32, sink: &mut dyn Sink) {
        self.points += 1;
        let Some(plan) = self.plan else {
            return;
        };
        if self.before_plan > 0 && !self.in_the_middle && self.points <= plan {
            self.in_the_middle = true;
            let message = "the plan stands in the middle of the results";
            if version >= 13 {
                sink.error(RunError::new(RunErrorKind::Report, message));
            } else {
                sink.note(Note::new(NoteKind::Syntax, message));
            }
        }
        if self.points > plan {
            if idle {
                self.beyond_idle += 1;
            } else {
                self.beyond += 1;
            }
        }
    }

    /// Checks a subtest whose own point is ok.
    pub(super) fn check_subtest(&self, sink: &mut dyn Sink) {
        if let Some(plan) = self.plan
            && plan != self.points
            && (plan > self.points || self.beyond > 0)
        {
            let message = format!(
                "subtest \"{}\" is ok with {} of {plan} planned tests",
                self.name, self.points
            );
            sink.error(RunError::new(RunErrorKind::Report, message));
        }
    }

    /// Checks the whole document. Tells if it is fine.
    pub(super) fn check(
        &self,
        bailed_out: bool,
        scope: &str,
        said: &str,
        sink: &mut dyn Sink,
    ) -> bool {
        let missing = self.plan.unwrap_or(0).saturating_sub(self.points);
        if missing > 0 {
            sink.event(&Event::Missing(missing));
        }
        if self.next_plan.is_some() {
            repeated(sink);
        }
        if self.beyond_idle > 0 {
            let message = format!("{} skipped tests are beyond the plan", self.beyond_idle);
            sink.note(Note::new(NoteKind::Count, message));
        }
        let message = match self.plan {
            None if bailed_out => return true,
            None => "there is no plan: the report is truncated, or the tests died".to_owned(),
            Some(_) if missing > 0 && bailed_out => return true,
            Some(plan) if missing > 0 => format!("{} of {plan} planned tests came", self.points),
            Some(plan) if self.beyond > 0 => {
                format!("{} tests came though {plan} were planned", self.points)
            }
            Some(_) => return true,
        };
        let error = RunError::new(RunErrorKind::Report, message);
        sink.error(error.with_details(said).in_scope(scope));
        false
    }
}

fn repeated(sink: &mut dyn Sink) {
    sink.note(Note::new(NoteKind::Syntax, "the plan is there twice"));
}
