//! Lines that tell how one test ended, in the habits of scripts and console reporters.

use std::time::Duration;

use crate::input::number;

/// What a line says of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Pass,
    Fail,
    Error,
    Skip,
    Todo,
    ExpectedFailure,
}

impl Word {
    /// Whether it makes a run red.
    pub(super) fn is_bad(self) -> bool {
        matches!(self, Self::Fail | Self::Error)
    }
}

/// How a line says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `PASS: name`, `PASS - name`.
    Colon,
    /// `[PASS] name`.
    Bracket,
    /// `✓ name`.
    Mark,
    /// `name ... ok`.
    Trailing,
    /// plenary's `Success || name`.
    Bars,
}

/// A line that tells how a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict<'a> {
    pub(super) word: Word,
    pub(super) style: Style,
    pub(super) indent: usize,
    pub(super) name: &'a str,
    pub(super) reason: &'a str,
    pub(super) duration: Option<Duration>,
}

/// The vocabulary of Automake and `DejaGnu`.
const WORDS: [(&str, Word); 11] = [
    ("PASS", Word::Pass),
    ("FAIL", Word::Fail),
    ("SKIP", Word::Skip),
    ("XFAIL", Word::ExpectedFailure),
    ("KFAIL", Word::ExpectedFailure),
    ("XPASS", Word::Fail),
    ("ERROR", Word::Error),
    ("UNRESOLVED", Word::Error),
    ("UNTESTED", Word::Skip),
    ("UNSUPPORTED", Word::Skip),
    ("TODO", Word::Todo),
];

/// Reads a line without terminal sequences. `marks` tells whether marks are this report's habit.
pub(super) fn read(line: &str, marks: bool) -> Option<Verdict<'_>> {
    let line = line.trim_end();
    let bare = line.trim_start();
    let indent = line.len() - bare.len();
    let (word, style, name) = colon(bare)
        .or_else(|| bracket(bare))
        .or_else(|| mark(bare))
        .or_else(|| bars(bare))
        .or_else(|| trailing(bare))
        .or_else(|| glued(line))
        .or_else(|| if marks && indent > 0 { listed(bare) } else { None })?;
    Verdict::new(word, style, indent, name)
}

/// Whether a line is so clearly a verdict that the text around it is a test report.
pub(super) fn is_clear(line: &str) -> bool {
    read(line, false).is_some_and(|verdict| match verdict.style {
        // Every log has errors.
        Style::Colon | Style::Bracket => verdict.word != Word::Error && verdict.word != Word::Todo,
        Style::Mark | Style::Bars | Style::Trailing => true,
    })
}

impl<'a> Verdict<'a> {
    fn new(word: Word, style: Style, indent: usize, name: &'a str) -> Option<Self> {
        let (name, duration) = split_duration(name.trim());
        let is_skip = matches!(word, Word::Skip | Word::Todo);
        let (name, reason) = if is_skip { split_reason(name) } else { (name, "") };
        (!name.is_empty()).then_some(Self { word, style, indent, name, reason, duration })
    }
}

fn colon(bare: &str) -> Option<(Word, Style, &str)> {
    let end = bare.find(|c: char| !c.is_ascii_uppercase())?;
    let (_, word) = WORDS.iter().find(|(text, _)| *text == &bare[..end])?;
    let rest = &bare[end..];
    let name = rest.strip_prefix(':').or_else(|| rest.strip_prefix(" - "))?;
    Some((*word, Style::Colon, name))
}

/// A verdict after output that did not end its line.
fn glued(line: &str) -> Option<(Word, Style, &str)> {
    // "# PASS:  2" counts.
    if line.starts_with(char::is_whitespace) || line.starts_with('#') {
        return None;
    }
    let marks = [" PASS: ", " FAIL: ", " SKIP: ", " XFAIL: ", " XPASS: "];
    let at = marks.iter().filter_map(|mark| line.find(mark)).min()?;
    colon(&line[at + 1..])
}

fn bracket(bare: &str) -> Option<(Word, Style, &str)> {
    let (inside, name) = bare.strip_prefix('[')?.split_once(']')?;
    let word = match inside.trim() {
        "OK" | "PASS" | "PASSED" => Word::Pass,
        "FAIL" | "FAILED" | "XPASS" => Word::Fail,
        "ERROR" => Word::Error,
        "SKIP" | "SKIPPED" => Word::Skip,
        "XFAIL" => Word::ExpectedFailure,
        "TODO" => Word::Todo,
        _ => return None,
    };
    Some((word, Style::Bracket, name))
}

