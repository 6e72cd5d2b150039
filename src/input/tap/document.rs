//! A TAP document, line by line. Several may follow each other in one report.

use super::level::Level;
use super::line::{Directive, Line, Point, classify};
use super::point::{Became, Pending};
use super::prove::Prove;
use super::yaml::Block;
use crate::event::Sink;
use crate::input::capped::Capped;
use crate::model::{Note, NoteKind, RunError, RunErrorKind};

/// Subtests nested deeper than this are given up on.
const MAX_DEPTH: usize = 64;
/// What is repeated with every test, such as a subtest's name, is cut to this.
const MAX_NAME: usize = 1024;

/// Where in the report the reader is.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// The document and the subtests open in it; empty before its first line.
    levels: Vec<Level>,
    version: u32,
    pending: Option<Pending>,
    block: Option<Block>,
    /// What was printed since the last point.
    said: Capped,
    bailed_out: bool,
    titles: Titles,
    prove: ProveState,
    failed: bool,
    errored: bool,
    /// Where the report itself says that something failed.
    claim: Option<String>,
    noted: Noted,
}

/// tape and Catch2 announce tests by comments.
#[derive(Debug, Default)]
struct Titles {
    are_used: bool,
    /// There is a point per assertion, which is named by its text.
    assertions: bool,
    last: String,
    decided: bool,
}

#[derive(Debug, Default)]
struct ProveState {
    is_used: bool,
    file: String,
    in_summary: bool,
    ended: bool,
}

/// What is said once per report.
#[derive(Debug, Default)]
struct Noted {
    numbers: bool,
    after_bail_out: bool,
    too_deep: bool,
}

impl Document {
    /// Reads a whole line.
    pub(super) fn line(&mut self, line: &str, sink: &mut dyn Sink) {
        let bare = line.trim_start_matches(' ');
        let indent = line.len() - bare.len();
        let trimmed = bare.trim_end();
        if self.in_block(line, indent, trimmed, sink) {
            return;
        }
        if let Some(prove) = Prove::of(line) {
            return self.prove(&prove, line, sink);
        }
        if self.prove.in_summary {
            return;
        }
        match classify(trimmed) {
            Line::Version(version) => self.take_version(version, indent, sink),
            Line::Plan(count, reason) => self.take_plan(count, reason, indent, sink),
            Line::Point(point) => self.take_point(&point, indent, line, sink),
            Line::BailOut(reason) => self.bail_out(reason, sink),
            Line::Comment(text) => self.comment(text, indent, sink),
            Line::Pragma | Line::Blank => {}
            Line::Other => self.say(line),
        }
    }

    /// Reads what comes after the last line end. A result there may be cut.
    pub(super) fn last_line(&mut self, line: &str, sink: &mut dyn Sink) {
        let bare = line.trim_start_matches(' ');
        let may_be_cut = match (classify(bare), self.levels.first()) {
            (Line::Point(point), Some(root)) if point.ok && self.block.is_none() => {
                let due = root.points.saturating_add(u64::from(bare.len() == line.len()));
                root.plan.is_none_or(|plan| due < plan)
            }
            (Line::Point(point), None) => point.ok,
            _ => false,
        };
        if !may_be_cut {
            self.line(line, sink);
        }
    }

    /// The report is over.
    pub(super) fn finish(&mut self, sink: &mut dyn Sink) {
        self.end_block(false, sink);
        if !self.prove.is_used || !self.levels.is_empty() {
            self.close(sink);
        }
        if self.prove.is_used && !self.prove.ended && !self.errored {
            let message = "prove's result is missing: the report is truncated";
            self.error(RunError::new(RunErrorKind::Report, message), sink);
        }
        if let Some(claim) = self.claim.take()
            && !self.failed
            && !self.errored
        {
            let message = format!("no test failed, yet the report says \"{claim}\"");
            sink.error(RunError::new(RunErrorKind::Contradiction, message));
        }
    }

    fn error(&mut self, error: RunError, sink: &mut dyn Sink) {
        self.errored = true;
        sink.error(error);
    }

    /// Whether the line belongs to a YAML block, which it may also begin.
    fn in_block(&mut self, line: &str, indent: usize, bare: &str, sink: &mut dyn Sink) -> bool {
        if let Some(block) = &mut self.block {
            if bare == "..." && indent <= block.indent {
                self.end_block(true, sink);
                return true;
            }
            if bare.is_empty() || indent >= block.indent {
                block.line(line);
                return true;
            }
            self.end_block(false, sink);
            return false;
        }
        let level = self.levels.last().map_or(0, |level| level.indent);
        let begins = bare == "---" && indent > level;
        let wanted = |pending: &Pending| pending.yaml.is_none();
        if begins && self.pending.as_ref().is_some_and(wanted) {
            self.block = Some(Block::new(indent));
            return true;
        }
        false
    }

