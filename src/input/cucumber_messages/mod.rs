//! Cucumber Messages: one envelope per line, as `--format message` writes them.
//!
//! See <https://github.com/cucumber/messages>.

mod envelope;

use std::collections::BTreeMap;

use super::gherkin::{Scenario, Status, StepText, decode_base64, path_of};
use super::json_lines::{JsonLines, read_line};
use super::{Head, InputFormat, Parser, failure};
use crate::event::{Event, Sink, Tool};
use crate::model::{
    Attempt, Case, CaseId, List, Note, NoteKind, Outcome, Pairs, RunError, RunErrorKind, Timestamp,
};
use crate::text::strip_ansi;
use envelope::{
    AstScenario, Attachment, CaseFinished, CaseStarted, Envelope, GherkinDocument, Hook, Moment,
    Pickle, StepFinished, StepResult, TestCase,
};

/// Cucumber Messages.
pub(super) struct CucumberMessages;

impl InputFormat for CucumberMessages {
    fn name(&self) -> &'static str {
        "cucumber-messages"
    }

    fn description(&self) -> &'static str {
        "Cucumber Messages (NDJSON)"
    }

    fn framework(&self) -> &'static str {
        "cucumber"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.line_has(&["meta", "protocolVersion", "implementation"])
            || head.line_has(&["gherkinDocument", "feature"])
            || head.line_has(&["testCaseStarted", "testCaseId"])
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(MessagesParser::default())
    }
}

#[derive(Default)]
struct MessagesParser {
    lines: JsonLines,
    state: State,
}

impl Parser for MessagesParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let state = &mut self.state;
        self.lines.feed(text, sink, |line, number, sink| {
            state.line(line, number, sink);
        });
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let state = &mut self.state;
        let cut = self.lines.finish(sink, |line, number, sink| state.line(line, number, sink));
        self.state.finish(cut, sink);
    }
}

#[derive(Default)]
struct State {
    /// Names of features, by path.
    features: BTreeMap<String, String>,
    /// What is known of scenarios and rows of outlines, by node.
    nodes: BTreeMap<String, Node>,
    /// Keyword and line of steps, by node.
    steps: BTreeMap<String, (String, Option<u32>)>,
    pickles: BTreeMap<String, Pickle>,
    hooks: BTreeMap<String, Hook>,
    cases: BTreeMap<String, Planned>,
    running: BTreeMap<String, Running>,
    failures: u64,
    load_errors: u64,
    run_started: bool,
    finished: bool,
    success: Option<bool>,
}

#[derive(Default)]
struct Node {
    rule: String,
    line: Option<u32>,
    /// The values of a row.
    values: String,
}

/// A test case that was announced.
struct Planned {
    case: TestCase,
    started: bool,
    tried: bool,
}

/// An attempt at a test case.
struct Running {
    case_id: String,
    started: Option<Timestamp>,
    scenario: Scenario,
    attachments: Vec<String>,
}

impl State {
    fn line(&mut self, line: &str, number: u64, sink: &mut dyn Sink) {
        let Some(envelope) = read_line::<Envelope>(line, number, sink) else {
            return;
        };
        if let Some(document) = envelope.gherkin_document {
            self.document(document);
        } else if let Some(pickle) = envelope.pickle {
            self.pickles.insert(pickle.id.clone(), pickle);
        } else if let Some(hook) = envelope.hook {
            self.hooks.insert(hook.id.clone(), hook);
        } else if let Some(run) = envelope.test_run_started {
            self.run_started = true;
            sink.event(&Event::Tool(Tool {
                started: run.timestamp.and_then(Moment::timestamp),
                ..Tool::default()
            }));
        } else if let Some(case) = envelope.test_case {
            let planned = Planned { case, started: false, tried: false };
            self.cases.insert(planned.case.id.clone(), planned);
        } else if let Some(started) = envelope.test_case_started {
            self.start(started, number, sink);
        } else if let Some(step) = envelope.test_step_finished {
            self.step(&step);
        } else if let Some(attachment) = envelope.attachment {
            self.attach(attachment);
        } else if let Some(finished) = envelope.test_case_finished {
            self.end(&finished, number, sink);
        } else if let Some(hook) = envelope.test_run_hook_finished {
            self.run_hook(&hook.result, sink);
        } else if let Some(error) = envelope.parse_error {
            self.load_errors += 1;
            let message = format!("cannot parse: {}", failure::first_line(&error.message));
            let scope = error.source.uri.unwrap_or_default();
            let error = RunError::new(RunErrorKind::Load, message).with_details(error.message);
            sink.error(error.in_scope(path_of(&scope)));
        } else if let Some(run) = envelope.test_run_finished {
            self.finished = true;
            self.success = run.success;
            if let Some(message) = run.message.filter(|message| !message.is_empty()) {
                sink.note(Note::new(NoteKind::Message, message));
            }
        }
    }

