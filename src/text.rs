//! Small pure helpers for text that came from tests: terminal sequences and control characters.

#![deny(clippy::disallowed_methods)]

use std::borrow::Cow;

/// The longest string a terminal sequence may carry before it is taken for text after all.
const MAX_SEQUENCE: usize = 4096;

/// `text` without terminal sequences.
///
/// A sequence that carries a string (OSC, DCS, …) ends at its terminator, at a newline or after 4 KiB:
/// six bytes in a test's output must not blank the rest of it. Tabs and newlines stay.
pub fn strip_ansi(text: &str) -> Cow<'_, str> {
    // All introducers have one of these bytes, and nearly no text has either.
    if memchr::memchr2(0x1b, 0xc2, text.as_bytes()).is_none()
        || !text.contains(['\u{1b}', '\u{9b}', '\u{9d}', '\u{90}'])
    {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\u{1b}', '\u{9b}', '\u{9d}', '\u{90}']) {
        plain.push_str(&rest[..at]);
        rest = after_sequence(&rest[at..]);
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// What follows the sequence that `text` starts with.
fn after_sequence(text: &str) -> &str {
    let mut characters = text.chars();
    let introducer = match characters.next() {
        Some('\u{1b}') => characters.next().unwrap_or('\0'),
        Some('\u{9b}') => '[',
        _ => ']',
    };
    let rest = characters.as_str();
    match introducer {
        '[' => after_control_sequence(rest),
        ']' | 'P' | 'X' | '^' | '_' => after_string_sequence(rest),
        // Two-byte sequences, and character-set choices of three.
        '(' | ')' | '*' | '+' | '#' | '%' => {
            rest.strip_prefix(|c: char| c.is_ascii_graphic()).unwrap_or(rest)
        }
        c if ('0'..='~').contains(&c) => rest,
        // A lone escape: only the escape goes.
        _ => text.strip_prefix('\u{1b}').unwrap_or(rest),
    }
}

/// Past the parameters (`0`–`?`), intermediates (space–`/`) and the final byte (`@`–`~`).
fn after_control_sequence(rest: &str) -> &str {
    let end = rest.find(|c: char| !(' '..='?').contains(&c)).unwrap_or(rest.len());
    let tail = &rest[end..];
    tail.strip_prefix(|c: char| ('@'..='~').contains(&c)).unwrap_or(tail)
}

fn after_string_sequence(rest: &str) -> &str {
    let limit = rest.floor_char_boundary(MAX_SEQUENCE);
    let ends = ['\u{07}', '\u{9c}', '\n', '\u{1b}', '\u{9b}', '\u{9d}', '\u{90}'];
    match rest[..limit].find(ends) {
        Some(at) => match &rest[at..] {
            tail if tail.starts_with("\u{1b}\\") => &tail[2..],
            tail if tail.starts_with(['\u{07}', '\u{9c}']) => {
                tail.get(1..).unwrap_or_else(|| &tail[2..])
            }
            tail => tail,
        },
        // Not terminated within reason: the introducer goes, the text stays.
        None => rest,
    }
}

/// `text` without terminal sequences, and with control characters dropped.
pub fn strip_controls(text: &str) -> String {
    let plain = strip_ansi(text);
    plain
        .chars()
        .map(|c| if c == '\n' || c == '\t' || c == '\r' { ' ' } else { c })
        .filter(|c| !c.is_control())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_and_text_stays() {
        assert_eq!(strip_ansi("\u{1b}[1;31mred\u{1b}[0m\tend"), "red\tend");
        assert_eq!(strip_ansi("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\!"), "link!");
    }

    #[test]
    fn an_unterminated_sequence_does_not_swallow_the_next_line() {
        assert_eq!(strip_ansi("before \u{1b}]0;x\nAFTER"), "before \nAFTER");
        assert_eq!(strip_ansi("a\u{1b}[31"), "a");
        assert_eq!(strip_ansi("a\u{1b}"), "a");
        assert_eq!(strip_ansi("a\u{9b}31mb\u{9d}0;t\u{9c}c"), "abc");
    }

    #[test]
    fn names_lose_their_controls() {
        assert_eq!(strip_controls("t\u{1b}[31m\u{0}a\nb"), "ta b");
    }
}
