//! Builds that failed: events since Go 1.24, plain lines before.

use std::collections::{HashMap, HashSet};

use super::event::{GoEvent, Raw};
use crate::event::Sink;
use crate::input::capped::Capped;
use crate::input::failure;
use crate::model::{RunError, RunErrorKind};

/// Plain text is kept up to this size.
const MAX_PLAIN: usize = 4 << 20;

/// What is known of builds.
#[derive(Debug, Default)]
pub(super) struct Builds {
    /// The compiler's words, by what it built.
    outputs: HashMap<String, Capped>,
    failed: Vec<String>,
    told: HashSet<String>,
    /// Plain lines of the compiler, each part with the package it is about.
    plain: Vec<(String, String)>,
    plain_size: usize,
    any_told: bool,
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
    pub(super) fn plain_line(&mut self, line: &str, sink: &mut dyn Sink) {
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
                self.plain.push((package.to_owned(), String::new()));
            }
            _ => {}
        }
        if let Some((_, text)) = self.plain.last_mut() {
            text.push_str(line);
            text.push('\n');
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

    pub(super) fn any_failed(&self) -> bool {
        self.any_told
    }

    /// The compiler's words about a package, or all there are if it failed because of another.
    fn plain_about(&self, package: &str) -> String {
        let own = self.plain.iter().find(|(about, _)| about == package);
        match own {
            Some((_, text)) => text.clone(),
            None => self.plain.iter().map(|(_, text)| text.as_str()).collect(),
        }
    }

    fn tell(&mut self, package: &str, details: &str, sink: &mut dyn Sink) {
        self.any_told = true;
        let first = details.lines().find(|line| !line.starts_with('#'));
        let message = failure::first_line(first.unwrap_or("the package was not built"));
        let error = RunError::new(RunErrorKind::Build, message).with_details(details.trim_end());
        sink.error(error.in_scope(package));
    }
}
