//! One test file of a Jest or Vitest report, and the events that amounts to.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Dialect;
use crate::event::{Event, Sink};
use crate::input::json::{self, Text, nullable};
use crate::input::{failure, number};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Outcome, Pairs, RunError, RunErrorKind,
    Skip, SkipKind, Suite,
};
use crate::text::strip_ansi;

/// More attempts than this are not told one by one: the number comes from the report.
const MAX_ATTEMPTS: u64 = 100;

/// What was read so far.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) files: u64,
    pub(super) cases: u64,
    pub(super) failed: u64,
    /// Run errors.
    pub(super) errors: u64,
    /// Files that could not be read.
    pub(super) unreadable: u64,
}

/// A test file. The names of `--json`, and those of the results Jest hands to its reporters.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TestFile<'a> {
    #[serde(borrow, default, alias = "testFilePath")]
    name: Text<'a>,
    #[serde(borrow, default)]
    status: Text<'a>,
    #[serde(borrow, default, alias = "failureMessage")]
    message: Text<'a>,
    #[serde(borrow, default, alias = "testResults", deserialize_with = "nullable")]
    assertion_results: Vec<Assertion<'a>>,
    #[serde(borrow)]
    test_exec_error: Option<&'a RawValue>,
    start_time: Option<f64>,
    end_time: Option<f64>,
}

/// A case.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Assertion<'a> {
    #[serde(borrow, default, deserialize_with = "nullable")]
    ancestor_titles: Vec<Text<'a>>,
    #[serde(borrow, default)]
    title: Text<'a>,
    #[serde(borrow, default)]
    full_name: Text<'a>,
    #[serde(borrow, default)]
    status: Text<'a>,
    duration: Option<f64>,
    start_at: Option<f64>,
    #[serde(default, deserialize_with = "nullable")]
    failing: bool,
    #[serde(borrow, default, deserialize_with = "nullable")]
    failure_messages: Vec<Text<'a>>,
    invocations: Option<u64>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    retry_reasons: Vec<Text<'a>>,
    location: Option<Place>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    tags: Vec<Text<'a>>,
    #[serde(borrow)]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Place {
    line: Option<u32>,
}

impl TestFile<'_> {
    /// Says what is in the file.
    pub(super) fn emit(&self, dialect: Dialect, counts: &mut Counts, sink: &mut dyn Sink) {
        counts.files += 1;
        let started = self.start_time.and_then(number::moment_from_millis);
        let millis = self.end_time.zip(self.start_time).map(|(end, start)| end - start);
        if started.is_some() {
            sink.event(&Event::Suite(Suite {
                file: &self.name,
                started,
                duration: millis.and_then(number::from_millis),
                ..Suite::default()
            }));
        }
        let failed_before = counts.failed;
        let mut lineage: Vec<&str> = Vec::new();
        for assertion in &self.assertion_results {
            lineage.clear();
            lineage.extend(assertion.ancestor_titles.iter().map(|title| &**title));
            counts.cases += 1;
            counts.failed += u64::from(assertion.emit(&self.name, &lineage, dialect, sink));
        }
        if counts.failed == failed_before && self.is_broken() {
            counts.errors += 1;
            sink.error(self.error());
        }
    }

    /// Whether the file failed beside its cases.
    fn is_broken(&self) -> bool {
        let is_null = |raw: &RawValue| matches!(raw.get(), "null" | "false");
        self.test_exec_error.is_some_and(|raw| !is_null(raw))
            || match &*self.status {
                "failed" => true,
                "" => !self.message.is_empty() && self.assertion_results.is_empty(),
                _ => false,
            }
    }

    fn error(&self) -> RunError {
        let kind = if self.assertion_results.is_empty() {
            RunErrorKind::Load
        } else {
            RunErrorKind::Setup
        };
        let text = strip_ansi(&self.message);
        let own = text.trim_start();
        let own = own.strip_prefix("● Test suite failed to run").unwrap_or(own);
        let message = match failure::first_paragraph(failure::split_trace(own).0).0.trim() {
            "" => "the file failed, and the report does not say why",
            message => message,
        };
        RunError::new(kind, message).with_details(text.trim_end()).in_scope(&*self.name)
    }
}

