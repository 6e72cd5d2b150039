//! `testexec convert`, as a user meets it.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::reports;

const PASSING: &str =
    r#"<testsuite name="s" tests="1"><testcase classname="c" name="ok" time="0.5"/></testsuite>"#;
const FAILING: &str = r#"<testsuite name="s" tests="2" failures="1"><testcase classname="c" name="ok"/><testcase classname="c" name="bad"><failure message="no">at x.js:3:4</failure></testcase></testsuite>"#;
const FLAKY: &str = r#"<testsuite name="s"><testcase classname="c" name="f"><flakyFailure message="once"/></testcase></testsuite>"#;

/// testexec in a folder of its own, without the variables that change how it behaves.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = Self { folder: TempDir::new().unwrap() };
        for (name, content) in files {
            place.write(name, content.as_bytes());
        }
        place
    }

    fn write(&self, name: &str, content: &[u8]) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_testexec"));
        command.current_dir(self.folder.path()).args(arguments);
        for (name, _) in std::env::vars() {
            let changes = ["CI", "NO_COLOR", "COLUMNS"].contains(&name.as_str());
            if changes
                || name.starts_with("GITHUB_")
                || name.starts_with("TESTEXEC_")
                || name.starts_with("RUNNER_")
            {
                command.env_remove(name);
            }
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The JSON report of these arguments, and the exit status.
    fn json(&self, arguments: &[&str]) -> (Value, i32) {
        let output = self.run(&[&["convert"], arguments, &["--report", "json"]].concat());
        let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
        });
        (value, output.status.code().unwrap())
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn many_files_of_mixed_formats_become_one_result() {
    let place = Place::new(&[("build/a/TEST-a.xml", PASSING), ("build/b/TEST-b.xml", FAILING)]);
    let (report, code) = place.json(&["build/**/TEST-*.xml"]);
    assert_eq!(code, 0);
    assert_eq!(report["summary"]["total"], 3);
    assert_eq!(report["summary"]["failed"], 1);
    assert_eq!(report["status"], "failed");
    let files: Vec<_> = report["reports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(files, ["build/a/TEST-a.xml", "build/b/TEST-b.xml"]);
}

#[test]
fn the_order_of_results_is_that_of_the_files() {
    let names: Vec<String> = (0..300).map(|number| format!("r/{number:03}.xml")).collect();
    let place = Place::new(&[]);
    for name in &names {
        place.write(name, PASSING.replace("ok", name).as_bytes());
    }
    let (report, _) = place.json(&["r", "--jobs", "8"]);
    let read: Vec<_> = report["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|test| test["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(read, names);
}

#[test]
fn exclusions_leave_files_and_folders_out() {
    let place = Place::new(&[("r/a.xml", PASSING), ("r/old/b.xml", FAILING), ("r/c.xml", FAILING)]);
    let (report, _) = place.json(&["r", "!r/old", "!r/c.xml"]);
    assert_eq!(report["summary"]["total"], 1);
}

#[test]
fn standard_input_and_packed_files_are_read() {
    let place = Place::new(&[]);
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(FAILING.as_bytes()).unwrap();
    place.write("a.xml.gz", &packer.finish().unwrap());
    let mut child = place
        .command(&["convert", "-", "a.xml.gz", "--report", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(PASSING.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["summary"]["total"], 3);
    assert_eq!(report["reports"][0]["path"], "-");
}

#[test]
fn a_bad_file_never_stops_the_others_and_exits_with_2() {
    let place =
        Place::new(&[("a.xml", PASSING), ("torn.xml", &FAILING[..120]), ("b.xml", FAILING)]);
    let output = place.run(&["convert", "a.xml", "torn.xml", "b.xml", "--report", "json=out.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("torn.xml"), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&fs::read(place.path("out.json")).unwrap()).unwrap();
    assert_eq!(report["status"], "error");
    assert_eq!(report["errors"][0]["source"], "torn.xml");
    assert!(report["summary"]["passed"].as_u64() >= Some(2));
}

#[test]
fn a_file_met_in_a_folder_may_be_something_else() {
    let place = Place::new(&[
        ("r/a.xml", PASSING),
        ("r/cov.xml", "<coverage line-rate=\"1\"/>"),
        ("r/notes.md", "# Notes\n"),
    ]);
    let (report, code) = place.json(&["r"]);
    assert_eq!((report["summary"]["total"].as_u64(), code), (Some(1), 0));
    assert_eq!(report["notes"].as_array().unwrap().len(), 2);
    let named = place.run(&["convert", "r/cov.xml", "--report", "json"]);
    assert_eq!(named.status.code(), Some(2));
    assert!(stderr(&named).contains("coverage report"), "{}", stderr(&named));
}

#[test]
fn an_empty_report_is_an_error_even_in_a_folder() {
    let place = Place::new(&[("r/a.xml", PASSING), ("r/b.xml", "")]);
    let (report, code) = place.json(&["r"]);
    assert_eq!(code, 2);
    assert_eq!(report["success"], false);
}

#[test]
fn nothing_matched_names_the_pattern_and_what_is_there() {
    let place = Place::new(&[("build/test-a.xml", PASSING)]);
    let output = place.run(&["convert", "build/**/TEST-*.xml"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("build/**/TEST-*.xml") && said.contains("build/test-a.xml"), "{said}");
    let output = place.run(&["convert", "nowhere/a.xml"]);
    assert!(stderr(&output).contains("there is no folder 'nowhere'"), "{}", stderr(&output));
}

#[test]
fn gates_exit_with_what_they_are_for() {
    let place = Place::new(&[
        ("pass.xml", PASSING),
        ("fail.xml", FAILING),
        ("flaky.xml", FLAKY),
        ("none.xml", "<testsuites/>"),
    ]);
    for (file, gate, code) in [
        ("pass.xml", "failed", 0),
        ("fail.xml", "none", 0),
        ("fail.xml", "failed", 1),
        ("fail.xml", "flaky", 1),
        ("flaky.xml", "failed", 0),
        ("flaky.xml", "flaky", 1),
        ("none.xml", "none", 0),
        ("none.xml", "failed", 4),
    ] {
        let (_, status) = place.json(&[file, "--fail-on", gate]);
        assert_eq!(status, code, "{file} {gate}");
    }
}

#[test]
fn duplicates_stay_apart_unless_they_are_said_to_be_retries() {
    let twice = FAILING.replace("name=\"ok\"", "name=\"bad\"");
    let place = Place::new(&[("a.xml", &twice)]);
    let (report, _) = place.json(&["a.xml"]);
    assert_eq!(report["summary"]["total"], 2);
    let ids: Vec<_> = report["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|test| test["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids[1], format!("{}#2", ids[0]));
    let (report, _) = place.json(&["a.xml", "--duplicates", "retries"]);
    assert_eq!(report["summary"]["total"], 1);
    assert_eq!(report["tests"][0]["flaky"], true);
    assert_eq!(report["tests"][0]["attempts"].as_array().unwrap().len(), 2);
}

#[test]
fn two_reports_cannot_share_standard_output() {
    let place = Place::new(&[("a.xml", PASSING)]);
    let output = place.run(&["convert", "a.xml", "-r", "json", "-r", "json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("hint:"), "{}", stderr(&output));
}

#[test]
fn a_report_is_put_in_its_place_whole_or_not_at_all() {
    let place = Place::new(&[("a.xml", PASSING), ("folder/x", "")]);
    let output = place.run(&["convert", "a.xml", "-r", "json=folder"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("it is a folder"), "{}", stderr(&output));
    assert_eq!(
        place.run(&["convert", "a.xml", "-r", "json=new/deep/out.json"]).status.code(),
        Some(0)
    );
    let left: Vec<_> = fs::read_dir(place.path("new/deep"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["out.json"], "no temporary file stays behind");
}

#[test]
fn an_unknown_format_is_refused_with_the_known_ones() {
    let place = Place::new(&[("a.xml", PASSING)]);
    let output = place.run(&["convert", "a.xml", "-r", "pdf"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("there is no format 'pdf'"), "{}", stderr(&output));
    let output = place.run(&["convert", "a.xml", "--from", "jnit"]);
    assert!(stderr(&output).contains("'junit'"), "{}", stderr(&output));
}

#[test]
fn a_reader_that_stops_early_does_not_hurt() {
    let place = Place::new(&[]);
    let many = crate::common::many_cases(20_000);
    place.write("a.xml", format!("<testsuite>{many}</testsuite>").as_bytes());
    let mut child = place
        .command(&["convert", "a.xml", "-r", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn the_cargo_plugin_is_the_same_command() {
    let help = |arguments: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_cargo-testexec")).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(help(&["testexec", "convert", "--help"]).contains("Usage: cargo testexec convert"));
    assert!(help(&["testexec", "--help"]).contains("cargo testexec"));
}

#[test]
fn help_lists_every_format() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_testexec")).args(["convert", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    for name in testexec::input::FORMATS.iter().map(|format| format.name()) {
        assert!(help.contains(name), "{name}");
    }
    for name in testexec::output::FORMATS.iter().map(|format| format.name()) {
        assert!(help.contains(name), "{name}");
    }
    assert!(help.contains("Examples:"));
}

#[test]
fn special_files_are_refused_rather_than_waited_for() {
    let place = Place::new(&[]);
    let fifo = place.path("pipe");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for path in [fifo.to_str().unwrap(), "/dev/zero"] {
        let output = place.run(&["convert", path, "-r", "json"]);
        assert_eq!(output.status.code(), Some(2), "{path}");
        assert!(stderr(&output).contains("no regular file"), "{}", stderr(&output));
    }
}

#[test]
fn every_recorded_report_can_be_converted_by_its_file_name() {
    let folder = reports().join("junit");
    let place = Place::new(&[]);
    let (report, _) = place.json(&[folder.to_str().unwrap()]);
    assert!(report["summary"]["total"].as_u64().unwrap() > 500);
    assert!(Path::new(report["reports"][0]["path"].as_str().unwrap()).exists());
}

#[test]
fn a_report_that_is_asked_for_and_not_there_is_never_green() {
    let place = Place::new(&[("a.xml", PASSING), ("empty/x/.keep", "")]);
    for missing in ["missing.xml", "nope/**/*.xml", "b*.xml"] {
        let (report, code) = place.json(&["a.xml", missing, "--fail-on", "failed"]);
        assert_eq!((code, report["success"].as_bool()), (2, Some(false)), "{missing}");
        assert!(report["errors"][0]["message"].as_str().unwrap().contains(missing), "{report}");
    }
}

#[test]
fn what_is_written_is_not_read() {
    let place = Place::new(&[("r/a.xml", PASSING)]);
    for _ in 0..2 {
        let output = place.run(&["convert", "r", "-r", "json=r/out.json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let report: Value =
            serde_json::from_slice(&fs::read(place.path("r/out.json")).unwrap()).unwrap();
        assert_eq!(report["summary"]["total"], 1);
    }
    let output = place.run(&["convert", "r/a.xml", "-r", "junit=./r/a.xml"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_to_string(place.path("r/a.xml")).unwrap(), PASSING);
    let output = place.run(&["convert", "r/a.xml", "-r", "json=x", "-r", "tap=x"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn a_report_cut_short_in_a_folder_is_never_passed_over() {
    for cut in [
        "<?xml version=\"1.0\"?>\n<testsui",
        "{\"numFailedTestSuites\":1,",
        "{\"uuid\":\"a\",\"name\":\"x\",\"sta",
    ] {
        let place = Place::new(&[("r/a.xml", PASSING), ("r/cut.json", cut)]);
        let (report, code) = place.json(&["r", "--fail-on", "failed"]);
        assert_eq!((code, report["success"].as_bool()), (2, Some(false)), "{cut}");
    }
}

#[test]
fn source_files_in_a_folder_are_no_reports() {
    let place = Place::new(&[
        ("r/a.xml", PASSING),
        ("r/README.md", "PASS: always\n\n1 passed, 0 failed\n"),
        ("r/.venv/x.xml", FAILING),
        ("r/__init__.py", ""),
    ]);
    let (report, code) = place.json(&["r"]);
    assert_eq!((code, report["summary"]["total"].as_u64()), (0, Some(1)), "{report}");
}

#[test]
fn a_failure_beside_a_skip_is_a_failure() {
    let both = r#"<testsuite name="s" errors="1"><testcase name="ok"/><testcase name="t"><skipped message="no db"/><error message="teardown broke"/></testcase></testsuite>"#;
    let claims = r#"<testsuites failures="3"><testsuite name="s"><testcase name="ok"/></testsuite></testsuites>"#;
    let status = r#"<testsuite name="s"><testcase name="ok"/><testcase name="t" status="failed" result="completed"/></testsuite>"#;
    for report in [both, claims, status] {
        let place = Place::new(&[("a.xml", report)]);
        let (_, code) = place.json(&["a.xml", "--fail-on", "failed"]);
        assert_eq!(code, 1, "{report}");
    }
}

#[test]
fn a_file_read_as_the_wrong_format_is_an_error() {
    let place = Place::new(&[("a.xml", FAILING)]);
    for format in ["trx", "robot", "nunit3", "teamcity", "meson-json"] {
        let output = place.run(&["convert", "a.xml", "--from", format, "-r", "json"]);
        assert_eq!(output.status.code(), Some(2), "{format}");
    }
}

#[test]
fn the_root_may_be_relative() {
    let here = r#"<testsuite name="s"><testcase name="ok" file="ROOT/sub/a.py"/></testsuite>"#;
    let place = Place::new(&[("sub/x", "")]);
    let root = place.folder.path().canonicalize().unwrap();
    place.write("a.xml", here.replace("ROOT", root.to_str().unwrap()).as_bytes());
    for (root, file) in [("sub", "a.py"), (".", "sub/a.py"), ("./sub/", "a.py")] {
        let (report, _) = place.json(&["a.xml", "--root", root]);
        assert_eq!(report["tests"][0]["file"], file, "{root}");
    }
}
