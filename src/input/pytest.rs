//! What the reports of pytest's plugins share: node ids, stages, and what these amount to.

use std::fmt::Write as _;
use std::time::Duration;

use super::failure;
use crate::event::{Event, Sink};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Location, Outcome, Pairs, RunError,
    RunErrorKind, Skip, SkipKind, Timestamp,
};
use crate::text::strip_ansi;

/// A node id, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NodeId<'a> {
    pub(super) file: &'a str,
    pub(super) suite: Vec<&'a str>,
    pub(super) name: &'a str,
    pub(super) parameters: &'a str,
}

impl<'a> NodeId<'a> {
    /// Takes `tests/test_a.py::TestB::test_c[x::y]` apart. Parameters may hold anything, so they go first.
    pub(super) fn new(id: &'a str) -> Self {
        let (path, parameters) = id.split_at(id.find('[').unwrap_or(id.len()));
        let (file, rest) = path.split_once("::").unwrap_or((path, ""));
        let mut suite: Vec<&str> = rest.split("::").collect();
        let name = suite.pop().filter(|name| !name.is_empty()).unwrap_or(file);
        Self { file, suite, name, parameters }
    }

    /// The keywords that are markers rather than the names of the test and what is around it.
    pub(super) fn markers<'k>(&self, keywords: &'k [String]) -> Vec<&'k str> {
        // The outermost two are the root folder and the session.
        let kept = keywords.len().saturating_sub(match keywords.last() {
            Some(last) if last.is_empty() => 2,
            _ => 0,
        });
        let is_name = |word: &str| {
            word.split('[').next() == Some(self.name)
                || word == self.file
                || self.suite.contains(&word)
                || self.file.split('/').any(|part| part == word)
        };
        let is_inner = |word: &str| {
            word.is_empty()
                || word.starts_with("__")
                || ["pytestmark", "parametrize", "usefixtures"].contains(&word)
        };
        let words = keywords.iter().take(kept).map(String::as_str);
        words.filter(|word| !is_name(word) && !is_inner(word)).collect()
    }
}

/// The stages of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Setup,
    Call,
    Teardown,
    /// `???`: the worker that ran the test died.
    Unknown,
}

impl When {
    pub(super) fn of(word: &str) -> Self {
        match word {
            "setup" => Self::Setup,
            "call" => Self::Call,
            "teardown" => Self::Teardown,
            _ => Self::Unknown,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Call => "call",
            Self::Teardown => "teardown",
            Self::Unknown => "???",
        }
    }
}

/// A place in a trace.
#[derive(Debug, Default)]
pub(super) struct Frame {
    pub(super) path: String,
    pub(super) line: Option<u32>,
    pub(super) message: String,
}

/// What went wrong in a stage.
#[derive(Debug, Default)]
pub(super) struct Problem {
    /// The exception, if the report has it apart.
    pub(super) message: String,
    /// The failure as pytest shows it.
    pub(super) text: String,
    pub(super) frames: Vec<Frame>,
    pub(super) crash: Option<Frame>,
}

impl Problem {
    /// A problem of which only the text is known.
    pub(super) fn from_text(text: &str) -> Self {
        Self { text: strip_ansi(text).into_owned(), ..Self::default() }
    }

    fn message(&self) -> &str {
        if self.message.is_empty() { headline(&self.text) } else { &self.message }
    }

    fn trace(&self) -> String {
        let mut trace = String::new();
        for frame in &self.frames {
            let line = frame.line.unwrap_or(0);
            let _ = writeln!(trace, "{}:{line}: {}", frame.path, frame.message);
        }
        trace
    }

    /// The innermost frame inside of the project, or where the exception was raised.
    fn location(&self) -> Option<Location<'_>> {
        let own = |frame: &&Frame| {
            !frame.path.is_empty()
                && !frame.path.starts_with(['/', '.', '<'])
                && frame.line.is_some()
        };
        let raised = self.crash.as_ref();
        // unittest raises inside of the standard library, which tells nobody anything.
        let raised = raised.filter(|frame| !failure::is_foreign(&frame.path));
        let frame = self.frames.iter().rfind(own).or(raised)?;
        (!frame.path.is_empty()).then_some(Location {
            file: &frame.path,
            line: frame.line,
            column: None,
        })
    }
}

