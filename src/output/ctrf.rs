//! The Common Test Report Format, a JSON that many dashboards read.
//!
//! See <https://ctrf.io/docs/full-schema>. Its schema is strict: what it has no member for is in `extra`.
//! Cases are written one by one and last. What broke outside of any case is a failed test of its own.

use std::borrow::Cow;
use std::io::{BufWriter, Write};
use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use super::outside::{Outside, outside};
use super::{OutputFormat, RenderError, Report, framework, run_duration, summary};
use crate::model::{
    Attempt, Case, CaseId, CaseView, Failure, Location, Note, Outcome, Pairs, Skip, SkipKind,
    Timestamp, Verdict,
};
use crate::text::strip_ansi;

/// The Common Test Report Format.
pub(super) struct Ctrf;

impl OutputFormat for Ctrf {
    fn name(&self) -> &'static str {
        "ctrf"
    }

    fn description(&self) -> &'static str {
        "Common Test Report Format (JSON)"
    }

    fn render(&self, report: &Report<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
        let mut out = BufWriter::with_capacity(64 << 10, out);
        let outside = outside(report);
        let head = json!({
            "reportFormat": "CTRF",
            "specVersion": "0.0.0",
            "generatedBy": "testexec",
        });
        write!(out, "{}", head.to_string().trim_end_matches('}'))?;
        let tool = json!({
            "name": "testexec",
            "version": env!("CARGO_PKG_VERSION"),
            "extra": { "framework": framework(report.run) },
        });
        let counts = serde_json::to_string(&Summary::of(report, outside.len() as u64))?;
        write!(out, ",\"results\":{{\"tool\":{tool},\"summary\":{counts}")?;
        write!(out, ",\"extra\":{}", extra(report))?;
        out.write_all(b",\"tests\":[")?;
        let mut separator = "\n";
        for view in report.run.cases() {
            out.write_all(separator.as_bytes())?;
            serde_json::to_writer(&mut out, &Test::of(&view))?;
            separator = ",\n";
        }
        for outside in &outside {
            out.write_all(separator.as_bytes())?;
            serde_json::to_writer(&mut out, &Test::of_outside(outside))?;
            separator = ",\n";
        }
        out.write_all(b"\n]}}\n")?;
        out.flush()?;
        Ok(())
    }
}

#[derive(Default, Serialize)]
struct Summary {
    tests: u64,
    passed: u64,
    failed: u64,
    pending: u64,
    skipped: u64,
    other: u64,
    flaky: u64,
    start: i64,
    stop: i64,
    duration: u64,
}

impl Summary {
    fn of(report: &Report<'_>, outside: u64) -> Self {
        let mut summary = Self {
            tests: outside,
            failed: outside,
            duration: run_duration(report.run) / 1_000_000,
            ..Self::default()
        };
        let mut started = report.run.started;
        for view in report.run.cases() {
            summary.tests += 1;
            let verdict = view.verdict();
            summary.flaky += u64::from(verdict == Verdict::Flaky);
            match status(verdict) {
                "passed" => summary.passed += 1,
                "failed" => summary.failed += 1,
                "pending" => summary.pending += 1,
                _ => summary.skipped += 1,
            }
            if report.run.started.is_none() {
                let starts = view.attempts().filter_map(|attempt| attempt.started);
                started = starts.chain(started).min();
            }
        }
        summary.start = started.map_or(0, epoch_millis);
        let duration = i64::try_from(summary.duration).unwrap_or(i64::MAX);
        summary.stop = summary.start.saturating_add(duration);
        summary
    }
}

fn epoch_millis(moment: Timestamp) -> i64 {
    moment.nanos().div_euclid(1_000_000)
}

/// Passed and failed as they are; what is to do or never started is pending, the rest is skipped.
fn status(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed | Verdict::Flaky => "passed",
        Verdict::Failed(_) => "failed",
        Verdict::Skipped(SkipKind::Todo) | Verdict::NotRun => "pending",
        Verdict::Skipped(_) => "skipped",
    }
}

