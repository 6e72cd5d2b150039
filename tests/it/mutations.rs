//! Recorded reports with something broken in them: a short fuzzing that is the same each time.

use testexec::input;

use crate::common::fixtures;
use crate::invariants::read_any_way;

/// Broken reports per recorded one.
const MUTATIONS: usize = 40;
/// Of larger reports only this much is broken: their rest is more of the same.
const MAX_REPORT: usize = 24 << 10;
/// What means something in one format or another.
const TOKENS: &[&str] = &[
    "]]>",
    "&#0;",
    "&",
    "<",
    ">",
    "</",
    "<![CDATA[",
    "<!--",
    "-->",
    "\\u0000",
    "\\ud800",
    "\\",
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\n",
    "\r",
    "\r\n",
    "\0",
    "\u{1b}[31m",
    "\u{feff}",
    "\u{fffd}",
    "#",
    "-1",
    "1e999",
    "18446744073709551616",
    "null",
    "ok 1",
    "not ok",
    "1..0",
    "--- FAIL: ",
    "|",
    "'",
];

/// Xorshift: the same numbers each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`, or 0.
    fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end.max(1)
    }

    /// A stretch of `bytes`, rather a short one.
    fn range(&mut self, bytes: &[u8]) -> std::ops::Range<usize> {
        let start = self.below(bytes.len());
        let longest = (bytes.len() - start).min(1 << self.below(12));
        start..start + self.below(longest + 1)
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(bytes.len() + 1);
        match self.below(6) {
            0 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << self.below(8);
                }
            }
            1 => {
                let range = self.range(bytes);
                bytes.drain(range);
            }
            2 => {
                let range = self.range(bytes);
                let copy = bytes[range].to_vec();
                bytes.splice(at..at, copy);
            }
            3 => {
                let range = self.range(other);
                bytes.splice(at..at, other[range].iter().copied());
            }
            4 => bytes.truncate(at),
            _ => {
                let token = TOKENS[self.below(TOKENS.len())];
                bytes.splice(at..at, token.bytes());
            }
        }
    }
}

#[test]
fn a_broken_report_reads_the_same_whole_and_in_pieces() {
    let mut fixtures = fixtures();
    for fixture in &mut fixtures {
        fixture.bytes.truncate(MAX_REPORT);
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for fixture in &fixtures {
        let Some(format) = input::format(fixture.format()) else {
            continue;
        };
        for number in 0..MUTATIONS {
            let mut bytes = fixture.bytes.clone();
            let other = &fixtures[random.below(fixtures.len())].bytes;
            for _ in 0..=random.below(4) {
                random.mutate(&mut bytes, other);
            }
            let longest = 1 << random.below(10);
            let told = format!("{} {number}", fixture.name);
            let read = || read_any_way(&bytes, Some(format), &mut || 1 + random.below(longest));
            let read = std::panic::AssertUnwindSafe(read);
            if let Err(panic) = std::panic::catch_unwind(read) {
                let path = std::env::temp_dir().join("testexec-mutation");
                std::fs::write(&path, &bytes).unwrap();
                eprintln!("{told} is in {}", path.display());
                std::panic::resume_unwind(panic);
            }
        }
    }
}
