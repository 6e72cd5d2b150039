//! What a failure's text says: its message, its stack trace, the place, the expected and actual values.
//!
//! Frameworks put these into one text each in its own way. Everything here is a guess that only ever
//! adds to a report, and takes time linear in the text.

use crate::model::{Failure, FailureKind, Location};

/// Reads a failure out of the one text a framework gives: its message is the first paragraph, what
/// follows up to the stack trace are the details.
pub(super) fn from_text(kind: FailureKind, text: &str) -> Failure<'_> {
    let (before, stack_trace) = split_trace(text);
    let (message, details) = first_paragraph(before);
    let (expected, actual) = expected_actual(before);
    Failure {
        kind,
        message,
        type_name: type_name(message),
        details,
        stack_trace,
        expected,
        actual,
        location: locate(stack_trace).or_else(|| locate(before)),
    }
}

/// Splits a text after its first paragraph, without the blank lines around the parts.
pub(super) fn first_paragraph(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches(['\n', '\r']).trim_end();
    let (first, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    (first.trim_end(), rest.trim_start_matches(['\n', '\r']))
}

/// The `TypeError` of `TypeError: no`, of `TypeError [ERR_X]: no` too.
pub(super) fn type_name(message: &str) -> &str {
    let Some((before, _)) = message.split_once(':') else {
        return "";
    };
    let name = before.split(' ').next().unwrap_or_default();
    let rest = &before[name.len()..];
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_$.".contains(&byte));
    let is_error = name.ends_with("Error") || name.ends_with("Exception");
    let is_alone = rest.is_empty() || (rest.starts_with(" [") && rest.ends_with(']'));
    if is_name && is_error && is_alone { name } else { "" }
}

/// Splits a failure's text where its stack trace begins: what stands before, and the trace.
pub(super) fn split_trace(text: &str) -> (&str, &str) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if is_frame(line) {
            return (&text[..at], &text[at..]);
        }
        at += line.len();
    }
    (text, "")
}

/// Whether a line is a stack frame, in one of the common spellings.
fn is_frame(line: &str) -> bool {
    let bare = line.trim_start();
    if bare.len() == line.len() && !bare.starts_with("Traceback (most recent call last)") {
        // Ruby's and PHP's frames stand at the margin.
        return bare.starts_with('#') && bare[1..].starts_with(|c: char| c.is_ascii_digit());
    }
    bare.starts_with("Traceback (most recent call last)")
        || (bare.starts_with("File \"") && bare.contains("\", line "))
        || (bare.starts_with("at ")
            && (bare.contains('(') || bare.contains(':') || bare.contains(" in ")))
        || (bare.starts_with("❯ ") && bare.contains(':'))
}

/// The first line of a text that says something.
pub(super) fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

/// Where a failure happened, from its texts: the innermost frame that is the project's own.
pub(super) fn locate(text: &str) -> Option<Location<'_>> {
    let python = text.contains("\", line ");
    let mut found = None;
    let mut foreign = None;
    for line in text.lines() {
        let Some(place) = place_in(line) else {
            continue;
        };
        if is_foreign(place.file) {
            foreign = foreign.or(Some(place));
        } else if python {
            // Python's innermost frame comes last.
            found = Some(place);
        } else {
            return Some(place);
        }
    }
    found.or(foreign)
}

/// The place a line names: `file.py:12`, `File "x", line 12`, `(Cart.java:12)`, `x.cs:line 12`, `a.t line 4`.
pub(super) fn place_in(line: &str) -> Option<Location<'_>> {
    let line = line.trim();
    if line.len() > 4096 {
        return None;
    }
    if let Some((before, number)) = line.split_once("\", line ") {
        let file = before.rsplit('"').next()?;
        return Some(Location { file, line: leading_number(number), column: None });
    }
    if let Some((before, number)) = line.rsplit_once(":line ") {
        let file = before.rsplit_once(" in ").map_or(before, |(_, file)| file);
        return Some(Location { file, line: Some(leading_number(number)?), column: None });
    }
    if let Some((before, number)) = line.rsplit_once(" line ")
        && let Some(file) = before.rsplit_once("at ").map(|(_, file)| file)
        && let Some(number) = leading_number(number)
    {
        return Some(Location { file, line: Some(number), column: None });
    }
    colon_place(line)
}

