//! The lines of testexec's own event stream, as its writer and its reader agree on them.
//!
//! One JSON object a line, told apart by `event`. `run_started` comes first and carries the version,
//! `run_finished` comes last; a stream without it is truncated. Durations are whole nanoseconds, moments
//! are RFC 3339. Readers pass over events and members they do not know; additions keep the version.

#![deny(clippy::disallowed_methods)]

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Location, Note, NoteKind, Outcome, Pairs,
    RunError, RunErrorKind, Skip, SkipKind, Suite, Timestamp, Totals,
};

/// The version of the stream.
pub const VERSION: u32 = 1;

/// The name of the first event.
pub const RUN_STARTED: &str = "run_started";
/// The name of a suite's event.
pub const SUITE: &str = "suite";
/// The name of the event of a case that begins.
pub const CASE_STARTED: &str = "case_started";
/// The name of the event of an attempt that ended.
pub const CASE_FINISHED: &str = "case_finished";
/// The name of the event of something that broke outside of any case.
pub const ERROR: &str = "error";
/// The name of the event of something odd.
pub const NOTE: &str = "note";
/// The name of the event of cases that never came.
pub const MISSING: &str = "missing";
/// The name of the last event.
pub const RUN_FINISHED: &str = "run_finished";

type Text<'a> = Cow<'a, str>;

/// What all lines have: which event they are.
#[derive(Debug, Deserialize)]
pub struct Tag<'a> {
    /// The event.
    #[serde(borrow, default)]
    pub event: Text<'a>,
}

/// The first line.
#[derive(Debug, Deserialize, Serialize)]
pub struct RunStarted<'a> {
    /// [`RUN_STARTED`].
    #[serde(borrow)]
    pub event: Text<'a>,
    /// The version of the stream.
    pub version: u32,
    /// The framework, or `mixed`.
    #[serde(borrow, default)]
    pub framework: Text<'a>,
    /// When the run started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
}

/// What is known of a suite beyond its cases.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct SuiteLine<'a> {
    /// [`SUITE`].
    #[serde(borrow)]
    pub event: Text<'a>,
    /// The package.
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub package: Text<'a>,
    /// The file.
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub file: Text<'a>,
    /// Its name and those of the suites around it, outermost first.
    #[serde(borrow)]
    pub suite: Vec<Text<'a>>,
    /// The machine it ran on.
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub hostname: Text<'a>,
    /// When it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// How long it took as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// Named values.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<[Text<'a>; 2]>,
    /// Output that belongs to no single case.
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub stdout: Text<'a>,
    /// Error output that belongs to no single case.
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub stderr: Text<'a>,
}

/// A case that began, or an attempt at it that ended. Of one that began, only who it is.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct CaseLine<'a> {
    /// [`CASE_STARTED`] or [`CASE_FINISHED`].
    #[serde(borrow)]
    pub event: Text<'a>,
    /// The package.
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub package: Text<'a>,
    /// The file it is defined in.
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub file: Text<'a>,
    /// The suites around it, outermost first.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub suite: Vec<Text<'a>>,
    /// Its name.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// What tells it from its siblings of the same name.
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub parameters: Text<'a>,
    /// The line it is defined on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Labels.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Text<'a>>,
    /// Named values.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<[Text<'a>; 2]>,
    /// Names and paths of files it left.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<[Text<'a>; 2]>,
    /// Whether this is a further attempt at the case.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// `passed`, `failed`, `skipped` or `not-run`.
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub status: Text<'a>,
    /// What sort of failure or skip.
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub kind: Text<'a>,
    /// When the attempt started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// The failure's message, or the reason for a skip.
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub message: Text<'a>,
    /// The failure's type.
    #[serde(rename = "type", borrow, skip_serializing_if = "str::is_empty")]
    pub type_name: Text<'a>,
    /// What there is beyond the message.
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub details: Text<'a>,
    /// The stack trace.
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub stack_trace: Text<'a>,
    /// The value that was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Text<'a>>,
    /// The value that was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<Text<'a>>,
    /// Where it failed.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub location: Option<Place<'a>>,
    /// What it printed.
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub stdout: Text<'a>,
    /// What it printed to standard error.
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub stderr: Text<'a>,
}

/// A place in a file.
#[derive(Debug, Deserialize, Serialize)]
pub struct Place<'a> {
    /// The file.
    #[serde(borrow)]
    pub file: Text<'a>,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

