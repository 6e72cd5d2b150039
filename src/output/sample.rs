//! One run with a bit of everything, for the tests of all renderers.

use std::time::Duration;

use super::{Options, OutputFormat, Report};
use crate::event::{Event, Sink, Tool};
use crate::judge::{Policy, judge};
use crate::model::{
    Attempt, Case, CaseId, Duplicates, Failure, FailureKind, Grade, List, Location, Note, NoteKind,
    Outcome, Pairs, RunError, RunErrorKind, Skip, SkipKind, Source, Suite, TestRun, Timestamp,
    Totals,
};
use crate::recorder::Recorder;

/// The run that nothing happened in.
pub(super) fn empty() -> TestRun {
    TestRun::new(Vec::new(), Duplicates::Separate)
}

/// The run that everything happened in.
pub(super) fn sample() -> TestRun {
    let mut recorder = Recorder::new("/repo");
    recorder.begin_report(source("reports/pytest.xml", "pytest", Grade::Structured));
    passes(&mut recorder);
    failures(&mut recorder);
    retries(&mut recorder);
    skips(&mut recorder);
    hostile(&mut recorder);
    around(&mut recorder);
    recorder.begin_report(source("output.log", "go", Grade::Text));
    say(&mut recorder, &case("acme/cart", "TestTotal"), passed(2), false);
    recorder.note(Note::new(NoteKind::Noise, "3 lines are none of the format's"));
    let started = recorder.started;
    let mut run = TestRun::new(vec![recorder.into_batch()], Duplicates::Separate);
    run.started = started;
    run.duration = Some(Duration::from_millis(12_345));
    run.missing = 2;
    run
}

/// A run in which three tests pass and nothing else happens.
pub(super) fn green() -> TestRun {
    let mut recorder = Recorder::new("");
    recorder.begin_report(source("-", "pytest", Grade::Structured));
    for (number, name) in ["adds", "removes", "totals"].into_iter().enumerate() {
        say(&mut recorder, &case("tests.cart", name), passed(number as u64 + 1), false);
    }
    TestRun::new(vec![recorder.into_batch()], Duplicates::Separate)
}

/// A run in which so many tests fail.
pub(super) fn failing(count: usize) -> TestRun {
    let mut recorder = Recorder::new("");
    recorder.begin_report(source("-", "pytest", Grade::Structured));
    for number in 0..count {
        let name = format!("test_{number}_");
        say(&mut recorder, &case("tests", &name), broke(FailureKind::Failure, "no"), false);
    }
    TestRun::new(vec![recorder.into_batch()], Duplicates::Separate)
}

