//! The commands; the only module that prints.

mod args;
mod convert;
mod destination;
mod progress;
mod schema;

use std::error::Error as _;
use std::ffi::OsString;
use std::process::ExitCode;

use anstream::eprintln;
use clap::{CommandFactory, FromArgMatches};

use crate::error::{Error, ExitStatus};
use args::{Cli, Command};

/// Runs `testexec` with these arguments. The first is the program's name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    run(Cli::command(), arguments)
}

/// Runs `cargo testexec` with these arguments: Cargo repeats the subcommand's name.
pub fn cargo_main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_some_and(|argument| argument == "testexec") {
        arguments.remove(1);
    }
    run(Cli::command().bin_name("cargo testexec"), arguments)
}

fn run(command: clap::Command, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let parsed =
        command.try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { ExitStatus::Failure } else { ExitStatus::Success };
            // Nowhere to print to is no reason to fail.
            let _ = error.print();
            return code.into();
        }
    };
    let result = match &cli.command {
        Command::Convert(args) => convert::convert(args),
        Command::Schema(args) => schema::schema(args),
    };
    match result {
        Ok(status) => status.into(),
        Err(error) => {
            print_error(&error);
            ExitStatus::Failure.into()
        }
    }
}

/// `error: could not …`, its causes, and what to do about it.
fn print_error(error: &Error) {
    eprintln!("error: could not {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprintln!("  caused by: {error}");
        cause = error.source();
    }
    if let Some(hint) = error.hint() {
        eprintln!("\nhint: {hint}");
    }
}
