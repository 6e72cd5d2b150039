//! A tolerant XML reader that takes text in pieces of any size.
//!
//! Real reports are torn by crashes, hold bare ampersands and control characters, or are two documents
//! in one file. This reader repairs what it can, says so in notes, and knows at the end whether the
//! document was whole. No entity is ever expanded and nothing outside the text is ever opened.

use std::borrow::Cow;

use memchr::{memchr, memchr3, memmem};

use crate::event::Sink;
use crate::model::{Note, NoteKind, RunError, RunErrorKind};

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

/// A start tag.
#[derive(Clone, Copy)]
pub(super) struct Tag<'a> {
    /// The name without namespace prefix.
    pub(super) name: &'a str,
    attributes: &'a str,
    /// The tag as it stands in the report.
    pub(super) raw: &'a str,
}

impl<'a> Tag<'a> {
    /// The attributes in order, with their values still encoded.
    pub(super) fn attributes(&self) -> Attributes<'a> {
        Attributes {
            rest: self.attributes,
        }
    }

    /// The decoded value of the first attribute called `name`.
    pub(super) fn get(&self, name: &str, sink: &mut dyn Sink) -> Option<Cow<'a, str>> {
        let (_, value) = self.attributes().find(|(key, _)| *key == name)?;
        Some(unescape(value, sink))
    }
}

/// Iterates over the attributes of a tag, quoted or not.
pub(super) struct Attributes<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.trim_ascii_start();
        if rest.is_empty() {
            return None;
        }
        let bytes = rest.as_bytes();
        let end = bytes
            .iter()
            .position(|&b| b == b'=' || b.is_ascii_whitespace());
        let (key, after) = rest.split_at(end.unwrap_or(rest.len()));
        let Some(value) = after.trim_ascii_start().strip_prefix('=') else {
            self.rest = after;
            return Some((local_name(key), ""));
        };
        let value = value.trim_ascii_start();
        let (value, rest) = match value.as_bytes().first() {
            Some(&quote @ (b'"' | b'\'')) => {
                let inside = &value[1..];
                match memchr(quote, inside.as_bytes()) {
                    Some(at) => (&inside[..at], &inside[at + 1..]),
                    None => (inside, ""),
                }
            }
            _ => {
                let end = value.bytes().position(|b| b.is_ascii_whitespace());
                value.split_at(end.unwrap_or(value.len()))
            }
        };
        self.rest = rest;
        Some((local_name(key), value))
    }
}

