//! One package: its tests, its own output, and what its end says.

use std::collections::HashMap;

use super::event::{GoEvent, Raw};
use crate::event::{Event, Sink};
use crate::input::capped::Capped;
use crate::input::go_test::{End, NEVER_ENDED, Test, end_of};
use crate::input::{go_failure, go_test, number};
use crate::model::{
    FailureKind, List, Note, NoteKind, Pairs, RunError, RunErrorKind, Suite, Timestamp,
};

/// A package from its first event to its end.
#[derive(Debug, Default)]
pub(super) struct Package {
    pub(super) name: String,
    tests: Vec<Test>,
    by_name: HashMap<String, usize>,
    /// The test of the last event; the next one is mostly of the same.
    last: usize,
    pub(super) is_open: bool,
    started: Option<Timestamp>,
    output: Capped,
    properties: Vec<&'static str>,
    coverage: String,
    failed: u64,
    /// Its output says that it was not built.
    pub(super) not_built: bool,
}

impl Package {
    pub(super) fn new(name: String) -> Self {
        Self { name, ..Self::default() }
    }

    /// Reads an event of one of the package's tests.
    pub(super) fn test_event(&mut self, event: &GoEvent<'_>, name: Raw<'_>, sink: &mut dyn Sink) {
        let index = self.index_of(name);
        let Some(test) = self.tests.get_mut(index) else {
            return;
        };
        let end = match event.action {
            "output" => return output(test, event, name),
            "run" => {
                test.is_open = true;
                test.started = Timestamp::parse(event.time);
                return;
            }
            "pass" | "bench" => End::Passed,
            "fail" => End::Failed,
            "skip" => End::Skipped,
            "attr" => {
                let pair = [event.key.unescaped(), event.value.unescaped()];
                return test.properties.extend(pair.map(std::borrow::Cow::into_owned));
            }
            "artifacts" => {
                let pair = ["artifacts".to_owned(), event.path.unescaped().into_owned()];
                return test.attachments.extend(pair);
            }
            _ => return,
        };
        if end == End::Failed {
            self.failed += 1;
            self.tell_parent(index);
        }
        let duration = number::seconds(event.elapsed);
        if let Some(test) = self.tests.get_mut(index) {
            test.emit(&self.name, end, duration, sink);
        }
    }

    /// Ends a test whose own event cannot be trusted.
    pub(super) fn distrust(&mut self, name: Raw<'_>, message: &'static str, sink: &mut dyn Sink) {
        let index = self.index_of(name);
        self.failed += 1;
        if let Some(test) = self.tests.get_mut(index) {
            let end = End::Missing(FailureKind::Error, message);
            test.emit(&self.name, end, None, sink);
        }
    }

    fn index_of(&mut self, name: Raw<'_>) -> usize {
        let is_last = |test: &Test| !name.is_escaped && test.name == name.text;
        if self.tests.get(self.last).is_some_and(is_last) {
            return self.last;
        }
        let name = name.unescaped();
        self.last = self.by_name.get(name.as_ref()).copied().unwrap_or_else(|| {
            let name = name.into_owned();
            self.by_name.insert(name.clone(), self.tests.len());
            self.tests.push(Test { name, ..Test::default() });
            self.tests.len() - 1
        });
        self.last
    }

    fn tell_parent(&mut self, index: usize) {
        // A name may have slashes of its own, so that the next one up need not be a test.
        let mut above = self.tests.get(index).map_or("", |test| &test.name);
        let parent = (0..go_test::MAX_DEPTH).find_map(|_| {
            (above, _) = above.rsplit_once('/')?;
            self.by_name.get(above).copied()
        });
        if let Some(test) = parent.and_then(|parent| self.tests.get_mut(parent)) {
            test.subtest_failed = true;
        }
    }

    pub(super) fn start(&mut self, time: &str) {
        self.started = Timestamp::parse(time);
    }

