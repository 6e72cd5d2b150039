//! The package whose tests run now, and those that ended.

use std::collections::HashMap;
use std::time::Duration;

use super::line::{Line, Outcome, classify};
use crate::event::{Event, Sink};
use crate::input::capped::Capped;
use crate::input::go_json::builds::Builds;
use crate::input::go_test::{End, NEVER_ENDED, Test, end_of};
use crate::input::{go_failure, go_test, number};
use crate::model::{FailureKind, Note, NoteKind, Pairs, RunError, RunErrorKind, Suite};
use crate::text::strip_ansi;

/// A test and how it ended, if it did.
#[derive(Debug, Default)]
struct Held {
    test: Test,
    end: Option<End>,
    duration: Option<Duration>,
}

/// Everything since the last package ended.
#[derive(Debug, Default)]
pub(super) struct Package {
    tests: Vec<Held>,
    by_name: HashMap<String, usize>,
    /// The test that output belongs to.
    current: Option<usize>,
    /// What belongs to no test.
    output: Capped,
    /// Tests are announced, so that a result of one that was not is only printed text.
    is_verbose: bool,
    /// A panic is being told, up to the package's end.
    is_panic: bool,
    builds: Builds,
    any_ended: bool,
}

impl Package {
    /// Reads a line.
    pub(super) fn line(&mut self, raw: &str, sink: &mut dyn Sink) {
        let plain = strip_ansi(raw);
        match classify(&plain) {
            Line::Run(name) => {
                self.is_verbose = true;
                self.run(name);
            }
            Line::Goes(name) => self.current = self.by_name.get(name).copied(),
            Line::Pause => {}
            Line::Result(outcome) => self.result(&outcome, raw),
            Line::Measured(name, measure) => self.measured(name, measure),
            Line::PackageEnd { passed, package, facts } => self.end(passed, package, facts, sink),
            Line::NotBuilt => {
                self.any_ended = true;
                self.output.clear();
                self.builds.plain_line(&plain, sink);
            }
            Line::NoTests => self.any_ended = true,
            Line::Over => self.current = None,
            Line::Other => self.other(raw, &plain, sink),
        }
    }

    fn index_of(&mut self, name: &str) -> usize {
        if let Some(&index) = self.by_name.get(name) {
            return index;
        }
        let index = self.tests.len();
        self.by_name.insert(name.to_owned(), index);
        self.tests.push(Held {
            test: Test { name: name.to_owned(), ..Test::default() },
            ..Held::default()
        });
        index
    }

    fn run(&mut self, name: &str) {
        let ended = |index: &usize| self.tests.get(*index).is_some_and(|held| held.end.is_some());
        // With -count a test runs again; each run is told.
        let again = self.by_name.get(name).is_some_and(ended);
        if again {
            self.by_name.remove(name);
        }
        let index = self.index_of(name);
        self.current = Some(index);
        if let Some(held) = self.tests.get_mut(index) {
            held.test.is_open = true;
            held.test.has_run = again;
        }
    }

    fn result(&mut self, outcome: &Outcome<'_>, raw: &str) {
        if self.is_verbose
            && !self.by_name.contains_key(outcome.name)
            && !outcome.name.starts_with("Benchmark")
        {
            return self.push(raw);
        }
        if !outcome.before.is_empty() {
            // Without -v nobody knows which test printed it.
            self.current = self.current.filter(|_| self.is_verbose);
            self.push(outcome.before);
        }
        let end = match outcome.word {
            "FAIL" => End::Failed,
            "SKIP" => End::Skipped,
            _ => End::Passed,
        };
        let mut index = self.index_of(outcome.name);
        if self.tests.get(index).is_some_and(|held| held.end.is_some()) {
            self.run(outcome.name);
            index = self.index_of(outcome.name);
        }
        self.current = Some(index);
        if let Some(held) = self.tests.get_mut(index) {
            held.end = Some(end);
            held.duration = outcome.duration;
            held.test.is_open = false;
        }
        if end == End::Failed {
            self.tell_parent(outcome.name);
        }
    }

    fn tell_parent(&mut self, name: &str) {
        let mut above = name;
        let parent = (0..go_test::MAX_DEPTH).find_map(|_| {
            (above, _) = above.rsplit_once('/')?;
            self.by_name.get(above).copied()
        });
        if let Some(held) = parent.and_then(|index| self.tests.get_mut(index)) {
            held.test.subtest_failed = true;
        }
    }

