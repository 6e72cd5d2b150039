//! The XML of `NUnit` 2 (root `test-results`), which other tools still write.
//!
//! A case's name holds its class; suites have no class of their own.

use std::time::Duration;

use super::capped::Capped;
use super::dotnet::{self, Trouble};
use super::xml::{Handler, Tag, Xml, unescape};
use super::{Head, InputFormat, Parser, number};
use crate::event::{Event, Sink, Tool};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Note, NoteKind, Outcome, Pairs, RunError,
    RunErrorKind, Skip, SkipKind, Timestamp,
};

/// `NUnit` 2 XML.
pub(super) struct Nunit2;

impl InputFormat for Nunit2 {
    fn name(&self) -> &'static str {
        "nunit2"
    }

    fn description(&self) -> &'static str {
        "NUnit 2 XML"
    }

    fn framework(&self) -> &'static str {
        "nunit"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.root() == Some("test-results")
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(Nunit2Parser::default())
    }
}

#[derive(Default)]
struct Nunit2Parser {
    xml: Xml,
    state: State,
}

impl Parser for Nunit2Parser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        self.xml.feed(text, &mut self.state, sink);
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.xml.finish(&mut self.state, sink);
        self.state.check(sink);
    }
}

#[derive(Default)]
struct State {
    suites: Vec<Open>,
    lineage: Vec<String>,
    case: CaseState,
    in_case: bool,
    collecting: Collecting,
    text: Capped,
    in_reason: bool,
    claimed: Claims,
    failures: u64,
    run_errors: u64,
    executed: u64,
}

/// What the report counts.
#[derive(Default)]
struct Claims {
    total: Option<u64>,
    failures: u64,
}

/// A suite that is open.
#[derive(Default)]
struct Open {
    named: bool,
    is_assembly: bool,
    name: String,
    result: String,
    tags: Vec<String>,
    trouble: Trouble,
    failures: u64,
}

#[derive(Default)]
struct CaseState {
    name: String,
    result: String,
    executed: String,
    success: String,
    duration: Option<Duration>,
    trouble: Trouble,
    reason: String,
    tags: Vec<String>,
    properties: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Collecting {
    #[default]
    Nothing,
    Message,
    Trace,
    Reason,
}

impl Handler for State {
    fn open(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        match tag.name {
            "test-results" => self.open_root(tag, sink),
            "test-suite" => self.open_suite(tag, sink),
            "test-case" => self.open_case(tag, sink),
            "category" => {
                let name = tag.get("name", sink).unwrap_or_default().into_owned();
                match (self.in_case, self.suites.last_mut()) {
                    (true, _) => self.case.tags.push(name),
                    (false, Some(suite)) => suite.tags.push(name),
                    (false, None) => {}
                }
            }
            "property" if self.in_case => {
                for key in ["name", "value"] {
                    let text = tag.get(key, sink).unwrap_or_default().into_owned();
                    self.case.properties.push(text);
                }
            }
            "reason" => self.in_reason = true,
            "message" if self.in_reason => self.collect(Collecting::Reason),
            "message" => self.collect(Collecting::Message),
            "stack-trace" => self.collect(Collecting::Trace),
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
            "reason" => self.in_reason = false,
            "message" | "stack-trace" => self.close_text(),
            _ => {}
        }
    }
}

impl State {
    fn open_root(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let (mut date, mut time) = (String::new(), String::new());
        for (key, value) in tag.attributes() {
            let count = || value.trim().parse::<u64>().ok();
            match key {
                "date" => value.clone_into(&mut date),
                "time" => value.clone_into(&mut time),
                "total" => self.claimed.total = count(),
                "errors" | "failures" => {
                    let claimed = self.claimed.failures;
                    self.claimed.failures = claimed.saturating_add(count().unwrap_or(0));
                }
                _ => {}
            }
        }
        sink.event(&Event::Tool(Tool {
            framework: Nunit2.framework(),
            started: Timestamp::parse(&format!("{date}T{time}")),
            duration: None,
        }));
    }

    fn open_suite(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let mut suite = Open::default();
        let mut typed = false;
        for (key, value) in tag.attributes() {
            let value = unescape(value, sink);
            match key {
                "name" => suite.name = value.into_owned(),
                "result" => suite.result = value.into_owned(),
                "type" => {
                    typed = true;
                    suite.is_assembly = matches!(&*value, "Assembly" | "Project" | "Test Project");
                }
                _ => {}
            }
        }
        // Before 2.5 suites have no type, and the assembly is just a path.
        suite.is_assembly |= !typed && suite.name.contains(['/', '\\']);
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
        let bad =
            matches!(suite.result.as_str(), "Error" | "Failure" | "NotRunnable" | "Cancelled");
        let mut failures = suite.failures;
        if bad && failures == 0 && whole {
            failures = 1;
            self.run_errors += 1;
            let fallback = "the suite failed, and the report does not say why";
            let failure = suite.trouble.failure(FailureKind::Error, fallback);
            let details = format!("{}\n{}", failure.message, failure.stack_trace);
            let error = RunError::new(RunErrorKind::Setup, failure.message)
                .with_details(details.trim_end())
                .in_scope(self.scope(&suite));
            sink.error(error);
        }
        if let Some(parent) = self.suites.last_mut() {
            parent.failures += failures;
        }
        if suite.named {
            self.lineage.pop();
        }
    }

    fn scope(&self, suite: &Open) -> String {
        if suite.is_assembly {
            dotnet::file_name(&suite.name).to_owned()
        } else {
            self.lineage.join(".")
        }
    }

