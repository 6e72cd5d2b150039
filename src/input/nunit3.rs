//! The XML of `NUnit` 3 and 4, <https://docs.nunit.org/articles/nunit/technical-notes/usage/Test-Result-XML-Format.html>.
//!
//! Suites nest from the assembly down to parameterized methods. A suite fails when a case in it does,
//! so a suite's own failure counts only if it broke before or after its cases.

use std::time::Duration;

use super::capped::Capped;
use super::dotnet::{self, Trouble};
use super::xml::{Handler, Tag, Xml, unescape};
use super::{Head, InputFormat, Parser, number};
use crate::event::{Event, Sink, Tool};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Note, NoteKind, Outcome, Pairs, RunError,
    RunErrorKind, Skip, SkipKind, Suite, Timestamp,
};

/// `NUnit` 3 XML.
pub(super) struct Nunit3;

impl InputFormat for Nunit3 {
    fn name(&self) -> &'static str {
        "nunit3"
    }

    fn description(&self) -> &'static str {
        "NUnit 3 XML (also of NUnit 4)"
    }

    fn framework(&self) -> &'static str {
        "nunit"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.root() == Some("test-run")
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(Nunit3Parser::default())
    }
}

#[derive(Default)]
struct Nunit3Parser {
    xml: Xml,
    state: State,
}

impl Parser for Nunit3Parser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        self.xml.feed(text, &mut self.state, sink);
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.xml.finish(&mut self.state, sink);
        self.state.check_run(sink);
    }
}

#[derive(Default)]
struct State {
    suites: Vec<Open>,
    lineage: Vec<String>,
    case: CaseState,
    in_case: bool,
    hostname: String,
    collecting: Collecting,
    text: Capped,
    /// Inside `<assertions>`, which repeat what `<failure>` says.
    in_assertions: bool,
    in_reason: bool,
    attachment: (String, String),
    run: Claims,
    cases: u64,
    failures: u64,
    run_errors: u64,
}

/// A suite that is open.
#[derive(Default)]
struct Open {
    named: bool,
    is_assembly: bool,
    name: String,
    class: String,
    result: String,
    label: String,
    site: String,
    started: Option<Timestamp>,
    duration: Option<Duration>,
    properties: Vec<String>,
    tags: Vec<String>,
    trouble: Trouble,
    reason: String,
    stdout: String,
    /// Failures of cases and suites inside.
    failures: u64,
}

/// What the run as a whole says of itself.
#[derive(Default)]
struct Claims {
    result: String,
    total: Option<u64>,
    failed: u64,
}

#[derive(Default)]
struct CaseState {
    name: String,
    method: String,
    class: String,
    result: String,
    label: String,
    site: String,
    started: Option<Timestamp>,
    duration: Option<Duration>,
    trouble: Trouble,
    reason: String,
    stdout: String,
    tags: Vec<String>,
    properties: Vec<String>,
    attachments: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Collecting {
    #[default]
    Nothing,
    Message,
    Trace,
    Reason,
    Output,
    FilePath,
    Description,
}

impl Handler for State {
    fn open(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        match tag.name {
            "test-run" => self.open_run(tag, sink),
            "test-suite" => self.open_suite(tag, sink),
            "test-case" => self.open_case(tag, sink),
            "environment" => {
                if let Some(name) = tag.get("machine-name", sink) {
                    self.hostname = name.into_owned();
                }
            }
            "property" => self.property(tag, sink),
            "assertions" => self.in_assertions = true,
            _ if self.in_assertions => {}
            "reason" => self.in_reason = true,
            "message" if self.in_reason => self.collect(Collecting::Reason),
            "message" => self.collect(Collecting::Message),
            "stack-trace" => self.collect(Collecting::Trace),
            "output" => self.collect(Collecting::Output),
            "attachment" => self.attachment = Default::default(),
            "filePath" => self.collect(Collecting::FilePath),
            "description" => self.collect(Collecting::Description),
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
            "test-suite" => self.close_suite(whole, sink),
            "test-case" => self.close_case(whole, sink),
            "assertions" => self.in_assertions = false,
            _ if self.in_assertions => {}
            "reason" => self.in_reason = false,
            "message" | "stack-trace" | "output" | "filePath" | "description" => self.close_text(),
            "attachment" => {
                let (path, description) = std::mem::take(&mut self.attachment);
                if self.in_case && !path.is_empty() {
                    let name = if description.is_empty() {
                        dotnet::file_name(&path).to_owned()
                    } else {
                        description
                    };
                    self.case.attachments.extend([name, path]);
                }
            }
            _ => {}
        }
    }
}

impl State {
    fn open_run(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let mut tool = Tool { framework: Nunit3.framework(), ..Tool::default() };
        for (key, value) in tag.attributes() {
            let value = unescape(value, sink);
            let count = || value.trim().parse::<u64>().ok();
            match key {
                "start-time" => tool.started = Timestamp::parse(&value),
                "duration" => tool.duration = number::seconds(&value),
                "result" => self.run.result = value.into_owned(),
                "total" => self.run.total = count(),
                "failed" => self.run.failed = count().unwrap_or(0),
                _ => {}
            }
        }
        sink.event(&Event::Tool(tool));
    }