fn mark(bare: &str) -> Option<(Word, Style, &str)> {
    let first = bare.chars().next()?;
    let word = match first {
        '✓' | '✔' | '√' | '✅' => Word::Pass,
        '✗' | '✘' | '×' | '✖' | '✕' | '❌' => Word::Fail,
        '○' | '↓' => Word::Skip,
        _ => return None,
    };
    let rest = bare[first.len_utf8()..].trim_start_matches('\u{fe0f}');
    rest.starts_with([' ', '\t']).then_some((word, Style::Mark, rest))
}

fn bars(bare: &str) -> Option<(Word, Style, &str)> {
    let (word, name) = bare.split_once("||")?;
    let word = match word.trim() {
        "Success" => Word::Pass,
        "Fail" => Word::Fail,
        "Pending" => Word::Skip,
        _ => return None,
    };
    Some((word, Style::Bars, name))
}

fn trailing(bare: &str) -> Option<(Word, Style, &str)> {
    let at = bare.rfind(" ...")?;
    let (name, word) = (&bare[..at], bare[at + 4..].trim());
    let word = match word {
        "ok" | "OK" | "pass" | "passed" | "PASS" | "PASSED" => Word::Pass,
        "fail" | "failed" | "FAIL" | "FAILED" | "unexpected success" => Word::Fail,
        "error" | "ERROR" => Word::Error,
        "expected failure" => Word::ExpectedFailure,
        word if word.eq_ignore_ascii_case("skip") || word.eq_ignore_ascii_case("skipped") => {
            Word::Skip
        }
        word if word.starts_with("skipped '") || word.starts_with("skipped \"") => Word::Skip,
        _ => return None,
    };
    Some((word, Style::Trailing, name))
}

/// What stands among marks: `- name` is left out, `1) name` failed.
fn listed(bare: &str) -> Option<(Word, Style, &str)> {
    if let Some(name) = bare.strip_prefix("- ") {
        return Some((Word::Skip, Style::Mark, name));
    }
    let (number, name) = bare.split_once(") ")?;
    let is_number = (1..=6).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    is_number.then_some((Word::Fail, Style::Mark, name))
}

/// Splits `gross (12 ms)`.
fn split_duration(name: &str) -> (&str, Option<Duration>) {
    let Some((before, inside)) = name.strip_suffix(')').and_then(|name| name.rsplit_once('('))
    else {
        return (name, None);
    };
    let packed: String = inside.split_whitespace().collect();
    let packed = packed.replace("seconds", "s").replace("sec", "s");
    let starts = packed.starts_with(|c: char| c.is_ascii_digit());
    match number::seconds(&packed) {
        Some(duration) if starts && packed.ends_with('s') => (before.trim_end(), Some(duration)),
        _ => (name, None),
    }
}

/// Splits `coupons (no coupons yet)`; the reason may be just the verdict once more.
fn split_reason(name: &str) -> (&str, &str) {
    match name.strip_suffix(')').and_then(|name| name.rsplit_once(" (")) {
        Some((name, "skipped" | "pending" | "todo")) => (name.trim_end(), ""),
        Some((before, reason)) if !before.trim().is_empty() => (before.trim_end(), reason),
        _ => (name, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_in_the_habits_of_scripts() {
        for (line, word, name) in [
            ("PASS: name: with colon", Word::Pass, "name: with colon"),
            ("FAIL - b", Word::Fail, "b"),
            ("XPASS: fixed", Word::Fail, "fixed"),
            ("[ OK ] order", Word::Pass, "order"),
            ("[  FAILED  ] Cart.adds (3 ms)", Word::Fail, "Cart.adds"),
            ("  ✗ has a date", Word::Fail, "has a date"),
            ("reads words ...   ok", Word::Pass, "reads words"),
            ("test_a (m.T) ... skipped 'no'", Word::Skip, "test_a"),
            ("Success\t||\touter passes\t", Word::Pass, "outer passes"),
            ("no newline PASS: glued", Word::Pass, "glued"),
        ] {
            let read = read(line, false).map(|verdict| (verdict.word, verdict.name));
            assert_eq!(read, Some((word, name)), "{line}");
        }
        for line in [
            "PASS the salt",
            "OK computer",
            "FAIL tests/wrong.sh (exit status: 1)",
            "failed over to the second node",
            "  expected: PASS: x",
            "[INFO] building",
            "checking for gcc... yes",
            "- a point of a list",
            "PASS:",
        ] {
            assert_eq!(read(line, false), None, "{line}");
        }
    }
}
