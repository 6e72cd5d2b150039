//! One event of `go test -json`, read without a look at what is not needed.
//!
//! A run has millions of these lines, nearly all of one shape. They are scanned by hand with borrowed
//! texts; whatever is unusual goes through `serde_json`.

use std::borrow::Cow;

use memchr::{memchr, memchr2};
use serde::Deserialize;

use crate::input::json;

/// The text of a JSON string, still escaped if it has any escape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Raw<'a> {
    pub(super) text: &'a str,
    pub(super) is_escaped: bool,
}

/// One event, with the fields that matter.
#[derive(Debug, Default)]
pub(super) struct GoEvent<'a> {
    pub(super) time: &'a str,
    pub(super) action: &'a str,
    pub(super) package: Raw<'a>,
    pub(super) test: Option<Raw<'a>>,
    pub(super) elapsed: &'a str,
    pub(super) output: Raw<'a>,
    pub(super) output_type: &'a str,
    pub(super) import_path: Raw<'a>,
    pub(super) failed_build: Raw<'a>,
    pub(super) key: Raw<'a>,
    pub(super) value: Raw<'a>,
    pub(super) path: Raw<'a>,
}

/// What a line turned out to be.
#[derive(Debug)]
pub(super) enum Scan<'a> {
    Event(GoEvent<'a>),
    /// An event that has a key twice; the values are the first ones.
    Twice(GoEvent<'a>),
    /// Not of the usual shape.
    Unusual,
}

impl<'a> Raw<'a> {
    fn plain(text: &'a str) -> Self {
        Self { text, is_escaped: false }
    }

    /// The string itself.
    pub(super) fn unescaped(self) -> Cow<'a, str> {
        if !self.is_escaped {
            return Cow::Borrowed(self.text);
        }
        let mut plain = String::with_capacity(self.text.len());
        self.unescape_into(&mut plain);
        Cow::Owned(plain)
    }

    /// Adds the string itself to `plain`.
    pub(super) fn unescape_into(self, plain: &mut String) {
        let mut rest = self.text;
        while let Some(at) = memchr(b'\\', rest.as_bytes()) {
            plain.push_str(&rest[..at]);
            let (character, width) = escape(&rest[at..]);
            plain.push(character);
            rest = &rest[at + width..];
        }
        plain.push_str(rest);
    }
}

/// The character that the escape at the start of `text` stands for, and how long the escape is.
fn escape(text: &str) -> (char, usize) {
    let simple = match text.as_bytes().get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => return unicode_escape(text),
        Some(byte) if byte.is_ascii() => char::from(*byte),
        _ => return ('\\', 1),
    };
    (simple, 2)
}

fn unicode_escape(text: &str) -> (char, usize) {
    let unit = |at: usize| {
        let hex = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(hex, 16).ok()
    };
    match (unit(0), unit(6)) {
        (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) => {
            let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            (char::from_u32(code).unwrap_or('\u{fffd}'), 12)
        }
        (Some(code), _) => (char::from_u32(code).unwrap_or('\u{fffd}'), 6),
        (None, _) => ('\u{fffd}', 2),
    }
}

/// Scans a line that holds one object of strings and numbers.
pub(super) fn scan(line: &str) -> Scan<'_> {
    scan_object(line).unwrap_or(Scan::Unusual)
}

fn scan_object(line: &str) -> Option<Scan<'_>> {
    let mut event = GoEvent::default();
    let mut seen = 0_u16;
    let mut twice = false;
    let mut rest = space(line.strip_prefix('{')?);
    loop {
        let (key, after) = string(rest)?;
        rest = space(space(after).strip_prefix(':')?);
        let (value, after) = match rest.as_bytes().first()? {
            b'"' => string(rest)?,
            b'0'..=b'9' | b'-' => number(rest),
            _ => return None,
        };
        rest = space(after);
        let bit = field_bit(key.text);
        if bit != 0 && seen & bit != 0 {
            twice = true;
        } else {
            set(&mut event, key.text, value);
        }
        seen |= bit;
        match rest.as_bytes().first()? {
            b',' => rest = space(&rest[1..]),
            b'}' if rest[1..].trim_end().is_empty() => break,
            _ => return None,
        }
    }
    Some(if twice { Scan::Twice(event) } else { Scan::Event(event) })
}

/// Skips blanks; there mostly are none.
fn space(text: &str) -> &str {
    match text.as_bytes().first() {
        Some(b' ' | b'\t') => text.trim_start_matches([' ', '\t']),
        _ => text,
    }
}

/// The string at the start of `text`, and what follows it.
fn string(text: &str) -> Option<(Raw<'_>, &str)> {
    let inside = text.strip_prefix('"')?;
    let bytes = inside.as_bytes();
    let mut at = 0;
    let mut is_escaped = false;
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            let raw = Raw { text: &inside[..at], is_escaped };
            return Some((raw, &inside[at + 1..]));
        }
        is_escaped = true;
        at += 2;
    }
}

fn number(text: &str) -> (Raw<'_>, &str) {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let length = text.bytes().take_while(is_part).count();
    (Raw::plain(&text[..length]), &text[length..])
}

