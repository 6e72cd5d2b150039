//! Entities and character references. Only the five that XML itself has are ever replaced.

use std::borrow::Cow;

use memchr::memchr;

use crate::event::Sink;
use crate::model::{Note, NoteKind};

/// `text` with its entities and character references replaced.
pub(in crate::input) fn unescape<'a>(text: &'a str, sink: &mut dyn Sink) -> Cow<'a, str> {
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
        if let Some((character, end)) = replaced {
            decoded.push(character);
            rest = &rest[end + 1..];
        } else {
            let message = "an `&` that starts no known entity is read as text";
            sink.note(Note::new(NoteKind::Syntax, message));
            decoded.push('&');
            rest = &rest[1..];
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
