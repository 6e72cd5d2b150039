//! Streams with a JSON object per line, and whatever else a tool prints between them.

use serde::Deserialize;

use super::json::repair;
use super::lines::Lines;
use crate::event::Sink;
use crate::model::{Note, NoteKind, RunError, RunErrorKind};

/// Picks the lines that are objects out of a stream.
#[derive(Debug, Default)]
pub(super) struct JsonLines {
    lines: Lines,
    noted: bool,
}

impl JsonLines {
    /// Hands every whole line that looks like an object to `take`, with its number from 1.
    pub(super) fn feed(
        &mut self,
        text: &str,
        sink: &mut dyn Sink,
        mut take: impl FnMut(&str, u64, &mut dyn Sink),
    ) {
        let noted = &mut self.noted;
        self.lines.feed(text, sink, |line, number, sink| {
            let line = line.trim();
            if line.starts_with('{') {
                take(&repair(line), number, sink);
            } else if !line.is_empty() && !*noted {
                *noted = true;
                let message = format!("line {number} is none of the format's and is passed over");
                sink.note(Note::new(NoteKind::Noise, message));
            }
        });
    }

    /// The stream is over. Tells whether it stops in the middle of an object.
    pub(super) fn finish(
        &mut self,
        sink: &mut dyn Sink,
        mut take: impl FnMut(&str, u64, &mut dyn Sink),
    ) -> bool {
        let Some((last, number)) = self.lines.finish() else {
            return false;
        };
        let line = repair(last.trim());
        if !line.starts_with('{') {
            return false;
        }
        let whole = serde_json::from_str::<serde::de::IgnoredAny>(&line).is_ok();
        if whole {
            take(&line, number, sink);
        }
        !whole
    }
}

/// Reads one line. What cannot be read is a run error, since a case may be missing.
pub(super) fn read_line<'a, T: Deserialize<'a>>(
    line: &'a str,
    number: u64,
    sink: &mut dyn Sink,
) -> Option<T> {
    match serde_json::from_str(line) {
        Ok(value) => Some(value),
        Err(error) => {
            let message = format!("line {number} cannot be read: {error}");
            sink.error(RunError::new(RunErrorKind::Report, message));
            None
        }
    }
}
