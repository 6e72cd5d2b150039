//! The shared JSON report: its schema, and the Go programs that decode it.

use std::io::Write;
use std::process::{Command, Stdio};

use testexec::judge::{Policy, judge};
use testexec::model::{TestRun, Totals};
use testexec::output::{self, Options, Report, json};

use crate::common::{fixtures, missing, read, repository};

fn render(run: &TestRun, threads: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = Options { threads, ..Options::default() };
    let report =
        Report { run, judgement: judge(run, &Policy::default()), totals: Totals::of(run), options };
    output::format("json").unwrap().render(&report, &mut bytes).unwrap();
    bytes
}

#[test]
fn every_fixture_fits_the_printed_schema() {
    let schema = serde_json::to_value(json::schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for fixture in fixtures() {
        let document = serde_json::from_slice(&render(&read(&fixture.bytes), 1)).unwrap();
        let problems: Vec<_> =
            validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{}: {problems:?}", fixture.name);
    }
}

#[test]
fn cases_are_written_as_serde_writes_them() {
    for fixture in fixtures() {
        let run = read(&fixture.bytes);
        let text = String::from_utf8(render(&run, 1)).unwrap();
        for case in run.cases() {
            let expected = serde_json::to_string(&json::wire::Test::of(&case)).unwrap();
            assert!(text.contains(&expected), "{}: {expected}", fixture.name);
        }
    }
}

#[test]
fn several_threads_write_what_one_writes() {
    let cases = crate::common::many_cases(30_000);
    let run = read(format!("<testsuite>{cases}</testsuite>").as_bytes());
    let one = render(&run, 1);
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&one).unwrap()["tests"]
            .as_array()
            .unwrap()
            .len(),
        30_000
    );
    for threads in [2, 3, 8] {
        assert!(render(&run, threads) == one, "{threads} threads");
    }
}

#[test]
fn a_go_program_with_the_agreed_structs_decodes_it_unchanged() {
    if Command::new("go").arg("version").output().is_err() {
        return missing("go", "whether a Go program decodes our JSON");
    }
    let program = std::env::temp_dir().join(format!("testexec-decode-{}", std::process::id()));
    let build = Command::new("go")
        .args(["build", "-o"])
        .arg(&program)
        .current_dir(repository().join("tests/decode"))
        .output()
        .unwrap();
    assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
    for name in ["surefire-retries.xml", "pytest-mixed.xml", "nextest-retries.xml"] {
        let run =
            read(&std::fs::read(repository().join("fixtures/reports/junit").join(name)).unwrap());
        let mut child =
            Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&render(&run, 1)).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{name}");
        let text = String::from_utf8(output.stdout).unwrap();
        let totals = Totals::of(&run);
        let counts =
            format!("{} {} {} {}", totals.total(), totals.passed, totals.failed, totals.skipped);
        assert!(text.lines().next().unwrap().ends_with(&counts), "{name}: {text}");
        assert_eq!(text.lines().count() - 1, run.cases().count(), "{name}");
        assert!(
            text.lines()
                .skip(1)
                .all(|line| ["pass|", "fail|", "skip|"].iter().any(|word| line.starts_with(word))),
            "{text}"
        );
    }
    std::fs::remove_file(program).unwrap();
}
