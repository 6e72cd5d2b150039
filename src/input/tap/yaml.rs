//! The few things worth knowing from the YAML block of a test point.
//!
//! This is no YAML reader: it goes line by line, knows keys, plain and quoted values and block texts,
//! and never expands anything.

use crate::input::capped::Capped;

/// Values longer than this are only kept in the whole text of the block.
const MAX_VALUE: usize = 1 << 20;

/// What a block says, as far as it is known here.
#[derive(Debug, Default)]
pub(super) struct Yaml {
    pub(super) message: String,
    pub(super) type_name: String,
    pub(super) severity: String,
    pub(super) failure_type: String,
    pub(super) signal: String,
    pub(super) stack: String,
    pub(super) diff: String,
    pub(super) source: String,
    pub(super) expected: Option<String>,
    pub(super) actual: Option<String>,
    pub(super) duration_ms: String,
    /// `at` or `location` in one piece.
    pub(super) place: String,
    pub(super) file: String,
    pub(super) line: String,
    pub(super) column: String,
    /// The block as it stands.
    pub(super) whole: Capped,
}

/// Reads one block.
#[derive(Debug)]
pub(super) struct Block {
    /// How far the block's `---` is indented.
    pub(super) indent: usize,
    pub(super) yaml: Yaml,
    /// How far the keys of the outermost mapping are indented.
    keys: Option<usize>,
    /// The outermost key whose value is being read.
    key: String,
    /// The text of a block value: its key's indentation, its own, and the text so far.
    text: Option<(usize, Option<usize>, String)>,
}

impl Block {
    pub(super) fn new(indent: usize) -> Self {
        Self { indent, yaml: Yaml::default(), keys: None, key: String::new(), text: None }
    }

    /// Reads a line of the block.
    pub(super) fn line(&mut self, line: &str) {
        let own = line.get(self.indent..).unwrap_or_default();
        self.yaml.whole.push(own);
        self.yaml.whole.push("\n");
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        if self.continues(line, bare, indent) || bare.is_empty() {
            return;
        }
        self.end_text();
        let top = *self.keys.get_or_insert(indent);
        let Some((key, value)) = bare.split_once(':') else {
            return;
        };
        let value = value.trim();
        if indent <= top {
            key.trim().clone_into(&mut self.key);
            if value.starts_with(['|', '>']) {
                self.text = Some((indent, None, String::new()));
            } else {
                self.set(key.trim(), scalar(value));
            }
        } else if matches!(self.key.as_str(), "at" | "location") {
            self.set_place(key.trim(), scalar(value));
        }
    }

    /// Adds to the text of a block value, if the line is part of it.
    fn continues(&mut self, line: &str, bare: &str, indent: usize) -> bool {
        let Some((key, own, text)) = &mut self.text else {
            return false;
        };
        if bare.is_empty() {
            text.push('\n');
            return true;
        }
        if indent <= *key {
            return false;
        }
        let own = *own.get_or_insert(indent);
        if text.len() < MAX_VALUE {
            text.push_str(line.get(own.min(indent)..).unwrap_or(bare));
            text.push('\n');
        }
        true
    }

    fn end_text(&mut self) {
        if let Some((_, _, mut text)) = self.text.take() {
            text.truncate(text.trim_end().len());
            let key = std::mem::take(&mut self.key);
            self.set(&key, text);
        }
    }

    /// The block is over.
    pub(super) fn finish(mut self) -> Yaml {
        self.end_text();
        self.yaml
    }

    fn set(&mut self, key: &str, value: String) {
        let yaml = &mut self.yaml;
        let target = match key {
            "message" | "error" => &mut yaml.message,
            "severity" => &mut yaml.severity,
            "failureType" => &mut yaml.failure_type,
            "signal" => &mut yaml.signal,
            "stack" => &mut yaml.stack,
            "diff" => &mut yaml.diff,
            "source" => &mut yaml.source,
            "duration_ms" => &mut yaml.duration_ms,
            // What kind of test it is, not of what type the exception was.
            "type" if matches!(value.as_str(), "suite" | "test") => return,
            "name" | "type" => &mut yaml.type_name,
            "at" | "location" if !value.is_empty() => &mut yaml.place,
            "file" | "line" | "column" => return self.set_place(key, value),
            "expected" | "wanted" => return yaml.expected = Some(value),
            "actual" | "found" => return yaml.actual = Some(value),
            _ => return,
        };
        if target.is_empty() {
            *target = value;
        }
    }

    fn set_place(&mut self, key: &str, value: String) {
        match key {
            "file" | "fileName" => self.yaml.file = value,
            "line" | "lineNumber" => self.yaml.line = value,
            "column" | "columnNumber" => self.yaml.column = value,
            _ => {}
        }
    }
}

/// A plain or quoted value. Nothing else is understood, and is taken as it stands.
fn scalar(value: &str) -> String {
    if matches!(value, "~" | "null") || value.len() > MAX_VALUE {
        return String::new();
    }
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(text) = inside('\'') {
        return text.replace("''", "'");
    }
    let Some(text) = inside('"') else {
        return value.to_owned();
    };
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Yaml {
        let mut block = Block::new(2);
        text.lines().for_each(|line| block.line(line));
        block.finish()
    }

    #[test]
    fn values_in_the_spellings_of_real_tools() {
        let yaml = read(
            "  message: 'it''s'\n  at:\n    file: a.js\n    line: 8\n  expected: \"a\\nb\"\n  actual: |-\n    x\n     y\n\n  stack: |2\n      f\n  severity: ~\n",
        );
        assert_eq!(yaml.message, "it's");
        assert_eq!((yaml.file.as_str(), yaml.line.as_str()), ("a.js", "8"));
        assert_eq!(yaml.expected.as_deref(), Some("a\nb"));
        assert_eq!(yaml.actual.as_deref(), Some("x\n y"));
        assert_eq!((yaml.stack.as_str(), yaml.severity.as_str()), ("f", ""));
    }
}