    fn open_case(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let mut case = CaseState::default();
        for (key, value) in tag.attributes() {
            let value = unescape(value, sink);
            match key {
                "name" => case.name = value.into_owned(),
                "result" => case.result = value.into_owned(),
                "executed" => case.executed = value.into_owned(),
                "success" => case.success = value.into_owned(),
                "time" => case.duration = number::seconds(&value),
                _ => {}
            }
        }
        self.case = case;
        self.in_case = true;
        self.in_reason = false;
        self.collecting = Collecting::Nothing;
    }

    fn close_case(&mut self, whole: bool, sink: &mut dyn Sink) {
        if !std::mem::take(&mut self.in_case) {
            return;
        }
        self.collecting = Collecting::Nothing;
        self.inherit_trouble();
        let failed = self.emit(whole, sink);
        self.executed += u64::from(!self.case.executed.eq_ignore_ascii_case("false"));
        self.failures += u64::from(failed);
        if let Some(suite) = self.suites.last_mut() {
            suite.failures += u64::from(failed);
        }
    }

    /// Where the fixture's set-up failed, only the fixture has the trace.
    fn inherit_trouble(&mut self) {
        if self.case.trouble.message.starts_with("TestFixtureSetUp failed")
            && let Some(suite) = self.suites.last()
        {
            self.case.trouble.add_message(&suite.trouble.message);
            self.case.trouble.add_trace(&suite.trouble.trace);
        }
    }

    /// Says what became of the case, and whether it failed.
    fn emit(&self, whole: bool, sink: &mut dyn Sink) -> bool {
        let outcome = self.case.outcome(whole);
        let failed = matches!(outcome, Outcome::Failed(_));
        // The names of namespaces and fixture make up the class.
        let class = self.class();
        let (class, name) = match dotnet::without_class(&self.case.name, &class) {
            rest if rest.len() < self.case.name.len() => (class.as_str(), rest),
            _ => dotnet::split_class(&self.case.name),
        };
        let method = self.lineage.last().map_or("", String::as_str);
        let (name, parameters) = dotnet::split_parameters(name, method);
        let assembly = self.suites.iter().rev().find(|suite| suite.is_assembly);
        let package = match class {
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
            attachments: Pairs::default(),
        };
        let attempt = Attempt { outcome, duration: self.case.duration, ..Attempt::default() };
        sink.event(&Event::CaseFinished { case, attempt, again: false });
        failed
    }

    /// The longest run of suite names that the case's name starts with.
    fn class(&self) -> String {
        let mut class = String::new();
        for name in &self.lineage {
            let longer = if class.is_empty() { name.clone() } else { format!("{class}.{name}") };
            let fits = self.case.name.strip_prefix(&longer);
            if fits.is_some_and(|rest| rest.starts_with('.')) {
                class = longer;
            }
        }
        class
    }

    fn collect(&mut self, what: Collecting) {
        self.text.clear();
        self.collecting = what;
    }

    fn close_text(&mut self) {
        let what = std::mem::take(&mut self.collecting);
        let text = self.text.take();
        let trouble = match (self.in_case, self.suites.last_mut()) {
            (true, _) => &mut self.case.trouble,
            (false, Some(suite)) => &mut suite.trouble,
            (false, None) => return,
        };
        match what {
            Collecting::Trace => trouble.add_trace(&text),
            Collecting::Reason if self.in_case => text.trim().clone_into(&mut self.case.reason),
            Collecting::Message | Collecting::Reason => trouble.add_message(&text),
            Collecting::Nothing => {}
        }
    }

    fn check(&self, sink: &mut dyn Sink) {
        if self.claimed.failures > 0 && self.failures == 0 && self.run_errors == 0 {
            let message = format!(
                "the report counts {} failures, but none of its tests failed",
                self.claimed.failures
            );
            sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
        if let Some(total) = self.claimed.total
            && total != self.executed
        {
            let message = format!(
                "the report counts {total} tests that ran, but has {}; its tests are believed",
                self.executed
            );
            sink.note(Note::new(NoteKind::Count, message));
        }
    }
}

impl CaseState {
    fn outcome(&self, whole: bool) -> Outcome<'_> {
        let skipped = |reason| {
            let kind = SkipKind::Skipped;
            Outcome::Skipped(Skip { kind, reason })
        };
        match self.word() {
            "Success" if whole => Outcome::Passed,
            "Success" => Outcome::Failed(Failure {
                kind: FailureKind::Crash,
                message: "the report ends before this case does",
                ..Failure::default()
            }),
            "Inconclusive" if self.reason.is_empty() => skipped("Inconclusive"),
            "Ignored" | "Skipped" | "Inconclusive" => skipped(&self.reason),
            "Failure" => self.failed(FailureKind::Failure),
            "Cancelled" => self.failed(FailureKind::Crash),
            _ => self.failed(FailureKind::Error),
        }
    }

    /// The result, which versions before 2.5 tell by `executed` and `success` alone.
    fn word(&self) -> &str {
        if !self.result.is_empty() {
            return &self.result;
        }
        if self.executed.eq_ignore_ascii_case("false") {
            return "Ignored";
        }
        if self.success.eq_ignore_ascii_case("true") {
            return "Success";
        }
        "Failure"
    }

    fn failed(&self, kind: FailureKind) -> Outcome<'_> {
        let fallback = if self.reason.is_empty() {
            "failed, and the report does not say why"
        } else {
            &self.reason
        };
        Outcome::Failed(self.trouble.failure(kind, fallback))
    }
}
