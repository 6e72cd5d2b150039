//! CTRF as it is written, against the schema that its makers publish.

use std::fs;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::Value;

use testexec::model::{TestRun, Totals};

use crate::common::{fixtures, read, render, repository};
use crate::runs::run_plan;

/// Where `npm install --prefix target/tools/ctrf ctrf` puts it.
const SCHEMA: &str = "target/tools/ctrf/node_modules/ctrf/dist/ctrf-schema-0.0.json";

#[test]
fn reports_fit_the_published_schema() {
    let Ok(schema) = fs::read_to_string(repository().join(SCHEMA)) else {
        eprintln!("{SCHEMA} is not installed: reports are not checked against it");
        let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        return assert!(!is_ci, "CI needs {SCHEMA}");
    };
    let schema = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut runs = vec![TestRun::default()];
    let mut runner = TestRunner::deterministic();
    let strategy = run_plan();
    for _ in 0..60 {
        runs.push(strategy.new_tree(&mut runner).unwrap().current().record());
    }
    for fixture in fixtures().iter().filter(|fixture| fixture.format() == "junit") {
        runs.push(read(&fixture.bytes));
    }
    for run in &runs {
        let report: Value = serde_json::from_slice(&render("ctrf", run)).unwrap();
        let wrong: Vec<String> = validator
            .iter_errors(&report)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}\n{report:#}");
        check_counts(run, &report);
    }
}

/// The summary must agree with the tests, and neither may be greener than the run.
fn check_counts(run: &TestRun, report: &Value) {
    let (tests, summary) = (&report["results"]["tests"], &report["results"]["summary"]);
    let tests = tests.as_array().unwrap();
    assert_eq!(summary["tests"], tests.len());
    for status in ["passed", "failed", "skipped", "pending", "other"] {
        let count = tests.iter().filter(|test| test["status"] == status).count();
        assert_eq!(summary[status], count, "{status}");
    }
    let totals = Totals::of(run);
    assert_eq!(summary["passed"], totals.passed);
    assert_eq!(summary["flaky"], totals.flaky);
    assert!(summary["failed"].as_u64().unwrap() >= totals.failed);
}
