//! What the output of a Go test says of its failure, for all formats of `go test`.

use super::failure;
use crate::model::{Failure, FailureKind, Location, RunError, RunErrorKind};

/// What a log line of `testing` begins with: `cart_test.go:12: `.
struct Logged<'a> {
    place: Location<'a>,
    /// Where the text after the place starts in the output.
    from: usize,
    /// Where the text ends, with its further lines.
    to: usize,
}

/// Tells from a failed test's output what went wrong. `from` is where to look first.
pub(super) fn explain(output: &str, from: usize) -> Failure<'_> {
    if let Some(at) = panic_at(output) {
        return panicked(&output[at..]);
    }
    let from = if output.is_char_boundary(from) { from } else { 0 };
    let mut found = Failure::default();
    if let Some((actual, expected)) = example(output) {
        found.message = output.trim();
        (found.actual, found.expected) = (Some(actual), Some(expected));
        return found;
    }
    let logged = logged(output, from).or_else(|| logged(output, 0));
    let Some(logged) = logged else {
        found.message = first_words(output);
        let more = output.trim();
        found.details = if more == found.message { "" } else { more };
        return found;
    };
    let text = &output[logged.from..logged.to];
    found.location = Some(logged.place);
    found.message = message_of(text);
    let further = output[logged.to..].lines().any(|line| log_place(line).is_some());
    if further {
        found.details = output[logged.from..].trim_end();
    } else if text.trim() != found.message {
        found.details = text.trim_end();
    }
    (found.expected, found.actual) = failure::expected_actual(text);
    found
}

/// What a package that failed without a failed test says of itself.
pub(super) fn package_error(package: &str, has_tests: bool, output: &str) -> RunError {
    let kind = if timed_out(output) {
        RunErrorKind::Timeout
    } else if has_tests || panic_at(output).is_some() {
        RunErrorKind::Crash
    } else {
        RunErrorKind::Setup
    };
    let message = match explain(output, 0).message {
        "" => "the package failed, and no test in it did",
        message => message,
    };
    RunError::new(kind, message).with_details(output.trim_end()).in_scope(package)
}

/// The reason in a skipped test's output.
pub(super) fn skip_reason(output: &str) -> &str {
    match logged(output, 0) {
        Some(logged) => output[logged.from..logged.to].trim(),
        None => output.trim(),
    }
}

/// Whether a line says that a test ended: `--- PASS: TestX (0.00s)`, for the test of this name.
pub(super) fn is_result(line: &str, name: &str) -> bool {
    let bare = line.trim_start_matches(' ');
    let Some(rest) = bare.strip_prefix("--- ") else {
        return false;
    };
    ["PASS: ", "FAIL: ", "SKIP: ", "BENCH: "]
        .iter()
        .find_map(|word| rest.strip_prefix(word))
        .and_then(|rest| rest.strip_prefix(name))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\n', '\r', '\\', '-']))
}

/// Where a panic is told of, at the start of a line.
pub(super) fn panic_at(output: &str) -> Option<usize> {
    ["panic: ", "fatal error: "].iter().filter_map(|word| line_with(output, word)).min()
}

/// Where a line begins with `word`.
fn line_with(output: &str, word: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(offset) = output[from..].find(word) {
        let at = from + offset;
        if at == 0 || output[..at].ends_with('\n') {
            return Some(at);
        }
        from = at + word.len();
    }
    None
}

/// Whether the output tells that the time limit ran out.
pub(super) fn timed_out(output: &str) -> bool {
    line_with(output, "panic: test timed out").is_some()
}

fn panicked(text: &str) -> Failure<'_> {
    let message = text.lines().next().unwrap_or_default();
    let message = ["[recovered, repanicked]", "[recovered]"]
        .iter()
        .find_map(|end| message.strip_suffix(end))
        .unwrap_or(message)
        .trim_end();
    let trace = line_with(text, "goroutine ").unwrap_or(text.len());
    let (details, stack_trace) = text.split_at(trace);
    Failure {
        kind: if timed_out(message) { FailureKind::Timeout } else { FailureKind::Crash },
        message,
        type_name: "panic",
        details: details.trim_end(),
        stack_trace,
        location: stack_trace.lines().find_map(test_frame),
        ..Failure::default()
    }
}

