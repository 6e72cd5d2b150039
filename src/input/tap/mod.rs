//! TAP, versions 12 to 14, as printed by the tools themselves or through `prove --verbose`.
//!
//! See <https://testanything.org/tap-version-14-specification.html>. Of nested tests the leaves are
//! cases; the point that sums up a subtest is one only where it contradicts them.

mod document;
mod level;
mod line;
mod point;
mod prove;
mod yaml;

use super::lines::Lines;
use super::{Head, InputFormat, Parser};
use crate::event::Sink;
use document::Document;
use line::{Line, classify};

/// TAP.
pub(super) struct Tap;

impl InputFormat for Tap {
    fn name(&self) -> &'static str {
        "tap"
    }

    fn description(&self) -> &'static str {
        "TAP 12 to 14, also as shown by prove --verbose"
    }

    fn framework(&self) -> &'static str {
        "tap"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let text = head.text.trim_start_matches('\u{feff}').trim_start();
        if text.starts_with(['<', '{', '[']) {
            return false;
        }
        let mut seen_other = false;
        let mut plan_late = false;
        for line in text.lines().take(5000) {
            match classify(line.trim_end()) {
                Line::Version(_) => return true,
                Line::Plan(..) if !seen_other => return true,
                Line::Plan(..) => plan_late = true,
                Line::Point(point) if point.number.is_some() => {
                    if plan_late || point.number == Some(1) {
                        return true;
                    }
                }
                Line::Point(point) if plan_late && point.dash => return true,
                Line::Comment(_) | Line::Blank | Line::Pragma => {}
                _ => seen_other = true,
            }
        }
        false
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(TapParser::default())
    }
}

#[derive(Default)]
struct TapParser {
    lines: Lines,
    document: Document,
}

impl Parser for TapParser {
    fn feed(&mut self, text: &str, sink: &mut dyn Sink) {
        let document = &mut self.document;
        self.lines.feed(text, sink, |line, _, sink| document.line(line, sink));
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if let Some((last, _)) = self.lines.finish() {
            self.document.last_line(&last, sink);
        }
        self.document.finish(sink);
    }
}
