//! The JSON of mochawesome, a reporter for Mocha and Cypress.
//!
//! `results` has a tree of suites per file. See <https://github.com/adamgruber/mochawesome>.

use serde::Deserialize;
use serde_json::Value;

use super::json::{self, Document, Text, nullable};
use super::{Head, InputFormat, Parser, failure, head::has_key, number};
use crate::event::{Event, Sink, Tool};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Note, NoteKind, Outcome, Pairs, RunError,
    RunErrorKind, Skip, Timestamp,
};
use crate::text::strip_ansi;

/// mochawesome's JSON.
pub(super) struct Mochawesome;

impl InputFormat for Mochawesome {
    fn name(&self) -> &'static str {
        "mochawesome"
    }

    fn description(&self) -> &'static str {
        "mochawesome's JSON, of Mocha and Cypress"
    }

    fn framework(&self) -> &'static str {
        "mocha"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object().is_some_and(is_mochawesome)
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(MochawesomeParser {
            document: Document::new(&[&["results"]]),
            counts: Counts::default(),
        })
    }
}

/// Whether an object that begins like this is mochawesome's rather than Mocha's own.
pub(super) fn is_mochawesome(text: &str) -> bool {
    let own = ["testsRegistered", "beforeHooks", "mochawesome"];
    has_key(text, "stats")
        && has_key(text, "results")
        && own.into_iter().any(|key| has_key(text, key))
}

struct MochawesomeParser {
    document: Document,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    passed: u64,
    failed: u64,
    /// Failed hooks.
    errors: u64,
    unreadable: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SuiteNode<'a> {
    #[serde(borrow, default)]
    title: Text<'a>,
    #[serde(borrow, default)]
    full_file: Text<'a>,
    #[serde(borrow, default)]
    file: Text<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    before_hooks: Vec<Test<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    after_hooks: Vec<Test<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    tests: Vec<Test<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    suites: Vec<SuiteNode<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the format has them")]
struct Test<'a> {
    #[serde(borrow, default)]
    title: Text<'a>,
    #[serde(default, deserialize_with = "nullable")]
    timed_out: bool,
    duration: Option<f64>,
    #[serde(borrow, default)]
    state: Text<'a>,
    #[serde(default, deserialize_with = "nullable")]
    pass: bool,
    #[serde(default, deserialize_with = "nullable")]
    fail: bool,
    #[serde(default, deserialize_with = "nullable")]
    pending: bool,
    #[serde(borrow, default)]
    context: Text<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    err: Thrown<'a>,
}

#[derive(Default, Deserialize)]
struct Thrown<'a> {
    #[serde(borrow, default)]
    message: Text<'a>,
    #[serde(borrow, default)]
    estack: Text<'a>,
    #[serde(borrow, default)]
    diff: Text<'a>,
}

#[derive(Deserialize)]
struct Skeleton<'a> {
    #[serde(borrow, default, deserialize_with = "nullable")]
    stats: Stats<'a>,
}

#[derive(Default, Deserialize)]
struct Stats<'a> {
    passes: Option<u64>,
    failures: Option<u64>,
    #[serde(borrow, default)]
    start: Text<'a>,
    duration: Option<f64>,
}

impl Parser for MochawesomeParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let counts = &mut self.counts;
        self.document.feed(text, sink, |_, raw, sink| {
            if let Ok(suite) = serde_json::from_str::<SuiteNode<'_>>(raw) {
                return suite.emit("", &mut Vec::new(), counts, sink);
            }
            let repaired = json::repair(raw);
            match json::parse::<SuiteNode<'_>>(&repaired, "a suite", sink) {
                Some(suite) => suite.emit("", &mut Vec::new(), counts, sink),
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
            self.counts.compare(&skeleton.stats, sink);
        }
    }
}

impl SuiteNode<'_> {
    /// Says what is in the suite and those below it, which `serde_json` keeps from being too deep.
    fn emit<'a>(
        &'a self,
        file: &'a str,
        lineage: &mut Vec<&'a str>,
        counts: &mut Counts,
        sink: &mut dyn Sink,
    ) {
        let own = [&*self.full_file, &*self.file];
        let file = own.into_iter().find(|own| !own.is_empty()).unwrap_or(file);
        if !self.title.is_empty() {
            lineage.push(&self.title);
        }
        for test in &self.tests {
            test.emit(file, lineage, counts, sink);
        }
        for hook in self.before_hooks.iter().chain(&self.after_hooks) {
            if hook.has_failed() {
                counts.errors += 1;
                sink.error(hook.error(file));
            }
        }
        for suite in &self.suites {
            suite.emit(file, lineage, counts, sink);
        }
        if !self.title.is_empty() {
            lineage.pop();
        }
    }
}

