//! One test file: which of its tests are open, and what its results amount to.

use std::collections::BTreeMap;

use super::event::{Data, Problem, is_set, reason};
use crate::event::{Event, Sink};
use crate::input::capped::Capped;
use crate::input::{failure, number};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Outcome, RunError, RunErrorKind, Skip,
    SkipKind, Suite,
};

/// Nesting beyond this is not followed.
const MAX_NESTING: usize = 128;

/// What is known of a file.
#[derive(Default)]
pub(super) struct FileState {
    file: String,
    /// The names of the tests around the next result, by nesting.
    lineage: Vec<String>,
    /// By nesting, what was seen below since the last result there.
    below: Vec<Below>,
    /// Tests that began and have not ended, and how many of each.
    open: BTreeMap<Open, u32>,
    pub(super) stdout: Capped,
    pub(super) stderr: Capped,
}

#[derive(Clone, Copy, Default)]
struct Below {
    any: bool,
    failed: bool,
}

/// A test that began. Ordered outermost first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Open {
    nesting: usize,
    line: Option<u32>,
    name: String,
    is_file: bool,
}

impl Open {
    fn new(data: &Data<'_>) -> Self {
        Self {
            nesting: data.nesting.min(MAX_NESTING),
            line: data.line,
            name: data.name.to_string(),
            is_file: is_file(data),
        }
    }
}

impl FileState {
    pub(super) fn new(file: &str) -> Self {
        Self { file: file.to_owned(), ..Self::default() }
    }

    /// A test begins to run.
    pub(super) fn begin(&mut self, data: &Data<'_>) {
        *self.open.entry(Open::new(data)).or_default() += 1;
    }

