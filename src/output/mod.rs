//! Reports out: one file per format, from a run to bytes.
//!
//! To add a format: a file with a type that implements [`OutputFormat`], its `mod` line and its line in
//! [`FORMATS`]. A renderer destructures what it prints, so a new field does not go unnoticed.

#![deny(clippy::disallowed_methods)]

mod ctrf;
pub mod escape;
mod events;
pub mod json;
mod junit;
mod markdown;
mod outside;
#[cfg(test)]
mod sample;
mod summary;
mod tap;
mod terminal;

use std::io::Write;

use crate::judge::Judgement;
use crate::model::{TestRun, Totals};

/// Every format that can be written, in the order of `--help`.
pub const FORMATS: &[&dyn OutputFormat] = &[
    &json::Json,
    &junit::Junit,
    &markdown::GithubMarkdown,
    &terminal::Summary,
    &tap::Tap,
    &events::Events,
    &ctrf::Ctrf,
];

/// A format of report.
pub trait OutputFormat: Sync {
    /// Its name: the value of `--report`.
    fn name(&self) -> &'static str;
    /// What it is, in a few words.
    fn description(&self) -> &'static str;
    /// Writes the report.
    fn render(&self, report: &Report<'_>, out: &mut dyn Write) -> Result<(), RenderError>;
}

/// What a report is made from.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The run.
    pub run: &'a TestRun,
    /// What it amounts to.
    pub judgement: Judgement,
    /// Its counts.
    pub totals: Totals,
    /// How it should look.
    pub options: Options,
}

/// How a report should look, for formats meant for people.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether to use colour.
    pub color: bool,
    /// How wide a line may be.
    pub width: usize,
    /// How many threads may be used.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { color: false, width: 100, threads: 1 }
    }
}

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The bytes could not go where they belong.
    #[error("write the report")]
    Io(#[from] std::io::Error),
    /// The values could not be put into JSON.
    #[error("write the report as JSON")]
    Json(#[from] serde_json::Error),
    /// The run could not be put into XML.
    #[error("write the report as XML: {0}")]
    Xml(String),
}

/// The format of this name.
pub fn format(name: &str) -> Option<&'static dyn OutputFormat> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}

/// The framework of a run, or `mixed`.
fn framework(run: &TestRun) -> &str {
    let mut names =
        run.sources().map(|source| source.framework.as_str()).filter(|name| !name.is_empty());
    let Some(first) = names.next() else {
        return "unknown";
    };
    if names.all(|name| name == first) { first } else { "mixed" }
}

/// How long a run took, in nanoseconds: on the clock where that is known, else the sum of its cases.
fn run_duration(run: &TestRun) -> u64 {
    let clock = run.duration.map(|duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    clock.unwrap_or_else(|| run.cases().fold(0, |sum, case| sum.saturating_add(case.nanos())))
}
