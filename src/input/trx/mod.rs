//! TRX, the report of Visual Studio and `dotnet test --logger trx`.
//!
//! Results come first and the definitions that tell their classes last, so results are held back until
//! then. Of a data-driven test the rows are the cases, not the test around them.

mod definition;
mod result;

use std::collections::HashSet;

use super::capped::Capped;
use super::xml::{Handler, Tag, Xml};
use super::{Head, InputFormat, Parser, dotnet, failure, number};
use crate::event::{Event, Sink, Tool};
use crate::model::{Note, NoteKind, RunError, RunErrorKind, Suite, Timestamp};
use definition::Definitions;
use result::{TestResult, Word};

/// TRX.
pub(super) struct Trx;

impl InputFormat for Trx {
    fn name(&self) -> &'static str {
        "trx"
    }

    fn description(&self) -> &'static str {
        "TRX of Visual Studio and dotnet test"
    }

    fn framework(&self) -> &'static str {
        "dotnet"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.root() == Some("TestRun")
            && (head.root_tag().contains("TeamTest") || head.text.contains("UnitTestResult"))
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(TrxParser::default())
    }
}

#[derive(Default)]
struct TrxParser {
    xml: Xml,
    state: State,
}

impl Parser for TrxParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        self.xml.feed(text, &mut self.state, sink);
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.xml.finish(&mut self.state, sink);
        self.state.flush(sink);
        self.state.check_summary(sink);
    }
}

/// How much output of passed tests is held back; beyond that it is dropped.
const MAX_HELD: usize = 64 << 20;

#[derive(Default)]
struct State {
    definitions: Definitions,
    part: Part,
    /// The results that are open: rows stand inside their test.
    open: Vec<Open>,
    held: Vec<TestResult>,
    weight: usize,
    noted_weight: bool,
    hostname: String,
    told: HashSet<String>,
    collecting: Collecting,
    text: Capped,
    in_error: bool,
    run_info: Option<String>,
    totals: Totals,
}

/// Which part of the report is being read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    /// Before the definitions: results are held back.
    #[default]
    Undefined,
    Definitions,
    /// After the definitions: results can be told at once.
    Defined,
}

struct Open {
    result: TestResult,
    inner: u64,
    inner_failures: u64,
}

