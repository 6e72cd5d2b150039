//! The house rules that a compiler does not check: who may use whom, and how files look.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::repository;

/// Which modules each module may use. `error` and `cli` stand above all.
const MAY_USE: &[(&str, &[&str])] = &[
    ("text", &[]),
    ("model", &[]),
    ("event", &["model"]),
    ("event_wire", &["event", "model"]),
    ("recorder", &["event", "model", "text"]),
    ("judge", &["model"]),
    ("input", &["event", "event_wire", "model", "text"]),
    ("output", &["event_wire", "judge", "model", "text"]),
    ("collect", &["event", "input", "model", "recorder"]),
    ("deliver", &[]),
    ("error", &["collect", "deliver", "judge", "output"]),
    (
        "cli",
        &[
            "collect", "deliver", "error", "event", "input", "judge", "model", "output",
            "recorder", "text",
        ],
    ),
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn module_of(path: &Path) -> String {
    let first = path.strip_prefix(repository().join("src")).unwrap().components().next().unwrap();
    first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
}

/// The code of a file without its comments, and without its tests if `tests` is false.
fn code(path: &Path, tests: bool) -> String {
    let text = fs::read_to_string(path).unwrap();
    let end = text.find("#[cfg(test)]\nmod ").filter(|_| !tests).unwrap_or(text.len());
    text[..end]
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn modules_use_only_what_they_may() {
    for path in sources(&repository().join("src")) {
        let module = module_of(&path);
        // The sample that renderers are tried on is made the way a reader would make it.
        let is_sample = path.ends_with("output/sample.rs");
        if is_sample || ["lib", "bin"].contains(&module.as_str()) {
            continue;
        }
        let row = MAY_USE.iter().find(|(name, _)| *name == module);
        let (_, allowed) =
            row.unwrap_or_else(|| panic!("{module} is not in the table of this test"));
        for part in code(&path, false).split("crate::").skip(1) {
            let names = part.strip_prefix('{').map_or(part, |list| list.split('}').next().unwrap());
            let first = |name: &str| {
                name.trim()
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .next()
                    .unwrap()
                    .to_owned()
            };
            let used: Vec<String> = if part.starts_with('{') {
                names.split(',').map(first).collect()
            } else {
                vec![first(names)]
            };
            for used in used.iter().filter(|used| MAY_USE.iter().any(|(name, _)| name == used)) {
                let fine = *used == module || allowed.contains(&used.as_str());
                assert!(fine, "{}: {module} may not use {used}", path.display());
            }
        }
    }
}

#[test]
fn every_file_says_what_it_is() {
    for folder in ["src", "tests"] {
        for path in sources(&repository().join(folder)) {
            let text = fs::read_to_string(&path).unwrap();
            assert!(
                text.starts_with("//! "),
                "{} has no line that says what it is",
                path.display()
            );
        }
    }
}

#[test]
fn no_file_grows_past_600_lines() {
    for path in sources(&repository().join("src")) {
        let text = fs::read_to_string(&path).unwrap();
        let own = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
        let lines = text[..own].lines().count();
        assert!(lines <= 600, "{} has {lines} lines", path.display());
    }
}

#[test]
fn every_format_is_in_its_table() {
    for (folder, implements) in
        [("input", "impl InputFormat for"), ("output", "impl OutputFormat for")]
    {
        let folder = repository().join("src").join(folder);
        let table = fs::read_to_string(folder.join("mod.rs")).unwrap();
        for path in sources(&folder) {
            let inside = path.strip_prefix(&folder).unwrap().components().next().unwrap();
            let module = inside.as_os_str().to_str().unwrap().trim_end_matches(".rs");
            let formats = code(&path, false).matches(implements).count();
            let listed = table.matches(&format!("&{module}::")).count();
            assert!(formats <= listed, "{} is in no table", path.display());
        }
    }
}

#[test]
fn only_the_command_line_prints() {
    for path in sources(&repository().join("src")) {
        let printing = ["println!", "eprintln!", "print!(", "eprint!("];
        if module_of(&path) != "cli" {
            let code = code(&path, false);
            assert!(!printing.iter().any(|word| code.contains(word)), "{} prints", path.display());
        }
    }
}