    fn open_suite(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let mut suite = Open::default();
        for (key, value) in tag.attributes() {
            let value = unescape(value, sink);
            match key {
                "name" => suite.name = value.into_owned(),
                "classname" => suite.class = value.into_owned(),
                "type" => suite.is_assembly = is_assembly(&value),
                "result" => suite.result = value.into_owned(),
                "label" => suite.label = value.into_owned(),
                "site" => suite.site = value.into_owned(),
                "start-time" => suite.started = Timestamp::parse(&value),
                "duration" => suite.duration = number::seconds(&value),
                _ => {}
            }
        }
        suite.named = !suite.is_assembly && !suite.name.is_empty();
        if suite.named {
            self.lineage.push(suite.name.clone());
        }
        self.suites.push(suite);
    }

    fn close_suite(&mut self, whole: bool, sink: &mut dyn Sink) {
        let Some(suite) = self.suites.pop() else {
            return;
        };
        let failures = suite.failures + u64::from(self.report_suite(&suite, whole, sink));
        if let Some(parent) = self.suites.last_mut() {
            parent.failures += failures;
        }
        self.tell(&suite, sink);
        if suite.named {
            self.lineage.pop();
        }
    }

    /// Says so if a suite failed by itself. Where its set-up failed, its cases tell already.
    fn report_suite(&mut self, suite: &Open, whole: bool, sink: &mut dyn Sink) -> bool {
        let failed = suite.result == "Failed";
        let own = failed && (suite.site == "TearDown" || (suite.failures == 0 && whole));
        if !own {
            return false;
        }
        let fallback = if suite.reason.is_empty() {
            "the suite failed, and the report does not say why"
        } else {
            &suite.reason
        };
        let kind = if suite.label == "Invalid" { RunErrorKind::Load } else { RunErrorKind::Setup };
        let failure = suite.trouble.failure(FailureKind::Error, fallback);
        let details = format!("{}\n{}", failure.message, failure.stack_trace);
        let scope = if suite.class.is_empty() { &suite.name } else { &suite.class };
        self.run_errors += 1;
        let error = RunError::new(kind, failure.message).with_details(details.trim_end());
        sink.error(error.in_scope(dotnet::file_name(scope)));
        true
    }

    fn tell(&self, suite: &Open, sink: &mut dyn Sink) {
        // Only suites that hold cases are known by their class.
        if suite.class.is_empty() {
            return;
        }
        sink.event(&Event::Suite(Suite {
            package: &suite.class,
            lineage: List::from(&self.lineage),
            hostname: &self.hostname,
            started: suite.started,
            duration: suite.duration,
            properties: Pairs::new(&suite.properties),
            stdout: &suite.stdout,
            ..Suite::default()
        }));
    }

    fn open_case(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let mut case = CaseState::default();
        for (key, value) in tag.attributes() {
            let value = unescape(value, sink);
            match key {
                "name" => case.name = value.into_owned(),
                "methodname" => case.method = value.into_owned(),
                "classname" => case.class = value.into_owned(),
                "result" => case.result = value.into_owned(),
                "label" => case.label = value.into_owned(),
                "site" => case.site = value.into_owned(),
                "start-time" => case.started = Timestamp::parse(&value),
                "duration" => case.duration = number::seconds(&value),
                _ => {}
            }
        }
        self.case = case;
        self.in_case = true;
        self.in_assertions = false;
        self.in_reason = false;
        self.collecting = Collecting::Nothing;
    }

    fn close_case(&mut self, whole: bool, sink: &mut dyn Sink) {
        if !std::mem::take(&mut self.in_case) {
            return;
        }
        self.collecting = Collecting::Nothing;
        // A case that failed with its fixture has no trace of its own.
        if self.case.site == "Parent"
            && self.case.trouble.trace.is_empty()
            && let Some(suite) = self.suites.last()
        {
            self.case.trouble.add_trace(&suite.trouble.trace);
        }
        let outcome = self.case.outcome(whole);
        let failed = matches!(outcome, Outcome::Failed(_));
        let (name, parameters) = dotnet::split_parameters(&self.case.name, &self.case.method);
        let assembly = self.suites.iter().rev().find(|suite| suite.is_assembly);
        let package = match self.case.class.as_str() {
            "" => assembly.map_or("", |suite| dotnet::file_name(&suite.name)),
            class => class,
        };
        let tags: Vec<&str> = self
            .suites
            .iter()
            .flat_map(|suite| &suite.tags)
            .chain(&self.case.tags)
            .map(String::as_str)
            .collect();
        let case = Case {
            id: CaseId { package, file: "", suite: List::from(&self.lineage), name, parameters },
            line: None,
            tags: List::from(&tags),
            properties: Pairs::new(&self.case.properties),
            attachments: Pairs::new(&self.case.attachments),
        };
        let attempt = Attempt {
            outcome,
            duration: self.case.duration,
            started: self.case.started,
            stdout: &self.case.stdout,
            stderr: "",
        };
        sink.event(&Event::CaseFinished { case, attempt, again: false });
        self.cases += 1;
        self.failures += u64::from(failed);
        if let Some(suite) = self.suites.last_mut() {
            suite.failures += u64::from(failed);
        }
    }