/// The line of a failure's text that says what happened.
pub(super) fn headline(text: &str) -> &str {
    let exception = text.lines().find_map(|line| {
        let rest = line.strip_prefix("E ")?.trim();
        // A syntax error first shows the place.
        (!rest.is_empty() && !rest.starts_with("File \"")).then_some(rest)
    });
    let is_name = |line: &&str| line.contains("Error") || line.contains("Exception");
    let last =
        text.lines().filter_map(|line| line.strip_prefix("E ")).map(str::trim).rfind(is_name);
    let plain = || {
        let lines = text.lines().map(str::trim);
        let mut words = lines.filter(|line| !line.is_empty() && !line.starts_with("[gw"));
        words.next().unwrap_or_default()
    };
    last.or(exception).unwrap_or_else(plain)
}

/// The exception a message starts with: `OSError: no`, or an `assert`.
fn exception_type(message: &str) -> &str {
    if message.starts_with("assert ") {
        return "AssertionError";
    }
    let name = message.split([':', '\n']).next().unwrap_or_default();
    let is_name = !name.is_empty()
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
    if is_name && name.len() < message.len() { name } else { "" }
}

/// The sides of a plain `assert a == b`: pytest itself takes the left one for what was there.
fn sides(message: &str) -> (Option<&str>, Option<&str>) {
    let first = message.lines().next().unwrap_or_default();
    let assertion = first.split_once("assert ").map(|(_, assertion)| assertion);
    match assertion.and_then(|assertion| assertion.split_once(" == ")) {
        Some((actual, expected)) if !first.contains("...") && !expected.contains(" == ") => {
            (Some(expected), Some(actual))
        }
        _ => (None, None),
    }
}

/// One attempt at a test, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Tried {
    pub(super) problems: Vec<(When, Problem)>,
    pub(super) skipped: Option<(SkipKind, String)>,
    pub(super) duration: Duration,
    pub(super) started: Option<Timestamp>,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// Nothing says that the test itself ran, as opposed to its set-up.
    pub(super) not_called: bool,
    /// The report itself calls it an error, whatever stage it was.
    pub(super) is_error: bool,
}

impl Tried {
    /// Says how the attempt went.
    pub(super) fn emit(&self, case: Case<'_>, again: bool, sink: &mut dyn Sink) {
        let (details, trace) = self.texts();
        let outcome = match (self.problems.first(), &self.skipped) {
            (Some((_, first)), _) => Outcome::Failed(self.failure(first, &details, &trace)),
            (None, Some((kind, reason))) => Outcome::Skipped(Skip { kind: *kind, reason }),
            (None, None) if self.not_called => Outcome::NotRun,
            (None, None) => Outcome::Passed,
        };
        let attempt = Attempt {
            outcome,
            duration: Some(self.duration),
            started: self.started,
            stdout: &self.stdout,
            stderr: &self.stderr,
        };
        sink.event(&Event::CaseFinished { case, attempt, again });
    }

    pub(super) fn is_failure(&self) -> bool {
        !self.problems.is_empty()
    }

    fn failure<'a>(&self, first: &'a Problem, details: &'a str, trace: &'a str) -> Failure<'a> {
        let message = first.message();
        let (expected, actual) = sides(message);
        Failure {
            kind: self.kind(message),
            message,
            type_name: exception_type(message),
            details,
            stack_trace: trace,
            expected,
            actual,
            location: first.location().or_else(|| failure::locate(&first.text)),
        }
    }

    fn kind(&self, message: &str) -> FailureKind {
        let has = |when| self.problems.iter().any(|(at, _)| *at == when);
        if has(When::Unknown) {
            FailureKind::Crash
        } else if message.starts_with("Failed: Timeout") {
            // pytest-timeout fails the test by itself.
            FailureKind::Timeout
        } else if has(When::Call) && !self.is_error {
            FailureKind::Failure
        } else {
            FailureKind::Error
        }
    }

    /// All problems in full, and the trace of the first.
    fn texts(&self) -> (String, String) {
        let mut details = String::new();
        for (index, (when, problem)) in self.problems.iter().enumerate() {
            if index > 0 {
                let _ = writeln!(details, "\n\n{}: {}", when.name(), problem.message());
            }
            details.push_str(&problem.text);
        }
        let trace = self.problems.first().map(|(_, first)| first.trace());
        (details, trace.unwrap_or_default())
    }
}

