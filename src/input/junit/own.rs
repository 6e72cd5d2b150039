//! What testexec itself adds to a JUnit report, read back without guessing.
//!
//! The properties are described where they are written, in `output/junit`. A suite that has the property
//! `testexec.framework` is testexec's own; nothing else is read this way.

use std::time::Duration;

use super::case::{CaseState, Found, FoundKind};
use super::suite::Suites;
use crate::event::{Event, Sink};
use crate::input::number;
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Location, Outcome, Pairs, RunError,
    RunErrorKind, Skip, SkipKind, Timestamp,
};

/// What such properties start with.
pub(super) const PREFIX: &str = "testexec.";

/// What testexec says of a case in properties.
#[derive(Default)]
pub(super) struct Facts {
    named: Vec<(String, String)>,
    tags: Vec<String>,
    attachments: Vec<String>,
}

impl Facts {
    pub(super) fn clear(&mut self) {
        self.named.clear();
        self.tags.clear();
        self.attachments.clear();
    }

    /// Keeps a property, or gives back the name of one that is not testexec's.
    pub(super) fn take<'n>(&mut self, name: &'n str, value: &str) -> Option<&'n str> {
        match name {
            "tag" => self.tags.push(value.to_owned()),
            "attachment" => {
                let (name, path) = value.split_once('=').unwrap_or(("", value));
                let name = name.replace("%3D", "=").replace("%25", "%");
                self.attachments.extend([name, path.to_owned()]);
            }
            _ => match name.strip_prefix(PREFIX) {
                None => return Some(name),
                Some(fact) => match fact.strip_prefix("property.") {
                    Some(name) => return Some(name),
                    None => self.named.push((fact.to_owned(), value.to_owned())),
                },
            },
        }
        None
    }

    fn get(&self, fact: &str) -> Option<&str> {
        let found = self.named.iter().find(|(name, _)| name == fact);
        found.map(|(_, value)| value.as_str())
    }

    fn of(&self, attempt: usize) -> AttemptFacts<'_> {
        let prefix = match attempt {
            0 => String::new(),
            attempt => format!("{attempt}."),
        };
        AttemptFacts { facts: self, prefix }
    }
}

/// What testexec says of one attempt.
struct AttemptFacts<'a> {
    facts: &'a Facts,
    prefix: String,
}

impl<'a> AttemptFacts<'a> {
    fn get(&self, fact: &str) -> Option<&'a str> {
        self.facts.get(&format!("{}{fact}", self.prefix))
    }

    fn text(&self, fact: &str) -> &'a str {
        self.get(fact).unwrap_or_default()
    }

    fn duration(&self) -> Option<Duration> {
        self.get("time").and_then(number::seconds)
    }

    fn started(&self) -> Option<Timestamp> {
        self.get("timestamp").and_then(Timestamp::parse)
    }

    fn failure(&self, found: &'a Found, body: &'a str) -> Failure<'a> {
        let native = match found.kind {
            FoundKind::Failure => FailureKind::Failure,
            FoundKind::Flaky(kind) | FoundKind::Rerun(kind) => kind,
            FoundKind::Error | FoundKind::Skipped => FailureKind::Error,
        };
        let type_name = found.type_name.as_str();
        let said = self.get("kind").and_then(FailureKind::from_name);
        let meant = type_name.strip_prefix(PREFIX).and_then(FailureKind::from_name);
        let (kind, type_name) = match (said, meant) {
            (Some(kind), _) => (kind, type_name),
            (None, Some(kind)) => (kind, ""),
            (None, None) => (native, type_name),
        };
        let (message, details, stack_trace) = self.body(body);
        Failure {
            kind,
            message: if message.is_empty() { &found.message } else { message },
            type_name,
            details,
            stack_trace,
            expected: self.get("expected"),
            actual: self.get("actual"),
            location: self.get("location").and_then(location),
        }
    }

    /// The message, details and trace in a body.
    fn body(&self, body: &'a str) -> (&'a str, &'a str, &'a str) {
        let Some(places) = self.get("body") else {
            return ("", "", "");
        };
        let mut places = places.split(' ').map(|place| place.parse().ok());
        let mut next = || places.next().flatten().unwrap_or(usize::MAX);
        let (message, start, end, trace) = (next(), next(), next(), next());
        let parts = (body.get(..message), body.get(start..end), body.get(trace..));
        match parts {
            (Some(message), Some(details), Some(trace)) => (message, details, trace),
            // Somebody touched the body.
            _ => ("", body, ""),
        }
    }

    /// An attempt that has no element of its own.
    fn other(&self) -> Attempt<'a> {
        let reason = self.text("reason");
        let outcome = match self.text("outcome") {
            "passed" => Outcome::Passed,
            kind => match SkipKind::from_name(kind) {
                Some(kind) => Outcome::Skipped(Skip { kind, reason }),
                None => Outcome::NotRun,
            },
        };
        Attempt {
            outcome,
            duration: self.duration(),
            started: self.started(),
            stdout: self.text("stdout"),
            stderr: self.text("stderr"),
        }
    }

    fn rerun(&self, found: &'a Found) -> Attempt<'a> {
        Attempt {
            outcome: Outcome::Failed(self.failure(found, &found.exact)),
            duration: self.duration().or(found.duration),
            started: self.started().or(found.started),
            stdout: &found.stdout,
            stderr: &found.stderr,
        }
    }
}

