//! `TeamCity` service messages, anywhere in a log.
//!
//! See <https://www.jetbrains.com/help/teamcity/service-messages.html>.

mod message;
mod test;

use std::collections::BTreeMap;

use super::lines::Lines;
use super::{Head, InputFormat, Parser, failure};
use crate::event::{Event, Sink};
use crate::model::{List, RunError, RunErrorKind, Suite, Timestamp};
use crate::text::strip_ansi;
use message::{MARK, Message, Next};
use test::Test;

/// `TeamCity` service messages.
pub(super) struct TeamCity;

impl InputFormat for TeamCity {
    fn name(&self) -> &'static str {
        "teamcity"
    }

    fn description(&self) -> &'static str {
        "TeamCity service messages in a log"
    }

    fn framework(&self) -> &'static str {
        "teamcity"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        // Reports of other formats may quote such a stream.
        let is_quoted = |line: &str| line.trim_start().starts_with(['{', '"']);
        let has_test = |line: &str| line.split(MARK).skip(1).any(|rest| rest.starts_with("test"));
        !head.is_markup() && head.text.lines().any(|line| has_test(line) && !is_quoted(line))
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(TeamCityParser::default())
    }
}

/// Suites named in the lineage of a test; deeper ones are nonsense.
const MAX_DEPTH: usize = 64;

#[derive(Default)]
struct TeamCityParser {
    lines: Lines,
    state: State,
}

impl Parser for TeamCityParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let state = &mut self.state;
        self.lines.feed(text, sink, |line, number, sink| {
            state.line(line, number, sink);
        });
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let mut cut = false;
        if let Some((line, number)) = self.lines.finish() {
            let half = (1..=MARK.len()).any(|length| {
                let start = MARK.len() - length;
                line.ends_with(&MARK[..=start])
            });
            cut = half || ends_in_message(&line);
            if !cut {
                self.state.line(&line, number, sink);
            }
        }
        self.state.finish(cut, sink);
    }
}

/// Whether a line's last message does not end.
fn ends_in_message(line: &str) -> bool {
    let mut rest = line;
    loop {
        match message::next(rest) {
            Next::Message(_, _, after) => rest = after,
            Next::Cut(_) => return true,
            Next::Text(_) => return false,
        }
    }
}

#[derive(Default)]
struct State {
    /// The suites that are open, by flow.
    flows: BTreeMap<String, Vec<OpenSuite>>,
    parents: BTreeMap<String, String>,
    /// By flow and name.
    open: BTreeMap<(String, String), Test>,
    /// The test that text between messages belongs to.
    current: Option<(String, String)>,
    /// Tests that are open and were only told of by their result.
    unstarted: usize,
    started: u64,
    ended: u64,
    announced: u64,
    failures: u64,
    retries: bool,
    said_failure: Option<String>,
    noted_stray: bool,
}

#[derive(Default)]
struct OpenSuite {
    name: String,
    moment: Option<Timestamp>,
}

impl State {
    fn line(&mut self, line: &str, number: u64, sink: &mut dyn Sink) {
        let mut rest = line;
        loop {
            match message::next(rest) {
                Next::Message(before, message, after) => {
                    self.text(before, false);
                    self.message(&message, number, sink);
                    rest = after;
                }
                Next::Cut(before) => {
                    self.text(before, true);
                    let error = format!("line {number} has a service message that does not end");
                    sink.error(RunError::new(RunErrorKind::Report, error));
                    return;
                }
                Next::Text(text) => return self.text(text, rest.len() == line.len()),
            }
        }
    }

    /// Text between messages is the output of the test that runs.
    fn text(&mut self, text: &str, whole_line: bool) {
        if text.is_empty() {
            return;
        }
        if let Some(test) = self.current.as_ref().and_then(|key| self.open.get_mut(key))
            && test.takes_text
        {
            test.stdout.push(text);
            if whole_line {
                test.stdout.push("\n");
            }
        }
    }

