//! The XML of xUnit.net v2 and v3, <https://xunit.net/docs/format-xml-v2>.

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

/// xUnit.net XML.
pub(super) struct XunitNet;

impl InputFormat for XunitNet {
    fn name(&self) -> &'static str {
        "xunit-net"
    }

    fn description(&self) -> &'static str {
        "xUnit.net XML, version 2 and 3"
    }

    fn framework(&self) -> &'static str {
        "xunit"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        match head.root() {
            Some("assemblies") => true,
            Some("assembly") => head.root_tag().contains("test-framework="),
            _ => false,
        }
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(XunitNetParser::default())
    }
}

#[derive(Default)]
struct XunitNetParser {
    xml: Xml,
    state: State,
}

impl Parser for XunitNetParser {
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
    assembly: String,
    collection: String,
    case: CaseState,
    in_case: bool,
    error: Option<BrokenOutside>,
    collecting: Collecting,
    text: Capped,
    announced: bool,
    claimed: Option<u64>,
    claimed_failures: u64,
    cases: u64,
    failures: u64,
    run_errors: u64,
}

/// An `<error>`: something that broke outside of any test.
#[derive(Default)]
struct BrokenOutside {
    kind: String,
    name: String,
    trouble: Trouble,
}

#[derive(Default)]
struct CaseState {
    name: String,
    class: String,
    method: String,
    result: String,
    file: String,
    line: Option<u32>,
    duration: Option<Duration>,
    /// Schema 3 has the duration twice, this one is exact.
    exact: bool,
    started: Option<Timestamp>,
    trouble: Trouble,
    reason: String,
    stdout: String,
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
    Output,
    Warning,
}

impl Handler for State {
    fn open(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        match tag.name {
            "assemblies" => {
                let started = tag.get("start-rtf", sink);
                self.announce(started.as_deref(), sink);
            }
            "assembly" => self.open_assembly(tag, sink),
            "collection" => {
                let name = tag.get("name", sink).unwrap_or_default();
                self.collection = collection_name(&name).to_owned();
            }
            "test" => self.open_case(tag, sink),
            "error" => {
                self.error = Some(BrokenOutside {
                    kind: tag.get("type", sink).unwrap_or_default().into_owned(),
                    name: tag.get("name", sink).unwrap_or_default().into_owned(),
                    trouble: Trouble::default(),
                });
            }
            "failure" => {
                let exception = tag.get("exception-type", sink).unwrap_or_default();
                if let Some(trouble) = self.trouble() {
                    trouble.type_name = exception.into_owned();
                }
            }
            "trait" if self.in_case => self.open_trait(tag, sink),
            "message" => self.collect(Collecting::Message),
            "stack-trace" => self.collect(Collecting::Trace),
            "reason" => self.collect(Collecting::Reason),
            "output" => self.collect(Collecting::Output),
            "warning" => self.collect(Collecting::Warning),
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
            "test" => self.close_case(whole, sink),
            "error" => self.close_error(sink),
            "collection" => self.collection.clear(),
            "message" | "stack-trace" | "reason" | "output" | "warning" => self.close_text(),
            _ => {}
        }
    }
}

impl State {
    fn announce(&mut self, started: Option<&str>, sink: &mut dyn Sink) {
        if std::mem::replace(&mut self.announced, true) {
            return;
        }
        sink.event(&Event::Tool(Tool {
            framework: XunitNet.framework(),
            started: started.and_then(Timestamp::parse),
            duration: None,
        }));
    }

    fn open_assembly(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        for (key, value) in tag.attributes() {
            let value = unescape(value, sink);
            let count = || value.trim().parse::<u64>().ok();
            match key {
                "name" => dotnet::file_name(&value).clone_into(&mut self.assembly),
                "total" => {
                    let so_far = self.claimed.unwrap_or(0);
                    self.claimed = count().map(|count| so_far.saturating_add(count));
                }
                "failed" | "errors" => {
                    let so_far = self.claimed_failures;
                    self.claimed_failures = so_far.saturating_add(count().unwrap_or(0));
                }
                _ => {}
            }
        }
        let started = match (tag.get("run-date", sink), tag.get("run-time", sink)) {
            (Some(date), Some(time)) => Some(format!("{date}T{time}")),
            _ => None,
        };
        self.announce(started.as_deref(), sink);
    }

    fn open_case(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let mut case = CaseState::default();
        for (key, value) in tag.attributes() {
            let value = unescape(value, sink);
            match key {
                "name" => case.name = value.into_owned(),
                "type" => case.class = value.into_owned(),
                "method" => case.method = value.into_owned(),
                "result" => case.result = value.into_owned(),
                "source-file" => case.file = value.into_owned(),
                "source-line" => case.line = number::line(&value),
                "time" if !case.exact => case.duration = number::seconds(&value),
                "time-rtf" => {
                    case.duration = number::seconds(&value).or(case.duration);
                    case.exact = true;
                }
                "start-rtf" => case.started = Timestamp::parse(&value),
                _ => {}
            }
        }
        self.case = case;
        self.in_case = true;
        self.collecting = Collecting::Nothing;
    }

