//! Allure's results: a folder with a JSON document per attempt (`*-result.json`) and per set of hooks
//! (`*-container.json`).
//!
//! Each document is read as a report. See <https://allurereport.org/docs/how-it-works-test-result-file/>.

use serde::Deserialize;

use super::json::{self, Document, Text, nullable};
use super::{Head, InputFormat, Parser, failure, head::has_key, number};
use crate::event::{Event, Sink};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, List, Outcome, Pairs, RunError, RunErrorKind,
    Skip, SkipKind, Suite,
};
use crate::text::strip_ansi;

/// Allure's results and containers.
pub(super) struct Allure;

impl InputFormat for Allure {
    fn name(&self) -> &'static str {
        "allure"
    }

    fn description(&self) -> &'static str {
        "Allure's results, a JSON document per test"
    }

    fn framework(&self) -> &'static str {
        "allure"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object().is_some_and(|text| {
            let has = |key| has_key(text, key);
            let is_result =
                ["labels", "historyId", "testCaseId", "statusDetails", "stage", "status"]
                    .into_iter()
                    .any(has)
                    && has("name");
            let is_container = ["children", "befores", "afters"].into_iter().any(has);
            has("uuid") && (is_result || is_container) && !has("stats") && !has("results")
        })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(AllureParser { document: Document::new(&[]) })
    }
}

struct AllureParser {
    document: Document,
}

impl Parser for AllureParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        self.document.feed(text, sink, |_, _, _| {});
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let raw = match self.document.finish() {
            Ok(raw) => raw,
            Err(error) => return sink.error(error),
        };
        let raw = json::repair(&raw);
        if let Some(item) = json::parse::<Item<'_>>(&raw, "the document", sink) {
            item.emit(sink);
        }
    }
}

/// A result or a container.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    full_name: Text<'a>,
    #[serde(borrow, default)]
    history_id: Text<'a>,
    #[serde(borrow, default)]
    test_case_id: Text<'a>,
    #[serde(borrow, default)]
    status: Text<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    status_details: StatusDetails<'a>,
    #[serde(borrow, default)]
    stage: Text<'a>,
    start: Option<f64>,
    stop: Option<f64>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    labels: Vec<Named<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    parameters: Vec<Parameter<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    links: Vec<Link<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    attachments: Vec<Attached<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    steps: Vec<Step<'a>>,
    #[serde(borrow)]
    children: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    befores: Option<Vec<Hook<'a>>>,
    #[serde(borrow)]
    afters: Option<Vec<Hook<'a>>>,
}

#[derive(Default, Deserialize)]
struct StatusDetails<'a> {
    #[serde(borrow, default)]
    message: Text<'a>,
    #[serde(borrow, default)]
    trace: Text<'a>,
    #[serde(borrow, default)]
    expected: Text<'a>,
    #[serde(borrow, default)]
    actual: Text<'a>,
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    value: Text<'a>,
}

#[derive(Deserialize)]
struct Parameter<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    value: Text<'a>,
    /// Not part of who the test is.
    #[serde(default, deserialize_with = "nullable")]
    excluded: bool,
}

#[derive(Deserialize)]
struct Link<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    url: Text<'a>,
}

#[derive(Deserialize)]
struct Attached<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    source: Text<'a>,
}

#[derive(Deserialize)]
struct Step<'a> {
    #[serde(borrow, default, deserialize_with = "nullable")]
    attachments: Vec<Attached<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    steps: Vec<Step<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hook<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    status: Text<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    status_details: StatusDetails<'a>,
}

