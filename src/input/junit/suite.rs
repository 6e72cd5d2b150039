//! Suites of a JUnit report: lineage, attributes, output, and the counts that may lie.

use std::time::Duration;

use super::{own, tool_event};
use crate::event::{Event, Sink, Tool};
use crate::input::number;
use crate::input::xml::Tag;
use crate::model::{List, Note, NoteKind, Pairs, RunError, RunErrorKind, Suite, Timestamp};

/// The suites that are open, outermost first.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the report")]
pub(super) struct Suites {
    open: Vec<Open>,
    lineage: Vec<String>,
    announced: bool,
    noted_counts: bool,
    /// The failures and errors that the root counts.
    root_claims: u64,
    /// Whether anything that is shown failed.
    any_failed: bool,
    /// Output and properties outside of any suite are passed over.
    stray_properties: Vec<String>,
    stray_output: String,
    pub(super) is_pytest: bool,
    /// The framework of the suites that testexec wrote, and how often it changed.
    framework: String,
    frameworks: u32,
}

#[derive(Default)]
struct Open {
    named: bool,
    /// The package, where testexec wrote the suite.
    own: Option<String>,
    file: String,
    hostname: String,
    started: Option<Timestamp>,
    duration: Option<Duration>,
    properties: Vec<String>,
    stdout: String,
    stderr: String,
    claimed: Option<u64>,
    claimed_failures: u64,
    claimed_errors: u64,
    cases: u64,
    /// Failed cases and what failed outside of them.
    failures: u64,
    /// Failure elements; a case may have several.
    failure_elements: u64,
    /// Error elements, and those of attempts that some tools count among them.
    error_elements: u64,
    depth_of_names: usize,
}

impl Suites {
    /// Says which tool made the report, before its first case.
    pub(super) fn announce(&mut self, name: &str, sink: &mut dyn Sink) {
        if !self.announced {
            self.announced = true;
            self.is_pytest = matches!(name, "pytest" | "pytest tests");
            tool_event(name, sink);
        }
    }

    pub(super) fn open_root(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        for (key, value) in tag.attributes() {
            if key == "failures" || key == "errors" {
                let claimed = self.count(&tag.decode(value, sink), sink);
                self.root_claims = self.root_claims.saturating_add(claimed);
            }
        }
        let name = tag.get("name", sink).unwrap_or_default();
        // pytest 8 names its root, older ones only their suite.
        if !name.is_empty() {
            self.announce(&name, sink);
        }
        if name == "testexec" {
            let time = tag.get("time", sink);
            let started = tag.get("timestamp", sink);
            sink.event(&Event::Tool(Tool {
                framework: "",
                started: started.as_deref().and_then(Timestamp::parse),
                duration: time.as_deref().and_then(number::seconds),
            }));
        }
    }

    /// Whether testexec wrote the innermost suite.
    pub(super) fn is_own(&self) -> bool {
        self.open.last().is_some_and(|suite| suite.own.is_some())
    }

    /// The package and the file of a suite that testexec wrote.
    pub(super) fn own_home(&self) -> (&str, &str) {
        self.open
            .last()
            .map_or(("", ""), |suite| (suite.own.as_deref().unwrap_or_default(), &suite.file))
    }