fn local_name(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
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
    /// How far a tag that is not whole was searched for its end, and in which quotes that is.
    searched: usize,
    quote: u8,
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
            quote: 0,
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
            None if last => self.literal(handler, sink),
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
            Some(_) => self.literal(handler, sink),
        }
    }

    fn declaration(
        &mut self,
        rest: &str,
        last: bool,
        handler: &mut dyn Handler,
        sink: &mut dyn Sink,
    ) -> Option<usize> {
        for (opening, mode) in [
            ("<![CDATA[", Mode::Cdata),
            ("<!--", Mode::Comment),
            ("<!DOCTYPE", Mode::Doctype),
        ] {
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
        self.literal(handler, sink)
    }

    fn cdata(&mut self, rest: &str, last: bool, handler: &mut dyn Handler) -> Option<usize> {
        if let Some(end) = memmem::find(rest.as_bytes(), b"]]>") {
            if handler.wants_text() {
                handler.text(&rest[..end]);
            }
            self.mode = Mode::Content;
            return Some(end + 3);
        }
        let keep = if last {
            0
        } else {
            rest.len() - rest.trim_end_matches(']').len()
        };
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
        let Some(end) = self.tag_end(rest) else {
            if rest.len() > MAX_TAG {
                self.searched = 0;
                self.quote = 0;
                return self.literal(handler, sink);
            }
            return None;
        };
        let inside = &rest[1..end];
        let (inside, empty) = match inside.strip_suffix('/') {
            Some(inside) => (inside, true),
            None => (inside, false),
        };
        let name_end = inside
            .bytes()
            .position(|b| b.is_ascii_whitespace())
            .unwrap_or(inside.len());
        let (name, attributes) = inside.split_at(name_end);
        if !self.noted.unquoted && has_unquoted(attributes) {
            self.noted.unquoted = true;
            sink.note(Note::new(
                NoteKind::Syntax,
                "attributes without quotes or twice are read as they stand",
            ));
        }
        let tag = Tag {
            name: local_name(name),
            attributes,
            raw: &rest[..=end],
        };
        self.push(&tag, handler, sink);
        if empty {
            self.pop(true, handler, sink);
        }
        Some(end + 1)
    }

    /// Where the tag at the start of `rest` ends, outside of quotes.
    fn tag_end(&mut self, rest: &str) -> Option<usize> {
        let bytes = rest.as_bytes();
        let mut at = self.searched.max(1);
        loop {
            let found = if self.quote == 0 {
                memchr3(b'>', b'"', b'\'', bytes.get(at..)?)
            } else {
                memchr(self.quote, bytes.get(at..)?)
            };
            let Some(offset) = found else {
                self.searched = bytes.len();
                return None;
            };
            at += offset;
            match (bytes[at], self.quote) {
                (b'>', 0) => {
                    self.searched = 0;
                    return Some(at);
                }
                // A quote counts only as the start of a value: `it's` is no string.
                (quote, 0) if bytes[..at].trim_ascii_end().ends_with(b"=") => self.quote = quote,
                (_, 0) => {}
                _ => self.quote = 0,
            }
            at += 1;
            self.searched = at;
        }
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
        let depth = (0..self.starts.len())
            .rev()
            .find(|&depth| self.name(depth) == name);
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
                let message = format!("elements nested deeper than {MAX_DEPTH} are passed over");
                sink.note(Note::new(NoteKind::Limit, message));
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
        let end = self
            .starts
            .get(depth + 1)
            .copied()
            .unwrap_or(self.names.len());
        &self.names[self.starts[depth]..end]
    }

    fn innermost(&self) -> Option<&str> {
        self.starts.last().map(|&start| &self.names[start..])
    }

    fn text(&mut self, text: &str, handler: &mut dyn Handler, sink: &mut dyn Sink) {
        if self.starts.is_empty() {
            if !self.noted.before && !text.trim_matches(['\u{feff}', '\0']).trim().is_empty() {
                self.noted.before = true;
                sink.note(Note::new(
                    NoteKind::Noise,
                    "text outside of the XML is passed over",
                ));
            }
        } else if handler.wants_text() {
            handler.text(&unescape(text, sink));
        }
    }

    /// A `<` that starts no tag.
    fn literal(&mut self, handler: &mut dyn Handler, sink: &mut dyn Sink) -> Option<usize> {
        if !self.noted.literal {
            self.noted.literal = true;
            sink.note(Note::new(
                NoteKind::Syntax,
                "a `<` that starts no tag is read as text",
            ));
        }
        self.text("<", handler, sink);
        Some(1)
    }

    fn mismatch(&mut self, sink: &mut dyn Sink) {
        if !self.noted.mismatch {
            self.noted.mismatch = true;
            sink.note(Note::new(
                NoteKind::Syntax,
                "end tags that do not match are repaired",
            ));
        }
    }

    fn check_controls(&mut self, text: &str, sink: &mut dyn Sink) {
        let illegal = |byte: u8| byte < b' ' && byte != b'\n' && byte != b'\t' && byte != b'\r';
        let has_illegal = || text.bytes().fold(false, |any, byte| any | illegal(byte));
        if !self.noted.control && (has_illegal() || text.contains(['\u{fffe}', '\u{ffff}'])) {
            self.noted.control = true;
            let message = "characters that XML does not allow are kept as text";
            sink.note(Note::new(NoteKind::Syntax, message));
        }
    }
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

/// Whether a value stands without quotes, or an attribute twice.
fn has_unquoted(attributes: &str) -> bool {
    // Balanced quotes right after each `=` are the rule, and cheap to see.
    let bytes = attributes.as_bytes();
    let mut at = 0;
    while let Some(offset) = memchr(b'=', &bytes[at..]) {
        at += offset + 1;
        while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        let Some(&quote @ (b'"' | b'\'')) = bytes.get(at) else {
            return true;
        };
        at += 1;
        match memchr(quote, &bytes[at..]) {
            Some(offset) => at += offset + 1,
            None => return true,
        }
    }
    false
}

/// `text` with its entities and character references replaced.
pub(super) fn unescape<'a>(text: &'a str, sink: &mut dyn Sink) -> Cow<'a, str> {
    let Some(first) = memchr(b'&', text.as_bytes()) else {
        return Cow::Borrowed(text);
    };
    let mut decoded = String::with_capacity(text.len());
    decoded.push_str(&text[..first]);
    let mut rest = &text[first..];
    while !rest.is_empty() {
        let window = rest.floor_char_boundary(12);
        let replaced = memchr(b';', &rest.as_bytes()[..window])
            .and_then(|end| entity(&rest[1..end], sink).map(|character| (character, end)));
        match replaced {
            Some((character, end)) => {
                decoded.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                sink.note(Note::new(
                    NoteKind::Syntax,
                    "an `&` that starts no known entity is read as text",
                ));
                decoded.push('&');
                rest = &rest[1..];
            }
        }
        let next = memchr(b'&', rest.as_bytes()).unwrap_or(rest.len());
        decoded.push_str(&rest[..next]);
        rest = &rest[next..];
    }
    Cow::Owned(decoded)
}

fn entity(name: &str, sink: &mut dyn Sink) -> Option<char> {
    match name {
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "amp" => return Some('&'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        _ => {}
    }
    let number = name.strip_prefix('#')?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    let allowed = matches!(code, 9 | 10 | 13 | 0x20..=0xd7ff | 0xe000..=0xfffd | 0x1_0000..);
    if !allowed {
        let message = format!("the reference &{name}; is none that XML allows");
        sink.note(Note::new(NoteKind::Syntax, message));
    }
    match char::from_u32(code) {
        Some('\0') | None => Some(char::REPLACEMENT_CHARACTER),
        other => other,
    }
}
