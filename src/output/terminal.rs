//! The summary for people at a terminal: what failed first, the verdict last, on one line.
//!
//! Text of tests only ever gets here as [`Terminal`], in lines that start with a sign of our own, cut or
//! wrapped to the width there is.

use std::io::{BufWriter, Write};

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::escape::Terminal;
use super::summary::{self, IN_FULL, NAMED};
use super::{Options, OutputFormat, RenderError, Report};
use crate::model::{CaseView, Failure, Note, RunError, TestRun};

/// Lines of a message and of a difference.
const LINES: usize = 12;
/// Entries of a list that is beside the point.
const LISTED: usize = 20;
/// Bytes of a text that are looked at.
const TEXT: usize = 8_000;
/// No line is cut to less.
const NARROWEST: usize = 20;

const RED: Style = AnsiColor::Red.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const DIM: Style = Style::new().dimmed();
const PLAIN: Style = Style::new();

/// The summary for people at a terminal.
pub(super) struct Summary;

impl OutputFormat for Summary {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn description(&self) -> &'static str {
        "a summary for people, failures first and the verdict last"
    }

    fn render(&self, report: &Report<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
        let Options { color, width, threads: _ } = report.options;
        let mut screen = Screen { out: BufWriter::new(out), color, width: width.max(NARROWEST) };
        screen.errors(report.run)?;
        screen.failures(report.run)?;
        screen.flaky(report.run)?;
        screen.slowest(report)?;
        screen.notes(report.run)?;
        screen.verdict(report)?;
        screen.out.flush()?;
        Ok(())
    }
}

struct Screen<W: Write> {
    out: W,
    color: bool,
    width: usize,
}

type Written = Result<(), RenderError>;

impl<W: Write> Screen<W> {
    fn errors(&mut self, run: &TestRun) -> Written {
        let mut errors = run.errors();
        for error in errors.by_ref().take(IN_FULL) {
            let RunError { kind, message, details, scope, source } = error;
            let about = if scope.is_empty() { source } else { scope };
            self.title("ERROR", RED, summary::error_words(*kind), about)?;
            self.text(message, PLAIN)?;
            if message.trim() != details.trim() {
                self.text(details, DIM)?;
            }
            writeln!(self.out)?;
        }
        self.more(errors.count(), "errors outside of tests")
    }

    fn failures(&mut self, run: &TestRun) -> Written {
        let mut failed = summary::failed(run);
        for view in failed.by_ref().take(IN_FULL) {
            self.failure(&view)?;
        }
        let mut named = failed.by_ref().take(NAMED - IN_FULL).peekable();
        let any = named.peek().is_some();
        for view in named {
            self.case(&view, "FAIL", RED, "")?;
        }
        if any {
            writeln!(self.out)?;
        }
        self.more(failed.count(), "failed tests")
    }

    fn failure(&mut self, view: &CaseView<'_>) -> Written {
        let attempt = view.deciding_attempt();
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
        let mut about = vec![summary::failure_word(kind).to_owned()];
        about.push(summary::place(view, &failure));
        about.extend(attempt.duration.map(summary::time));
        match view.attempts().len() {
            1 => {}
            attempts => about.push(format!("{attempts} attempts")),
        }
        about.retain(|part| !part.is_empty());
        self.case(view, "FAIL", RED, "")?;
        self.line("  ", &about.join(", "), DIM)?;
        // The first of these that says something.
        let texts = [message, details, stack_trace, type_name];
        let text = texts.into_iter().find(|text| !text.trim().is_empty());
        self.text(text.unwrap_or("failed, and the report does not say why"), PLAIN)?;
        self.difference(&summary::diff(&failure))?;
        writeln!(self.out)?;
        Ok(())
    }

    /// Lines that start with `-` or `+`.
    fn difference(&mut self, diff: &str) -> Written {
        let mut lines = diff.lines();
        for line in lines.by_ref().take(LINES) {
            let style = match line.as_bytes().first() {
                Some(b'-') => GREEN,
                Some(b'+') => RED,
                _ => PLAIN,
            };
            // The line's own sign stays in the first column.
            let (sign, text) = line.split_at(line.len().min(1));
            self.line(&format!("  │ {sign} "), text, style)?;
        }
        self.more_lines(lines.count())
    }

