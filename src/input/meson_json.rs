//! Meson's `testlog.json`: one test per line, written as each ends.
//!
//! The file does not say when it is over, so it can never stand for a whole run by itself.
//! See <https://mesonbuild.com/Unit-tests.html>.

use std::borrow::Cow;

use serde::Deserialize;

use super::json_lines::{JsonLines, read_line};
use super::{Head, InputFormat, NO_END, Parser, failure, number};
use crate::event::{Event, Sink};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Note, NoteKind, Outcome, Pairs, RunError,
    RunErrorKind, Skip, SkipKind, Timestamp,
};

/// Meson's test log.
pub(super) struct MesonJson;

impl InputFormat for MesonJson {
    fn name(&self) -> &'static str {
        "meson-json"
    }

    fn description(&self) -> &'static str {
        "Meson's testlog.json"
    }

    fn framework(&self) -> &'static str {
        "meson"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.line_has(&["name", "result", "starttime", "returncode"])
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(MesonParser::default())
    }
}

#[derive(Default)]
struct MesonParser {
    lines: JsonLines,
}

impl Parser for MesonParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        self.lines.feed(text, sink, line);
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if self.lines.finish(sink, line) {
            let message = "the log stops in the middle of a line: the report is truncated";
            return sink.error(RunError::new(RunErrorKind::Report, message));
        }
        sink.note(Note::new(NoteKind::Unended, NO_END));
    }
}

/// A test. The environment that Meson adds is none of a report's business and is not read.
#[derive(Deserialize)]
struct Test<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    result: Cow<'a, str>,
    #[serde(default)]
    starttime: Option<f64>,
    #[serde(default)]
    duration: Option<f64>,
    #[serde(default)]
    returncode: Option<i64>,
    #[serde(default)]
    stdout: Option<Cow<'a, str>>,
    #[serde(default)]
    stderr: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    command: Vec<Cow<'a, str>>,
}

fn line(line: &str, number: u64, sink: &mut dyn Sink) {
    let Some(test) = read_line::<Test<'_>>(line, number, sink) else {
        return;
    };
    let (suites, package, name) = split_name(&test.name);
    let suites: Vec<&str> = suites.split('+').filter(|suite| !suite.is_empty()).collect();
    let command = test.command.join(" ");
    let properties = ["command", command.as_str()];
    let (stdout, stderr) =
        (test.stdout.as_deref().unwrap_or_default(), test.stderr.as_deref().unwrap_or_default());
    let message = message(&test.result, test.returncode);
    let case = Case {
        id: CaseId { package, name, ..CaseId::default() },
        tags: List::from(&suites),
        properties: if command.is_empty() { Pairs::default() } else { Pairs::new(&properties[..]) },
        ..Case::default()
    };
    let attempt = Attempt {
        outcome: outcome(&test.result, &message, stdout, stderr),
        duration: test.duration.and_then(number::from_float),
        started: test.starttime.and_then(moment),
        stdout,
        stderr,
    };
    sink.event(&Event::CaseFinished { case, attempt, again: false });
}

/// Suites, project and name of `suite+suite - project:name` or, newer, `project:suite+suite / name`.
fn split_name(full: &str) -> (&str, &str, &str) {
    if let Some((suites, rest)) = full.split_once(" - ")
        && let Some((project, name)) = rest.split_once(':')
        && !suites.contains([':', ' '])
    {
        return (suites, project, name);
    }
    if let Some((home, name)) = full.split_once(" / ")
        && !home.contains(' ')
    {
        let (project, suites) = home.split_once(':').unwrap_or((home, ""));
        return (suites, project, name);
    }
    match full.split_once(':') {
        Some((project, name)) if !project.contains(' ') => ("", project, name),
        _ => ("", "", full),
    }
}

fn message(result: &str, code: Option<i64>) -> String {
    match (result, code) {
        ("TIMEOUT", _) => "the time limit ran out".to_owned(),
        ("INTERRUPT", _) => "interrupted".to_owned(),
        ("UNEXPECTEDPASS", _) => "passed, but was expected to fail".to_owned(),
        (_, Some(code)) if code < 0 => format!("killed by signal {}", code.unsigned_abs()),
        (_, Some(code)) => format!("exit status {code}"),
        (word, None) => format!("result {word}"),
    }
}

fn outcome<'a>(result: &str, message: &'a str, stdout: &'a str, stderr: &'a str) -> Outcome<'a> {
    let skip = |kind| Outcome::Skipped(Skip { kind, reason: "" });
    let kind = match result {
        "OK" => return Outcome::Passed,
        "SKIP" | "IGNORED" => return skip(SkipKind::Skipped),
        "EXPECTEDFAIL" => return skip(SkipKind::ExpectedFailure),
        "FAIL" | "UNEXPECTEDPASS" => FailureKind::Failure,
        "TIMEOUT" => FailureKind::Timeout,
        "INTERRUPT" | "RUNNING" => FailureKind::Crash,
        _ => FailureKind::Error,
    };
    Outcome::Failed(Failure {
        kind,
        message,
        location: failure::locate(stderr).or_else(|| failure::locate(stdout)),
        ..Failure::default()
    })
}

/// A moment in seconds since the epoch, to the microsecond a float can hold.
fn moment(seconds: f64) -> Option<Timestamp> {
    let sensible = seconds.is_finite() && (0.0..9e9).contains(&seconds);
    let micros = (seconds * 1e6).round();
    sensible.then(|| Timestamp::from_nanos((micros as i64).saturating_mul(1_000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_in_both_spellings() {
        for (full, expected) in [
            ("green+smoke - shop:ok", ("green+smoke", "shop", "ok")),
            ("shop:green+smoke / ok", ("green+smoke", "shop", "ok")),
            ("shop:a - b:c", ("", "shop", "a - b:c")),
            ("shop / adds", ("", "shop", "adds")),
            ("plain name", ("", "", "plain name")),
        ] {
            assert_eq!(split_name(full), expected, "{full}");
        }
    }
}
