//! Text to lines, for formats that have a line per thing.

use crate::event::Sink;
use crate::model::{Note, NoteKind};

/// The longest line that is handed on whole; a longer one is cut.
pub(super) const MAX_LINE: usize = 64 << 20;

/// Collects text until a line is whole.
#[derive(Debug, Default)]
pub(super) struct Lines {
    partial: String,
    /// The rest of a line that was too long is being passed over.
    skipping: bool,
    number: u64,
}

impl Lines {
    /// Hands every line that is whole now to `take`, without its line end, with its number from 1.
    pub(super) fn feed(
        &mut self,
        text: &str,
        sink: &mut dyn Sink,
        mut take: impl FnMut(&str, u64, &mut dyn Sink),
    ) {
        let mut rest = text;
        while let Some(at) = memchr::memchr(b'\n', rest.as_bytes()) {
            let line = &rest[..at];
            rest = &rest[at + 1..];
            self.number += 1;
            if self.skipping {
                self.skipping = false;
            } else if self.partial.is_empty() {
                take(without_return(line), self.number, sink);
            } else {
                let mut whole = std::mem::take(&mut self.partial);
                whole.push_str(line);
                take(without_return(&whole), self.number, sink);
                whole.clear();
                self.partial = whole;
            }
        }
        if self.skipping {
            return;
        }
        self.partial.push_str(rest);
        if self.partial.len() > MAX_LINE {
            let message = format!("line {} is longer than 64 MiB and cut", self.number + 1);
            sink.note(Note::new(NoteKind::Limit, message));
            take(&std::mem::take(&mut self.partial), self.number + 1, sink);
            self.skipping = true;
        }
    }

    /// What came after the last line end, if anything, with its number.
    pub(super) fn finish(&mut self) -> Option<(String, u64)> {
        let last = std::mem::take(&mut self.partial);
        let last = without_return(&last).to_owned();
        (!last.is_empty()).then_some((last, self.number + 1))
    }
}

fn without_return(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}