#[derive(Default)]
struct Totals {
    results: u64,
    /// Results that stand in no other, as the report's own counters see them.
    outermost: u64,
    failures: u64,
    run_errors: u64,
    claimed: Option<u64>,
    claimed_failures: u64,
    summary: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Collecting {
    #[default]
    Nothing,
    Message,
    Trace,
    Stdout,
    Stderr,
    RunInfo,
}

impl Handler for State {
    fn open(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        match tag.name {
            _ if self.part == Part::Definitions => self.definitions.open(tag, sink),
            "TestRun" => self.part = Part::Undefined,
            "Times" => times(tag, sink),
            "TestDefinitions" => self.part = Part::Definitions,
            "ErrorInfo" => self.in_error = true,
            "Message" if self.in_error => self.collect(Collecting::Message),
            "StackTrace" if self.in_error => self.collect(Collecting::Trace),
            "StdOut" | "DebugTrace" | "Message" => self.collect(Collecting::Stdout),
            "StdErr" => self.collect(Collecting::Stderr),
            "ResultFile" => self.result_file(tag, sink),
            "ResultSummary" => {
                self.flush(sink);
                let outcome = tag.get("outcome", sink).unwrap_or_default();
                self.totals.summary = outcome.into_owned();
            }
            "Counters" => self.totals.counters(tag),
            "RunInfo" => {
                let outcome = tag.get("outcome", sink).unwrap_or_default();
                self.run_info = Some(outcome.into_owned());
            }
            "Text" if self.run_info.is_some() => self.collect(Collecting::RunInfo),
            name if is_result(name) => self.open_result(tag, sink),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        self.text.push(text);
    }

    fn wants_text(&self) -> bool {
        self.collecting != Collecting::Nothing
    }

    fn close(&mut self, name: &str, whole: bool, sink: &mut dyn Sink) {
        match name {
            "TestDefinitions" => {
                self.part = Part::Defined;
                self.flush(sink);
            }
            _ if self.part == Part::Definitions => self.definitions.close(name),
            "ErrorInfo" => self.in_error = false,
            "Message" | "StackTrace" | "StdOut" | "DebugTrace" | "StdErr" => self.close_text(),
            "Text" if self.collecting == Collecting::RunInfo => self.close_run_info(sink),
            "RunInfo" => self.run_info = None,
            name if is_result(name) => self.close_result(whole, sink),
            _ => {}
        }
    }
}

/// `UnitTestResult` and its rarer siblings.
fn is_result(name: &str) -> bool {
    matches!(
        name,
        "UnitTestResult"
            | "TestResult"
            | "TestResultAggregation"
            | "GenericTestResult"
            | "ManualTestResult"
            | "WebTestResult"
            | "LoadTestResult"
            | "OrderedTestResult"
    )
}

fn times(tag: &Tag<'_>, sink: &mut dyn Sink) {
    let mut moment = |name| {
        let text = tag.get(name, sink)?;
        Timestamp::parse(&text)
    };
    let (started, finished) = (moment("start"), moment("finish"));
    let duration = started.zip(finished).and_then(|(started, finished)| {
        let nanos = finished.nanos().checked_sub(started.nanos())?;
        u64::try_from(nanos).ok().map(std::time::Duration::from_nanos)
    });
    let framework = Trx.framework();
    sink.event(&Event::Tool(Tool { framework, started, duration }));
}

impl State {
    fn open_result(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let mut result = TestResult::default();
        for (key, value) in tag.attributes() {
            let value = super::xml::unescape(value, sink);
            match key {
                "testName" => result.name = value.into(),
                "testId" => result.test = definition::key(&value),
                "outcome" => result.word = Word::of(&value),
                "duration" => result.duration = number::seconds(&value),
                "startTime" => result.started = Timestamp::parse(&value),
                "computerName" if self.hostname.is_empty() => self.hostname = value.into_owned(),
                _ => {}
            }
        }
        self.collecting = Collecting::Nothing;
        self.in_error = false;
        self.open.push(Open { result, inner: 0, inner_failures: 0 });
    }

    fn close_result(&mut self, whole: bool, sink: &mut dyn Sink) {
        let Some(mut open) = self.open.pop() else {
            return;
        };
        open.result.torn = !whole;
        self.collecting = Collecting::Nothing;
        self.in_error = false;
        let failed = open.result.is_failure();
        if self.open.is_empty() {
            self.totals.outermost += 1;
        }
        // Around rows a test is a case only if it failed for a reason of its own.
        let is_case = open.inner == 0 || (whole && failed && open.inner_failures == 0);
        if let Some(parent) = self.open.last_mut() {
            parent.inner += 1;
            parent.inner_failures += u64::from(failed || open.inner_failures > 0);
        }
        if !is_case {
            return;
        }
        self.totals.results += 1;
        self.totals.failures += u64::from(failed);
        if self.part == Part::Defined {
            return self.emit(&open.result, sink);
        }
        self.hold(open.result, sink);
    }

    fn hold(&mut self, mut result: TestResult, sink: &mut dyn Sink) {
        self.weight += result.weight();
        if self.weight > MAX_HELD && !result.is_failure() {
            self.weight -= result.weight();
            result.texts = None;
            if !self.noted_weight {
                self.noted_weight = true;
                let message = "the output of some passed tests is too long to be kept";
                sink.note(Note::new(NoteKind::Limit, message));
            }
        }
        self.held.push(result);
    }

    fn flush(&mut self, sink: &mut dyn Sink) {
        for result in std::mem::take(&mut self.held) {
            self.emit(&result, sink);
        }
        self.weight = 0;
    }

