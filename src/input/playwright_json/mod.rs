//! Playwright Test's JSON (`--reporter=json`).
//!
//! A suite per file, specs in it, in each a test per project, in each a result per attempt.
//! See <https://playwright.dev/docs/test-reporters#json-reporter>.

mod attempt;

use serde::Deserialize;

use super::json::{self, Document, Text, nullable};
use super::{Head, InputFormat, Parser, failure, head::has_key, number};
use crate::event::{Event, Sink, Tool};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Note, NoteKind, Outcome, Pairs, RunError,
    RunErrorKind, Timestamp,
};
use crate::text::strip_ansi;
use attempt::{Expectation, TestError, TestResult};

/// Playwright Test's JSON.
pub(super) struct PlaywrightJson;

impl InputFormat for PlaywrightJson {
    fn name(&self) -> &'static str {
        "playwright-json"
    }

    fn description(&self) -> &'static str {
        "Playwright Test's JSON (--reporter=json)"
    }

    fn framework(&self) -> &'static str {
        "playwright"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object().is_some_and(|text| {
            let has = |key| has_key(text, key);
            has("config")
                && (has("suites") || has("rootDir"))
                && ["rootDir", "projects", "specs", "unexpected"].into_iter().any(has)
        })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(PlaywrightParser {
            document: Document::new(&[&["suites"]]),
            counts: Counts::default(),
        })
    }
}

struct PlaywrightParser {
    document: Document,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    cases: u64,
    failed: u64,
    unreadable: bool,
}

#[derive(Deserialize)]
struct SuiteNode<'a> {
    #[serde(borrow, default)]
    title: Text<'a>,
    #[serde(borrow, default)]
    file: Text<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    specs: Vec<Spec<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    suites: Vec<SuiteNode<'a>>,
}

#[derive(Deserialize)]
struct Spec<'a> {
    #[serde(borrow, default)]
    title: Text<'a>,
    #[serde(borrow, default)]
    file: Text<'a>,
    line: Option<u32>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    tags: Vec<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    tests: Vec<Test<'a>>,
}

/// A spec in one project.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test<'a> {
    #[serde(borrow, default, deserialize_with = "nullable")]
    annotations: Vec<Annotation<'a>>,
    #[serde(borrow, default)]
    expected_status: Text<'a>,
    #[serde(borrow, default)]
    project_name: Text<'a>,
    #[serde(borrow, default)]
    status: Text<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    results: Vec<TestResult<'a>>,
}

#[derive(Deserialize)]
struct Annotation<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    description: Text<'a>,
}

#[derive(Deserialize)]
struct Skeleton<'a> {
    #[serde(borrow, default, deserialize_with = "nullable")]
    errors: Vec<TestError<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    stats: Stats<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stats<'a> {
    #[serde(borrow, default)]
    start_time: Text<'a>,
    duration: Option<f64>,
    unexpected: Option<u64>,
}

impl Parser for PlaywrightParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let counts = &mut self.counts;
        self.document.feed(text, sink, |_, raw, sink| {
            if let Ok(suite) = serde_json::from_str::<SuiteNode<'_>>(raw) {
                return suite.emit_file(counts, sink);
            }
            let repaired = json::repair(raw);
            match json::parse::<SuiteNode<'_>>(&repaired, "a suite", sink) {
                Some(suite) => suite.emit_file(counts, sink),
                None => counts.unreadable = true,
            }
        });
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let skeleton = match self.document.finish() {
            Ok(skeleton) => skeleton,
            Err(error) => return sink.error(error),
        };
        let skeleton = json::repair(&skeleton);
        if let Some(skeleton) = json::parse::<Skeleton<'_>>(&skeleton, "the document", sink) {
            self.counts.compare(&skeleton, sink);
        }
    }
}

impl SuiteNode<'_> {
    /// The outermost suite is the file, and is named by it.
    fn emit_file(&self, counts: &mut Counts, sink: &mut dyn Sink) {
        let file = if self.file.is_empty() { &self.title } else { &self.file };
        let title = (*self.title != **file).then_some(&*self.title);
        self.emit(file, &mut title.into_iter().collect(), counts, sink);
    }

    /// Says what is in the suite and those below it, which `serde_json` keeps from being too deep.
    fn emit<'a>(
        &'a self,
        file: &'a str,
        lineage: &mut Vec<&'a str>,
        counts: &mut Counts,
        sink: &mut dyn Sink,
    ) {
        for spec in &self.specs {
            let own = if spec.file.is_empty() { file } else { &spec.file };
            for test in &spec.tests {
                counts.cases += 1;
                counts.failed += u64::from(test.emit(spec, own, lineage, sink));
            }
        }
        for suite in &self.suites {
            lineage.push(&suite.title);
            suite.emit(file, lineage, counts, sink);
            lineage.pop();
        }
    }
}

