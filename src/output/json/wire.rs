//! The structs of the shared JSON schema. They are the wire's, not the model's.
//!
//! The core is a contract with existing Go programs: `framework, success, duration, tests, summary,
//! raw_output, exit_code, timed_out`, and per test `name, package, status, duration, output, error,
//! stack_trace`. Durations are whole nanoseconds. Everything else is an addition and may be absent.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// The version of this schema. Additions do not change it.
pub const VERSION: u32 = 1;

/// A test run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TestResult")]
pub struct Head<'a> {
    /// The version of this schema.
    pub(super) schema_version: u32,
    /// What the run amounts to.
    #[schemars(with = "Status")]
    pub(super) status: &'static str,
    /// Whether tests ran and all of them passed.
    pub(super) success: bool,
    /// The framework, or `mixed`.
    pub(super) framework: &'a str,
    /// How the results were come by.
    #[schemars(with = "Grade")]
    pub(super) grade: &'static str,
    /// How long the run took, in nanoseconds: on the clock, or the sum of its cases.
    pub(super) duration: u64,
    /// When the run started, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) started: Option<String>,
    /// The exit code of the test process; where there was none, the one testexec stands for it with.
    pub(super) exit_code: i32,
    /// Whether the time limit was hit.
    pub(super) timed_out: bool,
    /// The counts.
    pub(super) summary: Summary,
    /// What the test process printed, where testexec ran one.
    pub(super) raw_output: &'a str,
    /// What broke outside of any case.
    pub(super) errors: Vec<Error<'a>>,
    /// What was odd, and how it was read.
    pub(super) notes: Vec<Note<'a>>,
    /// The reports this was read from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) reports: Vec<ReportFile<'a>>,
    /// What the reports say of suites beyond their cases. Written one by one, since their output is long.
    #[serde(skip)]
    #[schemars(with = "Option<Vec<SuiteFacts<'static>>>")]
    #[expect(dead_code, reason = "stands for the suites in the schema")]
    pub(super) suites: (),
    /// The cases. Written one by one after everything else.
    #[serde(skip)]
    #[schemars(with = "Vec<Test<'static>>", required)]
    #[expect(dead_code, reason = "stands for the cases in the schema")]
    pub(super) tests: (),
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
pub(super) struct Summary {
    /// Passed, failed and skipped together.
    pub(super) total: u64,
    /// Passed in the end, flaky ones among them.
    pub(super) passed: u64,
    /// Failed in whatever way, errors among them.
    pub(super) failed: u64,
    /// Left out, those that never started among them.
    pub(super) skipped: u64,
    /// Within `failed`: errors, time limits, crashes, and what broke outside of any case.
    pub(super) errors: u64,
    /// Within `passed`: passed and failed.
    pub(super) flaky: u64,
    /// Announced, and never started.
    pub(super) not_run: u64,
}

/// Something that broke outside of any case.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Error<'a> {
    /// What sort of thing broke.
    pub(super) kind: &'static str,
    /// What happened.
    pub(super) message: &'a str,
    /// The report it is about.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) source: &'a str,
    /// The package or file it happened in.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) scope: &'a str,
    /// What the framework said.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) details: &'a str,
}

/// Something odd.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Note<'a> {
    /// What sort of oddity.
    pub(super) kind: &'static str,
    /// What was odd and how it was read.
    pub(super) message: &'a str,
    /// The report it is about.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) source: &'a str,
}

/// A report that was read.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ReportFile<'a> {
    /// Its path, or `-` for standard input.
    pub(super) path: &'a str,
    /// The format it was read as; empty if none fits.
    pub(super) format: &'a str,
    /// The framework that made it.
    pub(super) framework: &'a str,
    /// How many further notes on it were left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) notes_left_out: u64,
}