/// `line:column:file`.
fn location(text: &str) -> Option<Location<'_>> {
    let (line, rest) = text.split_once(':')?;
    let (column, file) = rest.split_once(':')?;
    Some(Location { file, line: number::line(line), column: number::line(column) })
}

impl CaseState {
    /// Says what became of a case that testexec wrote, attempt by attempt.
    pub(super) fn emit_own(&self, whole: bool, suites: &mut Suites, sink: &mut dyn Sink) {
        let outcome = self.own_outcome(whole);
        let is_error =
            matches!(outcome, Outcome::Failed(failure) if failure.kind != FailureKind::Failure);
        let failed = matches!(outcome, Outcome::Failed(_));
        suites.count_case(failed, u64::from(failed && !is_error), u64::from(is_error));
        if self.emit_outside(sink) {
            return;
        }
        let facts = &self.own;
        let (package, file) = suites.own_home();
        let case = Case {
            id: CaseId {
                package,
                file,
                suite: suites.lineage(),
                name: facts.get("name").unwrap_or(&self.name),
                parameters: facts.get("parameters").unwrap_or_default(),
            },
            line: self.line.filter(|&line| line > 0),
            tags: List::from(&facts.tags),
            properties: Pairs::new(&self.properties),
            attachments: Pairs::new(&facts.attachments),
        };
        let own = Attempt {
            outcome,
            duration: self.duration,
            started: self.started,
            stdout: &self.stdout,
            stderr: &self.stderr,
        };
        for (index, attempt) in self.own_attempts(own).into_iter().enumerate() {
            sink.event(&Event::CaseFinished { case, attempt, again: index > 0 });
        }
    }

    /// Says what is no case at all. Whether it was such.
    fn emit_outside(&self, sink: &mut dyn Sink) -> bool {
        let Some(found) = self.found.iter().find(|found| found.kind == FoundKind::Error) else {
            return false;
        };
        let Some(type_name) = found.type_name.strip_prefix(PREFIX) else {
            return false;
        };
        if self.own.get("kind").is_some() {
            return false;
        }
        match type_name {
            "verdict" => {}
            "missing" => {
                let count = self.own.get("missing").and_then(|count| count.parse().ok());
                sink.event(&Event::Missing(count.unwrap_or(1)));
            }
            _ => {
                let kind = type_name.strip_prefix("run-error.");
                let Some(kind) = kind.and_then(RunErrorKind::from_name) else {
                    return false;
                };
                let Failure { message, details, .. } = self.own.of(0).failure(found, &found.body);
                let error = RunError::new(kind, message).with_details(details);
                sink.error(error.in_scope(self.own.get("scope").unwrap_or_default()));
            }
        }
        true
    }

    fn own_outcome(&self, whole: bool) -> Outcome<'_> {
        let find =
            |kinds: &[FoundKind]| self.found.iter().find(|found| kinds.contains(&found.kind));
        if let Some(found) = find(&[FoundKind::Failure, FoundKind::Error]) {
            return Outcome::Failed(self.own.of(0).failure(found, &found.body));
        }
        let Some(skip) = find(&[FoundKind::Skipped]) else {
            return if whole { Outcome::Passed } else { super::case::cut_off() };
        };
        let kind = skip.type_name.strip_prefix(PREFIX);
        if kind == Some("not-run") {
            return Outcome::NotRun;
        }
        Outcome::Skipped(Skip {
            kind: kind.and_then(SkipKind::from_name).unwrap_or_default(),
            reason: &skip.message,
        })
    }

    /// The attempts in order.
    fn own_attempts<'a>(&'a self, own: Attempt<'a>) -> Vec<Attempt<'a>> {
        let is_rerun =
            |found: &&Found| matches!(found.kind, FoundKind::Flaky(_) | FoundKind::Rerun(_));
        let mut reruns = self.found.iter().filter(is_rerun);
        let count = reruns.clone().count();
        let mut own = Some(own);
        let mut attempts = Vec::with_capacity(count + 1);
        let usual = match own.map(|own| own.outcome) {
            Some(Outcome::Failed(_)) => "own".to_owned() + &" rerun".repeat(count),
            _ => "rerun ".repeat(count) + "own",
        };
        let order = self.own.get("attempts").unwrap_or(&usual);
        let mut further = 0;
        for word in order.split(' ') {
            if word == "own" {
                attempts.extend(own.take());
                continue;
            }
            further += 1;
            let facts = self.own.of(further);
            match word {
                "rerun" => attempts.extend(reruns.next().map(|found| facts.rerun(found))),
                _ if facts.get("outcome").is_some() => attempts.push(facts.other()),
                _ => {}
            }
        }
        // Whatever the words say, nothing that is there is left out.
        attempts.extend(own);
        attempts.extend(reruns.map(|found| self.own.of(usize::MAX).rerun(found)));
        attempts
    }
}
