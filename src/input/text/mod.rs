//! Plain console output, the last resort: lines that look like verdicts, and the summary that ends them.
//!
//! Text does not mark its end. Only a summary line that is whole does, so that a report without one, or
//! with verdicts after it, ends in a run error: it is never green.

mod summary;
mod verdict;

use std::collections::BTreeSet;

use super::capped::Capped;
use super::lines::Lines;
use super::{Head, InputFormat, NO_END, Parser, failure};
use crate::event::{Event, Sink};
use crate::model::{
    Attempt, Case, CaseId, Failure, FailureKind, Grade, List, Note, NoteKind, Outcome, RunError,
    RunErrorKind, Skip, SkipKind,
};
use crate::text::strip_ansi;
use summary::{Counts, Line};
use verdict::{Style, Verdict, Word};

/// Plain text.
pub(super) struct Text;

impl InputFormat for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn description(&self) -> &'static str {
        "plain console output (PASS: x, [FAIL] y, ✓ z)"
    }

    fn framework(&self) -> &'static str {
        "text"
    }

    fn grade(&self) -> Grade {
        Grade::Text
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let start = head.text.trim_start();
        if start.starts_with(['<', '{']) || start.starts_with("[{") || head.text.contains("<?xml") {
            return false;
        }
        let mut clear = false;
        for line in head.text.lines() {
            let line = strip_ansi(line);
            if is_of_another_format(&line) {
                return false;
            }
            clear = clear || verdict::is_clear(&line);
        }
        clear
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(TextParser::default())
    }
}

/// Whether a line is TAP's, Go's, libtest's, `TeamCity`'s, or JSON.
fn is_of_another_format(line: &str) -> bool {
    let numbered = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    let starts = [
        "not ok",
        "TAP version",
        "--- PASS",
        "--- FAIL",
        "--- SKIP",
        "=== RUN",
        "ok  \t",
        "FAIL\t",
        "test result: ",
        "{\"",
    ];
    let test = |rest: &str| rest.contains(" ... ");
    starts.iter().any(|start| line.starts_with(start))
        || line == "ok"
        || line.strip_prefix("ok ").is_some_and(|rest| numbered(rest) || rest.starts_with('-'))
        || line.strip_prefix("1..").is_some_and(numbered)
        || line
            .strip_prefix("running ")
            .is_some_and(|rest| numbered(rest) && rest.contains(" test"))
        || line.strip_prefix("test ").is_some_and(test)
        || line.contains("##teamcity[")
}

/// Cases made up for a summary that stands alone.
const MAX_UNNAMED: u64 = 100_000;
/// Names of failed tests remembered, to know them again.
const MAX_NAMES: usize = 10_000;
/// Lines that may turn out to belong to a message.
const MAX_HELD: usize = 20;
/// Headings around a test.
const MAX_DEPTH: usize = 32;

#[derive(Default)]
struct TextParser {
    lines: Lines,
    state: State,
}

impl Parser for TextParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let state = &mut self.state;
        self.lines.feed(text, sink, |line, _, sink| state.line(line, true, sink));
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if let Some((line, _)) = self.lines.finish() {
            self.state.line(&line, false, sink);
        }
        self.state.finish(sink);
    }
}

#[derive(Default)]
struct State {
    /// The test told of last; its message may still follow.
    last: Option<Told>,
    /// Plain lines since, which belong to the message if more of it follows.
    held: Vec<String>,
    headings: Vec<(usize, String)>,
    section: String,
    file: String,
    marks: bool,
    failed_names: BTreeSet<String>,
    /// Files that plenary announced, less those it is done with.
    files_left: i64,
    shown: u64,
    shown_bad: u64,
    shown_good: u64,
    summaries: Summaries,
}

/// What the summaries said so far.
#[derive(Default)]
struct Summaries {
    /// The one being read, line by line.
    open: Option<Counts>,
    open_mocha: bool,
    ran: Option<u64>,
    /// The last one that was whole.
    last: Option<Counts>,
    seen: u64,
    worst: u64,
    /// Whether nothing came after the last whole one.
    is_end: bool,
    /// Failures that were shown before the section that plenary's next summary is about.
    section_start: u64,
    unnamed: u64,
}

