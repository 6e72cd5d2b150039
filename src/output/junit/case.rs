//! A case as a `<testcase>`: its deciding attempt is the element's own, the others are within it.
//!
//! | property | says |
//! |---|---|
//! | `tag`, `attachment` | a tag; an attachment as `name=path`, with `%25` and `%3D` for `%` and `=` in names |
//! | `testexec.name`, `.parameters` | the two parts of the name, where there are parameters |
//! | `testexec.attempts` | the attempts in order: `own`, `rerun` (the next such element), `other` |
//! | `testexec.kind` | what sort of failure, where the `type` does not say `testexec.<kind>` |
//! | `testexec.body` | where in the body the message ends, the details start and end, the trace starts |
//! | `testexec.expected`, `.actual` | the values |
//! | `testexec.location` | the place of the failure as `line:column:file`, 0 for what is not known |
//! | `testexec.<n>.<fact>` | the same of the n-th attempt that is not the element's own |
//! | `testexec.<n>.time`, `.timestamp` | more exactly than the element of a rerun has them |
//! | `testexec.<n>.outcome`, `.reason`, `.stdout`, `.stderr` | of an `other`, which has no element |

use std::borrow::Cow;

use quick_junit::{
    FlakyOrRerun, NonSuccessKind, Property, TestCase, TestCaseStatus, TestRerun, XmlString,
};

use super::texts::{Body, Texts};
use super::{OWN, foreign, own, seconds};
use crate::model::{
    Attempt, Case, CaseId, CaseView, Clipped, Failure, FailureKind, Location, Outcome, Skip,
    SkipKind, Verdict,
};
use crate::output::escape::XmlText;

/// Longer messages are cut in the attribute, and whole in the body.
const MAX_MESSAGE: usize = 4096;

/// Which attributes a case has.
pub(super) type Shape = [bool; 6];

/// The attributes in the order of the element: name, class, start, time, file, line.
fn attributes<'a>(case: &Case<'a>, attempt: &Attempt<'a>) -> [Option<Cow<'a, str>>; 6] {
    let CaseId { package, file, suite, name, parameters } = case.id;
    let name = if parameters.is_empty() {
        Cow::Borrowed(name)
    } else {
        // Each by itself: a torn terminal sequence must not swallow what follows.
        let [name, parameters] = [name, parameters].map(XmlText::filter);
        Cow::Owned(format!("{name} {parameters}"))
    };
    let class = match (package, file) {
        ("", "") if suite.is_empty() => None,
        ("", "") => Some(Cow::Owned(suite.join("."))),
        ("", file) => Some(Cow::Borrowed(file)),
        (package, _) => Some(Cow::Borrowed(package)),
    };
    [
        Some(name),
        class,
        attempt.started.map(|started| Cow::Owned(started.to_string())),
        attempt.duration.map(|duration| Cow::Owned(seconds(duration))),
        (!file.is_empty()).then_some(Cow::Borrowed(file)),
        case.line.map(|line| Cow::Owned(line.to_string())),
    ]
}

/// Which attributes a case has, and their texts, if it passed and there is nothing else to say.
pub(super) fn plain<'a>(view: &CaseView<'a>, texts: &mut Texts<'a>) -> Option<Shape> {
    let mut attempts = view.attempts();
    let (attempt, 0) = (attempts.next()?, attempts.len()) else {
        return None;
    };
    let case = view.case();
    let mute = attempt.outcome == Outcome::Passed
        && attempt.stdout.is_empty()
        && attempt.stderr.is_empty()
        && case.id.parameters.is_empty()
        && case.tags.is_empty()
        && case.properties.is_empty()
        && case.attachments.is_empty();
    mute.then(|| {
        attributes(&case, &attempt).map(|value| {
            let there = value.is_some();
            if let Some(value) = value {
                texts.add_attribute(value);
            }
            there
        })
    })
}

