//! GitHub-flavoured markdown, for step summaries, comments and people: the verdict first, then what failed.
//!
//! Text of tests only ever gets here as [`Markdown`] or [`MarkdownCode`]. Lists have an end: the first
//! failures are told in full, more are named, the rest is counted.

use std::io::{BufWriter, Write};

use super::escape::{Markdown, MarkdownCode};
use super::summary::{self, IN_FULL, NAMED};
use super::{OutputFormat, RenderError, Report};
use crate::model::{CaseView, Clipped, Failure, Note, Outcome, RunError, Skip, TestRun, Verdict};

/// Bytes of a message, a trace, an output and a name.
const MESSAGE: usize = 2_000;
const TRACE: usize = 5_000;
const OUTPUT: usize = 2_000;
const NAME: usize = 300;
/// Entries of a list that is beside the point.
const LISTED: usize = 100;

/// GitHub-flavoured markdown.
pub(super) struct GithubMarkdown;

impl OutputFormat for GithubMarkdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn description(&self) -> &'static str {
        "GitHub-flavoured markdown, failures first"
    }

    fn render(&self, report: &Report<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
        let mut page = Page { out: BufWriter::new(out) };
        page.verdict(report)?;
        page.errors(report.run)?;
        page.failures(report.run)?;
        page.flaky(report.run)?;
        page.slowest(report.run)?;
        page.skipped(report.run)?;
        page.notes(report.run)?;
        page.origin(report.run)?;
        page.out.flush()?;
        Ok(())
    }
}

struct Page<W: Write> {
    out: W,
}

type Written = Result<(), RenderError>;

impl<W: Write> Page<W> {
    fn verdict(&mut self, report: &Report<'_>) -> Written {
        let sign = if report.judgement.is_success() { "✅" } else { "❌" };
        let (words, time) = (summary::headline(report), summary::run_time(report.run));
        writeln!(self.out, "**{sign} {words}** in {time}")?;
        Ok(())
    }

    fn errors(&mut self, run: &TestRun) -> Written {
        let total = run.errors().count();
        if total == 0 {
            return Ok(());
        }
        writeln!(self.out, "\n### Errors outside of tests")?;
        for error in run.errors().take(IN_FULL) {
            let RunError { kind, message, details, scope, source } = error;
            write!(self.out, "\n**{}**", summary::error_words(*kind))?;
            for about in [scope, source] {
                if !about.is_empty() {
                    write!(self.out, " · {}", Markdown(&summary::short(about, NAME)))?;
                }
            }
            self.out.write_all(b"\n")?;
            self.block(message, MESSAGE)?;
            if !details.trim().is_empty() {
                self.open("details")?;
                self.block(details, TRACE)?;
                self.close()?;
            }
        }
        self.more(total.saturating_sub(IN_FULL), "errors")
    }

    fn failures(&mut self, run: &TestRun) -> Written {
        let mut failed = summary::failed(run);
        for (index, view) in failed.by_ref().take(IN_FULL).enumerate() {
            if index == 0 {
                writeln!(self.out, "\n### Failed tests")?;
            }
            self.failure(&view)?;
        }
        let mut named = failed.by_ref().take(NAMED - IN_FULL).peekable();
        if named.peek().is_some() {
            writeln!(self.out, "\n### More failed tests\n")?;
        }
        for view in named {
            self.item(&view, "")?;
        }
        self.more(failed.count(), "failed tests")
    }

