//! Bytes to text: byte order marks, UTF-16, declared Latin-1, and bytes that are no text at all.

use crate::event::Sink;
use crate::model::{Note, NoteKind};

/// Turns the bytes of one report into text, piece by piece.
#[derive(Debug)]
pub(super) struct Decoder {
    encoding: Encoding,
    /// The start of a character whose rest is still to come.
    partial: Vec<u8>,
    text: String,
    offset: u64,
    at_start: bool,
    noted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16 { big: bool },
    Latin1 { windows: bool },
}

/// What windows-1252 has in 0x80–0x9f, where Latin-1 has control characters.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

impl Decoder {
    /// A decoder for a stream known to be UTF-8.
    pub(super) fn utf8() -> Self {
        Self::new(Encoding::Utf8)
    }

    /// The decoder for a report that begins with `head`.
    pub(super) fn for_head(head: &[u8], sink: &mut dyn Sink) -> Self {
        let encoding = match head {
            [0xff, 0xfe, ..] | [b'<' | b'{', 0, ..] => Encoding::Utf16 { big: false },
            [0xfe, 0xff, ..] | [0, b'<' | b'{', ..] => Encoding::Utf16 { big: true },
            _ => declared_encoding(head, sink),
        };
        Self::new(encoding)
    }

    fn new(encoding: Encoding) -> Self {
        Self {
            encoding,
            partial: Vec::new(),
            text: String::new(),
            offset: 0,
            at_start: true,
            noted: false,
        }
    }

    /// The text of the next bytes.
    pub(super) fn decode<'a>(&'a mut self, bytes: &'a [u8], sink: &mut dyn Sink) -> &'a str {
        let start = self.offset - self.partial.len() as u64;
        self.offset += bytes.len() as u64;
        if self.encoding == Encoding::Utf8
            && self.partial.is_empty()
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return without_mark(text, &mut self.at_start);
        }
        let mut all = std::mem::take(&mut self.partial);
        all.extend_from_slice(bytes);
        self.text.clear();
        self.partial = match self.encoding {
            Encoding::Utf8 => decode_utf8(&all, &mut self.text, start, &mut self.noted, sink),
            Encoding::Utf16 { big } => decode_utf16(&all, big, &mut self.text, sink),
            Encoding::Latin1 { windows } => {
                self.text.extend(all.iter().map(|&byte| latin1(byte, windows)));
                Vec::new()
            }
        };
        without_mark(&self.text, &mut self.at_start)
    }

    /// What is left when no more bytes come: a cut-off character.
    pub(super) fn finish(&mut self, sink: &mut dyn Sink) -> &'static str {
        if self.partial.is_empty() {
            return "";
        }
        self.partial.clear();
        invalid(self.offset, &mut self.noted, sink);
        "\u{fffd}"
    }
}

/// `text` without the byte order mark at the very start of a report.
fn without_mark<'a>(text: &'a str, at_start: &mut bool) -> &'a str {
    if !*at_start || text.is_empty() {
        return text;
    }
    *at_start = false;
    text.trim_start_matches('\u{feff}')
}

/// Decodes what is whole and returns the bytes of a character that is not.
fn decode_utf8(
    mut bytes: &[u8],
    text: &mut String,
    start: u64,
    noted: &mut bool,
    sink: &mut dyn Sink,
) -> Vec<u8> {
    let length = bytes.len();
    loop {
        let error = match std::str::from_utf8(bytes) {
            Ok(valid) => {
                text.push_str(valid);
                return Vec::new();
            }
            Err(error) => error,
        };
        let (valid, rest) = bytes.split_at(error.valid_up_to());
        text.push_str(std::str::from_utf8(valid).unwrap_or_default());
        let Some(bad) = error.error_len() else {
            return rest.to_vec();
        };
        invalid(start + (length - rest.len()) as u64, noted, sink);
        text.push(char::REPLACEMENT_CHARACTER);
        bytes = &rest[bad..];
    }
}

fn decode_utf16(bytes: &[u8], big: bool, text: &mut String, sink: &mut dyn Sink) -> Vec<u8> {
    let unit = |pair: &[u8]| {
        let pair = [pair[0], pair[1]];
        if big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
    };
    let mut whole = bytes.len() / 2 * 2;
    // The second half of a pair may still be to come.
    if whole >= 2 && (0xd800..0xdc00).contains(&unit(&bytes[whole - 2..whole])) {
        whole -= 2;
    }
    for decoded in char::decode_utf16(bytes[..whole].chunks_exact(2).map(unit)) {
        text.push(decoded.unwrap_or_else(|_| {
            sink.note(Note::new(NoteKind::Encoding, "half a UTF-16 pair is shown as U+FFFD"));
            char::REPLACEMENT_CHARACTER
        }));
    }
    bytes[whole..].to_vec()
}

fn latin1(byte: u8, windows: bool) -> char {
    match byte {
        0x80..=0x9f if windows => WINDOWS_1252[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// Says once where the first byte is that is no text.
fn invalid(offset: u64, noted: &mut bool, sink: &mut dyn Sink) {
    if !std::mem::replace(noted, true) {
        let message =
            format!("bytes that are not UTF-8, the first at {offset}, are shown as U+FFFD");
        sink.note(Note::new(NoteKind::Encoding, message));
    }
}

/// The encoding an XML declaration claims, as far as the bytes bear it out.
fn declared_encoding(head: &[u8], sink: &mut dyn Sink) -> Encoding {
    let head = &head[..head.len().min(256)];
    let text = String::from_utf8_lossy(head);
    let declaration = text.trim_start_matches('\u{feff}').trim_start();
    let declared = declaration
        .strip_prefix("<?xml")
        .and_then(|rest| rest.split_once("?>"))
        .and_then(|(inside, _)| inside.split_once("encoding"))
        .and_then(|(_, value)| value.split(['"', '\'']).nth(1))
        .unwrap_or("utf-8")
        .to_ascii_lowercase();
    match declared.as_str() {
        "utf-8" | "utf8" | "us-ascii" | "ascii" => Encoding::Utf8,
        "iso-8859-1" | "iso8859-1" | "latin1" | "latin-1" | "iso-8859-15" => {
            Encoding::Latin1 { windows: false }
        }
        "windows-1252" | "cp1252" | "cp-1252" => Encoding::Latin1 { windows: true },
        other => {
            let message = format!("says it is {other} and is read as UTF-8");
            sink.note(Note::new(NoteKind::Encoding, message));
            Encoding::Utf8
        }
    }
}
