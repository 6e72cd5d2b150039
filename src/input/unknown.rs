//! What to say of a file that is no test report.

use super::head::{Head, has_key};
use crate::model::{Note, NoteKind, RunError, RunErrorKind};

/// What became of a file that no format fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// It is known to hold no results and does no harm.
    Harmless(Note),
    /// It is something else. Whoever named it was wrong; whoever met it in a folder need not care.
    Foreign(RunError),
    /// It is empty or cut so short that it may well have been a report.
    Unreadable(RunError),
}

/// Says what a file that no format fits looks like.
/// `is_whole` means that the head is all there is.
pub(super) fn explain(head: &Head<'_>, is_whole: bool) -> Unknown {
    let text = head.text.trim_matches(|c: char| c.is_whitespace() || c == '\0' || c == '\u{feff}');
    if head.root() == Some("failsafe-summary") {
        let message = "a summary of Maven Failsafe holds no cases and is passed over";
        return Unknown::Harmless(Note::new(NoteKind::Ignored, message));
    }
    if is_beside_allure_results(text) {
        let message = "a file beside Allure's results holds no cases and is passed over";
        return Unknown::Harmless(Note::new(NoteKind::Ignored, message));
    }
    let looks_like = if text.is_empty() {
        let message = "the report is empty";
        return Unknown::Unreadable(RunError::new(RunErrorKind::Report, message));
    } else if text.starts_with("<!DOCTYPE html")
        || head.root().is_some_and(|r| r.eq_ignore_ascii_case("html"))
    {
        "it looks like HTML"
    } else if is_coverage(head) {
        "it is a coverage report, not test results"
    } else if head.root().is_some() && text.starts_with('<') {
        "it is XML, but of no test format"
    } else if text.starts_with(['{', '[']) {
        "it is JSON, but of no test format"
    } else {
        "it has no test results in it that testexec knows"
    };
    if is_whole && is_cut(text) {
        let message = "the report is cut so short that its format cannot be told";
        return Unknown::Unreadable(RunError::new(RunErrorKind::Report, message));
    }
    let message = format!("no known report format: {looks_like}");
    Unknown::Foreign(RunError::new(RunErrorKind::Report, message))
}

/// Whether XML or JSON stops before its end.
fn is_cut(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(b'<') => !text.ends_with('>') || (text.starts_with("<?xml") && text.ends_with("?>")),
        Some(b'{' | b'[') => {
            let parsed = serde_json::from_str::<serde::de::IgnoredAny>(text);
            parsed.is_err_and(|error| error.is_eof())
        }
        _ => false,
    }
}

/// Whether this is one of the files Allure keeps beside its results: `*-globals.json` (which repeats
/// the errors of hooks), `categories.json`, `executor.json`.
fn is_beside_allure_results(text: &str) -> bool {
    let has = |key| has_key(text, key);
    if text.starts_with('[') {
        return has("name") && (has("matchedStatuses") || has("messageRegex") || has("traceRegex"));
    }
    let is_globals =
        ["{\"attachments\"", "{\"errors\""].iter().any(|start| text.starts_with(start))
            && has("attachments")
            && has("errors");
    let is_executor = has("buildName") && (has("reportUrl") || has("buildUrl")) && has("type");
    text.starts_with('{') && (is_globals || is_executor)
}

fn is_coverage(head: &Head<'_>) -> bool {
    matches!(head.root(), Some("coverage" | "CoverageSession"))
        || head.text.contains("-//JACOCO//DTD")
        || head.text.trim_start().starts_with("TN:")
        || head.text.trim_start().starts_with("mode: ")
}
