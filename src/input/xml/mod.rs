//! A tolerant XML reader that takes text in pieces of any size.
//!
//! Real reports are torn by crashes, hold bare ampersands and control characters, or are two documents
//! in one file. This reader repairs what it can, says so in notes, and knows at the end whether the
//! document was whole. No entity is ever expanded and nothing outside the text is ever opened.

mod entity;
mod tag;

use memchr::{memchr, memmem};

use crate::event::Sink;
use crate::model::{Note, NoteKind, RunError, RunErrorKind};
use tag::{Attribute, Scanned, local_name, scan_tag};

pub(super) use entity::unescape;
pub(super) use tag::Tag;

/// Elements nested deeper than this are passed over.
const MAX_DEPTH: usize = 256;
/// A tag longer than this is not one.
const MAX_TAG: usize = 16 << 20;

/// What is done with elements. `open` and `close` always come in pairs.
pub(super) trait Handler {
    /// An element starts.
    fn open(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink);
    /// Text or character data inside the innermost element. Comes in pieces.
    fn text(&mut self, text: &str);
    /// Whether text matters where the reader is now.
    fn wants_text(&self) -> bool;
    /// Whether an end tag that matches nothing ends the document all the same.
    fn ends_document(&self, _name: &str) -> bool {
        false
    }
    /// An element ends. `whole` is false where its end tag is missing.
    fn close(&mut self, name: &str, whole: bool, sink: &mut dyn Sink);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Content,
    Cdata,
    Comment,
    Instruction,
    Doctype,
}

/// The reader itself; holds what is not whole yet.
#[derive(Debug)]
pub(super) struct Xml {
    pending: String,
    mode: Mode,
    /// How far a tag that is not whole was searched for its end.
    searched: usize,
    attributes: Vec<Attribute>,
    /// The names of the open elements, one after the other, and where each starts.
    names: String,
    starts: Vec<usize>,
    /// Elements open beyond [`MAX_DEPTH`].
    beyond: usize,
    roots: u32,
    noted: Noted,
}

/// What was noted already; one note per report says enough.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a note of its own")]
struct Noted {
    control: bool,
    before: bool,
    literal: bool,
    mismatch: bool,
    depth: bool,
    second: bool,
    unquoted: bool,
}

impl Default for Xml {
    fn default() -> Self {
        Self {
            pending: String::new(),
            mode: Mode::Content,
            searched: 0,
            attributes: Vec::new(),
            names: String::new(),
            starts: Vec::new(),
            beyond: 0,
            roots: 0,
            noted: Noted::default(),
        }
    }
}

/// How much of the text is looked at in one go, so that what is kept of it stays small.
const PIECE: usize = 256 << 10;

