//! Bazel's build event protocol as `--build_event_json_file` writes it: one event per line.
//!
//! A test target is a case; its shards, runs and attempts are told once its summary is there.
//! See <https://bazel.build/remote/bep>.

mod line;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::json_lines::{JsonLines, read_line};
use super::{Head, InputFormat, Parser, failure, number};
use crate::event::{Event, Sink, Tool};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Outcome, Pairs, RunError, RunErrorKind,
    Skip, SkipKind, Timestamp,
};
use crate::text::strip_ansi;
use line::{Aborted, Completed, ExitCode, Id, Line, Number, TestResult};

/// Bazel's build events.
pub(super) struct BazelEvents;

impl InputFormat for BazelEvents {
    fn name(&self) -> &'static str {
        "bazel-events"
    }

    fn description(&self) -> &'static str {
        "Bazel's build events (--build_event_json_file)"
    }

    fn framework(&self) -> &'static str {
        "bazel"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let event = |line: &str| line.starts_with("{\"id\":{\"");
        head.json_lines().take(10).any(event)
            && (head.line_has(&["id", "started", "children"])
                || head.line_has(&["id", "testResult"])
                || head.line_has(&["id", "targetCompleted"]))
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(BazelParser::default())
    }
}

#[derive(Default)]
struct BazelParser {
    lines: JsonLines,
    state: State,
}

impl Parser for BazelParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let state = &mut self.state;
        self.lines.feed(text, sink, |line, number, sink| {
            state.line(line, number, sink);
        });
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let state = &mut self.state;
        self.lines.finish(sink, |line, number, sink| state.line(line, number, sink));
        self.state.finish(sink);
    }
}

#[derive(Default)]
struct State {
    targets: BTreeMap<String, Target>,
    /// Targets that were told of.
    done: BTreeSet<String>,
    failures: u64,
    errors: u64,
    skips: u64,
    exit: Option<ExitCode>,
    ended: bool,
}

/// A target and what is known of its tests so far.
#[derive(Default)]
struct Target {
    is_test: bool,
    size: String,
    tags: Vec<String>,
    /// How many test results were announced.
    announced: usize,
    results: Vec<TestResult>,
}

impl State {
    fn line(&mut self, line: &str, number: u64, sink: &mut dyn Sink) {
        let Some(event) = read_line::<Line>(line, number, sink) else {
            return;
        };
        self.ended |= event.last_message;
        if let Some(started) = &event.started {
            let millis = started.start_time_millis.as_ref();
            let text = started.start_time.as_deref();
            sink.event(&Event::Tool(Tool {
                started: millis
                    .and_then(Number::timestamp)
                    .or_else(|| text.and_then(Timestamp::parse)),
                ..Tool::default()
            }));
        }
        if let Some(finished) = event.finished {
            let mut exit = finished.exit_code;
            if finished.overall_success {
                exit.code = 0;
            }
            self.exit = Some(exit);
        }
        if let Some(aborted) = event.aborted {
            return self.aborted(event.id, &aborted, sink);
        }
        let announced = event.children.iter().filter(|id| id.test_result.is_some()).count();
        let Some(label) = event.id.label().filter(|label| label.aspect.is_empty()) else {
            return;
        };
        if self.done.contains(&label.label) {
            return;
        }
        let target = self.targets.entry(label.label.clone()).or_default();
        target.announced += announced;
        target.is_test |= announced > 0;
        if let Some(configured) = event.configured {
            target.is_test |= !configured.test_size.is_empty();
            target.size = configured.test_size;
            target.tags = configured.tag;
        } else if let Some(completed) = event.completed {
            self.completed(&label.label, completed, sink);
        } else if let Some(result) = event.test_result {
            target.results.push(result);
        } else if let Some(summary) = event.test_summary {
            self.summary(&label.label, &summary.overall_status, sink);
        }
    }

    fn completed(&mut self, label: &str, completed: Completed, sink: &mut dyn Sink) {
        if let Some(target) = self.targets.get_mut(label)
            && !completed.tag.is_empty()
        {
            target.tags = completed.tag;
        }
        if !completed.success {
            let detail = completed.failure_detail.unwrap_or_default().message;
            self.not_built(label, RunErrorKind::Build, &detail, sink);
        } else if self.targets.get(label).is_some_and(|target| !target.is_test) {
            self.targets.remove(label);
        }
    }

