//! From the model to the structs of the shared JSON schema.

use std::time::Duration;

use super::wire::{
    Attachment, AttemptFacts, Error, Head, Location, Note, Pairs, ReportFile, Strings, SuiteFacts,
    Summary, Test, VERSION,
};
use super::write::Object;
use crate::model::{
    Attempt, Case, CaseId, CaseView, Failure, Outcome, RunError, Source, Suite, Verdict,
};
use crate::output::Report;

impl<'a> Head<'a> {
    /// Everything about a run but its cases.
    pub fn of(report: &Report<'a>) -> Self {
        let Report { run, judgement, totals, options: _ } = *report;
        Self {
            schema_version: VERSION,
            status: judgement.status(),
            success: judgement.is_success(),
            framework: crate::output::framework(run),
            grade: run.grade().name(),
            duration: crate::output::run_duration(run),
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
            suites: (),
            tests: (),
        }
    }
}

impl<'a> Error<'a> {
    fn of(error: &'a RunError) -> Self {
        let RunError { kind, message, details, scope, source } = error;
        Self { kind: kind.name(), message, source, scope, details }
    }
}

impl<'a> Note<'a> {
    fn of(note: &'a crate::model::Note) -> Self {
        let crate::model::Note { kind, message, source } = note;
        Self { kind: kind.name(), message, source }
    }
}

impl<'a> ReportFile<'a> {
    fn of(source: &'a Source) -> Self {
        let Source { path, format, framework, grade: _, notes_left_out } = source;
        Self { path, format, framework, notes_left_out: *notes_left_out }
    }
}

impl<'a> SuiteFacts<'a> {
    /// Nothing, for a suite of which nothing is known but its cases.
    pub(super) fn of(from: &'a Source, suite: &Suite<'a>) -> Option<Self> {
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
        Self { id: case_id(view), ..Self::without_id(view) }
    }

    /// One case, whose identity is written straight from the run.
    pub(super) fn without_id(view: &CaseView<'a>) -> Self {
        let Case { id, line, tags, properties, attachments } = view.case();
        let CaseId { package, file, suite, name, parameters } = id;
        let mut attempts = view.attempts();
        let verdict = view.verdict();
        let (attempt, attempts) = if attempts.len() == 1 {
            (attempts.next().unwrap_or_default(), Vec::new())
        } else {
            (view.deciding_attempt(), attempts.map(|attempt| AttemptFacts::of(&attempt)).collect())
        };
        let facts = AttemptFacts::of(&attempt);
        Self {
            id: String::new(),
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
            attachments: attachments.iter().map(|(name, path)| Attachment { name, path }).collect(),
            attempts,
        }
    }
}

/// Writes cases that just passed, which most do, without looking at what they do not have.
///
/// What the cases of a suite share is put into JSON once for all of them.
#[derive(Default)]
pub(super) struct PlainWriter {
    suite: Option<(u32, u32)>,
    /// From the package up to the duration.
    before: Vec<u8>,
    /// From the output up to the line.
    after: Vec<u8>,
}

impl PlainWriter {
    /// Appends a case, exactly as serde would write it.
    pub(super) fn write(&mut self, view: &CaseView<'_>, duration: Duration, buffer: &mut Vec<u8>) {
        let (id, line) = view.plain_id();
        if self.suite != Some(view.suite_key()) {
            self.suite = Some(view.suite_key());
            self.prepare(&id);
        }
        let mut object = Object::open(buffer);
        object.identity("\"id\":", view.identity().bits(), view.occurrence());
        object.string("\"name\":", id.name);
        object.raw(&self.before);
        object.digits(duration.as_nanos() as u64);
        object.raw(&self.after);
        if let Some(line) = line {
            object.number("\"line\":", u64::from(line));
        }
        object.close();
    }

    fn prepare(&mut self, id: &CaseId<'_>) {
        let CaseId { package, file, suite, name: _, parameters: _ } = *id;
        self.before.clear();
        let mut object = Object::resume(&mut self.before);
        object.string("\"package\":", if package.is_empty() { file } else { package });
        object.string("\"status\":", "pass");
        object.raw(b",\"duration\":");
        self.after.clear();
        let mut object = Object::resume(&mut self.after);
        object.raw(b",\"output\":\"\",\"error\":\"\",\"stack_trace\":\"\"");
        object.list("\"suite\":", suite.iter());
        object.filled("\"file\":", file);
    }
}

impl Test<'_> {
    /// Appends the case to `buffer`, exactly as serde would write it.
    pub(super) fn write(
        &self,
        view: &CaseView<'_>,
        buffer: &mut Vec<u8>,
    ) -> serde_json::Result<()> {
        let Self {
            id: _,
            name,
            package,
            status,
            kind,
            duration,
            flaky,
            output,
            stderr,
            error,
            stack_trace,
            details,
            error_type,
            expected,
            actual,
            suite,
            parameters,
            file,
            line,
            location,
            started,
            tags,
            properties,
            attachments,
            attempts,
        } = self;
        let mut object = Object::open(buffer);
        object.identity("\"id\":", view.identity().bits(), view.occurrence());
        object.string("\"name\":", name);
        object.string("\"package\":", package);
        object.string("\"status\":", status);
        object.filled("\"kind\":", kind);
        object.number("\"duration\":", *duration);
        object.flag("\"flaky\":", *flaky);
        object.string("\"output\":", output);
        object.filled("\"stderr\":", stderr);
        object.string("\"error\":", error);
        object.string("\"stack_trace\":", stack_trace);
        object.filled("\"details\":", details);
        object.filled("\"error_type\":", error_type);
        object.optional("\"expected\":", *expected);
        object.optional("\"actual\":", *actual);
        object.list("\"suite\":", suite.0.iter());
        object.filled("\"parameters\":", parameters);
        object.filled("\"file\":", file);
        object.unless(line.is_none(), "\"line\":", line)?;
        object.unless(location.is_none(), "\"location\":", location)?;
        object.optional("\"started\":", started.as_deref());
        object.list("\"tags\":", tags.0.iter());
        object.unless(properties.is_empty(), "\"properties\":", properties)?;
        object.unless(attachments.is_empty(), "\"attachments\":", attachments)?;
        object.unless(attempts.is_empty(), "\"attempts\":", attempts)?;
        object.close();
        Ok(())
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
        let Attempt { outcome, duration, started, stdout, stderr } = *attempt;
        let (status, kind, failure) = match outcome {
            Outcome::Passed => ("pass", "", Failure::default()),
            Outcome::Failed(failure) => ("fail", failure.kind.name(), failure),
            Outcome::Skipped(skip) => {
                ("skip", skip.kind.name(), Failure { message: skip.reason, ..Failure::default() })
            }
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
