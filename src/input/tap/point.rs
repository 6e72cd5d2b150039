//! One test point with all that follows it, and the case it amounts to.

use std::time::Duration;

use super::line::Directive;
use super::yaml::Yaml;
use crate::event::{Event, Sink};
use crate::input::capped::Capped;
use crate::input::{failure, number};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Location, Note, NoteKind, Outcome, Pairs,
    RunError, RunErrorKind, Skip, SkipKind,
};
use crate::text::strip_ansi;

/// A test point whose comments and YAML block may still follow.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) ok: bool,
    pub(super) name: String,
    pub(super) directive: Option<(Directive, String)>,
    pub(super) duration: Option<Duration>,
    pub(super) file: String,
    pub(super) suite: Vec<String>,
    /// What was printed before the point.
    pub(super) stdout: String,
    pub(super) comments: Capped,
    pub(super) yaml: Option<Yaml>,
    /// Whether any test failed in the subtest that this point sums up, if it does.
    pub(super) children: Option<bool>,
    pub(super) bail_out: Option<String>,
    /// The name says what went wrong, since there is a point per assertion.
    pub(super) is_assertion: bool,
}

/// What became of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Became {
    Fine,
    Failed,
    Errored,
}

impl Pending {
    /// Whether this point is a failure, as opposed to one that was announced.
    pub(super) fn is_failure(&self) -> bool {
        !self.ok && self.directive.is_none()
    }

    /// Says what the point amounts to.
    pub(super) fn emit(mut self, sink: &mut dyn Sink) -> Became {
        let told = self.tell();
        if let Some(failed) = self.children {
            let contradicts = self.is_failure() && !failed;
            if failed && self.ok && self.directive.is_none() {
                let message = format!("\"{}\" is ok though a test in it failed", self.name);
                sink.note(Note::new(NoteKind::Count, message));
            }
            if !contradicts {
                return Became::Fine;
            }
            if self.failure_type() == "hookFailed" {
                let error = RunError::new(RunErrorKind::Setup, told.message);
                sink.error(error.with_details(told.stack_trace).in_scope(self.name));
                return Became::Errored;
            }
        }
        let outcome = self.outcome(&told);
        let became = match outcome {
            Outcome::Failed(_) => Became::Failed,
            _ => Became::Fine,
        };
        let (file, name) = split_file(&self.name);
        let case = Case {
            id: CaseId {
                file: if self.file.is_empty() { file } else { &self.file },
                suite: List::from(&self.suite),
                name,
                ..CaseId::default()
            },
            tags: List::from(&told.tags),
            properties: Pairs::default(),
            ..Case::default()
        };
        let millis = self.yaml.as_ref().map(|yaml| yaml.duration_ms.as_str());
        let measured =
            millis.and_then(|text| text.trim().parse().ok()).and_then(number::from_millis);
        let attempt = Attempt {
            outcome,
            duration: measured.or(self.duration),
            stdout: &self.stdout,
            ..Attempt::default()
        };
        sink.event(&Event::CaseFinished { case, attempt, again: false });
        became
    }

    fn outcome<'a>(&'a self, told: &'a Told) -> Outcome<'a> {
        match &self.directive {
            Some((Directive::Skip, reason)) => {
                Outcome::Skipped(Skip { kind: SkipKind::Skipped, reason })
            }
            _ if self.ok => Outcome::Passed,
            Some((Directive::Todo, reason)) => {
                Outcome::Skipped(Skip { kind: SkipKind::Todo, reason })
            }
            None => Outcome::Failed(Failure {
                kind: self.kind(),
                message: &told.message,
                type_name: self.yaml.as_ref().map_or("", |yaml| &yaml.type_name),
                details: &told.details,
                stack_trace: &told.stack_trace,
                expected: told.expected.as_deref(),
                actual: told.actual.as_deref(),
                location: told.location(),
            }),
        }
    }

