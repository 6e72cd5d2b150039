//! The floors that conversion is measured against: scanning the same bytes and keeping nothing.
//!
//! `cargo bench --bench floor -- junit FILE` scans with quick-xml, `go FILE` reads each line with
//! `serde_json` into a borrowed struct. Prints the seconds of the best of three passes.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints its result")]

use std::borrow::Cow;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::Deserialize;

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [kind, path] = arguments.as_slice() else {
        // `cargo test --all-targets` runs benchmarks without arguments.
        println!("usage: cargo bench --bench floor -- junit|go FILE");
        return;
    };
    let bytes = std::fs::read(path).unwrap();
    let scan = match kind.as_str() {
        "junit" => scan_xml,
        _ => scan_go,
    };
    let best: Duration = (0..3).map(|_| timed(scan, &bytes)).min().unwrap();
    println!("{}", best.as_secs_f64());
}

fn timed(scan: fn(&[u8]) -> usize, bytes: &[u8]) -> Duration {
    let started = Instant::now();
    black_box(scan(bytes));
    started.elapsed()
}

fn scan_xml(bytes: &[u8]) -> usize {
    let mut reader = quick_xml::Reader::from_reader(bytes);
    let mut events = 0;
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Eof => return events,
            event => {
                black_box(&event);
                events += 1;
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
#[expect(dead_code, reason = "only reading it counts")]
struct GoEvent<'a> {
    #[serde(borrow, default)]
    time: Cow<'a, str>,
    #[serde(borrow)]
    action: Cow<'a, str>,
    #[serde(borrow, default)]
    package: Cow<'a, str>,
    #[serde(borrow, default)]
    test: Cow<'a, str>,
    #[serde(borrow, default)]
    output: Cow<'a, str>,
    #[serde(default)]
    elapsed: f64,
}

fn scan_go(bytes: &[u8]) -> usize {
    let mut events = 0;
    for line in bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let event: GoEvent<'_> = serde_json::from_slice(line).unwrap();
        black_box(&event);
        events += 1;
    }
    events
}
