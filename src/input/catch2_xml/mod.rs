//! The XML of Catch2, version 2 and 3.
//!
//! Only failing assertions are listed unless the user asked for all. Whether a case passed is in its
//! `OverallResult`, where an expected failure is a success.

mod case;

use super::capped::Capped;
use super::xml::{Handler, Tag, Xml, unescape};
use super::{Head, InputFormat, Parser, number};
use crate::event::{Event, Sink, Tool};
use crate::model::{
    Attempt, Case, CaseId, FailureKind, List, Note, NoteKind, Outcome, Pairs, RunError,
    RunErrorKind,
};
use crate::text::strip_ansi;
use case::{CaseState, MAX_PROBLEMS, Problem};

/// Catch2 XML.
pub(super) struct Catch2Xml;

impl InputFormat for Catch2Xml {
    fn name(&self) -> &'static str {
        "catch2-xml"
    }

    fn description(&self) -> &'static str {
        "Catch2 XML, version 2 and 3"
    }

    fn framework(&self) -> &'static str {
        "catch2"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        matches!(head.root(), Some("Catch2TestRun" | "Catch"))
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(Catch2Parser::default())
    }
}

#[derive(Default)]
struct Catch2Parser {
    xml: Xml,
    state: State,
}

impl Parser for Catch2Parser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        self.xml.feed(text, &mut self.state, sink);
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.xml.finish(&mut self.state, sink);
        self.state.check(sink);
    }
}

#[derive(Default)]
struct State {
    /// The name of the test program.
    program: String,
    case: CaseState,
    in_case: bool,
    sections: Vec<String>,
    /// The assertion being read.
    problem: Option<Problem>,
    /// `INFO` lines since the last assertion.
    infos: Vec<String>,
    collecting: Collecting,
    text: Capped,
    /// The last totals seen: cases and failed cases.
    claimed: Option<(u64, u64)>,
    cases: u64,
    failures: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Collecting {
    #[default]
    Nothing,
    Original,
    Expanded,
    Words,
    Info,
    Skip,
    Stdout,
    Stderr,
}

impl Handler for State {
    fn open(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        match tag.name {
            "Catch2TestRun" | "Catch" => {
                self.program = tag.get("name", sink).unwrap_or_default().into_owned();
                sink.event(&Event::Tool(Tool {
                    framework: Catch2Xml.framework(),
                    ..Tool::default()
                }));
            }
            "TestCase" => self.open_case(tag, sink),
            "OverallResultsCases" => self.claimed = Some(totals(tag)),
            _ if !self.in_case => {}
            "Section" => {
                let name = tag.get("name", sink).unwrap_or_default().into_owned();
                self.sections.push(name);
            }
            "Expression" => self.open_problem(tag, FailureKind::Failure, sink),
            "Failure" => self.open_outcome(tag, FailureKind::Failure, sink),
            "Exception" => self.open_outcome(tag, FailureKind::Error, sink),
            "FatalErrorCondition" => self.open_outcome(tag, FailureKind::Crash, sink),
            "Original" => self.collect(Collecting::Original),
            "Expanded" => self.collect(Collecting::Expanded),
            "Info" | "Warning" => self.collect(Collecting::Info),
            "Skip" => {
                self.case.skipped = true;
                self.collect(Collecting::Skip);
            }
            "StdOut" => self.collect(Collecting::Stdout),
            "StdErr" => self.collect(Collecting::Stderr),
            "OverallResult" => self.case.result(tag),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        self.text.push(text);
    }

    fn wants_text(&self) -> bool {
        self.collecting != Collecting::Nothing
    }

    fn close(&mut self, name: &str, whole: bool, sink: &mut dyn Sink) {
        match name {
            "TestCase" => self.close_case(whole, sink),
            "Section" => {
                self.sections.pop();
            }
            "Original" | "Expanded" | "Info" | "Warning" | "Skip" | "StdOut" | "StdErr" => {
                self.close_text();
            }
            "Expression" => self.close_problem(),
            "Failure" | "Exception" | "FatalErrorCondition" => {
                self.close_text();
                // Inside an expression it is the expression that ends.
                if self.problem.as_ref().is_some_and(|p| p.original.is_empty()) {
                    self.close_problem();
                }
            }
            _ => {}
        }
    }
}

fn totals(tag: &Tag<'_>) -> (u64, u64) {
    let (mut cases, mut failures) = (0_u64, 0);
    for (key, value) in tag.attributes() {
        let count = value.trim().parse::<u64>().unwrap_or(0);
        match key {
            "failures" => {
                failures = count;
                cases = cases.saturating_add(count);
            }
            "successes" | "expectedFailures" | "skips" => cases = cases.saturating_add(count),
            _ => {}
        }
    }
    (cases, failures)
}

impl State {
    fn open_case(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let mut case = CaseState::default();
        for (key, value) in tag.attributes() {
            let value = unescape(value, sink);
            match key {
                "name" => case.name = value.into_owned(),
                "tags" => {
                    let tags = value.split(['[', ']']).filter(|tag| !tag.is_empty());
                    case.tags = tags.map(str::to_owned).collect();
                }
                "filename" => case.file = value.into_owned(),
                "line" => case.line = number::line(&value),
                _ => {}
            }
        }
        self.case = case;
        self.in_case = true;
        self.sections.clear();
        self.infos.clear();
        self.problem = None;
        self.collecting = Collecting::Nothing;
    }

