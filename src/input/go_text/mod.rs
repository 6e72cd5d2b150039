//! The text of `go test`, with or without `-v`, where there is nothing better.
//!
//! A package is named when it ends, so that its tests are kept until then. Without `-v` only what fails is
//! told. See <https://pkg.go.dev/cmd/go#hdr-Test_packages>.

mod line;
mod package;

use super::lines::Lines;
use super::{Head, InputFormat, Parser};
use crate::event::Sink;
use crate::model::Grade;
use line::{Line, classify};
use package::Package;

/// The text of `go test`.
pub(super) struct GoText;

impl InputFormat for GoText {
    fn name(&self) -> &'static str {
        "go-text"
    }

    fn description(&self) -> &'static str {
        "text of go test"
    }

    fn framework(&self) -> &'static str {
        "go"
    }

    fn grade(&self) -> Grade {
        Grade::Text
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let fits = head.text.lines().take(5000).any(|line| {
            matches!(classify(line), Line::Run(_) | Line::PackageEnd { .. } | Line::NotBuilt)
                || (line.starts_with("--- FAIL: ") && matches!(classify(line), Line::Result(_)))
        });
        fits && !head.is_markup() && !head.line_has(&["Action", "Package"])
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(GoTextParser::default())
    }
}

#[derive(Default)]
struct GoTextParser {
    lines: Lines,
    package: Package,
}

impl Parser for GoTextParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let package = &mut self.package;
        self.lines.feed(text, sink, |line, _, sink| package.line(line, sink));
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if let Some((last, _)) = self.lines.finish() {
            self.package.line(&last, sink);
        }
        self.package.finish(sink);
    }
}
