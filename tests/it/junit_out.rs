//! JUnit as it is written: read back by ourselves, and by readers that are not ours.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use testexec::input;
use testexec::judge::{Policy, judge};
use testexec::model::{
    Attempt, Case, CaseId, CaseView, Failure, Identity, List, Location, NoteKind, Outcome, Skip,
    Suite, TestRun, Totals, normalize_path,
};
use testexec::output::escape::XmlText;

use crate::common::{fixtures, read, read_in_pieces, render};
use crate::runs::run_plan;

/// What a run says, in words, after what JUnit does to it: texts are filtered to what XML allows, and
/// cases are in the order of their suites. Applied to what was read back it changes nothing.
fn describe(run: &TestRun) -> String {
    let mut words = format!("{:?}\n", Totals::of(run));
    for (key, _, suite) in run.keyed_suites() {
        for view in run.cases().filter(|view| view.suite_key() == key) {
            describe_case(&view, &mut words);
        }
        describe_suite(&suite, &mut words);
    }
    for error in run.errors() {
        let [message, details, scope] =
            [&error.message, &error.details, &error.scope].map(|text| XmlText::filter(text));
        writeln!(words, "{:?} {message:?} {details:?} {scope:?}", error.kind).unwrap();
    }
    words
}

fn xml(text: &str) -> Cow<'_, str> {
    XmlText::filter(text)
}

