//! What the reports for people share: the verdict in words, and the parts of a case in theirs.
//!
//! Nothing here is escaped yet.

use std::time::Duration;

use super::{Report, run_duration};
use crate::judge::Judgement;
use crate::model::{
    Attempt, CaseId, CaseView, Failure, FailureKind, Location, Outcome, RunErrorKind, SkipKind,
    Source, TestRun, Totals, Verdict,
};

/// So many failures are shown in full.
pub(super) const IN_FULL: usize = 50;
/// So many are at least named.
pub(super) const NAMED: usize = 200;

/// A run's verdict in words, without its time: `3 failed, 120 passed, 2 skipped`.
pub(super) fn headline(report: &Report<'_>) -> String {
    let Report { run, judgement, totals, options: _ } = *report;
    let Totals { passed, flaky, failed, errors: _, skipped, not_run } = totals;
    let outside = run.errors().count() as u64;
    let failed = failed.saturating_sub(outside);
    let skipped = skipped.saturating_sub(not_run.saturating_sub(run.missing));
    let mut parts = Vec::new();
    for (count, words) in [
        (outside, plural(outside, "error outside of tests", "errors outside of tests")),
        (failed, "failed"),
        (passed, "passed"),
        (skipped, "skipped"),
        (not_run, "not run"),
    ] {
        match words {
            _ if count == 0 => {}
            "passed" if flaky > 0 => parts.push(format!("{count} passed ({flaky} flaky)")),
            words => parts.push(format!("{count} {words}")),
        }
    }
    let counts = parts.join(", ");
    let word = match judgement {
        Judgement::Passed if passed > 0 => return counts,
        Judgement::Failed if failed > 0 => return counts,
        Judgement::Passed => "Passed".to_owned(),
        Judgement::Failed => "Failed".to_owned(),
        Judgement::Broken => "Broken".to_owned(),
        Judgement::Unreadable => "Report not readable".to_owned(),
        Judgement::NoTests => "No tests ran".to_owned(),
        Judgement::TimedOut => "Time limit hit".to_owned(),
        Judgement::Interrupted(signal) => format!("Stopped by signal {signal}"),
    };
    if counts.is_empty() { word } else { format!("{word}: {counts}") }
}

/// How long the run took, in words.
pub(super) fn run_time(run: &TestRun) -> String {
    time(Duration::from_nanos(run_duration(run)))
}

/// A duration in words: `450 ms`, `12.3 s`, `2 min 5 s`, `1 h 2 min`.
pub(super) fn time(duration: Duration) -> String {
    let (seconds, millis) = (duration.as_secs(), duration.as_millis());
    match seconds {
        0 if millis == 0 && !duration.is_zero() => "under 1 ms".to_owned(),
        0 => format!("{millis} ms"),
        1..60 => format!("{seconds}.{} s", duration.subsec_millis() / 100),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// One or many.
pub(super) fn plural(count: u64, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

/// The name of a case with its parameters.
pub(super) fn name(id: &CaseId<'_>) -> String {
    let CaseId { name, parameters, .. } = id;
    match *parameters {
        "" => (*name).to_owned(),
        parameters => format!("{name} {parameters}"),
    }
}

/// Where a case belongs: its package or file, and the suites around it.
pub(super) fn home(id: &CaseId<'_>) -> String {
    let CaseId { package, file, suite, .. } = *id;
    let first = if package.is_empty() { file } else { package };
    // Some frameworks name the file or the package as a suite as well.
    let suites = suite.iter().filter(|name| *name != first);
    let parts = std::iter::once(first).chain(suites);
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(" > ")
}

/// Where a case belongs, and its name.
pub(super) fn title(id: &CaseId<'_>) -> String {
    let (home, name) = (home(id), name(id));
    if home.is_empty() { name } else { format!("{home} > {name}") }
}

/// Where a case failed, or else where it is: `file:line`.
pub(super) fn place(view: &CaseView<'_>, failure: &Failure<'_>) -> String {
    let case = view.case();
    let own = Location { file: case.id.file, line: case.line, column: None };
    let known = failure.location.filter(|place| !place.file.is_empty());
    let Location { file, line, .. } = known.unwrap_or(own);
    match line {
        _ if file.is_empty() => String::new(),
        Some(line) => format!("{file}:{line}"),
        None => file.to_owned(),
    }
}

/// The word for a sort of failure, as a person says it.
pub(super) fn failure_word(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Failure => "failed",
        FailureKind::Error => "error",
        FailureKind::Timeout => "timed out",
        FailureKind::Crash => "crashed",
    }
}

/// The words for a sort of run error.
pub(super) fn error_words(kind: RunErrorKind) -> &'static str {
    match kind {
        RunErrorKind::Build => "did not build",
        RunErrorKind::Load => "did not load",
        RunErrorKind::Setup => "set-up or tear-down failed",
        RunErrorKind::BailOut => "bailed out",
        RunErrorKind::Crash => "crashed",
        RunErrorKind::Timeout => "timed out",
        RunErrorKind::Contradiction => "contradiction",
        RunErrorKind::Report => "report not readable",
        RunErrorKind::Internal => "testexec itself failed",
    }
}

/// Why a case did not run, in words.
pub(super) fn skip_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Skipped(SkipKind::Todo) => "to do",
        Verdict::Skipped(SkipKind::ExpectedFailure) => "failed as expected",
        Verdict::Skipped(SkipKind::Disabled) => "disabled",
        Verdict::NotRun => "never started",
        _ => "skipped",
    }
}

