//! The JSON reporter of `dart test` and `flutter test --machine`: one event per line.
//!
//! See <https://github.com/dart-lang/test/blob/master/pkgs/test/doc/json_reporter.md>.

mod line;

use std::collections::{BTreeMap, VecDeque};

use super::capped::Capped;
use super::json_lines::{JsonLines, read_line};
use super::{Head, InputFormat, Parser, failure, number};
use crate::event::{Event, Sink};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Location, Note, NoteKind, Outcome, RunError,
    RunErrorKind, Skip, SkipKind,
};
use crate::text::strip_ansi;
use line::{GroupLine, Line, SuiteLine, TestLine};

/// Dart's JSON reporter.
pub(super) struct DartJson;

impl InputFormat for DartJson {
    fn name(&self) -> &'static str {
        "dart-json"
    }

    fn description(&self) -> &'static str {
        "dart test --reporter json, flutter test --machine"
    }

    fn framework(&self) -> &'static str {
        "dart"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.line_has(&["protocolVersion", "runnerVersion", "type"])
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(DartParser::default())
    }
}

/// How many passed tests are held back, since an error may still come after a test is done.
const HELD: usize = 16;
/// Errors kept per test; a test with more repeats itself.
const MAX_ERRORS: usize = 100;

#[derive(Default)]
struct DartParser {
    lines: JsonLines,
    state: State,
}

impl Parser for DartParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let state = &mut self.state;
        self.lines.feed(text, sink, |line, number, sink| {
            state.line(line, number, sink);
        });
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let state = &mut self.state;
        let cut = self.lines.finish(sink, |line, number, sink| state.line(line, number, sink));
        self.state.finish(cut, sink);
    }
}

#[derive(Default)]
struct State {
    suites: BTreeMap<u64, Suite>,
    groups: BTreeMap<u64, String>,
    open: BTreeMap<u64, Test>,
    /// Tests that are done and passed, oldest first.
    held: VecDeque<(u64, Test)>,
    failures: u64,
    done: Option<LastWord>,
    /// How many suites there are to be, and how many said how many tests they have.
    all_suites: Option<u64>,
    counted_suites: u64,
    /// How many tests there are to be, and how many are told of.
    announced: u64,
    told: u64,
}

#[derive(Default)]
struct Suite {
    path: String,
    platform: String,
}

/// A test that started.
#[derive(Default)]
struct Test {
    file: String,
    platform: String,
    lineage: Vec<String>,
    name: String,
    line: Option<u32>,
    skip_reason: String,
    started: Option<f64>,
    ended: Option<f64>,
    stdout: Capped,
    errors: Vec<ErrorText>,
    done: Done,
}

struct ErrorText {
    message: String,
    stack_trace: String,
    is_failure: bool,
}

/// What the last event says of the run.
#[derive(Clone, Copy)]
enum LastWord {
    Passed,
    Failed,
    Stopped,
}