    /// Reads a line of output that belongs to no test.
    pub(super) fn output(&mut self, line: Raw<'_>) {
        let line = line.unescaped();
        let bare = line.trim_end();
        if bare == "PASS" || bare == "FAIL" || bare.starts_with("?   \t") {
            return;
        }
        if let Some(coverage) = bare.strip_prefix("coverage: ") {
            return coverage.clone_into(&mut self.coverage);
        }
        if bare.starts_with("FAIL\t") || bare.starts_with("ok  \t") {
            self.not_built |= bare.ends_with("[build failed]") || bare.ends_with("[setup failed]");
            if bare.ends_with("(cached)") || bare.contains("\t(cached)\t") {
                self.properties = vec!["cached", "true"];
            }
            return;
        }
        self.output.push(&line);
    }

    /// The package is over. `not_built` says that it failed for that reason.
    pub(super) fn end(&mut self, event: &GoEvent<'_>, not_built: bool, sink: &mut dyn Sink) {
        let passed = event.action != "fail";
        let has_tests = !self.tests.is_empty();
        self.close_tests(Some(passed), sink);
        let output = self.output.take();
        if !passed && self.failed == 0 && !not_built {
            sink.error(go_failure::package_error(&self.name, has_tests, &output));
        }
        if passed && self.failed > 0 {
            let message = format!("{} passes, yet tests in it fail", self.name);
            sink.note(Note::new(NoteKind::Count, message));
        }
        let mut properties = std::mem::take(&mut self.properties);
        if !self.coverage.is_empty() {
            properties.extend(["coverage", self.coverage.as_str()]);
        }
        if has_tests {
            sink.event(&Event::Suite(Suite {
                package: &self.name,
                lineage: List::EMPTY,
                started: self.started,
                duration: number::seconds(event.elapsed),
                properties: Pairs::new(&properties),
                stdout: &output,
                ..Suite::default()
            }));
        }
        *self = Self::new(std::mem::take(&mut self.name));
    }

    /// The report is over before the package is.
    pub(super) fn cut_off(&mut self, sink: &mut dyn Sink) {
        self.close_tests(None, sink);
        self.is_open = false;
    }

    /// Ends the tests that have no end. `passed` is the package's own result, if there is one.
    fn close_tests(&mut self, passed: Option<bool>, sink: &mut dyn Sink) {
        let timed_out = self
            .tests
            .iter()
            .any(|test| test.is_open && go_failure::timed_out(test.output.as_str()))
            || go_failure::timed_out(self.output.as_str());
        let mut unexplained = Vec::new();
        for test in &mut self.tests {
            if !test.is_open {
                continue;
            }
            let Some(end) = end_of(test, passed, timed_out) else {
                continue;
            };
            if matches!(end, End::Failed | End::Missing(..)) {
                self.failed += 1;
            }
            if let End::Missing(..) = end {
                let message = format!("{} of {} {NEVER_ENDED}", test.name, self.name);
                sink.note(Note::new(NoteKind::Syntax, message));
            }
            if end == End::Missing(FailureKind::Error, NEVER_ENDED) {
                unexplained.push(test.name.clone());
            }
            test.emit(&self.name, end, None, sink);
        }
        if !unexplained.is_empty() {
            let message = format!("the package passes, yet {} never ended", unexplained.join(", "));
            let error = RunError::new(RunErrorKind::Report, message);
            sink.error(error.in_scope(self.name.clone()));
        }
    }
}

/// Adds to a test's output, unless the line only says what events say.
fn output(test: &mut Test, event: &GoEvent<'_>, name: Raw<'_>) {
    let line = event.output.text;
    let is_frame = match line.as_bytes().first() {
        Some(b'=') => ["=== RUN", "=== PAUSE", "=== CONT", "=== NAME"]
            .iter()
            .any(|word| line.starts_with(word)),
        Some(b' ' | b'-') => go_failure::is_result(line, name.text),
        _ => false,
    };
    if is_frame || event.output_type == "frame" {
        return;
    }
    if event.output_type == "error" && test.error_at.is_none() {
        test.error_at = Some(test.output.as_str().len());
    }
    if event.output.is_escaped {
        test.output.push_with(|text| event.output.unescape_into(text));
    } else {
        test.output.push(line);
    }
}
