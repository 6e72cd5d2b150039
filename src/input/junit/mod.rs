//! JUnit XML in all its dialects.
//!
//! There is no standard, only what Ant wrote and what others made of it. The reader takes any nesting
//! and any missing attribute, believes the cases rather than the counts, and knows the additions of
//! Surefire (`flakyFailure`, `rerunFailure`, …), pytest, `GoogleTest`, `CTest`, busted and others, and
//! testexec's own.
//! See <https://github.com/testmoapp/junitxml> for a description of the common ground.

mod case;
mod own;
mod suite;

use super::capped::Capped;
use super::xml::{Handler, Tag, Xml};
use super::{Head, InputFormat, Parser};
use crate::event::{Event, Sink, Tool};
use crate::model::{Note, NoteKind, RunError, RunErrorKind};
use case::{CaseState, Found, FoundKind};
use suite::Suites;

/// JUnit XML.
pub(super) struct Junit;

impl InputFormat for Junit {
    fn name(&self) -> &'static str {
        "junit"
    }

    fn description(&self) -> &'static str {
        "JUnit XML of any tool"
    }

    fn framework(&self) -> &'static str {
        "junit"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.root().is_some_and(|root| {
            root.eq_ignore_ascii_case("testsuites")
                || root.eq_ignore_ascii_case("testsuite")
                || root == "testcase"
        })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(JunitParser::default())
    }
}

#[derive(Default)]
struct JunitParser {
    xml: Xml,
    state: State,
}

impl Parser for JunitParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        self.xml.feed(text, &mut self.state, sink);
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.xml.finish(&mut self.state, sink);
        self.state.suites.finish(sink);
    }
}

/// Where in the document the reader is, and what it has collected there.
#[derive(Default)]
struct State {
    suites: Suites,
    case: CaseState,
    in_case: bool,
    /// The result element being read, of a case or of a suite.
    found: Option<Found>,
    /// What text goes into now.
    collecting: Collecting,
    text: Capped,
    property: String,
    noted_time: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Collecting {
    #[default]
    Nothing,
    /// The body of a failure, error, skip or rerun.
    Body,
    /// `<stackTrace>` inside a rerun.
    StackTrace,
    Stdout,
    Stderr,
    Property,
}

impl Handler for State {
    fn open(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        match tag.name {
            "testcase" => self.open_case(tag, sink),
            name if name.eq_ignore_ascii_case("testsuite") => self.suites.open(tag, sink),
            name if name.eq_ignore_ascii_case("testsuites") => self.suites.open_root(tag, sink),
            "property" => self.open_property(tag, sink),
            "system-out" => self.collect(Collecting::Stdout),
            "system-err" => self.collect(Collecting::Stderr),
            "stackTrace" if self.found.is_some() => self.collect(Collecting::StackTrace),
            name => match FoundKind::of(name) {
                Some(kind) if self.found.is_none() => self.open_found(kind, tag, sink),
                // Markup in a message that nobody escaped.
                _ if self.collecting != Collecting::Nothing => self.text.push(tag.raw),
                _ => {}
            },
        }
    }

    fn text(&mut self, text: &str) {
        self.text.push(text);
    }

    fn wants_text(&self) -> bool {
        self.collecting != Collecting::Nothing
    }

    fn ends_document(&self, name: &str) -> bool {
        // CUnit leaves its suites open and ends with the end tag of another format of its own.
        name == "CUNIT_TEST_RUN_REPORT"
    }

    fn close(&mut self, name: &str, whole: bool, sink: &mut dyn Sink) {
        match name {
            "testcase" => self.close_case(whole, sink),
            name if name.eq_ignore_ascii_case("testsuite") => self.suites.close(sink),
            "property" if self.collecting == Collecting::Property => self.close_property(sink),
            "system-out" if self.collecting == Collecting::Stdout => self.close_output(false),
            "system-err" if self.collecting == Collecting::Stderr => self.close_output(true),
            "stackTrace" if self.collecting == Collecting::StackTrace => {
                let text = self.text.take();
                match &mut self.found {
                    Some(found) if self.suites.is_own() => found.exact = text,
                    Some(found) => found.body.push_str(&text),
                    None => {}
                }
                self.collecting = Collecting::Body;
            }
            name if FoundKind::of(name).is_some() && self.found_is(name) => self.close_found(sink),
            _ => {}
        }
    }
}

impl State {
    fn open_case(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        self.suites.announce("", sink);
        self.case.clear();
        self.in_case = true;
        self.found = None;
        self.collecting = Collecting::Nothing;
        self.text.clear();
        for (key, value) in tag.attributes() {
            self.case.attribute(key, &tag.decode(value, sink));
        }
        if self.case.odd_time && !self.noted_time {
            self.noted_time = true;
            let message =
                format!("\"{}\" has a time that is none, and is read without", self.case.name);
            sink.note(Note::new(NoteKind::Value, message));
        }
        if let Some(message) = self.case.odd_line.take() {
            sink.note(Note::new(NoteKind::Value, message));
        }
    }

