//! Reads many reports side by side into one run, in the order they were found.

use std::fs::File;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use flate2::read::MultiGzDecoder;

use super::Found;
use crate::event::Sink;
use crate::input::{InputFormat, Reader, Unknown};
use crate::model::{
    Batch, Duplicates, Note, NoteKind, RunError, RunErrorKind, Source, TestRun, Timestamp,
};
use crate::recorder::Recorder;

/// More than this of one report is not read: it is a device, a sparse file or a bomb.
const MAX_BYTES: u64 = 64 << 30;
/// How much is read at a time.
const PIECE: usize = 256 << 10;

/// How reports are read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format, where the user knows better.
    pub from: Option<&'static str>,
    /// What paths in reports are written relative to.
    pub root: String,
    /// What several results of one identity are.
    pub duplicates: Duplicates,
    /// How many threads may be used.
    pub threads: usize,
}

/// How far reading has got, for whoever watches.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes read so far.
    pub bytes: AtomicU64,
    /// Reports read so far.
    pub reports: AtomicUsize,
}

/// Reads all reports into one run. A bad one never stops the others.
pub fn read_all(found: &[Found], options: &ReadOptions, progress: &Progress) -> TestRun {
    let threads = options.threads.clamp(1, found.len().max(1));
    // Several reports share a batch, so that a hundred thousand of them do not need as many.
    let share = (found.len() / (threads * 16)).clamp(1, 256);
    let shares: Vec<&[Found]> = found.chunks(share).collect();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Recorded)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut piece = vec![0; PIECE];
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(share) = shares.get(number) else {
                        return;
                    };
                    let recorded = read_share(share, options, progress, &mut piece);
                    // A thread that panicked outside of the barrier left its results whole.
                    done.lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .push((number, recorded));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    assemble(done.into_iter().map(|(_, recorded)| recorded).collect(), options.duplicates)
}

struct Recorded {
    batch: Batch,
    started: Option<Timestamp>,
    duration: Option<Duration>,
    missing: u64,
}

fn assemble(recorded: Vec<Recorded>, duplicates: Duplicates) -> TestRun {
    let started = recorded.iter().filter_map(|recorded| recorded.started).min();
    let duration = match recorded.as_slice() {
        [one] if one.batch.sources.len() == 1 => one.duration,
        _ => None,
    };
    let missing = recorded.iter().map(|recorded| recorded.missing).fold(0, u64::saturating_add);
    let batches = recorded.into_iter().map(|recorded| recorded.batch).collect();
    let mut run = TestRun::new(batches, duplicates);
    run.started = started;
    // What several reports took together is not known: they may have run at the same time.
    run.duration = duration;
    run.missing = missing;
    run
}

fn read_share(
    share: &[Found],
    options: &ReadOptions,
    progress: &Progress,
    piece: &mut [u8],
) -> Recorded {
    let mut recorder = Recorder::new(options.root.clone());
    for found in share {
        let path = found.name();
        recorder.begin_report(Source { path, ..Source::default() });
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            read_one(found, options, progress, piece, &mut recorder);
        }));
        if outcome.is_err() {
            let message = "testexec itself failed on this report; what it had read is kept";
            recorder.error(RunError::new(RunErrorKind::Internal, message));
        }
        recorder.end_report();
        progress.reports.fetch_add(1, Ordering::Relaxed);
    }
    let Recorder { started, duration, missing, .. } = recorder;
    Recorded { batch: recorder.into_batch(), started, duration, missing }
}