fn all(list: List<'_>) -> Vec<Cow<'_, str>> {
    list.iter().map(xml).collect()
}

fn path(file: &str) -> String {
    normalize_path(&xml(file), "/builds").into_owned()
}

fn describe_case(view: &CaseView<'_>, words: &mut String) {
    let Case { id, line, tags, properties, attachments } = view.case();
    let CaseId { package, file, suite, name, parameters } = id;
    let name = match xml(name) {
        name if name.is_empty() => Cow::Borrowed("(unnamed)"),
        name => name,
    };
    let (suite, file) = (all(suite), path(file));
    let suite: Vec<&str> = suite.iter().map(|name| &**name).collect();
    let id = CaseId {
        package: &xml(package),
        file: &file,
        suite: List::from(&suite),
        name: &name,
        parameters: &xml(parameters),
    };
    let identity = Identity::of(&view.source().framework, &id);
    writeln!(words, "{identity} {id:?} {line:?} {:?}", view.verdict()).unwrap();
    for list in [tags, properties.flat(), attachments.flat()] {
        writeln!(words, "  {:?}", all(list)).unwrap();
    }
    for attempt in view.attempts() {
        describe_attempt(&attempt, words);
    }
}

fn describe_attempt(attempt: &Attempt<'_>, words: &mut String) {
    let Attempt { outcome, duration, started, stdout, stderr } = attempt;
    let (stdout, stderr) = (xml(stdout), xml(stderr));
    writeln!(words, "  {duration:?} {started:?} {stdout:?} {stderr:?}").unwrap();
    match outcome {
        Outcome::Failed(failure) => {
            let Failure {
                kind,
                message,
                type_name,
                details,
                stack_trace,
                expected,
                actual,
                location,
            } = failure;
            let texts = [message, type_name, details, stack_trace].map(|text| xml(text));
            let values = [expected.map(xml), actual.map(xml)];
            let place = location.map(|Location { file, line, column }| (path(file), line, column));
            writeln!(words, "    {kind:?} {texts:?} {values:?} {place:?}").unwrap();
        }
        Outcome::Skipped(Skip { kind, reason }) => {
            writeln!(words, "    {kind:?} {:?}", xml(reason)).unwrap();
        }
        other => writeln!(words, "    {other:?}").unwrap(),
    }
}

fn describe_suite(suite: &Suite<'_>, words: &mut String) {
    let Suite { package, file, lineage, hostname, started, duration, properties, stdout, stderr } =
        suite;
    let texts = [hostname, stdout, stderr].map(|text| xml(text));
    let told = started.is_some()
        || duration.is_some()
        || !properties.is_empty()
        || texts.iter().any(|text| !text.is_empty());
    if told {
        let (home, properties) =
            ((xml(package), path(file), all(*lineage)), all(properties.flat()));
        writeln!(words, "{home:?} {started:?} {duration:?} {properties:?} {texts:?}").unwrap();
    }
}

/// Whether two suites are one for a reader of the XML. Then what is known of one replaces the other's.
fn has_suites_alike(run: &TestRun) -> bool {
    let mut seen = HashSet::new();
    let home = |suite: &Suite<'_>| {
        let lineage = all(suite.lineage).into_iter().map(Cow::into_owned);
        let lineage: Vec<String> = lineage.collect();
        (xml(suite.package).into_owned(), path(suite.file), lineage)
    };
    !run.suites().all(|(_, suite)| seen.insert(home(&suite)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_back_as_the_same_run(plan in run_plan()) {
        let run = plan.record();
        prop_assume!(!has_suites_alike(&run));
        let xml = render("junit", &run);
        let back = read(&xml);
        prop_assert_eq!(describe(&back), describe(&run), "{}", String::from_utf8_lossy(&xml));
        prop_assert_eq!(back.missing, run.missing);
        for note in back.notes() {
            // What testexec writes needs no repair; cases without or of the same name stay what they are.
            let expected = matches!(note.kind, NoteKind::Value | NoteKind::Duplicate);
            prop_assert!(expected, "{:?}", note);
        }
        let bytewise = read_in_pieces(&xml, 1, None);
        prop_assert_eq!(describe(&bytewise), describe(&back));
    }
}

#[test]
fn what_other_tools_write_is_the_same_after_a_detour() {
    for fixture in fixtures() {
        if input::format(fixture.format()).is_none() {
            continue;
        }
        let run = read(&fixture.bytes);
        if has_suites_alike(&run) {
            continue;
        }
        let back = read(&render("junit", &run));
        assert_eq!(describe(&back), describe(&run), "{}", fixture.name);
    }
}

/// Prints each report's names and outputs, as JSON, or fails.
const EXPAT: &str = r"
import json, sys, xml.etree.ElementTree as tree
out = []
for path in sys.argv[1:]:
    root = tree.parse(path).getroot()
    cases = [case for case in root.iter('testcase') if case.get('classname') != 'testexec']
    out.append([[case.get('name'), case.findtext('system-out')] for case in cases])
json.dump(out, sys.stdout)
";

/// Runs of every sort, the same each time.
fn some_runs() -> Vec<TestRun> {
    let mut runner = TestRunner::deterministic();
    let strategy = run_plan();
    let mut run = || strategy.new_tree(&mut runner).unwrap().current().record();
    (0..60).map(|_| run()).collect()
}

#[test]
fn other_readers_see_the_same_texts() {
    let folder = tempfile::tempdir().unwrap();
    let runs = some_runs();
    let mut paths = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        let path = folder.path().join(format!("{number}.xml"));
        fs::write(&path, render("junit", run)).unwrap();
        paths.push(path);
    }
    let output = Command::new("python3").arg("-c").arg(EXPAT).args(&paths).output();
    let output = output.expect("python3 is needed to read what we write");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Vec<Vec<(String, Option<String>)>> = serde_json::from_slice(&output.stdout).unwrap();
    for (run, seen) in runs.iter().zip(seen) {
        let mut expected = Vec::new();
        for (key, ..) in run.keyed_suites() {
            for view in run.cases().filter(|view| view.suite_key() == key) {
                expected.push(seen_by_others(&view));
            }
        }
        assert_eq!(seen, expected);
    }
    xmllint(&paths);
}

fn seen_by_others(view: &CaseView<'_>) -> (String, Option<String>) {
    let CaseId { name, parameters, .. } = view.case().id;
    let name = match parameters {
        "" => xml(name).into_owned(),
        parameters => format!("{} {}", xml(name), xml(parameters)),
    };
    let stdout = view.deciding_attempt().stdout;
    (name, (!stdout.is_empty()).then(|| xml(stdout).into_owned()))
}

fn xmllint(paths: &[std::path::PathBuf]) {
    let Ok(output) = Command::new("xmllint").arg("--noout").args(paths).output() else {
        eprintln!("xmllint is not installed: its opinion is missing");
        let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        return assert!(!is_ci, "CI needs xmllint");
    };
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
}

/// What was cut off may be lost. It must never add a pass.
#[test]
fn no_prefix_of_what_is_written_is_greener_than_the_whole() {
    for run in some_runs().iter().take(20) {
        let xml = render("junit", run);
        let passed = Totals::of(run).passed;
        for end in 0..xml.len() - 1 {
            let part = read_in_pieces(&xml[..end], usize::MAX, input::format("junit"));
            assert!(Totals::of(&part).passed <= passed, "cut at {end}");
            let closed = xml[..end].ends_with(b"</testsuites>");
            let green = judge(&part, &Policy::default()).is_success();
            assert!(!green || closed, "cut at {end}");
        }
    }
}

#[test]
fn a_run_that_is_not_green_is_not_green_as_junit() {
    let run = TestRun::default();
    let xml = String::from_utf8(render("junit", &run)).unwrap();
    assert!(xml.contains(r#"errors="1""#) && xml.contains("no test ran"), "{xml}");
    let back = read(xml.as_bytes());
    assert_eq!(Totals::of(&back), Totals::default(), "a verdict is derived anew");
}
