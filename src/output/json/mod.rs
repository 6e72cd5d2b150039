//! The shared JSON schema: one object, the seed's `TestResult` with additions.
//!
//! The wire structs are in [`wire`]; `testexec schema` prints their JSON Schema. Cases are written one
//! by one and last, so that a report of any size needs no second copy of it in memory.

mod fill;
pub mod wire;
mod write;

use std::io::{self, Write};
use std::sync::mpsc;

use super::{OutputFormat, RenderError, Report};
use crate::model::CaseView;
use fill::PlainWriter;

/// JSON in testexec's own schema.
pub(super) struct Json;

impl OutputFormat for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn description(&self) -> &'static str {
        "one object in testexec's schema (see `testexec schema`)"
    }

    fn render(&self, report: &Report<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
        let head = serde_json::to_string(&wire::Head::of(report))?;
        out.write_all(head.trim_end_matches('}').as_bytes())?;
        render_suites(report, out)?;
        out.write_all(b",\"tests\":[")?;
        let threads = report.options.threads.clamp(1, 8);
        if threads == 1 || report.run.record_count() < 2 * BLOCK {
            render_cases(report, out)?;
        } else {
            render_in_parallel(report, threads, out)?;
        }
        out.write_all(b"\n]}\n")?;
        Ok(())
    }
}

/// The JSON Schema of the report.
pub fn schema() -> schemars::Schema {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<wire::Head<'static>>()
}

/// Cases rendered by one thread at a time.
const BLOCK: usize = 1024;

fn render_suites(report: &Report<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut opening: &[u8] = b",\"suites\":[";
    let facts =
        report.run.suites().filter_map(|(source, suite)| wire::SuiteFacts::of(source, &suite));
    for facts in facts {
        out.write_all(opening)?;
        serde_json::to_writer(&mut *out, &facts)?;
        opening = b",";
    }
    if opening == b"," {
        out.write_all(b"]")?;
    }
    Ok(())
}

fn render_cases(report: &Report<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut buffer = Vec::with_capacity(64 << 10);
    let mut plain = PlainWriter::default();
    for (index, case) in report.run.cases().enumerate() {
        render_case(&case, index == 0, &mut plain, &mut buffer)?;
        if buffer.len() > 60 << 10 {
            out.write_all(&buffer)?;
            buffer.clear();
        }
    }
    out.write_all(&buffer)?;
    Ok(())
}

fn render_case(
    case: &CaseView<'_>,
    first: bool,
    plain: &mut PlainWriter,
    buffer: &mut Vec<u8>,
) -> Result<(), RenderError> {
    buffer.extend_from_slice(if first { b"\n" } else { b",\n" });
    match case.plain_pass() {
        Some(duration) => plain.write(case, duration, buffer),
        None => wire::Test::without_id(case).write(case, buffer)?,
    }
    Ok(())
}

/// Renders blocks of cases on several threads and writes them in order.
fn render_in_parallel(
    report: &Report<'_>,
    threads: usize,
    out: &mut dyn Write,
) -> Result<(), RenderError> {
    let total = report.run.record_count();
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..threads)
            .map(|lane| {
                // Room for two blocks: memory stays bounded when writing is slow.
                let (sender, receiver) = mpsc::sync_channel::<Result<Vec<u8>, RenderError>>(2);
                scope.spawn(move || {
                    for start in (lane * BLOCK..total).step_by(threads * BLOCK) {
                        if sender.send(render_block(report, start)).is_err() {
                            return;
                        }
                    }
                });
                receiver
            })
            .collect();
        let mut separator: &[u8] = b"\n";
        for (number, _) in (0..total).step_by(BLOCK).enumerate() {
            let block =
                lanes[number % threads].recv().map_err(|_| io::Error::other("a thread died"))??;
            if let Some(cases) = block.get(2..) {
                out.write_all(separator)?;
                out.write_all(cases)?;
                separator = b",\n";
            }
        }
        Ok(())
    })
}

/// The cases of one block, each with `,\n` before it.
fn render_block(report: &Report<'_>, start: usize) -> Result<Vec<u8>, RenderError> {
    let mut buffer = Vec::with_capacity(BLOCK * 256);
    let mut plain = PlainWriter::default();
    for case in report.run.cases_in(start..start + BLOCK) {
        render_case(&case, false, &mut plain, &mut buffer)?;
    }
    Ok(buffer)
}
