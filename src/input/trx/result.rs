//! One result of a TRX report, kept small until the definition of its test is known.

use std::time::Duration;

use super::definition::Definition;
use crate::event::{Event, Sink};
use crate::input::dotnet::{self, Trouble};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Outcome, Pairs, Skip, SkipKind, Timestamp,
};

/// The words of `outcome`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Word {
    Passed,
    Failed,
    Error,
    Timeout,
    /// Aborted, disconnected or still in progress: something died.
    Died,
    NotRunnable,
    NotExecuted,
    Inconclusive,
    Pending,
    /// No outcome at all, which means an error in old versions.
    #[default]
    Missing,
    /// A word that is not known, and thus no pass.
    Unknown,
}

impl Word {
    pub(super) fn of(text: &str) -> Self {
        match text {
            "Passed" | "PassedButRunAborted" | "Warning" | "Completed" => Self::Passed,
            "Failed" => Self::Failed,
            "Error" => Self::Error,
            "Timeout" => Self::Timeout,
            "Aborted" | "Disconnected" | "InProgress" => Self::Died,
            "NotRunnable" => Self::NotRunnable,
            "NotExecuted" => Self::NotExecuted,
            "Inconclusive" => Self::Inconclusive,
            "Pending" => Self::Pending,
            "" => Self::Missing,
            _ => Self::Unknown,
        }
    }

    pub(super) fn is_skip(self) -> bool {
        matches!(self, Self::NotExecuted | Self::Inconclusive | Self::Pending)
    }

    pub(super) fn is_failure(self) -> bool {
        self != Self::Passed && !self.is_skip()
    }

    /// The kind of failure, and what to say where the report has no message.
    fn failure(self) -> (FailureKind, &'static str) {
        match self {
            Self::Failed => (FailureKind::Failure, "failed, and the report does not say why"),
            Self::Timeout => (FailureKind::Timeout, "a time limit ran out"),
            Self::Died => (FailureKind::Crash, "the run was stopped while this test ran"),
            Self::NotRunnable => (FailureKind::Error, "the test cannot be run"),
            Self::Missing => (FailureKind::Error, "the result has no outcome"),
            Self::Unknown => (FailureKind::Error, "the result has an unknown outcome"),
            _ => (FailureKind::Error, "an error outside of any assertion"),
        }
    }
}

/// What only some results have.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) trouble: Trouble,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// Names and paths.
    pub(super) files: Vec<String>,
}

/// A result.
#[derive(Default)]
pub(super) struct TestResult {
    pub(super) name: Box<str>,
    /// The hash of its test's id.
    pub(super) test: u64,
    pub(super) word: Word,
    pub(super) duration: Option<Duration>,
    pub(super) started: Option<Timestamp>,
    /// The report ended inside of it.
    pub(super) torn: bool,
    pub(super) texts: Option<Box<Texts>>,
}

impl TestResult {
    pub(super) fn texts(&mut self) -> &mut Texts {
        self.texts.get_or_insert_default()
    }

    pub(super) fn is_failure(&self) -> bool {
        self.word.is_failure() || (self.torn && !self.word.is_skip())
    }

    /// How many bytes of text it holds.
    pub(super) fn weight(&self) -> usize {
        self.texts.as_ref().map_or(0, |texts| {
            let trouble = &texts.trouble;
            texts.stdout.len() + texts.stderr.len() + trouble.message.len() + trouble.trace.len()
        })
    }

    /// Says what became of the case.
    pub(super) fn emit(&self, definition: &Definition<'_>, sink: &mut dyn Sink) {
        let nothing = Texts::default();
        let texts = self.texts.as_deref().unwrap_or(&nothing);
        let (class, name) = match definition.class {
            "" => dotnet::split_class(&self.name),
            class => (class, dotnet::without_class(&self.name, class)),
        };
        let package = if class.is_empty() { definition.assembly } else { class };
        let method = dotnet::without_class(definition.method, class);
        let (name, parameters) = dotnet::split_parameters(name, method);
        let case = Case {
            id: CaseId { package, file: "", suite: List::EMPTY, name, parameters },
            line: None,
            tags: List::from(definition.tags),
            properties: Pairs::default(),
            attachments: Pairs::new(&texts.files),
        };
        let reason = self.skip_reason(texts);
        let attempt = Attempt {
            outcome: self.outcome(texts, &reason),
            duration: self.duration,
            started: self.started,
            stdout: &texts.stdout,
            stderr: &texts.stderr,
        };
        sink.event(&Event::CaseFinished { case, attempt, again: false });
    }

    fn outcome<'a>(&self, texts: &'a Texts, reason: &'a str) -> Outcome<'a> {
        if self.word.is_skip() {
            let kind = SkipKind::Skipped;
            return Outcome::Skipped(Skip { kind, reason });
        }
        if self.word == Word::Passed && self.torn {
            return Outcome::Failed(Failure {
                kind: FailureKind::Crash,
                message: "the report ends before this case does",
                ..Failure::default()
            });
        }
        if self.word == Word::Passed {
            return Outcome::Passed;
        }
        let (kind, fallback) = self.word.failure();
        let failure = texts.trouble.failure(kind, fallback);
        // MSTest of later versions calls a time-out a plain failure.
        let timed_out = failure.message.starts_with("Test '")
            && (failure.message.contains("exceeded execution timeout period")
                || failure.message.contains("timed out after"));
        let kind =
            if timed_out && kind == FailureKind::Failure { FailureKind::Timeout } else { kind };
        Outcome::Failed(Failure { kind, ..failure })
    }

    /// The reason of a skip: its message, or with xUnit.net its output.
    fn skip_reason(&self, texts: &Texts) -> String {
        let message = match texts.trouble.message.as_str() {
            "" => texts.stdout.trim(),
            message => message,
        };
        let word = match self.word {
            Word::Inconclusive => "Inconclusive",
            Word::Pending => "Pending",
            Word::NotExecuted => return message.to_owned(),
            _ => return String::new(),
        };
        if message.is_empty() { word.to_owned() } else { format!("{word}: {message}") }
    }
}
