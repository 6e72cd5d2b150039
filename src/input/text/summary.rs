//! Lines that count the tests of a run, in the habits of scripts and console reporters.

/// What a summary counts. What it does not mention is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: Option<u64>,
    pub(super) failed: Option<u64>,
    pub(super) errors: Option<u64>,
    pub(super) skipped: Option<u64>,
    pub(super) total: Option<u64>,
}

impl Counts {
    /// Failures of whatever sort.
    pub(super) fn bad(&self) -> u64 {
        self.failed.unwrap_or(0).saturating_add(self.errors.unwrap_or(0))
    }

    /// Passes, which some summaries leave to be computed.
    pub(super) fn good(&self) -> u64 {
        let rest = || {
            let others = self.bad().saturating_add(self.skipped.unwrap_or(0));
            self.total.unwrap_or(0).saturating_sub(others)
        };
        self.passed.unwrap_or_else(rest)
    }

    /// Takes over what `other` counts.
    pub(super) fn add(&mut self, other: &Self) {
        let one = |mine: &mut Option<u64>, other: Option<u64>| {
            if let Some(other) = other {
                *mine = Some(mine.unwrap_or(0).saturating_add(other));
            }
        };
        one(&mut self.passed, other.passed);
        one(&mut self.failed, other.failed);
        one(&mut self.errors, other.errors);
        one(&mut self.skipped, other.skipped);
        one(&mut self.total, other.total);
    }

    fn slot(&mut self, what: What) -> Option<&mut Option<u64>> {
        Some(match what {
            What::Passed => &mut self.passed,
            What::Failed => &mut self.failed,
            What::Errors => &mut self.errors,
            What::Skipped => &mut self.skipped,
            What::Total => &mut self.total,
            What::Other => return None,
        })
    }
}

/// A line of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// All there is.
    Whole(Counts),
    /// One of mocha's `3 passing`, `1 failing`, `1 pending`; over with the next other line.
    Mocha(Counts),
    /// One of Automake's `# PASS: 2`; over with `# ERROR: 0`.
    Automake(Counts, bool),
    /// One of plenary's `Success: 2`, for the results of one file; over with `Errors : 0`.
    Plenary(Counts, bool),
    /// unittest's `Ran 3 tests in 0.1s`; over with `OK` or `FAILED`.
    Ran(u64),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Passed,
    Failed,
    Errors,
    Skipped,
    Total,
    /// Counted by some, but no tests.
    Other,
}

/// Reads a line without terminal sequences. `ran` is what `Ran … tests` said just before.
pub(super) fn read(line: &str, ran: Option<u64>) -> Option<Line> {
    let line = line.trim();
    if line.len() > 400 {
        return None;
    }
    automake(line)
        .or_else(|| plenary(line))
        .or_else(|| unittest(line, ran))
        .or_else(|| share(line))
        .or_else(|| list(line))
}

fn single(what: What, count: u64) -> Counts {
    let mut counts = Counts::default();
    if let Some(slot) = counts.slot(what) {
        *slot = Some(count);
    }
    counts
}

fn automake(line: &str) -> Option<Line> {
    let (word, count) = line.strip_prefix("# ")?.split_once(':')?;
    let count = count.trim().parse().ok()?;
    let what = match word {
        "TOTAL" => What::Total,
        "PASS" => What::Passed,
        "SKIP" | "XFAIL" => What::Skipped,
        "FAIL" | "XPASS" => What::Failed,
        "ERROR" => What::Errors,
        _ => return None,
    };
    Some(Line::Automake(single(what, count), word == "ERROR"))
}

fn plenary(line: &str) -> Option<Line> {
    let (word, count) = line.split_once(':')?;
    let count = count.trim().parse().ok()?;
    let what = match word.trim_end() {
        "Success" => What::Passed,
        "Failed" => What::Failed,
        "Errors" => What::Errors,
        _ => return None,
    };
    Some(Line::Plenary(single(what, count), what == What::Errors))
}

