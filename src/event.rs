//! [`Event`]: the few and dumb things a reader says, and [`Sink`], who hears them.

#![deny(clippy::disallowed_methods)]

use std::time::Duration;

use crate::model::{Attempt, Case, Note, RunError, Suite, Timestamp};

/// Something a reader came upon.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "events are passed by reference and never kept")]
pub enum Event<'a> {
    /// What the report says of the tool that made it. Comes before any case.
    Tool(Tool<'a>),
    /// What the report says of a suite.
    Suite(Suite<'a>),
    /// A case began. Only streams say so.
    CaseStarted(Case<'a>),
    /// An attempt at a case ended.
    CaseFinished {
        /// The case.
        case: Case<'a>,
        /// How the attempt went.
        attempt: Attempt<'a>,
        /// The format itself says that this is a further attempt at the case of the same identity.
        again: bool,
    },
    /// So many cases were announced that never came.
    Missing(u64),
    /// Something broke outside of any case.
    Errored(RunError),
    /// Something was odd.
    Noted(Note),
}

/// What a report says of the tool that made it, and of the run as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tool<'a> {
    /// The framework, in the words of `testexec --framework`.
    pub framework: &'a str,
    /// When the run started.
    pub started: Option<Timestamp>,
    /// How long the run took.
    pub duration: Option<Duration>,
}

/// Who hears events.
pub trait Sink {
    /// Hears one event.
    fn event(&mut self, event: &Event<'_>);

    /// Hears of an oddity.
    fn note(&mut self, note: Note) {
        self.event(&Event::Noted(note));
    }

    /// Hears of something that broke outside of any case.
    fn error(&mut self, error: RunError) {
        self.event(&Event::Errored(error));
    }
}
