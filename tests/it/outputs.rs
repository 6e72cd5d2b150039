//! What every registered output format must satisfy. A new one is tested the moment it is in the table.

use std::collections::HashSet;

use proptest::prelude::*;

use testexec::judge::{Policy, judge};
use testexec::model::{TestRun, Totals};
use testexec::output::{FORMATS, Options, Report};

use crate::common::{fixtures, read};
use crate::runs::run_plan;

fn render_all(run: &TestRun) {
    for format in FORMATS {
        for (color, width, threads) in [(false, 100, 1), (true, 1, 4)] {
            let mut bytes = Vec::new();
            let report = Report {
                run,
                judgement: judge(run, &Policy::default()),
                totals: Totals::of(run),
                options: Options { color, width, threads },
            };
            format.render(&report, &mut bytes).unwrap();
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.ends_with('\n'), "{}", format.name());
            let allowed = |c: char| "\n\t".contains(c) || (color && c == '\u{1b}');
            // JSON escapes what it has to; what is above ASCII is its reader's to handle.
            let is_control = |c: char| c.is_ascii_control() && !allowed(c) && c != '\u{7f}';
            assert!(!text.contains(is_control), "{}", format.name());
        }
    }
}

#[test]
fn every_output_format_has_a_name_of_its_own() {
    let mut names = HashSet::new();
    for format in FORMATS {
        let name = format.name();
        assert!(names.insert(name), "{name} is there twice");
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{name}");
        assert!(!format.description().is_empty());
    }
}

#[test]
fn every_format_takes_a_run_without_anything() {
    render_all(&TestRun::default());
}

#[test]
fn every_format_takes_what_frameworks_wrote() {
    for fixture in fixtures() {
        if testexec::input::format(fixture.format()).is_some() {
            render_all(&read(&fixture.bytes));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_format_takes_any_run(plan in run_plan()) {
        render_all(&plan.record());
    }
}

/// A writer with no room left.
struct Full(usize);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = self.0.min(bytes.len());
        self.0 -= room;
        match room {
            0 if !bytes.is_empty() => Err(std::io::ErrorKind::StorageFull.into()),
            room => Ok(room),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_and_no_shorter_report() {
    let run = read(br#"<testsuite name="s"><testcase name="a"/><testcase name="b"/></testsuite>"#);
    let report = Report {
        run: &run,
        judgement: judge(&run, &Policy::default()),
        totals: Totals::of(&run),
        options: Options::default(),
    };
    for format in FORMATS {
        let mut whole = Vec::new();
        format.render(&report, &mut whole).unwrap();
        for room in 0..whole.len() {
            assert!(format.render(&report, &mut Full(room)).is_err(), "{}", format.name());
        }
    }
}
