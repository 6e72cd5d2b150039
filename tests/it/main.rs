//! The integration tests: one binary, a module per concern.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stderr, reason = "tests say what they skip")]
#![allow(clippy::disallowed_methods, reason = "only the pure modules are pure")]
#![allow(missing_docs, reason = "test names are sentences")]

mod architecture;
mod common;
mod contract;
mod convert;
mod ctrf_out;
mod invariants;
mod json_out;
mod junit_out;
mod mutations;
mod oracle;
mod outputs;
mod readme;
mod regressions;
mod runs;
