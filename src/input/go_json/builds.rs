//! Builds that failed: events since Go 1.24, plain lines before.

use std::collections::{HashMap, HashSet};

use super::event::{GoEvent, Raw};
use crate::event::Sink;
use crate::input::capped::Capped;
use crate::input::failure;
use crate::model::{RunError, RunErrorKind};

/// Plain text is kept up to this size.
const MAX_PLAIN: usize = 4 << 20;

/// So much of it is told of a package that it is not about.
const MAX_UNTOLD: usize = 64 << 10;

/// After so many failed builds nobody reads further ones.
const MAX_TOLD: usize = 1000;

/// What is known of builds.
#[derive(Debug, Default)]
pub(in crate::input) struct Builds {
    /// The compiler's words, by what it built.
    outputs: HashMap<String, Capped>,
    failed: Vec<String>,
    told: HashSet<String>,
    /// Plain lines of the compiler, by the package they are about.
    plain: Vec<Part>,
    by_package: HashMap<String, usize>,
    plain_size: usize,
    told_count: usize,
}

/// What the compiler says of one package.
#[derive(Debug)]
struct Part {
    text: String,
    is_told: bool,
}

impl Builds {
    pub(super) fn output(&mut self, event: &GoEvent<'_>) {
        let path = event.import_path.unescaped();
        let text = event.output.unescaped();
        if let Some(output) = self.outputs.get_mut(path.as_ref()) {
            return output.push(&text);
        }
        let mut output = Capped::default();
        output.push(&text);
        self.outputs.insert(path.into_owned(), output);
    }

    pub(super) fn failed(&mut self, event: &GoEvent<'_>) {
        self.failed.push(event.import_path.unescaped().into_owned());
    }

    /// A package failed because something was not built.
    pub(super) fn package_failed(&mut self, package: &str, build: Raw<'_>, sink: &mut dyn Sink) {
        let build = build.unescaped();
        if build.is_empty() {
            let details = self.plain_about(package);
            return self.tell(package, &details, sink);
        }
        if !self.told.insert(build.clone().into_owned()) {
            return;
        }
        let details = self.outputs.get_mut(build.as_ref()).map(Capped::take);
        self.tell(package, &details.unwrap_or_default(), sink);
    }

    /// Reads a line that is no event.
    pub(in crate::input) fn plain_line(&mut self, line: &str, sink: &mut dyn Sink) {
        if let Some(rest) = line.strip_prefix("FAIL\t") {
            let package = ["[build failed]", "[setup failed]"]
                .iter()
                .find_map(|end| rest.trim_end().strip_suffix(end));
            if let Some(package) = package {
                let details = self.plain_about(package.trim());
                self.tell(package.trim(), &details, sink);
            }
            return;
        }
        self.plain_size += line.len();
        if self.plain_size > MAX_PLAIN {
            return;
        }
        match line.strip_prefix("# ") {
            Some(about) if !about.starts_with('[') => {
                let package = about.split(' ').next().unwrap_or_default();
                self.by_package.insert(package.to_owned(), self.plain.len());
                self.plain.push(Part { text: String::new(), is_told: false });
            }
            _ => {}
        }
        if let Some(part) = self.plain.last_mut() {
            part.text.push_str(line);
            part.text.push('\n');
        }
    }

    /// The report is over: builds that failed, and that no package owned up to.
    pub(super) fn finish(&mut self, sink: &mut dyn Sink) {
        for build in std::mem::take(&mut self.failed) {
            if self.told.insert(build.clone()) {
                let details = self.outputs.get_mut(&build).map(Capped::take);
                let package = build.split(" [").next().unwrap_or_default();
                self.tell(package, &details.unwrap_or_default(), sink);
            }
        }
    }

    pub(in crate::input) fn any_failed(&self) -> bool {
        self.told_count > 0
    }

    /// The compiler's words about a package, or what is not told yet if it failed because of another.
    fn plain_about(&mut self, package: &str) -> String {
        let own = self.by_package.get(package);
        if let Some(own) = own.and_then(|&index| self.plain.get_mut(index)) {
            own.is_told = true;
            return std::mem::take(&mut own.text);
        }
        let mut text = String::new();
        if self.told_count > MAX_TOLD {
            return text;
        }
        for part in self.plain.iter().filter(|part| !part.is_told) {
            if text.len() >= MAX_UNTOLD {
                break;
            }
            let room = MAX_UNTOLD.saturating_sub(text.len()).min(part.text.len());
            text.push_str(&part.text[..part.text.floor_char_boundary(room)]);
        }
        text
    }

    fn tell(&mut self, package: &str, details: &str, sink: &mut dyn Sink) {
        self.told_count += 1;
        let first = details.lines().find(|line| !line.starts_with('#'));
        let message = failure::first_line(first.unwrap_or("the package was not built"));
        let error = RunError::new(RunErrorKind::Build, message).with_details(details.trim_end());
        sink.error(error.in_scope(package));
    }
}
