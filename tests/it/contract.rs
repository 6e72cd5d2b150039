//! What every registered format must satisfy. A new one is tested the moment it is in the table.

use std::collections::HashSet;

use testexec::input::{self, Head};
use testexec::judge::{Policy, judge};
use testexec::model::{NoteKind, TestRun, Totals};

use crate::common::{Fixture, fixtures, read_in_pieces, reports};
use crate::invariants::read_any_way;

#[test]
fn every_input_format_has_a_name_of_its_own_and_a_fixture() {
    let mut names = HashSet::new();
    for format in input::FORMATS {
        let name = format.name();
        assert!(names.insert(name), "{name} is there twice");
        assert!(
            name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
            "{name}"
        );
        assert!(!format.description().is_empty());
        assert!(
            reports().join(name).read_dir().is_ok_and(|mut entries| entries.next().is_some()),
            "{name} has no fixture"
        );
    }
}

#[test]
fn every_fixture_is_sniffed_as_its_own_format_and_no_other() {
    for fixture in fixtures() {
        if input::format(fixture.format()).is_none() || fixture.format() == "allure" {
            continue;
        }
        let text = String::from_utf8_lossy(&fixture.bytes);
        let head = Head::new(&text[..text.floor_char_boundary(64 << 10)]);
        let fits: Vec<_> = input::FORMATS
            .iter()
            .filter(|format| format.sniff(&head))
            .map(|format| format.name())
            .collect();
        assert_eq!(fits, [fixture.format()], "{}", fixture.name);
    }
}

#[test]
fn a_report_reads_the_same_whole_and_byte_by_byte() {
    for fixture in fixtures() {
        if input::format(fixture.format()).is_some() {
            for size in [1, 7, 1000] {
                // As a file, which is kept back until its format is known, and as a live stream, which is not.
                read_any_way(&fixture.bytes, None, &mut || size);
            }
        }
    }
}

/// Cutting a report anywhere may lose results. It must never add a pass, and never look greener.
#[test]
fn no_prefix_of_a_report_is_greener_than_the_whole() {
    for fixture in fixtures() {
        let Some(format) = input::format(fixture.format()) else {
            continue;
        };
        let whole = read_in_pieces(&fixture.bytes, usize::MAX, Some(format));
        let (totals, green) = (Totals::of(&whole), judge(&whole, &Policy::default()).is_success());
        // Every prefix of what is small, and prefixes at odd steps of what is not.
        let step = (fixture.bytes.len() / 4096).max(1) | 1;
        for end in (0..fixture.bytes.len()).step_by(step) {
            let part = read_in_pieces(&fixture.bytes[..end], usize::MAX, Some(format));
            let passed = Totals::of(&part).passed;
            assert!(
                passed <= totals.passed,
                "{} cut at {end}: {passed} passes of {}",
                fixture.name,
                totals.passed
            );
            let part_green = judge(&part, &Policy::default()).is_success();
            assert!(
                green || !part_green || looks_whole(&fixture, end, &part),
                "{} cut at {end} is green",
                fixture.name
            );
        }
    }
}

/// Some formats do not mark their end, so that a report cut in the right place is one of its own: the
/// reader says so in a note. Go's streams at least say where a package ends.
fn looks_whole(fixture: &Fixture, end: usize, part: &TestRun) -> bool {
    if part.notes().any(|note| note.kind == NoteKind::Unended) {
        return ["meson-json", "text"].contains(&fixture.format());
    }
    let part = String::from_utf8_lossy(&fixture.bytes[..end]);
    let last = part.lines().next_back().unwrap_or_default();
    match fixture.format() {
        "go-json" => last.contains(r#""Action":"pass","Package""#) && !last.contains(r#""Test""#),
        "go-text" => last.starts_with("ok  \t"),
        _ => false,
    }
}
