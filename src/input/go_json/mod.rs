//! The events of `go test -json`, of Go 1.10 and later.
//!
//! See <https://pkg.go.dev/cmd/test2json>. Packages run at the same time and their events are mixed.
//! Builds that fail are told of in events since Go 1.24, before that in plain lines between them.

pub(super) mod builds;
mod event;
mod package;

use std::collections::HashMap;

use super::lines::Lines;
use super::{Head, InputFormat, Parser};
use crate::event::{Event, Sink, Tool};
use crate::model::{Note, NoteKind, RunError, RunErrorKind, Timestamp};
use builds::Builds;
use event::{GoEvent, Raw, Scan, scan, with_unusual};
use package::Package;

/// `go test -json`.
pub(super) struct GoJson;

impl InputFormat for GoJson {
    fn name(&self) -> &'static str {
        "go-json"
    }

    fn description(&self) -> &'static str {
        "events of go test -json"
    }

    fn framework(&self) -> &'static str {
        "go"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        !head.is_markup()
            && (head.line_has(&["Action", "Package"]) || head.line_has(&["Action", "ImportPath"]))
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(GoJsonParser::default())
    }
}

#[derive(Default)]
struct GoJsonParser {
    lines: Lines,
    state: State,
}

impl Parser for GoJsonParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let state = &mut self.state;
        self.lines.feed(text, sink, |line, _, sink| state.line(line, sink));
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if let Some((last, _)) = self.lines.finish() {
            self.state.line_is_cut = is_cut(&last);
            self.state.line(&last, sink);
        }
        self.state.finish(sink);
    }
}

/// Everything between the first event and the last.
#[derive(Default)]
struct State {
    packages: Vec<Package>,
    by_name: HashMap<String, usize>,
    /// The package of the last event; the next one is mostly of the same.
    last: usize,
    builds: Builds,
    seen_event: bool,
    noted_noise: bool,
    /// The last line is an event that is not whole.
    line_is_cut: bool,
}

impl State {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) {
        if line.starts_with('{') {
            match scan(line) {
                Scan::Event(event) => {
                    if !self.take(&event, sink) {
                        self.noise(line, sink);
                    }
                }
                Scan::Twice(event) => self.take_twice(&event, sink),
                Scan::Unusual => self.take_unusual(line, sink),
            }
            return;
        }
        if line.trim().is_empty() {
            return;
        }
        if let Some(at) = glued_event(line)
            && let Scan::Event(event) = scan(&line[at..])
        {
            self.noise(&line[..at], sink);
            self.take(&event, sink);
            return;
        }
        self.noise(line, sink);
    }

    /// Takes an event. Tells if it is one.
    fn take(&mut self, event: &GoEvent<'_>, sink: &mut dyn Sink) -> bool {
        match event.action {
            "" => return false,
            "build-output" => self.builds.output(event),
            "build-fail" => self.builds.failed(event),
            _ if event.package.text.is_empty() => return false,
            _ => self.package_event(event, sink),
        }
        if !self.seen_event {
            self.seen_event = true;
            let started = Timestamp::parse(event.time);
            sink.event(&Event::Tool(Tool { framework: "go", started, duration: None }));
        }
        true
    }

    fn package_event(&mut self, event: &GoEvent<'_>, sink: &mut dyn Sink) {
        let index = self.index_of(event.package);
        let Some(package) = self.packages.get_mut(index) else {
            return;
        };
        package.is_open = true;
        if let Some(test) = event.test.filter(|test| !test.text.is_empty()) {
            return package.test_event(event, test, sink);
        }
        match event.action {
            "start" => package.start(event.time),
            "output" => package.output(event.output),
            "pass" | "skip" | "fail" => {
                let not_built = package.not_built || !event.failed_build.text.is_empty();
                if not_built && event.action == "fail" {
                    self.builds.package_failed(&package.name, event.failed_build, sink);
                }
                package.end(event, not_built, sink);
            }
            _ => {}
        }
    }

    fn index_of(&mut self, name: Raw<'_>) -> usize {
        let is_last = |package: &Package| !name.is_escaped && package.name == name.text;
        if self.packages.get(self.last).is_some_and(is_last) {
            return self.last;
        }
        let name = name.unescaped();
        self.last = self.by_name.get(name.as_ref()).copied().unwrap_or_else(|| {
            let name = name.into_owned();
            self.by_name.insert(name.clone(), self.packages.len());
            self.packages.push(Package::new(name));
            self.packages.len() - 1
        });
        self.last
    }

    /// Which of two values is meant cannot be known, so that nothing must turn green by either.
    fn take_twice(&mut self, event: &GoEvent<'_>, sink: &mut dyn Sink) {
        let message = "an event has a key twice";
        let error = RunError::new(RunErrorKind::Report, message);
        sink.error(error.in_scope(event.package.unescaped()));
        if event.package.text.is_empty() {
            return;
        }
        self.seen_event = true;
        let index = self.index_of(event.package);
        if let Some(package) = self.packages.get_mut(index) {
            package.is_open = true;
            if let Some(test) = event.test {
                package.distrust(test, message, sink);
            }
        }
    }

    fn take_unusual(&mut self, line: &str, sink: &mut dyn Sink) {
        let is_event = with_unusual(line, |event| match event {
            Ok(event) => self.take(&event, sink),
            Err(error) if error.to_string().starts_with("duplicate field") => {
                let message = "an event has a key twice";
                sink.error(RunError::new(RunErrorKind::Report, message));
                true
            }
            Err(_) => false,
        });
        if !is_event {
            self.noise(line, sink);
        }
    }

    fn noise(&mut self, line: &str, sink: &mut dyn Sink) {
        if !std::mem::replace(&mut self.noted_noise, true) {
            let message = "lines that are no events are passed over";
            sink.note(Note::new(NoteKind::Noise, message));
        }
        self.builds.plain_line(line, sink);
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let mut open = Vec::new();
        for package in &mut self.packages {
            if package.is_open {
                package.cut_off(sink);
                open.push(package.name.clone());
            }
        }
        self.builds.finish(sink);
        if let Some(first) = open.first() {
            let message =
                format!("the report is truncated: {} of its packages have no end", open.len());
            let error = RunError::new(RunErrorKind::Report, message).in_scope(first.clone());
            sink.error(error.with_details(open.join("\n")));
        } else if self.line_is_cut {
            let message = "the report is truncated in the middle of an event";
            sink.error(RunError::new(RunErrorKind::Report, message));
        } else if !self.seen_event && !self.builds.any_failed() {
            let message = "there is no event in it";
            sink.error(RunError::new(RunErrorKind::Report, message));
        }
    }
}

/// Where an event starts behind text that was printed past the tool.
fn glued_event(line: &str) -> Option<usize> {
    line.find("{\"Time\":\"").or_else(|| line.find("{\"Action\":\""))
}

/// Whether a line begins an event and does not end it.
fn is_cut(line: &str) -> bool {
    let start = if line.starts_with('{') { Some(0) } else { glued_event(line) };
    let is_whole = |text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    start.is_some_and(|at| !is_whole(&line[at..]))
}