    fn emit(&mut self, result: &TestResult, sink: &mut dyn Sink) {
        let definition = self.definitions.get(result.test);
        result.emit(&definition, sink);
        if !self.hostname.is_empty()
            && !definition.class.is_empty()
            && !self.told.contains(definition.class)
        {
            self.told.insert(definition.class.to_owned());
            sink.event(&Event::Suite(Suite {
                package: definition.class,
                hostname: &self.hostname,
                ..Suite::default()
            }));
        }
    }

    fn result_file(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let path = tag.get("path", sink).unwrap_or_default();
        if let Some(open) = self.open.last_mut()
            && !path.is_empty()
        {
            let files = &mut open.result.texts().files;
            files.push(dotnet::file_name(&path).to_owned());
            files.push(path.into_owned());
        }
    }

    fn collect(&mut self, what: Collecting) {
        if self.open.is_empty() && what != Collecting::RunInfo {
            return;
        }
        self.text.clear();
        self.collecting = what;
    }

    fn close_text(&mut self) {
        let what = std::mem::take(&mut self.collecting);
        let Some(open) = self.open.last_mut() else {
            return;
        };
        if self.text.is_empty() {
            return;
        }
        let text = self.text.take();
        let texts = open.result.texts();
        match what {
            Collecting::Message => texts.trouble.add_message(&text),
            Collecting::Trace => texts.trouble.add_trace(&text),
            Collecting::Stdout => append(&mut texts.stdout, text),
            Collecting::Stderr => append(&mut texts.stderr, text),
            Collecting::RunInfo | Collecting::Nothing => {}
        }
    }

    /// What the run says about itself. Some of it only repeats that a test failed.
    fn close_run_info(&mut self, sink: &mut dyn Sink) {
        self.collecting = Collecting::Nothing;
        let text = self.text.take();
        let bad =
            matches!(self.run_info.as_deref(), Some("Error" | "Failed" | "Aborted" | "Timeout"));
        let repeats = self.totals.failures > 0
            && (text.trim_end().ends_with("[FAIL]")
                || text.trim_start().starts_with("Exit code indicates failure"));
        if !bad || repeats {
            return;
        }
        let text = crate::text::strip_ansi(&text);
        let kind = if text.contains("crash") || text.contains("abort") {
            RunErrorKind::Crash
        } else if text.contains("timed out") || text.contains("timeout") {
            RunErrorKind::Timeout
        } else {
            RunErrorKind::Load
        };
        self.totals.run_errors += 1;
        let message = failure::first_line(&text).to_owned();
        sink.error(RunError::new(kind, message).with_details(text));
    }

    fn check_summary(&self, sink: &mut dyn Sink) {
        let totals = &self.totals;
        let claims_failure = totals.claimed_failures > 0
            || matches!(
                totals.summary.as_str(),
                "Failed" | "Error" | "Aborted" | "Timeout" | "Disconnected"
            );
        if claims_failure && totals.failures == 0 && totals.run_errors == 0 {
            let message = format!(
                "the report says \"{}\" with {} failures, but none of its tests failed",
                totals.summary, totals.claimed_failures
            );
            sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
        let Some(claimed) = totals.claimed else {
            return;
        };
        if claimed != totals.results && claimed != totals.outermost {
            let message = format!(
                "the report counts {claimed} tests, but has {}; its tests are believed",
                totals.results
            );
            sink.note(Note::new(NoteKind::Count, message));
        }
    }
}

impl Totals {
    fn counters(&mut self, tag: &Tag<'_>) {
        for (key, value) in tag.attributes() {
            let Ok(count) = value.trim().parse::<u64>() else {
                continue;
            };
            match key {
                // Several documents in one file count together.
                "total" => self.claimed = Some(self.claimed.unwrap_or(0).saturating_add(count)),
                "failed" | "error" | "timeout" | "aborted" | "disconnected" => {
                    self.claimed_failures = self.claimed_failures.saturating_add(count);
                }
                _ => {}
            }
        }
    }
}

fn append(text: &mut String, more: String) {
    if text.is_empty() {
        *text = more;
    } else {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&more);
    }
}