impl Assertion<'_> {
    /// Says what became of the case, attempt by attempt, and tells whether it failed.
    fn emit(&self, file: &str, lineage: &[&str], dialect: Dialect, sink: &mut dyn Sink) -> bool {
        let tags: Vec<&str> = self.tags.iter().map(|tag| &**tag).collect();
        let properties = self.properties();
        let case = Case {
            id: CaseId {
                file,
                suite: List::from(lineage),
                name: if self.title.is_empty() { &self.full_name } else { &self.title },
                ..CaseId::default()
            },
            line: self.location.as_ref().and_then(|place| place.line).filter(|&line| line > 0),
            tags: List::from(&tags),
            properties: Pairs::new(&properties),
            ..Case::default()
        };
        let again = self.emit_earlier(&case, dialect, sink);
        let texts = Texts::new(&self.failure_messages);
        let outcome = self.outcome(&texts, dialect);
        let attempt = Attempt {
            outcome,
            duration: self.duration.and_then(number::from_millis),
            started: self.start_at.and_then(number::moment_from_millis),
            ..Attempt::default()
        };
        sink.event(&Event::CaseFinished { case, attempt, again });
        matches!(outcome, Outcome::Failed(_))
    }

    /// Says what is known of the attempts before the last, and tells whether there were any.
    fn emit_earlier(&self, case: &Case<'_>, dialect: Dialect, sink: &mut dyn Sink) -> bool {
        let (reasons, earlier) = match (dialect, &*self.status) {
            // Vitest keeps the failures of earlier attempts with a case that passed in the end.
            (Dialect::Vitest, "passed") => {
                (&self.failure_messages, self.failure_messages.len() as u64)
            }
            (Dialect::Jest, "passed" | "failed") if !self.failing => {
                let invocations = self.invocations.unwrap_or(1);
                (&self.retry_reasons, invocations.saturating_sub(1))
            }
            _ => return false,
        };
        let earlier = earlier.min(MAX_ATTEMPTS);
        for index in 0..earlier {
            let text = reasons.get(index as usize).map(|text| strip_ansi(text));
            let failure = match &text {
                Some(text) => failure::from_text(FailureKind::Failure, text),
                None => Failure {
                    message: "an earlier attempt failed, and the report does not say why",
                    ..Failure::default()
                },
            };
            let attempt = Attempt { outcome: Outcome::Failed(failure), ..Attempt::default() };
            sink.event(&Event::CaseFinished { case: *case, attempt, again: index > 0 });
        }
        earlier > 0
    }

    fn outcome<'t>(&'t self, texts: &'t Texts, dialect: Dialect) -> Outcome<'t> {
        let skipped = |kind| Outcome::Skipped(Skip { kind, reason: "" });
        match &*self.status {
            "passed" if self.failing => skipped(SkipKind::ExpectedFailure),
            "passed" => Outcome::Passed,
            "failed" => Outcome::Failed(texts.failure()),
            // Vitest says "skipped" of what was left out; what is pending never got a result.
            "pending" if dialect == Dialect::Vitest => Outcome::NotRun,
            "pending" | "skipped" => skipped(SkipKind::Skipped),
            "disabled" => skipped(SkipKind::Disabled),
            "todo" => skipped(SkipKind::Todo),
            _ => Outcome::Failed(Failure {
                kind: FailureKind::Error,
                message: "the report gives this case no status that is known",
                details: &self.status,
                ..Failure::default()
            }),
        }
    }

    /// Vitest's `task.meta`, where a test put something into it.
    fn properties(&self) -> Vec<String> {
        let Some(raw) = self.meta.filter(|raw| raw.get().len() > 2) else {
            return Vec::new();
        };
        let fields: BTreeMap<String, &RawValue> =
            serde_json::from_str(raw.get()).unwrap_or_default();
        fields.into_iter().flat_map(|(name, value)| [name, json::plain(value)]).collect()
    }
}

/// The failure messages of a case: the first, and the others one after the other.
struct Texts {
    first: String,
    others: String,
}

impl Texts {
    fn new(messages: &[Text<'_>]) -> Self {
        let mut plain = messages.iter().map(|message| strip_ansi(message));
        let first = plain.next().map(Cow::into_owned).unwrap_or_default();
        let mut others = String::new();
        for message in plain {
            others.push_str(&message);
            others.push_str("\n\n");
        }
        if !others.is_empty() {
            let own = failure::from_text(FailureKind::Failure, &first).details;
            let gap = if own.is_empty() { "" } else { "\n\n" };
            others = format!("{own}{gap}{}", others.trim_end());
        }
        Self { first, others }
    }

    fn failure(&self) -> Failure<'_> {
        let mut failure = failure::from_text(FailureKind::Failure, &self.first);
        if failure.message.is_empty() {
            failure.message = "failed, and the report does not say why";
        }
        if !self.others.is_empty() {
            failure.details = &self.others;
        }
        failure
    }
}