impl Test<'_> {
    fn has_failed(&self) -> bool {
        self.fail || &*self.state == "failed"
    }

    fn emit(&self, file: &str, lineage: &Vec<&str>, counts: &mut Counts, sink: &mut dyn Sink) {
        let texts = self.err.texts();
        let outcome = if self.has_failed() {
            counts.failed += 1;
            Outcome::Failed(texts.failure(self.timed_out))
        } else if self.pending || &*self.state == "pending" {
            Outcome::Skipped(Skip::default())
        } else if self.pass || &*self.state == "passed" {
            counts.passed += 1;
            Outcome::Passed
        } else {
            // A hook failed before its turn came.
            Outcome::NotRun
        };
        let context = Context::new(&self.context);
        let case = Case {
            id: CaseId { file, suite: List::from(lineage), name: &self.title, ..CaseId::default() },
            properties: Pairs::new(&context.properties),
            attachments: Pairs::new(&context.attachments),
            ..Case::default()
        };
        let attempt = Attempt {
            outcome,
            duration: self.duration.and_then(number::from_millis),
            ..Attempt::default()
        };
        sink.event(&Event::CaseFinished { case, attempt, again: false });
    }

    fn error(&self, file: &str) -> RunError {
        let texts = self.err.texts();
        let message = format!("{}: {}", &*self.title, texts.failure(false).message);
        RunError::new(RunErrorKind::Setup, message)
            .with_details(if texts.stack.is_empty() { texts.message } else { texts.stack })
            .in_scope(file)
    }
}

impl Thrown<'_> {
    fn texts(&self) -> Texts {
        let message = strip_ansi(&self.message).into_owned();
        let (_, rest) = failure::first_paragraph(&message);
        let diff = strip_ansi(&self.diff);
        let gap = if rest.is_empty() || diff.is_empty() { "" } else { "\n\n" };
        Texts {
            details: format!("{rest}{gap}{}", diff.trim_end()),
            stack: strip_ansi(&self.estack).into_owned(),
            message,
        }
    }
}

/// The texts of an error, without colours.
struct Texts {
    message: String,
    details: String,
    stack: String,
}

impl Texts {
    fn failure(&self, timed_out: bool) -> Failure<'_> {
        let kind = if timed_out { FailureKind::Timeout } else { FailureKind::Failure };
        let from_stack = failure::from_text(kind, &self.stack);
        let message = match failure::first_paragraph(&self.message).0 {
            "" => from_stack.message,
            message => message,
        };
        Failure {
            message: if message.is_empty() {
                "failed, and the report does not say why"
            } else {
                message
            },
            details: &self.details,
            ..from_stack
        }
    }
}

/// What a test added with `addContext`: JSON in a string.
#[derive(Default)]
struct Context {
    properties: Vec<String>,
    attachments: Vec<String>,
}

impl Context {
    fn new(text: &str) -> Self {
        let mut context = Self::default();
        if text.is_empty() {
            return context;
        }
        match serde_json::from_str(text) {
            Ok(Value::Array(items)) => items.into_iter().for_each(|item| context.add(item)),
            Ok(item) => context.add(item),
            Err(_) => context.add(Value::String(text.to_owned())),
        }
        context
    }

    fn add(&mut self, item: Value) {
        let (title, value) = match item {
            Value::Object(mut fields) if fields.contains_key("value") => {
                let title = fields.get("title").and_then(Value::as_str);
                let title = title.unwrap_or("context").to_owned();
                (title, fields.remove("value").unwrap_or_default())
            }
            other => ("context".to_owned(), other),
        };
        let text = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let target = if is_media(&text) { &mut self.attachments } else { &mut self.properties };
        target.extend([title, text]);
    }
}

/// Whether a text is the path of a picture or a film.
fn is_media(text: &str) -> bool {
    let extension = text.rsplit_once('.').map_or("", |(_, extension)| extension);
    ["png", "jpg", "jpeg", "gif", "webp", "svg", "mp4", "webm"]
        .iter()
        .any(|media| extension.eq_ignore_ascii_case(media))
}

impl Counts {
    fn compare(&self, stats: &Stats<'_>, sink: &mut dyn Sink) {
        let tool = Tool {
            framework: "",
            started: Timestamp::parse(&stats.start),
            duration: stats.duration.and_then(number::from_millis),
        };
        sink.event(&Event::Tool(tool));
        if self.unreadable {
            return;
        }
        let claims_failure = stats.failures.is_some_and(|failures| failures > 0);
        if claims_failure && self.failed == 0 && self.errors == 0 {
            let message = "the report counts failures, but none of its tests failed";
            return sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
        let claims =
            [(stats.passes, self.passed, "passes"), (stats.failures, self.failed, "failures")];
        for (claimed, read, what) in claims {
            if let Some(claimed) = claimed.filter(|&claimed| claimed != read) {
                let message = format!("the report counts {claimed} {what}, but has {read}");
                sink.note(Note::new(NoteKind::Count, message));
            }
        }
    }
}
