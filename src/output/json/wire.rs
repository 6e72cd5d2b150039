//! The structs of the shared JSON schema. They are the wire's, not the model's.
//!
//! The core is a contract with existing Go programs: `framework, success, duration, tests, summary,
//! raw_output, exit_code, timed_out`, and per test `name, package, status, duration, output, error,
//! stack_trace`. Durations are whole nanoseconds. Everything else is an addition and may be absent.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::model::{
    Attempt, Case, CaseId, CaseView, Failure, Outcome, RunError, Source, Suite, Verdict,
};
use crate::output::Report;

/// The version of this schema. Additions do not change it.
pub const VERSION: u32 = 1;

/// A test run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TestResult")]
pub struct Head<'a> {
    /// The version of this schema.
    schema_version: u32,
    /// What the run amounts to.
    #[schemars(with = "Status")]
    status: &'static str,
    /// Whether tests ran and all of them passed.
    success: bool,
    /// The framework, or `mixed`.
    framework: Cow<'a, str>,
    /// How the results were come by.
    #[schemars(with = "Grade")]
    grade: &'static str,
    /// How long the run took, in nanoseconds: on the clock, or the sum of its cases.
    duration: u64,
    /// When the run started, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    /// The exit code of the test process; where there was none, the one testexec stands for it with.
    exit_code: i32,
    /// Whether the time limit was hit.
    timed_out: bool,
    /// The counts.
    summary: Summary,
    /// What the test process printed, where testexec ran one.
    raw_output: &'a str,
    /// What broke outside of any case.
    errors: Vec<Error<'a>>,
    /// What was odd, and how it was read.
    notes: Vec<Note<'a>>,
    /// The reports this was read from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reports: Vec<ReportFile<'a>>,
    /// What the reports say of suites beyond their cases.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suites: Vec<SuiteFacts<'a>>,
    /// The cases. Written one by one after everything else.
    #[serde(skip)]
    #[schemars(with = "Vec<Test<'static>>", required)]
    tests: (),
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "stands for the words in the schema")]
enum Status {
    Passed,
    Failed,
    Error,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "stands for the words in the schema")]
enum Grade {
    Structured,
    Text,
    ExitCode,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "stands for the words in the schema")]
enum TestStatus {
    Pass,
    Fail,
    Skip,
}

/// The counts.
#[derive(Debug, Serialize, JsonSchema)]
struct Summary {
    /// Passed, failed and skipped together.
    total: u64,
    /// Passed in the end, flaky ones among them.
    passed: u64,
    /// Failed in whatever way, errors among them.
    failed: u64,
    /// Left out, those that never started among them.
    skipped: u64,
    /// Within `failed`: errors, time limits, crashes, and what broke outside of any case.
    errors: u64,
    /// Within `passed`: passed and failed.
    flaky: u64,
    /// Announced, and never started.
    not_run: u64,
}

/// Something that broke outside of any case.
#[derive(Debug, Serialize, JsonSchema)]
struct Error<'a> {
    /// What sort of thing broke.
    kind: &'static str,
    /// What happened.
    message: &'a str,
    /// The report it is about.
    #[serde(skip_serializing_if = "str::is_empty")]
    source: &'a str,
    /// The package or file it happened in.
    #[serde(skip_serializing_if = "str::is_empty")]
    scope: &'a str,
    /// What the framework said.
    #[serde(skip_serializing_if = "str::is_empty")]
    details: &'a str,
}

/// Something odd.
#[derive(Debug, Serialize, JsonSchema)]
struct Note<'a> {
    /// What sort of oddity.
    kind: &'static str,
    /// What was odd and how it was read.
    message: &'a str,
    /// The report it is about.
    #[serde(skip_serializing_if = "str::is_empty")]
    source: &'a str,
}

/// A report that was read.
#[derive(Debug, Serialize, JsonSchema)]
struct ReportFile<'a> {
    /// Its path, or `-` for standard input.
    path: &'a str,
    /// The format it was read as; empty if none fits.
    format: &'a str,
    /// The framework that made it.
    framework: &'a str,
    /// How many further notes on it were left out.
    #[serde(skip_serializing_if = "is_zero")]
    notes_left_out: u64,
}

/// What a report says of a suite.
#[derive(Debug, Serialize, JsonSchema)]
struct SuiteFacts<'a> {
    /// Its name and those of the suites around it, outermost first.
    suite: Strings<'a>,
    /// The package.
    #[serde(skip_serializing_if = "str::is_empty")]
    package: &'a str,
    /// The file.
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'a str,
    /// The report it is from.
    source: &'a str,
    /// The machine it ran on.
    #[serde(skip_serializing_if = "str::is_empty")]
    hostname: &'a str,
    /// When it started, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    /// How long it took as a whole, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<u64>,
    /// Named values.
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    properties: Pairs<'a>,
    /// Output that belongs to no single case.
    #[serde(skip_serializing_if = "str::is_empty")]
    stdout: &'a str,
    /// Error output that belongs to no single case.
    #[serde(skip_serializing_if = "str::is_empty")]
    stderr: &'a str,
}