/// What a report says of a suite.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SuiteFacts<'a> {
    /// Its name and those of the suites around it, outermost first.
    pub(super) suite: Strings<'a>,
    /// The package.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) package: &'a str,
    /// The file.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) file: &'a str,
    /// The report it is from.
    pub(super) source: &'a str,
    /// The machine it ran on.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) hostname: &'a str,
    /// When it started, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) started: Option<String>,
    /// How long it took as a whole, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) duration: Option<u64>,
    /// Named values.
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    pub(super) properties: Pairs<'a>,
    /// Output that belongs to no single case.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) stdout: &'a str,
    /// Error output that belongs to no single case.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) stderr: &'a str,
}

/// A case.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Test<'a> {
    /// The case's identity, stable across runs, machines and moved lines; `#2` for the second of its name.
    pub(super) id: String,
    /// Its name.
    pub(super) name: &'a str,
    /// The package, class or file it belongs to.
    pub(super) package: &'a str,
    /// How it ended.
    #[schemars(with = "TestStatus")]
    pub(super) status: &'static str,
    /// What sort of fail (`failure`, `error`, `timeout`, `crash`) or skip.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) kind: &'static str,
    /// How long the deciding attempt took, in nanoseconds; 0 if unknown.
    pub(super) duration: u64,
    /// Whether it passed and failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) flaky: bool,
    /// What it printed.
    pub(super) output: &'a str,
    /// What it printed to standard error, where the report tells.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) stderr: &'a str,
    /// The failure's message, or the reason for a skip.
    pub(super) error: &'a str,
    /// The stack trace.
    pub(super) stack_trace: &'a str,
    /// What the report says of the failure beyond its message.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) details: &'a str,
    /// The failure's type.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) error_type: &'a str,
    /// The value that was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expected: Option<&'a str>,
    /// The value that was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) actual: Option<&'a str>,
    /// The suites around it, outermost first.
    #[serde(skip_serializing_if = "Strings::is_empty")]
    pub(super) suite: Strings<'a>,
    /// What tells it from its siblings of the same name.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) parameters: &'a str,
    /// The file it is defined in.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) file: &'a str,
    /// The line it is defined on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u32>,
    /// Where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) location: Option<Location<'a>>,
    /// When the deciding attempt started, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) started: Option<String>,
    /// Labels.
    #[serde(skip_serializing_if = "Strings::is_empty")]
    pub(super) tags: Strings<'a>,
    /// Named values.
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    pub(super) properties: Pairs<'a>,
    /// Files it left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) attachments: Vec<Attachment<'a>>,
    /// Every attempt in order, where there was more than one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) attempts: Vec<AttemptFacts<'a>>,
}

/// A place in a file.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Location<'a> {
    /// The file.
    pub(super) file: &'a str,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u32>,
    /// The column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) column: Option<u32>,
}

/// A file that a test left.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Attachment<'a> {
    /// What the test calls it.
    pub(super) name: &'a str,
    /// Where it is.
    pub(super) path: &'a str,
}

/// One attempt at a case.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AttemptFacts<'a> {
    /// How it ended.
    #[schemars(with = "TestStatus")]
    pub(super) status: &'static str,
    /// What sort of fail or skip.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) kind: &'static str,
    /// How long it took, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) duration: Option<u64>,
    /// When it started, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) started: Option<String>,
    /// What it printed.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) output: &'a str,
    /// What it printed to standard error.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) stderr: &'a str,
    /// The failure's message, or the reason for a skip.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) error: &'a str,
    /// The failure's type.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) error_type: &'a str,
    /// The stack trace.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) stack_trace: &'a str,
    /// What the report says of the failure beyond its message.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) details: &'a str,
    /// The value that was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expected: Option<&'a str>,
    /// The value that was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) actual: Option<&'a str>,
    /// Where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) location: Option<Location<'a>>,
}

/// A list of strings.
#[derive(Debug, JsonSchema)]
#[schemars(with = "Vec<String>", inline)]
pub(super) struct Strings<'a>(pub(super) crate::model::List<'a>);

impl Strings<'_> {
    pub(super) fn is_empty(&self) -> bool {
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
pub(super) struct Pairs<'a>(pub(super) crate::model::Pairs<'a>);

impl Pairs<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(name, value)| [name, value]))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
