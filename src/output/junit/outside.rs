//! What makes a run red outside of its cases, as errors in a suite called `testexec`.
//!
//! The `type` says what it is: `testexec.run-error.<kind>` is read back as a run error (its scope is in
//! `testexec.scope`), `testexec.missing` as so many missing cases (`testexec.missing` has the number), and
//! `testexec.verdict` as nothing, since a verdict is derived anew.

use std::borrow::Cow;
use std::io::Write;

use quick_junit::TestSuite;

use super::texts::{Body, Texts};
use super::{OWN, case, own, texts};
use crate::judge::Judgement;
use crate::model::{Ending, RunError, RunErrorKind};
use crate::output::{RenderError, Report, framework};

/// Something red outside of any case.
pub(super) struct Outside<'a> {
    name: String,
    type_name: String,
    message: Cow<'a, str>,
    details: &'a str,
    facts: Vec<(&'static str, Cow<'a, str>)>,
}

impl<'a> Outside<'a> {
    fn of_error(error: &'a RunError) -> Self {
        let RunError {
            kind,
            message,
            details,
            scope,
            source,
        } = error;
        let mut facts = Vec::new();
        for (fact, value) in [("scope", scope), ("source", source)] {
            if !value.is_empty() {
                facts.push((fact, Cow::Borrowed(value.as_str())));
            }
        }
        let name = if scope.is_empty() {
            kind.name().to_owned()
        } else {
            format!("{}: {scope}", kind.name())
        };
        Self {
            name,
            type_name: error_type(*kind),
            message: Cow::Borrowed(message),
            details,
            facts,
        }
    }

    fn new(name: &str, type_name: String, message: impl Into<Cow<'a, str>>) -> Self {
        Self {
            name: name.to_owned(),
            type_name,
            message: message.into(),
            details: "",
            facts: Vec::new(),
        }
    }
}

fn error_type(kind: RunErrorKind) -> String {
    format!("{OWN}run-error.{}", kind.name())
}

/// Everything that makes the run red and is no case.
pub(super) fn cases<'a>(report: &Report<'a>) -> Vec<Outside<'a>> {
    let run = report.run;
    let mut found: Vec<_> = run.errors().map(Outside::of_error).collect();
    if run.missing > 0 {
        let message = format!("{} tests were announced and never came", run.missing);
        let mut missing = Outside::new("missing", format!("{OWN}missing"), message);
        missing
            .facts
            .push(("missing", Cow::Owned(run.missing.to_string())));
        found.push(missing);
    }
    let stopped = match run.ending {
        Some(Ending::TimedOut) => {
            Some((RunErrorKind::Timeout, "the time limit was hit".to_owned()))
        }
        Some(Ending::Interrupted(signal)) => {
            Some((RunErrorKind::Crash, format!("stopped by signal {signal}")))
        }
        Some(Ending::Signaled(signal)) => Some((
            RunErrorKind::Crash,
            format!("the test process was killed by signal {signal}"),
        )),
        Some(Ending::Exited(code)) if code != 0 && is_green(report, &found) => Some((
            RunErrorKind::Contradiction,
            format!("no test failed, but the test process exited with {code}"),
        )),
        _ => None,
    };
    if let Some((kind, message)) = stopped {
        found.push(Outside::new(kind.name(), error_type(kind), message));
    }
    if is_green(report, &found) && !report.judgement.is_success() {
        let message = match report.judgement {
            Judgement::NoTests => "no test ran",
            Judgement::Failed => "flaky tests fail the run",
            _ => "the run is no success",
        };
        found.push(Outside::new("verdict", format!("{OWN}verdict"), message));
    }
    found
}

/// Whether a reader would see nothing wrong so far.
fn is_green(report: &Report<'_>, found: &[Outside<'_>]) -> bool {
    report.totals.failed == 0 && found.is_empty()
}

/// Writes the suite, if there is anything in it.
pub(super) fn write(
    report: &Report<'_>,
    found: &[Outside<'_>],
    out: &mut dyn Write,
) -> Result<(), RenderError> {
    if found.is_empty() {
        return Ok(());
    }
    let mut suite = TestSuite::new("testexec");
    (suite.tests, suite.errors) = (found.len(), found.len());
    let mut texts = Texts::default();
    let framework = framework(report.run);
    let known = !matches!(framework, "mixed" | "unknown");
    suite.add_property(own(
        &mut texts,
        "framework",
        if known { framework } else { "" },
    ));
    let markup = texts::around_cases(suite)?;
    texts.write(&markup.before, out)?;
    for outside in found {
        let Outside {
            name,
            type_name,
            message,
            details,
            facts,
        } = outside;
        let mut texts = Texts::default();
        let body = Body {
            message,
            details,
            stack_trace: "",
        };
        let element = case::broken(
            name.clone(),
            type_name.clone(),
            body,
            facts.clone(),
            &mut texts,
        );
        texts.write(&texts::of_case(element)?, out)?;
    }
    texts.write(&markup.after, out)
}