/// What the format has no member for.
fn extra(report: &Report<'_>) -> serde_json::Value {
    let notes = report.run.notes().map(|note| {
        let Note { kind, message, source } = note;
        json!({ "kind": kind.name(), "message": message, "source": source })
    });
    let reports = report.run.sources().map(|source| source.path.as_str());
    json!({
        "status": report.judgement.status(),
        "grade": report.run.grade().name(),
        "missing": report.run.missing,
        "notes": notes.collect::<Vec<_>>(),
        "reports": reports.collect::<Vec<_>>(),
    })
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Test<'a> {
    #[serde(rename = "testId", skip_serializing_if = "String::is_empty")]
    id: String,
    name: Cow<'a, str>,
    #[serde(flatten)]
    facts: Facts<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suite: Vec<&'a str>,
    raw_status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    file_path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Parameters<'a>>,
    retries: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    retry_attempts: Vec<RetryAttempt<'a>>,
    flaky: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<Attachment<'a>>,
    extra: Extra<'a>,
}

/// What a test and an attempt at it have in common.
#[derive(Default, Serialize)]
struct Facts<'a> {
    status: &'static str,
    duration: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<i64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: Cow<'a, str>,
    #[serde(skip_serializing_if = "String::is_empty")]
    trace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stdout: Vec<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stderr: Vec<Cow<'a, str>>,
}

#[derive(Serialize)]
struct Parameters<'a> {
    value: &'a str,
}

#[derive(Serialize)]
struct RetryAttempt<'a> {
    attempt: usize,
    #[serde(flatten)]
    facts: Facts<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Attachment<'a> {
    name: &'a str,
    content_type: &'static str,
    path: &'a str,
}

/// What the format has no member for.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Extra<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    package: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    error_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    failed_in: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    properties: Vec<[&'a str; 2]>,
    #[serde(skip_serializing_if = "str::is_empty")]
    report: &'a str,
}

impl<'a> Test<'a> {
    fn of(view: &CaseView<'a>) -> Self {
        let Case { id, line, tags, properties, attachments } = view.case();
        let CaseId { package, file, suite, name, parameters } = id;
        let (attempt, verdict) = (view.deciding_attempt(), view.verdict());
        let attempts = view.attempts();
        let retries = attempts.len() - 1;
        let retry_attempts = attempts.enumerate().filter(|_| retries > 0);
        let mut facts = Facts::of(&attempt);
        facts.status = status(verdict);
        let failure = summary::failure_of(&attempt);
        // A line without its file would be one of the case's own file.
        facts.line = match failure.location {
            Some(place) if place.file == file => place.line.or(line),
            _ => line,
        };
        Self {
            id: match view.occurrence() {
                1 => view.identity().to_string(),
                occurrence => format!("{}#{occurrence}", view.identity()),
            },
            name: Cow::Borrowed(if name.is_empty() { "(unnamed)" } else { name }),
            facts,
            suite: suite.iter().collect(),
            raw_status: raw_status(&attempt.outcome),
            tags: tags.iter().collect(),
            file_path: file,
            parameters: (!parameters.is_empty()).then_some(Parameters { value: parameters }),
            retries,
            retry_attempts: retry_attempts
                .map(|(index, attempt)| RetryAttempt {
                    attempt: index + 1,
                    facts: Facts::of(&attempt),
                })
                .collect(),
            flaky: verdict == Verdict::Flaky,
            attachments: attachments.iter().map(Attachment::of).collect(),
            extra: Extra::of(package, &attempt.outcome, properties),
        }
    }

