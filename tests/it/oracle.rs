//! Every recorded report against what its makers know about it: `fixtures/projects/*/expected.tsv`.

use std::fs;

use testexec::input;
use testexec::model::Totals;

use crate::common::{read, reports, repository};

struct Row {
    report: String,
    counts: [u64; 6],
    remark: String,
}

fn rows() -> Vec<Row> {
    let only = std::env::var("TESTEXEC_FIXTURES").unwrap_or_default();
    let mut rows = Vec::new();
    for project in fs::read_dir(repository().join("fixtures/projects")).unwrap() {
        let Ok(table) = fs::read_to_string(project.unwrap().path().join("expected.tsv")) else {
            continue;
        };
        for line in table.lines().skip(1).filter(|line| !line.trim().is_empty()) {
            let mut cells = line.split('\t');
            let report = cells.next().unwrap().to_owned();
            let counts = std::array::from_fn(|_| cells.next().unwrap().parse().unwrap());
            let remark = cells.next().unwrap_or_default().to_owned();
            rows.push(Row { report, counts, remark });
        }
    }
    rows.retain(|row| row.report.starts_with(&only));
    rows.sort_by(|one, other| one.report.cmp(&other.report));
    rows
}

/// Reports of formats that are in the table only; a format is in the table when it can be read.
#[test]
fn every_recorded_report_has_the_counts_its_makers_know() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for row in rows() {
        let format = row.report.split('/').next().unwrap();
        let path = reports().join(&row.report);
        if input::format(format).is_none() || path.is_dir() {
            continue;
        }
        seen += 1;
        let run = read(&fs::read(&path).unwrap());
        let totals = Totals::of(&run);
        let run_errors = run.errors().count() as u64;
        let counts = [
            totals.passed,
            totals.failed - run_errors,
            totals.errors - run_errors,
            totals.skipped,
            totals.flaky,
            run_errors,
        ];
        if counts != row.counts {
            let errors: Vec<_> = run.errors().map(|error| &error.message).collect();
            wrong.push(format!(
                "{}: expected {:?}, read {counts:?} ({}) {errors:?}",
                row.report, row.counts, row.remark
            ));
        }
    }
    assert!(seen > 0, "no report was looked at");
    assert!(
        wrong.is_empty(),
        "passed, failed, errored, skipped, flaky, run errors of {} reports:\n{}",
        seen,
        wrong.join("\n")
    );
}
