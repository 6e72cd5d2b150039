//! testexec's own JSON, read back: the structs are the mirror of those it is written from.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;

use super::json::{Document, parse, repair};
use super::{Head, InputFormat, Parser};
use crate::event::{Event, Sink, Tool};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Location, Note, NoteKind, Outcome, Pairs,
    RunError, RunErrorKind, Skip, SkipKind, Suite, Timestamp,
};

/// testexec's JSON.
pub(super) struct TestexecJson;

impl InputFormat for TestexecJson {
    fn name(&self) -> &'static str {
        "testexec-json"
    }

    fn description(&self) -> &'static str {
        "testexec's own JSON (--report json)"
    }

    fn framework(&self) -> &'static str {
        "testexec"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object_has(&["schema_version", "summary", "framework"])
            || head.object_has(&["schema_version", "tests", "framework"])
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(JsonParser { document: Document::new(&[&["tests"]]), state: State::default() })
    }
}

struct JsonParser {
    document: Document,
    state: State,
}

impl Parser for JsonParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        if self.state.announced {
            let state = &mut self.state;
            return self.document.feed(text, sink, |_, raw, sink| state.test(raw, sink));
        }
        // Identities hang on the framework, which stands before the cases.
        let mut early = Vec::new();
        self.document.feed(text, sink, |_, raw, _| early.push(raw.to_owned()));
        if !early.is_empty() {
            self.state.announce(self.document.before_elements(), sink);
        }
        for raw in early {
            self.state.test(&raw, sink);
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        match self.document.finish() {
            Ok(skeleton) => self.state.finish(&skeleton, sink),
            Err(error) => sink.error(error),
        }
    }
}

/// Everything but the cases.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Facts {
    schema_version: u32,
    success: Option<bool>,
    framework: String,
    started: Option<String>,
    duration: Option<u64>,
    timed_out: bool,
    summary: Summary,
    errors: Vec<ErrorFacts>,
    notes: Vec<NoteFacts>,
    suites: Vec<SuiteFacts>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Summary {
    passed: u64,
    not_run: u64,
}

#[derive(Deserialize)]
struct ErrorFacts {
    kind: String,
    message: String,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    details: String,
}

#[derive(Deserialize)]
struct NoteFacts {
    kind: String,
    message: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SuiteFacts {
    suite: Vec<String>,
    package: String,
    file: String,
    hostname: String,
    started: Option<String>,
    duration: Option<u64>,
    properties: Vec<[String; 2]>,
    stdout: String,
    stderr: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Test<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    package: Cow<'a, str>,
    #[serde(borrow)]
    parameters: Cow<'a, str>,
    #[serde(borrow)]
    file: Cow<'a, str>,
    suite: Vec<String>,
    line: Option<u32>,
    tags: Vec<String>,
    properties: Vec<[String; 2]>,
    attachments: Vec<Attachment>,
    attempts: Vec<AttemptFacts<'a>>,
}

#[derive(Deserialize)]
struct Attachment {
    #[serde(default)]
    name: String,
    #[serde(default)]
    path: String,
}

/// An attempt, or what a case with a single attempt says of it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct AttemptFacts<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    duration: Option<u64>,
    started: Option<String>,
    #[serde(borrow)]
    output: Cow<'a, str>,
    #[serde(borrow)]
    stderr: Cow<'a, str>,
    #[serde(borrow)]
    error: Cow<'a, str>,
    #[serde(borrow)]
    error_type: Cow<'a, str>,
    #[serde(borrow)]
    stack_trace: Cow<'a, str>,
    #[serde(borrow)]
    details: Cow<'a, str>,
    expected: Option<String>,
    actual: Option<String>,
    location: Option<Place>,
}

#[derive(Deserialize)]
struct Place {
    file: String,
    #[serde(default)]
    line: Option<u32>,
    #[serde(default)]
    column: Option<u32>,
}

#[derive(Default)]
struct State {
    announced: bool,
    /// Whether suites were told of before the cases.
    suites_told: bool,
    tests: u64,
    bad: u64,
    not_run: u64,
}

impl State {
    /// Tells what stands before the cases and matters to them.
    fn announce(&mut self, before: &str, sink: &mut dyn Sink) {
        self.announced = true;
        let Ok(document) = serde_json::from_str::<Facts>(&format!("{}]}}", repair(before))) else {
            return;
        };
        tell_tool(&document, sink);
        self.suites_told = !document.suites.is_empty();
        for suite in &document.suites {
            suite.tell(sink);
        }
    }