    fn property(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let name = tag.get("name", sink).unwrap_or_default();
        let value = tag.get("value", sink).unwrap_or_default();
        let (tags, properties) = match (self.in_case, self.suites.last_mut()) {
            (true, _) => (&mut self.case.tags, &mut self.case.properties),
            (false, Some(suite)) => (&mut suite.tags, &mut suite.properties),
            (false, None) => return,
        };
        match &*name {
            "Category" => tags.push(value.into_owned()),
            // The reason of a skip stands in an element of its own.
            "_SKIPREASON" => {}
            _ => properties.extend([name.into_owned(), value.into_owned()]),
        }
    }

    fn collect(&mut self, what: Collecting) {
        self.text.clear();
        self.collecting = what;
    }

    fn close_text(&mut self) {
        let what = std::mem::take(&mut self.collecting);
        let text = self.text.take();
        let (trouble, reason, stdout) = match (self.in_case, self.suites.last_mut()) {
            (true, _) => (&mut self.case.trouble, &mut self.case.reason, &mut self.case.stdout),
            (false, Some(suite)) => (&mut suite.trouble, &mut suite.reason, &mut suite.stdout),
            (false, None) => return,
        };
        match what {
            Collecting::Message => trouble.add_message(&text),
            Collecting::Trace => trouble.add_trace(&text),
            Collecting::Reason => text.trim().clone_into(reason),
            Collecting::Output => stdout.push_str(&text),
            Collecting::FilePath => text.trim().clone_into(&mut self.attachment.0),
            Collecting::Description => text.trim().clone_into(&mut self.attachment.1),
            Collecting::Nothing => {}
        }
    }

    fn check_run(&self, sink: &mut dyn Sink) {
        let claims_failure = self.run.failed > 0 || self.run.result == "Failed";
        if claims_failure && self.failures == 0 && self.run_errors == 0 {
            let message = "the report says that it failed, but none of its tests did";
            sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
        if let Some(total) = self.run.total
            && total != self.cases
        {
            let message = format!(
                "the report counts {total} tests, but has {}; its tests are believed",
                self.cases
            );
            sink.note(Note::new(NoteKind::Count, message));
        }
    }
}

/// Whether a suite of this type is a file rather than a part of a case's name.
fn is_assembly(kind: &str) -> bool {
    matches!(kind, "Assembly" | "Project" | "Test Project" | "Unknown")
}

impl CaseState {
    fn outcome(&self, whole: bool) -> Outcome<'_> {
        let skipped = |kind, reason| Outcome::Skipped(Skip { kind, reason });
        match (self.result.as_str(), self.label.as_str()) {
            ("Passed" | "Warning", _) if whole => Outcome::Passed,
            ("Passed" | "Warning", _) => Outcome::Failed(Failure {
                kind: FailureKind::Crash,
                message: "the report ends before this case does",
                ..Failure::default()
            }),
            ("Skipped", "Explicit") if self.reason.is_empty() => {
                skipped(SkipKind::Disabled, "Explicit")
            }
            ("Skipped", "Explicit") => skipped(SkipKind::Disabled, &self.reason),
            ("Inconclusive", _) if self.reason.is_empty() => {
                skipped(SkipKind::Skipped, "Inconclusive")
            }
            ("Skipped" | "Inconclusive", _) => skipped(SkipKind::Skipped, &self.reason),
            ("Failed", "") => self.failed(FailureKind::Failure),
            ("Failed", "Cancelled") => self.failed(FailureKind::Crash),
            ("Failed", label) if label.contains("imeout") => self.failed(FailureKind::Timeout),
            // An error, an invalid test, and results that are not known.
            _ => self.failed(FailureKind::Error),
        }
    }

    fn failed(&self, kind: FailureKind) -> Outcome<'_> {
        let fallback = [&self.reason, &self.label]
            .into_iter()
            .find(|text| !text.is_empty())
            .map_or("failed, and the report does not say why", String::as_str);
        Outcome::Failed(self.trouble.failure(kind, fallback))
    }
}
