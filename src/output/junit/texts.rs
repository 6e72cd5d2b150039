//! The texts of a report, kept apart from its markup.
//!
//! `quick_junit` is given a mark in place of each text: a private character, a number, another private
//! character. All else that it writes is its own ASCII, so a mark in its output can be nothing else,
//! whatever characters the texts are made of. The texts are then written, escaped, where the marks are.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::io::Write;

use memchr::{memchr, memmem};
use quick_junit::{Report, TestCase, TestCaseStatus, TestSuite, XmlString};

use crate::model::Clipped;
use crate::output::RenderError;
use crate::output::escape::{XmlAttribute, XmlText};

const OPEN: &str = "\u{e000}";
const CLOSE: &str = "\u{e001}";
/// Longer attributes are cut: readers have limits on the size of a tag.
const MAX_ATTRIBUTE: usize = 1 << 20;

/// The texts that marks stand for.
#[derive(Default)]
pub(super) struct Texts<'a>(Vec<Text<'a>>);

enum Text<'a> {
    Attribute(Cow<'a, str>),
    Content(&'a str),
    Body(Body<'a>),
}

impl<'a> Texts<'a> {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The mark of an attribute's value.
    pub(super) fn attribute(&mut self, text: impl Into<Cow<'a, str>>) -> XmlString {
        self.add_attribute(text.into());
        self.mark()
    }

    /// Adds an attribute's value, for which there is a mark already.
    pub(super) fn add_attribute(&mut self, text: Cow<'a, str>) {
        self.0.push(Text::Attribute(text));
    }

    /// The mark of an element's content, if there is any.
    pub(super) fn content(&mut self, text: &'a str) -> Option<XmlString> {
        (!text.is_empty()).then(|| {
            self.0.push(Text::Content(text));
            self.mark()
        })
    }

    /// The mark of a failure's body, if there is any.
    pub(super) fn body(&mut self, body: Body<'a>) -> Option<XmlString> {
        (!body.is_empty()).then(|| {
            self.0.push(Text::Body(body));
            self.mark()
        })
    }

    /// The mark of the text that was added last.
    fn mark(&self) -> XmlString {
        XmlString::new(format!("{OPEN}{}{CLOSE}", self.0.len() - 1))
    }

    /// Writes `markup` with the texts in place of their marks.
    pub(super) fn write(&self, markup: &[u8], out: &mut dyn Write) -> Result<(), RenderError> {
        let lost = || RenderError::Xml("a text was lost".to_owned());
        let (first, length) = (OPEN.as_bytes()[0], OPEN.len());
        let mut rest = markup;
        while let Some(at) = memchr(first, rest) {
            out.write_all(&rest[..at])?;
            rest = rest.get(at + length..).ok_or_else(lost)?;
            let end = memchr(first, rest).ok_or_else(lost)?;
            let digits = rest[..end].iter();
            let index = digits.fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'));
            write!(out, "{}", self.0.get(index).ok_or_else(lost)?)?;
            rest = rest.get(end + length..).ok_or_else(lost)?;
        }
        out.write_all(rest)?;
        Ok(())
    }
}

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attribute(text) => {
                let Clipped(text) = Clipped::to(text, MAX_ATTRIBUTE);
                XmlAttribute(&text).fmt(f)
            }
            Self::Content(text) => XmlText(text).fmt(f),
            Self::Body(body) => body.fmt(f),
        }
    }
}

/// What a failure's element contains: its message, details and stack trace, each on a line of its own.
#[derive(Clone, Copy)]
pub(super) struct Body<'a> {
    pub(super) message: &'a str,
    pub(super) details: &'a str,
    pub(super) stack_trace: &'a str,
}

impl Body<'_> {
    fn is_empty(&self) -> bool {
        self.message.is_empty() && self.details.is_empty() && self.stack_trace.is_empty()
    }

    /// Where the message ends, the details start and end, and the trace starts, in bytes of what a reader
    /// gets to see.
    pub(super) fn places(&self) -> String {
        let [message, details, _] = self.parts().map(|part| XmlText::filter(part).len());
        let [first, second] = self.breaks().map(usize::from);
        let start = message + first;
        let end = start + details;
        format!("{message} {start} {end} {}", end + second)
    }

    fn parts(&self) -> [&str; 3] {
        let Self { message, details, stack_trace } = *self;
        [message, details, stack_trace]
    }

    /// Whether the parts need a line end between them.
    fn breaks(&self) -> [bool; 2] {
        let parts = self.parts().map(XmlText::filter);
        let ends = |text: &str| !text.is_empty() && !text.ends_with('\n');
        let [message, details, trace] = &parts;
        let first = ends(message) && (!details.is_empty() || !trace.is_empty());
        [first, ends(details) && !trace.is_empty()]
    }
}

impl Display for Body<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [message, details, trace] = self.parts().map(XmlText);
        let [first, second] = self.breaks().map(|needed| if needed { "\n" } else { "" });
        write!(f, "{message}{first}{details}{second}{trace}")
    }
}

/// Markup around something.
pub(super) struct Markup {
    pub(super) before: Vec<u8>,
    pub(super) after: Vec<u8>,
}

/// The markup of a report around its suites.
pub(super) fn around_suites(report: &mut Report) -> Result<Markup, RenderError> {
    report.test_suites = vec![TestSuite::new("")];
    let markup = serialize(report)?;
    split(&markup, b"\n    <testsuite ", b"/>")
}

/// The markup of a suite around its cases.
pub(super) fn around_cases(mut suite: TestSuite) -> Result<Markup, RenderError> {
    suite.test_cases = vec![TestCase::new("", TestCaseStatus::success())];
    let mut report = Report::unnamed();
    report.test_suites = vec![suite];
    let markup = serialize(&report)?;
    let inside = cut(&markup, b"\n    <testsuite ", b"\n</testsuites>")?;
    split(inside, b"\n        <testcase ", b"/>")
}

/// The markup of a case.
pub(super) fn of_case(case: TestCase) -> Result<Vec<u8>, RenderError> {
    let mut suite = TestSuite::new("");
    suite.test_cases = vec![case];
    let mut report = Report::unnamed();
    report.test_suites = vec![suite];
    let markup = serialize(&report)?;
    cut(&markup, b"\n        <testcase ", b"\n    </testsuite>").map(<[u8]>::to_vec)
}

fn serialize(report: &Report) -> Result<Vec<u8>, RenderError> {
    let mut markup = Vec::new();
    let written = report.serialize(&mut markup);
    written.map_err(|error| RenderError::Xml(error.to_string()))?;
    Ok(markup)
}

/// From the first `from` to right before the last `to`.
fn cut<'m>(markup: &'m [u8], from: &[u8], to: &[u8]) -> Result<&'m [u8], RenderError> {
    let range = memmem::find(markup, from).zip(memmem::rfind(markup, to));
    let inside = range.and_then(|(start, end)| markup.get(start..end));
    inside.ok_or_else(unexpected)
}

/// What stands before the first `from`, and after the next `to`.
fn split(markup: &[u8], from: &[u8], to: &[u8]) -> Result<Markup, RenderError> {
    let start = memmem::find(markup, from).ok_or_else(unexpected)?;
    let length = memmem::find(&markup[start..], to).ok_or_else(unexpected)?;
    Ok(Markup {
        before: markup[..start].to_vec(),
        after: markup[start + length + to.len()..].to_vec(),
    })
}

fn unexpected() -> RenderError {
    RenderError::Xml("quick_junit wrote other markup than it used to".to_owned())
}
