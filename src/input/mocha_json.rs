//! Mocha's JSON (`--reporter json`).
//!
//! `tests` has every test that ran; `pending`, `failures` and `passes` repeat them and tell which is
//! which. Failed hooks are in `failures` only. See <https://mochajs.org/#json>.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_64;

use super::json::{self, Document, Text, nullable};
use super::{Head, InputFormat, Parser, failure, head::has_key, number};
use crate::event::{Event, Sink, Tool};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Note, NoteKind, Outcome, RunError,
    RunErrorKind, Skip, Timestamp,
};
use crate::text::strip_ansi;

/// More attempts than this are not told one by one: the number comes from the report.
const MAX_ATTEMPTS: u64 = 100;

/// Mocha's JSON.
pub(super) struct MochaJson;

impl InputFormat for MochaJson {
    fn name(&self) -> &'static str {
        "mocha-json"
    }

    fn description(&self) -> &'static str {
        "Mocha's JSON (--reporter json)"
    }

    fn framework(&self) -> &'static str {
        "mocha"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object().is_some_and(|text| {
            ["stats", "tests", "passes", "pending", "failures"].iter().all(|key| has_key(text, key))
                && !super::mochawesome::is_mochawesome(text)
        })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(MochaParser {
            document: Document::new(&[&["tests"], &["pending"], &["failures"], &["passes"]]),
            state: State::default(),
        })
    }
}

struct MochaParser {
    document: Document,
    state: State,
}

#[derive(Default)]
struct State {
    tests: u64,
    passed: u64,
    failed: u64,
    unreadable: bool,
    /// Tests of which only the other lists say whether they passed.
    held: Vec<Held>,
    /// How many of a key are held.
    held_keys: HashMap<u64, u32>,
    /// What the other lists say of what is held.
    pending: HashMap<u64, u32>,
    passes: HashMap<u64, u32>,
    has_passes: bool,
    /// Tests told as failed, which `failures` will repeat.
    failed_keys: HashMap<u64, u32>,
    /// Failures that are in no test so far: failed hooks.
    others: Vec<(u64, String)>,
}

struct Held {
    key: u64,
    raw: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test<'a> {
    #[serde(borrow, default)]
    title: Text<'a>,
    #[serde(borrow, default)]
    full_title: Text<'a>,
    #[serde(borrow, default)]
    file: Text<'a>,
    duration: Option<f64>,
    #[serde(default, deserialize_with = "nullable")]
    current_retry: u64,
    #[serde(borrow, default)]
    speed: Text<'a>,
    #[serde(default, deserialize_with = "nullable")]
    pending: bool,
    #[serde(borrow)]
    err: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Thrown<'a> {
    #[serde(borrow, default)]
    stack: Text<'a>,
    #[serde(borrow, default)]
    message: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    #[serde(borrow)]
    expected: Option<&'a RawValue>,
    #[serde(borrow)]
    actual: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Skeleton<'a> {
    #[serde(borrow, default, deserialize_with = "nullable")]
    stats: Stats<'a>,
}

#[derive(Default, Deserialize)]
struct Stats<'a> {
    tests: Option<u64>,
    passes: Option<u64>,
    failures: Option<u64>,
    #[serde(borrow, default)]
    start: Text<'a>,
    duration: Option<f64>,
}

/// What is known of a test by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Passed,
    Pending,
    Failed,
    /// In `failures`, without an error.
    FailedSilently,
    /// In none of the lists, though there is one of passes.
    Nowhere,
}

impl Parser for MochaParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let state = &mut self.state;
        self.document.feed(text, sink, |array, raw, sink| {
            let repaired;
            let (raw, read) = if let Ok(read) = serde_json::from_str::<Test<'_>>(raw) {
                (raw, read)
            } else {
                repaired = json::repair(raw);
                let Some(read) = json::parse::<Test<'_>>(&repaired, "a test", sink) else {
                    state.unreadable = true;
                    return;
                };
                (&*repaired, read)
            };
            match array {
                0 => state.test(raw, &read, sink),
                1 => *state.pending.entry(read.key()).or_default() += 1,
                2 => state.failure(raw, read.key()),
                _ => state.pass(read.key()),
            }
        });
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let skeleton = self.document.finish();
        if skeleton.is_ok() {
            self.state.settle(sink);
        }
        self.state.settle_failures(sink);
        let skeleton = match skeleton {
            Ok(skeleton) => skeleton,
            Err(error) => return sink.error(error),
        };
        let skeleton = json::repair(&skeleton);
        if let Some(skeleton) = json::parse::<Skeleton<'_>>(&skeleton, "the document", sink) {
            self.state.compare(&skeleton.stats, sink);
        }
    }
}