    fn measured(&mut self, name: &str, measure: &str) {
        let index = self.index_of(name);
        self.current = Some(index);
        if let Some(held) = self.tests.get_mut(index) {
            held.end = held.end.or(Some(End::Passed));
            held.test.is_open = false;
            let pair = ["measured".to_owned(), measure.to_owned()];
            held.test.properties.extend(pair);
        }
    }

    fn other(&mut self, raw: &str, plain: &str, sink: &mut dyn Sink) {
        let is_benchmark = plain.starts_with("Benchmark") && !plain.contains([' ', '\t']);
        if is_benchmark {
            // It may only group others and never be heard of again, so that it is not open.
            self.current = Some(self.index_of(plain));
            return;
        }
        self.is_panic |= plain.starts_with("panic: ") || plain.starts_with("fatal error: ");
        if !self.is_panic && !self.belongs(plain) {
            self.current = None;
        }
        if self.current.is_none() && self.tests.is_empty() {
            self.builds.plain_line(plain, sink);
        }
        self.push(raw);
    }

    /// Whether a line may be of the current test. Without -v only what it logged stands behind its result.
    fn belongs(&self, line: &str) -> bool {
        let Some(held) = self.current.and_then(|index| self.tests.get(index)) else {
            return true;
        };
        self.is_verbose
            || line.starts_with("    ")
            || line.trim().is_empty()
            || held.test.name.starts_with("Example")
            || held.test.name.starts_with("Benchmark")
    }

    fn push(&mut self, text: &str) {
        let current = self.current.and_then(|index| self.tests.get_mut(index));
        let output = match current {
            Some(held) => &mut held.test.output,
            None => &mut self.output,
        };
        output.push(text);
        output.push("\n");
    }

    fn end(&mut self, passed: bool, package: &str, facts: &str, sink: &mut dyn Sink) {
        self.any_ended = true;
        let has_tests = !self.tests.is_empty();
        let failed = self.emit(Some(passed), package, sink);
        let output = self.output.take();
        if !passed && failed == 0 {
            sink.error(go_failure::package_error(package, has_tests, &output));
        }
        if passed && failed > 0 {
            let message = format!("{package} passes, yet tests in it fail");
            sink.note(Note::new(NoteKind::Count, message));
        }
        if !has_tests {
            return;
        }
        let time = facts.split(['\t', ' ']).next().unwrap_or_default();
        let mut properties = Vec::new();
        if time == "(cached)" {
            properties.extend(["cached", "true"]);
        }
        if let Some((_, coverage)) = facts.split_once("coverage: ") {
            properties.extend(["coverage", coverage]);
        }
        sink.event(&Event::Suite(Suite {
            package,
            duration: number::seconds(time),
            properties: Pairs::new(&properties),
            stdout: &output,
            ..Suite::default()
        }));
    }

    /// Says what became of the tests. Tells how many failed.
    fn emit(&mut self, passed: Option<bool>, package: &str, sink: &mut dyn Sink) -> u64 {
        let timed_out = self
            .tests
            .iter()
            .any(|held| held.end.is_none() && go_failure::timed_out(held.test.output.as_str()))
            || go_failure::timed_out(self.output.as_str());
        self.by_name.clear();
        (self.current, self.is_verbose, self.is_panic) = (None, false, false);
        let mut failed = 0;
        let mut unexplained = Vec::new();
        for mut held in std::mem::take(&mut self.tests) {
            let end = match held.end {
                None if !held.test.is_open => continue,
                None => end_of(&held.test, passed, timed_out),
                end => end,
            };
            let Some(end) = end else {
                continue;
            };
            failed += u64::from(matches!(end, End::Failed | End::Missing(..)));
            if end == End::Missing(FailureKind::Error, NEVER_ENDED) {
                unexplained.push(held.test.name.clone());
            }
            held.test.emit(package, end, held.duration, sink);
        }
        if !unexplained.is_empty() {
            let message = format!("the package passes, yet {} never ended", unexplained.join(", "));
            let error = RunError::new(RunErrorKind::Report, message);
            sink.error(error.in_scope(package));
        }
        failed
    }

    /// The report is over. What no package's end follows is not whole.
    pub(super) fn finish(&mut self, sink: &mut dyn Sink) {
        let has_tests = !self.tests.is_empty();
        self.emit(None, "", sink);
        let output = self.output.take();
        if !self.any_ended || has_tests || !is_trailer(&output) {
            let message = "the last package has no end: the report is truncated";
            let error = RunError::new(RunErrorKind::Report, message);
            sink.error(error.with_details(output.trim_end()));
        }
    }
}

/// Whether a text is nothing, or what make says after a run.
fn is_trailer(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.all(|line| line.starts_with("make"))
}