    /// Keeps a property of the innermost suite that testexec wrote, or gives back the name of another.
    pub(super) fn take_own<'n>(
        &mut self,
        name: &'n str,
        value: &str,
        sink: &mut dyn Sink,
    ) -> Option<&'n str> {
        let Some(suite) = self.open.last_mut() else {
            return Some(name);
        };
        let Some(fact) = name.strip_prefix(own::PREFIX) else {
            return Some(name);
        };
        match (fact, &mut suite.own) {
            ("framework", None) => {
                suite.own = Some(String::new());
                self.lineage.truncate(suite.depth_of_names);
                self.hear_framework(value, sink);
            }
            ("suite", Some(_)) => self.lineage.push(value.to_owned()),
            ("package", Some(package)) => value.clone_into(package),
            ("file", Some(_)) => value.clone_into(&mut suite.file),
            (_, Some(_)) => return fact.strip_prefix("property."),
            (_, None) => return Some(name),
        }
        None
    }

    /// Cases that follow are of this framework.
    fn hear_framework(&mut self, framework: &str, sink: &mut dyn Sink) {
        if framework.is_empty() || framework == self.framework {
            return;
        }
        self.frameworks += 1;
        framework.clone_into(&mut self.framework);
        sink.event(&Event::Tool(Tool { framework, ..Tool::default() }));
    }

    pub(super) fn open(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let mut suite = Open { depth_of_names: self.lineage.len(), ..Open::default() };
        let mut name = String::new();
        for (key, value) in tag.attributes() {
            let value = tag.decode(value, sink);
            match key {
                "name" => name = value.into_owned(),
                "file" | "filepath" => suite.file = value.into_owned(),
                "hostname" => suite.hostname = value.into_owned(),
                "timestamp" => suite.started = Timestamp::parse(&value),
                "time" => suite.duration = number::seconds(&value),
                "tests" => suite.claimed = Some(self.count(&value, sink)),
                "failures" => suite.claimed_failures = self.count(&value, sink),
                "errors" => suite.claimed_errors = self.count(&value, sink),
                _ => {}
            }
        }
        self.announce(&name, sink);
        self.is_pytest |= name == "pytest";
        suite.named = !name.is_empty();
        if suite.named {
            self.lineage.push(name);
        }
        self.open.push(suite);
    }

    pub(super) fn close(&mut self, sink: &mut dyn Sink) {
        let Some(suite) = self.open.pop() else { return };
        if let Some(parent) = self.open.last_mut() {
            parent.cases += suite.cases;
            parent.failures += suite.failures;
            parent.failure_elements += suite.failure_elements.max(suite.claimed_failures);
            parent.error_elements += suite.error_elements.max(suite.claimed_errors);
        }
        let lie = suite.claimed.is_some_and(|claimed| claimed != suite.cases)
            || (suite.claimed_failures == 0 && suite.claimed_errors == 0 && suite.failures > 0);
        if lie && !self.noted_counts {
            self.noted_counts = true;
            let (name, claimed) = (self.name(), suite.claimed.unwrap_or(0));
            let message = format!(
                "suite \"{name}\" counts {claimed} tests and {} failures, but has {} and {}; its cases are believed",
                suite.claimed_failures, suite.cases, suite.failures
            );
            sink.note(Note::new(NoteKind::Count, message));
        }
        self.tell_hidden_failures(&suite, sink);
        self.tell(&suite, sink);
        self.lineage.truncate(suite.depth_of_names);
    }

    fn tell(&self, suite: &Open, sink: &mut dyn Sink) {
        let bare = suite.hostname.is_empty()
            && suite.started.is_none()
            && suite.duration.is_none()
            && suite.properties.is_empty()
            && suite.stdout.is_empty()
            && suite.stderr.is_empty();
        if bare {
            return;
        }
        sink.event(&Event::Suite(Suite {
            package: suite.own.as_deref().unwrap_or_default(),
            file: &suite.file,
            lineage: List::from(&self.lineage),
            hostname: &suite.hostname,
            started: suite.started,
            duration: suite.duration,
            properties: Pairs::new(&suite.properties),
            stdout: &suite.stdout,
            stderr: &suite.stderr,
        }));
    }

    /// Newman, Karma and `ScalaTest` count what broke outside of their cases and show it nowhere.
    fn tell_hidden_failures(&mut self, suite: &Open, sink: &mut dyn Sink) {
        let claimed = suite.claimed_failures.saturating_add(suite.claimed_errors);
        let shown = suite.failure_elements + suite.error_elements;
        // Mocha and others count their failures as errors, or as both.
        let hidden_errors = suite.claimed_errors > 0
            && suite.error_elements == 0
            && suite.claimed_errors != suite.failure_elements;
        if !hidden_errors && (claimed == 0 || shown > 0) {
            return;
        }
        self.any_failed = true;
        let name = self.name();
        let message =
            format!("suite \"{name}\" counts {claimed} failures and errors, but shows {shown}");
        let output = if suite.stderr.trim().is_empty() { &suite.stdout } else { &suite.stderr };
        let error = RunError::new(RunErrorKind::Contradiction, message).with_details(output.trim());
        sink.error(error.in_scope(name));
    }

    /// The report is over.
    pub(super) fn finish(&mut self, sink: &mut dyn Sink) {
        if self.frameworks > 1 {
            self.hear_framework("mixed", sink);
        }
        if self.root_claims > 0 && !self.any_failed {
            let claimed = self.root_claims;
            let message =
                format!("the report counts {claimed} failures and errors, but shows none");
            sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
    }

    /// A case ended.
    pub(super) fn count_case(&mut self, failed: bool, failures: u64, errors: u64) {
        self.any_failed |= failed || failures + errors > 0;
        if let Some(suite) = self.open.last_mut() {
            suite.cases += 1;
            suite.failures += u64::from(failed);
            suite.failure_elements += failures;
            suite.error_elements += errors;
        }
    }

    /// Something failed outside of any case.
    pub(super) fn failed_outside(&mut self) {
        self.any_failed = true;
        if let Some(suite) = self.open.last_mut() {
            suite.failures += 1;
            suite.error_elements += 1;
        }
    }

    pub(super) fn lineage(&self) -> List<'_> {
        List::from(&self.lineage)
    }

    pub(super) fn name(&self) -> &str {
        self.lineage.last().map_or("", String::as_str)
    }

    pub(super) fn file(&self) -> &str {
        self.open
            .iter()
            .rev()
            .map(|suite| suite.file.as_str())
            .find(|file| !file.is_empty())
            .unwrap_or("")
    }

    pub(super) fn properties(&mut self) -> &mut Vec<String> {
        match self.open.last_mut() {
            Some(suite) => &mut suite.properties,
            None => &mut self.stray_properties,
        }
    }

    pub(super) fn output(&mut self, is_error: bool) -> &mut String {
        match self.open.last_mut() {
            Some(suite) if is_error => &mut suite.stderr,
            Some(suite) => &mut suite.stdout,
            None => &mut self.stray_output,
        }
    }

    fn count(&mut self, text: &str, sink: &mut dyn Sink) -> u64 {
        text.trim().parse().unwrap_or_else(|_| {
            if !self.noted_counts {
                self.noted_counts = true;
                let message = format!("\"{text}\" is no count and is passed over");
                sink.note(Note::new(NoteKind::Count, message));
            }
            0
        })
    }
}
