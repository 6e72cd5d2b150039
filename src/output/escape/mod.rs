//! One escaping type per sink: text of tests reaches a report only through one of these.
//!
//! | sink | type |
//! |---|---|
//! | element content and attributes of XML | [`XmlText`], [`XmlAttribute`] |
//! | a line of GitHub-flavoured markdown, or of HTML within it | [`Markdown`] |
//! | a block of code in markdown | [`MarkdownCode`] |
//! | a line on a terminal or in a log | [`Terminal`] |
//! | a description in TAP, a value in its YAML | [`TapText`], [`YamlString`], [`YamlBlock`] |
//!
//! All of them remove terminal sequences first. JSON needs no type: serde escapes it.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter, Write as _};

use crate::text::strip_ansi;

/// The content of an XML element.
///
/// Only characters that XML 1.0 allows, less those that control a terminal. Line ends become `\n`, as
/// any XML reader would make them. Tabs stay.
#[derive(Clone, Copy, Debug)]
pub struct XmlText<'a>(pub &'a str);

/// The value of an XML attribute in double quotes: as [`XmlText`], with line ends and tabs as references,
/// since a reader turns them into spaces otherwise.
#[derive(Clone, Copy, Debug)]
pub struct XmlAttribute<'a>(pub &'a str);

/// Inline text in GitHub-flavoured markdown, on one line. Fits HTML within markdown just as well.
///
/// It comes as `<code>` with character references in it. References alone would not do: GitHub looks for
/// mentions, issues, commits and emoji in the rendered text, where they are no longer seen, but it looks
/// at no code. `<wbr>` after an `@` keeps the autolinks of markdown itself from seeing an address.
#[derive(Clone, Copy, Debug)]
pub struct Markdown<'a>(pub &'a str);

/// A fenced block of code in markdown, without the line end after it. The fence is longer than any run
/// of backticks inside.
#[derive(Clone, Copy, Debug)]
pub struct MarkdownCode<'a> {
    text: &'a str,
    language: &'static str,
}

/// One line on a terminal or in the log of a CI service: printable text only. Controls and characters
/// that change the direction of text are shown rather than obeyed, and so are commands to the service.
#[derive(Clone, Copy, Debug)]
pub struct Terminal<'a>(pub &'a str);

/// The description of a test point in TAP, on one line.
#[derive(Clone, Copy, Debug)]
pub struct TapText<'a>(pub &'a str);

/// A value in YAML, in double quotes.
#[derive(Clone, Copy, Debug)]
pub struct YamlString<'a>(pub &'a str);

/// A text of several lines in YAML, as a literal block with its indicator, each line indented by four
/// spaces: the value of a key that is itself indented by two. No line end after the last line.
#[derive(Clone, Copy, Debug)]
pub struct YamlBlock<'a>(pub &'a str);

impl<'a> XmlText<'a> {
    /// What a reader of the XML gets to see of `text`.
    pub fn filter(text: &'a str) -> Cow<'a, str> {
        let plain = plain(text);
        if plain.chars().all(is_xml) {
            return plain;
        }
        Cow::Owned(plain.chars().filter(|&c| is_xml(c)).collect())
    }
}

impl Display for XmlText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_bare(self.0) {
            return f.write_str(self.0);
        }
        replace(f, &plain(self.0), |c| match c {
            '\n' | '\t' => None,
            c => xml_reference(c),
        })
    }
}

impl Display for XmlAttribute<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_bare(self.0) {
            return f.write_str(self.0);
        }
        replace(f, &plain(self.0), |c| match c {
            '\n' => Some("&#10;"),
            '\t' => Some("&#9;"),
            c => xml_reference(c),
        })
    }
}

impl Display for Markdown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let line = one_line(self.0, |c| is_invisible(c) || is_joiner(c));
        if line.is_empty() {
            return Ok(());
        }
        f.write_str("<code>")?;
        let mut before = ' ';
        let mut characters = line.chars().peekable();
        while let Some(c) = characters.next() {
            let inside_word = before.is_ascii_alphanumeric()
                && characters.peek().is_some_and(char::is_ascii_alphanumeric);
            match c {
                '@' => f.write_str("&#64;<wbr>")?,
                '_' if inside_word => f.write_char(c)?,
                // `www.` is a link of its own; `https://` needs its colon.
                '.' if before.eq_ignore_ascii_case(&'w') => f.write_str("&#46;")?,
                '&' | '<' | '>' | '`' | '*' | '_' | '[' | ']' | '|' | '\\' | '~' | '$' | '#'
                | ':' | '^' | '"' | '\'' => write!(f, "&#{};", u32::from(c))?,
                c => f.write_char(c)?,
            }
            before = c;
        }
        f.write_str("</code>")
    }
}

impl<'a> MarkdownCode<'a> {
    /// Plain text.
    pub fn new(text: &'a str) -> Self {
        let language = "text";
        Self { text, language }
    }

    /// Lines that start with `-`, `+` or a space.
    pub fn diff(text: &'a str) -> Self {
        let language = "diff";
        Self { text, language }
    }
}

impl Display for MarkdownCode<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { text, language } = *self;
        let text = plain(text);
        let fence = "`".repeat(longest_run(&text, '`').max(2) + 1);
        writeln!(f, "{fence}{language}")?;
        show(f, &text, |c| c == '\n' || c == '\t')?;
        let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
        write!(f, "{end}{fence}")
    }
}