    fn flaky(&mut self, run: &TestRun) -> Written {
        let mut flaky = summary::flaky(run).peekable();
        let any = flaky.peek().is_some();
        for view in flaky.by_ref().take(LISTED) {
            let message = summary::first_failure(&view).message;
            let first = message.lines().find(|line| !line.trim().is_empty());
            self.case(&view, "FLAKY", YELLOW, first.unwrap_or_default())?;
        }
        self.more(flaky.count(), "flaky tests")?;
        if any {
            writeln!(self.out)?;
        }
        Ok(())
    }

    /// The slowest tests, where anything took long enough to matter.
    fn slowest(&mut self, report: &Report<'_>) -> Written {
        let mut slowest = summary::slowest(report.run, 5);
        slowest.retain(|(duration, _)| duration.as_millis() >= 100);
        for (duration, view) in &slowest {
            self.case(view, "SLOW", DIM, &summary::time(*duration))?;
        }
        if !slowest.is_empty() {
            writeln!(self.out)?;
        }
        Ok(())
    }

    fn notes(&mut self, run: &TestRun) -> Written {
        let mut notes = run.notes();
        let mut any = false;
        for note in notes.by_ref().take(LISTED) {
            let Note { kind: _, message, source } = note;
            any = true;
            self.title("NOTE", DIM, message, source)?;
        }
        let left_out: u64 = run.sources().map(|source| source.notes_left_out).sum();
        self.more(notes.count() + left_out as usize, "notes")?;
        if let Some(words) = summary::grade(run) {
            any = true;
            self.title("NOTE", YELLOW, words, "")?;
        }
        if any {
            writeln!(self.out)?;
        }
        Ok(())
    }

    fn verdict(&mut self, report: &Report<'_>) -> Written {
        let style = if report.judgement.is_success() { GREEN } else { RED };
        let word = report.judgement.status().to_uppercase();
        let (words, time) = (summary::headline(report), summary::run_time(report.run));
        let (on, off) = self.style(style);
        writeln!(self.out, "{on}{word}{off} {words} in {time}")?;
        Ok(())
    }

    /// A case on one line, with a word before it and something about it behind.
    fn case(&mut self, view: &CaseView<'_>, word: &str, style: Style, about: &str) -> Written {
        let id = view.case().id;
        let (home, name) = (summary::home(&id), summary::name(&id));
        let whole = Terminal(&format!("{home} > {name}")).to_string();
        // Where there is no room for both, the name says more.
        let room = self.width.saturating_sub(word.len() + 1 + about.width() + 2);
        let title =
            if home.is_empty() || whole.width() > room { name } else { format!("{home} > {name}") };
        self.title(word, style, &title, about)
    }

    /// A word, then a title, then something about it, on one line.
    fn title(&mut self, word: &str, style: Style, title: &str, about: &str) -> Written {
        let (on, off) = self.style(style);
        write!(self.out, "{on}{word}{off} ")?;
        let room = self.width.saturating_sub(word.len() + 1);
        let about = self.shown(about, room / 2);
        let taken = if about.is_empty() { 0 } else { about.width() + 2 };
        let title = self.shown(title, room.saturating_sub(taken));
        write!(self.out, "{title}")?;
        if !about.is_empty() {
            let (on, off) = self.style(DIM);
            write!(self.out, "  {on}{about}{off}")?;
        }
        writeln!(self.out)?;
        Ok(())
    }

    /// A text behind a bar, wrapped, with an end.
    fn text(&mut self, text: &str, style: Style) -> Written {
        let (text, cut) = summary::head(text.trim_end(), TEXT);
        let room = self.width.saturating_sub(4);
        let plain = crate::text::strip_ansi(text);
        let lines = plain.lines().map(|line| Terminal(line).to_string());
        let mut wrapped = lines.flat_map(|line| wrap(&line, room));
        for line in wrapped.by_ref().take(LINES) {
            let (on, off) = self.style(style);
            writeln!(self.out, "  │ {on}{line}{off}")?;
        }
        self.more_lines(wrapped.count() + usize::from(cut))
    }