    fn close_case(&mut self, whole: bool, sink: &mut dyn Sink) {
        if !std::mem::take(&mut self.in_case) {
            return;
        }
        self.collecting = Collecting::Nothing;
        let case = &self.case;
        let outcome = case.outcome(whole);
        let failed = matches!(outcome, Outcome::Failed(_));
        let (class, name) = match case.class.as_str() {
            "" => dotnet::split_class(&case.name),
            class => (class, dotnet::without_class(&case.name, class)),
        };
        let (name, parameters) = dotnet::split_parameters(name, &case.method);
        // A collection of one class is named after it.
        let lineage = match self.collection.as_str() {
            "" => vec![],
            name if name == class => vec![],
            name => vec![name],
        };
        let reported = Case {
            id: CaseId {
                package: if class.is_empty() { &self.assembly } else { class },
                file: &case.file,
                suite: List::from(&lineage),
                name,
                parameters,
            },
            line: case.line,
            tags: List::from(&case.tags),
            properties: Pairs::new(&case.properties),
            attachments: Pairs::default(),
        };
        let attempt = Attempt {
            outcome,
            duration: case.duration,
            started: case.started,
            stdout: &case.stdout,
            stderr: "",
        };
        sink.event(&Event::CaseFinished { case: reported, attempt, again: false });
        self.cases += 1;
        self.failures += u64::from(failed);
    }

    fn close_error(&mut self, sink: &mut dyn Sink) {
        let Some(broken) = self.error.take() else {
            return;
        };
        self.run_errors += 1;
        let failure = broken.trouble.failure(FailureKind::Error, &broken.kind);
        let scope =
            if broken.name.is_empty() { &self.assembly } else { dotnet::file_name(&broken.name) };
        let message = if broken.kind.is_empty() {
            failure.message.to_owned()
        } else {
            format!("{}: {}", broken.kind, failure.message)
        };
        let details = format!("{}\n{}", failure.message, failure.stack_trace);
        let error = RunError::new(RunErrorKind::Setup, message).with_details(details.trim_end());
        sink.error(error.in_scope(scope));
    }

    fn open_trait(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let name = tag.get("name", sink).unwrap_or_default().into_owned();
        let value = tag.get("value", sink).unwrap_or_default().into_owned();
        if name.eq_ignore_ascii_case("category") {
            self.case.tags.push(value);
        } else {
            self.case.properties.extend([name, value]);
        }
    }

    fn trouble(&mut self) -> Option<&mut Trouble> {
        match &mut self.error {
            Some(broken) => Some(&mut broken.trouble),
            None if self.in_case => Some(&mut self.case.trouble),
            None => None,
        }
    }

    fn collect(&mut self, what: Collecting) {
        self.text.clear();
        self.collecting = what;
    }

    fn close_text(&mut self) {
        let what = std::mem::take(&mut self.collecting);
        let text = self.text.take();
        match what {
            Collecting::Message | Collecting::Trace => {
                let Some(trouble) = self.trouble() else {
                    return;
                };
                if what == Collecting::Message {
                    trouble.add_message(&text);
                } else {
                    trouble.add_trace(&text);
                }
            }
            _ if !self.in_case => {}
            Collecting::Reason => text.trim().clone_into(&mut self.case.reason),
            Collecting::Output => self.case.stdout.push_str(&text),
            Collecting::Warning => self.case.properties.extend(["warning".to_owned(), text]),
            Collecting::Nothing => {}
        }
    }

    fn check(&self, sink: &mut dyn Sink) {
        if self.claimed_failures > 0 && self.failures == 0 && self.run_errors == 0 {
            let message = format!(
                "the report counts {} failures, but none of its tests failed",
                self.claimed_failures
            );
            sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
        if let Some(total) = self.claimed
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

/// A collection's name, without what xUnit.net adds if nobody named it.
fn collection_name(name: &str) -> &str {
    let Some(class) = name.strip_prefix("Test collection for ") else {
        return name;
    };
    class.split_once(" (id: ").map_or(class, |(class, _)| class)
}

impl CaseState {
    fn outcome(&self, whole: bool) -> Outcome<'_> {
        let fallback = "failed, and the report does not say why";
        match self.result.as_str() {
            "Pass" if whole => Outcome::Passed,
            "Pass" => Outcome::Failed(Failure {
                kind: FailureKind::Crash,
                message: "the report ends before this case does",
                ..Failure::default()
            }),
            "Skip" => Outcome::Skipped(Skip { kind: SkipKind::Skipped, reason: &self.reason }),
            // Explicit tests that nobody asked for.
            "NotRun" => Outcome::Skipped(Skip { kind: SkipKind::Disabled, reason: &self.reason }),
            "Fail" if self.trouble.type_name.ends_with("TestTimeoutException") => {
                Outcome::Failed(self.trouble.failure(FailureKind::Timeout, fallback))
            }
            "Fail" => Outcome::Failed(self.trouble.failure(FailureKind::Failure, fallback)),
            _ => {
                let fallback = "the test has no result that is known";
                Outcome::Failed(self.trouble.failure(FailureKind::Error, fallback))
            }
        }
    }
}
