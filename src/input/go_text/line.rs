//! What one line of `go test` is.

use std::time::Duration;

use crate::input::number;

/// A line of the tool's own.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// `=== RUN   TestX`.
    Run(&'a str),
    /// `=== CONT  TestX` or `=== NAME  TestX`: what follows is of this test.
    Goes(&'a str),
    /// `=== PAUSE TestX`.
    Pause,
    Result(Outcome<'a>),
    /// `BenchmarkX-8   10   32 ns/op`: its name and its measure.
    Measured(&'a str, &'a str),
    /// `ok  \tpackage\t0.01s`.
    PackageEnd {
        passed: bool,
        package: &'a str,
        facts: &'a str,
    },
    /// `FAIL\tpackage [build failed]`.
    NotBuilt,
    /// A package without tests.
    NoTests,
    /// `PASS` or `FAIL`: the tests are over, the package is not.
    Over,
    Other,
}

#[derive(Debug, PartialEq)]
pub(super) struct Outcome<'a> {
    /// What was printed before it, without a line end.
    pub(super) before: &'a str,
    pub(super) word: &'a str,
    pub(super) name: &'a str,
    pub(super) duration: Option<Duration>,
}

/// Tells what a line is.
pub(super) fn classify(line: &str) -> Line<'_> {
    match line.as_bytes().first() {
        Some(b'=') => framing(line),
        Some(b'P' | b'F') if matches!(line.trim_end(), "PASS" | "FAIL") => Line::Over,
        Some(b'o') if line.starts_with("ok  \t") => package_end(true, &line[5..]),
        Some(b'F') if line.starts_with("FAIL\t") => package_end(false, &line[5..]),
        Some(b'?') if line.starts_with("?   \t") => Line::NoTests,
        Some(b'\t') if line.contains("\t\tcoverage: ") => Line::NoTests,
        Some(b'B') if line.starts_with("Benchmark") && line.contains("/op") => {
            measured(line).unwrap_or(Line::Other)
        }
        _ => result(line).map_or(Line::Other, Line::Result),
    }
}

fn framing(line: &str) -> Line<'_> {
    let name = line.get(10..).unwrap_or_default().trim();
    match line.get(..10) {
        Some("=== RUN   ") => Line::Run(name),
        Some("=== CONT  " | "=== NAME  ") => Line::Goes(name),
        Some("=== PAUSE ") => Line::Pause,
        _ => Line::Other,
    }
}

fn package_end(passed: bool, rest: &str) -> Line<'_> {
    let rest = rest.trim_end();
    if rest.ends_with("[build failed]") || rest.ends_with("[setup failed]") {
        return Line::NotBuilt;
    }
    let (package, facts) = rest.split_once('\t').unwrap_or((rest, ""));
    let facts = facts.trim_start();
    // A line that is cut ends no package.
    let whole = facts.contains("(cached)")
        || facts
            .split(['\t', ' '])
            .next()
            .is_some_and(|time| time.ends_with('s') && number::seconds(time).is_some());
    if !whole {
        return Line::Other;
    }
    Line::PackageEnd { passed, package, facts }
}

fn measured(line: &str) -> Option<Line<'_>> {
    let (name, measure) = line.split_once([' ', '\t'])?;
    let bare = match name.rsplit_once('-') {
        Some((bare, procs)) if procs.bytes().all(|byte| byte.is_ascii_digit()) => bare,
        _ => name,
    };
    Some(Line::Measured(bare, measure.trim()))
}

fn result(line: &str) -> Option<Outcome<'_>> {
    let at = line.find("--- ")?;
    let (before, rest) = line.split_at(at);
    let (word, rest) = rest[4..].split_once(": ")?;
    if !matches!(word, "PASS" | "FAIL" | "SKIP" | "BENCH") {
        return None;
    }
    let rest = rest.trim_end();
    let timed = rest
        .strip_suffix("s)")
        .and_then(|rest| rest.rsplit_once(" ("))
        .and_then(|(name, time)| Some((name, number::seconds(time)?)));
    let before = if before.trim().is_empty() { "" } else { before };
    match timed {
        Some((name, duration)) => Some(Outcome { before, word, name, duration: Some(duration) }),
        // Benchmarks that fail have no time.
        None if before.is_empty() && word == "FAIL" && !rest.contains(' ') => {
            Some(Outcome { before, word, name: rest, duration: None })
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_behind_output_and_indentation() {
        for (line, before, word, name) in [
            ("--- PASS: TestA (0.00s)", "", "PASS", "TestA"),
            ("    --- FAIL: TestA/b_(1) (1.50s)", "", "FAIL", "TestA/b_(1)"),
            ("100%--- SKIP: TestA (0.00s)", "100%", "SKIP", "TestA"),
            ("--- FAIL: BenchmarkA/b", "", "FAIL", "BenchmarkA/b"),
        ] {
            let Line::Result(outcome) = classify(line) else {
                panic!("{line}");
            };
            assert_eq!((outcome.before, outcome.word, outcome.name), (before, word, name));
        }
        for line in ["--- PASS: TestA", "--- FAIL: TestA (0.0", "--- expected", "---"] {
            assert_eq!(classify(line), Line::Other, "{line}");
        }
    }

    #[test]
    fn a_cut_line_ends_no_package() {
        assert!(matches!(
            classify("ok  \ta/b\t0.004s [no tests to run]"),
            Line::PackageEnd { passed: true, package: "a/b", .. }
        ));
        assert!(matches!(classify("ok  \ta/b\t(cached)"), Line::PackageEnd { .. }));
        for line in ["ok  \ta/b", "ok  \ta/b\t0.00", "FAIL\ta/b\t"] {
            assert_eq!(classify(line), Line::Other, "{line}");
        }
    }
}