fn unittest(line: &str, ran: Option<u64>) -> Option<Line> {
    if let Some(rest) = line.strip_prefix("Ran ") {
        let (count, rest) = rest.split_once(" test")?;
        let timed = rest.trim_start_matches('s').starts_with(" in ");
        return timed.then(|| count.parse().ok().map(Line::Ran)).flatten();
    }
    let (word, inside) = match line.split_once(" (") {
        Some((word, inside)) => (word, inside.strip_suffix(')')?),
        None => (line, ""),
    };
    // "OK (3 tests, 3 assertions)" is PHPUnit's, and needs nothing before it.
    let mut counts = Counts::default();
    if !inside.is_empty() {
        counts = parts(inside)?;
    }
    counts.total = counts.total.or(ran);
    counts.total?;
    match word {
        "OK" if counts.bad() == 0 => Some(Line::Whole(counts)),
        "FAILED" if counts.bad() > 0 => Some(Line::Whole(counts)),
        _ => None,
    }
}

/// `1 of 4 tests failed`, `All 3 tests passed`.
fn share(line: &str) -> Option<Line> {
    let bare = line.trim_end_matches(['.', '!']);
    let words: Vec<&str> = bare.split_whitespace().take(6).collect();
    let (count, total, word) = match words.as_slice() {
        [count, "of" | "out", total, "tests" | "test", word] | [count, "of", total, word] => {
            (count.parse().ok()?, total.parse().ok()?, *word)
        }
        [all, total, "tests" | "test", word] if all.eq_ignore_ascii_case("all") => {
            let total = total.parse().ok()?;
            (total, total, *word)
        }
        _ => return None,
    };
    let what = what(word)?;
    let mut counts = single(what, count);
    counts.total = Some(total);
    matches!(what, What::Passed | What::Failed).then_some(Line::Whole(counts))
}

/// `3 passed, 1 failed in 0.1s`, `Tests: 1 failed, 2 total`, `Tests: 5, passed: 2`, `3 examples, 1 failure`.
fn list(line: &str) -> Option<Line> {
    let decorated = |c: char| "=-*#_ \t─━".contains(c);
    let bare = without_time(line.trim_matches(decorated)).trim_end_matches(['.', '!']);
    let bare = without_label(bare);
    let counts = parts(bare)?;
    let only = !bare.contains([',', '|', '/', ';']);
    if only {
        let word = bare.split_whitespace().next_back().unwrap_or_default();
        return match word {
            "passing" | "failing" | "pending" => Some(Line::Mocha(counts)),
            _ if counts.passed.is_some() || counts.failed.is_some() => Some(Line::Whole(counts)),
            _ => None,
        };
    }
    let says = counts.passed.is_some()
        || counts.failed.is_some()
        || (counts.total.is_some() && counts.errors.is_some());
    says.then_some(Line::Whole(counts))
}

/// Reads counts with words, each before or after its number.
fn parts(text: &str) -> Option<Counts> {
    let mut counts = Counts::default();
    for part in text.split([',', '|', '/', ';']) {
        let part = part.trim();
        let part = part.strip_prefix("and ").unwrap_or(part);
        let (what, count) = part_of(part)?;
        if let Some(slot) = counts.slot(what) {
            if slot.is_some() {
                return None;
            }
            *slot = Some(count);
        }
    }
    Some(counts)
}

fn part_of(part: &str) -> Option<(What, u64)> {
    if let Some((word, count)) = part.split_once([':', '=']) {
        return Some((what(word.trim())?, count.trim().parse().ok()?));
    }
    let (count, word) = part.split_once(' ')?;
    let (word, total) = match word.split_once(" (") {
        // vitest's "2 passed (3)".
        Some((word, total)) => (word, Some(total.strip_suffix(')')?)),
        None => (word, None),
    };
    if let Some(total) = total {
        total.parse::<u64>().ok()?;
    }
    Some((what(word.trim())?, count.parse().ok()?))
}

