//! One test of a Robot Framework report.

use std::time::Duration;

use crate::event::{Event, Sink};
use crate::input::capped::Capped;
use crate::input::xml::{Tag, unescape};
use crate::input::{failure, number};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Outcome, Pairs, Skip, SkipKind, Timestamp,
};
use crate::text::strip_ansi;

/// What the status of a test says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    Failed,
    Skipped,
    NotRun,
    /// A word that is not known, and thus no pass.
    Unknown,
    /// The report ended first.
    #[default]
    Unfinished,
}

impl Verdict {
    pub(super) fn of(word: &str) -> Self {
        match word {
            "PASS" => Self::Passed,
            "FAIL" => Self::Failed,
            "SKIP" => Self::Skipped,
            "NOT RUN" | "NOT_RUN" => Self::NotRun,
            _ => Self::Unknown,
        }
    }

    pub(super) fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Unknown | Self::Unfinished)
    }
}

/// A test.
#[derive(Default)]
pub(super) struct Test {
    name: String,
    line: Option<u32>,
    pub(super) doc: String,
    pub(super) tags: Vec<String>,
    pub(super) verdict: Verdict,
    pub(super) message: String,
    pub(super) started: Option<Timestamp>,
    pub(super) duration: Option<Duration>,
    stdout: Capped,
    stderr: Capped,
    /// Which keywords failed, and how.
    details: Capped,
    trace: Capped,
}

impl Test {
    pub(super) fn new(tag: &Tag<'_>, sink: &mut dyn Sink) -> Self {
        let mut test = Self::default();
        for (key, value) in tag.attributes() {
            match key {
                "name" => test.name = unescape(value, sink).into_owned(),
                "line" => test.line = number::line(value),
                _ => {}
            }
        }
        test
    }

    /// A keyword logged something.
    pub(super) fn log(&mut self, level: &str, keyword: &str, text: &str) {
        let is_trace = text.starts_with("Traceback (most recent call last)");
        let target = match level {
            "FAIL" => {
                if !keyword.is_empty() {
                    self.details.push(&format!("{keyword}: "));
                }
                &mut self.details
            }
            "DEBUG" if is_trace => &mut self.trace,
            "WARN" | "ERROR" => &mut self.stderr,
            _ => &mut self.stdout,
        };
        target.push(text);
        target.push("\n");
    }

    /// How many bytes of output it holds.
    pub(super) fn weight(&self) -> usize {
        self.stdout.as_str().len() + self.stderr.as_str().len()
    }

    /// Forgets what it wrote and what only a failure would need.
    pub(super) fn drop_output(&mut self) {
        for text in [&mut self.stdout, &mut self.stderr, &mut self.details, &mut self.trace] {
            *text = Capped::default();
        }
    }

    /// Says what became of the test.
    pub(super) fn emit(mut self, file: &str, lineage: &[String], sink: &mut dyn Sink) {
        let (stdout, stderr) = (self.stdout.take(), self.stderr.take());
        let details = strip_ansi(&self.details.take()).into_owned();
        let trace = strip_ansi(&self.trace.take()).into_owned();
        let doc = ["doc", self.doc.as_str()];
        let case = Case {
            id: CaseId {
                package: "",
                file,
                suite: List::from(lineage),
                name: &self.name,
                parameters: "",
            },
            line: self.line,
            tags: List::from(&self.tags),
            properties: if self.doc.is_empty() {
                Pairs::default()
            } else {
                Pairs::new(doc.as_slice())
            },
            attachments: Pairs::default(),
        };
        let attempt = Attempt {
            outcome: self.outcome(&details, &trace),
            duration: self.duration,
            started: self.started,
            stdout: &stdout,
            stderr: &stderr,
        };
        sink.event(&Event::CaseFinished { case, attempt, again: false });
    }

    fn outcome<'a>(&'a self, details: &'a str, trace: &'a str) -> Outcome<'a> {
        let (kind, fallback) = match self.verdict {
            Verdict::Passed => return Outcome::Passed,
            Verdict::NotRun => return Outcome::NotRun,
            Verdict::Skipped => {
                let kind = SkipKind::Skipped;
                let reason = &self.message;
                return Outcome::Skipped(Skip { kind, reason });
            }
            Verdict::Failed => (FailureKind::Failure, "failed, and the report does not say why"),
            Verdict::Unknown => (FailureKind::Error, "the test has an unknown status"),
            Verdict::Unfinished => (FailureKind::Crash, "the report ends before this case does"),
        };
        let message = if self.message.is_empty() { fallback } else { &self.message };
        let (expected, actual) = sides(message);
        Outcome::Failed(Failure {
            kind,
            message,
            type_name: "",
            details,
            stack_trace: trace,
            expected,
            actual,
            location: failure::locate(trace),
        })
    }
}

/// The values of `Should Be Equal`'s `paid != open`: the first one is what was there.
fn sides(message: &str) -> (Option<&str>, Option<&str>) {
    let values = message.split_once(" != ");
    match values {
        Some((actual, expected)) if !message.contains('\n') && !expected.contains(" != ") => {
            let actual = actual.rsplit(": ").next().unwrap_or(actual);
            (Some(expected), Some(actual))
        }
        _ => (None, None),
    }
}