/// The failures of a run.
pub(super) fn failed(run: &TestRun) -> impl Iterator<Item = CaseView<'_>> {
    run.cases().filter(|view| view.verdict().is_failure())
}

/// The cases of a run that passed and failed.
pub(super) fn flaky(run: &TestRun) -> impl Iterator<Item = CaseView<'_>> {
    run.cases().filter(|view| view.verdict() == Verdict::Flaky)
}

/// The cases of a run that were left out or never started.
pub(super) fn skipped(run: &TestRun) -> impl Iterator<Item = CaseView<'_>> {
    let left_out = |verdict| matches!(verdict, Verdict::Skipped(_) | Verdict::NotRun);
    run.cases().filter(move |view| left_out(view.verdict()))
}

/// What went wrong in an attempt.
pub(super) fn failure_of<'a>(attempt: &Attempt<'a>) -> Failure<'a> {
    match attempt.outcome {
        Outcome::Failed(failure) => failure,
        _ => Failure::default(),
    }
}

/// The first failed attempt at a case: its number and what went wrong.
pub(super) fn first_failure<'a>(view: &CaseView<'a>) -> Failure<'a> {
    let is_failure = |attempt: &Attempt<'_>| matches!(attempt.outcome, Outcome::Failed(_));
    let attempt = view.attempts().find(is_failure).unwrap_or_default();
    failure_of(&attempt)
}

