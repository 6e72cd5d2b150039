//! The JSON of Jest (`--json`) and of Vitest (`--reporter=json`), which took over its shape.
//!
//! A document has one object per test file. Nothing of a file is believed before its object is whole.
//! See <https://jestjs.io/docs/cli#--json> and <https://vitest.dev/guide/reporters#json-reporter>.

mod file;

use serde::Deserialize;

use super::json::{self, Document};
use super::{Head, InputFormat, Parser, number};
use crate::event::{Event, Sink, Tool};
use crate::model::{Note, NoteKind, RunError, RunErrorKind};
use file::{Counts, TestFile};

/// Jest's JSON.
pub(super) struct JestJson;

/// Vitest's JSON.
pub(super) struct VitestJson;

/// Whose document it is. The same words do not always mean the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    Jest,
    Vitest,
}

impl InputFormat for JestJson {
    fn name(&self) -> &'static str {
        "jest-json"
    }

    fn description(&self) -> &'static str {
        "Jest's JSON (--json)"
    }

    fn framework(&self) -> &'static str {
        "jest"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        dialect(head) == Some(Dialect::Jest)
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(JestParser::new(Dialect::Jest))
    }
}

impl InputFormat for VitestJson {
    fn name(&self) -> &'static str {
        "vitest-json"
    }

    fn description(&self) -> &'static str {
        "Vitest's JSON (--reporter=json)"
    }

    fn framework(&self) -> &'static str {
        "vitest"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        dialect(head) == Some(Dialect::Vitest)
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(JestParser::new(Dialect::Vitest))
    }
}

fn dialect(head: &Head<'_>) -> Option<Dialect> {
    let text = head.object()?;
    let has = |key| super::head::has_key(text, key);
    let is_either = (has("testResults") && (has("numTotalTests") || has("success")))
        || (has("numTotalTests") && has("numTotalTestSuites"));
    if !is_either {
        return None;
    }
    let only_jest = [
        "numRuntimeErrorTestSuites",
        "openHandles",
        "wasInterrupted",
        "invocations",
        "numPassingAsserts",
        "failureDetails",
    ];
    let is_vitest = !only_jest.into_iter().any(has) && (has("numTotalTestSuites") || has("meta"));
    Some(if is_vitest { Dialect::Vitest } else { Dialect::Jest })
}

struct JestParser {
    dialect: Dialect,
    document: Document,
    counts: Counts,
}

/// What stands around the files.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Skeleton {
    success: Option<bool>,
    was_interrupted: Option<bool>,
    start_time: Option<f64>,
    num_total_tests: Option<u64>,
    num_passed_tests: Option<u64>,
    num_failed_tests: Option<u64>,
    num_pending_tests: Option<u64>,
    num_todo_tests: Option<u64>,
}

impl Parser for JestParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let (dialect, counts) = (self.dialect, &mut self.counts);
        self.document.feed(text, sink, |_, raw, sink| {
            if let Ok(file) = serde_json::from_str::<TestFile<'_>>(raw) {
                return file.emit(dialect, counts, sink);
            }
            let repaired = json::repair(raw);
            let what = format!("test file {}", counts.files + 1);
            match json::parse::<TestFile<'_>>(&repaired, &what, sink) {
                Some(file) => file.emit(dialect, counts, sink),
                None => counts.unreadable += 1,
            }
        });
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let skeleton = match self.document.finish() {
            Ok(skeleton) => skeleton,
            Err(error) => return sink.error(error),
        };
        let skeleton = json::repair(&skeleton);
        if let Some(skeleton) = json::parse::<Skeleton>(&skeleton, "the document", sink) {
            self.compare(&skeleton, sink);
        }
    }
}

impl JestParser {
    fn new(dialect: Dialect) -> Self {
        Self { dialect, document: Document::new(&[&["testResults"]]), counts: Counts::default() }
    }

    /// What the document says of itself against what is in it.
    fn compare(&self, skeleton: &Skeleton, sink: &mut dyn Sink) {
        let counts = &self.counts;
        let started = skeleton.start_time.and_then(number::moment_from_millis);
        if started.is_some() {
            let tool = Tool { started, ..Tool::default() };
            sink.event(&Event::Tool(tool));
        }
        let mut broken = counts.errors + counts.unreadable > 0;
        if skeleton.was_interrupted == Some(true) {
            broken = true;
            let message = "the run was interrupted before its end";
            sink.error(RunError::new(RunErrorKind::BailOut, message));
        }
        if let Some(lost) = skeleton.lost() {
            broken = true;
            let message = format!(
                "the report counts {} tests, but says of {lost} of them neither that they passed \
                 nor that they failed or were skipped: a worker may have died",
                skeleton.num_total_tests.unwrap_or_default()
            );
            sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
        let claims_failures = skeleton.num_failed_tests.is_some_and(|count| count > 0);
        match skeleton.success {
            Some(true) if counts.failed > 0 => {
                let message =
                    format!("the report claims success, but {} cases failed", counts.failed);
                sink.note(Note::new(NoteKind::Count, message));
            }
            // Without any file there were no tests, and that is what failed.
            Some(false)
                if counts.failed == 0 && !broken && (counts.files > 0 || claims_failures) =>
            {
                let message = "the report claims failure, but none of its cases failed";
                sink.error(RunError::new(RunErrorKind::Contradiction, message));
            }
            _ => {}
        }
        let claims = [
            (skeleton.num_total_tests, counts.cases, "tests"),
            (skeleton.num_failed_tests, counts.failed, "failed tests"),
        ];
        for (claimed, read, what) in claims {
            if let Some(claimed) = claimed
                && claimed != read
                && counts.unreadable == 0
            {
                let message = format!("the report counts {claimed} {what}, but has {read}");
                sink.note(Note::new(NoteKind::Count, message));
            }
        }
    }
}

impl Skeleton {
    /// How many of the tests it counts are in none of its other counts.
    fn lost(&self) -> Option<u64> {
        let known = self
            .num_passed_tests?
            .saturating_add(self.num_failed_tests?)
            .saturating_add(self.num_pending_tests?)
            .saturating_add(self.num_todo_tests.unwrap_or(0));
        self.num_total_tests?.checked_sub(known).filter(|&lost| lost > 0)
    }
}