impl Test<'_> {
    /// Says what became of the test, attempt by attempt, and tells whether it failed.
    fn emit(&self, spec: &Spec<'_>, file: &str, lineage: &[&str], sink: &mut dyn Sink) -> bool {
        let project = &*self.project_name;
        let suite: Vec<&str> = Some(project)
            .filter(|project| !project.is_empty())
            .into_iter()
            .chain(lineage.iter().copied())
            .collect();
        let tags: Vec<&str> =
            spec.tags.iter().map(|tag| tag.strip_prefix('@').unwrap_or(tag)).collect();
        let properties = self.properties();
        let attachments: Vec<&str> =
            self.results.iter().flat_map(TestResult::attachments).collect();
        let case = Case {
            id: CaseId { file, suite: List::from(&suite), name: &spec.title, ..CaseId::default() },
            line: spec.line.filter(|&line| line > 0),
            tags: List::from(&tags),
            properties: Pairs::new(&properties),
            attachments: Pairs::new(&attachments),
        };
        self.emit_attempts(&case, sink)
    }

    fn emit_attempts(&self, case: &Case<'_>, sink: &mut dyn Sink) -> bool {
        let expectation = self.expectation();
        let is_unexpected = &*self.status == "unexpected";
        // The test's status has the last word, so that no result turns it green.
        let is_odd =
            is_unexpected && !self.results.iter().any(|result| result.is_unexpected(&expectation));
        let (mut passed, mut failed) = (false, false);
        let mut say = |mut attempt: Attempt<'_>, again: bool, sink: &mut dyn Sink| {
            if is_odd && !matches!(attempt.outcome, Outcome::Failed(_)) {
                attempt.outcome = Outcome::Failed(Failure {
                    kind: FailureKind::Error,
                    message: "the report calls the result unexpected, and does not say why",
                    ..Failure::default()
                });
            }
            passed |= attempt.outcome == Outcome::Passed;
            failed |= matches!(attempt.outcome, Outcome::Failed(_));
            sink.event(&Event::CaseFinished { case: *case, attempt, again });
        };
        for (index, result) in self.results.iter().enumerate() {
            result.tell(&expectation, |attempt| say(attempt, index > 0, sink));
        }
        if self.results.is_empty() {
            let attempt = Attempt { outcome: expectation.of_none(), ..Attempt::default() };
            say(attempt, false, sink);
        }
        failed && !passed
    }

    fn expectation(&self) -> Expectation<'_> {
        let find = |kinds: &[&str]| {
            self.annotations.iter().find(|annotation| kinds.contains(&&*annotation.kind))
        };
        let skip = find(&["skip", "fixme"]);
        Expectation {
            status: &self.expected_status,
            is_skip: skip.is_some(),
            is_fixme: skip.is_some_and(|annotation| &*annotation.kind == "fixme"),
            skip_reason: skip.map_or("", |annotation| &annotation.description),
            fail_reason: find(&["fail"]).map_or("", |annotation| &annotation.description),
        }
    }

    fn properties(&self) -> Vec<&str> {
        let mut properties = Vec::new();
        if !self.project_name.is_empty() {
            properties.extend(["project", &*self.project_name]);
        }
        for annotation in &self.annotations {
            if !matches!(&*annotation.kind, "skip" | "fixme" | "fail") {
                properties.extend([&*annotation.kind, &*annotation.description]);
            }
        }
        properties
    }
}

impl Counts {
    /// What stands around the suites: errors outside of any test, and the document's own counts.
    fn compare(&self, skeleton: &Skeleton<'_>, sink: &mut dyn Sink) {
        let stats = &skeleton.stats;
        let tool = Tool {
            framework: "",
            started: Timestamp::parse(&stats.start_time),
            duration: stats.duration.and_then(number::from_millis),
        };
        sink.event(&Event::Tool(tool));
        let kind = if self.cases == 0 { RunErrorKind::Load } else { RunErrorKind::Setup };
        for error in &skeleton.errors {
            sink.error(run_error(kind, error));
        }
        if self.unreadable {
            return;
        }
        let unexpected = stats.unexpected.unwrap_or(self.failed);
        if unexpected > 0 && self.failed == 0 && skeleton.errors.is_empty() {
            let message =
                format!("the report counts {unexpected} failures, but none of its tests failed");
            sink.error(RunError::new(RunErrorKind::Contradiction, message));
        } else if unexpected != self.failed {
            let message =
                format!("the report counts {unexpected} failures, but has {}", self.failed);
            sink.note(Note::new(NoteKind::Count, message));
        }
    }
}

fn run_error(kind: RunErrorKind, error: &TestError<'_>) -> RunError {
    let text = error.text();
    let text = strip_ansi(&text);
    let message = failure::first_paragraph(failure::split_trace(&text).0).0;
    let message = failure::first_line(message);
    let mut details = text.trim_end().to_owned();
    let snippet = strip_ansi(&error.snippet);
    if !snippet.is_empty() {
        details.push_str("\n\n");
        details.push_str(&snippet);
    }
    let scope = error.location.as_ref().map_or("", |place| &place.file);
    RunError::new(kind, message).with_details(details).in_scope(scope)
}