impl LastWord {
    fn of(success: Option<bool>) -> Self {
        match success {
            Some(true) => Self::Passed,
            Some(false) => Self::Failed,
            None => Self::Stopped,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Done {
    #[default]
    Never,
    Passed,
    Failed,
    Errored,
    Skipped,
}

impl State {
    fn line(&mut self, line: &str, number: u64, sink: &mut dyn Sink) {
        let Some(event) = read_line::<Line<'_>>(line, number, sink) else {
            return;
        };
        match event.kind.as_ref() {
            "suite" => self.suite(event.suite),
            "group" => self.group(event.group),
            "allSuites" => self.all_suites = event.count,
            "testStart" => self.start(event.test, event.time, sink),
            "print" => self.print(&event),
            "error" => self.error(&event, sink),
            "testDone" => self.done(&event, number, sink),
            "done" => self.done = Some(LastWord::of(event.success)),
            _ => {}
        }
    }

    fn suite(&mut self, suite: Option<SuiteLine<'_>>) {
        if let Some(suite) = suite {
            let known = Suite {
                path: suite.path.unwrap_or_default().into_owned(),
                platform: suite.platform.into_owned(),
            };
            self.suites.insert(suite.id, known);
        }
    }

    fn group(&mut self, group: Option<GroupLine<'_>>) {
        let Some(group) = group else { return };
        if group.parent_id.is_none() {
            self.counted_suites += 1;
            self.announced = self.announced.saturating_add(group.test_count);
        }
        let name = group.name.unwrap_or_default().into_owned();
        self.groups.insert(group.id, name);
    }

    fn start(&mut self, test: Option<TestLine<'_>>, time: Option<f64>, sink: &mut dyn Sink) {
        let Some(test) = test else { return };
        let (lineage, name) = self.names(&test.group_ids, &test.name);
        let mut started = Test {
            lineage,
            name,
            started: time,
            // A helper that defines tests has the line of its own; the root is where it was called.
            line: test.root_line.or(test.line),
            ..Test::default()
        };
        if let Some(suite) = self.suites.get(&test.suite_id) {
            started.file.clone_from(&suite.path);
            if suite.platform != "vm" {
                started.platform.clone_from(&suite.platform);
            }
        }
        if test.root_line.is_none() && test.url.is_some_and(|url| url.starts_with("package:")) {
            started.line = None;
        }
        if let Some(metadata) = test.metadata {
            started.skip_reason = metadata.skip_reason.unwrap_or_default().into_owned();
        }
        // Those that load files and set up groups are hidden when they pass, and then never end.
        if !may_be_hidden(&test.name) {
            sink.event(&Event::CaseStarted(started.case()));
        }
        self.open.insert(test.id, started);
    }

    /// Group names hold those of the groups around them, and test names those of their groups.
    fn names(&self, groups: &[u64], full: &str) -> (Vec<String>, String) {
        let mut lineage = Vec::new();
        let mut prefix = "";
        for group in groups.iter().filter_map(|id| self.groups.get(id)) {
            if group.is_empty() {
                continue;
            }
            lineage.push(without_prefix(group, prefix).to_owned());
            prefix = group;
        }
        (lineage, without_prefix(full, prefix).to_owned())
    }

    fn print(&mut self, event: &Line<'_>) {
        let Some(test) = event.test_id.and_then(|id| self.open.get_mut(&id)) else {
            return;
        };
        if event.message_type == "skip" {
            if test.skip_reason.is_empty() {
                let reason = event.message.trim_start_matches("Skip:").trim();
                reason.clone_into(&mut test.skip_reason);
            }
            return;
        }
        test.stdout.push(&event.message);
        test.stdout.push("\n");
    }

    fn error(&mut self, event: &Line<'_>, sink: &mut dyn Sink) {
        let Some(id) = event.test_id else { return };
        let error = ErrorText {
            message: strip_ansi(&event.error).trim_end().to_owned(),
            stack_trace: strip_ansi(&event.stack_trace).into_owned(),
            is_failure: event.is_failure,
        };
        let held = self.held.iter_mut().find(|(held, _)| *held == id);
        let test = self.open.get_mut(&id).or(held.map(|(_, test)| test));
        if let Some(test) = test {
            if test.errors.len() < MAX_ERRORS {
                test.errors.push(error);
            }
            return;
        }
        // Its test was told of long ago.
        self.failures += 1;
        let message = format!("a test failed after it was done: {}", error.message);
        sink.error(RunError::new(RunErrorKind::Crash, message).with_details(error.stack_trace));
    }

    fn done(&mut self, event: &Line<'_>, number: u64, sink: &mut dyn Sink) {
        let Some((id, mut test)) = event.test_id.and_then(|id| self.open.remove_entry(&id)) else {
            let message = format!("line {number} ends a test that did not start");
            sink.error(RunError::new(RunErrorKind::Report, message));
            return;
        };
        test.ended = event.time;
        test.done = match event.result.as_ref() {
            "success" if event.skipped => Done::Skipped,
            "success" if event.hidden => return,
            "success" => Done::Passed,
            "failure" => Done::Failed,
            _ => Done::Errored,
        };
        self.held.push_back((id, test));
        if self.held.len() > HELD
            && let Some((_, test)) = self.held.pop_front()
        {
            self.tell(test, sink);
        }
    }

    fn tell(&mut self, mut test: Test, sink: &mut dyn Sink) {
        self.told += 1;
        let stdout = test.stdout.take();
        let why = test.failure_text(&stdout);
        let outcome = test.outcome(&why);
        self.failures += u64::from(matches!(outcome, Outcome::Failed(_)));
        let duration = match (test.started, test.ended) {
            (Some(start), Some(end)) => number::from_millis(end - start),
            _ => None,
        };
        let attempt = Attempt { outcome, duration, stdout: &stdout, ..Attempt::default() };
        sink.event(&Event::CaseFinished { case: test.case(), attempt, again: false });
    }

    fn finish(&mut self, cut: bool, sink: &mut dyn Sink) {
        for (_, test) in std::mem::take(&mut self.held) {
            self.tell(test, sink);
        }
        let nothing_open = self.open.is_empty();
        for (_, test) in std::mem::take(&mut self.open) {
            self.tell(test, sink);
        }
        match self.done {
            None => self.ends_early(nothing_open && !cut, sink),
            Some(LastWord::Stopped) => {
                let message = "the run was stopped before its end (success is null)";
                sink.error(RunError::new(RunErrorKind::Report, message));
            }
            Some(LastWord::Failed) if self.failures == 0 => {
                let message = "the report says that the run failed, but none of its tests did";
                sink.error(RunError::new(RunErrorKind::Contradiction, message));
            }
            Some(LastWord::Passed) if self.failures > 0 => {
                let message = format!(
                    "the report claims success, but {} of its tests failed; they are believed",
                    self.failures
                );
                sink.note(Note::new(NoteKind::Count, message));
            }
            Some(_) => {}
        }
    }

    /// There is no last event. Only where nothing is missing and the run failed anyway, that is no matter.
    fn ends_early(&self, at_rest: bool, sink: &mut dyn Sink) {
        let complete = self.all_suites == Some(self.counted_suites) && self.told >= self.announced;
        let message = "there is no \"done\" event";
        if at_rest && complete && self.failures > 0 {
            let message = format!("{message}, but every test that was announced is there");
            sink.note(Note::new(NoteKind::Syntax, message));
        } else {
            let message = format!("{message}: the report is truncated");
            sink.error(RunError::new(RunErrorKind::Report, message));
        }
    }
}

/// A failure's texts, put together from one or several errors.
struct FailureText {
    kind: FailureKind,
    message: String,
    details: String,
    stack_trace: String,
}

impl Test {
    fn case(&self) -> Case<'_> {
        Case {
            id: CaseId {
                package: "",
                file: &self.file,
                suite: List::from(&self.lineage),
                name: &self.name,
                parameters: &self.platform,
            },
            line: self.line.filter(|&line| line > 0),
            ..Case::default()
        }
    }

    fn failure_text(&self, stdout: &str) -> FailureText {
        let mut text = FailureText {
            kind: self.kind(),
            message: String::new(),
            details: String::new(),
            stack_trace: String::new(),
        };
        for (index, error) in self.errors.iter().enumerate() {
            if index == 0 {
                text.message.clone_from(&error.message);
                text.stack_trace.clone_from(&error.stack_trace);
                continue;
            }
            let more = format!("{}\n{}\n", error.message, error.stack_trace);
            text.details.push_str(&more);
        }
        // Flutter prints what happened and gives an error that says so.
        if text.message.starts_with("Test failed. See exception logs above.")
            && let Some((message, details)) = flutter_exception(stdout)
        {
            text.message = strip_ansi(message).into_owned();
            text.details = format!("{}\n{}", strip_ansi(details), text.details);
        }
        text
    }

    fn kind(&self) -> FailureKind {
        let timed_out = |error: &ErrorText| error.message.starts_with("TimeoutException");
        if self.done == Done::Never {
            FailureKind::Crash
        } else if self.errors.iter().any(timed_out) {
            FailureKind::Timeout
        } else if self.done == Done::Errored || self.errors.iter().any(|error| !error.is_failure) {
            FailureKind::Error
        } else {
            FailureKind::Failure
        }
    }

    fn outcome<'a>(&'a self, text: &'a FailureText) -> Outcome<'a> {
        match self.done {
            Done::Skipped if self.errors.is_empty() => {
                Outcome::Skipped(Skip { kind: SkipKind::Skipped, reason: &self.skip_reason })
            }
            Done::Passed if self.errors.is_empty() => Outcome::Passed,
            done => {
                let message = match (done, text.message.as_str()) {
                    (Done::Never, "") => "started and never ended",
                    (_, "") => "failed, and the report does not say why",
                    (_, message) => message,
                };
                let (expected, actual) = failure::expected_actual(message);
                let location = dart_place(&text.stack_trace)
                    .or_else(|| failure::locate(&text.details))
                    .or_else(|| failure::locate(message));
                Outcome::Failed(Failure {
                    kind: text.kind,
                    message,
                    type_name: "",
                    details: text.details.trim_end(),
                    stack_trace: &text.stack_trace,
                    expected,
                    actual,
                    location,
                })
            }
        }
    }
}

/// Whether a test of this name is none of the user's, and is hidden when it passes.
fn may_be_hidden(name: &str) -> bool {
    name.starts_with("loading ") || name.ends_with("(setUpAll)") || name.ends_with("(tearDownAll)")
}

/// `name` without the name of the group around it, which it starts with.
fn without_prefix<'a>(name: &'a str, prefix: &str) -> &'a str {
    match name.strip_prefix(prefix) {
        Some(rest) if !prefix.is_empty() && !rest.trim().is_empty() => rest.trim_start(),
        _ => name,
    }
}

/// The place of the first frame that is the project's own: `test/cart_test.dart 17:7  main.<fn>`.
fn dart_place(trace: &str) -> Option<Location<'_>> {
    let own = |line: &&str| !line.starts_with("package:") && !line.starts_with("dart:");
    let frame = trace.lines().find(own)?;
    let mut words = frame.split_whitespace();
    let (file, place) = (words.next()?, words.next()?);
    let Some((line, column)) = place.split_once(':') else {
        return failure::locate(trace);
    };
    match number::line(line) {
        Some(line) => Some(Location { file, line: Some(line), column: number::line(column) }),
        None => failure::locate(trace),
    }
}

/// The last exception that Flutter printed: its message, and the whole block.
fn flutter_exception(stdout: &str) -> Option<(&str, &str)> {
    let start = stdout.rfind("══╡ EXCEPTION CAUGHT BY FLUTTER TEST FRAMEWORK ╞")?;
    let block = &stdout[start..];
    let (_, after) = block.split_once(" was thrown")?;
    let (_, text) = after.split_once('\n')?;
    let message = text.split("\n\n").next().unwrap_or(text).trim();
    (!message.is_empty()).then_some((message, block.trim_end()))
}