fn field_bit(key: &str) -> u16 {
    match key {
        "Time" => 1,
        "Action" => 2,
        "Package" => 4,
        "Test" => 8,
        "Elapsed" => 16,
        "Output" => 32,
        "OutputType" => 64,
        "ImportPath" => 128,
        "FailedBuild" => 256,
        "Key" => 512,
        "Value" => 1024,
        "Path" => 2048,
        _ => 0,
    }
}

fn set<'a>(event: &mut GoEvent<'a>, key: &str, value: Raw<'a>) {
    match key {
        "Time" => event.time = value.text,
        "Action" => event.action = value.text,
        "Package" => event.package = value,
        "Test" => event.test = Some(value),
        "Elapsed" => event.elapsed = value.text,
        "Output" => event.output = value,
        "OutputType" => event.output_type = value.text,
        "ImportPath" => event.import_path = value,
        "FailedBuild" => event.failed_build = value,
        "Key" => event.key = value,
        "Value" => event.value = value,
        "Path" => event.path = value,
        _ => {}
    }
}

/// An event of unusual shape: with fields that are neither text nor number, or in odd white space.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct Unusual<'a> {
    #[serde(borrow)]
    time: Cow<'a, str>,
    #[serde(borrow)]
    action: Cow<'a, str>,
    #[serde(borrow)]
    package: Cow<'a, str>,
    #[serde(borrow)]
    test: Option<Cow<'a, str>>,
    elapsed: Option<f64>,
    #[serde(skip)]
    elapsed_text: String,
    #[serde(borrow)]
    output: Cow<'a, str>,
    #[serde(borrow)]
    output_type: Cow<'a, str>,
    #[serde(borrow)]
    import_path: Cow<'a, str>,
    #[serde(borrow)]
    failed_build: Cow<'a, str>,
}

impl<'a> Unusual<'a> {
    /// Reads a line, which must be one JSON object.
    pub(super) fn parse(line: &'a str) -> Result<Self, serde_json::Error> {
        let mut event: Self = serde_json::from_str(line)?;
        if let Some(elapsed) = event.elapsed {
            event.elapsed_text = elapsed.to_string();
        }
        Ok(event)
    }

    /// The same as the usual kind of event.
    pub(super) fn event(&self) -> GoEvent<'_> {
        GoEvent {
            time: &self.time,
            action: &self.action,
            package: Raw::plain(&self.package),
            test: self.test.as_deref().map(Raw::plain),
            elapsed: &self.elapsed_text,
            output: Raw::plain(&self.output),
            output_type: &self.output_type,
            import_path: Raw::plain(&self.import_path),
            failed_build: Raw::plain(&self.failed_build),
            ..GoEvent::default()
        }
    }
}

/// Reads a line of unusual shape, repaired where that helps.
pub(super) fn with_unusual<T>(
    line: &str,
    take: impl FnOnce(Result<GoEvent<'_>, serde_json::Error>) -> T,
) -> T {
    let repaired = json::repair(line);
    match Unusual::parse(&repaired) {
        Ok(unusual) => take(Ok(unusual.event())),
        Err(error) => take(Err(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual(line: &str) -> GoEvent<'_> {
        match scan(line) {
            Scan::Event(event) => event,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn events_are_scanned_in_any_order_and_spacing() {
        let event = usual(
            r#"{"Output": "a\tb\u003c\ud83d\ude80\n", "Action" :"output","Package":"p","Test":"T/x","Elapsed":1.5e-1 ,"New":"x"}"#,
        );
        assert_eq!(event.output.unescaped(), "a\tb<🚀\n");
        assert_eq!((event.action, event.package.text), ("output", "p"));
        assert_eq!(event.test.map(|test| test.text), Some("T/x"));
        assert_eq!(event.elapsed, "1.5e-1");
    }

    #[test]
    fn what_is_unusual_is_left_to_the_slow_way() {
        for line in [
            r#"{"Action":"run","New":true}"#,
            r#"{"Action":"run","New":{"a":1}}"#,
            r#"{"Action":"run""#,
            r#"{"Action":"run"}x"#,
            r#"{"Action":"run\"}"#,
            "{}",
            "{",
            "",
        ] {
            assert!(matches!(scan(line), Scan::Unusual), "{line}");
        }
        assert!(matches!(
            scan(r#"{"Action":"fail","Action":"pass"}"#),
            Scan::Twice(event) if event.action == "fail"
        ));
        let action = with_unusual(r#"{"Action":"run","New":{"a":[1]}}"#, |event| {
            event.map(|event| event.action.to_owned())
        });
        assert_eq!(action.unwrap(), "run");
    }

    #[test]
    fn broken_escapes_do_no_harm() {
        for (text, plain) in [
            ("\\ud800x", "\u{fffd}x"),
            ("\\u12", "\u{fffd}12"),
            ("\\ü", "\\ü"),
            ("\\", "\\"),
            ("\\\\n", "\\n"),
        ] {
            let raw = Raw { text, is_escaped: true };
            assert_eq!(raw.unescaped(), plain, "{text}");
        }
    }
}