/// The element of a case.
pub(super) fn element<'a>(view: &CaseView<'a>, texts: &mut Texts<'a>) -> TestCase {
    let attempts: Vec<Attempt<'a>> = view.attempts().collect();
    let deciding = view.deciding_attempt();
    let at = attempts.iter().rposition(|attempt| *attempt == deciding);
    let (own, case) = (at.unwrap_or(0), view.case());
    let mut writer = Writer { texts, properties: Vec::new(), prefix: String::new() };
    let mut element = TestCase::new("", TestCaseStatus::success());
    let [name, class, started, time, file, line] = attributes(&case, &attempts[own])
        .map(|value| value.map(|value| writer.texts.attribute(value)));
    element.name = name.unwrap_or_else(|| "".into());
    element.classname = class;
    let extra = [("timestamp", started), ("time", time), ("file", file), ("line", line)];
    for (name, value) in extra {
        if let Some(value) = value {
            element.extra.insert(name.into(), value);
        }
    }
    writer.case(&case);
    element.status = writer.status(&attempts[own].outcome);
    let is_flaky = matches!(view.verdict(), Verdict::Passed | Verdict::Flaky);
    writer.further(&attempts, own, is_flaky, &mut element.status);
    element.system_out = writer.texts.content(attempts[own].stdout);
    element.system_err = writer.texts.content(attempts[own].stderr);
    element.properties = writer.properties;
    element
}

/// Collects what has no place in the elements as properties.
struct Writer<'t, 'a> {
    texts: &'t mut Texts<'a>,
    properties: Vec<Property>,
    /// Tells the attempt: nothing for the element's own, `<n>.` for others.
    prefix: String,
}