/// The place of a frame in a test's own file.
fn test_frame(line: &str) -> Option<Location<'_>> {
    let place = failure::place_in(line).filter(|_| line.starts_with('\t'))?;
    let own = place.file.ends_with("_test.go");
    own.then_some(place)
}

/// `got:` and `want:` of an example.
fn example(output: &str) -> Option<(&str, &str)> {
    let (actual, expected) = output.strip_prefix("got:\n")?.split_once("want:\n")?;
    Some((actual.trim_end(), expected.trim_end()))
}

/// The first log line from `from` on that is a test's own.
fn logged(output: &str, from: usize) -> Option<Logged<'_>> {
    let mut at = from;
    for line in output[from..].split_inclusive('\n') {
        if let Some((place, width)) = log_place(line)
            && place.file != "testing.go"
        {
            let indent = line.len() - line.trim_start_matches(' ').len();
            let more = output[at + line.len()..]
                .split_inclusive('\n')
                .take_while(|next| continues(next, indent))
                .map(str::len)
                .sum::<usize>();
            return Some(Logged { place, from: at + width, to: at + line.len() + more });
        }
        at += line.len();
    }
    None
}

/// Whether a line goes on with what was logged at this indentation.
fn continues(line: &str, indent: usize) -> bool {
    let own = line.len() - line.trim_start_matches(' ').len();
    own >= indent + 4 && log_place(line).is_none_or(|_| own >= indent + 8)
}

/// The place that a log line begins with, and how long it is with its indentation.
fn log_place(line: &str) -> Option<(Location<'_>, usize)> {
    let bare = line.trim_start_matches(' ');
    let (stem, rest) = bare.split_once(".go:")?;
    if stem.is_empty() || stem.contains(char::is_whitespace) {
        return None;
    }
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = rest[..digits].parse().ok()?;
    let text = rest[digits..].strip_prefix(':')?;
    let width = line.len() - text.strip_prefix(' ').unwrap_or(text).len();
    let place = Location { file: &bare[..stem.len() + 3], line: Some(number), column: None };
    Some((place, width))
}

/// What to read first of a logged text: its first line, or testify's `Error:`.
fn message_of(text: &str) -> &str {
    let first = failure::first_line(text);
    if !first.starts_with("Error Trace:") {
        return first;
    }
    let error = text.lines().find_map(|line| line.trim().strip_prefix("Error:"));
    error.map_or(first, str::trim)
}

/// The first line that says something, past rulers.
fn first_words(output: &str) -> &str {
    output
        .lines()
        .map(str::trim)
        .find(|line| !line.trim_matches('=').is_empty())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_line_tells_message_and_place() {
        let failure = explain(
            "printed\n    cart_test.go:17: receipt differs\n        got:\n        apple\nafter\n",
            0,
        );
        assert_eq!(failure.message, "receipt differs");
        assert_eq!(failure.details, "receipt differs\n        got:\n        apple");
        let place = failure.location.map(|place| (place.file, place.line));
        assert_eq!(place, Some(("cart_test.go", Some(17))));
    }

    #[test]
    fn testifys_error_is_the_message() {
        let failure = explain(
            "    a_test.go:9: \n        \tError Trace:\ta_test.go:9\n        \tError:      \tNot equal: \n        \t            \texpected: 1\n        \t            \tactual  : 2\n",
            0,
        );
        assert_eq!(failure.message, "Not equal:");
        assert_eq!((failure.expected, failure.actual), (Some("1"), Some("2")));
    }

    #[test]
    fn a_panic_is_split_from_its_trace() {
        let failure = explain(
            "x\npanic: boom [recovered]\n\tpanic: boom\n\ngoroutine 1 [running]:\nmain.f()\n\t/b/a_test.go:3 +0x1\n",
            0,
        );
        assert_eq!((failure.kind, failure.message), (FailureKind::Crash, "panic: boom"));
        assert!(failure.stack_trace.starts_with("goroutine 1"));
        assert_eq!(failure.location.and_then(|place| place.line), Some(3));
    }
}
