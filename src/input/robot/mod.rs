//! Robot Framework's `output.xml`, from version 3 on.
//!
//! A failing tear-down of a suite fails all tests inside, also those whose own status says `PASS`, and
//! stands after them. Passed tests are thus held back until the outermost suite ends.

mod test;

use std::collections::HashSet;
use std::time::Duration;

use xxhash_rust::xxh3::xxh3_64;

use super::capped::Capped;
use super::xml::{Handler, Tag, Xml, unescape};
use super::{Head, InputFormat, Parser, failure, number};
use crate::event::{Event, Sink, Tool};
use crate::model::{List, Note, NoteKind, Pairs, RunError, RunErrorKind, Suite, Timestamp};
use crate::text::strip_ansi;
use test::{Test, Verdict};

/// Robot Framework's `output.xml`.
pub(super) struct Robot;

impl InputFormat for Robot {
    fn name(&self) -> &'static str {
        "robot"
    }

    fn description(&self) -> &'static str {
        "Robot Framework's output.xml"
    }

    fn framework(&self) -> &'static str {
        "robot"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.root() == Some("robot")
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(RobotParser::default())
    }
}

#[derive(Default)]
struct RobotParser {
    xml: Xml,
    state: State,
}

impl Parser for RobotParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        self.xml.feed(text, &mut self.state, sink);
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.xml.finish(&mut self.state, sink);
        self.state.flush(sink);
        self.state.check(sink);
    }
}

/// How much output of passed tests is held back; beyond that it is dropped.
const MAX_HELD: usize = 64 << 20;

#[derive(Default)]
struct State {
    /// Every open element.
    stack: Vec<Element>,
    suites: Vec<Open>,
    lineage: Vec<String>,
    test: Option<Test>,
    held: Vec<Held>,
    weight: usize,
    collecting: Collecting,
    text: Capped,
    /// The level and time of the message being read, the name of the `meta` otherwise.
    word: String,
    time: String,
    status: Status,
    /// Messages at level ERROR inside of tests, which `<errors>` repeats.
    logged: HashSet<u64>,
    in_total: bool,
    claimed: Option<[u64; 2]>,
    cases: u64,
    failures: u64,
    run_errors: u64,
}

/// An open element, as far as it matters.
#[derive(Default)]
struct Element {
    kind: Kind,
    /// Of a keyword.
    name: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    Suite,
    Test,
    Setup,
    Teardown,
    Keyword,
    Statistics,
    Errors,
    #[default]
    Other,
}

/// A suite that is open.
#[derive(Default)]
struct Open {
    file: String,
    first_held: usize,
    setup: Step,
    teardown: Step,
    properties: Vec<String>,
    status: Status,
    tests: u64,
    failures: u64,
}

/// How a suite's set-up or tear-down ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Fine,
    Failed,
    Skipped,
}

/// A passed test, and the suite it is from.
struct Held {
    file: String,
    lineage: Vec<String>,
    test: Test,
}

/// A `<status>`.
#[derive(Default)]
struct Status {
    word: String,
    message: String,
    started: Option<Timestamp>,
    duration: Option<Duration>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Collecting {
    #[default]
    Nothing,
    Message,
    Status,
    Tag,
    Doc,
    Meta,
}

impl Handler for State {
    fn open(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let parent = self.stack.last().map_or(Kind::Other, |top| top.kind);
        let counting = self.is_inside(Kind::Statistics);
        let mut element = Element::default();
        match tag.name {
            "robot" => announce(tag, sink),
            "statistics" => element.kind = Kind::Statistics,
            "total" if counting => self.in_total = true,
            "stat" if self.in_total => self.claimed = Some(claims(tag)),
            _ if counting => {}
            "errors" if self.suites.is_empty() => element.kind = Kind::Errors,
            "suite" => {
                element.kind = Kind::Suite;
                self.open_suite(tag, sink);
            }
            "test" => {
                element.kind = Kind::Test;
                self.test = Some(Test::new(tag, sink));
            }
            "kw" => {
                element.kind = keyword_kind(tag, parent, sink);
                element.name = tag.get("name", sink).unwrap_or_default().into_owned();
            }
            "msg" => {
                self.word = tag.get("level", sink).unwrap_or_default().into_owned();
                let time = tag.get("time", sink).or_else(|| tag.get("timestamp", sink));
                self.time = time.unwrap_or_default().into_owned();
                self.collect(Collecting::Message);
            }
            "status" => {
                self.status = read_status(tag, sink);
                self.collect(Collecting::Status);
            }
            "tag" => self.collect(Collecting::Tag),
            "doc" if parent == Kind::Test => self.collect(Collecting::Doc),
            "meta" | "item" if self.test.is_none() => {
                self.word = tag.get("name", sink).unwrap_or_default().into_owned();
                self.collect(Collecting::Meta);
            }
            _ => {}
        }
        self.stack.push(element);
    }

