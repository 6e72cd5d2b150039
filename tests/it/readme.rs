//! The README's tables are those of the program.

use std::fs;

use testexec::{input, output};

use crate::common::repository;

/// What stands between `<!-- name -->` and `<!-- end -->`, without the blank lines around it.
fn section<'a>(text: &'a str, name: &str) -> &'a str {
    let (_, after) = text.split_once(&format!("<!-- {name} -->\n")).unwrap();
    after.split_once("<!-- end -->").unwrap().0.trim()
}

fn table(rows: impl Iterator<Item = (&'static str, &'static str)>) -> String {
    let rows: Vec<_> = rows.map(|(name, what)| format!("| `{name}` | {what} |")).collect();
    format!("| format | what it is |\n|---|---|\n{}", rows.join("\n"))
}

#[test]
fn the_readme_lists_every_format() {
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let inputs = table(input::FORMATS.iter().map(|format| (format.name(), format.description())));
    let outputs = table(output::FORMATS.iter().map(|format| (format.name(), format.description())));
    assert_eq!(section(&readme, "input formats"), inputs, "put this table into the README");
    assert_eq!(section(&readme, "output formats"), outputs, "put this table into the README");
    assert!(readme.contains(&format!("of {} formats", input::FORMATS.len())));
}