    fn failure_type(&self) -> &str {
        self.yaml.as_ref().map_or("", |yaml| &yaml.failure_type)
    }

    fn kind(&self) -> FailureKind {
        let (signal, severity) =
            self.yaml.as_ref().map_or(("", ""), |yaml| (&yaml.signal, &yaml.severity));
        let died = self.is_assertion && self.name.starts_with("fatal error condition");
        match self.failure_type() {
            "testTimeoutFailure" => FailureKind::Timeout,
            _ if !signal.is_empty() || died => FailureKind::Crash,
            "hookFailed" => FailureKind::Error,
            _ if severity == "error" => FailureKind::Error,
            _ => FailureKind::Failure,
        }
    }

    /// Collects what the comments and the block say of the failure.
    fn tell(&mut self) -> Told {
        if self.ok {
            return Told::default();
        }
        let comments = strip_ansi(&self.comments.take()).into_owned();
        let mut told = match self.yaml.as_mut() {
            Some(yaml) if yaml.message.contains("in test file ") => Told::from_text(&yaml.message),
            Some(yaml) => Told::from_yaml(yaml, &comments),
            None => Told::from_text(&comments),
        };
        // There is a point per assertion, which is named by its text.
        if told.message.is_empty() && (self.is_assertion || self.yaml.is_some()) {
            told.message.clone_from(&self.name);
        }
        if let Some(reason) = &self.bail_out {
            if !told.details.is_empty() && !told.details.ends_with('\n') {
                told.details.push('\n');
            }
            told.details.push_str("Bail out! ");
            told.details.push_str(reason);
            if told.message.is_empty() {
                told.message.clone_from(reason);
            }
        }
        told
    }
}

/// pytest names its points `tests/test_cart.py::test_total`; Node names one after a file that died.
fn split_file(name: &str) -> (&str, &str) {
    if name.starts_with('/') && !name.contains(char::is_whitespace) {
        let base = name.rsplit('/').next().unwrap_or_default();
        return if base.is_empty() { ("", name) } else { (name, base) };
    }
    match name.split_once(".py::") {
        Some((stem, test)) if !test.is_empty() => (&name[..stem.len() + 3], test),
        _ => ("", name),
    }
}

/// What is known of a failure.
#[derive(Debug, Default)]
struct Told {
    message: String,
    details: String,
    stack_trace: String,
    expected: Option<String>,
    actual: Option<String>,
    file: String,
    line: Option<u32>,
    column: Option<u32>,
    tags: Vec<String>,
}

