//! `testexec convert`: reports in, reports out.

use std::io::IsTerminal;
use std::num::NonZero;

use anstream::eprintln;

use super::args::{ColorArg, ConvertArgs, DuplicatesArg, FailOn, OutputArg};
use super::destination::Destination;
use super::{print_error, progress};
use crate::collect::{self, Find, FindError, Found, Progress, ReadOptions};
use crate::error::{Error, ExitStatus};
use crate::judge::{Flaky, Judgement, Policy, judge_counted};
use crate::model::{Duplicates, RunError, RunErrorKind, TestRun, Totals};
use crate::output::{Options, Report};

pub(super) fn convert(args: &ConvertArgs) -> Result<ExitStatus, Error> {
    let outputs: Vec<_> = args.outputs.iter().filter_map(|output| output.path.clone()).collect();
    // Looked for before any place is secured, so that no half-made report is among what is found.
    let Find { found, missing } = collect::find(&args.reports, &outputs)?;
    let destinations = prepare(&args.outputs)?;
    if found.is_empty() {
        return Err(missing.into_iter().next().map_or_else(nothing_left, Error::from));
    }
    let mut run = read(args, &found);
    for nothing in &missing {
        let message = format!("could not {nothing}");
        run.add_error(RunError::new(RunErrorKind::Report, message));
    }
    let policy = Policy { flaky: flaky_policy(args.fail_on), allow_no_tests: false };
    let totals = Totals::of(&run);
    let judgement = judge_counted(&run, &totals, &policy);
    let report = Report { run: &run, judgement, totals, options: options(args) };
    let mut failed = false;
    for destination in destinations {
        if let Err(error) = destination.write(&report) {
            print_error(&error);
            failed = true;
        }
    }
    tell_unreadable(&run);
    Ok(if failed { ExitStatus::Failure } else { status(args.fail_on, judgement, &run) })
}

/// Secures every place before anything is read. What goes nowhere else goes to the terminal.
fn prepare(outputs: &[OutputArg]) -> Result<Vec<Destination>, Error> {
    if outputs.is_empty() {
        return Ok(vec![Destination::prepare(&OutputArg { format: "terminal", path: None })?]);
    }
    let mut paths: Vec<_> = outputs.iter().filter_map(|output| output.path.as_ref()).collect();
    paths.sort();
    if let Some(twice) = paths.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::Usage {
            what: format!("write two reports to {}", twice[0].display()),
            hint: "give each of them a file of its own".to_owned(),
        });
    }
    let destinations: Result<Vec<_>, _> = outputs.iter().map(Destination::prepare).collect();
    let destinations = destinations?;
    if destinations.iter().filter(|destination| destination.is_stdout()).count() > 1 {
        return Err(Error::Usage {
            what: "write two reports to standard output".to_owned(),
            hint: "give all but one of them a file, as in --report json=results.json".to_owned(),
        });
    }
    Ok(destinations)
}

fn nothing_left() -> Error {
    Error::Find(FindError::Nothing {
        pattern: "what is left".to_owned(),
        instead: "everything that matched was left out".to_owned(),
    })
}

fn read(args: &ConvertArgs, found: &[Found]) -> TestRun {
    let progress = Progress::default();
    let read_options = ReadOptions {
        from: args
            .from
            .as_deref()
            .and_then(crate::input::format)
            .map(crate::input::InputFormat::name),
        root: root(args),
        duplicates: match args.duplicates {
            DuplicatesArg::Separate => Duplicates::Separate,
            DuplicatesArg::Retries => Duplicates::Retries,
        },
        threads: threads(args),
    };
    let total = if found.len() > 10_000 { 0 } else { found.iter().map(size).sum() };
    progress::watch(args.quiet, total, &progress, || {
        collect::read_all(found, &read_options, &progress)
    })
}

fn size(found: &Found) -> u64 {
    match found {
        Found::Stdin => 0,
        Found::Named(path) | Found::Met(path) => {
            path.metadata().map_or(0, |metadata| metadata.len())
        }
    }
}

fn root(args: &ConvertArgs) -> String {
    let root = args.root.as_deref().unwrap_or(".");
    // Reports hold absolute paths, and write them with either slash.
    let absolute = std::path::absolute(root).unwrap_or_else(|_| root.into());
    absolute.to_string_lossy().replace('\\', "/")
}

fn threads(args: &ConvertArgs) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, NonZero::get);
    args.jobs.unwrap_or_else(processors).clamp(1, 64)
}

fn options(args: &ConvertArgs) -> Options {
    let auto = || {
        let stdout = std::io::stdout();
        stdout.is_terminal()
            && anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never
    };
    let color = match args.color {
        ColorArg::Auto => auto(),
        ColorArg::Always => true,
        ColorArg::Never => false,
    };
    let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || terminal_size::terminal_size().map(|(columns, _)| usize::from(columns.0));
    let width = width.filter(|&columns| columns > 0).or_else(seen);
    Options { color, width: width.unwrap_or(100), threads: threads(args) }
}

fn flaky_policy(fail_on: FailOn) -> Flaky {
    if fail_on == FailOn::Flaky { Flaky::Fail } else { Flaky::Pass }
}

/// Whatever was asked to be gated: a report that could not be read is always status 2.
fn status(fail_on: FailOn, judgement: Judgement, run: &TestRun) -> ExitStatus {
    let unreadable = run.errors().any(|error| error.kind.is_unreadable());
    match fail_on {
        _ if unreadable => ExitStatus::Failure,
        FailOn::None => ExitStatus::Success,
        FailOn::Failed | FailOn::Flaky => ExitStatus::Judged(judgement),
    }
}

/// Says on standard error what could not be read, since the reports may have gone elsewhere.
fn tell_unreadable(run: &TestRun) {
    for RunError { kind, message, source, details: _, scope: _ } in run.errors() {
        if *kind == RunErrorKind::Report || *kind == RunErrorKind::Internal {
            let message = crate::text::strip_controls(message);
            if source.is_empty() {
                eprintln!("error: {message}");
            } else {
                eprintln!(
                    "error: could not read {}: {message}",
                    crate::text::strip_controls(source)
                );
            }
        }
    }
}
