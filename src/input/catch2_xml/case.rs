//! One case of a Catch2 report, and what its assertions amount to.

use std::fmt::Write as _;
use std::time::Duration;

use crate::input::xml::Tag;
use crate::input::{failure, number};
use crate::model::{Failure, FailureKind, Location, Outcome, Skip, SkipKind};

/// A case, as far as it was read.
#[derive(Default)]
pub(super) struct CaseState {
    pub(super) name: String,
    pub(super) tags: Vec<String>,
    pub(super) file: String,
    pub(super) line: Option<u32>,
    pub(super) problems: Vec<Problem>,
    /// Failures beyond those that are kept.
    pub(super) more: u64,
    pub(super) success: Option<bool>,
    pub(super) skipped: bool,
    pub(super) reason: String,
    pub(super) duration: Option<Duration>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Failures of one case that are kept; a loop may have millions.
pub(super) const MAX_PROBLEMS: usize = 100;

/// An assertion or exception.
#[derive(Default)]
pub(super) struct Problem {
    pub(super) failed: bool,
    pub(super) kind: FailureKind,
    pub(super) macro_name: String,
    pub(super) original: String,
    pub(super) expanded: String,
    pub(super) words: String,
    pub(super) file: String,
    pub(super) line: Option<u32>,
    pub(super) sections: String,
    pub(super) infos: Vec<String>,
}

impl CaseState {
    pub(super) fn result(&mut self, tag: &Tag<'_>) {
        for (key, value) in tag.attributes() {
            match key {
                "success" => self.success = Some(value == "true"),
                "skips" => self.skipped |= value.trim() != "0",
                "durationInSeconds" => self.duration = number::seconds(value),
                _ => {}
            }
        }
    }

    fn has_tag(&self, wanted: &[&str]) -> bool {
        self.tags.iter().any(|tag| wanted.contains(&tag.as_str()))
    }

    /// The message of the first failure, and all that is known of all of them.
    pub(super) fn texts(&self) -> (String, String) {
        let message = self.problems.first().map(Problem::message);
        let mut details = String::new();
        for problem in &self.problems {
            problem.describe(&mut details);
        }
        if self.more > 0 {
            let _ = writeln!(details, "\n[… {} more failures …]", self.more);
        }
        (message.unwrap_or_default(), details)
    }

    pub(super) fn outcome<'a>(&'a self, whole: bool, texts: &'a (String, String)) -> Outcome<'a> {
        let may_fail = self.has_tag(&["!shouldfail", "!mayfail"]);
        let bare = |kind, message| Outcome::Failed(Failure { kind, message, ..Failure::default() });
        match (self.success, self.problems.first()) {
            (Some(true), Some(_)) if may_fail && whole => Outcome::Skipped(Skip {
                kind: SkipKind::ExpectedFailure,
                reason: failure::first_line(&texts.0),
            }),
            (_, Some(first)) => Outcome::Failed(self.failure(first, texts)),
            (None, None) => bare(FailureKind::Crash, "the report ends before this case does"),
            (Some(true), None) if !whole => {
                bare(FailureKind::Crash, "the report ends before this case does")
            }
            (Some(true), None) if self.skipped => {
                Outcome::Skipped(Skip { kind: SkipKind::Skipped, reason: &self.reason })
            }
            (Some(true), None) => Outcome::Passed,
            (Some(false), None) if self.has_tag(&["!shouldfail"]) => {
                bare(FailureKind::Failure, "expected to fail, but passed")
            }
            (Some(false), None) => {
                bare(FailureKind::Failure, "failed, and the report does not say why")
            }
        }
    }

    fn failure<'a>(&'a self, first: &'a Problem, texts: &'a (String, String)) -> Failure<'a> {
        let kind = self.problems.iter().map(|problem| problem.kind).max();
        let (expected, actual) = first.values();
        Failure {
            kind: kind.unwrap_or_default(),
            message: &texts.0,
            type_name: &first.macro_name,
            details: &texts.1,
            stack_trace: "",
            expected,
            actual,
            location: (!first.file.is_empty()).then_some(Location {
                file: &first.file,
                line: first.line,
                column: None,
            }),
        }
    }
}

impl Problem {
    fn message(&self) -> String {
        if self.original.is_empty() {
            return match (self.words.as_str(), self.kind) {
                ("", FailureKind::Failure) => "explicit failure".to_owned(),
                ("", _) => "unexpected exception".to_owned(),
                (words, _) => words.to_owned(),
            };
        }
        let macro_name = self.macro_name.as_str();
        let mut message = if macro_name.is_empty() {
            self.original.clone()
        } else {
            format!("{macro_name}( {} )", self.original)
        };
        if !self.words.is_empty() {
            let _ = write!(message, "\nunexpected: {}", self.words);
        } else if self.expanded != self.original {
            let _ = write!(message, "\nwith expansion: {}", self.expanded);
        }
        message
    }

    fn describe(&self, details: &mut String) {
        if !details.is_empty() {
            details.push('\n');
        }
        let line = self.line.map_or(String::new(), |line| format!(":{line}"));
        let _ = write!(details, "{}{line}", self.file);
        if !self.sections.is_empty() {
            let _ = write!(details, " in {}", self.sections);
        }
        details.push('\n');
        details.push_str(&self.message());
        details.push('\n');
        for info in &self.infos {
            let _ = writeln!(details, "info: {info}");
        }
    }

    /// The sides of a plain `==`: by custom the left one is what was computed.
    fn values(&self) -> (Option<&str>, Option<&str>) {
        let plain = matches!(self.macro_name.as_str(), "CHECK" | "REQUIRE")
            && self.words.is_empty()
            && self.original.matches("==").count() == 1;
        let sides = self.expanded.split_once("==");
        match sides {
            Some((actual, expected)) if plain && !expected.contains("==") => {
                (Some(expected.trim()), Some(actual.trim()))
            }
            _ => (None, None),
        }
    }
}