impl Told {
    fn location(&self) -> Option<Location<'_>> {
        (!self.file.is_empty()).then_some(Location {
            file: &self.file,
            line: self.line,
            column: self.column,
        })
    }

    fn set_place(&mut self, place: Location<'_>) {
        place.file.clone_into(&mut self.file);
        (self.line, self.column) = (place.line, place.column);
    }

    fn from_yaml(yaml: &mut Yaml, comments: &str) -> Self {
        let plain = |text: &mut String| strip_ansi(&std::mem::take(text)).into_owned();
        let mut told = Self {
            message: plain(&mut yaml.message),
            stack_trace: plain(&mut yaml.stack),
            expected: yaml.expected.take(),
            actual: yaml.actual.take(),
            ..Self::default()
        };
        told.details = plain(&mut yaml.diff);
        for more in [plain(&mut yaml.source), comments.trim_end().to_owned()] {
            if !more.is_empty() && !told.details.is_empty() {
                told.details.push_str("\n\n");
            }
            told.details.push_str(&more);
        }
        if told.message.is_empty() && told.details.is_empty() && told.stack_trace.is_empty() {
            told.details = strip_ansi(&yaml.whole.take()).into_owned();
        }
        if told.message.is_empty() {
            // tape and node-tap say what is wrong in the first line of the stack, if anywhere.
            let first = failure::first_line(&told.stack_trace);
            if let Some((_, message)) = first.split_once("Error: ") {
                message.clone_into(&mut told.message);
            }
        }
        if !yaml.file.is_empty() {
            told.file.clone_from(&yaml.file);
            (told.line, told.column) = (number::line(&yaml.line), number::line(&yaml.column));
            return told;
        }
        let stack = told.stack_trace.clone();
        if let Some(place) = failure::locate(&stack).or_else(|| failure::place_in(&yaml.place)) {
            told.set_place(place);
        }
        told
    }

    /// From comments, in the ways of `Test::More`, bats, busted and pytest.
    fn from_text(text: &str) -> Self {
        let mut told = Self::default();
        let mut text = text;
        if let Some(rest) = text.strip_prefix("tags: ") {
            let (tags, after) = rest.split_once('\n').unwrap_or((rest, ""));
            let words = tags.split([' ', ',']).filter(|tag| !tag.is_empty());
            told.tags = words.map(str::to_owned).collect();
            text = after;
        }
        if let Some(place) = failure::locate(text) {
            told.set_place(place);
        }
        let found = told.test_more(text) || told.bats(text) || told.busted(text);
        if !found {
            let error = text.lines().find_map(|line| line.strip_prefix("E   "));
            let first = error.unwrap_or_else(|| failure::first_line(text));
            first.trim().clone_into(&mut told.message);
            let (expected, actual) = failure::expected_actual(text);
            told.expected = expected.map(str::to_owned);
            told.actual = actual.map(str::to_owned);
        }
        if text.trim() != told.message {
            text.trim_end().clone_into(&mut told.details);
        }
        told
    }

    fn test_more(&mut self, text: &str) -> bool {
        let is_head = |line: &str| line.starts_with("Failed test") || line.starts_with("Failed (");
        let Some(head) = text.lines().map(str::trim).find(|line| is_head(line)) else {
            return false;
        };
        let is_place = |line: &str| line.starts_with("at ") && line.contains(" line ");
        let said: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| !is_head(line) && !is_place(line) && !line.starts_with("Looks like you"))
            .collect();
        let said = said.join("\n");
        self.message =
            if said.trim().is_empty() { head.to_owned() } else { said.trim().to_owned() };
        if let Some((_, got)) = text.split_once(" got: ")
            && let Some((actual, expected)) = got.split_once(" expected: ")
        {
            self.actual = Some(unquoted(actual));
            self.expected = Some(unquoted(expected));
        }
        true
    }

    fn bats(&mut self, text: &str) -> bool {
        let Some((_, rest)) = text.split_once("in test file ") else {
            return false;
        };
        let Some((file, rest)) = rest.split_once(", line ") else {
            return false;
        };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        self.set_place(Location { file, line: number::line(&rest[..digits]), column: None });
        let message = rest.lines().nth(1).unwrap_or_default().trim();
        message.clone_into(&mut self.message);
        true
    }

    fn busted(&mut self, text: &str) -> bool {
        let Some((_, rest)) = text.split_once("Failure message: ") else {
            return false;
        };
        let first = rest.lines().next().unwrap_or_default();
        if let Some(place) = failure::place_in(first) {
            self.set_place(place);
        }
        let prefix = format!("{}:{}: ", self.file, self.line.unwrap_or(0));
        let message = first.strip_prefix(&prefix).unwrap_or(first);
        message.clone_into(&mut self.message);
        if message == "{" {
            rest.trim_end().clone_into(&mut self.message);
        }
        if let Some((_, values)) = rest.split_once("\nPassed in:\n")
            && let Some((actual, expected)) = values.split_once("\nExpected:\n")
        {
            self.actual = Some(actual.to_owned());
            self.expected = Some(expected.trim_end().to_owned());
        }
        true
    }
}

fn unquoted(value: &str) -> String {
    let value = value.trim();
    let inside = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\''));
    inside.unwrap_or(value).to_owned()
}
