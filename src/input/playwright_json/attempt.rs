//! One attempt at a Playwright test: its result, its errors, its output.

use std::borrow::Cow;

use serde::Deserialize;

use crate::input::json::{Text, nullable};
use crate::input::{failure, number};
use crate::model::{Attempt, Failure, FailureKind, Location, Outcome, Skip, SkipKind, Timestamp};
use crate::text::strip_ansi;

/// An attempt.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TestResult<'a> {
    #[serde(borrow, default)]
    status: Text<'a>,
    duration: Option<f64>,
    #[serde(borrow, default)]
    start_time: Text<'a>,
    #[serde(borrow)]
    error: Option<TestError<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    errors: Vec<TestError<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    stdout: Vec<Chunk<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    stderr: Vec<Chunk<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    attachments: Vec<Attached<'a>>,
}

/// What was thrown.
#[derive(Deserialize)]
pub(super) struct TestError<'a> {
    #[serde(borrow, default)]
    message: Text<'a>,
    #[serde(borrow, default)]
    stack: Text<'a>,
    /// What was thrown, where it was no error.
    #[serde(borrow, default)]
    value: Text<'a>,
    #[serde(borrow, default)]
    pub(super) snippet: Text<'a>,
    #[serde(borrow)]
    pub(super) location: Option<Place<'a>>,
}

/// A place in a file.
#[derive(Deserialize)]
pub(super) struct Place<'a> {
    #[serde(borrow, default)]
    pub(super) file: Text<'a>,
    line: Option<u32>,
    column: Option<u32>,
}

/// A piece of output.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    buffer: Text<'a>,
}

#[derive(Deserialize)]
struct Attached<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    path: Text<'a>,
}

/// What a test says beforehand of how it will end.
pub(super) struct Expectation<'a> {
    pub(super) status: &'a str,
    pub(super) is_skip: bool,
    pub(super) is_fixme: bool,
    pub(super) skip_reason: &'a str,
    pub(super) fail_reason: &'a str,
}

impl<'a> Expectation<'a> {
    /// The outcome of a test that has no result.
    pub(super) fn of_none(&self) -> Outcome<'a> {
        if self.status == "skipped" || self.is_skip {
            let kind = if self.is_fixme { SkipKind::Todo } else { SkipKind::Skipped };
            let reason = self.skip_reason;
            return Outcome::Skipped(Skip { kind, reason });
        }
        // Its turn never came: a test before it failed, or the run was stopped.
        Outcome::NotRun
    }
}

impl TestResult<'_> {
    /// Hands the attempt to `say`.
    pub(super) fn tell(&self, expectation: &Expectation<'_>, say: impl FnOnce(Attempt<'_>)) {
        let texts = self.texts();
        let (stdout, stderr) = (joined(&self.stdout), joined(&self.stderr));
        let failed =
            |kind, message| Outcome::Failed(Failure { kind, message, ..Failure::default() });
        let outcome = match &*self.status {
            "interrupted" => failed(FailureKind::Crash, "interrupted"),
            "skipped" => expectation.of_none(),
            "passed" if expectation.status == "failed" => {
                failed(FailureKind::Failure, "passed, but was expected to fail")
            }
            "passed" => Outcome::Passed,
            "failed" | "timedOut" if *self.status == *expectation.status => {
                Outcome::Skipped(Skip {
                    kind: SkipKind::ExpectedFailure,
                    reason: expectation.fail_reason,
                })
            }
            "failed" => Outcome::Failed(self.failure(FailureKind::Failure, &texts)),
            "timedOut" => Outcome::Failed(self.failure(FailureKind::Timeout, &texts)),
            _ => failed(FailureKind::Error, "the report gives this result no status that is known"),
        };
        say(Attempt {
            outcome,
            duration: self.duration.and_then(number::from_millis),
            started: Timestamp::parse(&self.start_time),
            stdout: &stdout,
            stderr: &stderr,
        });
    }

    /// Whether it ended in another way than it should have.
    pub(super) fn is_unexpected(&self, expectation: &Expectation<'_>) -> bool {
        match &*self.status {
            "interrupted" => true,
            "failed" | "timedOut" => *self.status != *expectation.status,
            "passed" => expectation.status == "failed",
            _ => false,
        }
    }

    /// Names and paths of the files it left.
    pub(super) fn attachments(&self) -> impl Iterator<Item = &str> {
        self.attachments
            .iter()
            .filter(|attached| !attached.path.is_empty())
            .flat_map(|attached| [&*attached.name, &*attached.path])
    }

    fn texts(&self) -> Texts {
        let first = self.error.as_ref().or(self.errors.first());
        let main = first.map(|error| error.text()).unwrap_or_default();
        let main = strip_ansi(&main).into_owned();
        let mut details = failure::from_text(FailureKind::Failure, &main).details.to_owned();
        let snippet = first.map_or("", |error| &error.snippet);
        let others = self.errors.iter().skip(1).map(|error| &*error.message);
        for part in std::iter::once(snippet).chain(others) {
            if !part.is_empty() {
                let gap = if details.is_empty() { "" } else { "\n\n" };
                details.push_str(gap);
                details.push_str(&strip_ansi(part));
            }
        }
        Texts { main, details }
    }

    fn failure<'t>(&'t self, kind: FailureKind, texts: &'t Texts) -> Failure<'t> {
        let mut failure = failure::from_text(kind, &texts.main);
        failure.details = &texts.details;
        if failure.message.is_empty() {
            failure.message = "failed, and the report does not say why";
        }
        let place = self.error.iter().chain(&self.errors).find_map(|error| error.location.as_ref());
        if let Some(place) = place {
            failure.location = Some(Location {
                file: &place.file,
                line: place.line.filter(|&line| line > 0),
                column: place.column.filter(|&column| column > 0),
            });
        }
        failure
    }
}

/// The texts of a failure, without colours.
struct Texts {
    main: String,
    details: String,
}

impl TestError<'_> {
    /// All it says: the stack has the message in it, unless it was lost.
    pub(super) fn text(&self) -> Cow<'_, str> {
        let message = if self.message.is_empty() { &self.value } else { &self.message };
        if self.stack.is_empty() {
            return Cow::Borrowed(message);
        }
        if self.stack.contains(&**message) {
            return Cow::Borrowed(&self.stack);
        }
        Cow::Owned(format!("{}\n{}", &**message, &*self.stack))
    }
}

fn joined(chunks: &[Chunk<'_>]) -> String {
    let mut output = String::new();
    for chunk in chunks {
        output.push_str(&chunk.text);
        if !chunk.buffer.is_empty() {
            output.push_str(&String::from_utf8_lossy(&from_base64(&chunk.buffer)));
        }
    }
    output
}

/// The bytes that a text in base64 stands for; what is none of its letters is passed over.
fn from_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => continue,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_with_and_without_padding() {
        assert_eq!(from_base64("Mwo0Cg=="), b"3\n4\n");
        assert_eq!(from_base64("Mwo0Cg"), b"3\n4\n");
        assert_eq!(from_base64("/+8="), [0xff, 0xef]);
        assert_eq!(from_base64("=\n"), b"");
    }
}