fn read_one(
    found: &Found,
    options: &ReadOptions,
    progress: &Progress,
    piece: &mut [u8],
    recorder: &mut Recorder,
) {
    let given = options.from.and_then(crate::input::format);
    let mut reader = Reader::new(given);
    if matches!(found, Found::Met(_)) {
        reader.leave_out_text(!may_be_console_output(&found.name()));
    }
    let before = (recorder.case_count(), recorder.error_count());
    let result = open(found).and_then(|bytes| pump(bytes, &mut reader, progress, piece, recorder));
    // Only once it has seen the end is the format of a short report known.
    reader.settle(recorder);
    let (format, is_mismatch) = (reader.format(), reader.is_mismatch());
    let end = reader.finish(recorder);
    describe(recorder, format);
    if let Err(error) = result {
        return recorder.error(RunError::new(RunErrorKind::Report, error.to_string()));
    }
    match end {
        Ok(()) if is_mismatch && before == (recorder.case_count(), recorder.error_count()) => {
            let name = format.map_or("", InputFormat::name);
            let message = format!("nothing in it could be read as {name}");
            recorder.error(RunError::new(RunErrorKind::Report, message));
        }
        Ok(()) => {}
        Err(Unknown::Harmless(note)) => recorder.note(note),
        Err(Unknown::Foreign(error)) if matches!(found, Found::Met(_)) => {
            recorder.note(Note::new(NoteKind::Ignored, format!("passed over: {}", error.message)));
        }
        Err(Unknown::Unreadable(error))
            if matches!(found, Found::Met(_)) && !may_be_report(&found.name()) =>
        {
            recorder.note(Note::new(NoteKind::Ignored, format!("passed over: {}", error.message)));
        }
        Err(Unknown::Foreign(error) | Unknown::Unreadable(error)) => recorder.error(error),
    }
}

/// Whether a file of this name, met in a folder, may hold what a program printed.
fn may_be_console_output(name: &str) -> bool {
    has_ending(name, &["txt", "log", "out", "gz"])
}

/// Whether a file of this name, met in a folder, would have held a report if it held anything.
fn may_be_report(name: &str) -> bool {
    has_ending(name, &["xml", "json", "jsonl", "ndjson", "trx", "tap", "gz"])
}

fn has_ending(name: &str, endings: &[&str]) -> bool {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| endings.iter().any(|known| known.eq_ignore_ascii_case(ending)))
}

type Format = Option<&'static dyn InputFormat>;

fn describe(recorder: &mut Recorder, format: Format) {
    if let (Some(source), Some(format)) = (recorder.source_mut(), format) {
        format.name().clone_into(&mut source.format);
        source.grade = format.grade();
    }
}

/// The bytes of a report, unpacked if they are packed.
fn open(found: &Found) -> io::Result<Box<dyn Read>> {
    let raw: Box<dyn Read> = match found {
        Found::Stdin => Box::new(io::stdin()),
        Found::Named(path) | Found::Met(path) => Box::new(open_file(path)?),
    };
    unpack(raw)
}

fn open_file(path: &Path) -> io::Result<File> {
    let metadata = path.metadata()?;
    // Shells pass `<(command)` as a pipe below /dev/fd; a pipe anywhere else may never have a writer.
    let is_substitution = path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd");
    if !metadata.is_file() && !is_substitution {
        return Err(io::Error::other("it is no regular file; use - for standard input"));
    }
    File::open(path)
}

fn unpack(mut raw: Box<dyn Read>) -> io::Result<Box<dyn Read>> {
    let mut magic = [0; 2];
    let mut length = 0;
    while length < magic.len() {
        match raw.read(&mut magic[length..])? {
            0 => break,
            count => length += count,
        }
    }
    let whole = io::Cursor::new(magic).take(length as u64).chain(raw);
    Ok(if magic == [0x1f, 0x8b] { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) })
}

fn pump(
    mut bytes: Box<dyn Read>,
    reader: &mut Reader,
    progress: &Progress,
    piece: &mut [u8],
    recorder: &mut Recorder,
) -> io::Result<()> {
    let mut total = 0;
    while !reader.is_unknown() {
        let count = match bytes.read(piece) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        reader.feed(&piece[..count], recorder);
        progress.bytes.fetch_add(count as u64, Ordering::Relaxed);
        total += count as u64;
        if total > MAX_BYTES {
            return Err(io::Error::other("it goes on for more than 64 GiB"));
        }
    }
    Ok(())
}
