//! The JSON report of Cucumber in its dialects: cucumber-js, Cucumber-JVM, Ruby, and behave.
//!
//! A scenario is a case. behave writes seconds and `location`; the others nanoseconds, `uri` and `line`.
//! See <https://github.com/cucumber/json-formatter>.

use std::time::Duration;

use serde::Deserialize;

use super::gherkin::{Scenario, Status, StepText, decode_base64, path_of};
use super::json::{Document, parse, repair};
use super::{Head, InputFormat, Parser, number};
use crate::event::{Event, Sink, Tool};
use crate::model::{Attempt, Case, CaseId, List, Outcome, RunError, RunErrorKind, Timestamp};

/// Cucumber's JSON report.
pub(super) struct CucumberJson;

impl InputFormat for CucumberJson {
    fn name(&self) -> &'static str {
        "cucumber-json"
    }

    fn description(&self) -> &'static str {
        "Cucumber's JSON report, and behave's"
    }

    fn framework(&self) -> &'static str {
        "cucumber"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let Some(text) = head.object().filter(|text| text.starts_with('[')) else {
            return false;
        };
        let empty = text[1..].trim_start().strip_prefix(']');
        empty.is_some_and(|rest| rest.trim().is_empty())
            || head.object_has(&["keyword", "elements"])
            || head.object_has(&["keyword", "steps"])
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(CucumberParser { document: Document::new(&[&[]]), state: State::default() })
    }
}

struct CucumberParser {
    document: Document,
    state: State,
}

impl Parser for CucumberParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let state = &mut self.state;
        self.document.feed(text, sink, |_, raw, sink| state.feature(raw, sink));
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        match self.document.finish() {
            Ok(skeleton) if skeleton.starts_with('[') => {}
            Ok(_) => {
                let message = "the JSON is no list of features";
                sink.error(RunError::new(RunErrorKind::Report, message));
            }
            Err(error) => {
                // behave writes feature by feature; one that is whole counts.
                let last = self.document.cut_element();
                if serde_json::from_str::<Feature>(&repair(&last)).is_ok() {
                    self.state.feature(&last, sink);
                }
                sink.error(error);
            }
        }
    }
}