    fn not_built(&mut self, label: &str, kind: RunErrorKind, why: &str, sink: &mut dyn Sink) {
        self.targets.remove(label);
        if !self.done.insert(label.to_owned()) {
            return;
        }
        self.errors += 1;
        let why = strip_ansi(why);
        let message = match failure::first_line(&why) {
            "" => format!("{label} failed to build"),
            why => format!("{label} failed to build: {why}"),
        };
        sink.error(RunError::new(kind, message).with_details(why.as_ref()).in_scope(label));
    }

    /// Something announced will not come.
    fn aborted(&mut self, id: Id, aborted: &Aborted, sink: &mut dyn Sink) {
        let kind = match aborted.reason.as_str() {
            "LOADING_FAILURE" | "ANALYSIS_FAILURE" => RunErrorKind::Load,
            "TIME_OUT" => RunErrorKind::Timeout,
            "USER_INTERRUPTED" | "INTERNAL" | "OUT_OF_MEMORY" | "REMOTE_ENVIRONMENT_FAILURE" => {
                RunErrorKind::Crash
            }
            _ => RunErrorKind::Build,
        };
        if let Some(pattern) = id.pattern {
            self.errors += 1;
            let text = strip_ansi(&aborted.description);
            let message = format!("{}: {}", aborted.reason, failure::first_line(&text));
            let error = RunError::new(kind, message).with_details(text.as_ref());
            return sink.error(error.in_scope(pattern.pattern.join(" ")));
        }
        let Some(label) = id.label().filter(|label| label.aspect.is_empty()) else {
            return;
        };
        match aborted.reason.as_str() {
            "SKIPPED" => self.skipped(&label.label, &aborted.description, sink),
            // What stands after the target that broke; it stays open and counts as missing.
            "INCOMPLETE" | "NO_BUILD" | "NO_ANALYZE" => {}
            _ => self.not_built(&label.label, kind, &aborted.description, sink),
        }
    }

    fn skipped(&mut self, label: &str, reason: &str, sink: &mut dyn Sink) {
        let target = self.targets.remove(label).unwrap_or_default();
        // Libraries are skipped, too.
        let is_test = target.is_test || label.ends_with("_test");
        if !is_test || !self.done.insert(label.to_owned()) {
            return;
        }
        self.skips += 1;
        let outcome = Outcome::Skipped(Skip { kind: SkipKind::Skipped, reason });
        let attempt = Attempt { outcome, ..Attempt::default() };
        target.tell(label, &[(attempt, None)], sink);
    }