/// A test that a line told of.
struct Told {
    word: Word,
    style: Style,
    indent: usize,
    /// How wide the line was, to know an underline for one.
    width: usize,
    fresh: bool,
    name: String,
    reason: String,
    duration: Option<std::time::Duration>,
    lineage: Vec<String>,
    block: Capped,
}

impl State {
    /// Reads a line; one that is not whole may be a verdict, but no summary.
    fn line(&mut self, raw: &str, whole: bool, sink: &mut dyn Sink) {
        let line = strip_ansi(raw);
        let line = line.trim_end();
        if self.is_underline(line) {
            self.last = None;
            return;
        }
        if let Some(told) = &mut self.last {
            told.fresh = false;
        }
        if let Some(verdict) =
            verdict::read(line, self.marks).filter(|found| !self.is_quoted(found))
        {
            return self.verdict(&verdict, line, sink);
        }
        let counts = whole.then(|| summary::read(line, self.summaries.ran)).flatten();
        if let Some(counts) = counts {
            self.tell_last(sink);
            return self.summary(counts, sink);
        }
        self.close_mocha(sink);
        if self.summaries.ran.is_some() && !line.trim().is_empty() {
            self.summaries.ran = None;
        }
        self.plain(line, sink);
    }

    /// A line of `=` as long as the verdict before it: that was a heading in a log.
    fn is_underline(&self, line: &str) -> bool {
        let Some(told) = &self.last else { return false };
        told.fresh && line.len() == told.width && line.bytes().all(|byte| byte == b'=')
    }

    /// Whether a verdict stands indented in the message of another.
    fn is_quoted(&self, verdict: &Verdict<'_>) -> bool {
        let Some(told) = &self.last else { return false };
        told.word.is_bad()
            && told.style == Style::Colon
            && verdict.style == Style::Colon
            && verdict.indent > told.indent
    }

    fn verdict(&mut self, verdict: &Verdict<'_>, line: &str, sink: &mut dyn Sink) {
        self.close_mocha(sink);
        self.tell_last(sink);
        // GoogleTest: "[  PASSED  ] 3 tests." and "[  FAILED  ] 1 test, listed below:".
        if verdict.style == Style::Bracket
            && let Some((count, rest)) = verdict.name.split_once(' ')
            && let Ok(count) = count.parse()
            && rest.starts_with("test")
        {
            let mut counts = Counts::default();
            match verdict.word {
                Word::Pass => counts.passed = Some(count),
                Word::Skip => counts.skipped = Some(count),
                _ => counts.failed = Some(count),
            }
            return self.summary(Line::Whole(counts), sink);
        }
        let known = verdict.word.is_bad() && self.failed_names.contains(verdict.name);
        if self.summaries.seen > 0 && known {
            return;
        }
        if verdict.style == Style::Mark {
            self.marks = true;
            self.headings.retain(|(indent, _)| *indent < verdict.indent);
        }
        self.summaries.is_end = false;
        self.last = Some(Told {
            word: verdict.word,
            style: verdict.style,
            indent: verdict.indent,
            width: line.chars().count(),
            fresh: true,
            name: verdict.name.to_owned(),
            reason: verdict.reason.to_owned(),
            duration: verdict.duration,
            lineage: self.lineage(verdict.style),
            block: Capped::default(),
        });
    }

    fn lineage(&self, style: Style) -> Vec<String> {
        if style == Style::Mark {
            return self.headings.iter().map(|(_, name)| name.clone()).collect();
        }
        let section = (!self.section.is_empty()).then(|| self.section.clone());
        section.into_iter().collect()
    }

    /// A line that is neither verdict nor summary: part of a message, a heading, or noise.
    fn plain(&mut self, line: &str, sink: &mut dyn Sink) {
        let bare = line.trim();
        let indent = line.len() - line.trim_start().len();
        if let Some(told) = &mut self.last
            && told.word.is_bad()
        {
            if indent > told.indent && !bare.is_empty() {
                for held in self.held.drain(..) {
                    told.block.push(&held);
                    told.block.push("\n");
                }
                told.block.push(line);
                told.block.push("\n");
                return;
            }
            if self.held.len() < MAX_HELD {
                self.held.push(line.to_owned());
            }
        }
        if bare.is_empty() {
            return;
        }
        self.plenary(bare, sink);
        let section = bare.strip_prefix("== ").and_then(|rest| rest.strip_suffix(" =="));
        if let Some(section) = section {
            section.clone_into(&mut self.section);
        }
        self.headings.retain(|(other, _)| *other < indent);
        if self.headings.len() < MAX_DEPTH && bare.len() < 200 {
            self.headings.push((indent, bare.to_owned()));
        }
    }