    /// A test ran to its end.
    pub(super) fn end(&mut self, data: &Data<'_>) {
        let open = Open::new(data);
        match self.open.get_mut(&open) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                self.open.remove(&open);
            }
        }
    }

    /// The results of a test and of those below it follow.
    pub(super) fn start(&mut self, data: &Data<'_>) {
        let nesting = data.nesting.min(MAX_NESTING);
        self.lineage.resize(nesting, String::new());
        self.lineage.push(data.name.to_string());
    }

    /// A result. Tells how many failures it amounts to.
    pub(super) fn result(&mut self, data: &Data<'_>, passed: bool, sink: &mut dyn Sink) -> u64 {
        self.end(data);
        let nesting = data.nesting.min(MAX_NESTING);
        let below = self.below.get(nesting + 1).copied().unwrap_or_default();
        self.below.truncate(nesting + 1);
        self.below.resize(nesting + 1, Below::default());
        let problem = Problem::new(data.details.error);
        let is_todo = is_set(data.todo) || is_set(data.skip);
        if let Some(here) = self.below.get_mut(nesting) {
            here.any = true;
            here.failed |= below.failed || (!passed && !is_todo);
        }
        let is_suite = &*data.details.kind == "suite";
        if is_suite || below.any {
            return self.parent(data, passed, below, is_suite, &problem, sink);
        }
        if is_file(data) && (passed || problem.is_of_process()) {
            return self.whole_file(data, passed, &problem, sink);
        }
        let outcome_failed = !passed && !is_todo;
        self.leaf(data, passed, &problem, sink);
        u64::from(outcome_failed)
    }

    /// A suite, or a test with tests in it: no case, unless it failed by itself.
    fn parent(
        &mut self,
        data: &Data<'_>,
        passed: bool,
        below: Below,
        is_suite: bool,
        problem: &Problem,
        sink: &mut dyn Sink,
    ) -> u64 {
        let is_todo = is_set(data.todo) || is_set(data.skip);
        if is_suite && !below.any && passed && is_set(data.skip) {
            self.leaf(data, passed, problem, sink);
            return 0;
        }
        let only_below = problem.failure_type == "subtestsFailed" && below.failed;
        if passed || is_todo || only_below {
            return 0;
        }
        if is_suite {
            let failure = problem.failure();
            let message = format!("{}: {}", &*data.name, failure.message);
            let details = format!("{}\n{}", failure.details, failure.stack_trace);
            let error = RunError::new(RunErrorKind::Setup, message)
                .with_details(details.trim())
                .in_scope(&*self.file);
            sink.error(error);
        } else {
            self.leaf(data, passed, problem, sink);
        }
        1
    }

    fn leaf(&self, data: &Data<'_>, passed: bool, problem: &Problem, sink: &mut dyn Sink) {
        let (skip, todo) = (reason(data.skip), reason(data.todo));
        let skipped = |kind, reason| Outcome::Skipped(Skip { kind, reason });
        let outcome = if is_set(data.skip) {
            skipped(SkipKind::Skipped, &skip)
        } else if is_set(data.todo) {
            skipped(SkipKind::Todo, &todo)
        } else if !passed {
            Outcome::Failed(problem.failure())
        } else if is_set(data.expect_failure) {
            skipped(SkipKind::ExpectedFailure, "")
        } else {
            Outcome::Passed
        };
        self.say(data, outcome, "", sink);
    }

    fn say(&self, data: &Data<'_>, outcome: Outcome<'_>, stderr: &str, sink: &mut dyn Sink) {
        let depth = data.nesting.min(MAX_NESTING).min(self.lineage.len());
        // A file is named by its path, which differs from machine to machine.
        let name = if is_file(data) {
            data.name.rsplit(['/', '\\']).next().unwrap_or_default()
        } else {
            &data.name
        };
        let case = Case {
            id: CaseId {
                file: &self.file,
                suite: List::from(&self.lineage[..depth]),
                name,
                ..CaseId::default()
            },
            line: data.line.filter(|&line| line > 0),
            ..Case::default()
        };
        let attempt = Attempt {
            outcome,
            duration: data.details.duration_ms.and_then(number::from_millis),
            stderr,
            ..Attempt::default()
        };
        sink.event(&Event::CaseFinished { case, attempt, again: false });
    }

    /// The result of the process of a whole file, which stands for tests that could not be told.
    fn whole_file(
        &mut self,
        data: &Data<'_>,
        passed: bool,
        problem: &Problem,
        sink: &mut dyn Sink,
    ) -> u64 {
        let lost: Vec<&str> = self.lost().map(|open| open.name.as_str()).collect();
        let details = if lost.is_empty() {
            String::new()
        } else {
            format!("began and never ended: {}", lost.join(", "))
        };
        if passed && lost.is_empty() {
            self.say(data, Outcome::Passed, "", sink);
            return 0;
        }
        self.open.clear();
        let stderr = self.stderr.take();
        let thrown = stderr.lines().find(|line| !failure::type_name(line).is_empty());
        let message = match (thrown, problem.exit_code) {
            _ if !problem.signal.is_empty() => {
                format!("the process was ended by {}", problem.signal)
            }
            (Some(thrown), _) => thrown.to_owned(),
            (None, Some(code)) => format!("the process ended with exit code {code}"),
            (None, None) => "the process ended before its tests did".to_owned(),
        };
        let mut failure = failure::from_text(problem.kind(), &stderr);
        if passed {
            failure.kind = FailureKind::Crash;
        }
        failure.message = &message;
        failure.type_name = failure::type_name(&message);
        failure.details = &details;
        self.say(data, Outcome::Failed(failure), &stderr, sink);
        1
    }

    /// The innermost tests that began and did not end.
    fn lost(&self) -> impl Iterator<Item = &Open> {
        let tests = || self.open.keys().filter(|open| !open.is_file);
        let innermost = tests().map(|open| open.nesting).max();
        tests().filter(move |open| Some(open.nesting) == innermost)
    }

    /// The events ended while the file ran: what was open never ended.
    pub(super) fn crashed(&mut self, sink: &mut dyn Sink) -> u64 {
        let mut count = 0;
        let innermost = self.lost().next().map_or(0, |open| open.nesting);
        let ancestors: Vec<&str> = self
            .open
            .keys()
            .filter(|open| !open.is_file && open.nesting < innermost)
            .map(|open| open.name.as_str())
            .collect();
        for open in self.lost() {
            let case = Case {
                id: CaseId {
                    file: &self.file,
                    suite: List::from(&ancestors),
                    name: &open.name,
                    ..CaseId::default()
                },
                line: open.line.filter(|&line| line > 0),
                ..Case::default()
            };
            let failure = Failure {
                kind: FailureKind::Crash,
                message: "started and never ended",
                ..Failure::default()
            };
            let attempt = Attempt { outcome: Outcome::Failed(failure), ..Attempt::default() };
            sink.event(&Event::CaseFinished { case, attempt, again: false });
            count += 1;
        }
        count
    }

    /// Output is the file's, not a test's.
    pub(super) fn tell_output(&mut self, sink: &mut dyn Sink) {
        if self.stdout.is_empty() && self.stderr.is_empty() {
            return;
        }
        let (stdout, stderr) = (self.stdout.take(), self.stderr.take());
        sink.event(&Event::Suite(Suite {
            file: &self.file,
            stdout: &stdout,
            stderr: &stderr,
            ..Suite::default()
        }));
    }
}

/// Whether an event is about the process of a whole file, which is named by it.
fn is_file(data: &Data<'_>) -> bool {
    data.nesting == 0
        && data.line.unwrap_or(1) == 1
        && data.column.unwrap_or(1) == 1
        && !data.name.is_empty()
        && data.file.ends_with(&*data.name)
}