/// The slowest cases, slowest first.
pub(super) fn slowest(run: &TestRun, count: usize) -> Vec<(Duration, CaseView<'_>)> {
    let mut slowest: Vec<(Duration, CaseView<'_>)> = Vec::with_capacity(2 * count + 1);
    for view in run.cases() {
        let times = view.attempts().filter_map(|attempt| attempt.duration);
        let Some(duration) = times.max().filter(|duration| !duration.is_zero()) else {
            continue;
        };
        slowest.push((duration, view));
        if slowest.len() > 2 * count {
            keep_slowest(&mut slowest, count);
        }
    }
    keep_slowest(&mut slowest, count);
    slowest
}

/// Stable, so that equals stay in the order of the run.
fn keep_slowest(slowest: &mut Vec<(Duration, CaseView<'_>)>, count: usize) {
    slowest.sort_by_key(|(duration, _)| std::cmp::Reverse(*duration));
    slowest.truncate(count);
}

/// The lines in which the expected and the actual value differ, marked `-` and `+`, with one line around.
pub(super) fn diff(failure: &Failure<'_>) -> String {
    let (Some(expected), Some(actual)) = (failure.expected, failure.actual) else {
        return String::new();
    };
    let (expected, actual): (Vec<_>, Vec<_>) = (lines(expected), lines(actual));
    let alike = |(one, other): &(&&str, &&str)| one == other;
    let before = expected.iter().zip(&actual).take_while(alike).count();
    let (old, new) = (&expected[before..], &actual[before..]);
    let backwards = old.iter().rev().zip(new.iter().rev());
    let after = backwards.take_while(alike).count();
    let mut text = String::new();
    let mut say = |mark: char, lines: &[&str]| {
        for line in lines {
            text.push(mark);
            text.push_str(line);
            text.push('\n');
        }
    };
    say(' ', &expected[before.saturating_sub(1)..before]);
    say('-', &old[..old.len() - after]);
    say('+', &new[..new.len() - after]);
    say(' ', &old[old.len() - after..][..after.min(1)]);
    text
}

fn lines(text: &str) -> Vec<&str> {
    if text.is_empty() {
        return vec![""];
    }
    text.lines().collect()
}

/// The first `limit` bytes or so of a text, and whether that is not all.
pub(super) fn head(text: &str, limit: usize) -> (&str, bool) {
    if text.len() <= limit {
        return (text, false);
    }
    (&text[..text.floor_char_boundary(limit)], true)
}

/// The last `limit` bytes or so of a text, from a line's start where there is one, and whether that is
/// not all.
pub(super) fn tail(text: &str, limit: usize) -> (&str, bool) {
    if text.len() <= limit {
        return (text, false);
    }
    let tail = &text[text.ceil_char_boundary(text.len() - limit)..];
    let tail = tail.split_once('\n').map_or(tail, |(_, rest)| rest);
    (tail, true)
}

/// A text cut to one that fits a list.
pub(super) fn short(text: &str, limit: usize) -> String {
    let (head, cut) = head(text, limit);
    if cut { format!("{head}…") } else { head.to_owned() }
}

/// A word on how far a run can be trusted, if that is not all the way.
pub(super) fn grade(run: &TestRun) -> Option<&'static str> {
    match run.grade() {
        crate::model::Grade::Structured => None,
        crate::model::Grade::Text => {
            Some("Some results were read from output meant for people, which may leave things out.")
        }
        crate::model::Grade::ExitCode => {
            Some("Nothing but the exit code of the tests was there to tell the result from.")
        }
    }
}

/// How a report that was read is named.
pub(super) fn source(source: &Source) -> String {
    let Source { path, format, framework, grade: _, notes_left_out: _ } = source;
    let mut parts = [format.as_str(), framework.as_str()].to_vec();
    parts.retain(|part| !part.is_empty());
    parts.dedup();
    if parts.is_empty() {
        return path.clone();
    }
    format!("{path} ({})", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_as_people_say_them() {
        for (millis, words) in [
            (0, "0 ms"),
            (450, "450 ms"),
            (12_345, "12.3 s"),
            (125_000, "2 min 5 s"),
            (3_725_000, "1 h 2 min"),
        ] {
            assert_eq!(time(Duration::from_millis(millis)), words);
        }
        assert_eq!(time(Duration::from_nanos(5)), "under 1 ms");
    }

    #[test]
    fn a_diff_shows_what_differs() {
        let diff = |expected, actual| {
            super::diff(&Failure {
                expected: Some(expected),
                actual: Some(actual),
                ..Failure::default()
            })
        };
        assert_eq!(diff("a\nb\nc\nd\ne", "a\nb\nx\nd\ne"), " b\n-c\n+x\n d\n");
        assert_eq!(diff("1", "2"), "-1\n+2\n");
        assert_eq!(diff("a\nb", "a"), " a\n-b\n");
        assert_eq!(diff("a", "a"), " a\n");
        assert_eq!(diff("", "a"), "-\n+a\n");
    }

    #[test]
    fn a_tail_starts_with_a_line() {
        assert_eq!(tail("one\ntwo\nthree\n", 9), ("three\n", true));
        assert_eq!(tail("short", 9), ("short", false));
        assert_eq!(tail("ééééé", 3), ("é", true));
    }
}