#[derive(Deserialize)]
struct Feature {
    #[serde(default)]
    uri: Option<String>,
    /// behave's: the path and the line.
    #[serde(default)]
    location: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    tags: Vec<Tag>,
    #[serde(default)]
    elements: Vec<Element>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Tag {
    Name(String),
    Object { name: String },
}

#[derive(Deserialize)]
struct Element {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    line: Option<u32>,
    #[serde(default)]
    location: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    start_timestamp: Option<String>,
    #[serde(default)]
    tags: Vec<Tag>,
    #[serde(default)]
    before: Vec<Step>,
    #[serde(default)]
    steps: Vec<Step>,
    #[serde(default)]
    after: Vec<Step>,
}

/// A step or a hook.
#[derive(Deserialize)]
struct Step {
    #[serde(default)]
    keyword: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    line: Option<u32>,
    #[serde(default)]
    location: Option<String>,
    #[serde(default)]
    result: Option<StepResult>,
    #[serde(default)]
    output: Vec<Lines>,
    #[serde(default)]
    embeddings: Vec<Embedding>,
    #[serde(default)]
    before: Vec<Step>,
    #[serde(default)]
    after: Vec<Step>,
}

#[derive(Deserialize)]
struct StepResult {
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    duration: Option<f64>,
    #[serde(default)]
    error_message: Option<Lines>,
}

/// Text, or a list of its lines.
#[derive(Deserialize)]
#[serde(untagged)]
enum Lines {
    Text(String),
    Lines(Vec<String>),
}

impl Lines {
    fn lines(&self) -> &[String] {
        match self {
            Self::Text(text) => std::slice::from_ref(text),
            Self::Lines(lines) => lines,
        }
    }
}

#[derive(Deserialize)]
struct Embedding {
    #[serde(default)]
    data: Option<String>,
    #[serde(default)]
    mime_type: Option<String>,
}

#[derive(Default)]
struct State {
    features: u64,
}

/// The feature whose scenarios are read.
struct Place {
    file: String,
    name: String,
    tags: Vec<String>,
    /// Whether durations are seconds, as behave has them.
    seconds: bool,
}

impl State {
    fn feature(&mut self, raw: &str, sink: &mut dyn Sink) {
        self.features += 1;
        let what = format!("feature {}", self.features);
        let raw = repair(raw);
        let Some(feature) = parse::<Feature>(&raw, &what, sink) else {
            return;
        };
        let seconds = feature.uri.is_none() && feature.location.is_some();
        if self.features == 1 && seconds {
            sink.event(&Event::Tool(Tool { framework: "behave", ..Tool::default() }));
        }
        let location = feature.location.unwrap_or_default();
        let file = match &feature.uri {
            Some(uri) => path_of(uri),
            None => split_place(&location).0,
        };
        let place = Place {
            file: file.to_owned(),
            name: feature.name.unwrap_or_default(),
            tags: feature.tags.into_iter().map(tag_name).collect(),
            seconds,
        };
        let mut failed = false;
        let mut background: Vec<Step> = Vec::new();
        for element in feature.elements {
            if element.kind.as_deref() == Some("background") {
                // behave shows what it looks like; the others show how it went, once per scenario.
                let ran = |step: &Step| step.result.is_some();
                background = element.steps.into_iter().filter(ran).collect();
                continue;
            }
            failed |= scenario(&place, std::mem::take(&mut background), element, sink);
        }
        let said = feature.status.as_deref().map(Status::of);
        if matches!(said, Some(Status::Failed | Status::Errored)) && !failed {
            let message = format!("feature \"{}\" failed outside of its scenarios", place.name);
            let error = RunError::new(RunErrorKind::Setup, message);
            sink.error(error.in_scope(place.file));
        }
    }
}

/// Says how a scenario ended. Returns whether it failed.
fn scenario(place: &Place, background: Vec<Step>, element: Element, sink: &mut dyn Sink) -> bool {
    let mut scenario = Scenario::default();
    let hooks = element.before.into_iter().map(|hook| ("Before", hook));
    let steps = background.into_iter().chain(element.steps);
    let steps = steps.map(|step| ("", step));
    let ends = element.after.into_iter().map(|hook| ("After", hook));
    for (keyword, step) in hooks.chain(steps).chain(ends) {
        add_step(&mut scenario, keyword, &step, place);
    }
    let mut tags = place.tags.clone();
    for tag in element.tags.into_iter().map(tag_name) {
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    let full = element.name.unwrap_or_default();
    let (name, parameters) = split_row(&full, element.id.as_deref().unwrap_or_default());
    let line = match (&element.line, &element.location) {
        (Some(line), _) => Some(*line),
        (None, Some(location)) => split_place(location).1,
        (None, None) => None,
    };
    let stdout = scenario.stdout.take();
    let outcome = scenario.outcome(element.status.as_deref());
    let failed = matches!(outcome, Outcome::Failed(_));
    let suite = [place.name.as_str()];
    let named = !place.name.is_empty();
    let case = Case {
        id: CaseId {
            package: "",
            file: &place.file,
            suite: if named { List::from(&suite[..]) } else { List::EMPTY },
            name,
            parameters,
        },
        line: line.filter(|&line| line > 0),
        tags: List::from(&tags),
        ..Case::default()
    };
    let attempt = Attempt {
        outcome,
        duration: scenario.duration(),
        started: element.start_timestamp.as_deref().and_then(Timestamp::parse),
        stdout: &stdout,
        stderr: "",
    };
    sink.event(&Event::CaseFinished { case, attempt, again: false });
    failed
}

/// Adds a step with the hooks around it, which have none of their own.
fn add_step(scenario: &mut Scenario, keyword: &str, step: &Step, place: &Place) {
    for hook in &step.before {
        add_one(scenario, "Before step", hook, place);
    }
    add_one(scenario, keyword, step, place);
    for hook in &step.after {
        add_one(scenario, "After step", hook, place);
    }
}

fn add_one(scenario: &mut Scenario, keyword: &str, step: &Step, place: &Place) {
    for text in &step.output {
        for line in text.lines() {
            scenario.stdout.push(line);
            scenario.stdout.push("\n");
        }
    }
    for embedding in &step.embeddings {
        if embedding.mime_type.as_deref() == Some("text/x.cucumber.log+plain")
            && let Some(text) = embedding.data.as_deref().and_then(decode_base64)
        {
            scenario.stdout.push(&text);
            scenario.stdout.push("\n");
        }
    }
    let location = step.location.as_deref().unwrap_or_default();
    let result = step.result.as_ref();
    let error = result.and_then(|result| result.error_message.as_ref());
    let error = error.map(|error| error.lines().join("\n")).unwrap_or_default();
    let text = StepText {
        keyword: step.keyword.as_deref().unwrap_or(keyword),
        text: step.name.as_deref().unwrap_or_default(),
        word: result.and_then(|result| result.status.as_deref()).unwrap_or_default(),
        error: &error,
        type_name: "",
        file: &place.file,
        line: step.line.or(split_place(location).1),
    };
    let duration = result.and_then(|result| result.duration);
    scenario.step(&text, duration.and_then(|value| duration_of(value, place.seconds)));
}

fn duration_of(value: f64, seconds: bool) -> Option<Duration> {
    number::from_float(if seconds { value } else { value / 1e9 })
}

fn tag_name(tag: Tag) -> String {
    match tag {
        Tag::Name(name) | Tag::Object { name } => name,
    }
}

/// Splits `features/cart.feature:9`.
fn split_place(location: &str) -> (&str, Option<u32>) {
    match location.rsplit_once(':') {
        Some((file, line)) if number::line(line).is_some() => (file, number::line(line)),
        _ => (location, None),
    }
}

/// The name of a scenario, and which row of an outline it is: behave has that in the name, JVM in the id.
fn split_row<'a>(name: &'a str, id: &'a str) -> (&'a str, &'a str) {
    if let Some((name, row)) = name.rsplit_once(" -- @") {
        return (name, row);
    }
    let row = id.match_indices(';').nth(1).map(|(at, _)| &id[at + 1..]);
    (name, row.unwrap_or_default().trim_matches(';'))
}