    fn failure(&mut self, view: &CaseView<'_>) -> Written {
        let (case, attempt) = (view.case(), view.deciding_attempt());
        let failure = summary::failure_of(&attempt);
        let Failure {
            kind,
            message,
            type_name,
            details,
            stack_trace,
            expected: _,
            actual: _,
            location: _,
        } = failure;
        let name = summary::short(&summary::name(&case.id), NAME);
        writeln!(self.out, "\n#### {}\n", Markdown(&name))?;
        write!(self.out, "**{}**", summary::failure_word(kind))?;
        let (home, place) = (summary::home(&case.id), summary::place(view, &failure));
        for about in [home.as_str(), &place, type_name] {
            if !about.is_empty() {
                write!(self.out, " · {}", Markdown(&summary::short(about, NAME)))?;
            }
        }
        if let Some(duration) = attempt.duration {
            write!(self.out, " · {}", summary::time(duration))?;
        }
        match view.attempts().len() {
            1 => {}
            attempts => write!(self.out, " · {attempts} attempts")?,
        }
        self.out.write_all(b"\n")?;
        if !message.trim().is_empty() {
            self.block(message, MESSAGE)?;
        }
        let diff = summary::diff(&failure);
        let texts = [diff.as_str(), details, stack_trace, attempt.stdout, attempt.stderr];
        if texts.iter().any(|text| !text.trim().is_empty()) {
            self.open("details")?;
            self.details(texts)?;
            self.close()?;
        }
        Ok(())
    }

    fn details(&mut self, texts: [&str; 5]) -> Written {
        let [diff, details, stack_trace, stdout, stderr] = texts;
        if !diff.is_empty() {
            let diff = Clipped::to(diff, TRACE).0;
            writeln!(self.out, "\nExpected (-) and actual (+):\n")?;
            writeln!(self.out, "{}", MarkdownCode::diff(&diff))?;
        }
        for text in [details, stack_trace] {
            if !text.trim().is_empty() {
                self.block(text, TRACE)?;
            }
        }
        for (title, text) in [("Standard output", stdout), ("Standard error", stderr)] {
            if text.trim().is_empty() {
                continue;
            }
            let (tail, cut) = summary::tail(text, OUTPUT);
            let end = if cut { ", its end" } else { "" };
            writeln!(self.out, "\n{title}{end}:\n")?;
            writeln!(self.out, "{}", MarkdownCode::new(tail))?;
        }
        Ok(())
    }

    fn flaky(&mut self, run: &TestRun) -> Written {
        let mut flaky = summary::flaky(run).peekable();
        if flaky.peek().is_none() {
            return Ok(());
        }
        writeln!(self.out, "\n### Flaky tests: passed and failed\n")?;
        for view in flaky.by_ref().take(LISTED) {
            let failure = summary::first_failure(&view);
            let count = view.attempts().len();
            let failures = view.attempts().map(|attempt| attempt.outcome);
            let failures = failures.filter(|outcome| matches!(outcome, Outcome::Failed(_)));
            let times = format!("failed {} of {count} times", failures.count());
            let message = summary::short(failure.message, NAME);
            let message = Markdown(&message).to_string();
            let colon = if message.is_empty() { "" } else { ": " };
            self.item(&view, &format!("{times}{colon}{message}"))?;
        }
        self.more(flaky.count(), "flaky tests")
    }

    fn slowest(&mut self, run: &TestRun) -> Written {
        let slowest = summary::slowest(run, 10);
        if slowest.is_empty() {
            return Ok(());
        }
        self.open("slowest tests")?;
        self.out.write_all(b"\n")?;
        for (duration, view) in slowest {
            self.item(&view, &summary::time(duration))?;
        }
        self.close()
    }

    fn skipped(&mut self, run: &TestRun) -> Written {
        let total = summary::skipped(run).count();
        if total == 0 {
            return Ok(());
        }
        self.open(&format!("{total} skipped or not run"))?;
        self.out.write_all(b"\n")?;
        let mut skipped = summary::skipped(run);
        for view in skipped.by_ref().take(LISTED) {
            let words = summary::skip_words(view.verdict());
            let reason = match (view.verdict(), view.deciding_attempt().outcome) {
                (Verdict::Skipped(_), Outcome::Skipped(Skip { kind: _, reason })) => reason,
                _ => "",
            };
            let reason = summary::short(reason, NAME);
            let reason = Markdown(&reason).to_string();
            let colon = if reason.is_empty() { "" } else { ": " };
            self.item(&view, &format!("{words}{colon}{reason}"))?;
        }
        self.more(skipped.count(), "skipped tests")?;
        self.close()
    }