    fn end_block(&mut self, whole: bool, sink: &mut dyn Sink) {
        let Some(block) = self.block.take() else {
            return;
        };
        if !whole {
            let message = "a YAML block has no end";
            sink.note(Note::new(NoteKind::Syntax, message));
        }
        if let Some(pending) = &mut self.pending {
            pending.yaml = Some(block.finish());
        }
    }

    fn say(&mut self, line: &str) {
        self.said.push(line);
        self.said.push("\n");
    }

    /// Hands out the last point, now that nothing more can follow that belongs to it.
    fn flush(&mut self, sink: &mut dyn Sink) {
        let Some(pending) = self.pending.take() else {
            return;
        };
        let became = pending.emit(sink);
        if became == Became::Fine {
            return;
        }
        self.failed |= became == Became::Failed;
        self.errored |= became == Became::Errored;
        if let Some(level) = self.levels.last_mut() {
            level.failed = true;
        }
    }

    /// The document is over; another one may follow.
    fn close(&mut self, sink: &mut dyn Sink) {
        self.flush(sink);
        let said = self.said.take();
        let root = Level::default();
        let mut levels = std::mem::take(&mut self.levels);
        let open = levels.split_off(levels.len().min(1));
        let root = levels.first().unwrap_or(&root);
        let fine = root.check(self.bailed_out, &self.prove.file, &said, sink);
        self.errored |= !fine;
        if fine && !self.bailed_out && open.iter().any(|level| level.points > 0) {
            let message = "the result of a subtest is missing: the report is truncated";
            self.error(RunError::new(RunErrorKind::Report, message), sink);
        }
        self.bailed_out = false;
    }

    fn take_version(&mut self, version: u32, indent: usize, sink: &mut dyn Sink) {
        if indent > 0 {
            return;
        }
        if !self.levels.is_empty() {
            self.close(sink);
        }
        self.version = version;
        self.levels.push(Level::default());
    }

    fn take_plan(&mut self, count: u64, reason: Option<&str>, indent: usize, sink: &mut dyn Sink) {
        self.flush(sink);
        if self.settle(indent, true, sink).is_err() {
            return;
        }
        let is_root = self.levels.len() == 1;
        let Some(level) = self.levels.last_mut() else {
            return;
        };
        if level.take_plan(count, sink) && is_root {
            self.next_document(Some(count), sink);
        }
        if let Some(reason) = reason
            && is_root
            && count == 0
        {
            let message = format!("all tests are skipped: {reason}");
            sink.note(Note::new(NoteKind::Message, message));
        }
    }

    fn next_document(&mut self, plan: Option<u64>, sink: &mut dyn Sink) {
        if let Some(root) = self.levels.first_mut() {
            root.next_plan = None;
        }
        let said = self.said.take();
        self.close(sink);
        self.said.push(&said);
        let mut root = Level::default();
        if let Some(count) = plan {
            root.take_plan(count, sink);
        }
        self.levels.push(root);
    }

    fn take_point(&mut self, point: &Point<'_>, indent: usize, line: &str, sink: &mut dyn Sink) {
        if self.is_verdict_of_prove(point, indent) {
            return self.flush(sink);
        }
        self.flush(sink);
        if self.bailed_out {
            return self.after_bail_out(sink);
        }
        let Ok(child) = self.settle(indent, point.number.is_some(), sink) else {
            return self.say(line);
        };
        if self.levels.len() == 1
            && let Some(root) = self.levels.first()
            && root.is_over()
            && point.number == Some(1)
        {
            let plan = root.next_plan;
            self.next_document(plan, sink);
        }
        self.decide_titles(point);
        let is_root = self.levels.len() == 1;
        let version = self.version;
        let Some(level) = self.levels.last_mut() else {
            return;
        };
        if point.number.is_some_and(|number| number != level.points + 1) && !self.noted.numbers {
            self.noted.numbers = true;
            let message = "tests are not numbered one after the other; all of them count";
            sink.note(Note::new(NoteKind::Count, message));
        }
        level.take_point(point.directive.is_some(), version, sink);
        let announced = level.announced.take();
        let children = child.as_ref().filter(|child| child.points > 0);
        if let Some(child) = children
            && point.ok
            && point.directive.is_none()
        {
            child.check_subtest(sink);
        }
        let children = children.map(|child| child.failed);
        let fallback = child.map(|child| child.name).or(announced);
        let mut pending = self.pending_of(point, fallback, is_root);
        pending.children = children;
        self.pending = Some(pending);
    }

