//! The one model every report is read into and every report is written from.
//!
//! Two halves. The *vocabulary* ([`Case`], [`Attempt`], [`Outcome`], [`Failure`], …) is plain borrowed
//! data: readers put it into events, renderers destructure it. The *store* ([`TestRun`]) keeps millions
//! of cases in little memory and hands them out again in the same vocabulary.
//!
//! Only facts are stored. Verdicts, totals and flakiness are derived, so they cannot disagree.

#![deny(clippy::disallowed_methods)]

mod case;
mod identity;
mod list;
mod outcome;
mod record;
mod run;
mod time;
mod totals;

pub use case::{Attachment, Attempt, Case, CaseId, Location, Suite};
pub use identity::{Identity, normalize_path};
pub use list::{List, Pairs};
pub use outcome::{Failure, FailureKind, Outcome, Skip, SkipKind, Verdict};
pub use record::{Batch, Clipped, MAX_TEXT};
pub use run::{
    CaseView, Duplicates, Ending, Grade, Note, NoteKind, RunError, RunErrorKind, Source, TestRun,
};
pub use time::Timestamp;
pub use totals::Totals;