/// What `format` makes of `run`.
pub(super) fn render(format: &dyn OutputFormat, run: &TestRun, options: Options) -> String {
    let mut bytes = Vec::new();
    let report =
        Report { run, judgement: judge(run, &Policy::default()), totals: Totals::of(run), options };
    format.render(&report, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn source(path: &str, framework: &str, grade: Grade) -> Source {
    Source {
        path: path.to_owned(),
        format: "junit".to_owned(),
        framework: framework.to_owned(),
        grade,
        notes_left_out: 0,
    }
}

fn case<'a>(package: &'a str, name: &'a str) -> Case<'a> {
    Case { id: CaseId { package, name, ..CaseId::default() }, ..Case::default() }
}

fn passed(millis: u64) -> Attempt<'static> {
    Attempt { duration: Some(Duration::from_millis(millis)), ..Attempt::default() }
}

fn failed(failure: Failure<'_>) -> Attempt<'_> {
    Attempt {
        outcome: Outcome::Failed(failure),
        duration: Some(Duration::from_micros(1_234_567)),
        ..Attempt::default()
    }
}

fn broke(kind: FailureKind, message: &str) -> Attempt<'_> {
    failed(Failure { kind, message, ..Failure::default() })
}

fn say(recorder: &mut Recorder, case: &Case<'_>, attempt: Attempt<'_>, again: bool) {
    recorder.event(&Event::CaseFinished { case: *case, attempt, again });
}

fn passes(recorder: &mut Recorder) {
    let tags = ["slow", "cart"];
    let properties = ["browser", "firefox"];
    let attachments = ["screen", "out/a b.png"];
    let case = Case {
        id: CaseId {
            package: "tests.test_cart",
            file: "/repo/tests/test_cart.py",
            suite: List::from(["Cart", "totals"].as_slice()),
            name: "test_adds",
            parameters: "[2-3]",
        },
        line: Some(7),
        tags: List::from(tags.as_slice()),
        properties: Pairs::new(properties.as_slice()),
        attachments: Pairs::new(attachments.as_slice()),
    };
    let attempt = Attempt {
        started: Timestamp::parse("2026-03-14T09:26:53.589793Z"),
        stdout: "adding\n\tthree\n",
        stderr: "warning: slow",
        ..passed(1500)
    };
    say(recorder, &case, attempt, false);
    say(recorder, &self::case("tests.test_cart", "test_größe_漢字_🛒"), passed(20), false);
}

fn failures(recorder: &mut Recorder) {
    let mut case = case("tests.test_cart", "test_total");
    case.id.file = "tests/test_cart.py";
    case.id.suite = List::from(["Cart"].as_slice());
    case.line = Some(12);
    let failure = Failure {
        kind: FailureKind::Failure,
        message: "assert 5 == 6\nthe total is wrong",
        type_name: "AssertionError",
        details: "def test_total():\n>   assert total(2, 3) == 6\nE   assert 5 == 6\n",
        stack_trace: "Traceback (most recent call last):\n  File \"tests/test_cart.py\", line 14\n",
        expected: Some("6\nsame"),
        actual: Some("5\nsame"),
        location: Some(Location { file: "tests/test_cart.py", line: Some(14), column: Some(3) }),
    };
    let attempt = Attempt { stdout: "out 1\nout 2\n", stderr: "err\n", ..failed(failure) };
    say(recorder, &case, attempt, false);
    for (kind, name, message) in [
        (FailureKind::Error, "test_setup", "fixture 'db' not found"),
        (FailureKind::Timeout, "test_hangs", "no answer within 60 s"),
        (FailureKind::Crash, "test_dies", "killed by signal 11 (SIGSEGV)"),
        (FailureKind::Failure, "test_mute", ""),
    ] {
        say(recorder, &self::case("tests.test_cart", name), broke(kind, message), false);
    }
}

fn retries(recorder: &mut Recorder) {
    let flaky = case("tests.test_net", "test_flaky");
    say(recorder, &flaky, broke(FailureKind::Failure, "first try"), false);
    say(recorder, &flaky, broke(FailureKind::Timeout, "second try"), true);
    say(recorder, &flaky, passed(900), true);
    let lost = case("tests.test_net", "test_lost");
    say(recorder, &lost, broke(FailureKind::Failure, "lost once"), false);
    say(recorder, &lost, broke(FailureKind::Failure, "lost twice"), true);
}

fn skips(recorder: &mut Recorder) {
    for (kind, name, reason) in [
        (SkipKind::Skipped, "test_windows", "only on Windows"),
        (SkipKind::Todo, "test_later", ""),
        (SkipKind::ExpectedFailure, "test_known", "issue 7"),
        (SkipKind::Disabled, "test_off", ""),
    ] {
        let outcome = Outcome::Skipped(Skip { kind, reason });
        let attempt = Attempt { outcome, ..Attempt::default() };
        say(recorder, &case("tests.test_skip", name), attempt, false);
    }
    let never = Attempt { outcome: Outcome::NotRun, ..Attempt::default() };
    say(recorder, &case("tests.test_skip", "test_never"), never, false);
}

fn hostile(recorder: &mut Recorder) {
    let name = "</code></details> @maintainer #1 | `x` https://evil.test \u{202e}passed";
    let mut case = case("hostile", name);
    case.id.file = "../../etc/passwd";
    let failure = Failure {
        message: "\u{1b}[31m::error::x\u{1b}[0m <script>\n```\n# SKIP me@mail.test",
        details: "~~~\n````\n</details>\n\u{1b}]0;title\nAFTER\ttab",
        stack_trace: "  ...\n##[error]boom\u{7}\n",
        ..Failure::default()
    };
    let attempt = Attempt { stdout: "]]>\u{fffe}&amp;\r\n::set-output::x\n", ..failed(failure) };
    say(recorder, &case, attempt, false);
}

fn around(recorder: &mut Recorder) {
    let properties = ["seed", "42"];
    recorder.event(&Event::Suite(Suite {
        package: "tests.test_skip",
        hostname: "ci-7",
        started: Timestamp::parse("2026-03-14T09:26:50Z"),
        duration: Some(Duration::from_millis(4200)),
        properties: Pairs::new(properties.as_slice()),
        stdout: "suite output\n",
        stderr: "suite errors\n",
        ..Suite::default()
    }));
    let started = Timestamp::parse("2026-03-14T09:26:48Z");
    recorder.event(&Event::Tool(Tool { started, ..Tool::default() }));
    recorder.note(Note::new(NoteKind::Count, "suite \"cart\" counts 9 tests, but has 8"));
    recorder.error(
        RunError::new(RunErrorKind::Load, "cannot import tests/test_broken.py")
            .with_details("SyntaxError: invalid syntax\n  line 3\n")
            .in_scope("tests/test_broken.py"),
    );
    recorder.error(RunError::new(RunErrorKind::Report, "the report ends inside <testcase>"));
}
