//! What must hold for whatever bytes: the fuzzer and the tests ask for the same.

use testexec::event::Sink;
use testexec::input::{self, InputFormat, Reader, Unknown};
use testexec::model::{Duplicates, Source, TestRun, Totals};
use testexec::output;
use testexec::recorder::Recorder;

use crate::common::{describe, describe_results, read, read_in_pieces, render};

/// Reads a report whole and in pieces of the sizes that `piece` gives, as a file and as a live stream.
/// The pieces must make no difference.
pub(crate) fn read_any_way(
    bytes: &[u8],
    format: Option<&'static dyn InputFormat>,
    piece: &mut dyn FnMut() -> usize,
) -> TestRun {
    let whole = read_in_pieces(bytes, usize::MAX, format);
    let in_pieces = read_in_pieces(bytes, piece(), format);
    assert_eq!(describe(&in_pieces), describe(&whole), "a file in pieces");
    // A file is kept back until its format is known, so that only a live stream arrives in pieces.
    let mut reader = Reader::new(format);
    reader.feed(bytes, &mut Recorder::default());
    reader.settle(&mut Recorder::default());
    if let Some(format) = reader.format() {
        let whole = read_live(bytes, format, &mut || usize::MAX);
        let in_pieces = read_live(bytes, format, piece);
        let name = format.name();
        let told = [&in_pieces, &whole].map(describe_results);
        assert_eq!(told[0], told[1], "a live {name} stream in pieces");
    }
    whole
}

/// Reads a live stream in pieces of the sizes that `piece` gives.
pub(crate) fn read_live(
    mut bytes: &[u8],
    format: &'static dyn InputFormat,
    piece: &mut dyn FnMut() -> usize,
) -> TestRun {
    let mut recorder = Recorder::new("/builds");
    recorder.begin_report(Source { path: "report".to_owned(), ..Source::default() });
    let mut reader = Reader::live(format);
    while !bytes.is_empty() {
        let (part, rest) = bytes.split_at(piece().clamp(1, bytes.len()));
        reader.feed(part, &mut recorder);
        bytes = rest;
    }
    if let Err(Unknown::Unreadable(error) | Unknown::Foreign(error)) = reader.finish(&mut recorder)
    {
        recorder.error(error);
    }
    recorder.end_report();
    let missing = recorder.missing;
    let mut run = TestRun::new(vec![recorder.into_batch()], Duplicates::Separate);
    run.missing = missing;
    run
}

/// Writes a run in every format. What testexec can read, it must read as the same run.
pub(crate) fn write_every_way(run: &TestRun) {
    let totals = Totals::of(run);
    for format in output::FORMATS {
        let name = format.name();
        let bytes = render(name, run);
        if ["junit", "json", "events"].contains(&name) {
            let back = read(&bytes);
            assert_eq!(Totals::of(&back), totals, "{name}: {}", told(&back, &bytes));
        } else if name == "tap" {
            let back = read_in_pieces(&bytes, usize::MAX, input::format("tap"));
            assert_eq!(Totals::of(&back).passed, totals.passed, "tap: {}", told(&back, &bytes));
        }
    }
}

/// What was read back, and what from.
fn told(back: &TestRun, bytes: &[u8]) -> String {
    format!("{}\n{}", describe(back), String::from_utf8_lossy(bytes))
}
