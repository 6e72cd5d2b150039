//! testexec runs any project's tests and tells the truth about them.
//!
//! ```text
//!  report bytes ─► input::Reader ─► Event ─► Recorder ─► TestRun ─► judge ─► exit status
//!                                                           └─► output::OutputFormat ─► report bytes
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`model`] | the run: cases, attempts, outcomes; plain data |
//! | [`event`] | what readers say |
//! | [`event_wire`] | the lines of testexec's own event stream |
//! | [`input`] | one file per report format: bytes in, events out |
//! | [`collect`] | finds report files and reads them side by side |
//! | [`recorder`] | folds events into a run |
//! | [`judge`] | decides what a run amounts to |
//! | [`output`] | one file per report format: a run in, bytes out |
//! | [`deliver`] | puts bytes where they belong |
//! | [`cli`] | the commands; the only one that prints |
//!
//! To add an input or output format: one file, its `mod` line and one line in the table of the same
//! `mod.rs`, one fixture. Help, sniffing, docs and the contract tests read the tables.

pub mod cli;
pub mod collect;
pub mod deliver;
pub mod error;
pub mod event;
pub mod event_wire;
pub mod input;
pub mod judge;
pub mod model;
pub mod output;
pub mod recorder;
pub mod text;