fn what(words: &str) -> Option<What> {
    let lower = words.to_ascii_lowercase();
    let word =
        lower.strip_prefix("tests ").or_else(|| lower.strip_prefix("test ")).unwrap_or(&lower);
    let word = word.strip_suffix(" tests").unwrap_or(word);
    Some(match word {
        "passed" | "pass" | "passing" | "passes" | "success" | "successes" | "succeeded" => {
            What::Passed
        }
        "failed"
        | "fail"
        | "fails"
        | "failing"
        | "failure"
        | "failures"
        | "unexpected successes" => What::Failed,
        "error" | "errors" | "errored" => What::Errors,
        "skipped" | "skip" | "skips" | "pending" | "ignored" | "todo" | "disabled" | "xfailed"
        | "incomplete" => What::Skipped,
        "total" | "tests" | "test" | "examples" | "example" | "runs" | "cases" | "specs" => {
            What::Total
        }
        "assertion" | "assertions" | "warning" | "warnings" | "deselected" | "rerun"
        | "xpassed" | "risky" | "notices" | "deprecations" | "expected failures"
        | "filtered out" => What::Other,
        _ => return None,
    })
}

fn without_time(line: &str) -> &str {
    let timed = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    if let Some((before, rest)) = line.rsplit_once(" in ")
        && timed(rest)
    {
        return before;
    }
    if let Some((before, rest)) = line.rsplit_once(" : ")
        && timed(rest)
    {
        return before;
    }
    match line.strip_suffix(')').and_then(|line| line.rsplit_once(" (")) {
        Some((before, inside)) if timed(inside) && inside.ends_with('s') => before,
        _ => line,
    }
}

/// Without `Tests:`, `Results:`, … before a number and its word.
fn without_label(line: &str) -> &str {
    const LABELS: [&str; 6] = ["Tests", "Results", "Result", "Summary", "Test results", "Totals"];
    for label in LABELS {
        if let Some(rest) = line.strip_prefix(label)
            && rest.starts_with([':', ' '])
        {
            let rest = rest.trim_start_matches([':', ' ']);
            let first = rest.split([',', '|']).next().unwrap_or_default();
            if first.trim().contains(' ') {
                return rest;
            }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(numbers: [i64; 5]) -> Counts {
        let [passed, failed, errors, skipped, total] =
            numbers.map(|number| u64::try_from(number).ok());
        Counts { passed, failed, errors, skipped, total }
    }

    #[test]
    fn summaries_in_the_habits_of_tools() {
        for (line, expected) in [
            ("3 passed, 0 failed", [3, 0, -1, -1, -1]),
            ("===== 1 failed, 3 passed in 0.10s =====", [3, 1, -1, -1, -1]),
            ("Tests:       1 failed, 2 passed, 3 total", [2, 1, -1, -1, 3]),
            ("Tests: 5, passed: 2, failed: 1, errors: 1, skipped: 1", [2, 1, 1, 1, 5]),
            ("Success: 2, Failed: 1, Errors: 0", [2, 1, 0, -1, -1]),
            ("Results: 2 passed, 1 failed", [2, 1, -1, -1, -1]),
            ("1 of 4 tests failed", [-1, 1, -1, -1, 4]),
            ("3 examples, 1 failure, 1 pending", [-1, 1, -1, 1, 3]),
            ("5 successes / 2 failures / 1 error / 0 pending : 0.01 seconds", [5, 2, 1, 0, -1]),
            ("3 runs, 4 assertions, 1 failures, 0 errors, 1 skips", [-1, 1, 0, 1, 3]),
            ("OK (3 tests, 3 assertions)", [-1, -1, -1, -1, 3]),
            ("      Tests  1 failed | 2 passed (3)", [2, 1, -1, -1, -1]),
            ("All 3 tests passed", [3, -1, -1, -1, 3]),
        ] {
            assert_eq!(read(line, None), Some(Line::Whole(counts(expected))), "{line}");
        }
        for line in [
            "Test Suites: 1 failed, 2 total",
            "2 errors generated",
            "3 tests",
            "OK",
            "12 files, 3 passed over",
            "1, 2, 3",
        ] {
            assert_eq!(read(line, None), None, "{line}");
        }
        let failed = read("FAILED (failures=1, errors=2)", Some(7));
        assert_eq!(failed, Some(Line::Whole(counts([-1, 1, 2, -1, 7]))));
    }
}
