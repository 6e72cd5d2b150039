//! What the tests share: fixtures and reading them.

use std::fs;
use std::path::{Path, PathBuf};

use testexec::input::{InputFormat, Reader, Unknown};
use testexec::judge::{Policy, judge};
use testexec::model::{Duplicates, Source, TestRun, Totals};
use testexec::output::{self, Options, Report};
use testexec::recorder::Recorder;

pub(crate) fn repository() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The fuzzer shares this file, and is a package of its own in the repository.
    package.ancestors().find(|folder| folder.join("fixtures").is_dir()).unwrap()
}

pub(crate) fn reports() -> PathBuf {
    repository().join("fixtures/reports")
}

/// A recorded report.
pub(crate) struct Fixture {
    /// Relative to `fixtures/reports`.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

impl Fixture {
    /// The format it is kept under.
    pub(crate) fn format(&self) -> &str {
        self.name.split('/').next().unwrap()
    }
}

/// Every recorded report that is a file of its own, in order. `TESTEXEC_FIXTURES=tap` looks at some only.
pub(crate) fn fixtures() -> Vec<Fixture> {
    let only = std::env::var("TESTEXEC_FIXTURES").unwrap_or_default();
    let mut found = Vec::new();
    collect(&reports(), &mut found);
    found.sort();
    found
        .into_iter()
        .map(|path| Fixture {
            name: path.strip_prefix(reports()).unwrap().to_str().unwrap().to_owned(),
            bytes: fs::read(&path).unwrap(),
        })
        .filter(|fixture| fixture.name.starts_with(&only) && !fixture.name.starts_with('_'))
        .collect()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// Reads one report in pieces of `piece` bytes.
pub(crate) fn read_in_pieces(
    bytes: &[u8],
    piece: usize,
    given: Option<&'static dyn InputFormat>,
) -> TestRun {
    let mut recorder = Recorder::new("/builds");
    recorder.begin_report(Source { path: "report".to_owned(), ..Source::default() });
    let mut reader = Reader::new(given);
    for part in bytes.chunks(piece.max(1)) {
        reader.feed(part, &mut recorder);
    }
    let format = reader.format();
    if let Err(Unknown::Unreadable(error) | Unknown::Foreign(error)) = reader.finish(&mut recorder)
    {
        testexec::event::Sink::error(&mut recorder, error);
    }
    let _ = format;
    recorder.end_report();
    let missing = recorder.missing;
    let mut run = TestRun::new(vec![recorder.into_batch()], Duplicates::Separate);
    run.missing = missing;
    run
}

/// Reads one report in one piece.
pub(crate) fn read(bytes: &[u8]) -> TestRun {
    read_in_pieces(bytes, usize::MAX, None)
}

/// Everything a run says, as text that can be compared.
pub(crate) fn describe(run: &TestRun) -> String {
    let mut text = describe_results(run);
    for note in run.notes() {
        text.push_str(&format!("{note:?}\n"));
    }
    text
}

/// The same without notes: their order, and which are left out, hang on what is read at once.
pub(crate) fn describe_results(run: &TestRun) -> String {
    let mut text = format!("{:?}\n", Totals::of(run));
    for case in run.cases() {
        text.push_str(&format!("{:?} #{} {:?}\n", case.case(), case.occurrence(), case.verdict()));
        for attempt in case.attempts() {
            text.push_str(&format!("  {attempt:?}\n"));
        }
    }
    for (_, suite) in run.suites() {
        text.push_str(&format!("{suite:?}\n"));
    }
    for error in run.errors() {
        text.push_str(&format!("{error:?}\n"));
    }
    text
}

/// A tool that a test needs is not here. That is a failure where it could have been had.
pub(crate) fn missing(tool: &str, what: &str) {
    assert!(std::env::var_os("CI").is_none(), "{tool} is missing, so it is not known {what}");
    eprintln!("skipped, since {tool} is missing: {what}");
}

/// What the output format called `format` makes of a run.
pub(crate) fn render(format: &str, run: &TestRun) -> Vec<u8> {
    let mut bytes = Vec::new();
    let report = Report {
        run,
        judgement: judge(run, &Policy::default()),
        totals: Totals::of(run),
        options: Options::default(),
    };
    let format = output::format(format).unwrap();
    format.render(&report, &mut bytes).unwrap();
    bytes
}

/// So many JUnit cases, each with a name of its own.
pub(crate) fn many_cases(count: u32) -> String {
    (0..count).fold(String::new(), |all, number| {
        all + "<testcase name=\"n" + &number.to_string() + "\"/>"
    })
}