/// The case of a node id.
pub(super) fn case<'a>(
    id: &'a NodeId<'a>,
    line: Option<u32>,
    tags: &'a [&'a str],
    properties: &'a [String],
) -> Case<'a> {
    Case {
        id: CaseId {
            package: "",
            file: id.file,
            suite: List::from(&id.suite),
            name: id.name,
            parameters: id.parameters,
        },
        line,
        tags: List::from(tags),
        properties: Pairs::new(properties),
        attachments: Pairs::default(),
    }
}

/// A module or class that could not be collected.
pub(super) fn collect_error(id: &str, text: &str) -> RunError {
    let text = strip_ansi(text);
    let message = match headline(&text) {
        "" => "it could not be collected",
        line => line,
    };
    RunError::new(RunErrorKind::Load, message.to_owned()).with_details(text).in_scope(id)
}

/// What pytest's exit status says that neither cases nor errors explain.
pub(super) fn check_status(status: i64, failures: u64, run_errors: u64, sink: &mut dyn Sink) {
    let (kind, message) = match status {
        1 if failures == 0 && run_errors == 0 => (
            RunErrorKind::Contradiction,
            "pytest says that tests failed (exit status 1), but none did",
        ),
        2 if run_errors == 0 => (RunErrorKind::BailOut, "pytest was interrupted (exit status 2)"),
        3 if run_errors == 0 => {
            (RunErrorKind::Crash, "pytest had an internal error (exit status 3)")
        }
        4 if run_errors == 0 => {
            (RunErrorKind::Load, "pytest was called in a wrong way (exit status 4)")
        }
        0..=5 => return,
        _ if failures > 0 || run_errors > 0 => return,
        _ => (
            RunErrorKind::Contradiction,
            "pytest ended with an exit status of its plugins, but no test failed",
        ),
    };
    sink.error(RunError::new(kind, message));
}

/// A line number that counts from 0.
pub(super) fn line_from_zero(line: Option<i64>) -> Option<u32> {
    u32::try_from(line?).ok()?.checked_add(1)
}

/// A line number that counts from 1.
pub(super) fn line_from_one(line: Option<i64>) -> Option<u32> {
    u32::try_from(line?).ok().filter(|&line| line > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_ids_are_split_before_their_parameters() {
        let id = NodeId::new("tests/test_a.py::TestB::test_c[x::y-[1]]");
        assert_eq!((id.file, id.name), ("tests/test_a.py", "test_c"));
        assert_eq!((id.suite, id.parameters), (vec!["TestB"], "[x::y-[1]]"));
        let id = NodeId::new("docs/usage.rst");
        assert_eq!((id.file, id.name), ("docs/usage.rst", "docs/usage.rst"));
        assert!(id.suite.is_empty());
    }

    #[test]
    fn markers_are_told_from_names() {
        let id = NodeId::new("tests/test_a.py::TestB::test_c[1]");
        let words = ["test_c[1]", "slow", "parametrize", "TestB", "test_a.py", "tests", "root", ""];
        let keywords = words.map(str::to_owned);
        assert_eq!(id.markers(&keywords), ["slow"]);
    }

    #[test]
    fn headlines_are_the_exceptions() {
        let text = "x.py:1: in f\n    f(\nE     File \"x.py\", line 1\nE   SyntaxError: no";
        assert_eq!(headline(text), "SyntaxError: no");
        assert_eq!(headline("[gw0] linux\nworker died"), "worker died");
        assert_eq!(headline("E   assert 1 == 2\nE    + where"), "assert 1 == 2");
    }
}
