//! [`Recorder`]: folds events into a batch of cases, and closes what never ended.

#![deny(clippy::disallowed_methods)]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::event::{Event, Sink, Tool};
use crate::model::{
    Attempt, Batch, Case, CaseId, Failure, FailureKind, Identity, List, Location, MAX_TEXT, Note,
    NoteKind, Outcome, RunError, Source, Suite, Timestamp, normalize_path,
};

/// Notes kept per report; the rest is counted.
const MAX_NOTES: usize = 20;
/// Errors kept per report; a report with more has one cause.
const MAX_ERRORS: usize = 1_000;
/// What a case without a name is called.
const UNNAMED: &str = "(unnamed)";

/// Hears the events of one report after the other and keeps what they say.
#[derive(Debug, Default)]
pub struct Recorder {
    batch: Batch,
    root: String,
    open: BTreeMap<Identity, Open>,
    first_note: usize,
    first_error: usize,
    /// Whether this report was said to have cases without a name.
    noted_unnamed: bool,
    /// When the earliest report says it started.
    pub started: Option<Timestamp>,
    /// How long the longest run took on the clock, where a report says.
    pub duration: Option<Duration>,
    /// How many cases were announced and never came.
    pub missing: u64,
}

/// A case that started and has not ended yet.
#[derive(Debug)]
struct Open {
    package: String,
    file: String,
    suite: Vec<String>,
    name: String,
    parameters: String,
    line: Option<u32>,
}

impl Recorder {
    /// A recorder that writes paths below `root` relative to it.
    pub fn new(root: impl Into<String>) -> Self {
        Self { root: root.into(), ..Self::default() }
    }

    /// What follows is from this report.
    pub fn begin_report(&mut self, source: Source) {
        self.first_note = self.batch.notes.len();
        self.first_error = self.batch.errors.len();
        self.noted_unnamed = false;
        self.batch.sources.push(source);
    }

    /// The report that events are from.
    pub fn source_mut(&mut self) -> Option<&mut Source> {
        self.batch.sources.last_mut()
    }

    /// How many results were heard.
    pub fn case_count(&self) -> usize {
        self.batch.len()
    }

    /// How many errors were heard.
    pub fn error_count(&self) -> usize {
        self.batch.errors.len()
    }

    /// The report is over. Cases that started and did not end are now known never to end.
    pub fn end_report(&mut self) {
        for open in std::mem::take(&mut self.open).into_values() {
            let id = CaseId {
                package: &open.package,
                file: &open.file,
                suite: List::from(&open.suite),
                name: &open.name,
                parameters: &open.parameters,
            };
            let case = Case { id, line: open.line, ..Case::default() };
            let failure = Failure {
                kind: FailureKind::Crash,
                message: "started and never ended",
                ..Failure::default()
            };
            let attempt = Attempt { outcome: Outcome::Failed(failure), ..Attempt::default() };
            self.batch.push(&case, &attempt, true);
        }
    }

    /// Everything heard.
    pub fn into_batch(mut self) -> Batch {
        self.end_report();
        self.batch.seal();
        self.batch
    }

    fn framework(&self) -> &str {
        self.batch.sources.last().map_or("", |source| source.framework.as_str())
    }

    fn tool(&mut self, tool: &Tool<'_>) {
        if let Some(source) = self.batch.sources.last_mut()
            && !tool.framework.is_empty()
        {
            tool.framework.clone_into(&mut source.framework);
        }
        self.started = match (self.started, tool.started) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        self.duration = self.duration.max(tool.duration);
    }

    fn started(&mut self, case: &Case<'_>) {
        let Case { id, line, .. } = *case;
        let file = normalize_path(id.file, &self.root);
        let name = clean_name(id.name);
        let id = CaseId { file: &file, name: &name, ..id };
        let open = Open {
            package: id.package.to_owned(),
            file: file.as_ref().to_owned(),
            suite: id.suite.iter().map(str::to_owned).collect(),
            name: name.as_ref().to_owned(),
            parameters: id.parameters.to_owned(),
            line,
        };
        self.open.insert(Identity::of(self.framework(), &id), open);
    }

    fn finished(&mut self, case: &Case<'_>, attempt: &Attempt<'_>, again: bool) {
        let unnamed = case.id.name.is_empty();
        let file = normalize_path(case.id.file, &self.root);
        let name = clean_name(case.id.name);
        let case = Case { id: CaseId { file: &file, name: &name, ..case.id }, ..*case };
        if !self.open.is_empty() {
            let identity = Identity::of(self.framework(), &case.id);
            self.open.remove(&identity);
        }
        if unnamed && !std::mem::replace(&mut self.noted_unnamed, true) {
            self.note(Note::new(NoteKind::Value, "a case without a name is called (unnamed)"));
        }
        if longest_text(attempt) > MAX_TEXT {
            let message = format!("a text of \"{}\" is cut to its head and tail", case.id.name);
            self.note(Note::new(NoteKind::Limit, message));
        }
        if let Outcome::Failed(failure) = attempt.outcome
            && let Some(location) = failure.location
        {
            let file = normalize_path(location.file, &self.root);
            let location = Some(Location { file: &file, ..location });
            let outcome = Outcome::Failed(Failure { location, ..failure });
            return self.batch.push(&case, &Attempt { outcome, ..*attempt }, again);
        }
        self.batch.push(&case, attempt, again);
    }

    fn suite(&mut self, suite: &Suite<'_>) {
        let file = normalize_path(suite.file, &self.root);
        self.batch.push_suite(&Suite { file: &file, ..*suite });
    }

    fn noted(&mut self, note: &Note) {
        let Some(source) = self.batch.sources.last_mut() else {
            return self.batch.notes.push(note.clone());
        };
        if self.batch.notes.len() - self.first_note >= MAX_NOTES {
            source.notes_left_out += 1;
        } else {
            self.batch.notes.push(Note { source: source.path.clone(), ..note.clone() });
        }
    }

    fn errored(&mut self, error: &RunError) {
        if self.batch.errors.len() - self.first_error >= MAX_ERRORS {
            return;
        }
        let source = self.batch.sources.last().map(|source| source.path.clone());
        self.batch.errors.push(RunError { source: source.unwrap_or_default(), ..error.clone() });
    }
}

impl Sink for Recorder {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Tool(tool) => self.tool(tool),
            Event::Suite(suite) => self.suite(suite),
            Event::CaseStarted(case) => self.started(case),
            Event::CaseFinished { case, attempt, again } => self.finished(case, attempt, *again),
            Event::Missing(count) => self.missing = self.missing.saturating_add(*count),
            Event::Errored(error) => self.errored(error),
            Event::Noted(note) => self.noted(note),
        }
    }
}

/// A name without terminal sequences and control characters, so that identity does not hang on them.
fn clean_name(name: &str) -> Cow<'_, str> {
    if name.is_empty() {
        return Cow::Borrowed(UNNAMED);
    }
    // Without an early way out it is vectorised.
    if name.bytes().filter(u8::is_ascii_control).count() == 0 {
        return Cow::Borrowed(name);
    }
    Cow::Owned(crate::text::strip_controls(name))
}

fn longest_text(attempt: &Attempt<'_>) -> usize {
    let outputs = attempt.stdout.len().max(attempt.stderr.len());
    match &attempt.outcome {
        Outcome::Failed(failure) => outputs
            .max(failure.message.len())
            .max(failure.details.len())
            .max(failure.stack_trace.len()),
        _ => outputs,
    }
}
