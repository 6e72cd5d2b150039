//! One program's tests, from `running 3 tests` to `test result:`.

use std::collections::HashMap;
use std::time::Duration;

use super::line::{Counts, End, Line};
use crate::event::{Event, Sink};
use crate::input::capped::Capped;
use crate::input::libtest::{Binary, emit, explain, plain_name};
use crate::model::{
    Failure, FailureKind, Note, NoteKind, Outcome, RunError, RunErrorKind, Skip, SkipKind,
    Suite as SuiteFacts,
};
use crate::text::strip_ansi;

/// What a test is called that the report only counts.
const NOT_NAMED: &str = "(not named in the report)";

/// A program whose tests run.
#[derive(Debug)]
pub(super) struct Suite {
    binary: Binary,
    planned: u64,
    passed: u64,
    failed: u64,
    ignored: u64,
    /// Dots that cannot be taken for anything else.
    dots: u64,
    /// Dots and ignored marks at most: those in whatever was printed are among them.
    may_be_dots: u64,
    may_be_ignored: u64,
    /// Failed tests, whose output comes later.
    failures: Vec<Failed>,
    by_name: HashMap<String, usize>,
    /// The test that has begun and whose result stands behind its output.
    open: Option<(String, Capped)>,
    section: Section,
    /// What passed tests printed, and what belongs to no test.
    output: Capped,
    death: String,
}

#[derive(Debug, Default)]
struct Failed {
    name: String,
    output: Capped,
    duration: Option<Duration>,
}

/// Where in the closing part lines belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Tests,
    Successes,
    /// Between the failures' outputs, or in the list of their names.
    Failures,
    Failure(usize),
}

impl Suite {
    pub(super) fn new(binary: Binary, planned: u64) -> Self {
        Self {
            binary,
            planned,
            passed: 0,
            failed: 0,
            ignored: 0,
            dots: 0,
            may_be_dots: 0,
            may_be_ignored: 0,
            failures: Vec::new(),
            by_name: HashMap::new(),
            open: None,
            section: Section::Tests,
            output: Capped::default(),
            death: String::new(),
        }
    }

    /// Reads a line. `raw` is the line as it stands.
    pub(super) fn line(&mut self, line: &Line<'_>, raw: &str, sink: &mut dyn Sink) {
        if !self.death.is_empty() {
            self.death.push('\n');
            return self.death.push_str(raw);
        }
        match line {
            Line::Test(test) if self.section == Section::Tests => {
                if self.open.is_some() && !test.before.is_empty() {
                    self.say(test.before);
                }
                match test.end {
                    Some(end) => {
                        self.settle(sink);
                        self.ended(test.name, end, sink);
                    }
                    None => self.open(test.name, test.rest, sink),
                }
            }
            Line::QuietFailure(name) if self.section == Section::Tests => {
                self.failed(name, None);
            }
            Line::Heading(heading) => {
                if self.section == Section::Tests {
                    self.settle(sink);
                }
                self.section =
                    if *heading == "failures" { Section::Failures } else { Section::Successes };
            }
            Line::Output(name) if self.in_failures() => self.failure_section(name, raw),
            _ => self.other(raw),
        }
    }

    fn in_failures(&self) -> bool {
        matches!(self.section, Section::Failures | Section::Failure(_))
    }

    fn failure_section(&mut self, name: &str, raw: &str) {
        let name = plain_name(name);
        let known = self.by_name.get(name).copied();
        // With --quiet, old versions name a failed test here for the first time.
        let all_named = self.failed + self.passed + self.ignored >= self.planned;
        match known {
            Some(index) => self.section = Section::Failure(index),
            None if all_named => self.other(raw),
            None => self.section = Section::Failure(self.failed(name, None)),
        }
    }

