//! What all reports of Rust's `libtest` have in common: binaries, names, panics, failed builds.

use std::time::Duration;

use super::failure;
use crate::event::{Event, Sink};
use crate::model::{
    Attempt, Case, CaseId, Failure, List, Location, Outcome, RunError, RunErrorKind,
};
use crate::text::strip_ansi;

/// The program that tests are in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Binary {
    /// Its name, or that of the package for documentation tests.
    pub(super) package: String,
    /// The file it is made from, relative to its package.
    pub(super) file: String,
}

impl Binary {
    /// The program that one of cargo's own lines announces.
    pub(super) fn announced(line: &str) -> Option<Self> {
        let bare = line.trim_start();
        if bare.len() == line.len() {
            return None;
        }
        if let Some(package) = bare.strip_prefix("Doc-tests ") {
            return Some(Self { package: package.trim().to_owned(), file: String::new() });
        }
        let rest = bare.strip_prefix("Running ")?.trim_end();
        let (what, path) = match rest.rsplit_once(" (") {
            Some((what, path)) => (what, path.trim_end_matches(')')),
            None => ("", rest),
        };
        let file = what.strip_prefix("unittests").unwrap_or(what).trim();
        Some(Self { package: program_name(path)?.to_owned(), file: file.to_owned() })
    }
}

/// `target/debug/deps/cart-15bd67e4ba262030` is of `cart`.
fn program_name(path: &str) -> Option<&str> {
    let base = path.rsplit(['/', '\\']).next()?;
    let base = base.strip_suffix(".exe").unwrap_or(base);
    let (name, hash) = base.rsplit_once('-')?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(name)
}

/// Says how an attempt at the test `name` ended.
pub(super) fn emit(
    binary: &Binary,
    name: &str,
    outcome: Outcome<'_>,
    (duration, stdout, again): (Option<Duration>, &str, bool),
    sink: &mut dyn Sink,
) {
    let mut lineage = Vec::new();
    let (mut file, mut line) = (binary.file.as_str(), None);
    let own = match documentation_test(name) {
        Some((path, item, number)) => {
            (file, line) = (path, number);
            item
        }
        None => match name.rsplit_once("::") {
            Some((modules, own)) if !own.is_empty() => {
                lineage.extend(modules.split("::"));
                own
            }
            _ => name,
        },
    };
    let case = Case {
        id: CaseId {
            package: &binary.package,
            file,
            suite: List::from(&lineage),
            name: own,
            parameters: "",
        },
        line,
        ..Case::default()
    };
    let attempt = Attempt { outcome, duration, stdout, ..Attempt::default() };
    sink.event(&Event::CaseFinished { case, attempt, again });
}

/// `src/lib.rs - total (line 12)`: its file, its item and its line.
fn documentation_test(name: &str) -> Option<(&str, &str, Option<u32>)> {
    let (rest, number) = name.strip_suffix(')')?.rsplit_once("(line ")?;
    let number = number.parse().ok()?;
    let (file, item) = rest.split_once(" - ")?;
    let item = item.trim();
    Some((file, if item.is_empty() { file } else { item }, Some(number)))
}

/// A test's name without what libtest's text adds to it.
pub(super) fn plain_name(name: &str) -> &str {
    [" - should panic", " - compile fail", " - compile"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name)
}

/// Tells from a failed test's output what went wrong. `message` is the report's own, if it has one.
pub(super) fn explain<'a>(output: &'a str, name: &str, message: &'a str) -> Failure<'a> {
    let mut found = Failure::default();
    let (before, trace) = match output.find("stack backtrace:\n") {
        Some(at) => output.split_at(at),
        None => (output, ""),
    };
    found.stack_trace = trace;
    if let Some(panic) = own_panic(before, name) {
        found.message = panic.message;
        found.location = panic.place;
        let (expected, actual) = failure::expected_actual(panic.message);
        found.expected = expected.map(value);
        found.actual = actual.map(value);
    } else if let Some(at) = before.find("error[E").or_else(|| before.find("error: ")) {
        found.message = failure::first_line(&before[at..]);
        found.details = before.trim_end();
    } else {
        let error = before.lines().find(|line| line.starts_with("Error: "));
        found.message = error.unwrap_or_else(|| failure::first_line(before));
    }
    let note = before
        .rfind("note: test did not panic")
        .or_else(|| before.rfind("note: panic did not contain"))
        .map(|at| before[at..].trim_start_matches("note: ").trim_end());
    if let Some(own) = note.or(Some(message).filter(|message| !message.is_empty())) {
        found.message = own;
    }
    if found.location.is_none() {
        found.location = failure::locate(found.message);
    }
    if found.message.is_empty() {
        found.message = "failed, and the report does not say why";
    }
    found
}

/// A value without the marks that older versions put around it.
fn value(text: &str) -> &str {
    let inside = text.strip_prefix('`').and_then(|rest| rest.split_once('`'));
    inside.map_or(text, |(value, _)| value)
}

struct Panic<'a> {
    thread: &'a str,
    message: &'a str,
    place: Option<Location<'a>>,
}