    fn message(&mut self, message: &Message<'_>, number: u64, sink: &mut dyn Sink) {
        match message.name {
            "testCount" => {
                let count = message.get("count").trim().parse().unwrap_or(0);
                self.announced = self.announced.saturating_add(count);
            }
            "testSuiteStarted" => self.open_suite(message),
            "testSuiteFinished" => self.close_suite(message, sink),
            "testStarted" => self.start(message, sink),
            "testFailed" => self.known(message).fail(message),
            "testIgnored" => self.known(message).ignore(message),
            "testStdOut" => self.output(message, false),
            "testStdErr" => self.output(message, true),
            "testMetadata" => {
                let name = message.find("testName");
                let key = name.map(|name| (message.get("flowId").into_owned(), name.into_owned()));
                let key = key.or_else(|| self.current.clone());
                if let Some(test) = key.and_then(|key| self.open.get_mut(&key)) {
                    test.metadata(message);
                }
            }
            "testFinished" => self.end(message, number, sink),
            "testRetrySupport" => self.retries = message.get("enabled") == "true",
            "flowStarted" => {
                let (flow, parent) = (message.get("flowId"), message.get("parent"));
                self.parents.insert(flow.into_owned(), parent.into_owned());
            }
            "flowFinished" => {
                self.parents.remove(message.get("flowId").as_ref());
            }
            "buildProblem" => {
                self.failures += 1;
                let text = message.get("description");
                let text = strip_ansi(&text);
                let error = RunError::new(RunErrorKind::Build, failure::first_line(&text));
                sink.error(error.with_details(text));
            }
            "buildStatus" if message.get("status") == "FAILURE" => {
                self.said_failure = Some(strip_ansi(&message.get("text")).into_owned());
            }
            _ => {}
        }
    }

    fn open_suite(&mut self, message: &Message<'_>) {
        let suite = OpenSuite {
            name: message.get("name").into_owned(),
            moment: Timestamp::parse(&message.get("timestamp")),
        };
        let flow = message.get("flowId").into_owned();
        self.flows.entry(flow).or_default().push(suite);
    }

    fn close_suite(&mut self, message: &Message<'_>, sink: &mut dyn Sink) {
        let (flow, name) = (message.get("flowId"), message.get("name"));
        let Some(suites) = self.flows.get_mut(flow.as_ref()) else {
            return;
        };
        let Some(at) = suites.iter().rposition(|suite| suite.name == name) else {
            return;
        };
        let lineage: Vec<String> = names(suites).map(str::to_owned).take(at + 1).collect();
        let closed = suites.drain(at..).next().unwrap_or_default();
        if suites.is_empty() {
            self.flows.remove(flow.as_ref());
        }
        // What is open in a suite that is over will never end.
        let inside = |test: &Test| test.home == flow && test.depth > at;
        self.tell_those(inside, sink);
        let millis = message.get("duration").trim().parse().ok();
        let duration = millis.and_then(super::number::from_millis);
        if duration.is_some() || closed.moment.is_some() {
            sink.event(&Event::Suite(Suite {
                lineage: List::from(&lineage),
                started: closed.moment,
                duration,
                ..Suite::default()
            }));
        }
    }

    fn start(&mut self, message: &Message<'_>, sink: &mut dyn Sink) {
        let key = key_of(message);
        // Tests that were only told of by their result have no end of their own.
        if self.unstarted > 0 {
            let flow = key.0.clone();
            self.tell_those(|test| !test.started && test.home == flow, sink);
        }
        if let Some(test) = self.open.get_mut(&key)
            && test.started
        {
            test.restart();
        } else {
            let test = self.known(message);
            test.started = true;
            sink.event(&Event::CaseStarted(test.case()));
            self.unstarted = self.unstarted.saturating_sub(1);
        }
        self.current = Some(key);
    }

    /// The test a message is about, which need not have started.
    fn known(&mut self, message: &Message<'_>) -> &mut Test {
        let key = key_of(message);
        if !self.open.contains_key(&key) {
            self.started += 1;
            self.unstarted += 1;
            let (home, depth, lineage) = self.home_of(&key.0);
            let mut test = Test::default();
            (test.home, test.depth, test.lineage) = (home, depth, lineage);
            test.order = self.started;
            // jest's and others' outermost suite is the file.
            if test.lineage.first().is_some_and(|name| is_path(name)) {
                test.file = test.lineage.remove(0);
            }
            test.begin(message);
            self.open.insert(key.clone(), test);
        }
        self.open.entry(key).or_default()
    }