    fn other(&mut self, raw: &str) {
        match self.section {
            Section::Tests => {
                self.count_dots(raw);
                self.say(raw);
            }
            Section::Successes => self.say(raw),
            Section::Failures => {
                // A test that printed nothing is only in the list.
                let name = raw.strip_prefix("    ").map(plain_name);
                if let Some(name) = name.filter(|name| !name.starts_with(' '))
                    && self.failed + self.passed + self.ignored < self.planned
                    && !self.by_name.contains_key(name)
                {
                    self.failed(name, None);
                }
            }
            Section::Failure(index) => {
                if let Some(failed) = self.failures.get_mut(index) {
                    failed.output.push(raw);
                    failed.output.push("\n");
                }
            }
        }
    }

    fn say(&mut self, text: &str) {
        let output = match &mut self.open {
            Some((_, output)) => output,
            None if text.trim().is_empty() => return,
            None => &mut self.output,
        };
        output.push(text);
        output.push("\n");
    }

    /// Counts dots in a line of nothing but dots and their like.
    fn count_dots(&mut self, raw: &str) {
        let plain = strip_ansi(raw);
        let count = |sign| memchr::memchr_iter(sign, plain.as_bytes()).count() as u64;
        self.may_be_dots += count(b'.');
        self.may_be_ignored += count(b'i');
        let marks = plain.split(' ').next().unwrap_or_default();
        if self.open.is_none() && marks.bytes().all(|mark| b".iFb".contains(&mark)) {
            self.dots += marks.bytes().filter(|&mark| mark == b'.').count() as u64;
        }
    }

    /// A test began whose result stands behind its output.
    pub(super) fn open(&mut self, name: &str, rest: &str, sink: &mut dyn Sink) {
        self.settle(sink);
        let mut output = Capped::default();
        if !rest.is_empty() {
            output.push(rest);
            output.push("\n");
        }
        self.open = Some((plain_name(name).to_owned(), output));
    }

    /// The test that was open is over: its result is the end of its output.
    fn settle(&mut self, sink: &mut dyn Sink) {
        let Some((name, mut output)) = self.open.take() else {
            return;
        };
        let text = output.take();
        let bare = strip_ansi(&text);
        let bare = bare.trim_end();
        if let Some(printed) = bare.strip_suffix("ok") {
            self.passed += 1;
            let facts = (None, printed, false);
            emit(&self.binary, &name, Outcome::Passed, facts, sink);
        } else if let Some(printed) = bare.strip_suffix("FAILED") {
            let index = self.failed(&name, None);
            if let Some(failed) = self.failures.get_mut(index) {
                failed.output.push(printed);
            }
        } else {
            self.crash(&name, &text, sink);
        }
    }

    fn ended(&mut self, name: &str, end: End<'_>, sink: &mut dyn Sink) {
        let name = plain_name(name);
        let (outcome, duration) = match end {
            End::Failed(duration) => {
                self.failed(name, duration);
                return;
            }
            End::Passed(duration) => {
                self.passed += 1;
                (Outcome::Passed, duration)
            }
            End::Ignored(reason) => {
                self.ignored += 1;
                let kind = SkipKind::Skipped;
                (Outcome::Skipped(Skip { kind, reason }), None)
            }
            End::Allowed => {
                self.ignored += 1;
                let kind = SkipKind::ExpectedFailure;
                (Outcome::Skipped(Skip { kind, reason: "" }), None)
            }
        };
        emit(&self.binary, name, outcome, (duration, "", false), sink);
    }

    fn failed(&mut self, name: &str, duration: Option<Duration>) -> usize {
        self.failed += 1;
        let index = self.failures.len();
        let name = plain_name(name).to_owned();
        self.by_name.insert(name.clone(), index);
        self.failures.push(Failed { name, duration, ..Failed::default() });
        index
    }

    fn emit_failures(&mut self, sink: &mut dyn Sink) {
        for mut failed in std::mem::take(&mut self.failures) {
            let output = failed.output.take();
            let plain = strip_ansi(&output);
            let outcome = Outcome::Failed(explain(&plain, &failed.name, ""));
            let facts = (failed.duration, output.as_str(), false);
            emit(&self.binary, &failed.name, outcome, facts, sink);
        }
    }