/// `path:line` or `path:line:column` anywhere in a line.
fn colon_place(line: &str) -> Option<Location<'_>> {
    let mut from = 0;
    while let Some(offset) = line[from..].find(':') {
        let colon = from + offset;
        from = colon + 1;
        let Some(number) = leading_number(&line[from..]).filter(|&number| number > 0) else {
            continue;
        };
        let start =
            line[..colon].rfind(|c: char| " \t([<'\"`,=".contains(c)).map_or(0, |at| at + 1);
        let file = file_name(&line[start..colon])?;
        let digits = line[from..].bytes().take_while(u8::is_ascii_digit).count();
        let column = line[from + digits..].strip_prefix(':').and_then(leading_number);
        return Some(Location { file, line: Some(number), column });
    }
    None
}

/// `text` if it looks like a file: an extension of letters, or a path.
fn file_name(text: &str) -> Option<&str> {
    let text = text.strip_prefix("file://").unwrap_or(text);
    let (stem, extension) = text.rsplit_once('.')?;
    let plausible = (1..=6).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && extension.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !stem.is_empty()
        && !stem.contains("//");
    plausible.then_some(text)
}

fn leading_number(text: &str) -> Option<u32> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

/// Whether a file is a library's or the language's rather than the project's.
pub(super) fn is_foreign(file: &str) -> bool {
    const FOREIGN: [&str; 16] = [
        "node_modules",
        "node:",
        "site-packages",
        "dist-packages",
        "/usr/lib/",
        "/lib/python",
        "/rustc/",
        "/.cargo/",
        "/vendor/",
        "/gems/",
        "/usr/local/go/",
        "/go/src/",
        "jest-circus",
        "internal/",
        "<frozen",
        "Assert.java",
    ];
    FOREIGN.iter().any(|part| file.contains(part))
}

/// The expected and the actual value, where a text names both.
pub(super) fn expected_actual(text: &str) -> (Option<&str>, Option<&str>) {
    let none = (None, None);
    if text.len() > 1 << 20 {
        return none;
    }
    if let Some(values) = but_was(text) {
        return values;
    }
    let value = |line: &str, words: [&str; 2]| {
        let bare = line.trim_start().trim_start_matches(['-', '+']).trim_start();
        let found = words.iter().find_map(|word| bare.strip_prefix(word));
        found.and_then(|rest| rest.trim_start().strip_prefix(':')).map(|_| ())
    };
    let mut expected = None;
    let mut actual = None;
    for line in text.lines() {
        let after = || line.split_once(':').map(|(_, value)| value.trim());
        if expected.is_none() && value(line, ["Expected", "expected"]).is_some() {
            expected = after();
        } else if actual.is_none()
            && (value(line, ["Received", "Actual"]).is_some()
                || value(line, ["But was", "actual"]).is_some())
        {
            actual = after();
        }
    }
    if expected.is_some() && actual.is_some() { (expected, actual) } else { left_right(text) }
}

/// `JUnit`'s `expected: <a> but was: <b>`.
fn but_was(text: &str) -> Option<(Option<&str>, Option<&str>)> {
    let (before, after) = text.split_once("but was:")?;
    let (_, expected) = before.split_once("xpected:")?;
    let bare = |value: &'_ str| -> Option<(usize, usize)> {
        let open = value.find('<')?;
        let close = value.rfind('>')?;
        (open < close).then_some((open + 1, close))
    };
    let (start, end) = bare(expected)?;
    let first = after.lines().next().unwrap_or_default();
    let (from, to) = bare(first)?;
    Some((Some(&expected[start..end]), Some(&first[from..to])))
}

