//! What a report begins with, looked at once for all formats.

/// The start of a report, as text.
#[derive(Debug)]
pub struct Head<'a> {
    /// The text; the last line or tag may be cut.
    pub text: &'a str,
    root: Option<&'a str>,
}

impl<'a> Head<'a> {
    /// Looks at the start of a report.
    pub fn new(text: &'a str) -> Self {
        Self { text, root: root_tag(text) }
    }

    /// The name of the first element, without prefix, if this is XML.
    pub fn root(&self) -> Option<&'a str> {
        let name =
            self.root?.split(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/').next()?;
        Some(name.rsplit_once(':').map_or(name, |(_, local)| local))
    }

    /// The first element's start tag, without its `<`.
    pub fn root_tag(&self) -> &'a str {
        self.root.unwrap_or_default()
    }

    /// Whether this begins like XML or HTML, whatever texts it may hold.
    pub fn is_markup(&self) -> bool {
        let text = self.text.trim_start_matches('\u{feff}').trim_start();
        text.starts_with('<')
    }

    /// Whether this is one JSON object (as far as can be seen), possibly after some noise.
    pub fn object(&self) -> Option<&'a str> {
        let start = super::json::document_start(self.text)?;
        let text = &self.text[start..];
        // A whole object on the first line, and another on the second, is a stream of lines.
        let mut lines = text.lines();
        let first = lines.next()?.trim_end();
        let second = lines.find(|line| !line.trim().is_empty()).unwrap_or_default();
        let is_lines = first.len() > 2
            && first.ends_with('}')
            && serde_json::from_str::<serde::de::IgnoredAny>(first).is_ok()
            && second.starts_with('{');
        (!is_lines).then_some(text)
    }

    /// Whether the JSON document has `"key":` somewhere in what can be seen of it.
    pub fn object_has(&self, keys: &[&str]) -> bool {
        self.object().is_some_and(|text| keys.iter().all(|key| has_key(text, key)))
    }

    /// The lines that are JSON objects. A document that quotes some is no such stream.
    pub fn json_lines(&self) -> impl Iterator<Item = &'a str> {
        let is_xml = self.text.trim_start().starts_with('<');
        let text = if is_xml { "" } else { self.text };
        text.lines().map(str::trim).filter(|line| line.starts_with('{'))
    }

    /// Whether any line is a JSON object with all these keys.
    pub fn line_has(&self, keys: &[&str]) -> bool {
        self.json_lines().take(1000).any(|line| keys.iter().all(|key| has_key(line, key)))
    }
}

/// Whether `"key"` followed by a colon occurs.
pub(super) fn has_key(text: &str, key: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(key) {
        let (before, after) = (&rest[..at], &rest[at + key.len()..]);
        if before.ends_with('"')
            && after.strip_prefix('"').is_some_and(|after| after.trim_start().starts_with(':'))
        {
            return true;
        }
        rest = &rest[at + key.len()..];
    }
    false
}

/// The first start tag, past declarations, comments and whatever a tool printed before.
fn root_tag(text: &str) -> Option<&str> {
    let is_json = begins_like_json(text);
    let mut rest = text;
    loop {
        let at = rest.find('<')?;
        let before = &text[..text.len() - rest.len() + at];
        rest = &rest[at + 1..];
        // JSON may quote a tag, but its strings have no line breaks.
        if is_json && !before.trim_end_matches([' ', '\t']).ends_with('\n') {
            continue;
        }
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
        } else if rest.starts_with("!DOCTYPE") || rest.starts_with("!doctype") {
            let close = rest.find('>')?;
            let end = match rest.find('[').filter(|&open| open < close) {
                Some(_) => rest.find("]>").map(|at| at + 2).or_else(|| rest.find(']'))?,
                None => close,
            };
            rest = &rest[end..];
        } else if rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            let end = rest.find('>').unwrap_or(rest.len());
            return Some(&rest[..end]);
        }
    }
}

fn begins_like_json(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    // A log may begin with a bracket, too.
    text.strip_prefix('[').map_or(text, str::trim_start).starts_with('{')
}

#[cfg(test)]
mod tests {
    use super::Head;

    #[test]
    fn json_that_quotes_a_tag_is_no_markup() {
        let roots = [
            ("{\"message\": \"inside <testsuite>\"}", None),
            ("[ {\"message\": \"<a/>\"} ]", None),
            ("{\"level\": \"info <x>\"}\n  <testsuite name=\"s\">", Some("testsuite")),
            ("[INFO] here: <testsuite>", Some("testsuite")),
        ];
        for (text, root) in roots {
            assert_eq!(Head::new(text).root(), root, "{text}");
        }
    }
}
