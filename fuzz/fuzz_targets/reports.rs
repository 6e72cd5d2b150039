//! Reads whatever bytes as a report of whatever format, and writes what was read in every format.
//!
//! The first byte picks the format (one more than there are: told from the content), the second how
//! many bytes are read at a time. What must hold is in `tests/it/invariants.rs`.

#![no_main]
#![allow(dead_code, reason = "the tests use more of what is shared")]

#[path = "../../tests/it/common.rs"]
mod common;
#[path = "../../tests/it/invariants.rs"]
mod invariants;

use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use testexec::input::FORMATS;

fuzz_target!(
    init: write_seeds(),
    |data: &[u8]| {
        let [format, piece, report @ ..] = data else {
            return;
        };
        let format = FORMATS.get(usize::from(*format) % (FORMATS.len() + 1)).copied();
        let piece = usize::from(*piece) + 1;
        let run = invariants::read_any_way(report, format, &mut || piece);
        invariants::write_every_way(&run);
    }
);

/// Larger seeds slow every run down.
const MAX_SEED: usize = 30 << 10;

/// Writes every recorded report into the folder that `TESTEXEC_SEEDS` names, with the two bytes before it.
fn write_seeds() {
    let Some(folder) = std::env::var_os("TESTEXEC_SEEDS").map(PathBuf::from) else {
        return;
    };
    std::fs::create_dir_all(&folder).expect("the folder of the seeds can be made");
    for fixture in common::fixtures() {
        let place = FORMATS.iter().position(|format| format.name() == fixture.format());
        let (Some(place), true) = (place, fixture.bytes.len() <= MAX_SEED) else {
            continue;
        };
        let bytes = [&[u8::try_from(place).unwrap_or(u8::MAX), 6], fixture.bytes.as_slice()];
        let path = folder.join(format!("seed-{}", fixture.name.replace('/', "-")));
        std::fs::write(path, bytes.concat()).expect("a seed can be written");
    }
}