/// Rust's `left: 1` and `right: 2`; by custom the left side is what was computed.
fn left_right(text: &str) -> (Option<&str>, Option<&str>) {
    let find = |word: &str| {
        let value = |line: &'_ str| {
            line.trim_start().strip_prefix(word).map(|rest| line.len() - rest.len())
        };
        text.lines().find_map(|line| value(line).map(|at| line[at..].trim()))
    };
    match (find("left:"), find("right:")) {
        (Some(left), Some(right)) => (Some(right), Some(left)),
        _ => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_the_spellings_of_real_traces() {
        for (line, file, number) in [
            ("tests/test_cart.py:11: AssertionError", "tests/test_cart.py", 11),
            ("  File \"tests/test_cart.py\", line 12, in test_x", "tests/test_cart.py", 12),
            ("\tat com.acme.CartTest.adds(CartTest.java:42)", "CartTest.java", 42),
            ("    at Object.<anonymous> (/builds/cart.test.js:5:33)", "/builds/cart.test.js", 5),
            ("   at Acme.CartTests.Adds() in C:\\src\\Cart.cs:line 7", "C:\\src\\Cart.cs", 7),
            ("#   at t/cart.t line 4.", "t/cart.t", 4),
            ("thread 'main' panicked at src/lib.rs:27:60:", "src/lib.rs", 27),
            ("    cart_test.go:4: want 3, got 2", "cart_test.go", 4),
            ("❯ src/cart.test.ts:9:21", "src/cart.test.ts", 9),
        ] {
            let place = place_in(line).map(|place| (place.file, place.line));
            assert_eq!(place, Some((file, Some(number))), "{line}");
        }
        for line in ["12:30:45 started", "http://example.com:80/x", "ratio 1.5:2", "a:b"] {
            assert_eq!(place_in(line), None, "{line}");
        }
    }

    #[test]
    fn the_projects_own_frame_is_preferred() {
        let trace = "Error: no\n    at expect (/b/node_modules/expect/index.js:1:2)\n    at /b/cart.test.js:9:1\n";
        assert_eq!(locate(trace).map(|place| place.file), Some("/b/cart.test.js"));
    }

    #[test]
    fn values_are_found_in_common_messages() {
        for (text, expected, actual) in [
            ("expected: <3> but was: <2>", "3", "2"),
            ("expected:<[a]b> but was:<[x]b>", "[a]b", "[x]b"),
            ("Expected: 3\nReceived: 2", "3", "2"),
            ("  Expected: 3\n  But was:  2", "3", "2"),
            ("assertion failed\n  left: 2\n right: 3", "3", "2"),
        ] {
            assert_eq!(expected_actual(text), (Some(expected), Some(actual)), "{text}");
        }
        assert_eq!(expected_actual("boom"), (None, None));
    }

    #[test]
    fn one_text_is_taken_apart() {
        let text = "TypeError [ERR_X]: no\n\nExpected: 3\nReceived: 2\n    at f (/b/a.js:4:2)\n";
        let failure = from_text(FailureKind::Failure, text);
        assert_eq!(failure.message, "TypeError [ERR_X]: no");
        assert_eq!(failure.type_name, "TypeError");
        assert_eq!(failure.details, "Expected: 3\nReceived: 2");
        assert_eq!(failure.stack_trace, "    at f (/b/a.js:4:2)\n");
        assert_eq!((failure.expected, failure.actual), (Some("3"), Some("2")));
        assert_eq!(failure.location.and_then(|place| place.line), Some(4));
        assert_eq!(type_name("Error in line 3: no"), "");
    }

    #[test]
    fn a_trace_is_split_from_what_precedes_it() {
        let (details, trace) = split_trace("java.lang.X: no\n\tat a.B.c(B.java:1)\nCaused by: y\n");
        assert_eq!(details, "java.lang.X: no\n");
        assert_eq!(trace, "\tat a.B.c(B.java:1)\nCaused by: y\n");
    }
}