    fn of_outside(outside: &'a Outside<'_>) -> Self {
        let Outside { cause: _, message, details, scope, source } = outside;
        Self {
            name: Cow::Owned(outside.name()),
            facts: Facts {
                status: "failed",
                message: strip_ansi(message),
                trace: strip_ansi(details).into_owned(),
                ..Facts::default()
            },
            suite: vec!["testexec"],
            raw_status: outside.word(),
            file_path: scope,
            extra: Extra { report: source, ..Extra::default() },
            ..Self::default()
        }
    }
}

impl<'a> Facts<'a> {
    fn of(attempt: &Attempt<'a>) -> Self {
        let Attempt { outcome, duration, started, stdout, stderr } = *attempt;
        let duration = duration.map_or(0, whole_millis);
        let mut facts = Self {
            status: status(Verdict::of([outcome])),
            duration,
            start: started.map(epoch_millis),
            stdout: lines(stdout),
            stderr: lines(stderr),
            ..Self::default()
        };
        let ends = |start: i64| start.saturating_add(i64::try_from(duration).unwrap_or(i64::MAX));
        facts.stop = facts.start.map(ends);
        match outcome {
            Outcome::Passed | Outcome::NotRun => {}
            Outcome::Skipped(Skip { kind: _, reason }) => facts.message = strip_ansi(reason),
            Outcome::Failed(failure) => {
                let Failure {
                    kind: _,
                    message,
                    type_name: _,
                    details,
                    stack_trace,
                    expected: _,
                    actual: _,
                    location,
                } = failure;
                facts.message = strip_ansi(message);
                let line_end =
                    if details.is_empty() || details.ends_with('\n') { "" } else { "\n" };
                let (details, trace) = (strip_ansi(details), strip_ansi(stack_trace));
                facts.trace = format!("{details}{line_end}{trace}");
                facts.line = location.and_then(|place| place.line);
            }
        }
        facts
    }
}

impl<'a> Attachment<'a> {
    fn of((name, path): (&'a str, &'a str)) -> Self {
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        let content_type = match extension.to_ascii_lowercase().as_str() {
            "png" => "image/png",
            "jpg" | "jpeg" => "image/jpeg",
            "gif" => "image/gif",
            "svg" => "image/svg+xml",
            "webm" => "video/webm",
            "mp4" => "video/mp4",
            "txt" | "log" => "text/plain",
            "html" => "text/html",
            "json" => "application/json",
            "xml" => "application/xml",
            "zip" => "application/zip",
            _ => "application/octet-stream",
        };
        Self { name, content_type, path }
    }
}

impl<'a> Extra<'a> {
    fn of(package: &'a str, outcome: &Outcome<'a>, properties: Pairs<'a>) -> Self {
        let failure = match *outcome {
            Outcome::Failed(failure) => failure,
            _ => Failure::default(),
        };
        let place = failure.location.map(|place| {
            let Location { file, line: _, column: _ } = place;
            file
        });
        Self {
            package,
            error_type: failure.type_name,
            expected: failure.expected,
            actual: failure.actual,
            failed_in: place.unwrap_or_default(),
            properties: properties.iter().map(|(name, value)| [name, value]).collect(),
            report: "",
        }
    }
}

/// What the report said, in our words.
fn raw_status(outcome: &Outcome<'_>) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed(failure) => failure.kind.name(),
        Outcome::Skipped(skip) => skip.kind.name(),
        Outcome::NotRun => "not-run",
    }
}

fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn lines(output: &str) -> Vec<Cow<'_, str>> {
    output.lines().map(strip_ansi).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TestRun;
    use crate::output::Options;
    use crate::output::sample::{empty, green, render, sample};

    #[test]
    fn runs_look_like_this() {
        let ctrf = |run: &TestRun| {
            let text = render(&Ctrf, run, Options::default());
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            let version = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
            serde_json::to_string_pretty(&value).unwrap().replace(&version, "\"<version>\"")
        };
        insta::assert_snapshot!("sample", ctrf(&sample()));
        insta::assert_snapshot!("empty", ctrf(&empty()));
        insta::assert_snapshot!("green", ctrf(&green()));
    }
}