    fn document(&mut self, document: GherkinDocument) {
        let Some(feature) = document.feature else {
            return;
        };
        for child in feature.children {
            for scenario in child.background.into_iter().chain(child.scenario) {
                self.scenario(scenario, "");
            }
            if let Some(rule) = child.rule {
                for child in rule.children {
                    for scenario in child.background.into_iter().chain(child.scenario) {
                        self.scenario(scenario, &rule.name);
                    }
                }
            }
        }
        self.features.insert(document.uri, feature.name);
    }

    fn scenario(&mut self, scenario: AstScenario, rule: &str) {
        for step in scenario.steps {
            self.steps.insert(step.id, (step.keyword, step.location.line));
        }
        for examples in scenario.examples {
            let header = examples.table_header.map(|row| row.cells).unwrap_or_default();
            for row in examples.table_body {
                let named = header.iter().zip(&row.cells);
                let values: Vec<_> =
                    named.map(|(name, value)| format!("{}={}", name.value, value.value)).collect();
                let node = Node {
                    rule: String::new(),
                    line: row.location.line,
                    values: values.join(", "),
                };
                self.nodes.insert(row.id, node);
            }
        }
        let node =
            Node { rule: rule.to_owned(), line: scenario.location.line, values: String::new() };
        self.nodes.insert(scenario.id, node);
    }

    fn start(&mut self, started: CaseStarted, number: u64, sink: &mut dyn Sink) {
        let Some(planned) = self.cases.get_mut(&started.test_case_id) else {
            let message = format!("line {number} starts a test case that was not announced");
            sink.error(RunError::new(RunErrorKind::Report, message));
            return;
        };
        planned.started = true;
        self.with_case(&started.test_case_id, &[], |case| {
            sink.event(&Event::CaseStarted(case));
        });
        let running = Running {
            case_id: started.test_case_id,
            started: started.timestamp.and_then(Moment::timestamp),
            scenario: Scenario::default(),
            attachments: Vec::new(),
        };
        self.running.insert(started.id, running);
    }

    fn step(&mut self, finished: &StepFinished) {
        let Some(running) = self.running.get_mut(&finished.test_case_started_id) else {
            return;
        };
        let planned = self.cases.get(&running.case_id);
        let pickle = planned.and_then(|planned| self.pickles.get(&planned.case.pickle_id));
        let mut steps = planned.iter().flat_map(|planned| &planned.case.test_steps);
        let test_step = steps.find(|step| step.id == finished.test_step_id);
        let hook =
            test_step.and_then(|step| step.hook_id.as_ref()).and_then(|id| self.hooks.get(id));
        let pickle_step = pickle.and_then(|pickle| {
            let id = test_step?.pickle_step_id.as_ref()?;
            pickle.steps.iter().find(|step| step.id == *id)
        });
        let ast = pickle_step
            .and_then(|step| step.ast_node_ids.first())
            .and_then(|id| self.steps.get(id));
        let result = &finished.test_step_result;
        let source = hook.and_then(|hook| hook.source_reference.as_ref());
        let text = StepText {
            keyword: ast.map_or(if hook.is_some() { "Hook" } else { "" }, |ast| &ast.0),
            text: match (pickle_step, hook.and_then(|hook| hook.name.as_deref())) {
                (Some(step), _) => &step.text,
                (None, name) => name.unwrap_or_default(),
            },
            word: &result.status,
            error: result.message.as_deref().unwrap_or_default(),
            type_name: result.exception.as_ref().map_or("", |exception| &exception.type_name),
            file: match (source.and_then(|source| source.uri.as_deref()), pickle) {
                (Some(uri), _) => uri,
                (None, Some(pickle)) => path_of(&pickle.uri),
                (None, None) => "",
            },
            line: source.and_then(|source| source.location.line).or(ast.and_then(|ast| ast.1)),
        };
        let duration = result.duration.and_then(Moment::duration);
        running.scenario.step(&text, duration);
    }

    fn attach(&mut self, attachment: Attachment) {
        let id = attachment.test_case_started_id.unwrap_or_default();
        let Some(running) = self.running.get_mut(&id) else {
            return;
        };
        if attachment.media_type.starts_with("text/x.cucumber.log") {
            let text = match attachment.content_encoding.as_str() {
                "BASE64" => decode_base64(&attachment.body).unwrap_or_default(),
                _ => attachment.body,
            };
            running.scenario.stdout.push(&text);
            running.scenario.stdout.push("\n");
        } else if let Some(url) = attachment.url {
            let name = attachment.file_name.unwrap_or_else(|| attachment.media_type.clone());
            running.attachments.extend([name, url]);
        }
    }

