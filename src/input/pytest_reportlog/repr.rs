//! How pytest-reportlog writes failures: whole, as a text, or as a place with a reason.

use std::fmt::Write as _;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::input::pytest::{self, Frame, Problem};
use crate::text::strip_ansi;

/// A failure as pytest takes it apart.
#[derive(serde::Deserialize)]
struct Repr {
    #[serde(default)]
    reprcrash: Option<Place>,
    #[serde(default)]
    reprtraceback: Option<Traceback>,
    /// Exceptions that led to each other, the last one being the failure itself.
    #[serde(default)]
    chain: Vec<(Traceback, Option<Place>, Option<String>)>,
}

#[derive(serde::Deserialize)]
struct Traceback {
    #[serde(default)]
    reprentries: Vec<Entry>,
}

#[derive(serde::Deserialize)]
struct Entry {
    #[serde(default)]
    data: EntryData,
}

#[derive(Default, serde::Deserialize)]
struct EntryData {
    #[serde(default)]
    lines: Vec<String>,
    #[serde(default)]
    reprfileloc: Option<Place>,
}

#[derive(serde::Deserialize)]
struct Place {
    #[serde(default)]
    path: String,
    #[serde(default)]
    lineno: Option<i64>,
    #[serde(default)]
    message: String,
}

/// What `longrepr` says: nothing, a text, a place with a reason, or a failure taken apart.
pub(super) fn problem_of(longrepr: Option<&RawValue>) -> Problem {
    let raw = longrepr.map_or("null", RawValue::get);
    if let Ok(repr) = serde_json::from_str::<Repr>(raw) {
        return repr.problem();
    }
    match serde_json::from_str::<Value>(raw) {
        Ok(Value::String(text)) => Problem::from_text(&text),
        Ok(Value::Null) | Err(_) => Problem::from_text("failed, and the report does not say why"),
        Ok(other) => Problem::from_text(&other.to_string()),
    }
}

/// The reason in `["test_a.py", 37, "Skipped: no coupons yet"]`.
pub(super) fn skip_reason(longrepr: Option<&RawValue>) -> String {
    let raw = longrepr.map_or("null", RawValue::get);
    let reason = match serde_json::from_str::<Value>(raw) {
        Ok(Value::String(text)) => text,
        Ok(Value::Array(items)) => {
            let last = items.last().and_then(Value::as_str);
            last.unwrap_or_default().to_owned()
        }
        _ => String::new(),
    };
    let bare = reason.strip_prefix("Skipped: ").unwrap_or(&reason);
    strip_ansi(bare).into_owned()
}

/// A subtest's message and values: `[even number] (n=3)`.
pub(super) fn subtest_label(context: Option<&Value>) -> String {
    let Some(context) = context else {
        return String::new();
    };
    let mut label = String::new();
    if let Some(message) = context.get("msg").and_then(Value::as_str) {
        label = format!("[{message}]");
    }
    let Some(Value::Object(values)) = context.get("kwargs") else {
        return label;
    };
    let values: Vec<String> = values
        .iter()
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}={text}"),
            other => format!("{name}={other}"),
        })
        .collect();
    if !values.is_empty() {
        let _ = write!(label, " ({})", values.join(", "));
    }
    label.trim_start().to_owned()
}

impl Repr {
    fn problem(self) -> Problem {
        let mut text = String::new();
        let mut frames = Vec::new();
        let chained = self.chain.len();
        let parts = self.chain.into_iter().map(|(trace, _, word)| (trace, word));
        let alone = self.reprtraceback.filter(|_| chained == 0);
        for (trace, word) in parts.chain(alone.map(|trace| (trace, None))) {
            // Only the last trace is that of the failure.
            frames.clear();
            for entry in trace.reprentries {
                entry.data.describe(&mut text, &mut frames);
            }
            if let Some(word) = word {
                let _ = writeln!(text, "\n{word}\n");
            }
        }
        let crash = self.reprcrash.map(Place::frame);
        let message = crash.as_ref().map(|crash| strip_ansi(&crash.message));
        Problem {
            message: message.unwrap_or_default().into_owned(),
            text: strip_ansi(text.trim_end()).into_owned(),
            frames,
            crash,
        }
    }
}

impl EntryData {
    fn describe(self, text: &mut String, frames: &mut Vec<Frame>) {
        if let Some(place) = self.reprfileloc {
            let frame = place.frame();
            let line = frame.line.unwrap_or(0);
            let _ = writeln!(text, "{}:{line}: {}", frame.path, frame.message);
            frames.push(frame);
        }
        for line in &self.lines {
            text.push_str(line);
            text.push('\n');
        }
    }
}

impl Place {
    fn frame(self) -> Frame {
        Frame { path: self.path, line: pytest::line_from_one(self.lineno), message: self.message }
    }
}