impl Xml {
    /// Reads a piece of the document.
    pub(super) fn feed(&mut self, text: &str, handler: &mut dyn Handler, sink: &mut dyn Sink) {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(rest.floor_char_boundary(PIECE.max(4)));
            rest = more;
            self.check_controls(piece, sink);
            if self.pending.is_empty() {
                let used = self.read(piece, false, handler, sink);
                self.pending.push_str(&piece[used..]);
            } else {
                let mut pending = std::mem::take(&mut self.pending);
                pending.push_str(piece);
                let used = self.read(&pending, false, handler, sink);
                pending.drain(..used);
                self.pending = pending;
            }
        }
    }

    /// The document is over. Closes what is open and says whether anything was missing.
    pub(super) fn finish(&mut self, handler: &mut dyn Handler, sink: &mut dyn Sink) {
        let pending = std::mem::take(&mut self.pending);
        let used = self.read(&pending, true, handler, sink);
        let torn = !pending[used..].trim().is_empty() || self.mode != Mode::Content;
        if let Some(name) = self.innermost() {
            let message = format!("the report ends inside <{name}>: it is truncated");
            sink.error(RunError::new(RunErrorKind::Report, message));
        } else if torn {
            let message = "the report ends inside a tag: it is truncated";
            sink.error(RunError::new(RunErrorKind::Report, message));
        } else if self.roots == 0 {
            let message = "the report has no XML element in it";
            sink.error(RunError::new(RunErrorKind::Report, message));
        }
        while !self.starts.is_empty() {
            self.pop(false, handler, sink);
        }
    }

    /// Reads as far as whole things go; returns how much was used.
    fn read(
        &mut self,
        text: &str,
        last: bool,
        handler: &mut dyn Handler,
        sink: &mut dyn Sink,
    ) -> usize {
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let used = match self.mode {
                Mode::Content => self.content(rest, last, handler, sink),
                Mode::Cdata => self.cdata(rest, last, handler),
                Mode::Comment => self.until(rest, "-->"),
                Mode::Instruction => self.until(rest, "?>"),
                Mode::Doctype => self.doctype(rest, sink),
            };
            match used {
                Some(used) => at += used,
                None => break,
            }
        }
        at
    }

    /// Text up to the next tag, or the tag itself. `None` means: more is needed.
    fn content(
        &mut self,
        rest: &str,
        last: bool,
        handler: &mut dyn Handler,
        sink: &mut dyn Sink,
    ) -> Option<usize> {
        let bytes = rest.as_bytes();
        let open = memchr(b'<', bytes).unwrap_or(bytes.len());
        if open > 0 {
            let whole = open < bytes.len() || last;
            let end = if whole { open } else { before_entity(rest) };
            if end == 0 {
                return None;
            }
            self.text(&rest[..end], handler, sink);
            return Some(end);
        }
        match bytes.get(1) {
            None if last => Some(self.literal(handler, sink)),
            None => None,
            Some(b'!') => self.declaration(rest, last, handler, sink),
            Some(b'?') => {
                self.mode = Mode::Instruction;
                Some(2)
            }
            Some(b'/') if bytes.len() == 2 && !last => None,
            Some(b'/') if bytes.get(2).is_some_and(|&byte| starts_name(byte)) => {
                self.end_tag(rest, handler, sink)
            }
            Some(&byte) if starts_name(byte) => self.start_tag(rest, handler, sink),
            Some(_) => Some(self.literal(handler, sink)),
        }
    }

    fn declaration(
        &mut self,
        rest: &str,
        last: bool,
        handler: &mut dyn Handler,
        sink: &mut dyn Sink,
    ) -> Option<usize> {
        for (opening, mode) in
            [("<![CDATA[", Mode::Cdata), ("<!--", Mode::Comment), ("<!DOCTYPE", Mode::Doctype)]
        {
            let length = opening.len().min(rest.len());
            if rest.as_bytes()[..length].eq_ignore_ascii_case(&opening.as_bytes()[..length]) {
                if rest.len() < opening.len() {
                    return None;
                }
                self.mode = mode;
                return Some(opening.len());
            }
        }
        if rest.len() < 9 && !last {
            return None;
        }
        Some(self.literal(handler, sink))
    }

    fn cdata(&mut self, rest: &str, last: bool, handler: &mut dyn Handler) -> Option<usize> {
        if let Some(end) = memmem::find(rest.as_bytes(), b"]]>") {
            if handler.wants_text() {
                handler.text(&rest[..end]);
            }
            self.mode = Mode::Content;
            return Some(end + 3);
        }
        let keep = if last { 0 } else { rest.len() - rest.trim_end_matches(']').len() };
        let end = rest.len() - keep.min(2);
        if end == 0 {
            return None;
        }
        if handler.wants_text() {
            handler.text(&rest[..end]);
        }
        Some(end)
    }

    fn until(&mut self, rest: &str, end: &str) -> Option<usize> {
        if let Some(at) = memmem::find(rest.as_bytes(), end.as_bytes()) {
            self.mode = Mode::Content;
            return Some(at + end.len());
        }
        let skip = rest.floor_char_boundary(rest.len().saturating_sub(end.len() - 1));
        (skip > 0).then_some(skip)
    }

    /// Passes over a document type. One that declares entities makes the report suspect.
    fn doctype(&mut self, rest: &str, sink: &mut dyn Sink) -> Option<usize> {
        let end = match memchr::memchr2(b'[', b'>', rest.as_bytes())? {
            at if rest.as_bytes()[at] == b'>' => at,
            subset => {
                let close = subset + memchr(b']', &rest.as_bytes()[subset..])?;
                close + memchr(b'>', &rest.as_bytes()[close..])?
            }
        };
        if rest[..end].contains("<!ENTITY") {
            let message = "the report declares entities, which are never expanded";
            sink.error(RunError::new(RunErrorKind::Report, message));
        }
        self.mode = Mode::Content;
        Some(end + 1)
    }

    fn start_tag(
        &mut self,
        rest: &str,
        handler: &mut dyn Handler,
        sink: &mut dyn Sink,
    ) -> Option<usize> {
        let mut attributes = std::mem::take(&mut self.attributes);
        // A tag that is not whole is looked at again only when another `>` has come.
        let ends = memchr(b'>', rest.as_bytes().get(self.searched..).unwrap_or_default());
        let scanned = ends.and_then(|_| scan_tag(rest, &mut attributes));
        self.searched = 0;
        let Some(scanned) = scanned else {
            self.attributes = attributes;
            if rest.len() > MAX_TAG {
                let message = "a tag of more than 16 MiB cannot be read";
                sink.error(RunError::new(RunErrorKind::Report, message));
                return Some(self.literal(handler, sink));
            }
            self.searched = rest.len();
            return None;
        };
        let Scanned { end, odd } = scanned;
        if odd && !self.noted.unquoted {
            self.noted.unquoted = true;
            let message = "attributes without quotes or twice are read as they stand";
            sink.note(Note::new(NoteKind::Syntax, message));
        }
        let inside = &rest[1..end];
        let empty = inside.ends_with('/');
        let name_end = inside.bytes().position(|b| b.is_ascii_whitespace() || b == b'/');
        let name = local_name(&inside[..name_end.unwrap_or(inside.len())]);
        let raw = &rest[..=end];
        let has_entity = memchr(b'&', raw.as_bytes()).is_some();
        let tag = Tag { name, raw, attributes: &attributes, has_entity };
        self.push(&tag, handler, sink);
        if empty {
            self.pop(true, handler, sink);
        }
        self.attributes = attributes;
        Some(end + 1)
    }

    fn end_tag(
        &mut self,
        rest: &str,
        handler: &mut dyn Handler,
        sink: &mut dyn Sink,
    ) -> Option<usize> {
        let end = memchr(b'>', rest.as_bytes())?;
        let name = local_name(rest[2..end].trim_ascii_end());
        if self.beyond > 0 {
            self.beyond -= 1;
            return Some(end + 1);
        }
        let depth = (0..self.starts.len()).rev().find(|&depth| self.name(depth) == name);
        let Some(depth) = depth else {
            self.mismatch(sink);
            if handler.ends_document(name) {
                while let Some(innermost) = self.innermost() {
                    let whole = innermost != "testcase";
                    self.pop(whole, handler, sink);
                }
                return Some(end + 1);
            }
            if handler.wants_text() {
                handler.text(&rest[..=end]);
            }
            return Some(end + 1);
        };
        while self.starts.len() > depth + 1 {
            self.mismatch(sink);
            self.pop(false, handler, sink);
        }
        self.pop(true, handler, sink);
        Some(end + 1)
    }

    fn push(&mut self, tag: &Tag<'_>, handler: &mut dyn Handler, sink: &mut dyn Sink) {
        if self.beyond > 0 || self.starts.len() >= MAX_DEPTH {
            self.beyond += 1;
            if !self.noted.depth {
                self.noted.depth = true;
                let message = format!("elements nested deeper than {MAX_DEPTH} cannot be read");
                sink.error(RunError::new(RunErrorKind::Report, message));
            }
            return;
        }
        if self.starts.is_empty() {
            self.roots += 1;
            if self.roots > 1 && !self.noted.second {
                self.noted.second = true;
                sink.note(Note::new(
                    NoteKind::Syntax,
                    "several documents in one file are read as one",
                ));
            }
        }
        self.starts.push(self.names.len());
        self.names.push_str(tag.name);
        handler.open(tag, sink);
    }

    fn pop(&mut self, whole: bool, handler: &mut dyn Handler, sink: &mut dyn Sink) {
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        let Some(start) = self.starts.pop() else {
            return;
        };
        handler.close(&self.names[start..], whole, sink);
        self.names.truncate(start);
    }

    fn name(&self, depth: usize) -> &str {
        let end = self.starts.get(depth + 1).copied().unwrap_or(self.names.len());
        &self.names[self.starts[depth]..end]
    }

    fn innermost(&self) -> Option<&str> {
        self.starts.last().map(|&start| &self.names[start..])
    }

    fn text(&mut self, text: &str, handler: &mut dyn Handler, sink: &mut dyn Sink) {
        if self.starts.is_empty() {
            if !self.noted.before && !text.trim_matches(['\u{feff}', '\0']).trim().is_empty() {
                self.noted.before = true;
                sink.note(Note::new(NoteKind::Noise, "text outside of the XML is passed over"));
            }
        } else if handler.wants_text() {
            handler.text(&unescape(text, sink));
        }
    }

    /// A `<` that starts no tag.
    fn literal(&mut self, handler: &mut dyn Handler, sink: &mut dyn Sink) -> usize {
        if !self.noted.literal {
            self.noted.literal = true;
            sink.note(Note::new(NoteKind::Syntax, "a `<` that starts no tag is read as text"));
        }
        self.text("<", handler, sink);
        1
    }

    fn mismatch(&mut self, sink: &mut dyn Sink) {
        if !self.noted.mismatch {
            self.noted.mismatch = true;
            sink.note(Note::new(NoteKind::Syntax, "end tags that do not match are repaired"));
        }
    }

    fn check_controls(&mut self, text: &str, sink: &mut dyn Sink) {
        if !self.noted.control && (has_control(text) || has_noncharacter(text)) {
            self.noted.control = true;
            let message = "characters that XML does not allow are kept as text";
            sink.note(Note::new(NoteKind::Syntax, message));
        }
    }
}

/// Whether there is a control character that XML does not allow. Written so that it is vectorised.
fn has_control(text: &str) -> bool {
    let illegal = |byte: u8| byte < b' ' && byte != b'\n' && byte != b'\t' && byte != b'\r';
    text.as_bytes()
        .chunks(4096)
        .any(|chunk| chunk.iter().fold(false, |any, &byte| any | illegal(byte)))
}

/// Whether there is a U+FFFE or U+FFFF.
fn has_noncharacter(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(0xef, bytes)
        .any(|at| matches!(bytes.get(at + 1..at + 3), Some([0xbf, 0xbe | 0xbf])))
}

fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b':' || byte >= 0x80
}

/// Where to cut text that may end in the middle of an entity.
fn before_entity(text: &str) -> usize {
    let tail = text.floor_char_boundary(text.len().saturating_sub(12));
    match text[tail..].rfind('&') {
        Some(at) if !text[tail + at..].contains(';') => tail + at,
        _ => text.len(),
    }
}
