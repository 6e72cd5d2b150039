//! What one line of TAP is.

use std::borrow::Cow;
use std::time::Duration;

use crate::input::number;

/// One line, without its indentation.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// `TAP version 14`.
    Version(u32),
    /// `1..4`, with the reason of `1..0 # SKIP reason`.
    Plan(u64, Option<&'a str>),
    Point(Point<'a>),
    BailOut(&'a str),
    Pragma,
    /// A comment, with what follows its `#`.
    Comment(&'a str),
    Blank,
    Other,
}

/// A test point.
#[derive(Debug, PartialEq)]
pub(super) struct Point<'a> {
    pub(super) ok: bool,
    pub(super) number: Option<u64>,
    pub(super) name: Cow<'a, str>,
    pub(super) directive: Option<(Directive, &'a str)>,
    pub(super) duration: Option<Duration>,
    /// A dash stands before the name, as the specification has it.
    pub(super) dash: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directive {
    Skip,
    Todo,
}

/// Tells what a line is. `line` has no indentation.
pub(super) fn classify(line: &str) -> Line<'_> {
    let bytes = line.as_bytes();
    match bytes.first() {
        None => Line::Blank,
        Some(b'#') => Line::Comment(&line[1..]),
        Some(b'1') => plan(line).unwrap_or(Line::Other),
        Some(b'o' | b'n') => point(line).map_or(Line::Other, Line::Point),
        Some(b'T') => line
            .strip_prefix("TAP version ")
            .and_then(|version| version.trim().parse().ok())
            .map_or(Line::Other, Line::Version),
        Some(b'B') => line
            .strip_prefix("Bail out!")
            .map_or(Line::Other, |reason| Line::BailOut(reason.trim())),
        Some(b'p') if is_pragma(line) => Line::Pragma,
        _ => Line::Other,
    }
}

fn is_pragma(line: &str) -> bool {
    line.strip_prefix("pragma ").is_some_and(|rest| rest.starts_with(['+', '-']))
}

fn plan(line: &str) -> Option<Line<'_>> {
    let rest = line.strip_prefix("1..")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    let count = rest[..digits].parse().unwrap_or(u64::MAX);
    let tail = rest[digits..].trim();
    let reason = match tail.strip_prefix('#') {
        None if tail.is_empty() => None,
        None => return None,
        Some(comment) => match directive_word(comment) {
            Some((Directive::Skip, reason)) => Some(reason),
            _ => None,
        },
    };
    Some(Line::Plan(count, reason))
}

fn point(line: &str) -> Option<Point<'_>> {
    let (ok, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    if !(rest.is_empty() || rest.starts_with([' ', '\t', '-'])) {
        return None;
    }
    let (number, rest) = leading_count(rest);
    let bare = rest.trim_start();
    let (dash, text) = match bare.strip_prefix('-') {
        // `-1` and `--flag` are names; `ok 2-name` and `ok - name` have a dash before theirs.
        Some(text) if bare.len() == rest.len() || text.is_empty() => (true, text),
        Some(text) if text.starts_with([' ', '\t', '#']) => (true, text),
        _ => (false, bare),
    };
    let (name, directive) = split_directive(text);
    let (name, duration) = split_time(name.trim());
    Some(Point { ok, number, name: unescape(name), directive, duration, dash })
}

/// The number of a point, which must be followed by a space, a dash or nothing.
fn leading_count(rest: &str) -> (Option<u64>, &str) {
    let bare = rest.trim_start();
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let after = &bare[digits..];
    let ends = after.is_empty() || after.starts_with([' ', '\t', '-']);
    if digits == 0 || bare.len() == rest.len() || !ends {
        return (None, rest);
    }
    (Some(bare[..digits].parse().unwrap_or(u64::MAX)), after)
}

/// Splits a description at the first `#` that is not escaped and begins a directive.
fn split_directive(text: &str) -> (&str, Option<(Directive, &str)>) {
    let mut from = 0;
    while let Some(offset) = text[from..].find('#') {
        let at = from + offset;
        from = at + 1;
        let before = &text[..at];
        let stands_apart = before.is_empty() || before.ends_with(char::is_whitespace);
        if stands_apart && let Some(found) = directive_word(&text[at + 1..]) {
            return (before, Some(found));
        }
    }
    (text, None)
}

/// The directive that the text after a `#` begins with. It must be a whole word.
fn directive_word(comment: &str) -> Option<(Directive, &str)> {
    let comment = comment.trim_start();
    let is_inside = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let end = comment.find(|c| !is_inside(c)).unwrap_or(comment.len());
    let (word, rest) = comment.split_at(end);
    let directive = if word.eq_ignore_ascii_case("skip") || word.eq_ignore_ascii_case("skipped") {
        Directive::Skip
    } else if word.eq_ignore_ascii_case("todo") {
        Directive::Todo
    } else {
        return None;
    };
    Some((directive, rest.strip_prefix(':').unwrap_or(rest).trim()))
}

/// node-tap writes ` # time=2.152ms` behind the names of subtests.
fn split_time(name: &str) -> (&str, Option<Duration>) {
    let Some((before, time)) = name.rsplit_once("# time=") else {
        return (name, None);
    };
    match number::seconds(time) {
        Some(duration) => (before.trim_end(), Some(duration)),
        None => (name, None),
    }
}

/// `\#` and `\\` stand for what is escaped in them.
fn unescape(name: &str) -> Cow<'_, str> {
    if !name.contains("\\#") && !name.contains("\\\\") {
        return Cow::Borrowed(name);
    }
    let mut plain = String::with_capacity(name.len());
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        let escaped = character == '\\' && matches!(characters.peek(), Some('#' | '\\'));
        plain.push(if escaped { characters.next().unwrap_or(character) } else { character });
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_in_all_spellings() {
        for (line, number, name) in [
            ("ok", None, ""),
            ("ok 1", Some(1), ""),
            ("ok 1 - a", Some(1), "a"),
            ("ok 2-b 2", Some(2), "b 2"),
            ("ok-no number 5", None, "no number 5"),
            ("ok - c", None, "c"),
            ("ok -1", None, "-1"),
            ("ok 3 --flag works", Some(3), "--flag works"),
            ("ok 3rd thing", None, "3rd thing"),
            ("ok 99999999999999999999", Some(u64::MAX), ""),
            ("ok 4 - a \\# b \\\\ c", Some(4), "a # b \\ c"),
            ("ok 5 - x # time=2.5ms", Some(5), "x"),
            ("ok 6 - a # b", Some(6), "a # b"),
        ] {
            let Line::Point(point) = classify(line) else {
                panic!("{line}");
            };
            assert_eq!((point.number, point.name.as_ref()), (number, name), "{line}");
        }
        for line in ["okay", "not okay", "nothing", "ok,", "1..", "1..x", "1..2 a"] {
            assert_eq!(classify(line), Line::Other, "{line}");
        }
    }

    #[test]
    fn directives_are_whole_words() {
        for (line, directive) in [
            ("ok 1 # SKIP", Some((Directive::Skip, ""))),
            ("ok 1 - # Skipped: why", Some((Directive::Skip, "why"))),
            ("ok-# skip w", Some((Directive::Skip, "w"))),
            ("not ok 1 a #todo", Some((Directive::Todo, ""))),
            ("ok 1 a # b # TODO c", Some((Directive::Todo, "c"))),
            ("ok 1 # Todo_list", None),
            ("ok 1 # todo-list", None),
            ("ok 1 \\# TODO x", None),
            ("ok 1 a#SKIP", None),
        ] {
            let Line::Point(point) = classify(line) else {
                panic!("{line}");
            };
            assert_eq!(point.directive, directive, "{line}");
        }
    }
}
