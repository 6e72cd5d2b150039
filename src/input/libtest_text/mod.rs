//! The text that `cargo test` prints, where there is nothing better.
//!
//! Passed tests are named unless `--quiet` was given, the output of failed ones comes at the end of each
//! program. Cargo's own lines, which name the programs, go to standard error and may be missing.

mod line;
mod suite;

use super::libtest::{Binary, Build};
use super::lines::Lines;
use super::{Head, InputFormat, Parser};
use crate::event::{Event, Sink};
use crate::model::{Grade, Outcome, RunError, RunErrorKind};
use crate::text::strip_ansi;
use line::{Line, classify};
use suite::Suite;

/// The text of `cargo test`.
pub(super) struct LibtestText;

impl InputFormat for LibtestText {
    fn name(&self) -> &'static str {
        "libtest-text"
    }

    fn description(&self) -> &'static str {
        "text of cargo test"
    }

    fn framework(&self) -> &'static str {
        "cargo-test"
    }

    fn grade(&self) -> Grade {
        Grade::Text
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let mut before = "";
        !head.is_markup()
            && head.text.lines().take(5000).any(|line| {
                let starts = before.trim().is_empty()
                    && (line.starts_with("running ") && matches!(classify(line), Line::Running(_)));
                before = line;
                starts || line.starts_with("error: could not compile `")
            })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(LibtestTextParser::default())
    }
}

#[derive(Default)]
struct LibtestTextParser {
    lines: Lines,
    state: State,
}

impl Parser for LibtestTextParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let state = &mut self.state;
        let mut watch = Watch { sink, any_failed: state.any_failed };
        self.lines.feed(text, &mut watch, |line, _, sink| state.line(line, sink));
        state.any_failed = watch.any_failed;
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let mut watch = Watch { sink, any_failed: self.state.any_failed };
        if let Some((last, _)) = self.lines.finish() {
            self.state.last_line(&last, &mut watch);
        }
        self.state.finish(&mut watch);
        if let Some(line) = self.state.cargo_failed.take().filter(|_| !watch.any_failed) {
            let message = "cargo says that a test program failed, but shows no failed test";
            sink.error(RunError::new(RunErrorKind::Crash, message).with_details(line));
        }
    }
}

/// Passes events on, and remembers whether any was bad.
struct Watch<'a> {
    sink: &'a mut dyn Sink,
    any_failed: bool,
}

impl Sink for Watch<'_> {
    fn event(&mut self, event: &Event<'_>) {
        self.any_failed |= match event {
            Event::CaseFinished { attempt, .. } => matches!(attempt.outcome, Outcome::Failed(_)),
            Event::Errored(_) => true,
            _ => false,
        };
        self.sink.event(event);
    }
}

#[derive(Default)]
struct State {
    suite: Option<Suite>,
    /// The program that was announced, and has not begun.
    announced: Option<Binary>,
    build: Build,
    seen_suite: bool,
    any_failed: bool,
    /// The line by which cargo says that a test program failed.
    cargo_failed: Option<String>,
}

/// By which cargo says that a program did not end well.
const DIED: &str = "error: test failed, to rerun pass ";

impl State {
    fn line(&mut self, raw: &str, sink: &mut dyn Sink) {
        let plain = strip_ansi(raw);
        if says_failed(&plain) {
            self.cargo_failed = Some(plain.clone().into_owned());
        }
        let mut line = plain.as_ref();
        // Cargo's lines come through another pipe and may land behind a test that never ends.
        if let Some(suite) = &mut self.suite
            && !line.ends_with(" ... ok")
            && let Some(at) = cargo_line(line)
        {
            suite.line(&classify(&line[..at]), &line[..at], sink);
            line = &line[at..];
        }
        if let Some(binary) = Binary::announced(line) {
            self.end_suite(sink);
            self.announced = Some(binary);
            return;
        }
        let classified = classify(line);
        if let Line::Running(count) = classified {
            self.end_suite(sink);
            self.build.clear();
            self.seen_suite = true;
            let binary = self.announced.take().unwrap_or_default();
            self.suite = Some(Suite::new(binary, count));
            return;
        }
        let Some(suite) = &mut self.suite else {
            self.announced = self.announced.take().filter(|_| line.trim().is_empty());
            return self.build.line(line, sink);
        };
        if let Line::Result(counts) = &classified {
            suite.end(counts, sink);
            self.suite = None;
            return;
        }
        if line.starts_with(DIED) {
            return suite.died(line);
        }
        suite.line(&classified, raw, sink);
    }

    /// Reads what comes after the last line end. A result there may be cut.
    fn last_line(&mut self, line: &str, sink: &mut dyn Sink) {
        match classify(&strip_ansi(line)) {
            // `FAILED` and a reason may be missing from what looks like a result.
            Line::Test(test) if self.suite.is_some() => {
                if let Some(suite) = &mut self.suite {
                    suite.open(test.name, "", sink);
                }
            }
            _ => self.line(line, sink),
        }
    }

    /// The program is over without having said so.
    fn end_suite(&mut self, sink: &mut dyn Sink) {
        if let Some(mut suite) = self.suite.take() {
            suite.cut_off(true, sink);
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if let Some(mut suite) = self.suite.take() {
            suite.cut_off(false, sink);
        }
        self.build.finish(sink);
        let problem = if self.announced.is_some() {
            "the last program has no results: the report is truncated"
        } else if !self.seen_suite && !self.build.any_failed {
            "there is no test result in it"
        } else {
            return;
        };
        sink.error(RunError::new(RunErrorKind::Report, problem));
    }
}

/// Whether cargo says that a test program failed, or several (`error: 2 targets failed:`).
fn says_failed(line: &str) -> bool {
    let Some(at) = line.find("error: ") else { return false };
    let said = &line[at + 7..];
    let counted = said.trim_start_matches(|c: char| c.is_ascii_digit());
    said.starts_with("test failed, to rerun")
        || said.starts_with("doctest failed, to rerun")
        || (counted.len() < said.len()
            && (counted.starts_with(" target failed:") || counted.starts_with(" targets failed:")))
}

/// Where one of cargo's own lines starts behind something else.
fn cargo_line(line: &str) -> Option<usize> {
    if let Some(at) = line.find(DIED) {
        return (at > 0).then_some(at);
    }
    let at = line.find("   Doc-tests ").or_else(|| line.find("     Running "))?;
    let behind_dots = line[..at].ends_with("...") || line[..at].ends_with("... ");
    (behind_dots && Binary::announced(&line[at..]).is_some()).then_some(at)
}
