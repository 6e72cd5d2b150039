//! Start tags: their name and attributes, quoted or not.

use std::borrow::Cow;

use memchr::memchr;

use super::entity::unescape;
use crate::event::Sink;

/// A start tag.
#[derive(Clone, Copy)]
pub(in crate::input) struct Tag<'a> {
    /// The name without namespace prefix.
    pub(in crate::input) name: &'a str,
    /// The tag as it stands in the report.
    pub(in crate::input) raw: &'a str,
    pub(super) attributes: &'a [Attribute],
    /// Whether there is an `&` anywhere in it.
    pub(super) has_entity: bool,
}

/// Where an attribute's key and value stand in its tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute {
    key: (u32, u32),
    value: (u32, u32),
}

impl<'a> Tag<'a> {
    /// The attributes in order, with their values still encoded.
    pub(in crate::input) fn attributes(
        &self,
    ) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let raw = self.raw;
        let piece = move |(start, end): (u32, u32)| &raw[start as usize..end as usize];
        self.attributes.iter().map(move |attribute| (piece(attribute.key), piece(attribute.value)))
    }

    /// A value of this tag, decoded.
    pub(in crate::input) fn decode(&self, value: &'a str, sink: &mut dyn Sink) -> Cow<'a, str> {
        if self.has_entity { unescape(value, sink) } else { Cow::Borrowed(value) }
    }

    /// The decoded value of the first attribute called `name`.
    pub(in crate::input) fn get(&self, name: &str, sink: &mut dyn Sink) -> Option<Cow<'a, str>> {
        let (_, value) = self.attributes().find(|(key, _)| *key == name)?;
        Some(unescape(value, sink))
    }
}

pub(super) fn local_name(name: &str) -> &str {
    match name.bytes().rposition(|byte| byte == b':') {
        Some(at) => &name[at + 1..],
        None => name,
    }
}

/// What came of scanning a tag.
pub(super) struct Scanned {
    /// Where its `>` is.
    pub(super) end: usize,
    /// Whether a value stands without quotes, or a key without value.
    pub(super) odd: bool,
}

/// Finds a whole tag's end and its attributes in one pass.
pub(super) fn scan_tag(rest: &str, attributes: &mut Vec<Attribute>) -> Option<Scanned> {
    attributes.clear();
    let bytes = rest.as_bytes();
    let until = |from: usize, stop: fn(u8) -> bool| {
        bytes.get(from..)?.iter().position(|&byte| stop(byte)).map(|offset| from + offset)
    };
    let mut at = until(1, |byte| byte == b'>' || byte == b'/' || byte.is_ascii_whitespace())?;
    let mut odd = false;
    loop {
        at = until(at, |byte| !byte.is_ascii_whitespace())?;
        match bytes[at] {
            b'>' => return Some(Scanned { end: at, odd }),
            b'/' | b'=' | b'"' | b'\'' => {
                odd |= bytes[at] != b'/';
                at += 1;
                continue;
            }
            _ => {}
        }
        let key = at;
        let key_end = until(at, |byte| matches!(byte, b'=' | b'>') || byte.is_ascii_whitespace())?;
        let equals = until(key_end, |byte| !byte.is_ascii_whitespace())?;
        let (start, end, next) = if bytes[equals] == b'=' {
            let value = until(equals + 1, |byte| !byte.is_ascii_whitespace())?;
            if let quote @ (b'"' | b'\'') = bytes[value] {
                let end = value + 1 + memchr(quote, &bytes[value + 1..])?;
                (value + 1, end, end + 1)
            } else {
                odd = true;
                let end = until(value, |byte| byte == b'>' || byte.is_ascii_whitespace())?;
                let bare =
                    bytes[value..end].strip_suffix(b"/").map_or(end, |bare| value + bare.len());
                (value, if bytes[end] == b'>' { bare } else { end }, end)
            }
        } else {
            odd = true;
            (key_end, key_end, key_end)
        };
        let prefix =
            bytes[key..key_end].iter().rposition(|&byte| byte == b':').map_or(0, |colon| colon + 1);
        attributes.push(Attribute {
            key: ((key + prefix) as u32, key_end as u32),
            value: (start as u32, end as u32),
        });
        at = next;
    }
}
