//! What the reports of .NET's frameworks share: how they name cases and word failures.

use std::borrow::Cow;

use super::failure;
use crate::model::{Failure, FailureKind};
use crate::text::strip_ansi;

/// What a report says about something that went wrong.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    /// The message, without terminal sequences.
    pub(super) message: String,
    /// The stack trace, without terminal sequences.
    pub(super) trace: String,
    /// The exception's type, where the format has it apart.
    pub(super) type_name: String,
}

impl Trouble {
    /// Adds a message; a second one goes on a line of its own.
    pub(super) fn add_message(&mut self, text: &str) {
        add(&mut self.message, tidy(text).trim());
    }

    /// Adds a stack trace; a second one goes on a line of its own.
    pub(super) fn add_trace(&mut self, text: &str) {
        add(&mut self.trace, tidy(text).trim_end().trim_matches('\n'));
    }

    /// The failure this amounts to. `fallback` is the message where there is none.
    pub(super) fn failure<'a>(&'a self, kind: FailureKind, fallback: &'a str) -> Failure<'a> {
        let message = if self.message.is_empty() { fallback } else { &self.message };
        let (expected, actual) = match bracketed_values(message) {
            Some((expected, actual)) => (Some(expected), Some(actual)),
            None => failure::expected_actual(message),
        };
        let type_name =
            if self.type_name.is_empty() { exception_type(message) } else { &self.type_name };
        Failure {
            kind,
            message,
            type_name,
            details: "",
            stack_trace: &self.trace,
            expected,
            actual,
            location: failure::locate(&self.trace),
        }
    }
}

fn add(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

/// Without terminal sequences and without the carriage returns of Windows.
fn tidy(text: &str) -> Cow<'_, str> {
    let plain = strip_ansi(text);
    if plain.contains('\r') { Cow::Owned(plain.replace("\r\n", "\n")) } else { plain }
}

/// The exception a message names: `System.IO.IOException : disk full`.
fn exception_type(message: &str) -> &str {
    let head = &message[..message.floor_char_boundary(1000)];
    head.lines()
        .take(3)
        .flat_map(str::split_whitespace)
        .map(|word| word.trim_end_matches(':'))
        .find(|word| {
            word.contains('.')
                && (word.ends_with("Exception") || word.ends_with("Error"))
                && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"._+`".contains(&b))
        })
        .unwrap_or_default()
}

/// The values of `MSTest`'s `Expected:<42>. Actual:<41>.`
fn bracketed_values(message: &str) -> Option<(&str, &str)> {
    let (_, after) = message.split_once("Expected:<")?;
    let (expected, after) = after.split_once(">. Actual:<")?;
    let (actual, _) = after.split_once(">.")?;
    Some((expected, actual))
}

/// Splits a case's name into the method's name and what stands after it in parentheses.
pub(super) fn split_parameters<'a>(name: &'a str, method: &str) -> (&'a str, &'a str) {
    let rest = name.strip_prefix(method).unwrap_or_default();
    let parameters = rest.trim_start();
    if method.is_empty() || !parameters.starts_with('(') || !parameters.ends_with(')') {
        return (name, "");
    }
    (&name[..method.len()], parameters)
}

/// A case's name without the name of its class in front.
pub(super) fn without_class<'a>(name: &'a str, class: &str) -> &'a str {
    let rest = name.strip_prefix(class).and_then(|rest| rest.strip_prefix('.'));
    match rest {
        Some(rest) if !class.is_empty() && !rest.is_empty() => rest,
        _ => name,
    }
}

/// Splits `Shop.Tests.CartTests.Prices(1.5)` into class and name, if it is such a name.
pub(super) fn split_class(name: &str) -> (&str, &str) {
    let head = name.find(['(', '<', '"']).unwrap_or(name.len());
    match name[..head].rfind('.') {
        Some(at)
            if at > 0
                && !name[..at].contains(char::is_whitespace)
                && !name[at + 1..].is_empty() =>
        {
            (&name[..at], &name[at + 1..])
        }
        _ => ("", name),
    }
}

/// The last part of a path of either kind.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_where_the_method_ends() {
        assert_eq!(split_parameters("Prices (tea,2)", "Prices"), ("Prices", "(tea,2)"));
        assert_eq!(split_parameters("Prices", "Prices"), ("Prices", ""));
        assert_eq!(split_parameters("free text (x)", "Prices"), ("free text (x)", ""));
        assert_eq!(split_parameters("(x)", ""), ("(x)", ""));
    }

    #[test]
    fn classes_are_found_in_full_names_only() {
        assert_eq!(split_class("A.B.C(1.5)"), ("A.B", "C(1.5)"));
        assert_eq!(split_class("two words.then"), ("", "two words.then"));
        assert_eq!(split_class("C"), ("", "C"));
        assert_eq!(split_class("[Cleanup (A.B)]"), ("", "[Cleanup (A.B)]"));
        assert_eq!(without_class("A.B.C", "A.B"), "C");
        assert_eq!(without_class("A.BC", "A.B"), "A.BC");
    }

    #[test]
    fn types_and_values_are_found_in_messages() {
        let mut trouble = Trouble::default();
        trouble.add_message("Test method A.B threw exception: \r\nSystem.IO.IOException: no");
        assert_eq!(trouble.failure(FailureKind::Failure, "").type_name, "System.IO.IOException");
        let mut trouble = Trouble::default();
        trouble.add_message("Assert.AreEqual failed. Expected:<42>. Actual:<41>. total");
        let failure = trouble.failure(FailureKind::Failure, "");
        assert_eq!((failure.expected, failure.actual), (Some("42"), Some("41")));
    }
}
