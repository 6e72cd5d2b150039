//! The command line as typed. Formats come from the tables.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::{input, output};

/// Read any test report and tell the truth about it.
///
/// Works as `testexec …` and as `cargo testexec …`.
#[derive(Debug, Parser)]
#[command(name = "testexec", version, about, long_about, max_term_width = 100)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Convert(ConvertArgs),
    Schema(SchemaArgs),
}

/// Read test reports of any format and write them in others
///
/// Reads any mix of formats in one call, each told from its content, and merges them into one result.
/// A file that cannot be read never stops the others: it is listed with the reason.
#[derive(Debug, Args)]
#[command(after_long_help = CONVERT_EXAMPLES)]
pub(super) struct ConvertArgs {
    /// Files, folders, globs in quotes ('build/**/TEST-*.xml'), '!…' to leave out, '-' for standard input
    #[arg(value_name = "REPORT", required = true)]
    pub(super) reports: Vec<String>,

    /// Write a report, to standard output or to a file. May be given many times
    #[arg(long = "report", short = 'r', value_name = "FORMAT[=PATH]", value_parser = parse_destination, long_help = output_help())]
    pub(super) outputs: Vec<OutputArg>,

    /// Read every report as this format instead of telling it from the content
    #[arg(long, value_name = "FORMAT", value_parser = input_formats(), hide_possible_values = true, long_help = input_help())]
    pub(super) from: Option<String>,

    /// What to exit with 1 for (no tests at all then exits with 4)
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    pub(super) fail_on: FailOn,

    /// What several results of the same name are
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    pub(super) duplicates: DuplicatesArg,

    /// Write paths in reports relative to this folder [default: the current one]
    #[arg(long, value_name = "FOLDER")]
    pub(super) root: Option<String>,

    /// When to use colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(super) color: ColorArg,

    /// How many threads to use [default: as many as there are processors]
    #[arg(long, short = 'j', value_name = "N")]
    pub(super) jobs: Option<usize>,

    /// Show no progress bar
    #[arg(long, short)]
    pub(super) quiet: bool,
}

const CONVERT_EXAMPLES: &str = "\
Examples:
  testexec convert results.xml
      show what a report says
  testexec convert 'build/**/TEST-*.xml' go-test.json results.tap -r json=results.json -r junit=all.xml
      merge reports of three formats into one result, written twice
  go test -json ./... | testexec convert - -r markdown >> \"$GITHUB_STEP_SUMMARY\"
      turn a stream into a summary
  testexec convert reports/ '!reports/old' --fail-on flaky
      a gate: exit 1 if anything failed or was flaky";

/// Print the JSON Schema of a format
#[derive(Debug, Args)]
pub(super) struct SchemaArgs {
    /// The format
    #[arg(value_enum, default_value_t, value_name = "FORMAT")]
    pub(super) format: SchemaFormat,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum SchemaFormat {
    /// The report that `--report json` writes
    #[default]
    Json,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    /// Nothing: exit 0 whenever every report was read
    #[default]
    None,
    /// Failed tests, and whatever broke outside of them
    Failed,
    /// The same, and flaky tests
    Flaky,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum DuplicatesArg {
    /// Different cases, each with its own result
    #[default]
    Separate,
    /// Attempts at one case
    Retries,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ColorArg {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// `FORMAT` or `FORMAT=PATH`.
#[derive(Clone, Debug)]
pub(super) struct OutputArg {
    pub(super) format: &'static str,
    pub(super) path: Option<PathBuf>,
}

fn parse_destination(text: &str) -> Result<OutputArg, String> {
    let (name, path) = match text.split_once('=') {
        Some((_, "")) => return Err("there is no path after the '='".to_owned()),
        Some((name, path)) => (name, Some(PathBuf::from(path))),
        None => (text, None),
    };
    let Some(format) = output::format(name) else {
        let names: Vec<_> = output::FORMATS.iter().map(|format| format.name()).collect();
        return Err(format!("there is no format '{name}'; there are {}", names.join(", ")));
    };
    Ok(OutputArg { format: format.name(), path })
}

fn input_formats() -> PossibleValuesParser {
    let value = |format: &&'static dyn input::InputFormat| {
        PossibleValue::new(format.name()).help(format.description())
    };
    PossibleValuesParser::new(input::FORMATS.iter().map(value).collect::<Vec<_>>())
}

fn input_help() -> String {
    let lines = input::FORMATS.iter().map(|format| (format.name(), format.description()));
    format!(
        "Read every report as this format instead of telling it from the content:\n{}",
        listed(lines)
    )
}

fn output_help() -> String {
    let lines = output::FORMATS.iter().map(|format| (format.name(), format.description()));
    format!(
        "Write a report, to standard output or to a file. May be given many times:\n{}",
        listed(lines)
    )
}

fn listed(lines: impl Iterator<Item = (&'static str, &'static str)> + Clone) -> String {
    let width = lines.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: Vec<_> = lines.map(|(name, text)| format!("  {name:width$}  {text}")).collect();
    lines.join("\n")
}