impl Item<'_> {
    fn emit(&self, sink: &mut dyn Sink) {
        if self.befores.is_some() || self.afters.is_some() || self.children.is_some() {
            let hooks = self.befores.iter().chain(&self.afters).flatten();
            for hook in hooks.filter(|hook| matches!(&*hook.status, "failed" | "broken")) {
                sink.error(hook.error());
            }
            return;
        }
        let file = file_of(&self.full_name);
        let package = if file.is_empty() { self.package() } else { "" };
        let suite: Vec<&str> = ["parentSuite", "suite", "subSuite"]
            .into_iter()
            .filter_map(|name| self.label(name))
            .collect();
        if let Some(hostname) = self.label("host") {
            sink.event(&Event::Suite(Suite {
                package,
                file,
                lineage: List::from(&suite),
                hostname,
                ..Suite::default()
            }));
        }
        self.emit_case(package, file, &suite, sink);
    }

    fn emit_case(&self, package: &str, file: &str, suite: &[&str], sink: &mut dyn Sink) {
        let parameters = self.parameters();
        let (tags, properties) = (self.tags(), self.properties());
        let mut attachments = Vec::new();
        collect(&self.attachments, &self.steps, &mut attachments);
        let case = Case {
            id: CaseId {
                package,
                file,
                suite: List::from(suite),
                name: &self.name,
                parameters: &parameters,
            },
            line: None,
            tags: List::from(&tags),
            properties: Pairs::new(&properties),
            attachments: Pairs::new(&attachments),
        };
        let message = strip_ansi(&self.status_details.message);
        let trace = strip_ansi(&self.status_details.trace);
        let millis = self.stop.zip(self.start).map(|(stop, start)| stop - start);
        let attempt = Attempt {
            outcome: self.outcome(&message, &trace),
            duration: millis.and_then(number::from_millis),
            started: self.start.and_then(number::moment_from_millis),
            ..Attempt::default()
        };
        // Allure takes results of the same test for attempts at it.
        sink.event(&Event::CaseFinished { case, attempt, again: true });
    }

    fn outcome<'t>(&'t self, message: &'t str, trace: &'t str) -> Outcome<'t> {
        let failed = |kind| Outcome::Failed(self.status_details.failure(kind, message, trace));
        match &*self.status {
            "passed" => Outcome::Passed,
            "failed" => failed(FailureKind::Failure),
            "broken" => failed(FailureKind::Error),
            "skipped" => Outcome::Skipped(Skip {
                kind: if message.starts_with("XFAIL") {
                    SkipKind::ExpectedFailure
                } else {
                    SkipKind::Skipped
                },
                reason: failure::first_line(message),
            }),
            "" if matches!(&*self.stage, "scheduled" | "pending") => Outcome::NotRun,
            status => Outcome::Failed(Failure {
                kind: if status.is_empty() { FailureKind::Crash } else { FailureKind::Error },
                message: "has no result: it may have started and never ended",
                details: message,
                stack_trace: trace,
                ..Failure::default()
            }),
        }
    }

    fn label(&self, name: &str) -> Option<&str> {
        let found = self.labels.iter().find(|label| &*label.name == name);
        found.map(|label| &*label.value)
    }

    fn package(&self) -> &str {
        self.label("testClass").or_else(|| self.label("package")).unwrap_or_default()
    }

    /// `a=1, b=2`, of the parameters that tell the test from its siblings.
    fn parameters(&self) -> String {
        let mut text = String::new();
        for parameter in self.parameters.iter().filter(|parameter| !parameter.excluded) {
            if !text.is_empty() {
                text.push_str(", ");
            }
            text.push_str(&parameter.name);
            text.push('=');
            text.push_str(&parameter.value);
        }
        text
    }

    fn tags(&self) -> Vec<&str> {
        let tags = self.labels.iter().filter(|label| &*label.name == "tag");
        tags.map(|label| &*label.value).collect()
    }

    fn properties(&self) -> Vec<&str> {
        const KNOWN: [&str; 12] = [
            "tag",
            "host",
            "thread",
            "package",
            "testClass",
            "testMethod",
            "parentSuite",
            "suite",
            "subSuite",
            "titlePath",
            "_fallbackTestCaseId",
            "language",
        ];
        let labels = self.labels.iter();
        let mut properties: Vec<&str> = labels
            .filter(|label| !KNOWN.contains(&&*label.name))
            .flat_map(|label| [&*label.name, &*label.value])
            .collect();
        let excluded = self.parameters.iter().filter(|parameter| parameter.excluded);
        properties.extend(excluded.flat_map(|parameter| [&*parameter.name, &*parameter.value]));
        for link in self.links.iter().filter(|link| !link.url.is_empty()) {
            let kind = if link.kind.is_empty() { "link" } else { &link.kind };
            properties.extend([kind, &link.url]);
        }
        for (name, id) in [("historyId", &self.history_id), ("testCaseId", &self.test_case_id)] {
            if !id.is_empty() {
                properties.extend([name, &**id]);
            }
        }
        properties
    }
}

impl StatusDetails<'_> {
    fn failure<'t>(&'t self, kind: FailureKind, message: &'t str, trace: &'t str) -> Failure<'t> {
        let (first, rest) = failure::first_paragraph(message);
        let (before, frames) = failure::split_trace(trace);
        let first = if first.is_empty() { failure::first_line(trace) } else { first };
        let (expected, actual) = failure::expected_actual(message);
        let own = |text: &'t Text<'_>| Some(&**text).filter(|text| !text.is_empty());
        let type_name = match failure::type_name(first) {
            "" => failure::type_name(failure::first_line(before)),
            name => name,
        };
        Failure {
            kind,
            message: if first.is_empty() {
                "failed, and the report does not say why"
            } else {
                first
            },
            type_name,
            details: rest,
            // The trace often begins with the message, which is there already.
            stack_trace: if before.trim_end().ends_with(message.trim()) { frames } else { trace },
            expected: own(&self.expected).or(expected),
            actual: own(&self.actual).or(actual),
            location: failure::locate(trace),
        }
    }
}

impl Hook<'_> {
    fn error(&self) -> RunError {
        let message = strip_ansi(&self.status_details.message);
        let trace = strip_ansi(&self.status_details.trace);
        let first = failure::first_line(&message);
        let details = if trace.is_empty() { &message } else { &trace };
        RunError::new(RunErrorKind::Setup, format!("{}: {first}", &*self.name))
            .with_details(details.trim_end())
    }
}

/// Names and files of all attachments, those of steps too. `serde_json` keeps steps from being too deep.
fn collect<'a>(attachments: &'a [Attached<'_>], steps: &'a [Step<'_>], found: &mut Vec<&'a str>) {
    for attached in attachments.iter().filter(|attached| !attached.source.is_empty()) {
        found.extend([&*attached.name, &*attached.source]);
    }
    for step in steps {
        collect(&step.attachments, &step.steps, found);
    }
}

/// The file at the start of a full name: `a/b.js: suite > test`, `a.spec.js › test`, `a.py#test`.
fn file_of(full_name: &str) -> &str {
    let separators = [": ", " › ", "#", ":"];
    for separator in separators {
        if let Some((file, _)) = full_name.split_once(separator)
            && let Some((stem, extension)) = file.rsplit_once('.')
            && !stem.is_empty()
            && !file.contains(' ')
            && ["js", "ts", "jsx", "tsx", "mjs", "cjs", "mts", "cts", "py", "rb", "php"]
                .contains(&extension)
        {
            return file;
        }
    }
    ""
}
