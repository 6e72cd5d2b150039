//! What the fuzzer broke once must not break again.

use std::fs;
use std::path::PathBuf;

use testexec::input::{self, InputFormat};

use crate::common::repository;
use crate::invariants::{read_any_way, write_every_way};

/// The inputs that broke something: `<what-it-broke>.<format>.bin`.
fn regressions() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(repository().join("fixtures/regressions")) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|end| end == "bin"));
    found.sort();
    found
}

fn check(bytes: &[u8], format: Option<&'static dyn InputFormat>) {
    let run = read_any_way(bytes, format, &mut || 1);
    write_every_way(&run);
}

#[test]
fn what_broke_once_is_read_and_written() {
    for path in regressions() {
        let name = path.file_name().unwrap().to_str().unwrap();
        eprintln!("{name}");
        let own = name.split('.').nth(1).unwrap();
        assert!(own == "sniffed" || input::format(own).is_some(), "{own} is no format");
        let bytes = fs::read(&path).unwrap();
        check(&bytes, None);
        for format in input::FORMATS {
            check(&bytes, Some(*format));
        }
    }
}
