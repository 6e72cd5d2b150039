//! Text that arrives in pieces and may never end: head and tail are kept.

use crate::model::MAX_TEXT;

const HEAD: usize = MAX_TEXT / 2 - 64;
const TAIL: usize = MAX_TEXT / 2 - 64;

/// A growing text of bounded size.
#[derive(Debug, Default, Clone)]
pub(super) struct Capped {
    head: String,
    tail: String,
    left_out: u64,
}

impl Capped {
    /// Adds a piece.
    pub(super) fn push(&mut self, piece: &str) {
        if self.tail.is_empty() {
            let room = HEAD.saturating_sub(self.head.len());
            if piece.len() <= room {
                return self.head.push_str(piece);
            }
            let cut = piece.floor_char_boundary(room);
            self.head.push_str(&piece[..cut]);
            return self.push_tail(&piece[cut..]);
        }
        self.push_tail(piece);
    }

    /// Adds what `write` adds, without an intermediate text as long as there is room.
    pub(super) fn push_with(&mut self, write: impl FnOnce(&mut String)) {
        if self.tail.is_empty() && self.head.len() < HEAD / 2 {
            write(&mut self.head);
            if self.head.len() > HEAD {
                let cut = self.head.floor_char_boundary(HEAD);
                let rest = self.head.split_off(cut);
                self.push_tail(&rest);
            }
            return;
        }
        let mut piece = String::new();
        write(&mut piece);
        self.push(&piece);
    }

    /// Whether nothing was added.
    pub(super) fn is_empty(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty()
    }

    /// The text so far, with a word on what is missing.
    pub(super) fn take(&mut self) -> String {
        let mut text = std::mem::take(&mut self.head);
        let tail = std::mem::take(&mut self.tail);
        let from = tail.ceil_char_boundary(tail.len().saturating_sub(TAIL));
        let left_out = std::mem::take(&mut self.left_out) + from as u64;
        if left_out > 0 {
            text.push_str(&format!("\n[… {left_out} bytes left out …]\n"));
        }
        text.push_str(&tail[from..]);
        text
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.head.clear();
        self.tail.clear();
        self.left_out = 0;
    }

    /// The text so far, if nothing had to be left out.
    pub(super) fn as_str(&self) -> &str {
        &self.head
    }

    fn push_tail(&mut self, piece: &str) {
        self.tail.push_str(piece);
        if self.tail.len() > 2 * TAIL {
            let from = self.tail.ceil_char_boundary(self.tail.len() - TAIL);
            self.left_out += from as u64;
            self.tail.drain(..from);
        }
    }
}
