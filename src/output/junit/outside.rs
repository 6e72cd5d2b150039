//! What makes a run red outside of its cases, as errors in a suite called `testexec`.
//!
//! The `type` says what it is: `testexec.run-error.<kind>` is read back as a run error (its scope is in
//! `testexec.scope`), `testexec.missing` as so many missing cases (`testexec.missing` has the number), and
//! `testexec.verdict` as nothing, since a verdict is derived anew.

use std::io::Write;

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::case::{message, places};
use super::texts::{self, Body, Texts};
use super::{OWN, own};
use crate::output::outside::{Cause, Outside};
use crate::output::{RenderError, Report, framework};

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
    let framework = match framework(report.run) {
        "mixed" | "unknown" => "",
        framework => framework,
    };
    suite.add_property(own(&mut texts, "framework", framework));
    let markup = texts::around_cases(suite)?;
    texts.write(&markup.before, out)?;
    for outside in found {
        let mut texts = Texts::default();
        let element = element(outside, &mut texts);
        texts.write(&texts::of_case(element)?, out)?;
    }
    texts.write(&markup.after, out)
}

fn element<'a>(outside: &'a Outside<'_>, texts: &mut Texts<'a>) -> TestCase {
    let Outside { cause, message: text, details, scope, source } = outside;
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(message(texts, text));
    status.set_type(match cause {
        Cause::Error(kind) => format!("{OWN}run-error.{}", kind.name()),
        Cause::Missing(_) => format!("{OWN}missing"),
        Cause::Verdict => format!("{OWN}verdict"),
    });
    let mut element = TestCase::new(texts.attribute(outside.name()), status);
    element.set_classname("testexec");
    let body = Body { message: text, details, stack_trace: "" };
    if let Some(places) = places(&body) {
        element.add_property(own(texts, "body", places));
    }
    if let Cause::Missing(count) = cause {
        element.add_property(own(texts, "missing", count.to_string()));
    }
    for (fact, value) in [("scope", *scope), ("source", *source)] {
        if !value.is_empty() {
            element.add_property(own(texts, fact, value));
        }
    }
    if let Some(content) = texts.body(body) {
        element.status.set_description(content);
    }
    element
}
