//! testexec's own event stream: one JSON object a line. The lines are in [`crate::event_wire`].

use std::borrow::Cow;
use std::io::Write;

use serde::Serialize;

use super::{OutputFormat, RenderError, Report};
use crate::event_wire::{
    CaseLine, ErrorLine, MISSING, MissingLine, NoteLine, RUN_FINISHED, RUN_STARTED, RunFinished,
    RunStarted, SuiteLine, Summary, VERSION,
};

/// The event stream.
pub(super) struct Events;

impl OutputFormat for Events {
    fn name(&self) -> &'static str {
        "events"
    }

    fn description(&self) -> &'static str {
        "versioned NDJSON, one event a line"
    }

    fn render(&self, report: &Report<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
        let Report { run, judgement, totals, options: _ } = report;
        let mut lines = Writer { out, buffer: Vec::with_capacity(64 << 10) };
        lines.line(&RunStarted {
            event: Cow::Borrowed(RUN_STARTED),
            version: VERSION,
            framework: super::framework(run).into(),
            started: run.started.map(|moment| moment.to_string()),
        })?;
        // Those without facts, too: what is read back has its suites in the same order.
        for (_, suite) in run.suites() {
            lines.line(&SuiteLine::of(&suite))?;
        }
        for view in run.cases() {
            let case = view.case();
            for (index, attempt) in view.attempts().enumerate() {
                lines.line(&CaseLine::finished(&case, &attempt, index > 0))?;
            }
        }
        for error in run.errors() {
            lines.line(&ErrorLine::of(error))?;
        }
        for note in run.notes() {
            lines.line(&NoteLine::of(note))?;
        }
        if run.missing > 0 {
            lines.line(&MissingLine { event: Cow::Borrowed(MISSING), count: run.missing })?;
        }
        let nanos = |duration: std::time::Duration| u64::try_from(duration.as_nanos());
        lines.line(&RunFinished {
            event: Cow::Borrowed(RUN_FINISHED),
            status: judgement.status().into(),
            summary: Summary::of(totals),
            duration: run.duration.map(|duration| nanos(duration).unwrap_or(u64::MAX)),
        })?;
        lines.flush()
    }
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    buffer: Vec<u8>,
}

impl Writer<'_> {
    fn line(&mut self, line: &impl Serialize) -> Result<(), RenderError> {
        serde_json::to_writer(&mut self.buffer, line)?;
        self.buffer.push(b'\n');
        if self.buffer.len() > 60 << 10 {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), RenderError> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::event::{Event, Sink, Tool};
    use crate::input::Reader;
    use crate::judge::{Policy, judge};
    use crate::model::{
        Attempt, Case, CaseId, Duplicates, Failure, FailureKind, List, Location, Note, NoteKind,
        Outcome, Pairs, RunError, RunErrorKind, Skip, SkipKind, Source, Suite, TestRun, Timestamp,
        Totals,
    };
    use crate::output::Options;
    use crate::recorder::Recorder;

    fn record(say: impl FnOnce(&mut Recorder)) -> TestRun {
        let mut recorder = Recorder::new("/builds");
        recorder.begin_report(Source { path: "report".to_owned(), ..Source::default() });
        say(&mut recorder);
        recorder.end_report();
        let (missing, started, duration) = (recorder.missing, recorder.started, recorder.duration);
        let mut run = TestRun::new(vec![recorder.into_batch()], Duplicates::Separate);
        (run.missing, run.started, run.duration) = (missing, started, duration);
        run
    }

    const FLAT: [&str; 4] = ["a", "1", "b", "2"];

    fn full_case() -> Case<'static> {
        Case {
            id: CaseId {
                package: "p",
                file: "src/a.py",
                suite: List::from(["outer", "größe"].as_slice()),
                name: "adds \"x\"\u{1f680}",
                parameters: "[1]",
            },
            line: Some(7),
            tags: List::from(["slow", "db"].as_slice()),
            properties: Pairs::new(FLAT.as_slice()),
            attachments: Pairs::new(FLAT.as_slice()),
        }
    }

    fn full_outcomes() -> [(Outcome<'static>, bool); 5] {
        let failure = Failure {
            kind: FailureKind::Timeout,
            message: "no\nand no",
            type_name: "T",
            details: "d",
            stack_trace: "s",
            expected: Some(""),
            actual: Some("2"),
            location: Some(Location { file: "src/b.py", line: Some(3), column: Some(4) }),
        };
        let skip = |kind| Outcome::Skipped(Skip { kind, reason: "r" });
        [
            (Outcome::Failed(failure), false),
            (Outcome::Passed, true),
            (skip(SkipKind::Todo), false),
            (skip(SkipKind::ExpectedFailure), false),
            (Outcome::NotRun, false),
        ]
    }

    /// Everything a run can hold.
    fn full_run() -> TestRun {
        let moment = Timestamp::parse("2026-03-14T09:26:53.589793238Z");
        record(|recorder| {
            recorder.event(&Event::Tool(Tool {
                framework: "pytest",
                started: moment,
                duration: Some(Duration::from_nanos(7_000_000_001)),
            }));
            let case = full_case();
            for (outcome, again) in full_outcomes() {
                let attempt = Attempt {
                    outcome,
                    duration: Some(Duration::from_nanos(5)),
                    started: moment,
                    stdout: "out\n",
                    stderr: "\u{1b}[31merr",
                };
                recorder.event(&Event::CaseFinished { case, attempt, again });
            }
            recorder.event(&Event::CaseFinished {
                case: Case::default(),
                attempt: Attempt::default(),
                again: false,
            });
            recorder.event(&Event::Suite(Suite {
                package: "p",
                file: "src/z.py",
                lineage: List::from(["z"].as_slice()),
                hostname: "h",
                started: moment,
                duration: Some(Duration::from_secs(1)),
                properties: Pairs::new(FLAT.as_slice()),
                stdout: "o",
                stderr: "e",
            }));
            let error = RunError::new(RunErrorKind::Setup, "m");
            recorder.error(error.with_details("d").in_scope("s"));
            recorder.note(Note::new(NoteKind::Count, "n"));
            recorder.event(&Event::Missing(3));
        })
    }

    fn describe(run: &TestRun) -> Vec<String> {
        let mut lines = vec![format!("{:?} {:?} {}", run.started, run.duration, run.missing)];
        for view in run.cases() {
            let (id, occurrence) = (view.identity(), view.occurrence());
            lines.push(format!("{id} {occurrence} {:?}", view.case()));
            lines.extend(view.attempts().map(|attempt| format!("{attempt:?}")));
        }
        let suites = run.suites();
        lines.extend(suites.map(|(source, suite)| format!("{} {suite:?}", source.framework)));
        lines.extend(run.errors().map(|error| format!("{error:?}")));
        lines.extend(run.notes().map(|note| format!("{note:?}")));
        lines
    }

    #[test]
    fn a_run_is_the_same_after_being_written_and_read() {
        let run = full_run();
        let report = Report {
            run: &run,
            judgement: judge(&run, &Policy::default()),
            totals: Totals::of(&run),
            options: Options::default(),
        };
        let mut bytes = Vec::new();
        Events.render(&report, &mut bytes).unwrap();
        let again = record(|recorder| {
            let mut reader = Reader::new(None);
            reader.feed(&bytes, recorder);
            reader.finish(recorder).unwrap();
        });
        assert_eq!(describe(&again), describe(&run));
    }
}