    fn crash(&mut self, name: &str, output: &str, sink: &mut dyn Sink) {
        self.failed += 1;
        let cause =
            self.death.lines().find(|line| line.contains("process didn't exit successfully"));
        let signal = cause.and_then(|line| line.rsplit_once(" (").map(|(_, end)| end));
        let message = match signal {
            Some(signal) => format!("started and never ended: {}", signal.trim_end_matches(')')),
            None => "started and never ended".to_owned(),
        };
        let outcome = Outcome::Failed(Failure {
            kind: FailureKind::Crash,
            message: &message,
            details: &self.death,
            ..Failure::default()
        });
        emit(&self.binary, name, outcome, (None, output, false), sink);
    }

    /// Cargo says that the program did not end well.
    pub(super) fn died(&mut self, line: &str) {
        line.clone_into(&mut self.death);
    }

    /// The program ended in order.
    pub(super) fn end(&mut self, counts: &Counts, sink: &mut dyn Sink) {
        self.settle(sink);
        self.emit_failures(sink);
        self.emit_unnamed(counts.passed, counts.ignored, sink);
        let differs = counts.passed != self.passed
            || counts.ignored != self.ignored
            || counts.failed != self.failed;
        if differs {
            let message = format!(
                "the result line says {} passed, {} failed, {} ignored; the tests say otherwise",
                counts.passed, counts.failed, counts.ignored
            );
            sink.note(Note::new(NoteKind::Count, message));
        }
        if !counts.ok && self.failed == 0 {
            let message = "the result is FAILED, and no test failed";
            let error = RunError::new(RunErrorKind::Contradiction, message);
            sink.error(error.in_scope(self.binary.package.clone()));
        }
        let output = self.output.take();
        if !self.binary.package.is_empty() || !output.is_empty() {
            sink.event(&Event::Suite(SuiteFacts {
                package: &self.binary.package,
                file: &self.binary.file,
                duration: counts.duration,
                stdout: &output,
                ..SuiteFacts::default()
            }));
        }
    }

    /// With `--quiet` what passed is a dot: a case all the same.
    fn emit_unnamed(&mut self, passed: u64, ignored: u64, sink: &mut dyn Sink) {
        let passed = passed.saturating_sub(self.passed).min(self.may_be_dots);
        let ignored = ignored.saturating_sub(self.ignored).min(self.may_be_ignored);
        for _ in 0..passed {
            emit(&self.binary, NOT_NAMED, Outcome::Passed, (None, "", false), sink);
        }
        for _ in 0..ignored {
            let outcome = Outcome::Skipped(Skip::default());
            emit(&self.binary, NOT_NAMED, outcome, (None, "", false), sink);
        }
        self.passed += passed;
        self.ignored += ignored;
        if passed + ignored > 0 {
            let message = format!("{} tests are not named", passed + ignored);
            sink.note(Note::new(NoteKind::Message, message));
        }
    }

    /// The program has no end. `went_on` says that cargo went on after it.
    pub(super) fn cut_off(&mut self, went_on: bool, sink: &mut dyn Sink) {
        let open = self.open.take();
        let named = open.is_some();
        if let Some((name, mut output)) = open {
            self.crash(&name, &output.take(), sink);
        }
        self.emit_failures(sink);
        if went_on && self.dots > self.passed {
            self.emit_unnamed(self.dots, self.ignored, sink);
        }
        let came = self.passed + self.failed + self.ignored;
        if self.planned > came {
            sink.event(&Event::Missing(self.planned - came));
        }
        if named {
            return;
        }
        let died = !self.death.is_empty();
        let (kind, message) = if died || went_on {
            (RunErrorKind::Crash, "the tests died, and no test is named")
        } else {
            (RunErrorKind::Report, "the report is truncated: the tests have no result line")
        };
        let error = RunError::new(kind, message).in_scope(self.binary.package.clone());
        sink.error(error.with_details(self.death.clone()));
    }
}