    /// One line behind `start`, cut to the width.
    fn line(&mut self, start: &str, text: &str, style: Style) -> Written {
        let text = self.shown(text, self.width.saturating_sub(start.width()));
        let (on, off) = self.style(style);
        writeln!(self.out, "{start}{on}{text}{off}")?;
        Ok(())
    }

    fn more(&mut self, count: usize, what: &str) -> Written {
        if count > 0 {
            writeln!(self.out, "… and {count} more {what}")?;
        }
        Ok(())
    }

    fn more_lines(&mut self, count: usize) -> Written {
        if count > 0 {
            writeln!(self.out, "  │ …")?;
        }
        Ok(())
    }

    /// A text on one line of at most so many columns.
    fn shown(&self, text: &str, columns: usize) -> String {
        let (text, _) = summary::head(text, TEXT);
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        cut(Terminal(&line).to_string(), columns.min(self.width))
    }

    /// What switches a style on and off.
    fn style(&self, style: Style) -> (String, String) {
        if self.color {
            (style.render().to_string(), style.render_reset().to_string())
        } else {
            (String::new(), String::new())
        }
    }
}

/// `line` cut to so many columns, with a sign that it was.
fn cut(line: String, columns: usize) -> String {
    if line.width() <= columns {
        return line;
    }
    let (mut kept, mut used) = (String::new(), 1);
    for c in line.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

/// `line` in pieces of at most so many columns, broken after a space where there is one late enough.
fn wrap(line: &str, columns: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let (mut piece, mut used) = (String::new(), 0);
    for c in line.chars() {
        let width = c.width().unwrap_or(0);
        if used + width > columns && !piece.is_empty() {
            let space = piece.rfind(' ').filter(|&at| at > piece.len() / 2);
            let rest = space.map_or_else(String::new, |at| piece.split_off(at + 1));
            pieces.push(std::mem::replace(&mut piece, rest));
            used = piece.width();
        }
        used += width;
        piece.push(c);
    }
    pieces.push(piece);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample::{empty, failing, green, render, sample};

    #[test]
    fn runs_look_like_this() {
        let terminal = |run: &TestRun| render(&Summary, run, Options::default());
        insta::assert_snapshot!("sample", terminal(&sample()));
        insta::assert_snapshot!("empty", terminal(&empty()));
        insta::assert_snapshot!("green", terminal(&green()));
    }

    #[test]
    fn only_our_own_colours_get_through_and_only_when_asked_for() {
        let options = Options { color: true, ..Options::default() };
        let coloured = render(&Summary, &sample(), options);
        let plain = render(&Summary, &sample(), Options::default());
        assert!(!plain.contains('\u{1b}'));
        assert_eq!(crate::text::strip_ansi(&coloured), plain);
        for (_, rest) in coloured.match_indices('\u{1b}').map(|(at, c)| (c, &coloured[at..])) {
            let end = rest.find('m').unwrap();
            let inside = &rest[2..end];
            assert!(inside.bytes().all(|b| b.is_ascii_digit() || b == b';'), "{inside}");
        }
    }

    #[test]
    fn no_line_is_wider_than_it_may_be() {
        for width in [0, 1, 20, 33, 80] {
            let options = Options { width, ..Options::default() };
            let text = render(&Summary, &sample(), options);
            let (others, last) = text.trim_end().rsplit_once('\n').unwrap();
            assert!(last.starts_with("ERROR "), "{last}");
            for line in others.lines() {
                assert!(line.width() <= width.max(NARROWEST), "{width}: {line}");
                assert!(!line.trim_start().starts_with("::"), "{line}");
            }
        }
    }

    #[test]
    fn long_lines_break_at_a_space() {
        assert_eq!(wrap("one two three", 9), ["one two ", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(cut("漢字漢字".to_owned(), 5), "漢字…");
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
            let text = render(&Summary, &failing(count), Options::default());
            assert_eq!(text.matches("│ no").count(), full, "{count}");
            let names = (0..count).filter(|number| text.contains(&format!("test_{number}_")));
            assert_eq!(names.count(), full + named, "{count}");
            assert!(text.contains(rest), "{count}");
            assert_eq!(text.contains("more failed tests"), !rest.is_empty(), "{count}");
        }
    }
}