    /// plenary says which files it will run, which one it runs, and which it cannot load.
    fn plenary(&mut self, bare: &str, sink: &mut dyn Sink) {
        if let Some(file) = bare.strip_prefix("Testing:") {
            file.trim().clone_into(&mut self.file);
        } else if bare.contains("Scheduling: ") {
            self.files_left += 1;
        } else if bare == "FAILED TO LOAD FILE" {
            self.files_left -= 1;
            self.summaries.seen += 1;
            let error = RunError::new(RunErrorKind::Load, "the file cannot be loaded");
            sink.error(error.in_scope(self.file.as_str()));
        }
    }

    fn tell_last(&mut self, sink: &mut dyn Sink) {
        self.held.clear();
        let Some(mut told) = self.last.take() else {
            return;
        };
        self.shown += 1;
        self.shown_bad += u64::from(told.word.is_bad());
        self.shown_good += u64::from(told.word == Word::Pass);
        if told.word.is_bad() && self.failed_names.len() < MAX_NAMES {
            self.failed_names.insert(told.name.clone());
        }
        let block = dedent(&told.block.take());
        let case = Case {
            id: CaseId {
                file: &self.file,
                suite: List::from(&told.lineage),
                name: &told.name,
                ..CaseId::default()
            },
            ..Case::default()
        };
        let attempt = Attempt {
            outcome: told.outcome(&block),
            duration: told.duration,
            ..Attempt::default()
        };
        sink.event(&Event::CaseFinished { case, attempt, again: false });
    }

    fn summary(&mut self, line: Line, sink: &mut dyn Sink) {
        self.summaries.open_mocha = matches!(line, Line::Mocha(_));
        match line {
            Line::Ran(count) => self.summaries.ran = Some(count),
            Line::Whole(counts) => {
                self.summaries.ran = None;
                self.close(counts, false, sink);
            }
            Line::Mocha(counts) => self.part(&counts, false, false, sink),
            Line::Automake(counts, over) => self.part(&counts, over, false, sink),
            Line::Plenary(counts, over) => self.part(&counts, over, true, sink),
        }
    }

    fn part(&mut self, counts: &Counts, over: bool, sectional: bool, sink: &mut dyn Sink) {
        let mut open = self.summaries.open.take().unwrap_or_default();
        open.add(counts);
        if over {
            self.close(open, sectional, sink);
        } else {
            self.summaries.open = Some(open);
        }
    }

    fn close_mocha(&mut self, sink: &mut dyn Sink) {
        if std::mem::take(&mut self.summaries.open_mocha)
            && let Some(open) = self.summaries.open.take()
        {
            self.close(open, false, sink);
        }
    }

    /// A summary is whole.
    fn close(&mut self, counts: Counts, sectional: bool, sink: &mut dyn Sink) {
        let alone = self.shown == 0 && !sectional;
        if alone && self.summaries.last != Some(counts) {
            self.unnamed(&counts, sink);
        }
        let shown = if sectional {
            self.shown_bad - self.summaries.section_start.min(self.shown_bad)
        } else {
            self.shown_bad
        };
        let unnamed_bad = if self.summaries.unnamed > 0 { counts.bad() } else { 0 };
        if sectional && counts.bad() > shown {
            contradiction(counts.bad(), shown, sink);
            // Said once; the next file counts for itself.
            self.summaries.worst = 0;
        } else if sectional {
            self.summaries.worst = 0;
        } else {
            let more = counts.bad().saturating_sub(unnamed_bad);
            self.summaries.worst = self.summaries.worst.max(more);
        }
        self.files_left -= i64::from(sectional);
        self.summaries.section_start = self.shown_bad;
        self.summaries.seen += 1;
        self.summaries.last = Some(counts);
        self.summaries.is_end = true;
    }

