//! The events as they are written.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::input::failure;
use crate::input::json::{self, Text, nullable};
use crate::model::{Failure, FailureKind};
use crate::text::strip_ansi;

/// A line.
#[derive(Deserialize)]
pub(super) struct Line<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) data: Option<Data<'a>>,
}

/// What an event is about.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Data<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    pub(super) file: Text<'a>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) nesting: usize,
    pub(super) line: Option<u32>,
    pub(super) column: Option<u32>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub(super) details: Details<'a>,
    #[serde(borrow)]
    pub(super) skip: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) todo: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) expect_failure: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) message: Text<'a>,
    /// Of a summary.
    pub(super) success: Option<bool>,
    #[serde(rename = "duration_ms")]
    pub(super) duration_ms: Option<f64>,
}

#[derive(Default, Deserialize)]
pub(super) struct Details<'a> {
    pub(super) duration_ms: Option<f64>,
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// What was thrown, as far as it is known.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thrown<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    message: Text<'a>,
    #[serde(borrow, default)]
    stack: Text<'a>,
    #[serde(borrow, default)]
    failure_type: Text<'a>,
    exit_code: Option<i64>,
    #[serde(borrow, default)]
    signal: Text<'a>,
    #[serde(borrow)]
    cause: Option<&'a RawValue>,
    #[serde(borrow)]
    expected: Option<&'a RawValue>,
    #[serde(borrow)]
    actual: Option<&'a RawValue>,
}

impl<'a> Thrown<'a> {
    /// Reads an error. It may be any value: what is no error object is its own message.
    fn new(raw: &'a RawValue) -> Self {
        serde_json::from_str(raw.get())
            .unwrap_or_else(|_| Self { message: Text(json::plain(raw).into()), ..Self::default() })
    }
}

/// Whether a `skip` or `todo` is set, which may be by a reason.
pub(super) fn is_set(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| !matches!(raw.get(), "false" | "null"))
}

/// The reason a `skip` or `todo` is set by.
pub(super) fn reason(raw: Option<&RawValue>) -> String {
    raw.filter(|raw| raw.get().starts_with('"')).map(json::plain).unwrap_or_default()
}

/// Why a test failed.
#[derive(Default)]
pub(super) struct Problem {
    pub(super) failure_type: String,
    pub(super) exit_code: Option<i64>,
    pub(super) signal: String,
    name: String,
    message: String,
    stack: String,
    expected: Option<String>,
    actual: Option<String>,
}

impl Problem {
    pub(super) fn new(raw: Option<&RawValue>) -> Self {
        let Some(raw) = raw else {
            return Self::default();
        };
        let outer = Thrown::new(raw);
        // The runner wraps what was thrown.
        let thrown = outer.cause.filter(|cause| cause.get().starts_with('{'));
        let inner = thrown.map(Thrown::new);
        let thrown = inner.as_ref().unwrap_or(&outer);
        let mut stack = strip_ansi(&thrown.stack).into_owned();
        if let Some(cause) = thrown.cause.filter(|_| inner.is_some()).map(Thrown::new) {
            stack.push_str("\n[cause]: ");
            let text = if cause.stack.is_empty() { &cause.message } else { &cause.stack };
            stack.push_str(&strip_ansi(text));
        }
        Self {
            failure_type: outer.failure_type.to_string(),
            exit_code: outer.exit_code,
            signal: outer.signal.to_string(),
            name: thrown.name.to_string(),
            message: strip_ansi(&thrown.message).into_owned(),
            stack,
            expected: thrown.expected.map(json::plain),
            actual: thrown.actual.map(json::plain),
        }
    }

    /// Whether the process of a whole file ended badly.
    pub(super) fn is_of_process(&self) -> bool {
        self.exit_code.is_some() || !self.signal.is_empty()
    }

    pub(super) fn kind(&self) -> FailureKind {
        match self.failure_type.as_str() {
            _ if !self.signal.is_empty() => FailureKind::Crash,
            "testTimeoutFailure" => FailureKind::Timeout,
            "testCodeFailure" | "subtestsFailed" | "" if self.exit_code.is_none() => {
                FailureKind::Failure
            }
            _ => FailureKind::Error,
        }
    }

    pub(super) fn failure(&self) -> Failure<'_> {
        let from_stack = failure::from_text(self.kind(), &self.stack);
        let (message, details) = match failure::first_paragraph(&self.message) {
            ("", _) => (from_stack.message, from_stack.details),
            own => own,
        };
        Failure {
            message: if message.is_empty() {
                "failed, and the report does not say why"
            } else {
                message
            },
            details,
            type_name: &self.name,
            expected: self.expected.as_deref().or(from_stack.expected),
            actual: self.actual.as_deref().or(from_stack.actual),
            ..from_stack
        }
    }
}
