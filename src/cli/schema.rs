//! `testexec schema`: the JSON Schema of what testexec writes.

use std::io::Write;

use super::args::{SchemaArgs, SchemaFormat};
use super::destination;
use crate::error::{Error, ExitStatus};
use crate::output::{RenderError, json};

pub(super) fn schema(args: &SchemaArgs) -> Result<ExitStatus, Error> {
    let schema = match args.format {
        SchemaFormat::Json => json::schema(),
    };
    let text = serde_json::to_string_pretty(&schema).map_err(RenderError::Json)?;
    let written = writeln!(std::io::stdout().lock(), "{text}");
    destination::ignore_broken_pipe(written).map_err(RenderError::Io)?;
    Ok(ExitStatus::Success)
}