    fn open_problem(&mut self, tag: &Tag<'_>, kind: FailureKind, sink: &mut dyn Sink) {
        let mut problem = Problem {
            failed: true,
            kind,
            sections: self.sections.join(" / "),
            ..Problem::default()
        };
        for (key, value) in tag.attributes() {
            match key {
                "success" => problem.failed = value != "true",
                "type" => problem.macro_name = unescape(value, sink).into_owned(),
                "filename" => problem.file = unescape(value, sink).into_owned(),
                "line" => problem.line = number::line(value),
                _ => {}
            }
        }
        problem.infos = std::mem::take(&mut self.infos);
        self.problem = Some(problem);
    }

    /// A failure, exception or signal: of the expression it stands in, or by itself.
    fn open_outcome(&mut self, tag: &Tag<'_>, kind: FailureKind, sink: &mut dyn Sink) {
        match &mut self.problem {
            Some(problem) => {
                problem.failed |= kind == FailureKind::Crash;
                problem.kind = problem.kind.max(kind);
            }
            None => self.open_problem(tag, kind, sink),
        }
        self.collect(Collecting::Words);
    }

    fn close_problem(&mut self) {
        self.collecting = Collecting::Nothing;
        let Some(problem) = self.problem.take() else {
            return;
        };
        if !problem.failed {
            return;
        }
        if self.case.problems.len() < MAX_PROBLEMS {
            self.case.problems.push(problem);
        } else {
            self.case.more += 1;
            if let Some(last) = self.case.problems.last_mut() {
                last.kind = last.kind.max(problem.kind);
            }
        }
    }

    fn close_case(&mut self, whole: bool, sink: &mut dyn Sink) {
        if !std::mem::take(&mut self.in_case) {
            return;
        }
        self.close_problem();
        let case = &self.case;
        let texts = case.texts();
        let outcome = case.outcome(whole, &texts);
        let failed = matches!(outcome, Outcome::Failed(_));
        let reported = Case {
            id: CaseId {
                package: &self.program,
                file: &case.file,
                suite: List::EMPTY,
                name: &case.name,
                parameters: "",
            },
            line: case.line,
            tags: List::from(&case.tags),
            properties: Pairs::default(),
            attachments: Pairs::default(),
        };
        let attempt = Attempt {
            outcome,
            duration: case.duration,
            started: None,
            stdout: &case.stdout,
            stderr: &case.stderr,
        };
        sink.event(&Event::CaseFinished { case: reported, attempt, again: false });
        self.cases += 1;
        self.failures += u64::from(failed);
    }

    fn collect(&mut self, what: Collecting) {
        self.text.clear();
        self.collecting = what;
    }

    fn close_text(&mut self) {
        let what = std::mem::take(&mut self.collecting);
        if what == Collecting::Nothing {
            return;
        }
        let text = self.text.take();
        let bare = || strip_ansi(text.trim()).into_owned();
        match (what, &mut self.problem) {
            (Collecting::Original, Some(problem)) => problem.original = bare(),
            (Collecting::Expanded, Some(problem)) => problem.expanded = bare(),
            (Collecting::Words, Some(problem)) => problem.words = bare(),
            (Collecting::Info, _) if self.infos.len() < MAX_PROBLEMS => self.infos.push(bare()),
            (Collecting::Skip, _) => self.case.reason = bare(),
            (Collecting::Stdout, _) => output(&text).clone_into(&mut self.case.stdout),
            (Collecting::Stderr, _) => output(&text).clone_into(&mut self.case.stderr),
            _ => {}
        }
    }

    fn check(&self, sink: &mut dyn Sink) {
        let Some((cases, failures)) = self.claimed else {
            return;
        };
        if failures > 0 && self.failures == 0 {
            let message =
                format!("the report counts {failures} failed cases, but none of its cases failed");
            sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
        if cases != self.cases || failures != self.failures {
            let message = format!(
                "the report counts {cases} cases and {failures} failures, but has {} and {}; its cases are believed",
                self.cases, self.failures
            );
            sink.note(Note::new(NoteKind::Count, message));
        }
    }
}

/// Output as the test wrote it: Catch2 adds a line break before and an indented one after.
fn output(text: &str) -> &str {
    let text = text.strip_prefix('\n').unwrap_or(text);
    text.trim_end_matches([' ', '\t'])
}
