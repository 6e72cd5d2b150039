//! One service message: its name and its attributes, taken out of a line.

use std::borrow::Cow;

/// What every message starts with.
pub(super) const MARK: &str = "##teamcity[";

/// A message.
pub(super) struct Message<'a> {
    /// Its name, such as `testStarted`.
    pub(super) name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
}

impl<'a> Message<'a> {
    /// The value of an attribute, or nothing.
    pub(super) fn get(&self, key: &str) -> Cow<'a, str> {
        self.find(key).unwrap_or_default()
    }

    /// The value of an attribute, if it is there.
    pub(super) fn find(&self, key: &str) -> Option<Cow<'a, str>> {
        let found = self.attributes.iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| unescape(value))
    }
}

/// What a text begins with.
pub(super) enum Next<'a> {
    /// Text, a message, and what follows it.
    Message(&'a str, Message<'a>, &'a str),
    /// Text, and a message that does not end.
    Cut(&'a str),
    /// Text only.
    Text(&'a str),
}

/// Takes the first message out of a line.
pub(super) fn next(line: &str) -> Next<'_> {
    let Some((before, after)) = line.split_once(MARK) else {
        return Next::Text(line);
    };
    match read(after) {
        Some((message, rest)) => Next::Message(before, message, rest),
        None => Next::Cut(before),
    }
}

/// Reads what follows the mark, up to the closing bracket.
fn read(text: &str) -> Option<(Message<'_>, &str)> {
    let end = text.find(|c: char| c.is_ascii_whitespace() || c == ']' || c == '\'')?;
    let (name, mut rest) = text.split_at(end);
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(']') {
            return Some((Message { name, attributes }, after));
        }
        let key = if rest.starts_with('\'') {
            ""
        } else {
            let (key, after) = rest.split_once('=')?;
            rest = after.trim_start();
            key.trim_end()
        };
        let quoted = rest.strip_prefix('\'')?;
        let close = closing_quote(quoted)?;
        attributes.push((key, &quoted[..close]));
        rest = &quoted[close + 1..];
    }
}

/// Where the quote is that ends a value; one after `|` does not.
fn closing_quote(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find(['\'', '|'])?;
        if text[at..].starts_with('\'') {
            return Some(at);
        }
        let escaped = text[at + 1..].chars().next()?;
        from = at + 1 + escaped.len_utf8();
    }
}

/// A value without its escapes.
fn unescape(value: &str) -> Cow<'_, str> {
    if !value.contains('|') {
        return Cow::Borrowed(value);
    }
    let mut plain = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('|') {
        plain.push_str(before);
        let mut characters = after.chars();
        let escaped = characters.next();
        rest = characters.as_str();
        match escaped {
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('x') => plain.push('\u{85}'),
            Some('l') => plain.push('\u{2028}'),
            Some('p') => plain.push('\u{2029}'),
            Some('0') => rest = push_code(&mut plain, rest),
            Some(other) => plain.push(other),
            None => {}
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Adds the character of `|0xABCD`; `rest` starts at the `x`.
fn push_code<'a>(plain: &mut String, rest: &'a str) -> &'a str {
    let digits = rest.strip_prefix('x').and_then(|hex| hex.get(..4));
    match digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
        Some(code) => {
            plain.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            rest.get(5..).unwrap_or_default()
        }
        None => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_unescaped_and_brackets_inside_do_not_end_a_message() {
        let line = "x ##teamcity[testFailed name='a |'b|' |[|]||' out = '1]|n|0x00fc|p' ] y";
        let Next::Message(before, message, after) = next(line) else {
            panic!("no message");
        };
        assert_eq!((before, message.name, after), ("x ", "testFailed", " y"));
        assert_eq!(message.get("name"), "a 'b' []|");
        assert_eq!(message.get("out"), "1]\nü\u{2029}");
        assert_eq!(message.find("none"), None);
    }

    #[test]
    fn a_message_that_does_not_end_is_known_for_one() {
        for line in ["##teamcity[", "##teamcity[a", "##teamcity[a b='", "##teamcity[a b='|']"] {
            assert!(matches!(next(line), Next::Cut("")), "{line}");
        }
        assert!(matches!(next("##teamcity[a 'b']"), Next::Message(..)));
    }
}