/// A case.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Test<'a> {
    /// The case's identity, stable across runs, machines and moved lines; `#2` for the second of its name.
    id: String,
    /// Its name.
    name: &'a str,
    /// The package, class or file it belongs to.
    package: &'a str,
    /// How it ended.
    #[schemars(with = "TestStatus")]
    status: &'static str,
    /// What sort of fail (`failure`, `error`, `timeout`, `crash`) or skip.
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: &'static str,
    /// How long the deciding attempt took, in nanoseconds; 0 if unknown.
    duration: u64,
    /// Whether it passed and failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    flaky: bool,
    /// What it printed.
    output: &'a str,
    /// What it printed to standard error, where the report tells.
    #[serde(skip_serializing_if = "str::is_empty")]
    stderr: &'a str,
    /// The failure's message, or the reason for a skip.
    error: &'a str,
    /// The stack trace.
    stack_trace: &'a str,
    /// What the report says of the failure beyond its message.
    #[serde(skip_serializing_if = "str::is_empty")]
    details: &'a str,
    /// The failure's type.
    #[serde(skip_serializing_if = "str::is_empty")]
    error_type: &'a str,
    /// The value that was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<&'a str>,
    /// The value that was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<&'a str>,
    /// The suites around it, outermost first.
    #[serde(skip_serializing_if = "Strings::is_empty")]
    suite: Strings<'a>,
    /// What tells it from its siblings of the same name.
    #[serde(skip_serializing_if = "str::is_empty")]
    parameters: &'a str,
    /// The file it is defined in.
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'a str,
    /// The line it is defined on.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// Where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<Location<'a>>,
    /// When the deciding attempt started, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    /// Labels.
    #[serde(skip_serializing_if = "Strings::is_empty")]
    tags: Strings<'a>,
    /// Named values.
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    properties: Pairs<'a>,
    /// Files it left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<Attachment<'a>>,
    /// Every attempt in order, where there was more than one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attempts: Vec<AttemptFacts<'a>>,
}

/// A place in a file.
#[derive(Debug, Serialize, JsonSchema)]
struct Location<'a> {
    /// The file.
    file: &'a str,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// The column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
}

/// A file that a test left.
#[derive(Debug, Serialize, JsonSchema)]
struct Attachment<'a> {
    /// What the test calls it.
    name: &'a str,
    /// Where it is.
    path: &'a str,
}

/// One attempt at a case.
#[derive(Debug, Serialize, JsonSchema)]
struct AttemptFacts<'a> {
    /// How it ended.
    #[schemars(with = "TestStatus")]
    status: &'static str,
    /// What sort of fail or skip.
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: &'static str,
    /// How long it took, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<u64>,
    /// When it started, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    /// What it printed.
    #[serde(skip_serializing_if = "str::is_empty")]
    output: &'a str,
    /// What it printed to standard error.
    #[serde(skip_serializing_if = "str::is_empty")]
    stderr: &'a str,
    /// The failure's message, or the reason for a skip.
    #[serde(skip_serializing_if = "str::is_empty")]
    error: &'a str,
    /// The failure's type.
    #[serde(skip_serializing_if = "str::is_empty")]
    error_type: &'a str,
    /// The stack trace.
    #[serde(skip_serializing_if = "str::is_empty")]
    stack_trace: &'a str,
    /// What the report says of the failure beyond its message.
    #[serde(skip_serializing_if = "str::is_empty")]
    details: &'a str,
    /// The value that was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<&'a str>,
    /// The value that was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<&'a str>,
    /// Where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<Location<'a>>,
}

/// A list of strings.
#[derive(Debug, JsonSchema)]
#[schemars(with = "Vec<String>", inline)]
struct Strings<'a>(crate::model::List<'a>);

impl Strings<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Strings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter())
    }
}

/// Names and values.
#[derive(Debug, JsonSchema)]
#[schemars(with = "Vec<[String; 2]>", inline)]
struct Pairs<'a>(crate::model::Pairs<'a>);

impl Pairs<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(name, value)| [name, value]))
    }
}

impl<'a> Head<'a> {
    /// Everything about a run but its cases.
    pub fn of(report: &Report<'a>) -> Self {
        let Report {
            run,
            judgement,
            totals,
            options: _,
        } = *report;
        Self {
            schema_version: VERSION,
            status: judgement.status(),
            success: judgement.is_success(),
            framework: Cow::Borrowed(super::super::framework(run)),
            grade: run.grade().name(),
            duration: super::super::run_duration(run),
            started: run.started.map(|moment| moment.to_string()),
            exit_code: i32::from(judgement.exit_code()),
            timed_out: matches!(run.ending, Some(crate::model::Ending::TimedOut)),
            summary: Summary {
                total: totals.total(),
                passed: totals.passed,
                failed: totals.failed,
                skipped: totals.skipped,
                errors: totals.errors,
                flaky: totals.flaky,
                not_run: totals.not_run,
            },
            raw_output: "",
            errors: run.errors().map(Error::of).collect(),
            notes: run.notes().map(Note::of).collect(),
            reports: run.sources().map(ReportFile::of).collect(),
            suites: run
                .suites()
                .filter_map(|(source, suite)| SuiteFacts::of(source, &suite))
                .collect(),
            tests: (),
        }
    }
}

