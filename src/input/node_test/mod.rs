//! The events of Node's test runner (`node:test`), one JSON object a line: `{"type", "data"}`.
//!
//! `test:start`, `test:pass` and `test:fail` come in the order of declaration, children before their
//! parent. Only leaves are cases. See <https://nodejs.org/api/test.html#class-testsstream>.

mod event;
mod file;

use std::collections::BTreeMap;

use super::lines::Lines;
use super::{Head, InputFormat, Parser, json, number};
use crate::event::{Event, Sink, Tool};
use crate::model::{Note, NoteKind, RunError, RunErrorKind};
use event::{Data, Line};
use file::FileState;

/// Events of `node:test`.
pub(super) struct NodeTest;

impl InputFormat for NodeTest {
    fn name(&self) -> &'static str {
        "node-test"
    }

    fn description(&self) -> &'static str {
        "events of node:test, a JSON object a line"
    }

    fn framework(&self) -> &'static str {
        "node-test"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.json_lines().take(50).any(|line| {
            let event = line.trim_start_matches(['{', ' ']);
            let kind = event.strip_prefix("\"type\"").map(str::trim_start);
            kind.and_then(|kind| kind.strip_prefix(':'))
                .is_some_and(|kind| kind.trim_start().starts_with("\"test:"))
                && super::head::has_key(line, "data")
        })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(NodeParser::default())
    }
}

#[derive(Default)]
struct NodeParser {
    lines: Lines,
    state: State,
}

/// What was read so far.
#[derive(Default)]
struct State {
    files: BTreeMap<String, FileState>,
    /// Failed cases and run errors.
    failures: u64,
    claimed_failures: u64,
    unreadable: bool,
    /// The runner wrote its totals, which come last.
    ended: bool,
    noted_noise: bool,
}

impl Parser for NodeParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let state = &mut self.state;
        self.lines.feed(text, sink, |line, number, sink| {
            state.line(line, number, sink);
        });
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if let Some((line, number)) = self.lines.finish() {
            self.state.line(&line, number, sink);
        }
        self.state.finish(sink);
    }
}

impl State {
    fn line(&mut self, line: &str, number: u64, sink: &mut dyn Sink) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        if !line.starts_with('{') {
            return self.noise(sink);
        }
        let repaired;
        let event = if let Ok(event) = serde_json::from_str::<Line<'_>>(line) {
            event
        } else {
            repaired = json::repair(line);
            let what = format!("line {number}");
            let Some(event) = json::parse::<Line<'_>>(&repaired, &what, sink) else {
                self.unreadable = true;
                return;
            };
            event
        };
        self.event(&event, sink);
    }

    fn event(&mut self, line: &Line<'_>, sink: &mut dyn Sink) {
        let Some(data) = &line.data else {
            return self.noise(sink);
        };
        match &*line.kind {
            "test:dequeue" => self.file(data).begin(data),
            "test:start" => self.file(data).start(data),
            "test:complete" => self.file(data).end(data),
            "test:pass" | "test:fail" => {
                let passed = &*line.kind == "test:pass";
                let failures = self.file(data).result(data, passed, sink);
                self.failures += failures;
            }
            "test:stdout" => self.file(data).stdout.push(&data.message),
            "test:stderr" => self.file(data).stderr.push(&data.message),
            "test:diagnostic" => self.diagnostic(&data.message, sink),
            "test:summary" => self.summary(data, sink),
            // Others say nothing of results, and the runner gets new ones.
            kind if kind.starts_with("test:") => {}
            _ => self.noise(sink),
        }
    }

    fn file(&mut self, data: &Data<'_>) -> &mut FileState {
        let file = data.file.to_string();
        self.files.entry(file).or_insert_with_key(|file| FileState::new(file))
    }

    /// The totals come as text: `fail 2`, and last `duration_ms 446.04`.
    fn diagnostic(&mut self, message: &str, sink: &mut dyn Sink) {
        match message.split_once(' ') {
            Some(("fail" | "cancelled", count)) => {
                let count = count.trim().parse::<u64>().unwrap_or(0);
                self.claimed_failures = self.claimed_failures.saturating_add(count);
            }
            Some(("duration_ms", millis)) => {
                self.ended = true;
                tool(millis.trim().parse().ok(), sink);
            }
            _ => {}
        }
    }

    fn summary(&mut self, data: &Data<'_>, sink: &mut dyn Sink) {
        // There is one per file as well.
        if !data.file.is_empty() {
            return;
        }
        self.ended = true;
        self.claimed_failures += u64::from(data.success == Some(false));
        tool(data.duration_ms, sink);
    }

    fn noise(&mut self, sink: &mut dyn Sink) {
        if !std::mem::replace(&mut self.noted_noise, true) {
            let message = "lines that are no events of node:test are passed over";
            sink.note(Note::new(NoteKind::Noise, message));
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        for file in self.files.values_mut() {
            if !self.ended {
                self.failures += file.crashed(sink);
            }
            file.tell_output(sink);
        }
        if !self.ended {
            let message = "the events end before the runner's totals: the report is truncated";
            sink.error(RunError::new(RunErrorKind::Report, message));
        } else if self.claimed_failures > 0 && self.failures == 0 && !self.unreadable {
            let message = "the runner counts failures, but none of its tests failed";
            sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
    }
}

fn tool(millis: Option<f64>, sink: &mut dyn Sink) {
    let duration = millis.and_then(number::from_millis);
    sink.event(&Event::Tool(Tool { duration, ..Tool::default() }));
}