    fn summary(&mut self, label: &str, status: &str, sink: &mut dyn Sink) {
        if status == "FAILED_TO_BUILD" {
            return self.not_built(label, RunErrorKind::Build, "", sink);
        }
        if let Some(target) = self.targets.remove(label)
            && self.done.insert(label.to_owned())
        {
            self.failures += u64::from(target.tell_results(label, status, sink));
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let mut missing = 0;
        for (label, target) in std::mem::take(&mut self.targets) {
            let whole = target.results.len() >= target.announced && target.announced > 0;
            let failed = target.results.iter().any(|result| result.status != "PASSED");
            if target.results.is_empty() || !(whole || failed) {
                missing += u64::from(target.is_test);
                continue;
            }
            let status = match target.results.last() {
                Some(last) if failed => last.status.clone(),
                _ => "PASSED".to_owned(),
            };
            self.failures += u64::from(target.tell_results(&label, &status, sink));
        }
        if missing > 0 {
            sink.event(&Event::Missing(missing));
        }
        if !self.ended {
            let message = "there is no last message: the report is truncated";
            return sink.error(RunError::new(RunErrorKind::Report, message));
        }
        // 4 is "no tests found", which is no failure of its own.
        if let Some(exit) = &self.exit
            && !matches!(exit.code, 0 | 4)
            && self.failures + self.errors == 0
        {
            let message =
                format!("bazel ended with {} ({}), but no test failed", exit.name, exit.code);
            sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
    }
}

impl Target {
    /// Tells of the attempts that the status rests on. Returns whether the target failed.
    fn tell_results(&self, label: &str, status: &str, sink: &mut dyn Sink) -> bool {
        let passed = |result: &&TestResult| result.status == "PASSED";
        let messages: Vec<String> = self.results.iter().map(TestResult::message).collect();
        let mut attempts: Vec<(Attempt<'_>, Option<&TestResult>)> = Vec::new();
        let each = || self.results.iter().zip(&messages);
        match status {
            "PASSED" => {
                let nanos = self.results.iter().filter_map(TestResult::duration);
                let sum = nanos.fold(None, |sum: Option<Duration>, one| {
                    Some(sum.unwrap_or_default().saturating_add(one))
                });
                let attempt = Attempt {
                    outcome: Outcome::Passed,
                    duration: sum,
                    started: self.results.iter().filter_map(TestResult::started).min(),
                    ..Attempt::default()
                };
                attempts.push((attempt, self.results.iter().find(passed)));
            }
            "FLAKY" => {
                for (result, message) in each() {
                    attempts.push((result.attempt(message), Some(result)));
                }
                if !self.results.iter().any(|result| result.status == "PASSED") {
                    attempts.push((Attempt::default(), None));
                }
            }
            _ => {
                for (result, message) in each().filter(|(result, _)| !passed(result)) {
                    attempts.push((result.attempt(message), Some(result)));
                }
                if attempts.is_empty() {
                    let outcome = Outcome::Failed(Failure {
                        kind: kind_of(status),
                        message: "failed, and no result says why",
                        ..Failure::default()
                    });
                    let attempt = Attempt { outcome, ..Attempt::default() };
                    attempts.push((attempt, None));
                }
            }
        }
        self.tell(label, &attempts, sink);
        !matches!(status, "PASSED" | "FLAKY")
    }

    fn tell(
        &self,
        label: &str,
        attempts: &[(Attempt<'_>, Option<&TestResult>)],
        sink: &mut dyn Sink,
    ) {
        let (package, name) = label.rsplit_once(':').unwrap_or(("", label));
        let cached =
            |result: &TestResult| result.cached_locally || result.execution_info.cached_remotely;
        for (index, (attempt, result)) in attempts.iter().enumerate() {
            let mut properties = Vec::new();
            if !self.size.is_empty() {
                properties.extend(["size", &self.size]);
            }
            if result.is_some_and(cached) {
                properties.extend(["cached", "true"]);
            }
            let outputs = result.iter().flat_map(|result| &result.test_action_output);
            let attachments: Vec<&str> = outputs
                .filter(|output| !output.uri.is_empty())
                .flat_map(|output| {
                    let path = output.uri.strip_prefix("file://").unwrap_or(&output.uri);
                    [output.name.as_str(), path]
                })
                .collect();
            let case = Case {
                id: CaseId { package, name, ..CaseId::default() },
                line: None,
                tags: List::from(&self.tags),
                properties: Pairs::new(&properties),
                attachments: Pairs::new(&attachments),
            };
            sink.event(&Event::CaseFinished { case, attempt: *attempt, again: index > 0 });
        }
    }
}

impl TestResult {
    fn message(&self) -> String {
        if !self.status_details.is_empty() {
            return strip_ansi(&self.status_details).into_owned();
        }
        let mut logs = self.test_action_output.iter();
        let log = logs.find(|output| output.name == "test.log");
        let log = log.map_or("", |output| output.uri.trim_start_matches("file://"));
        match (self.status.as_str(), log) {
            (status, "") => status.to_owned(),
            (status, log) => format!("{status}, see {log}"),
        }
    }

    fn duration(&self) -> Option<Duration> {
        let millis = self.test_attempt_duration_millis.as_ref();
        let millis = millis.and_then(Number::value).and_then(number::from_millis);
        let text = self.test_attempt_duration.as_deref();
        millis.or_else(|| text.and_then(number::seconds))
    }

    fn started(&self) -> Option<Timestamp> {
        let millis = self.test_attempt_start_millis_epoch.as_ref();
        let text = self.test_attempt_start.as_deref();
        millis.and_then(Number::timestamp).or_else(|| text.and_then(Timestamp::parse))
    }

    fn attempt<'a>(&self, message: &'a str) -> Attempt<'a> {
        let outcome = match self.status.as_str() {
            "PASSED" => Outcome::Passed,
            status => {
                Outcome::Failed(Failure { kind: kind_of(status), message, ..Failure::default() })
            }
        };
        Attempt {
            outcome,
            duration: self.duration(),
            started: self.started(),
            ..Attempt::default()
        }
    }
}

fn kind_of(status: &str) -> FailureKind {
    match status {
        "FAILED" => FailureKind::Failure,
        "TIMEOUT" => FailureKind::Timeout,
        _ => FailureKind::Error,
    }
}