impl Display for Terminal<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = plain(self.0);
        let text = break_commands(&text);
        let mut rest = &*text;
        // A tab's width hangs on where it is; four spaces do not.
        while let Some((line, after)) = rest.split_once('\t') {
            show(f, line, |_| false)?;
            f.write_str("    ")?;
            rest = after;
        }
        show(f, rest, |_| false)
    }
}

impl Display for TapText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let line = one_line(self.0, |_| false);
        replace_shown(f, &line, |c| match c {
            '#' => Some("\\#"),
            '\\' => Some("\\\\"),
            _ => None,
        })
    }
}

impl Display for YamlString<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in plain(self.0).chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\t' => f.write_str("\\t")?,
                c if !is_yaml(c) && u32::from(c) > 0xffff => write!(f, "\\U{:08X}", u32::from(c))?,
                c if !is_yaml(c) => write!(f, "\\u{:04X}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

impl Display for YamlBlock<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = plain(self.0);
        // The indicator says how far the text is indented, since its first line may be more so.
        f.write_str(if text.ends_with('\n') { "|2+" } else { "|2-" })?;
        for line in text.strip_suffix('\n').unwrap_or(&text).split('\n') {
            f.write_str("\n    ")?;
            show(f, line, |c| c == '\t')?;
        }
        Ok(())
    }
}

/// `text` without terminal sequences, and with `\n` for every line end.
fn plain(text: &str) -> Cow<'_, str> {
    let text = strip_ansi(text);
    if text.contains('\r') {
        return Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"));
    }
    text
}

/// `text` on one line: every run of white space is one space, and what is `dropped` or a control is gone.
fn one_line(text: &str, dropped: impl Fn(char) -> bool) -> String {
    let mut line = String::with_capacity(text.len().min(1 << 16));
    for c in plain(text).chars() {
        if c.is_whitespace() {
            if !line.is_empty() && !line.ends_with(' ') {
                line.push(' ');
            }
        } else if !c.is_control() && !dropped(c) {
            line.push(c);
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// Writes `text` with each character that has a replacement replaced.
fn replace(
    f: &mut Formatter<'_>,
    text: &str,
    replacement: impl Fn(char) -> Option<&'static str>,
) -> fmt::Result {
    let mut from = 0;
    for (at, c) in text.char_indices() {
        if let Some(other) = replacement(c) {
            f.write_str(&text[from..at])?;
            f.write_str(other)?;
            from = at + c.len_utf8();
        }
    }
    f.write_str(&text[from..])
}

/// As [`replace`], and shows what is invisible.
fn replace_shown(
    f: &mut Formatter<'_>,
    text: &str,
    replacement: impl Fn(char) -> Option<&'static str>,
) -> fmt::Result {
    let mut from = 0;
    for (at, c) in text.char_indices() {
        if let Some(other) = replacement(c) {
            show(f, &text[from..at], |_| false)?;
            f.write_str(other)?;
            from = at + c.len_utf8();
        }
    }
    show(f, &text[from..], |_| false)
}

/// Writes `text` with a visible stand-in for each character that is none itself and not `kept`.
fn show(f: &mut Formatter<'_>, text: &str, kept: impl Fn(char) -> bool) -> fmt::Result {
    let mut from = 0;
    for (at, c) in text.char_indices() {
        if kept(c) || !(c.is_control() || is_invisible(c)) {
            continue;
        }
        f.write_str(&text[from..at])?;
        from = at + c.len_utf8();
        match c {
            '\u{7f}' => f.write_char('␡')?,
            c if c < ' ' => f.write_char(char::from_u32(0x2400 + u32::from(c)).unwrap_or('?'))?,
            c => write!(f, "<U+{:04X}>", u32::from(c))?,
        }
    }
    f.write_str(&text[from..])
}

/// Breaks what a CI service would take for a command: `::x::` at the start, `##[x]` and its like anywhere.
fn break_commands(text: &str) -> Cow<'_, str> {
    let mut broken = String::new();
    let mut rest = text;
    if let Some(after) = text.trim_start().strip_prefix("::") {
        broken.push_str(": :");
        rest = after;
    }
    while let Some(at) = rest.find("##") {
        let (before, found) = rest.split_at(at);
        broken.push_str(before);
        let word = found.trim_start_matches('#');
        let word = word.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        broken.push_str(if word.starts_with('[') { "# " } else { "#" });
        rest = &found[1..];
    }
    if broken.is_empty() {
        return Cow::Borrowed(text);
    }
    broken.push_str(rest);
    Cow::Owned(broken)
}

fn longest_run(text: &str, of: char) -> usize {
    let runs = text.split(|c| c != of).map(str::len);
    runs.max().unwrap_or(0)
}

/// Whether all of `text` is ASCII that means nothing to XML, as most of it is.
fn is_bare(text: &str) -> bool {
    let bare = |byte: u8| matches!(byte, b' '..=b'~') & !matches!(byte, b'&' | b'<' | b'>' | b'"');
    text.bytes().fold(true, |all, byte| all & bare(byte))
}

/// What XML 1.0 allows, less the controls among it.
fn is_xml(c: char) -> bool {
    matches!(c, '\n' | '\t') || !(c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'))
}

fn xml_reference(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        c if is_xml(c) => None,
        _ => Some(""),
    }
}

/// What YAML calls printable, less what is not seen.
fn is_yaml(c: char) -> bool {
    !(c.is_control() || is_invisible(c))
}

/// Characters that are not seen, or turn the text around them: they hide or forge what a reader sees.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{fdd0}'..='\u{fdef}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// Characters that are not seen, and that some scripts and emoji are made with.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{34f}' | '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}
