//! CTRF, the Common Test Report Format.
//!
//! One flat list of tests. See <https://ctrf.io>.

mod test;

use serde::Deserialize;

use super::json::{self, Document, nullable};
use super::{Head, InputFormat, Parser, head::has_key, number};
use crate::event::{Event, Sink, Tool};
use crate::model::{Note, NoteKind, RunError, RunErrorKind};
use test::Test;

/// CTRF.
pub(super) struct Ctrf;

impl InputFormat for Ctrf {
    fn name(&self) -> &'static str {
        "ctrf"
    }

    fn description(&self) -> &'static str {
        "CTRF, the Common Test Report Format"
    }

    fn framework(&self) -> &'static str {
        "ctrf"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object().is_some_and(|text| {
            let has = |key| has_key(text, key);
            (has("reportFormat") && text.contains("\"CTRF\""))
                || ["results", "tool", "summary", "tests"].into_iter().all(has)
        })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(CtrfParser {
            head: Some(String::new()),
            document: Document::new(&[&["results", "tests"]]),
            counts: Counts::default(),
        })
    }
}

struct CtrfParser {
    /// What comes before the tests, until it is known which tool wrote it.
    head: Option<String>,
    document: Document,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    tests: u64,
    failed: u64,
    unreadable: bool,
}

#[derive(Deserialize)]
struct Skeleton {
    results: Results,
}

#[derive(Deserialize)]
struct Results {
    #[serde(default, deserialize_with = "nullable")]
    summary: Summary,
}

#[derive(Default, Deserialize)]
struct Summary {
    tests: Option<u64>,
    failed: Option<u64>,
    start: Option<f64>,
    stop: Option<f64>,
}

impl Parser for CtrfParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        self.look_for_tool(text, sink);
        let counts = &mut self.counts;
        self.document.feed(text, sink, |_, raw, sink| {
            counts.tests += 1;
            if let Ok(read) = serde_json::from_str::<Test<'_>>(raw) {
                counts.failed += u64::from(read.emit(sink));
                return;
            }
            let repaired = json::repair(raw);
            let what = format!("test {}", counts.tests);
            match json::parse::<Test<'_>>(&repaired, &what, sink) {
                Some(read) => counts.failed += u64::from(read.emit(sink)),
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
        if let Some(skeleton) = json::parse::<Skeleton>(&skeleton, "the document", sink) {
            self.counts.compare(&skeleton.results.summary, sink);
        }
    }
}

impl CtrfParser {
    /// The tool is the framework, and must be known before the first test.
    fn look_for_tool(&mut self, text: &str, sink: &mut dyn Sink) {
        const ENOUGH: usize = 4096;
        let Some(head) = &mut self.head else {
            return;
        };
        let room = text.floor_char_boundary(ENOUGH.saturating_sub(head.len()));
        head.push_str(&text[..room]);
        if !text.contains('[') && head.len() + 4 < ENOUGH {
            return;
        }
        let is_over = room < text.len() || head.len() + 4 >= ENOUGH;
        let Some(end) = tests_start(head).or_else(|| is_over.then_some(head.len())) else {
            return;
        };
        let framework = tool_name(&head[..end]).map_or("", known_framework);
        if !framework.is_empty() {
            sink.event(&Event::Tool(Tool { framework, ..Tool::default() }));
        }
        self.head = None;
    }
}

/// Where the list of tests starts; `tests` is a count as well.
fn tests_start(head: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = head[from..].find("\"tests\"") {
        from += at + "\"tests\"".len();
        let value = head[from..].trim_start().strip_prefix(':');
        if value.is_some_and(|value| value.trim_start().starts_with('[')) {
            return Some(from);
        }
    }
    None
}

/// The name of the tool in what comes before the tests.
fn tool_name(head: &str) -> Option<&str> {
    let (_, tool) = head.split_once("\"tool\"")?;
    let (_, name) = tool.split_once("\"name\"")?;
    let name = name.trim_start().strip_prefix(':')?.trim_start();
    name.strip_prefix('"')?.split('"').next()
}

/// The framework that is meant, if it is one that is known.
fn known_framework(tool: &str) -> &'static str {
    const KNOWN: [&str; 16] = [
        "jest",
        "vitest",
        "playwright",
        "pytest",
        "mocha",
        "cypress",
        "node-test",
        "cucumber",
        "codeceptjs",
        "jasmine",
        "newman",
        "robot",
        "testng",
        "webdriverio",
        "wdio",
        "xunit",
    ];
    let is_it = |known: &&&str| tool.eq_ignore_ascii_case(known);
    KNOWN.iter().find(is_it).copied().unwrap_or("")
}

impl Counts {
    fn compare(&self, summary: &Summary, sink: &mut dyn Sink) {
        let millis = summary.stop.zip(summary.start).map(|(stop, start)| stop - start);
        let tool = Tool {
            framework: "",
            started: summary.start.and_then(number::moment_from_millis),
            duration: millis.and_then(number::from_millis),
        };
        sink.event(&Event::Tool(tool));
        if self.unreadable {
            return;
        }
        if summary.failed.is_some_and(|failed| failed > 0) && self.failed == 0 {
            let message = "the report counts failures, but none of its tests failed";
            return sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
        let claims =
            [(summary.tests, self.tests, "tests"), (summary.failed, self.failed, "failed tests")];
        for (claimed, read, what) in claims {
            if let Some(claimed) = claimed.filter(|&claimed| claimed != read) {
                let message = format!("the report counts {claimed} {what}, but has {read}");
                sink.note(Note::new(NoteKind::Count, message));
            }
        }
    }
}
