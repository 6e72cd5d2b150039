//! What one line of libtest's text is.

use std::time::Duration;

use crate::input::number;

/// A line that means something between `running 3 tests` and `test result:`.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// `running 3 tests`.
    Running(u64),
    /// `test a::b ... ok`.
    Test(Test<'a>),
    /// `a::b --- FAILED`, in place of a dot.
    QuietFailure(&'a str),
    /// `failures:` or `successes:`.
    Heading(&'a str),
    /// `---- a::b stdout ----`.
    Output(&'a str),
    /// `test result: FAILED. 1 passed; …`.
    Result(Counts),
    Other,
}

#[derive(Debug, PartialEq)]
pub(super) struct Test<'a> {
    /// What stands before it in the line, printed by a test.
    pub(super) before: &'a str,
    pub(super) name: &'a str,
    pub(super) end: Option<End<'a>>,
    /// What follows `... ` if that is no result: output, since nothing is captured.
    pub(super) rest: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End<'a> {
    Passed(Option<Duration>),
    Failed(Option<Duration>),
    Ignored(&'a str),
    /// It may fail, and did.
    Allowed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) ok: bool,
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) ignored: u64,
    pub(super) duration: Option<Duration>,
}

/// Tells what a line is. `line` has no terminal sequences.
pub(super) fn classify(line: &str) -> Line<'_> {
    // By far the most lines are results.
    if line.starts_with("test ")
        && line.ends_with(" ... ok")
        && let Some(test) = test(line)
    {
        return Line::Test(test);
    }
    if let Some(count) = running(line) {
        return Line::Running(count);
    }
    if let Some(result) = line.strip_prefix("test result: ") {
        return counts(result).map_or(Line::Other, Line::Result);
    }
    if matches!(line, "failures:" | "successes:") {
        return Line::Heading(line.trim_end_matches(':'));
    }
    if let Some(name) = output_heading(line) {
        return Line::Output(name);
    }
    if let Some(name) = line.strip_suffix(" --- FAILED") {
        return Line::QuietFailure(name);
    }
    test(line).map_or(Line::Other, Line::Test)
}

fn running(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("running ")?;
    let count = rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test"))?;
    count.parse().ok()
}

fn output_heading(line: &str) -> Option<&str> {
    let inside = line.strip_prefix("---- ")?;
    inside.strip_suffix(" stdout ----").or_else(|| inside.strip_suffix(" stderr ----"))
}

fn counts(result: &str) -> Option<Counts> {
    let (word, rest) = result.split_once(". ")?;
    let mut counts = Counts { ok: word == "ok", ..Counts::default() };
    for part in rest.split("; ") {
        let (count, what) = part.split_once(' ')?;
        if count == "finished" {
            counts.duration = number::seconds(what.trim_start_matches("in ").trim());
            continue;
        }
        let count = count.parse().ok()?;
        match what.trim() {
            "passed" => counts.passed = count,
            "failed" => counts.failed = count,
            "ignored" => counts.ignored = count,
            _ => {}
        }
    }
    // The line is whole only if it has all its parts.
    rest.contains("filtered out").then_some(counts)
}

fn test(line: &str) -> Option<Test<'_>> {
    let dots = line.find(" ... ").or_else(|| {
        let bare = line.strip_suffix(" ...")?;
        Some(bare.len())
    })?;
    let head = &line[..dots];
    let rest = line.get(dots + 5..).unwrap_or_default();
    let end = end(rest);
    let start = if head.starts_with("test ") {
        0
    } else {
        // Behind text without a line end only a whole result is believed.
        end?;
        head.rfind("test ")?
    };
    let name = &head[start + 5..];
    if name.is_empty() || (start > 0 && name.contains(' ')) {
        return None;
    }
    Some(Test { before: &line[..start], name, end, rest: if end.is_some() { "" } else { rest } })
}

/// The result that a line ends with.
fn end(text: &str) -> Option<End<'_>> {
    let text = text.trim_end();
    if let Some(reason) = text.strip_prefix("ignored") {
        return match reason.strip_prefix(", ") {
            Some(reason) => Some(End::Ignored(reason)),
            None => reason.is_empty().then_some(End::Ignored("")),
        };
    }
    if text.starts_with("bench:") && text.contains("ns/iter") {
        return Some(End::Passed(None));
    }
    if text == "FAILED (allowed)" || text == "failed (allowed)" {
        return Some(End::Allowed);
    }
    let (word, time) = match text.split_once(' ') {
        Some((word, time)) => {
            let time = time.trim_matches(['<', '>', '(', ')']);
            let known = time == "time limit exceeded";
            if !known && number::seconds(time).is_none() {
                return None;
            }
            (word, number::seconds(time))
        }
        None => (text, None),
    };
    match word {
        "ok" => Some(End::Passed(time)),
        "FAILED" => Some(End::Failed(time)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_of(line: &str) -> Test<'_> {
        match classify(line) {
            Line::Test(test) => test,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn results_are_read_even_behind_output() {
        let test = test_of("no newlinetest a::b ... ok");
        assert_eq!((test.before, test.name), ("no newline", "a::b"));
        assert_eq!(test.end, Some(End::Passed(None)));
        let test = test_of("test a - should panic ... FAILED <0.5s>");
        assert_eq!(test.end, Some(End::Failed(Some(Duration::from_millis(500)))));
        assert_eq!(test_of("test a ... ignored, no x").end, Some(End::Ignored("no x")));
        let test = test_of("test a ... reading");
        assert_eq!((test.end, test.rest), (None, "reading"));
        assert_eq!(test_of("test a ...").end, None);
        for line in ["a test of it ... maybe", "latest ... ok", "test  ... ", "ok"] {
            assert!(!matches!(classify(line), Line::Test(Test { end: Some(_), .. })), "{line}");
        }
    }

    #[test]
    fn a_result_line_must_be_whole() {
        let line = "test result: FAILED. 3 passed; 5 failed; 2 ignored; 0 measured; 1 filtered out; finished in 0.25s";
        let Line::Result(counts) = classify(line) else {
            panic!("{line}");
        };
        assert_eq!((counts.passed, counts.failed, counts.ignored), (3, 5, 2));
        assert_eq!(counts.duration, Some(Duration::from_millis(250)));
        assert_eq!(classify("test result: ok. 3 passed; 5 fai"), Line::Other);
    }
}