    fn end(&mut self, finished: &CaseFinished, number: u64, sink: &mut dyn Sink) {
        let Some(running) = self.running.remove(&finished.test_case_started_id) else {
            let message = format!("line {number} ends a test case that did not start");
            sink.error(RunError::new(RunErrorKind::Report, message));
            return;
        };
        let case_id = running.case_id.clone();
        self.tell(running, true, finished.will_be_retried, sink);
        // Nothing more will be said of it.
        if !finished.will_be_retried
            && let Some(planned) = self.cases.remove(&case_id)
        {
            self.pickles.remove(&planned.case.pickle_id);
        }
    }

    fn tell(&mut self, mut running: Running, ended: bool, retried: bool, sink: &mut dyn Sink) {
        let again = match self.cases.get_mut(&running.case_id) {
            Some(planned) => std::mem::replace(&mut planned.tried, true),
            None => false,
        };
        let stdout = running.scenario.stdout.take();
        let outcome =
            if ended { running.scenario.outcome(None) } else { running.scenario.outcome_cut() };
        self.failures += u64::from(matches!(outcome, Outcome::Failed(_)) && !retried);
        let attempt = Attempt {
            outcome,
            duration: running.scenario.duration(),
            started: running.started,
            stdout: &stdout,
            stderr: "",
        };
        self.with_case(&running.case_id, &running.attachments, |case| {
            sink.event(&Event::CaseFinished { case, attempt, again });
        });
    }

    /// Puts together who a test case is.
    fn with_case(&self, case_id: &str, attachments: &[String], say: impl FnOnce(Case<'_>)) {
        let pickle =
            self.cases.get(case_id).and_then(|planned| self.pickles.get(&planned.case.pickle_id));
        let Some(pickle) = pickle else {
            let id = CaseId { name: case_id, ..CaseId::default() };
            return say(Case { id, ..Case::default() });
        };
        let node = |index: usize| self.nodes.get(pickle.ast_node_ids.get(index)?);
        let (scenario, row) = (node(0), node(1));
        let feature = self.features.get(&pickle.uri).map_or("", String::as_str);
        let rule = scenario.map_or("", |node| node.rule.as_str());
        let suite: Vec<&str> =
            [feature, rule].into_iter().filter(|name| !name.is_empty()).collect();
        let tags: Vec<&str> = pickle.tags.iter().map(|tag| tag.name.as_str()).collect();
        say(Case {
            id: CaseId {
                package: "",
                file: path_of(&pickle.uri),
                suite: List::from(&suite),
                name: &pickle.name,
                parameters: row.map_or("", |node| node.values.as_str()),
            },
            line: row.or(scenario).and_then(|node| node.line).filter(|&line| line > 0),
            tags: List::from(&tags),
            properties: Pairs::default(),
            attachments: Pairs::new(attachments),
        });
    }

    fn run_hook(&mut self, result: &StepResult, sink: &mut dyn Sink) {
        if Status::of(&result.status) == Status::Passed {
            return;
        }
        self.failures += 1;
        let text = result.message.as_deref().unwrap_or_default();
        let text = strip_ansi(text);
        let message = format!("a hook of the whole run failed: {}", failure::first_line(&text));
        sink.error(RunError::new(RunErrorKind::Setup, message).with_details(text));
    }

    fn finish(&mut self, cut: bool, sink: &mut dyn Sink) {
        for running in std::mem::take(&mut self.running).into_values() {
            self.tell(running, false, false, sink);
        }
        let missing = self.cases.values().filter(|planned| !planned.started).count();
        if missing > 0 {
            sink.event(&Event::Missing(missing as u64));
        }
        if self.finished {
            return self.check_success(sink);
        }
        // A feature that cannot be parsed ends the stream before the run begins.
        if self.load_errors == 0 || self.run_started || cut {
            let message = "there is no testRunFinished: the report is truncated";
            sink.error(RunError::new(RunErrorKind::Report, message));
        }
    }

    fn check_success(&self, sink: &mut dyn Sink) {
        match self.success {
            Some(false) if self.failures + self.load_errors == 0 => {
                let message = "the report says that the run failed, but no scenario did";
                sink.error(RunError::new(RunErrorKind::Contradiction, message));
            }
            Some(true) if self.failures > 0 => {
                let message = format!(
                    "the report claims success, but {} scenarios failed; they are believed",
                    self.failures
                );
                sink.note(Note::new(NoteKind::Count, message));
            }
            _ => {}
        }
    }
}
