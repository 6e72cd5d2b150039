//! `RSpec`'s `--format json`.

use serde::Deserialize;

use super::json::{self, Document};
use super::{Head, InputFormat, Parser, failure, number};
use crate::event::{Event, Sink};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Note, NoteKind, Outcome, Pairs, RunError,
    RunErrorKind, Skip, SkipKind,
};
use crate::text::strip_ansi;

/// `RSpec`'s JSON.
pub(super) struct RspecJson;

impl InputFormat for RspecJson {
    fn name(&self) -> &'static str {
        "rspec-json"
    }

    fn description(&self) -> &'static str {
        "RSpec's --format json"
    }

    fn framework(&self) -> &'static str {
        "rspec"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object_has(&["examples", "full_description", "file_path"])
            || head.object_has(&["examples", "summary_line"])
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(RspecParser {
            document: Document::new(&[&["examples"], &["profile", "examples"]]),
            state: State::default(),
        })
    }
}

struct RspecParser {
    document: Document,
    state: State,
}

#[derive(Default)]
struct State {
    examples: u64,
    failures: u64,
    unread: u64,
}

impl Parser for RspecParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let state = &mut self.state;
        self.document.feed(text, sink, |array, raw, sink| {
            // The slowest examples are there twice.
            if array == 0 {
                state.example(&json::repair(raw), sink);
            }
        });
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        match self.document.finish() {
            Ok(skeleton) => self.state.finish(&json::repair(&skeleton), sink),
            Err(error) => sink.error(error),
        }
    }
}

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    messages: Vec<String>,
    #[serde(default)]
    summary: Summary,
}

#[derive(Default, Deserialize)]
struct Summary {
    #[serde(default, rename = "example_count")]
    examples: Option<u64>,
    #[serde(default, rename = "failure_count")]
    failures: u64,
    #[serde(default, rename = "errors_outside_of_examples_count")]
    errors_outside: u64,
}

#[derive(Deserialize)]
struct Example {
    #[serde(default)]
    id: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    full_description: String,
    status: String,
    #[serde(default)]
    file_path: String,
    #[serde(default)]
    line_number: Option<u32>,
    #[serde(default)]
    run_time: Option<f64>,
    #[serde(default)]
    pending_message: Option<String>,
    #[serde(default)]
    exception: Option<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    #[serde(default)]
    class: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    backtrace: Option<Vec<String>>,
}

impl State {
    fn example(&mut self, raw: &str, sink: &mut dyn Sink) {
        self.examples += 1;
        let what = format!("example {}", self.examples);
        let Some(example) = json::parse::<Example>(raw, &what, sink) else {
            self.unread += 1;
            return;
        };
        let texts = example.texts();
        let outcome = example.outcome(&texts);
        self.failures += u64::from(matches!(outcome, Outcome::Failed(_)));
        let (group, name) = example.split_name();
        let lineage = [group];
        let (file, is_own) = example.file();
        let case = Case {
            id: CaseId {
                package: "",
                file,
                suite: if group.is_empty() { List::EMPTY } else { List::from(lineage.as_slice()) },
                name,
                parameters: "",
            },
            line: example.line_number.filter(|&line| line > 0 && is_own),
            tags: List::EMPTY,
            properties: Pairs::default(),
            attachments: Pairs::default(),
        };
        let attempt = Attempt {
            outcome,
            duration: example.run_time.and_then(number::from_float),
            ..Attempt::default()
        };
        sink.event(&Event::CaseFinished { case, attempt, again: false });
    }