/// The panic of the test's own thread, or else the first one.
fn own_panic<'a>(output: &'a str, name: &str) -> Option<Panic<'a>> {
    let mut first = None;
    let mut from = 0;
    // A test that panics more often than this has said enough.
    for _ in 0..64 {
        let Some(offset) = output[from..].find("thread '") else {
            break;
        };
        let at = from + offset;
        from = at + "thread '".len();
        if at > 0 && !output[..at].ends_with('\n') {
            continue;
        }
        if let Some(panic) = panic_in(&output[from..]) {
            if panic.thread == name {
                return Some(panic);
            }
            first = first.or(Some(panic));
        }
    }
    first
}

/// The panic told of in `text`, which starts behind `thread '`.
fn panic_in(text: &str) -> Option<Panic<'_>> {
    let (thread, rest) = text.split_once('\'')?;
    let first = rest.lines().next()?;
    let (_, place) = first.split_once("panicked at ")?;
    let rest = &rest[first.len() - place.len()..];
    // Before Rust 1.73 the message came first, in quotes.
    if let Some(quoted) = rest.strip_prefix('\'') {
        let end = quoted.find("', ")?;
        let after = quoted[end + 3..].lines().next().unwrap_or_default();
        return Some(Panic { thread, message: &quoted[..end], place: failure::place_in(after) });
    }
    let message = rest.get(place.len() + 1..).unwrap_or_default();
    Some(Panic {
        thread,
        message: message[..message_end(message)].trim_end(),
        place: failure::place_in(place.trim_end_matches(':')),
    })
}

/// Where a panic's message ends: at a note, or at an empty line before another panic.
fn message_end(text: &str) -> usize {
    let mut at = 0;
    let mut blank = None;
    for line in text.split_inclusive('\n') {
        if line.starts_with("note: ") {
            return at;
        }
        if line.trim().is_empty() {
            blank = blank.or(Some(at));
        } else if let Some(blank) = blank.take()
            && line.starts_with("thread '")
        {
            return blank;
        }
        at += line.len();
    }
    text.len()
}

/// Watches what cargo and the compiler say, for builds that fail.
#[derive(Debug, Default)]
pub(super) struct Build {
    /// From the first error on.
    text: String,
    pub(super) any_failed: bool,
}

/// The compiler's words are kept up to this size.
const MAX_TEXT: usize = 4 << 20;

impl Build {
    /// Reads a line that is none of a test's.
    pub(super) fn line(&mut self, line: &str, sink: &mut dyn Sink) {
        let line = strip_ansi(line);
        let is_error = line.starts_with("error: ") || line.starts_with("error[");
        if is_error && (line.contains("test failed, to rerun") || line.contains("targets failed:"))
            || line.starts_with("error: 1 target failed")
        {
            return;
        }
        if (is_error || !self.text.is_empty()) && self.text.len() < MAX_TEXT {
            self.text.push_str(&line);
            self.text.push('\n');
        }
        let failed = line.strip_prefix("error: could not compile `");
        if let Some((package, _)) = failed.and_then(|rest| rest.split_once('`')) {
            self.tell(package, sink);
        }
    }

    /// What was said so far was nothing that kept tests from running.
    pub(super) fn clear(&mut self) {
        self.text.clear();
    }

    /// The report is over: an error without the usual end is one all the same.
    pub(super) fn finish(&mut self, sink: &mut dyn Sink) {
        if !self.text.trim().is_empty() {
            self.tell("", sink);
        }
    }

    fn tell(&mut self, package: &str, sink: &mut dyn Sink) {
        self.any_failed = true;
        let text = std::mem::take(&mut self.text);
        let message = failure::first_line(&text);
        let error = RunError::new(RunErrorKind::Build, message).in_scope(package);
        sink.error(error.with_details(text.trim_end()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_by_cargos_lines() {
        for (line, package, file) in [
            (
                "     Running unittests src/lib.rs (target/debug/deps/a-b-15bd67e4ba262030)",
                "a-b",
                "src/lib.rs",
            ),
            (
                "     Running tests\\o.rs (target\\debug\\deps\\o-15bd67e4ba262030.exe)",
                "o",
                "tests\\o.rs",
            ),
            ("     Running target/debug/deps/x-15bd67e4ba262030", "x", ""),
            ("   Doc-tests cart", "cart", ""),
        ] {
            let binary = Binary::announced(line).unwrap();
            assert_eq!((binary.package.as_str(), binary.file.as_str()), (package, file));
        }
        assert_eq!(Binary::announced("Running late"), None);
        assert_eq!(Binary::announced("  Running late (again)"), None);
    }

    #[test]
    fn panics_old_and_new_are_understood() {
        let new = "x\n\nthread '<unnamed>' (3) panicked at t.rs:13:40:\nlost\nnote: run with\n\nthread 'a' (1) panicked at s/l.rs:4:9:\nassertion failed\n  left: 1\n right: 2\n\n";
        let failure = explain(new, "a", "");
        assert_eq!(failure.message, "assertion failed\n  left: 1\n right: 2");
        assert_eq!((failure.expected, failure.actual), (Some("2"), Some("1")));
        assert_eq!(failure.location.map(|place| place.file), Some("s/l.rs"));
        assert_eq!(explain(new, "b", "").message, "lost");

        let old =
            "thread 'a' panicked at 'no:\n  left: `1`,\n right: `2`: why', s/l.rs:4:9\nnote: x\n";
        let failure = explain(old, "a", "");
        assert_eq!(failure.message, "no:\n  left: `1`,\n right: `2`: why");
        assert_eq!((failure.expected, failure.actual), (Some("2"), Some("1")));
        assert_eq!(failure.location.and_then(|place| place.line), Some(4));
    }
}