impl State {
    fn test(&mut self, raw: &str, test: &Test<'_>, sink: &mut dyn Sink) {
        self.tests += 1;
        if test.has_error() {
            *self.failed_keys.entry(test.key()).or_default() += 1;
            self.tell(test, Known::Failed, sink);
        } else if test.pending {
            self.tell(test, Known::Pending, sink);
        } else if test.speed.is_empty() {
            // Only a test that passed has a speed, but old versions do not write it.
            let key = test.key();
            *self.held_keys.entry(key).or_default() += 1;
            let raw = raw.to_owned();
            self.held.push(Held { key, raw });
        } else {
            self.tell(test, Known::Passed, sink);
        }
    }

    fn failure(&mut self, raw: &str, key: u64) {
        if !take(&mut self.failed_keys, key) {
            self.others.push((key, raw.to_owned()));
        }
    }

    fn pass(&mut self, key: u64) {
        self.has_passes = true;
        // All others are known to have passed, unless this list comes first.
        if self.tests == 0 || self.held_keys.contains_key(&key) {
            *self.passes.entry(key).or_default() += 1;
        }
    }

    /// The document is whole: tells of what was held.
    fn settle(&mut self, sink: &mut dyn Sink) {
        let mut others: HashMap<u64, u32> = HashMap::new();
        for (key, _) in &self.others {
            *others.entry(*key).or_default() += 1;
        }
        for held in std::mem::take(&mut self.held) {
            let Ok(test) = serde_json::from_str::<Test<'_>>(&held.raw) else {
                continue;
            };
            let known = if take(&mut self.pending, held.key) {
                Known::Pending
            } else if !self.passes.contains_key(&held.key) && take(&mut others, held.key) {
                *self.failed_keys.entry(held.key).or_default() += 1;
                Known::FailedSilently
            } else if take(&mut self.passes, held.key) || !self.has_passes {
                Known::Passed
            } else {
                Known::Nowhere
            };
            self.tell(&test, known, sink);
        }
    }

    /// Tells of the failures that are no test's: those of hooks.
    fn settle_failures(&mut self, sink: &mut dyn Sink) {
        for (key, raw) in std::mem::take(&mut self.others) {
            if take(&mut self.failed_keys, key) {
                continue;
            }
            if let Ok(test) = serde_json::from_str::<Test<'_>>(&raw) {
                self.tell(&test, Known::Failed, sink);
            }
        }
    }

    fn tell(&mut self, test: &Test<'_>, known: Known, sink: &mut dyn Sink) {
        let suite = test.full_title.strip_suffix(&*test.title);
        let suite = suite.unwrap_or_default().trim();
        let lineage = [suite];
        let case = Case {
            id: CaseId {
                file: &test.file,
                suite: List::from(&lineage[usize::from(suite.is_empty())..]),
                name: &test.title,
                ..CaseId::default()
            },
            ..Case::default()
        };
        let mut again = false;
        if matches!(known, Known::Passed | Known::Failed) {
            again = tell_earlier(&case, test.current_retry, sink);
        }
        let problem = Problem::new(test.err);
        let silent = |message| Outcome::Failed(Failure { message, ..Failure::default() });
        let outcome = match known {
            Known::Passed => Outcome::Passed,
            Known::Pending => Outcome::Skipped(Skip::default()),
            Known::Failed => Outcome::Failed(problem.failure()),
            Known::FailedSilently => silent("failed, and the report does not say why"),
            Known::Nowhere => silent("the report counts it neither as passed nor as pending"),
        };
        self.passed += u64::from(known == Known::Passed);
        self.failed += u64::from(matches!(outcome, Outcome::Failed(_)));
        let attempt = Attempt {
            outcome,
            duration: test.duration.and_then(number::from_millis),
            ..Attempt::default()
        };
        sink.event(&Event::CaseFinished { case, attempt, again });
    }

    /// What the document counts against what is in it.
    fn compare(&self, stats: &Stats<'_>, sink: &mut dyn Sink) {
        let tool = Tool {
            framework: "",
            started: Timestamp::parse(&stats.start),
            duration: stats.duration.and_then(number::from_millis),
        };
        sink.event(&Event::Tool(tool));
        if self.unreadable {
            return;
        }
        if stats.failures.is_some_and(|failures| failures > 0) && self.failed == 0 {
            let message = "the report counts failures, but none of its tests failed";
            return sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
        let claims = [
            (stats.tests, self.tests, "tests"),
            (stats.passes, self.passed, "passes"),
            (stats.failures, self.failed, "failures"),
        ];
        for (claimed, read, what) in claims {
            if let Some(claimed) = claimed.filter(|&claimed| claimed != read) {
                let message = format!("the report counts {claimed} {what}, but has {read}");
                sink.note(Note::new(NoteKind::Count, message));
            }
        }
    }
}

