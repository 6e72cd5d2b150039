//! JSON documents of any size, read one element of a long array at a time.
//!
//! A format names the arrays that hold its cases. Their elements are handed out as they come, and
//! what remains, the *skeleton*, is small and read at the end. Memory does not grow with the document.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use memchr::memchr2;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::event::Sink;
use crate::model::{Note, NoteKind, RunError, RunErrorKind};

/// Containers nested deeper than this outside of elements are given up on.
const MAX_DEPTH: usize = 128;

/// Reads one document.
#[derive(Debug)]
pub(super) struct Document {
    /// Where the long arrays are, as keys from the root.
    arrays: &'static [&'static [&'static str]],
    lead: String,
    stack: Vec<Level>,
    skeleton: String,
    /// How much of the skeleton stands before the first long array, its bracket included.
    before_elements: usize,
    /// The part of the current element that came in earlier pieces.
    element: String,
    /// Containers open inside the current element, if there is one.
    inside: Option<usize>,
    in_string: bool,
    escaped: bool,
    string: String,
    state: State,
    trailing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Before,
    Within,
    After,
    TooDeep,
}

#[derive(Debug)]
struct Level {
    is_array: bool,
    key: String,
    /// The array in `arrays` whose elements are handed out here.
    long: Option<usize>,
}

impl Document {
    pub(super) fn new(arrays: &'static [&'static [&'static str]]) -> Self {
        Self {
            arrays,
            lead: String::new(),
            stack: Vec::new(),
            skeleton: String::new(),
            before_elements: 0,
            element: String::new(),
            inside: None,
            in_string: false,
            escaped: false,
            string: String::new(),
            state: State::Before,
            trailing: false,
        }
    }

    /// Reads a piece. `take` gets each whole element with the index of its array.
    pub(super) fn feed(
        &mut self,
        text: &str,
        sink: &mut dyn Sink,
        mut take: impl FnMut(usize, &str, &mut dyn Sink),
    ) {
        match self.state {
            State::Before => {
                self.lead.push_str(text);
                let Some(start) = document_start(&self.lead) else {
                    return;
                };
                let lead = std::mem::take(&mut self.lead);
                if !lead[..start].trim().is_empty() {
                    sink.note(Note::new(NoteKind::Noise, "text before the JSON is passed over"));
                }
                self.state = State::Within;
                self.scan(&lead[start..], sink, &mut take);
            }
            State::Within => self.scan(text, sink, &mut take),
            State::After => self.after(text, sink),
            State::TooDeep => {}
        }
    }

    /// The document is over: what remains of it, or why it is not whole.
    pub(super) fn finish(&mut self) -> Result<String, RunError> {
        let problem = match self.state {
            State::After => return Ok(std::mem::take(&mut self.skeleton)),
            State::Before => "there is no JSON document in it",
            State::Within => "the JSON ends too early: the report is truncated",
            State::TooDeep => "the JSON is nested too deeply",
        };
        Err(RunError::new(RunErrorKind::Report, problem))
    }

    /// What stands before the first element, up to the bracket of its array: the same however much
    /// came since.
    pub(super) fn before_elements(&self) -> &str {
        &self.skeleton[..self.before_elements]
    }

    /// The element that a document stops in or right after, as far as it came.
    pub(super) fn cut_element(&mut self) -> String {
        std::mem::take(&mut self.element)
    }

    fn scan(
        &mut self,
        text: &str,
        sink: &mut dyn Sink,
        take: &mut dyn FnMut(usize, &str, &mut dyn Sink),
    ) {
        let bytes = text.as_bytes();
        let mut at = 0;
        let mut from = 0;
        while at < bytes.len() {
            if let Some(depth @ 1..) = self.inside {
                at = self.skip_inside(text, at, depth);
                continue;
            }
            if self.in_string {
                at = self.skip_string(text, at);
                continue;
            }
            match bytes[at] {
                b'"' => {
                    self.begin_element(&mut from, at);
                    self.in_string = true;
                    self.string.clear();
                }
                b'{' | b'[' => {
                    self.begin_element(&mut from, at);
                    if let Some(depth) = &mut self.inside {
                        *depth += 1;
                    } else {
                        self.open(bytes[at] == b'[');
                        if self.long_array().is_some() {
                            self.skeleton.push_str(&text[from..=at]);
                            from = at + 1;
                            if self.before_elements == 0 {
                                self.before_elements = self.skeleton.len();
                            }
                        }
                    }
                }
                b'}' | b']' => self.close(text, &mut from, at, sink, take),
                b',' if self.long_array().is_some() && self.inside.unwrap_or(0) == 0 => {
                    self.end_element(&text[from..at], sink, take);
                    from = at + 1;
                }
                b':' if self.inside.is_none() => {
                    if let Some(level) = self.stack.last_mut() {
                        std::mem::swap(&mut level.key, &mut self.string);
                    }
                }
                byte if byte.is_ascii_whitespace() => {}
                _ => self.begin_element(&mut from, at),
            }
            at += 1;
            if self.state != State::Within {
                self.flush(&text[from..at]);
                return self.feed(&text[at..], sink, take);
            }
        }
        self.flush(&text[from..]);
    }

    /// Inside of an element only brackets and strings matter, and most of a document is inside of one.
    /// Stops after the bracket that ends the element.
    fn skip_inside(&mut self, text: &str, mut at: usize, mut depth: usize) -> usize {
        let bytes = text.as_bytes();
        while at < bytes.len() && depth > 0 {
            if self.in_string {
                at = self.skip_string(text, at);
                continue;
            }
            match bytes[at] {
                b'"' => self.in_string = true,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            at += 1;
        }
        self.inside = Some(depth);
        at
    }

    /// In a long array, the first byte of a value starts an element.
    fn begin_element(&mut self, from: &mut usize, at: usize) {
        if self.inside.is_none() && self.long_array().is_some() {
            *from = at;
            self.inside = Some(0);
        }
    }

    fn end_element(
        &mut self,
        rest: &str,
        sink: &mut dyn Sink,
        take: &mut dyn FnMut(usize, &str, &mut dyn Sink),
    ) {
        let (Some(array), Some(_)) = (self.long_array(), self.inside.take()) else {
            return;
        };
        if self.element.is_empty() {
            return take(array, rest, sink);
        }
        let mut element = std::mem::take(&mut self.element);
        element.push_str(rest);
        take(array, &element, sink);
        element.clear();
        self.element = element;
    }

    fn open(&mut self, is_array: bool) {
        if self.stack.len() >= MAX_DEPTH {
            self.state = State::TooDeep;
            return;
        }
        let long =
            if is_array { self.arrays.iter().position(|path| self.is_at(path)) } else { None };
        self.stack.push(Level { is_array, key: String::new(), long });
    }

    fn close(
        &mut self,
        text: &str,
        from: &mut usize,
        at: usize,
        sink: &mut dyn Sink,
        take: &mut dyn FnMut(usize, &str, &mut dyn Sink),
    ) {
        if self.long_array().is_some() {
            self.end_element(&text[*from..at], sink, take);
            *from = at;
        }
        self.stack.pop();
        if self.stack.is_empty() {
            self.state = State::After;
        }
    }

    fn skip_string(&mut self, text: &str, mut at: usize) -> usize {
        let bytes = text.as_bytes();
        let start = at;
        if self.escaped {
            self.escaped = false;
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        } else {
            match memchr2(b'"', b'\\', &bytes[at..]) {
                None => at = bytes.len(),
                Some(offset) if bytes[at + offset] == b'\\' => {
                    at += offset + 1;
                    self.escaped = true;
                }
                Some(offset) => {
                    self.in_string = false;
                    self.note_string(&text[start..at + offset]);
                    return at + offset + 1;
                }
            }
        }
        self.note_string(&text[start..at]);
        at
    }

    /// Strings are remembered only where they may be keys on the way to a long array.
    fn note_string(&mut self, piece: &str) {
        if self.inside.is_none() && self.stack.len() <= 4 && self.string.len() < 256 {
            self.string.push_str(piece);
        }
    }

    fn flush(&mut self, piece: &str) {
        if self.inside.is_some() {
            self.element.push_str(piece);
        } else if self.long_array().is_none() {
            self.skeleton.push_str(piece);
        }
    }

    fn long_array(&self) -> Option<usize> {
        self.stack.last().and_then(|level| level.long)
    }

    fn is_at(&self, path: &[&str]) -> bool {
        self.stack.len() == path.len()
            && self.stack.iter().zip(path).all(|(level, key)| !level.is_array && level.key == *key)
    }

    fn after(&mut self, text: &str, sink: &mut dyn Sink) {
        let bare = text.trim_start();
        if !self.trailing && !bare.is_empty() {
            self.trailing = true;
            if bare.starts_with(['{', '[']) {
                let message = "another JSON document follows the first; only the first is read";
                return sink.error(RunError::new(RunErrorKind::Report, message));
            }
            sink.note(Note::new(NoteKind::Noise, "text after the JSON is passed over"));
        }
    }
}

/// Where a JSON document starts in `text`: a bracket that begins a line and is followed by what may follow it.
pub(super) fn document_start(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start();
        let start = at + (line.len() - bare.len());
        let next = || text[start + 1..].trim_start().bytes().next();
        let fits = match bare.as_bytes().first() {
            Some(b'{') => matches!(next(), Some(b'"' | b'}')),
            Some(b'[') => matches!(next(), Some(b'{' | b'[' | b'"' | b']')),
            _ => false,
        };
        if fits {
            return Some(start);
        }
        at += line.len();
    }
    None
}

/// Reads one value. What cannot be read is a run error, since a case may be missing.
pub(super) fn parse<'a, T: Deserialize<'a>>(
    raw: &'a str,
    what: &str,
    sink: &mut dyn Sink,
) -> Option<T> {
    match serde_json::from_str(raw) {
        Ok(value) => Some(value),
        Err(error) => {
            let message = format!("{what} cannot be read: {error}");
            sink.error(RunError::new(RunErrorKind::Report, message));
            None
        }
    }
}

/// A string that is borrowed where it has no escapes, also inside lists. `null` reads as the empty string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E: Error>(self) -> Result<Text<'de>, E> {
                Ok(Text::default())
            }
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

/// For `#[serde(deserialize_with)]`: `null` reads as the default, as a missing field does.
pub(super) fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A value of any type as text: a string as it is, everything else as JSON, `null` as nothing.
pub(super) fn plain(raw: &RawValue) -> String {
    match raw.get() {
        "null" => String::new(),
        json => serde_json::from_str(json).unwrap_or_else(|_| json.to_owned()),
    }
}

/// `raw` with what `serde_json` refuses but tools write repaired: half surrogate pairs, raw controls.
pub(super) fn repair(raw: &str) -> Cow<'_, str> {
    let has_control = raw.bytes().any(|byte| byte < b' ' && !byte.is_ascii_whitespace());
    let has_surrogate = raw.contains("\\ud") || raw.contains("\\uD");
    if !has_control && !has_surrogate {
        return Cow::Borrowed(raw);
    }
    let mut repaired = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(character) = rest.chars().next() {
        let (piece, width): (Cow<'_, str>, usize) = match character {
            '\\' if surrogate(rest).is_some() => {
                match (surrogate(rest), rest.get(6..).and_then(surrogate)) {
                    (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => {
                        (Cow::Borrowed(&rest[..12]), 12)
                    }
                    _ => (Cow::Borrowed("\\ufffd"), 6),
                }
            }
            '\\' => {
                let width = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                (Cow::Borrowed(&rest[..width]), width)
            }
            c if c < ' ' && !c.is_ascii_whitespace() => {
                (Cow::Owned(format!("\\u{:04x}", c as u32)), 1)
            }
            c => (Cow::Borrowed(&rest[..c.len_utf8()]), c.len_utf8()),
        };
        repaired.push_str(&piece);
        rest = &rest[width..];
    }
    Cow::Owned(repaired)
}

/// The surrogate that an escape at the start of `text` stands for.
fn surrogate(text: &str) -> Option<u32> {
    let hex = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(hex, 16).ok().filter(|code| (0xd800..0xe000).contains(code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;

    struct Quiet;
    impl Sink for Quiet {
        fn event(&mut self, _event: &Event<'_>) {}
    }

    fn split(text: &str, piece: usize) -> (Vec<String>, Result<String, RunError>) {
        let mut document = Document::new(&[&["r", "tests"], &["x"]]);
        let mut elements = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (head, tail) = rest.split_at(rest.ceil_char_boundary(piece.min(rest.len())));
            document
                .feed(head, &mut Quiet, |array, raw, _| elements.push(format!("{array}:{raw}")));
            rest = tail;
        }
        (elements, document.finish())
    }

    #[test]
    fn elements_come_one_by_one_and_the_rest_at_the_end() {
        let text = r#"noise
{"a":[1,{"b":"]"}],"r":{"tests":[ {"n":"ü\"]"} , 7,[1,[2]], "s" ],"z":"\\"},"x":[]}
"#;
        for piece in [1, 2, 3, 7, 1000] {
            let (elements, skeleton) = split(text, piece);
            let trimmed: Vec<_> = elements.iter().map(|e| e.trim_end()).collect();
            assert_eq!(trimmed, [r#"0:{"n":"ü\"]"}"#, "0:7", "0:[1,[2]]", r#"0:"s""#], "{piece}");
            let expected = r#"{"a":[1,{"b":"]"}],"r":{"tests":[],"z":"\\"},"x":[]}"#;
            assert_eq!(skeleton.as_deref(), Ok(expected), "{piece}");
        }
    }

    #[test]
    fn a_truncated_document_is_known_for_one() {
        let text = r#"{"r":{"tests":[{"n":1}]}}"#;
        for end in 0..text.len() {
            assert!(split(&text[..end], 4).1.is_err(), "{end}");
        }
        assert!(split(text, 4).1.is_ok());
    }

    #[test]
    fn text_is_borrowed_where_it_can_be() {
        let texts: Vec<Text<'_>> = serde_json::from_str(r#"["a","\n",null]"#).unwrap();
        assert!(matches!(&texts[0].0, Cow::Borrowed("a")));
        assert_eq!((&*texts[1], &*texts[2]), ("\n", ""));
        assert!(serde_json::from_str::<Text<'_>>("7").is_err());
    }

    #[test]
    fn half_pairs_and_raw_controls_are_repaired() {
        let raw = "{\"a\":\"\\ud800 \\ud83d\\ude80 \\\\ud800 \u{1b}[0m\"}";
        let value: serde_json::Value = serde_json::from_str(&repair(raw)).unwrap();
        assert_eq!(value["a"], "\u{fffd} 🚀 \\ud800 \u{1b}[0m");
    }
}