/// Something that broke outside of any case.
#[derive(Debug, Deserialize, Serialize)]
pub struct ErrorLine<'a> {
    /// [`ERROR`].
    #[serde(borrow)]
    pub event: Text<'a>,
    /// What sort of thing broke.
    #[serde(borrow)]
    pub kind: Text<'a>,
    /// What happened.
    #[serde(borrow)]
    pub message: Text<'a>,
    /// The package or file it happened in.
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub scope: Text<'a>,
    /// What the framework said.
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub details: Text<'a>,
    /// The report it is about.
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub source: Text<'a>,
}

/// Something odd.
#[derive(Debug, Deserialize, Serialize)]
pub struct NoteLine<'a> {
    /// [`NOTE`].
    #[serde(borrow)]
    pub event: Text<'a>,
    /// What sort of oddity.
    #[serde(borrow)]
    pub kind: Text<'a>,
    /// What was odd and how it was read.
    #[serde(borrow)]
    pub message: Text<'a>,
    /// The report it is about.
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub source: Text<'a>,
}

/// Cases were announced and never came.
#[derive(Debug, Deserialize, Serialize)]
pub struct MissingLine<'a> {
    /// [`MISSING`].
    #[serde(borrow)]
    pub event: Text<'a>,
    /// How many.
    pub count: u64,
}

/// The last line.
#[derive(Debug, Deserialize, Serialize)]
pub struct RunFinished<'a> {
    /// [`RUN_FINISHED`].
    #[serde(borrow)]
    pub event: Text<'a>,
    /// `passed`, `failed` or `error`.
    #[serde(borrow)]
    pub status: Text<'a>,
    /// The counts.
    #[serde(default)]
    pub summary: Summary,
    /// How long the run took on the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
}

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default)]
pub struct Summary {
    /// Passed, failed and skipped together.
    pub total: u64,
    /// Passed in the end, flaky ones among them.
    pub passed: u64,
    /// Failed in whatever way, errors among them.
    pub failed: u64,
    /// Left out.
    pub skipped: u64,
    /// Within `failed`: errors, time limits, crashes, and what broke outside of any case.
    pub errors: u64,
    /// Within `passed`: passed and failed.
    pub flaky: u64,
    /// Announced, and never started.
    pub not_run: u64,
}

impl Summary {
    /// The counts as a line has them.
    pub fn of(totals: &Totals) -> Self {
        let Totals { passed, flaky, failed, errors, skipped, not_run } = *totals;
        Self { total: totals.total(), passed, failed, skipped, errors, flaky, not_run }
    }
}

impl<'a> SuiteLine<'a> {
    /// The line of a suite.
    pub fn of(suite: &Suite<'a>) -> Self {
        let Suite {
            package,
            file,
            lineage,
            hostname,
            started,
            duration,
            properties,
            stdout,
            stderr,
        } = *suite;
        Self {
            event: Cow::Borrowed(SUITE),
            package: package.into(),
            file: file.into(),
            suite: texts(lineage),
            hostname: hostname.into(),
            started: started.map(|moment| moment.to_string()),
            duration: duration.map(nanos),
            properties: pairs(properties),
            stdout: stdout.into(),
            stderr: stderr.into(),
        }
    }

    /// Hands the suite of this line to `take`.
    pub fn read(&self, take: impl FnOnce(Suite<'_>)) {
        let (lineage, properties) = (strs(&self.suite), flat(&self.properties));
        take(Suite {
            package: &self.package,
            file: &self.file,
            lineage: List::from(&lineage),
            hostname: &self.hostname,
            started: self.started.as_deref().and_then(Timestamp::parse),
            duration: self.duration.map(Duration::from_nanos),
            properties: Pairs::new(&properties),
            stdout: &self.stdout,
            stderr: &self.stderr,
        });
    }
}

impl<'a> CaseLine<'a> {
    /// The line of an attempt that ended.
    pub fn finished(case: &Case<'a>, attempt: &Attempt<'a>, again: bool) -> Self {
        let Attempt { outcome, duration, started, stdout, stderr } = *attempt;
        let mut line = Self::of(case);
        line.event = Cow::Borrowed(CASE_FINISHED);
        line.again = again;
        line.duration = duration.map(nanos);
        line.started = started.map(|moment| moment.to_string());
        line.stdout = stdout.into();
        line.stderr = stderr.into();
        line.set_outcome(&outcome);
        line
    }

    fn of(case: &Case<'a>) -> Self {
        let Case { id, line, tags, properties, attachments } = *case;
        let CaseId { package, file, suite, name, parameters } = id;
        Self {
            event: Cow::Borrowed(CASE_STARTED),
            package: package.into(),
            file: file.into(),
            suite: texts(suite),
            name: name.into(),
            parameters: parameters.into(),
            line,
            tags: texts(tags),
            properties: pairs(properties),
            attachments: pairs(attachments),
            ..Self::default()
        }
    }