impl<'a> Error<'a> {
    fn of(error: &'a RunError) -> Self {
        let RunError {
            kind,
            message,
            details,
            scope,
            source,
        } = error;
        Self {
            kind: kind.name(),
            message,
            source,
            scope,
            details,
        }
    }
}

impl<'a> Note<'a> {
    fn of(note: &'a crate::model::Note) -> Self {
        let crate::model::Note {
            kind,
            message,
            source,
        } = note;
        Self {
            kind: kind.name(),
            message,
            source,
        }
    }
}

impl<'a> ReportFile<'a> {
    fn of(source: &'a Source) -> Self {
        let Source {
            path,
            format,
            framework,
            grade: _,
            notes_left_out,
        } = source;
        Self {
            path,
            format,
            framework,
            notes_left_out: *notes_left_out,
        }
    }
}

impl<'a> SuiteFacts<'a> {
    /// Nothing, for a suite of which nothing is known but its cases.
    fn of(from: &'a Source, suite: &Suite<'a>) -> Option<Self> {
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
        let bare = hostname.is_empty()
            && started.is_none()
            && duration.is_none()
            && properties.is_empty()
            && stdout.is_empty()
            && stderr.is_empty();
        (!bare).then(|| Self {
            suite: Strings(lineage),
            package,
            file,
            source: &from.path,
            hostname,
            started: started.map(|moment| moment.to_string()),
            duration: duration.map(|duration| duration.as_nanos() as u64),
            properties: Pairs(properties),
            stdout,
            stderr,
        })
    }
}

impl<'a> Test<'a> {
    /// One case.
    pub fn of(view: &CaseView<'a>) -> Self {
        let Case {
            id,
            line,
            tags,
            properties,
            attachments,
        } = view.case();
        let CaseId {
            package,
            file,
            suite,
            name,
            parameters,
        } = id;
        let mut attempts = view.attempts();
        let verdict = view.verdict();
        let (attempt, attempts) = if attempts.len() == 1 {
            (attempts.next().unwrap_or_default(), Vec::new())
        } else {
            (
                view.deciding_attempt(),
                attempts.map(|attempt| AttemptFacts::of(&attempt)).collect(),
            )
        };
        let facts = AttemptFacts::of(&attempt);
        Self {
            id: case_id(view),
            name,
            package: if package.is_empty() { file } else { package },
            status: facts.status,
            kind: facts.kind,
            duration: facts.duration.unwrap_or(0),
            flaky: verdict == Verdict::Flaky,
            output: facts.output,
            stderr: facts.stderr,
            error: facts.error,
            stack_trace: facts.stack_trace,
            details: facts.details,
            error_type: facts.error_type,
            expected: facts.expected,
            actual: facts.actual,
            suite: Strings(suite),
            parameters,
            file,
            line,
            location: facts.location,
            started: facts.started,
            tags: Strings(tags),
            properties: Pairs(properties),
            attachments: attachments
                .iter()
                .map(|(name, path)| Attachment { name, path })
                .collect(),
            attempts,
        }
    }
}

/// The identity, with the occurrence where it is not the first.
fn case_id(view: &CaseView<'_>) -> String {
    match view.occurrence() {
        1 => view.identity().to_string(),
        occurrence => format!("{}#{occurrence}", view.identity()),
    }
}

impl<'a> AttemptFacts<'a> {
    fn of(attempt: &Attempt<'a>) -> Self {
        let Attempt {
            outcome,
            duration,
            started,
            stdout,
            stderr,
        } = *attempt;
        let (status, kind, failure) = match outcome {
            Outcome::Passed => ("pass", "", Failure::default()),
            Outcome::Failed(failure) => ("fail", failure.kind.name(), failure),
            Outcome::Skipped(skip) => (
                "skip",
                skip.kind.name(),
                Failure {
                    message: skip.reason,
                    ..Failure::default()
                },
            ),
            Outcome::NotRun => ("skip", "not-run", Failure::default()),
        };
        let Failure {
            kind: _,
            message,
            type_name,
            details,
            stack_trace,
            expected,
            actual,
            location,
        } = failure;
        Self {
            status,
            kind,
            duration: duration.map(|duration| duration.as_nanos() as u64),
            started: started.map(|moment| moment.to_string()),
            output: stdout,
            stderr,
            error: message,
            error_type: type_name,
            stack_trace,
            details,
            expected,
            actual,
            location: location.map(|place| {
                let crate::model::Location { file, line, column } = place;
                Location { file, line, column }
            }),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
