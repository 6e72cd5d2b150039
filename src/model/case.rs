//! The vocabulary of cases: who they are, where they are, and each attempt at them.

use std::time::Duration;

use super::{List, Outcome, Pairs, Timestamp};

/// Who a case is. A line number is never part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaseId<'a> {
    /// The package, module, class or binary it belongs to, as its framework names it.
    pub package: &'a str,
    /// The file it is defined in, as the report has it.
    pub file: &'a str,
    /// The suites around it, outermost first.
    pub suite: List<'a>,
    /// Its own name.
    pub name: &'a str,
    /// What tells this case from its siblings of the same name, where the format has it apart.
    pub parameters: &'a str,
}

/// A case as a report tells of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Case<'a> {
    /// Who it is.
    pub id: CaseId<'a>,
    /// The line it is defined on, from 1.
    pub line: Option<u32>,
    /// Labels: tags, markers, categories.
    pub tags: List<'a>,
    /// Named values the framework or the test attached.
    pub properties: Pairs<'a>,
    /// Files the test left: alternating names and paths.
    pub attachments: Pairs<'a>,
}

/// One attempt at a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempt<'a> {
    /// How it ended.
    pub outcome: Outcome<'a>,
    /// How long it took, if the report says.
    pub duration: Option<Duration>,
    /// When it started, if the report says.
    pub started: Option<Timestamp>,
    /// What it wrote to standard output, or all output where the format does not tell.
    pub stdout: &'a str,
    /// What it wrote to standard error.
    pub stderr: &'a str,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Location<'a> {
    /// The file, as the report has it.
    pub file: &'a str,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
}

/// A file a test left behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attachment<'a> {
    /// What the test calls it.
    pub name: &'a str,
    /// Where it is.
    pub path: &'a str,
}

/// What a report tells of a suite beyond its cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suite<'a> {
    /// The package, as in [`CaseId::package`].
    pub package: &'a str,
    /// The file, as in [`CaseId::file`].
    pub file: &'a str,
    /// Its name and the names of the suites around it, outermost first.
    pub lineage: List<'a>,
    /// The machine it ran on.
    pub hostname: &'a str,
    /// When it started.
    pub started: Option<Timestamp>,
    /// How long it took as a whole.
    pub duration: Option<Duration>,
    /// Named values.
    pub properties: Pairs<'a>,
    /// Output that belongs to no single case.
    pub stdout: &'a str,
    /// Error output that belongs to no single case.
    pub stderr: &'a str,
}