    fn finish(&mut self, skeleton: &str, sink: &mut dyn Sink) {
        let Some(report) = json::parse::<Report>(skeleton, "the report", sink) else {
            return;
        };
        let summary = &report.summary;
        let mut errors = 0;
        for message in &report.messages {
            let text = strip_ansi(message);
            if text.trim_start().starts_with("An error occurred") {
                errors += 1;
                sink.error(outside_error(&text));
            }
        }
        if errors == 0 && summary.errors_outside > 0 {
            errors = 1;
            let details = report.messages.join("\n");
            let message = format!("{} errors occurred outside of examples", summary.errors_outside);
            sink.error(RunError::new(RunErrorKind::Load, message).with_details(details));
        }
        let explained = self.failures + self.unread + errors;
        if summary.failures > 0 && explained == 0 {
            let message = format!(
                "the report counts {} failures, but none of its examples failed",
                summary.failures
            );
            sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
        if let Some(count) = summary.examples
            && count != self.examples
        {
            let message = format!(
                "the report counts {count} examples, but has {}; its examples are believed",
                self.examples
            );
            sink.note(Note::new(NoteKind::Count, message));
        }
    }
}

/// An error while loading a file, or in a hook around all examples.
fn outside_error(text: &str) -> RunError {
    let first = failure::first_line(text);
    let loaded = first.split_once("while loading ");
    let (kind, scope) = match loaded {
        Some((_, file)) => (RunErrorKind::Load, file.trim_end_matches('.')),
        None => (RunErrorKind::Setup, ""),
    };
    // The exception stands below its class.
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let class = lines.find(|line| line.ends_with("Error:") || line.ends_with("Exception:"));
    let message = match (class, lines.next()) {
        (Some(class), Some(words)) => format!("{class} {words}"),
        _ => first.to_owned(),
    };
    RunError::new(kind, message).with_details(text.trim()).in_scope(scope)
}

impl Example {
    /// The groups around the example, and its own description.
    fn split_name(&self) -> (&str, &str) {
        let group = self.full_description.strip_suffix(&self.description);
        match group {
            Some(group) if !self.description.is_empty() => (group.trim_end(), &self.description),
            _ => ("", &self.full_description),
        }
    }

    /// The file that runs the example, and whether that is also where it is defined.
    ///
    /// They differ for shared examples: then `id` has the one and `file_path` the other.
    fn file(&self) -> (&str, bool) {
        match self.id.rsplit_once('[') {
            Some((file, _)) if !file.is_empty() => (file, file == self.file_path),
            _ => (&self.file_path, true),
        }
    }

    /// Message and backtrace.
    fn texts(&self) -> (String, String) {
        let Some(exception) = &self.exception else {
            return (String::new(), String::new());
        };
        let message = exception.message.as_deref().unwrap_or_default();
        let lines = exception.backtrace.as_deref().unwrap_or_default();
        (strip_ansi(message.trim()).into_owned(), strip_ansi(&lines.join("\n")).into_owned())
    }

    fn outcome<'a>(&'a self, texts: &'a (String, String)) -> Outcome<'a> {
        let reason = self.pending_message.as_deref().unwrap_or_default();
        match self.status.as_str() {
            "passed" if self.exception.is_none() => Outcome::Passed,
            "pending" => Outcome::Skipped(Skip {
                kind: match reason {
                    _ if self.exception.is_some() => SkipKind::ExpectedFailure,
                    "Not yet implemented" => SkipKind::Todo,
                    _ => SkipKind::Skipped,
                },
                reason,
            }),
            "failed" | "passed" => {
                let fallback = "failed, and the report does not say why";
                Outcome::Failed(self.failure(FailureKind::Failure, texts, fallback))
            }
            // The process ended inside the example.
            "" => {
                let fallback = "the process ended before this example did";
                Outcome::Failed(self.failure(FailureKind::Crash, texts, fallback))
            }
            _ => {
                let fallback = "the example has an unknown status";
                Outcome::Failed(self.failure(FailureKind::Error, texts, fallback))
            }
        }
    }

    fn failure<'a>(
        &'a self,
        kind: FailureKind,
        (message, trace): &'a (String, String),
        fallback: &'a str,
    ) -> Failure<'a> {
        let class = self.exception.as_ref().and_then(|it| it.class.as_deref());
        let (expected, actual) = values(message);
        Failure {
            kind,
            message: if message.is_empty() { fallback } else { message },
            type_name: class.unwrap_or_default(),
            details: "",
            stack_trace: trace,
            expected,
            actual,
            location: failure::locate(trace),
        }
    }
}

/// The values of `expected: 42` and `got: 41`.
fn values(message: &str) -> (Option<&str>, Option<&str>) {
    let value = |word: &str| {
        let mut lines = message.lines().map(str::trim_start);
        lines.find_map(|line| line.strip_prefix(word)).map(str::trim)
    };
    match (value("expected: "), value("got: ")) {
        (Some(expected), Some(actual)) if message.starts_with("expected: ") => {
            (Some(expected), Some(actual))
        }
        _ => (None, None),
    }
}