    fn text(&mut self, text: &str) {
        self.text.push(text);
    }

    fn wants_text(&self) -> bool {
        self.collecting != Collecting::Nothing
    }

    fn close(&mut self, name: &str, whole: bool, sink: &mut dyn Sink) {
        let element = self.stack.pop().unwrap_or_default();
        let collecting = std::mem::take(&mut self.collecting);
        match (name, element.kind) {
            ("total", _) => self.in_total = false,
            ("suite", Kind::Suite) => self.close_suite(whole, sink),
            ("test", Kind::Test) => self.close_test(whole, sink),
            ("msg", _) if collecting == Collecting::Message => self.close_message(sink),
            ("status", _) if collecting == Collecting::Status && whole => self.close_status(),
            ("tag", _) if collecting == Collecting::Tag => {
                let tag = self.text.take().trim().to_owned();
                let is_own = self.is_in_test_itself();
                if let Some(test) = self.test.as_mut().filter(|_| is_own) {
                    test.tags.push(tag);
                }
            }
            ("doc", _) if collecting == Collecting::Doc => {
                let doc = self.text.take().trim().to_owned();
                if let Some(test) = &mut self.test {
                    test.doc = doc;
                }
            }
            ("meta" | "item", _) if collecting == Collecting::Meta => {
                let pair = [std::mem::take(&mut self.word), self.text.take()];
                if let Some(suite) = self.suites.last_mut() {
                    suite.properties.extend(pair);
                }
            }
            _ => {}
        }
    }
}

fn announce(tag: &Tag<'_>, sink: &mut dyn Sink) {
    let generated = tag.get("generated", sink);
    let started = generated.and_then(|text| moment(&text));
    sink.event(&Event::Tool(Tool { framework: Robot.framework(), started, duration: None }));
}

/// Passed and failed, of the last line of the totals, which counts all tests.
fn claims(tag: &Tag<'_>) -> [u64; 2] {
    ["pass", "fail"].map(|name| {
        let value = tag.attributes().find(|(key, _)| *key == name);
        value.and_then(|(_, text)| text.trim().parse().ok()).unwrap_or(0)
    })
}

/// Set-up and tear-down matter only where they are a suite's.
fn keyword_kind(tag: &Tag<'_>, parent: Kind, sink: &mut dyn Sink) -> Kind {
    let kind = tag.get("type", sink).unwrap_or_default();
    if parent == Kind::Suite && kind.eq_ignore_ascii_case("setup") {
        Kind::Setup
    } else if parent == Kind::Suite && kind.eq_ignore_ascii_case("teardown") {
        Kind::Teardown
    } else {
        Kind::Keyword
    }
}

fn read_status(tag: &Tag<'_>, sink: &mut dyn Sink) -> Status {
    let mut status = Status::default();
    let mut ended = None;
    for (key, value) in tag.attributes() {
        let value = unescape(value, sink);
        match key {
            "status" => status.word = value.into_owned(),
            "start" | "starttime" => status.started = moment(&value),
            "endtime" => ended = moment(&value),
            "elapsed" => status.duration = number::seconds(&value),
            _ => {}
        }
    }
    if let (None, Some(start), Some(end)) = (status.duration, status.started, ended) {
        let nanos = end.nanos().checked_sub(start.nanos());
        status.duration =
            nanos.and_then(|nanos| u64::try_from(nanos).ok()).map(Duration::from_nanos);
    }
    status
}

/// `2026-11-16T13:23:45.8`, or before version 7 `20261116 13:11:52.354`.
fn moment(text: &str) -> Option<Timestamp> {
    let (date, clock) = text.split_once(' ').unwrap_or((text, ""));
    if date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()) {
        let (year, month, day) = (&date[..4], &date[4..6], &date[6..]);
        return Timestamp::parse(&format!("{year}-{month}-{day}T{clock}"));
    }
    Timestamp::parse(text)
}