    fn close_case(&mut self, whole: bool, sink: &mut dyn Sink) {
        if !std::mem::take(&mut self.in_case) {
            return;
        }
        if self.found.is_some() {
            self.close_found(sink);
        }
        self.collecting = Collecting::Nothing;
        if self.suites.is_pytest && self.case.name.is_empty() {
            // What pytest writes for the case that Ctrl-C came in.
            let message = "pytest was interrupted; the case that was running is not named";
            return sink.error(RunError::new(RunErrorKind::Crash, message));
        }
        self.case.emit(whole, &mut self.suites, sink);
    }

    fn open_found(&mut self, kind: FoundKind, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let mut found = Found::new(kind, tag.name);
        for (key, value) in tag.attributes() {
            found.attribute(key, &tag.decode(value, sink));
        }
        self.found = Some(found);
        self.collect(Collecting::Body);
    }

    fn close_found(&mut self, sink: &mut dyn Sink) {
        let Some(mut found) = self.found.take() else {
            return;
        };
        if self.collecting == Collecting::Body {
            found.body.push_str(&self.text.take());
        }
        self.collecting = Collecting::Nothing;
        if self.in_case {
            return self.case.found.push(found);
        }
        // A result outside of any case: a fixture or a file that did not load.
        if found.kind == FoundKind::Skipped {
            return;
        }
        self.suites.failed_outside();
        let message = if found.message.is_empty() {
            super::failure::first_line(&found.body).to_owned()
        } else {
            found.message
        };
        let error = RunError::new(RunErrorKind::Setup, message).with_details(found.body);
        sink.error(error.in_scope(self.suites.name()));
    }

    fn found_is(&self, name: &str) -> bool {
        self.found.as_ref().is_some_and(|found| found.element == name)
    }

    fn open_property(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let name = tag.get("name", sink).unwrap_or_default();
        if let Some(value) = tag.get("value", sink) {
            return self.add_property(&name, &value, sink);
        }
        self.property = name.into_owned();
        self.collect(Collecting::Property);
    }

    fn close_property(&mut self, sink: &mut dyn Sink) {
        self.collecting = Collecting::Nothing;
        let (name, value) = (std::mem::take(&mut self.property), self.text.take());
        self.add_property(&name, value.trim(), sink);
    }

    fn add_property(&mut self, name: &str, value: &str, sink: &mut dyn Sink) {
        let name = match self.in_case {
            true if self.suites.is_own() => self.case.own.take(name, value),
            true => Some(name),
            false => self.suites.take_own(name, value, sink),
        };
        let Some(name) = name else { return };
        let properties =
            if self.in_case { &mut self.case.properties } else { self.suites.properties() };
        properties.push(name.to_owned());
        properties.push(value.to_owned());
    }

    fn collect(&mut self, what: Collecting) {
        // The body of a rerun goes on after its output.
        if self.collecting == Collecting::Body
            && let Some(found) = &mut self.found
        {
            found.body.push_str(&self.text.take());
        }
        self.text.clear();
        self.collecting = what;
    }

    fn close_output(&mut self, is_error: bool) {
        let text = self.text.take();
        self.collecting = Collecting::Nothing;
        let target = match (&mut self.found, self.in_case) {
            (Some(found), _) => {
                self.collecting = Collecting::Body;
                if is_error { &mut found.stderr } else { &mut found.stdout }
            }
            (None, true) if is_error => &mut self.case.stderr,
            (None, true) => &mut self.case.stdout,
            (None, false) => self.suites.output(is_error),
        };
        target.push_str(&text);
    }
}

/// The framework that gives its suites this name.
fn framework_of(root_name: &str) -> &'static str {
    match root_name {
        "pytest" | "pytest tests" => "pytest",
        "jest tests" => "jest",
        "vitest tests" => "vitest",
        "Mocha Tests" => "mocha",
        "nextest-run" => "nextest",
        "bun test" => "bun",
        "deno test" => "deno",
        "AllTests" => "googletest",
        "ExUnit" => "exunit",
        _ => "junit",
    }
}

fn tool_event(name: &str, sink: &mut dyn Sink) {
    let tool = Tool { framework: framework_of(name), ..Tool::default() };
    sink.event(&Event::Tool(tool));
}