/// Takes one of a key, if there is one.
fn take(counts: &mut HashMap<u64, u32>, key: u64) -> bool {
    match counts.get_mut(&key) {
        Some(count) if *count > 1 => {
            *count -= 1;
            true
        }
        Some(_) => counts.remove(&key).is_some(),
        None => false,
    }
}

/// Tells of the attempts before the last, of which nothing is known but that they failed.
fn tell_earlier(case: &Case<'_>, retries: u64, sink: &mut dyn Sink) -> bool {
    let failure = Failure {
        message: "an earlier attempt failed, and the report does not say why",
        ..Failure::default()
    };
    for index in 0..retries.min(MAX_ATTEMPTS) {
        let attempt = Attempt { outcome: Outcome::Failed(failure), ..Attempt::default() };
        sink.event(&Event::CaseFinished { case: *case, attempt, again: index > 0 });
    }
    retries > 0
}

impl Test<'_> {
    fn key(&self) -> u64 {
        let mut text = String::with_capacity(self.full_title.len() + self.file.len() + 1);
        for part in [&*self.full_title, "\0", &*self.file] {
            text.push_str(part);
        }
        xxh3_64(text.as_bytes())
    }

    fn has_error(&self) -> bool {
        let is_empty = |raw: &RawValue| {
            raw.get() == "null" || raw.get().trim_matches(['{', '}']).trim_ascii().is_empty()
        };
        self.err.is_some_and(|raw| !is_empty(raw))
    }
}

/// The error of a test, in texts that last.
struct Problem {
    kind: FailureKind,
    name: String,
    message: String,
    stack: String,
    expected: Option<String>,
    actual: Option<String>,
}

impl Problem {
    fn new(raw: Option<&RawValue>) -> Self {
        let json = raw.map_or("{}", RawValue::get);
        let thrown = serde_json::from_str(json)
            .unwrap_or_else(|_| Thrown { message: Text(json.into()), ..Thrown::default() });
        let is_timeout = thrown.code.map(RawValue::get) == Some("\"ERR_MOCHA_TIMEOUT\"");
        Self {
            kind: if is_timeout { FailureKind::Timeout } else { FailureKind::Failure },
            name: thrown.name.0.into_owned(),
            message: strip_ansi(&thrown.message).trim_end().to_owned(),
            stack: strip_ansi(&thrown.stack).into_owned(),
            expected: thrown.expected.map(json::plain),
            actual: thrown.actual.map(json::plain),
        }
    }

    fn failure(&self) -> Failure<'_> {
        let from_stack = failure::from_text(self.kind, &self.stack);
        let (message, details) = if self.message.is_empty() {
            (from_stack.message, from_stack.details)
        } else {
            failure::first_paragraph(&self.message)
        };
        Failure {
            message: if message.is_empty() {
                "failed, and the report does not say why"
            } else {
                message
            },
            details,
            type_name: if self.name.is_empty() { from_stack.type_name } else { &self.name },
            expected: self.expected.as_deref().or(from_stack.expected),
            actual: self.actual.as_deref().or(from_stack.actual),
            ..from_stack
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SkipKind;

    #[derive(Default)]
    struct Heard(Vec<String>);

    impl Sink for Heard {
        fn event(&mut self, event: &Event<'_>) {
            if let Event::CaseFinished { case, attempt, .. } = event {
                let outcome = match attempt.outcome {
                    Outcome::Passed => "passed",
                    Outcome::Failed(_) => "failed",
                    Outcome::Skipped(Skip { kind: SkipKind::Skipped, .. }) => "skipped",
                    _ => "other",
                };
                self.0.push(format!("{} {outcome}", case.id.name));
            }
        }
    }

    fn read(text: &str) -> Vec<String> {
        let mut heard = Heard::default();
        let mut parser = MochaJson.parser();
        parser.feed(text, &mut heard);
        parser.finish(&mut heard);
        heard.0
    }

    #[test]
    fn without_speed_the_other_lists_decide() {
        let [a, b, c, d] = ["a", "b", "c", "d"]
            .map(|name| format!(r#"{{"title":"{name}","fullTitle":"{name}","err":{{ }}}}"#));
        let whole = format!(
            r#"{{"tests":[{a},{b},{c},{d}],"pending":[{b}],"failures":[{c}],"passes":[{a}]}}"#
        );
        assert_eq!(read(&whole), ["a passed", "b skipped", "c failed", "d failed"]);
        let turned =
            format!(r#"{{"passes":[{a}],"failures":[{c}],"pending":[{b}],"tests":[{a},{b},{c}]}}"#);
        assert_eq!(read(&turned), ["a passed", "b skipped", "c failed"]);
        assert_eq!(read(&whole[..whole.len() - 1]), ["c failed"]);
    }
}