impl State {
    fn is_inside(&self, kind: Kind) -> bool {
        self.stack.iter().any(|element| element.kind == kind)
    }

    /// Tags of keywords are not those of the test: between them and the test is only `<tags>`.
    fn is_in_test_itself(&self) -> bool {
        let mut around = self.stack.iter().rev();
        let innermost = around.find(|element| element.kind != Kind::Other);
        innermost.is_some_and(|element| element.kind == Kind::Test)
    }

    fn open_suite(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let name = tag.get("name", sink).unwrap_or_default();
        let source = tag.get("source", sink).unwrap_or_default();
        self.lineage.push(name.into_owned());
        self.suites.push(Open {
            file: source.into_owned(),
            first_held: self.held.len(),
            ..Open::default()
        });
    }

    fn close_suite(&mut self, whole: bool, sink: &mut dyn Sink) {
        let Some(mut suite) = self.suites.pop() else {
            return;
        };
        self.end_by_teardown(&mut suite, sink);
        let broke = suite.status.word == "FAIL"
            || suite.setup == Step::Failed
            || suite.teardown == Step::Failed;
        if broke && suite.failures == 0 && whole {
            let message = match suite.status.message.as_str() {
                "" => "the suite failed, and the report does not say why",
                message => message,
            };
            self.run_errors += 1;
            suite.failures += 1;
            // The first line says no more than that the set-up failed.
            let headline: Vec<&str> = message.lines().take(2).collect();
            let error = RunError::new(RunErrorKind::Setup, headline.join(" "))
                .with_details(message)
                .in_scope(self.lineage.join("."));
            sink.error(error);
        }
        if let Some(parent) = self.suites.last_mut() {
            parent.tests += suite.tests;
            parent.failures += suite.failures;
        }
        sink.event(&Event::Suite(Suite {
            file: &suite.file,
            lineage: List::from(&self.lineage),
            started: suite.status.started,
            duration: suite.status.duration,
            properties: Pairs::new(&suite.properties),
            ..Suite::default()
        }));
        self.lineage.pop();
        if self.suites.is_empty() {
            self.flush(sink);
        }
    }

    /// A tear-down that failed or skipped decides for all tests that had passed.
    fn end_by_teardown(&mut self, suite: &mut Open, sink: &mut dyn Sink) {
        if suite.teardown == Step::Fine || suite.first_held > self.held.len() {
            return;
        }
        let own = suite.status.message.as_str();
        let reason = own.split_once("teardown failed:\n").map_or(own, |(_, reason)| reason);
        for mut held in self.held.split_off(suite.first_held) {
            if suite.teardown == Step::Failed {
                held.test.verdict = Verdict::Failed;
                held.test.message = format!("Parent suite teardown failed:\n{reason}");
                suite.failures += 1;
                self.failures += 1;
            } else {
                held.test.verdict = Verdict::Skipped;
                held.test.message = format!("Skipped in parent suite teardown:\n{reason}");
            }
            held.test.emit(&held.file, &held.lineage, sink);
        }
    }