    fn test(&mut self, raw: &str, sink: &mut dyn Sink) {
        self.tests += 1;
        let what = format!("test {}", self.tests);
        let raw = repair(raw);
        let Some(test) = parse::<Test<'_>>(&raw, &what, sink) else {
            return;
        };
        let mut single = Vec::new();
        if test.attempts.is_empty() {
            let Some(mut attempt) = parse::<AttemptFacts<'_>>(&raw, &what, sink) else {
                return;
            };
            // A case without a known duration has 0.
            attempt.duration = attempt.duration.filter(|&nanos| nanos > 0);
            single.push(attempt);
        }
        let attempts = if single.is_empty() { &test.attempts } else { &single };
        for (index, facts) in attempts.iter().enumerate() {
            let Some(attempt) = facts.attempt() else {
                let message = format!("{what} has the unknown status {:?}", facts.status);
                sink.error(RunError::new(RunErrorKind::Report, message));
                continue;
            };
            self.bad += u64::from(matches!(attempt.outcome, Outcome::Failed(_)));
            self.not_run += u64::from(attempt.outcome == Outcome::NotRun);
            test.tell(attempt, index > 0, sink);
        }
    }

    fn finish(&mut self, skeleton: &str, sink: &mut dyn Sink) {
        let skeleton = repair(skeleton);
        let Some(document) = parse::<Facts>(&skeleton, "the document", sink) else {
            return;
        };
        if document.schema_version > 1 {
            let message = format!("schema version {} is not known", document.schema_version);
            sink.error(RunError::new(RunErrorKind::Report, message));
        }
        if !self.announced {
            tell_tool(&document, sink);
        }
        if !self.suites_told {
            for suite in &document.suites {
                suite.tell(sink);
            }
        }
        sink.event(&Event::Tool(Tool {
            duration: document.duration.map(Duration::from_nanos),
            ..Tool::default()
        }));
        let missing = document.summary.not_run.saturating_sub(self.not_run);
        if missing > 0 {
            sink.event(&Event::Missing(missing));
        }
        let broken = !document.errors.is_empty();
        for error in document.errors {
            let kind = RunErrorKind::from_name(&error.kind).unwrap_or(RunErrorKind::Report);
            let told = RunError::new(kind, error.message).with_details(error.details);
            sink.error(told.in_scope(error.scope));
        }
        for note in document.notes {
            let kind = NoteKind::from_name(&note.kind).unwrap_or(NoteKind::Message);
            sink.note(Note::new(kind, note.message));
        }
        let explained = broken || self.bad > 0 || document.summary.not_run > 0;
        if document.timed_out && !broken {
            let message = "the time limit of the run was hit";
            sink.error(RunError::new(RunErrorKind::Timeout, message));
        } else if document.success == Some(false) && document.summary.passed > 0 && !explained {
            let message = "the report says that the run failed, but nothing in it did";
            sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
    }
}

fn tell_tool(document: &Facts, sink: &mut dyn Sink) {
    sink.event(&Event::Tool(Tool {
        framework: &document.framework,
        started: document.started.as_deref().and_then(Timestamp::parse),
        duration: None,
    }));
}

impl SuiteFacts {
    fn tell(&self, sink: &mut dyn Sink) {
        let properties = flat(&self.properties);
        sink.event(&Event::Suite(Suite {
            package: &self.package,
            file: &self.file,
            lineage: List::from(&self.suite),
            hostname: &self.hostname,
            started: self.started.as_deref().and_then(Timestamp::parse),
            duration: self.duration.map(Duration::from_nanos),
            properties: Pairs::new(&properties),
            stdout: &self.stdout,
            stderr: &self.stderr,
        }));
    }
}

impl Test<'_> {
    fn tell(&self, attempt: Attempt<'_>, again: bool, sink: &mut dyn Sink) {
        let properties = flat(&self.properties);
        let files = self.attachments.iter();
        let attachments: Vec<&str> =
            files.flat_map(|file| [file.name.as_str(), file.path.as_str()]).collect();
        let case = Case {
            id: CaseId {
                // A case without a package is written with its file for one.
                package: if self.package == self.file { "" } else { &self.package },
                file: &self.file,
                suite: List::from(&self.suite),
                name: &self.name,
                parameters: &self.parameters,
            },
            line: self.line,
            tags: List::from(&self.tags),
            properties: Pairs::new(&properties),
            attachments: Pairs::new(&attachments),
        };
        sink.event(&Event::CaseFinished { case, attempt, again });
    }
}

impl AttemptFacts<'_> {
    fn attempt(&self) -> Option<Attempt<'_>> {
        let outcome = match (self.status.as_ref(), self.kind.as_ref()) {
            ("pass", _) => Outcome::Passed,
            ("skip", "not-run") => Outcome::NotRun,
            ("skip", kind) => Outcome::Skipped(Skip {
                kind: SkipKind::from_name(kind).unwrap_or_default(),
                reason: &self.error,
            }),
            ("fail", kind) => Outcome::Failed(Failure {
                kind: FailureKind::from_name(kind).unwrap_or_default(),
                message: &self.error,
                type_name: &self.error_type,
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
            stdout: &self.output,
            stderr: &self.stderr,
        })
    }
}

fn flat(pairs: &[[String; 2]]) -> Vec<&str> {
    pairs.iter().flatten().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use crate::input::Reader;
    use crate::judge::{Policy, judge};
    use crate::model::{Duplicates, Source, TestRun, Totals};
    use crate::output::{self, Options, Report};
    use crate::recorder::Recorder;

    fn read(bytes: &[u8]) -> TestRun {
        let mut recorder = Recorder::new("/builds");
        recorder.begin_report(Source { path: "report".to_owned(), ..Source::default() });
        let mut reader = Reader::new(None);
        reader.feed(bytes, &mut recorder);
        reader.finish(&mut recorder).unwrap();
        let (missing, started, duration) = (recorder.missing, recorder.started, recorder.duration);
        let mut run = TestRun::new(vec![recorder.into_batch()], Duplicates::Separate);
        (run.missing, run.started, run.duration) = (missing, started, duration);
        run
    }

    fn write(run: &TestRun) -> String {
        let report = Report {
            run,
            judgement: judge(run, &Policy::default()),
            totals: Totals::of(run),
            options: Options::default(),
        };
        let mut bytes = Vec::new();
        let format = output::format("json").unwrap();
        format.render(&report, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn what_is_read_is_written_the_same() {
        let reports: [&[u8]; 4] = [
            include_bytes!("../../fixtures/reports/junit/surefire-retries.xml"),
            include_bytes!("../../fixtures/reports/junit/pytest-mixed.xml"),
            include_bytes!("../../fixtures/reports/dart-json/dart-handmade-killed.jsonl"),
            include_bytes!("../../fixtures/reports/bazel-events/bazel-mixed.json"),
        ];
        for report in reports {
            let first = write(&read(report));
            let second = write(&read(first.as_bytes()));
            assert_eq!(second, first);
        }
    }
}