impl<'a> Writer<'_, 'a> {
    fn own(&mut self, fact: &str, value: impl Into<Cow<'a, str>>) {
        let fact = format!("{}{fact}", self.prefix);
        self.properties.push(own(self.texts, &fact, value));
    }

    fn case(&mut self, case: &Case<'a>) {
        let Case { id, line: _, tags, properties, attachments } = *case;
        if !id.parameters.is_empty() {
            self.own("name", id.name);
            self.own("parameters", id.parameters);
        }
        for tag in tags.iter() {
            let property = Property::new("tag", self.texts.attribute(tag));
            self.properties.push(property);
        }
        for (name, path) in attachments.iter() {
            let [name, path] = [name, path].map(XmlText::filter);
            let name = name.replace('%', "%25").replace('=', "%3D");
            let value = format!("{name}={path}");
            let property = Property::new("attachment", self.texts.attribute(value));
            self.properties.push(property);
        }
        self.properties.extend(foreign(self.texts, properties));
    }

    /// What the element's own attempt ended in.
    fn status(&mut self, outcome: &Outcome<'a>) -> TestCaseStatus {
        match outcome {
            Outcome::Passed => TestCaseStatus::success(),
            Outcome::NotRun => {
                let mut status = TestCaseStatus::skipped();
                status.set_type(format!("{OWN}not-run"));
                status
            }
            Outcome::Skipped(Skip { kind, reason }) => {
                let mut status = TestCaseStatus::skipped();
                if !reason.is_empty() {
                    status.set_message(self.texts.attribute(*reason));
                }
                if *kind != SkipKind::Skipped {
                    status.set_type(format!("{OWN}{}", kind.name()));
                }
                status
            }
            Outcome::Failed(failure) => {
                let rerun = self.failed(failure);
                let mut status = TestCaseStatus::non_success(rerun.kind);
                if let TestCaseStatus::NonSuccess { message, ty, description, .. } = &mut status {
                    (*message, *ty, *description) = (rerun.message, rerun.ty, rerun.stack_trace);
                }
                status
            }
        }
    }

    /// The attempts that are not the element's own.
    fn further(
        &mut self,
        attempts: &[Attempt<'a>],
        own: usize,
        is_flaky: bool,
        status: &mut TestCaseStatus,
    ) {
        let mut order = Vec::with_capacity(attempts.len());
        for (index, attempt) in attempts.iter().enumerate() {
            if index == own {
                order.push("own");
                continue;
            }
            self.prefix = format!("{}.", index + usize::from(index < own));
            if let Outcome::Failed(failure) = &attempt.outcome {
                order.push("rerun");
                let rerun = self.rerun(attempt, failure);
                status.add_rerun(rerun);
            } else {
                order.push("other");
                self.other(attempt);
            }
        }
        self.prefix.clear();
        status.set_rerun_kind(if is_flaky { FlakyOrRerun::Flaky } else { FlakyOrRerun::Rerun });
        // Without a word, failures come before the pass that they make flaky, and after a failure.
        let usual = if is_flaky { attempts.len() - 1 } else { 0 };
        if own != usual || order.contains(&"other") {
            self.own("attempts", order.join(" "));
        }
    }

    fn rerun(&mut self, attempt: &Attempt<'a>, failure: &Failure<'a>) -> TestRerun {
        let Attempt { outcome: _, duration, started, stdout, stderr } = *attempt;
        let mut rerun = self.failed(failure);
        rerun.time = duration;
        rerun.timestamp = started.and_then(|started| started.to_string().parse().ok());
        self.times(attempt);
        rerun.system_out = self.texts.content(stdout);
        rerun.system_err = self.texts.content(stderr);
        rerun
    }

    /// The times of an attempt to the nanosecond.
    fn times(&mut self, attempt: &Attempt<'a>) {
        if let Some(duration) = attempt.duration {
            self.own("time", seconds(duration));
        }
        if let Some(started) = attempt.started {
            self.own("timestamp", started.to_string());
        }
    }

    /// An attempt that JUnit has no element for.
    fn other(&mut self, attempt: &Attempt<'a>) {
        let (outcome, reason) = match attempt.outcome {
            Outcome::Skipped(Skip { kind, reason }) => (kind.name(), reason),
            Outcome::NotRun => ("not-run", ""),
            Outcome::Passed | Outcome::Failed(_) => ("passed", ""),
        };
        self.own("outcome", outcome);
        self.times(attempt);
        for (fact, value) in
            [("reason", reason), ("stdout", attempt.stdout), ("stderr", attempt.stderr)]
        {
            if !value.is_empty() {
                self.own(fact, value);
            }
        }
    }

    /// What went wrong in an attempt, as a rerun, and the rest as properties.
    fn failed(&mut self, failure: &Failure<'a>) -> TestRerun {
        let Failure { kind, message, type_name, details, stack_trace, expected, actual, location } =
            *failure;
        let is_native = matches!(kind, FailureKind::Failure | FailureKind::Error);
        let mut rerun = TestRerun::new(if kind == FailureKind::Failure {
            NonSuccessKind::Failure
        } else {
            NonSuccessKind::Error
        });
        if !message.is_empty() {
            rerun.message = Some(self::message(self.texts, message));
        }
        if !type_name.is_empty() {
            rerun.ty = Some(self.texts.attribute(type_name));
        } else if !is_native {
            rerun.ty = Some(format!("{OWN}{}", kind.name()).into());
        }
        let misleading = XmlText::filter(type_name).starts_with(OWN);
        if !type_name.is_empty() && (!is_native || misleading) {
            self.own("kind", kind.name());
        }
        let told = details.contains(message) && message.len() <= MAX_MESSAGE;
        let body = Body { message: if told { "" } else { message }, details, stack_trace };
        if let Some(places) = places(&body) {
            self.own("body", places);
        }
        rerun.stack_trace = self.texts.body(body);
        for (fact, value) in [("expected", expected), ("actual", actual)] {
            if let Some(value) = value {
                self.own(fact, value);
            }
        }
        if let Some(Location { file, line, column }) = location {
            let (line, column) = (line.unwrap_or(0), column.unwrap_or(0));
            self.own("location", format!("{line}:{column}:{file}"));
        }
        rerun
    }
}

/// The attribute for a message.
pub(super) fn message<'a>(texts: &mut Texts<'a>, message: &'a str) -> XmlString {
    texts.attribute(Clipped::to(message, MAX_MESSAGE).0)
}

/// What is where in a body, unless it is a message that the attribute has as well.
pub(super) fn places(body: &Body<'_>) -> Option<String> {
    let has_more = !body.details.is_empty() || !body.stack_trace.is_empty();
    (has_more || body.message.len() > MAX_MESSAGE).then(|| body.places())
}
