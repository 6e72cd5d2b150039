//! JUnit XML, as Surefire and Jenkins read it, through `quick_junit`.
//!
//! What JUnit has no place for goes into properties that start with `testexec.`; the reader of this crate
//! gets the same run back from them ([`case`] lists those of a case). A suite has `testexec.framework`
//! first of all, then `testexec.suite` for each name of its lineage, `testexec.package` and
//! `testexec.file`. A property of the run's own that would be mistaken for one of these, or for a `tag` or
//! an `attachment`, is called `testexec.property.<name>`.
//!
//! Nothing green comes of a run that is not: what broke outside of any case is an error in a suite called
//! `testexec`, and so is whatever else makes the run red.
//!
//! `quick_junit` deletes tabs and all that follows an unterminated terminal sequence, lets characters
//! through that XML forbids, and wants the whole report in memory. So it makes the markup, case by case,
//! and never sees a text: see [`texts`].

mod case;
mod outside;
mod texts;

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{BufWriter, Write};
use std::time::Duration;

use quick_junit::{Property, TestSuite};

use super::escape::XmlText;
use super::{OutputFormat, RenderError, Report};
use crate::model::{CaseView, FailureKind, Pairs, Source, Suite, Verdict};
use texts::{Markup, Texts};

/// JUnit XML.
pub(super) struct Junit;

/// What properties of our own start with.
const OWN: &str = "testexec.";

impl OutputFormat for Junit {
    fn name(&self) -> &'static str {
        "junit"
    }

    fn description(&self) -> &'static str {
        "JUnit XML, with retries and what testexec adds as properties"
    }

    fn render(&self, report: &Report<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
        let mut out = BufWriter::with_capacity(64 << 10, out);
        let groups = groups(report);
        let outside = super::outside::outside(report);
        let mut counts = Counts::default();
        for group in &groups {
            counts.add(group.counts);
        }
        counts.add(Counts { tests: outside.len(), errors: outside.len(), ..Counts::default() });
        let root = root(report, counts)?;
        out.write_all(&root.before)?;
        let mut templates = Templates::default();
        for group in &groups {
            group.write(&mut templates, &mut out)?;
        }
        outside::write(report, &outside, &mut out)?;
        out.write_all(&root.after)?;
        out.flush()?;
        Ok(())
    }
}

/// A suite and its cases.
struct Group<'a> {
    source: &'a Source,
    suite: Suite<'a>,
    cases: Vec<CaseView<'a>>,
    counts: Counts,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Counts {
    fn add(&mut self, other: Self) {
        let Self { tests, failures, errors, skipped } = other;
        self.tests += tests;
        self.failures += failures;
        self.errors += errors;
        self.skipped += skipped;
    }

    fn count(&mut self, verdict: Verdict) {
        self.tests += 1;
        match verdict {
            Verdict::Passed | Verdict::Flaky => {}
            Verdict::Failed(FailureKind::Failure) => self.failures += 1,
            Verdict::Failed(_) => self.errors += 1,
            Verdict::Skipped(_) | Verdict::NotRun => self.skipped += 1,
        }
    }
}

/// The suites in the order they were first heard of, each with its cases.
fn groups<'a>(report: &Report<'a>) -> Vec<Group<'a>> {
    let mut groups = Vec::new();
    let mut index = HashMap::new();
    for (key, source, suite) in report.run.keyed_suites() {
        index.insert(key, groups.len());
        groups.push(Group { source, suite, cases: Vec::new(), counts: Counts::default() });
    }
    for view in report.run.cases() {
        if let Some(&at) = index.get(&view.suite_key()) {
            let group = &mut groups[at];
            group.counts.count(view.verdict());
            group.cases.push(view);
        }
    }
    groups.retain(|group| !group.cases.is_empty() || !group.is_bare());
    groups
}

/// The root element, around everything else.
fn root(report: &Report<'_>, counts: Counts) -> Result<Markup, RenderError> {
    let mut root = quick_junit::Report::new("testexec");
    let Counts { tests, failures, errors, skipped } = counts;
    (root.tests, root.failures) = (tests, failures);
    (root.errors, root.skipped) = (errors, skipped);
    root.timestamp = report.run.started.and_then(|at| at.to_string().parse().ok());
    root.time = Some(Duration::from_nanos(super::run_duration(report.run)));
    texts::around_suites(&mut root)
}

/// The markup of cases that merely passed: it hangs on nothing but which attributes they have.
type Templates = HashMap<case::Shape, Vec<u8>>;