    fn notes(&mut self, run: &TestRun) -> Written {
        let left_out: u64 = run.sources().map(|source| source.notes_left_out).sum();
        let mut notes = run.notes().peekable();
        if notes.peek().is_none() && left_out == 0 {
            return Ok(());
        }
        self.open("notes on what was odd")?;
        self.out.write_all(b"\n")?;
        for note in notes.by_ref().take(LISTED) {
            let Note { kind, message, source } = note;
            let [message, source] = [message, source].map(|text| summary::short(text, NAME));
            let about = Markdown(&source).to_string();
            let space = if about.is_empty() { "" } else { " in " };
            let message = Markdown(&message);
            writeln!(self.out, "- {}{space}{about}: {message}", kind.name())?;
        }
        self.more(notes.count() + left_out as usize, "notes")?;
        self.close()
    }

    /// How far the results can be trusted, and what they were read from.
    fn origin(&mut self, run: &TestRun) -> Written {
        if let Some(words) = summary::grade(run) {
            writeln!(self.out, "\n⚠️ {words}")?;
        }
        let total = run.sources().count();
        if total == 0 {
            return Ok(());
        }
        let reports = summary::plural(total as u64, "report", "reports");
        self.open(&format!("{total} {reports} read"))?;
        self.out.write_all(b"\n")?;
        for source in run.sources().take(LISTED) {
            let words = summary::short(&summary::source(source), NAME);
            writeln!(self.out, "- {}", Markdown(&words))?;
        }
        self.more(total.saturating_sub(LISTED), "reports")?;
        self.close()
    }

    /// A case in a list. `rest` must be markdown already.
    fn item(&mut self, view: &CaseView<'_>, rest: &str) -> Written {
        let id = view.case().id;
        let [name, home] = [summary::name(&id), summary::home(&id)];
        let [name, home] = [name, home].map(|text| summary::short(&text, NAME));
        write!(self.out, "- {}", Markdown(&name))?;
        let home = Markdown(&home).to_string();
        if !home.is_empty() {
            write!(self.out, " in {home}")?;
        }
        if !rest.is_empty() {
            write!(self.out, " · {rest}")?;
        }
        writeln!(self.out)?;
        Ok(())
    }

    fn more(&mut self, count: usize, what: &str) -> Written {
        if count > 0 {
            writeln!(self.out, "\n… and {count} more {what}")?;
        }
        Ok(())
    }

    fn block(&mut self, text: &str, limit: usize) -> Written {
        let text = Clipped::to(text, limit).0;
        writeln!(self.out, "\n{}", MarkdownCode::new(&text))?;
        Ok(())
    }

    /// Starts what is folded away. `summary` is our own words.
    fn open(&mut self, summary: &str) -> Written {
        writeln!(self.out, "\n<details><summary>{summary}</summary>")?;
        Ok(())
    }

    fn close(&mut self) -> Written {
        writeln!(self.out, "\n</details>")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Options;
    use crate::output::sample::{empty, failing, green, render, sample};

    #[test]
    fn runs_look_like_this() {
        let markdown = |run: &TestRun| render(&GithubMarkdown, run, Options::default());
        insta::assert_snapshot!("sample", markdown(&sample()));
        insta::assert_snapshot!("empty", markdown(&empty()));
        insta::assert_snapshot!("green", markdown(&green()));
    }

    #[test]
    fn many_failures_have_an_end() {
        for (count, full, named, rest) in [
            (50, 50, 0, ""),
            (51, 50, 1, ""),
            (200, 50, 150, ""),
            (201, 50, 150, "… and 1 more failed tests"),
            (999, 50, 150, "… and 799 more failed tests"),
        ] {
            let text = render(&GithubMarkdown, &failing(count), Options::default());
            assert_eq!(text.matches("```text\nno\n```").count(), full, "{count}");
            let names = (0..count).filter(|number| text.contains(&format!("test_{number}&#95;")));
            assert_eq!(names.count(), full + named, "{count}");
            assert!(text.contains(rest), "{count}");
            assert_eq!(text.contains("more failed tests"), !rest.is_empty(), "{count}");
        }
    }
}