    /// A summary without a single verdict before it: its tests have no names, but they count.
    fn unnamed(&mut self, counts: &Counts, sink: &mut dyn Sink) {
        let failed = Outcome::Failed(Failure {
            message: "the summary counts it, and nothing names it",
            ..Failure::default()
        });
        let skipped = Outcome::Skipped(Skip::default());
        let skips = counts.skipped.unwrap_or(0);
        let all = [(counts.good(), Outcome::Passed), (counts.bad(), failed), (skips, skipped)];
        for (count, outcome) in all {
            let room = MAX_UNNAMED - self.summaries.unnamed.min(MAX_UNNAMED);
            if count > room {
                let message = format!("a summary counts {count} tests; {room} of them are shown");
                sink.note(Note::new(NoteKind::Limit, message));
            }
            for _ in 0..count.min(room) {
                self.summaries.unnamed += 1;
                let name = format!("test {}", self.summaries.unnamed);
                let id = CaseId { name: &name, ..CaseId::default() };
                let case = Case { id, ..Case::default() };
                let attempt = Attempt { outcome, ..Attempt::default() };
                sink.event(&Event::CaseFinished { case, attempt, again: false });
            }
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.tell_last(sink);
        // Whatever else mocha would have said, it is red.
        if self.summaries.open.is_some_and(|open| open.bad() > 0) {
            self.close_mocha(sink);
        }
        let open = self.summaries.open.map_or(0, |open| open.bad());
        let claimed = self.summaries.worst.max(open);
        if claimed > self.shown_bad {
            contradiction(claimed, self.shown_bad, sink);
        }
        if self.shown + self.summaries.seen == 0 {
            let message = "nothing in it looks like the result of a test";
            return sink.error(RunError::new(RunErrorKind::Report, message));
        }
        if !self.summaries.is_end || self.summaries.open.is_some() || self.files_left > 0 {
            // Without a single result, the cut-off summary was all there is.
            if self.shown == 0 {
                return sink.error(RunError::new(RunErrorKind::Report, NO_END));
            }
            sink.note(Note::new(NoteKind::Unended, NO_END));
        }
        if let Some(last) = self.summaries.last
            && self.summaries.seen == 1
            && self.shown > 0
            && (last.good() != self.shown_good || last.bad() < self.shown_bad)
        {
            let message = format!(
                "the summary counts {} passed and {} failed, but {} and {} are shown; they are believed",
                last.good(),
                last.bad(),
                self.shown_good,
                self.shown_bad
            );
            sink.note(Note::new(NoteKind::Count, message));
        }
    }
}

fn contradiction(claimed: u64, shown: u64, sink: &mut dyn Sink) {
    let message = format!("the summary counts {claimed} failures, but {shown} are shown");
    sink.error(RunError::new(RunErrorKind::Contradiction, message));
}

impl Told {
    fn outcome<'a>(&'a self, block: &'a str) -> Outcome<'a> {
        let skip = |kind| Outcome::Skipped(Skip { kind, reason: &self.reason });
        let kind = match self.word {
            Word::Pass => return Outcome::Passed,
            Word::Skip => return skip(SkipKind::Skipped),
            Word::Todo => return skip(SkipKind::Todo),
            Word::ExpectedFailure => return skip(SkipKind::ExpectedFailure),
            Word::Fail => FailureKind::Failure,
            Word::Error => FailureKind::Error,
        };
        let (before, stack_trace) = failure::split_trace(block);
        let short = before.trim_end();
        let long = short.lines().nth(10).is_some();
        let (expected, actual) = failure::expected_actual(short);
        Outcome::Failed(Failure {
            kind,
            message: if long { failure::first_line(short) } else { short },
            type_name: "",
            details: if long { short } else { "" },
            stack_trace,
            expected,
            actual,
            location: failure::locate(block),
        })
    }
}

/// `block` without the indentation that its lines share.
fn dedent(block: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let full = block.lines().filter(|line| !line.trim().is_empty());
    let shared = full.map(indent).filter(|&indent| indent > 0).min().unwrap_or(0);
    let mut text = String::with_capacity(block.len());
    for line in block.lines() {
        let cut = indent(line).min(shared);
        text.push_str(line.get(cut..).unwrap_or(line));
        text.push('\n');
    }
    text
}