    fn close_test(&mut self, whole: bool, sink: &mut dyn Sink) {
        let Some(mut test) = self.test.take() else {
            return;
        };
        if !whole && test.verdict == Verdict::Passed {
            test.verdict = Verdict::Unfinished;
        }
        self.cases += 1;
        let failed = test.verdict.is_failure();
        self.failures += u64::from(failed);
        let mut file = String::new();
        if let Some(suite) = self.suites.last_mut() {
            suite.tests += 1;
            suite.failures += u64::from(failed);
            suite.file.clone_into(&mut file);
        }
        if test.verdict != Verdict::Passed {
            return test.emit(&file, &self.lineage, sink);
        }
        self.weight += test.weight();
        if self.weight > MAX_HELD {
            self.weight -= test.weight();
            test.drop_output();
        }
        self.held.push(Held { file, lineage: self.lineage.clone(), test });
    }

    fn flush(&mut self, sink: &mut dyn Sink) {
        for held in std::mem::take(&mut self.held) {
            held.test.emit(&held.file, &held.lineage, sink);
        }
        self.weight = 0;
    }

    fn close_message(&mut self, sink: &mut dyn Sink) {
        let text = self.text.take();
        let level = std::mem::take(&mut self.word);
        if self.is_inside(Kind::Errors) {
            return self.report_error(&level, &text, sink);
        }
        if level == "ERROR" {
            self.logged.insert(self.message_key(&text));
        }
        let keyword = self.stack.last().map_or("", |element| &element.name);
        if let Some(test) = &mut self.test {
            test.log(&level, keyword, &text);
        }
    }

    fn message_key(&self, text: &str) -> u64 {
        xxh3_64(format!("{} {text}", self.time).as_bytes())
    }

    /// What could not be imported or parsed. What tests logged is only repeated here.
    fn report_error(&mut self, level: &str, text: &str, sink: &mut dyn Sink) {
        if level != "ERROR" || self.logged.contains(&self.message_key(text)) {
            return;
        }
        let text = strip_ansi(text);
        let scope = text
            .split_once("Error in file '")
            .and_then(|(_, rest)| rest.split_once('\''))
            .map_or("", |(file, _)| file)
            .to_owned();
        self.run_errors += 1;
        let message = failure::first_line(&text).to_owned();
        let error = RunError::new(RunErrorKind::Load, message).with_details(text);
        sink.error(error.in_scope(scope));
    }

    fn close_status(&mut self) {
        let mut status = std::mem::take(&mut self.status);
        status.message = strip_ansi(self.text.take().trim()).into_owned();
        let kind = self.stack.last().map_or(Kind::Other, |top| top.kind);
        let step = match status.word.as_str() {
            "FAIL" => Step::Failed,
            "SKIP" => Step::Skipped,
            _ => Step::Fine,
        };
        match (kind, &mut self.test, self.suites.last_mut()) {
            (Kind::Test, Some(test), _) => {
                test.verdict = Verdict::of(&status.word);
                test.message = status.message;
                test.started = status.started;
                test.duration = status.duration;
            }
            (Kind::Suite, _, Some(suite)) => suite.status = status,
            (Kind::Setup, _, Some(suite)) => suite.setup = step,
            (Kind::Teardown, _, Some(suite)) => suite.teardown = step,
            _ => {}
        }
    }

    fn collect(&mut self, what: Collecting) {
        self.text.clear();
        self.collecting = what;
    }

    fn check(&self, sink: &mut dyn Sink) {
        let Some([passed, failed]) = self.claimed else {
            return;
        };
        if failed > 0 && self.failures == 0 && self.run_errors == 0 {
            let message =
                format!("the report counts {failed} failures, but none of its tests failed");
            sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
        if failed != self.failures || passed.saturating_add(failed) > self.cases {
            let message = format!(
                "the report counts {passed} passed and {failed} failed tests, but has {} tests and {} failures; its tests are believed",
                self.cases, self.failures
            );
            sink.note(Note::new(NoteKind::Count, message));
        }
    }
}