    /// The flow that has the suites around a test of `flow`, how many there are, and their names.
    fn home_of(&self, flow: &str) -> (String, usize, Vec<String>) {
        let mut home = flow;
        for _ in 0..MAX_DEPTH {
            if self.flows.contains_key(home) {
                break;
            }
            match self.parents.get(home) {
                Some(parent) => home = parent,
                None => break,
            }
        }
        // mocha's hooks are in a flow of their own that nothing is said of.
        if !self.flows.contains_key(home)
            && self.flows.len() == 1
            && let Some(only) = self.flows.keys().next()
        {
            home = only;
        }
        let suites = self.flows.get(home).map_or(&[][..], Vec::as_slice);
        let lineage = names(suites).map(str::to_owned).collect();
        (home.to_owned(), suites.len(), lineage)
    }

    fn output(&mut self, message: &Message<'_>, is_error: bool) {
        let out = message.get("out");
        let test = self.known(message);
        if is_error {
            test.stderr.push(&out);
        } else {
            test.stdout.push(&out);
        }
    }

    fn end(&mut self, message: &Message<'_>, number: u64, sink: &mut dyn Sink) {
        let key = key_of(message);
        let Some(mut test) = self.open.remove(&key) else {
            if !self.noted_stray {
                self.noted_stray = true;
                let error = format!("line {number} ends a test that did not start");
                sink.error(RunError::new(RunErrorKind::Report, error));
            }
            return;
        };
        test.end(message);
        self.tell(test, true, sink);
        if self.current.as_ref() == Some(&key) {
            self.current = None;
        }
    }

    fn tell(&mut self, test: Test, ended: bool, sink: &mut dyn Sink) {
        self.unstarted -= usize::from(!test.started).min(self.unstarted);
        self.ended += 1;
        self.failures += u64::from(test.tell(ended, self.retries, sink));
    }

    /// Tells of open tests that will not end any more, in the order they began.
    fn tell_those(&mut self, which: impl Fn(&Test) -> bool, sink: &mut dyn Sink) {
        if !self.open.values().any(&which) {
            return;
        }
        let mut tests: Vec<Test> = Vec::new();
        for (key, test) in std::mem::take(&mut self.open) {
            if which(&test) {
                tests.push(test);
            } else {
                self.open.insert(key, test);
            }
        }
        tests.sort_by_key(|test| test.order);
        for test in tests {
            self.tell(test, false, sink);
        }
    }

    fn finish(&mut self, cut: bool, sink: &mut dyn Sink) {
        self.tell_those(|_| true, sink);
        let unfinished = self.flows.values().flatten().next();
        let truncated = match unfinished {
            _ if cut => Some("the log stops in the middle of a service message".to_owned()),
            Some(suite) => Some(format!("suite \"{}\" never ended", suite.name)),
            None => None,
        };
        if let Some(what) = truncated {
            let message = format!("{what}: the report is truncated");
            sink.error(RunError::new(RunErrorKind::Report, message));
        }
        if self.announced > self.ended {
            sink.event(&Event::Missing(self.announced - self.ended));
        }
        if let Some(text) = self.said_failure.take()
            && self.failures == 0
        {
            let message = format!("the build says that it failed, but no test did: {text}");
            sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
    }
}

fn key_of(message: &Message<'_>) -> (String, String) {
    let name = message.get("name");
    (message.get("flowId").into_owned(), name.trim().to_owned())
}

fn names(suites: &[OpenSuite]) -> impl Iterator<Item = &str> {
    let named = suites.iter().map(|suite| suite.name.as_str());
    named.filter(|name| !name.is_empty()).take(MAX_DEPTH)
}

/// Whether a suite's name is that of a file rather than of a group of tests.
fn is_path(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    name.contains('/')
        && !name.contains(' ')
        && (1..=5).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