impl Group<'_> {
    fn is_bare(&self) -> bool {
        let Suite {
            package: _,
            file: _,
            lineage: _,
            hostname,
            started,
            duration,
            properties,
            stdout,
            stderr,
        } = self.suite;
        hostname.is_empty()
            && started.is_none()
            && duration.is_none()
            && properties.is_empty()
            && stdout.is_empty()
            && stderr.is_empty()
    }

    fn write(&self, templates: &mut Templates, out: &mut dyn Write) -> Result<(), RenderError> {
        let mut texts = Texts::default();
        let markup = texts::around_cases(self.element(&mut texts))?;
        texts.write(&markup.before, out)?;
        let mut texts_of_case = Texts::default();
        for view in &self.cases {
            texts_of_case.clear();
            let Some(shape) = case::plain(view, &mut texts_of_case) else {
                let markup = texts::of_case(case::element(view, &mut texts_of_case))?;
                texts_of_case.write(&markup, out)?;
                continue;
            };
            let markup = match templates.entry(shape) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    new.insert(texts::of_case(case::element(view, &mut Texts::default()))?)
                }
            };
            texts_of_case.write(markup, out)?;
        }
        texts.write(&markup.after, out)
    }

    /// The suite without its cases.
    fn element<'t>(&'t self, texts: &mut Texts<'t>) -> TestSuite {
        let Suite {
            package,
            file,
            lineage,
            hostname,
            started,
            duration,
            properties,
            stdout,
            stderr,
        } = self.suite;
        let mut element = TestSuite::new(texts.attribute(self.name()));
        let Counts { tests, failures, errors, skipped } = self.counts;
        (element.tests, element.failures) = (tests, failures);
        (element.errors, element.skipped) = (errors, skipped);
        if let Some(started) = started {
            let value = texts.attribute(started.to_string());
            element.extra.insert("timestamp".into(), value);
        }
        if let Some(duration) = duration {
            let value = texts.attribute(seconds(duration));
            element.extra.insert("time".into(), value);
        }
        if !hostname.is_empty() {
            let value = texts.attribute(hostname);
            element.extra.insert("hostname".into(), value);
        }
        let mut own = vec![own(texts, "framework", self.source.framework.as_str())];
        own.extend(lineage.iter().map(|name| self::own(texts, "suite", name)));
        for (fact, value) in [("package", package), ("file", file)] {
            if !value.is_empty() {
                own.push(self::own(texts, fact, value));
            }
        }
        element.add_properties(own);
        element.add_properties(foreign(texts, properties));
        element.system_out = texts.content(stdout);
        element.system_err = texts.content(stderr);
        element
    }

    /// What readers other than ours know the suite by.
    fn name(&self) -> String {
        let Suite { package, file, lineage, .. } = self.suite;
        let names = [lineage.join(" > "), package.to_owned(), file.to_owned()];
        let name = names.into_iter().find(|name| !name.is_empty());
        name.unwrap_or_else(|| "tests".to_owned())
    }
}

/// A property of our own.
fn own<'a>(texts: &mut Texts<'a>, fact: &str, value: impl Into<Cow<'a, str>>) -> Property {
    Property::new(format!("{OWN}{fact}"), texts.attribute(value))
}

/// Properties of the run's own.
fn foreign<'a>(texts: &mut Texts<'a>, properties: Pairs<'a>) -> Vec<Property> {
    let taken = |name: &str| name.starts_with(OWN) || name == "tag" || name == "attachment";
    let property = |(name, value): (&'a str, &'a str)| {
        // A name is looked at as a reader gets to see it.
        let name = if taken(&XmlText::filter(name)) {
            Cow::Owned(format!("{OWN}property.{name}"))
        } else {
            Cow::Borrowed(name)
        };
        Property::new(texts.attribute(name), texts.attribute(value))
    };
    properties.iter().map(property).collect()
}

/// Seconds to the nanosecond, with at least three decimals.
fn seconds(duration: Duration) -> String {
    let mut text = format!("{}.{:09}", duration.as_secs(), duration.subsec_nanos());
    while text.ends_with('0') && !text[..text.len() - 3].ends_with('.') {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TestRun;
    use crate::output::Options;
    use crate::output::sample::{empty, green, render, sample};

    #[test]
    fn runs_look_like_this() {
        let junit = |run: &TestRun| render(&Junit, run, Options::default());
        insta::assert_snapshot!("sample", junit(&sample()));
        insta::assert_snapshot!("empty", junit(&empty()));
        insta::assert_snapshot!("green", junit(&green()));
    }

    #[test]
    fn seconds_have_no_more_decimals_than_needed() {
        let written = |nanos| seconds(Duration::from_nanos(nanos));
        assert_eq!(written(0), "0.000");
        assert_eq!(written(1_500_000_000), "1.500");
        assert_eq!(written(1_234_567_891), "1.234567891");
        assert_eq!(written(12_000_000_100), "12.0000001");
    }
}
