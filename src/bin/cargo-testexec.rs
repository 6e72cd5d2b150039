//! The `cargo testexec` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    testexec::cli::cargo_main(std::env::args_os())
}
