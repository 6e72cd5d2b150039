//! The `testexec` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    testexec::cli::main(std::env::args_os())
}
