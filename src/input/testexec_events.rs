//! testexec's own event stream. The lines are in [`crate::event_wire`].

use super::json_lines::{JsonLines, read_line};
use super::{Head, InputFormat, Parser};
use crate::event::{Event, Sink, Tool};
use crate::event_wire::{self as wire, CaseLine, RunFinished, RunStarted, SuiteLine, Tag};
use crate::model::{Note, NoteKind, Outcome, RunError, RunErrorKind, Timestamp};

/// testexec's events.
pub(super) struct TestexecEvents;

impl InputFormat for TestexecEvents {
    fn name(&self) -> &'static str {
        "testexec-events"
    }

    fn description(&self) -> &'static str {
        "testexec's own event stream (--report events)"
    }

    fn framework(&self) -> &'static str {
        "testexec"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let mut lines = head.json_lines().take(10);
        head.line_has(&["event", "version"]) && lines.any(|line| line.contains("\"run_started\""))
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(EventsParser::default())
    }
}

#[derive(Default)]
struct EventsParser {
    lines: JsonLines,
    state: State,
}

impl Parser for EventsParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let state = &mut self.state;
        self.lines.feed(text, sink, |line, number, sink| {
            state.line(line, number, sink);
        });
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let state = &mut self.state;
        self.lines.finish(sink, |line, number, sink| state.line(line, number, sink));
        self.state.finish(sink);
    }
}

#[derive(Default)]
struct State {
    attempts: u64,
    bad: u64,
    started: bool,
    finished: Option<(String, wire::Summary)>,
}

impl State {
    fn line(&mut self, line: &str, number: u64, sink: &mut dyn Sink) {
        let Some(tag) = read_line::<Tag<'_>>(line, number, sink) else {
            return;
        };
        match tag.event.as_ref() {
            wire::RUN_STARTED => self.start(line, number, sink),
            wire::SUITE => {
                if let Some(suite) = read_line::<SuiteLine<'_>>(line, number, sink) {
                    suite.read(|suite| sink.event(&Event::Suite(suite)));
                }
            }
            wire::CASE_STARTED => {
                if let Some(case) = read_line::<CaseLine<'_>>(line, number, sink) {
                    case.read_case(|case| sink.event(&Event::CaseStarted(case)));
                }
            }
            wire::CASE_FINISHED => self.case(line, number, sink),
            wire::ERROR => {
                if let Some(error) = read_line::<wire::ErrorLine<'_>>(line, number, sink) {
                    self.bad += 1;
                    sink.error(error.read());
                }
            }
            wire::NOTE => {
                if let Some(note) = read_line::<wire::NoteLine<'_>>(line, number, sink) {
                    sink.note(note.read());
                }
            }
            wire::MISSING => {
                if let Some(missing) = read_line::<wire::MissingLine<'_>>(line, number, sink) {
                    self.bad += 1;
                    sink.event(&Event::Missing(missing.count));
                }
            }
            wire::RUN_FINISHED => self.end(line, number, sink),
            _ => {}
        }
    }

    fn start(&mut self, line: &str, number: u64, sink: &mut dyn Sink) {
        let Some(run) = read_line::<RunStarted<'_>>(line, number, sink) else {
            return;
        };
        self.started = true;
        if run.version > wire::VERSION {
            let message = format!(
                "the stream is of version {}, but only {} is known",
                run.version,
                wire::VERSION
            );
            sink.error(RunError::new(RunErrorKind::Report, message));
        }
        sink.event(&Event::Tool(Tool {
            framework: &run.framework,
            started: run.started.as_deref().and_then(Timestamp::parse),
            duration: None,
        }));
    }

    fn case(&mut self, line: &str, number: u64, sink: &mut dyn Sink) {
        let Some(finished) = read_line::<CaseLine<'_>>(line, number, sink) else {
            return;
        };
        let Some(attempt) = finished.attempt() else {
            let message = format!("line {number} has the unknown status {:?}", finished.status);
            return sink.error(RunError::new(RunErrorKind::Report, message));
        };
        self.attempts += 1;
        self.bad += u64::from(matches!(attempt.outcome, Outcome::Failed(_) | Outcome::NotRun));
        let again = finished.again;
        finished.read_case(|case| {
            sink.event(&Event::CaseFinished { case, attempt, again });
        });
    }

    fn end(&mut self, line: &str, number: u64, sink: &mut dyn Sink) {
        let Some(run) = read_line::<RunFinished<'_>>(line, number, sink) else {
            return;
        };
        sink.event(&Event::Tool(Tool {
            duration: run.duration.map(std::time::Duration::from_nanos),
            ..Tool::default()
        }));
        self.finished = Some((run.status.into_owned(), run.summary));
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if !self.started {
            let message = "there is no run_started: the stream has lost its beginning";
            sink.error(RunError::new(RunErrorKind::Report, message));
        }
        let Some((status, summary)) = self.finished.take() else {
            let message = "there is no run_finished: the stream is truncated";
            return sink.error(RunError::new(RunErrorKind::Report, message));
        };
        let claims = summary.total > 0 && status != "passed" && summary.passed > 0;
        if claims && self.bad == 0 {
            let message = format!("the stream says {status:?}, but nothing in it failed");
            sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
        let own = summary.total - summary.errors.min(summary.total);
        if own > self.attempts {
            let message = format!(
                "the stream counts {} cases, but has {} attempts; they are believed",
                summary.total, self.attempts
            );
            sink.note(Note::new(NoteKind::Count, message));
        }
    }
}