    fn pending_of(&mut self, point: &Point<'_>, fallback: Option<String>, root: bool) -> Pending {
        let directive = point.directive;
        let mut pending = Pending {
            ok: point.ok,
            name: point.name.clone().into_owned(),
            directive: directive.map(|(directive, reason)| (directive, reason.to_owned())),
            duration: point.duration,
            file: self.prove.file.clone(),
            suite: self.lineage(),
            stdout: self.said.take(),
            is_assertion: self.titles.assertions,
            ..Pending::default()
        };
        if root && self.titles.are_used && !self.titles.last.is_empty() {
            pending.suite.push(self.titles.last.clone());
        }
        if pending.name.is_empty() {
            pending.name = match (fallback, directive) {
                (Some(name), _) if !name.is_empty() => name,
                _ if self.titles.assertions => pending.suite.pop().unwrap_or_default(),
                // busted puts the name behind the directive.
                (_, Some((Directive::Skip, reason))) if point.dash => reason.to_owned(),
                _ => String::new(),
            };
        }
        pending
    }

    fn lineage(&self) -> Vec<String> {
        let names = self.levels.iter().skip(1).map(|level| level.name.as_str());
        names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    /// prove writes a bare `ok` behind a file that went well.
    fn is_verdict_of_prove(&self, point: &Point<'_>, indent: usize) -> bool {
        let bare = point.number.is_none() && point.name.is_empty() && point.directive.is_none();
        let complete = self.levels.first().is_some_and(Level::is_complete);
        self.prove.is_used && bare && complete && indent == 0 && point.ok
    }

    fn after_bail_out(&mut self, sink: &mut dyn Sink) {
        if !std::mem::replace(&mut self.noted.after_bail_out, true) {
            let message = "results follow after the bail-out; they are not counted";
            self.error(RunError::new(RunErrorKind::Report, message), sink);
        }
    }

    /// Closes subtests that are over and opens the one at this indentation. Hands out the one that was closed
    /// last; an error means that the line is none of TAP's.
    fn settle(
        &mut self,
        indent: usize,
        sure: bool,
        sink: &mut dyn Sink,
    ) -> Result<Option<Level>, ()> {
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        let base = self.levels.iter().rposition(|level| level.indent <= indent);
        let base = base.unwrap_or(0);
        let opens = self.levels.get(base).is_some_and(|level| level.indent < indent);
        if opens && !self.may_open(base, indent, sure) {
            return Err(());
        }
        if opens && base + 1 >= MAX_DEPTH {
            if !std::mem::replace(&mut self.noted.too_deep, true) {
                let message = "subtests are nested too deeply";
                self.error(RunError::new(RunErrorKind::Report, message), sink);
            }
            return Err(());
        }
        let closed = self.pop_to(base);
        if opens {
            let name = self.levels.last_mut().and_then(|top| top.announced.take());
            self.levels.push(Level::new(indent, name.unwrap_or_default()));
            return Ok(None);
        }
        Ok(closed)
    }

    fn may_open(&self, base: usize, indent: usize, sure: bool) -> bool {
        self.levels.get(base).is_some_and(|level| {
            level.announced.is_some() || (sure && (indent - level.indent).is_multiple_of(4))
        })
    }

    fn pop_to(&mut self, base: usize) -> Option<Level> {
        let mut closed: Option<Level> = None;
        while self.levels.len() > base + 1 {
            let mut level = self.levels.pop()?;
            if let Some(inner) = closed.take() {
                level.points = level.points.max(inner.points.min(1));
            }
            if let Some(outer) = self.levels.last_mut() {
                outer.failed |= level.failed;
            }
            closed = Some(level);
        }
        closed
    }

    fn bail_out(&mut self, reason: &str, sink: &mut dyn Sink) {
        if std::mem::replace(&mut self.bailed_out, true) {
            return;
        }
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        if let Some(pending) = self.pending.as_mut().filter(|point| point.is_failure()) {
            pending.bail_out = Some(reason.to_owned());
            return self.flush(sink);
        }
        self.flush(sink);
        let reason = if reason.is_empty() { "Bail out!" } else { reason };
        let error = RunError::new(RunErrorKind::BailOut, reason);
        let error = error.with_details(self.said.take());
        self.error(error.in_scope(self.prove.file.clone()), sink);
    }

    fn comment(&mut self, text: &str, indent: usize, sink: &mut dyn Sink) {
        let text = text.strip_prefix(' ').unwrap_or(text);
        let title = text[..text.floor_char_boundary(MAX_NAME)].trim();
        if let Some(name) = title.strip_prefix("Subtest: ") {
            self.flush(sink);
            return self.announce(name.trim(), indent, sink);
        }
        if let Some(claim) = claim_in(text).filter(|_| indent == 0) {
            self.claim.get_or_insert_with(|| claim.to_owned());
            return self.say(text);
        }
        if text.starts_with("Tests were run but no plan ") {
            return self.say(text);
        }
        if text.starts_with("rng-seed: ") || text.starts_with("filters: ") {
            (self.titles.are_used, self.titles.assertions) = (true, true);
            self.titles.decided = true;
            return;
        }
        if self.titles.are_used {
            return title.clone_into(&mut self.titles.last);
        }
        if !self.titles.decided {
            title.clone_into(&mut self.titles.last);
        }
        match &mut self.pending {
            Some(pending) if !pending.ok && pending.yaml.is_none() => {
                pending.comments.push(text);
                pending.comments.push("\n");
            }
            _ if text.starts_with("TAP results for ") => {}
            _ => self.say(text),
        }
    }

    /// Whether comments are titles shows in the first point.
    fn decide_titles(&mut self, point: &Point<'_>) {
        if std::mem::replace(&mut self.titles.decided, true) || self.titles.last.is_empty() {
            return;
        }
        let planned = self.levels.first().is_some_and(|root| root.plan.is_some());
        let tape = self.version == 13 && !point.dash && point.number.is_some();
        let catch = self.version == 0 && point.dash && point.name.contains(" for: ");
        let nested = self.levels.len() > 1;
        if (tape || catch) && !planned && !nested {
            (self.titles.are_used, self.titles.assertions) = (true, catch);
            self.said.clear();
        }
    }

    /// A subtest comes: its comment stands at the indentation of its point, or of its own points.
    fn announce(&mut self, name: &str, indent: usize, sink: &mut dyn Sink) {
        let name = name.replace("\\#", "#").replace("\\\\", "\\");
        let top = self.levels.last();
        let (deeper, expected) = (
            top.map_or(0, |level| level.indent) < indent,
            top.is_some_and(|level| level.announced.is_some()),
        );
        if deeper && !expected {
            if let Some(level) = self.levels.last_mut() {
                level.announced = Some(name);
            }
            let _ = self.settle(indent, true, sink);
            return;
        }
        if deeper && self.settle(indent, true, sink).is_err() {
            return;
        }
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        let fitting = self.levels.iter_mut().rfind(|level| level.indent <= indent);
        if let Some(level) = fitting {
            level.announced = Some(name);
        }
    }

    fn prove(&mut self, line: &Prove<'_>, text: &str, sink: &mut dyn Sink) {
        match *line {
            Prove::File(file) | Prove::Skipped(file, _) => {
                if !self.levels.is_empty() {
                    self.close(sink);
                }
                self.said.clear();
                self.version = 0;
                self.prove.is_used = true;
                file.clone_into(&mut self.prove.file);
                if let Prove::Skipped(file, reason) = *line {
                    let message = format!("all tests of {file} are skipped: {reason}");
                    sink.note(Note::new(NoteKind::Message, message));
                } else {
                    self.levels.push(Level::default());
                }
            }
            Prove::Dubious if self.prove.is_used && !self.levels.is_empty() => {
                let failed = self.levels.iter().any(|level| level.failed)
                    || self.pending.as_ref().is_some_and(Pending::is_failure);
                let errored = std::mem::take(&mut self.errored);
                self.close(sink);
                if !failed && !self.errored {
                    let error = RunError::new(RunErrorKind::Crash, text.trim());
                    self.error(error.in_scope(self.prove.file.clone()), sink);
                }
                self.errored |= errored;
            }
            Prove::Summary if self.prove.is_used => {
                if !self.levels.is_empty() {
                    self.close(sink);
                }
                self.prove.in_summary = true;
            }
            Prove::Result(result) if self.prove.is_used => {
                self.prove.ended = true;
                if result == "FAIL" {
                    self.claim = Some(text.to_owned());
                }
            }
            _ => self.say(text),
        }
    }
}

/// Closing comments by which tools say that something failed.
fn claim_in(text: &str) -> Option<&str> {
    let counted = |prefix: &str| {
        let count = text.strip_prefix(prefix)?.trim_start();
        let digits = count.bytes().take_while(u8::is_ascii_digit).count();
        let rest = &count[digits..];
        let fits = rest.is_empty() || rest.starts_with(" of ") || rest.starts_with(" test");
        (fits && count[..digits].parse::<u64>().is_ok_and(|count| count > 0)).then_some(text)
    };
    if text.starts_with("Looks like your test exited with ") {
        return Some(text);
    }
    ["fail ", "failed ", "Looks like you failed "].iter().find_map(|prefix| counted(prefix))
}