    fn set_outcome(&mut self, outcome: &Outcome<'a>) {
        let status = match *outcome {
            Outcome::Passed => "passed",
            Outcome::NotRun => "not-run",
            Outcome::Skipped(Skip { kind, reason }) => {
                self.kind = kind.name().into();
                self.message = reason.into();
                "skipped"
            }
            Outcome::Failed(failure) => {
                let Failure {
                    kind,
                    message,
                    type_name,
                    details,
                    stack_trace,
                    expected,
                    actual,
                    location,
                } = failure;
                self.kind = kind.name().into();
                self.message = message.into();
                self.type_name = type_name.into();
                self.details = details.into();
                self.stack_trace = stack_trace.into();
                self.expected = expected.map(Cow::Borrowed);
                self.actual = actual.map(Cow::Borrowed);
                self.location = location.map(|Location { file, line, column }| Place {
                    file: file.into(),
                    line,
                    column,
                });
                "failed"
            }
        };
        self.status = status.into();
    }

    /// Hands the case of this line to `take`.
    pub fn read_case(&self, take: impl FnOnce(Case<'_>)) {
        let (suite, tags) = (strs(&self.suite), strs(&self.tags));
        let (properties, attachments) = (flat(&self.properties), flat(&self.attachments));
        take(Case {
            id: CaseId {
                package: &self.package,
                file: &self.file,
                suite: List::from(&suite),
                name: &self.name,
                parameters: &self.parameters,
            },
            line: self.line,
            tags: List::from(&tags),
            properties: Pairs::new(&properties),
            attachments: Pairs::new(&attachments),
        });
    }

    /// The attempt of this line, if its status is a known one.
    pub fn attempt(&self) -> Option<Attempt<'_>> {
        let outcome = match self.status.as_ref() {
            "passed" => Outcome::Passed,
            "not-run" => Outcome::NotRun,
            "skipped" => Outcome::Skipped(Skip {
                kind: SkipKind::from_name(&self.kind).unwrap_or_default(),
                reason: &self.message,
            }),
            "failed" => Outcome::Failed(Failure {
                kind: FailureKind::from_name(&self.kind).unwrap_or_default(),
                message: &self.message,
                type_name: &self.type_name,
                details: &self.details,
                stack_trace: &self.stack_trace,
                expected: self.expected.as_deref(),
                actual: self.actual.as_deref(),
                location: self.location.as_ref().map(|place| Location {
                    file: &place.file,
                    line: place.line,
                    column: place.column,
                }),
            }),
            _ => return None,
        };
        Some(Attempt {
            outcome,
            duration: self.duration.map(Duration::from_nanos),
            started: self.started.as_deref().and_then(Timestamp::parse),
            stdout: &self.stdout,
            stderr: &self.stderr,
        })
    }
}

impl<'a> ErrorLine<'a> {
    /// The line of an error.
    pub fn of(error: &'a RunError) -> Self {
        let RunError { kind, message, details, scope, source } = error;
        Self {
            event: Cow::Borrowed(ERROR),
            kind: kind.name().into(),
            message: message.into(),
            scope: scope.into(),
            details: details.into(),
            source: source.into(),
        }
    }

    /// The error of this line.
    pub fn read(self) -> RunError {
        let kind = RunErrorKind::from_name(&self.kind).unwrap_or(RunErrorKind::Report);
        RunError::new(kind, self.message).with_details(self.details).in_scope(self.scope)
    }
}

impl<'a> NoteLine<'a> {
    /// The line of a note.
    pub fn of(note: &'a Note) -> Self {
        let Note { kind, message, source } = note;
        Self {
            event: Cow::Borrowed(NOTE),
            kind: kind.name().into(),
            message: message.into(),
            source: source.into(),
        }
    }

    /// The note of this line.
    pub fn read(self) -> Note {
        let kind = NoteKind::from_name(&self.kind).unwrap_or(NoteKind::Message);
        Note::new(kind, self.message)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn texts(list: List<'_>) -> Vec<Text<'_>> {
    list.iter().map(Cow::Borrowed).collect()
}

fn pairs(pairs: Pairs<'_>) -> Vec<[Text<'_>; 2]> {
    let one = |(name, value)| [Cow::Borrowed(name), Cow::Borrowed(value)];
    pairs.iter().map(one).collect()
}

fn strs<'a>(texts: &'a [Text<'_>]) -> Vec<&'a str> {
    texts.iter().map(AsRef::as_ref).collect()
}

fn flat<'a>(pairs: &'a [[Text<'_>; 2]]) -> Vec<&'a str> {
    pairs.iter().flatten().map(AsRef::as_ref).collect()
}
