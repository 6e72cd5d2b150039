//! Reports in: one file per format, found by what is in the report.
//!
//! To add a format: a file with a type that implements [`InputFormat`], its `mod` line, its line in
//! [`FORMATS`], and a fixture in `fixtures/reports/<name>/`.

#![deny(clippy::disallowed_methods)]

mod allure;
mod bazel_events;
mod capped;
mod catch2_xml;
mod ctrf;
mod cucumber_json;
mod cucumber_messages;
mod dart_json;
mod decode;
mod dotnet;
mod failure;
mod gherkin;
mod go_failure;
mod go_json;
mod go_test;
mod go_text;
mod googletest_json;
mod head;
mod jest_json;
mod json;
mod json_lines;
mod junit;
mod libtest;
mod libtest_json;
mod libtest_text;
mod lines;
mod meson_json;
mod mocha_json;
mod mochawesome;
mod node_test;
mod number;
mod nunit2;
mod nunit3;
mod playwright_json;
mod pytest;
mod pytest_json;
mod pytest_reportlog;
mod robot;
mod rspec_json;
mod tap;
mod teamcity;
mod testexec_events;
mod testexec_json;
mod text;
mod trx;
mod unknown;
mod xml;
mod xunit_net;

use crate::event::Sink;
use crate::model::Grade;
use decode::Decoder;

pub use head::Head;
pub use unknown::Unknown;

/// Every format that can be read. The order is that of `--help`, not of sniffing: no two fit one report.
pub const FORMATS: &[&dyn InputFormat] = &[
    &junit::Junit,
    &jest_json::JestJson,
    &jest_json::VitestJson,
    &mocha_json::MochaJson,
    &mochawesome::Mochawesome,
    &playwright_json::PlaywrightJson,
    &node_test::NodeTest,
    &ctrf::Ctrf,
    &allure::Allure,
    &catch2_xml::Catch2Xml,
    &googletest_json::GoogletestJson,
    &nunit2::Nunit2,
    &nunit3::Nunit3,
    &pytest_json::PytestJson,
    &pytest_reportlog::PytestReportlog,
    &robot::Robot,
    &rspec_json::RspecJson,
    &trx::Trx,
    &xunit_net::XunitNet,
    &tap::Tap,
    &go_json::GoJson,
    &dart_json::DartJson,
    &teamcity::TeamCity,
    &cucumber_json::CucumberJson,
    &cucumber_messages::CucumberMessages,
    &meson_json::MesonJson,
    &bazel_events::BazelEvents,
    &go_text::GoText,
    &libtest_json::LibtestJson,
    &libtest_text::LibtestText,
    &testexec_json::TestexecJson,
    &testexec_events::TestexecEvents,
    &text::Text,
];

/// What a report of a format without an end mark is said to lack.
///
/// Every such report looks whole wherever it stops. Who knows otherwise that nothing is missing, since it
/// saw the process end, may pass over it.
pub const NO_END: &str = "the format does not mark the end: whether this is all cannot be known";

/// A format of report.
pub trait InputFormat: Sync {
    /// Its name: the value of `--from` and the folder of its fixtures.
    fn name(&self) -> &'static str;
    /// What it is, in a few words.
    fn description(&self) -> &'static str;
    /// The framework that reports of this format come from, unless the report itself tells.
    fn framework(&self) -> &'static str;
    /// How far its results can be trusted.
    fn grade(&self) -> Grade {
        Grade::Structured
    }
    /// Whether a report that begins like this is of this format.
    fn sniff(&self, head: &Head<'_>) -> bool;
    /// A reader for one report.
    fn parser(&self) -> Box<dyn Parser>;
}

/// Reads one report, in pieces of any size. The same for a live pipe and a file.
///
/// What cannot be read becomes a run error or a note; reading always goes on. A report that stops
/// before its end must end in a run error, and must never have more passes than the whole.
pub trait Parser: Send {
    /// Reads a piece.
    fn feed(&mut self, text: &str, sink: &mut dyn Sink);
    /// The report is over.
    fn finish(&mut self, sink: &mut dyn Sink);
}

/// The format of this name.
pub fn format(name: &str) -> Option<&'static dyn InputFormat> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}

/// The format that fits a report that begins like this.
pub fn sniff(head: &Head<'_>) -> Option<&'static dyn InputFormat> {
    FORMATS.iter().copied().find(|format| format.sniff(head))
}

/// How much of a report is looked at to tell its format.
const HEAD: usize = 256 << 10;

/// Reads the bytes of one report of whatever format.
pub struct Reader {
    given: Option<&'static dyn InputFormat>,
    /// Console output is guessed at only where a file may well hold some.
    no_text: bool,
    is_mismatch: bool,
    state: State,
}

enum State {
    Sniffing(Vec<u8>),
    Reading { decoder: Decoder, format: &'static dyn InputFormat, parser: Box<dyn Parser> },
    Unknown(Unknown),
}

impl Reader {
    /// A reader for a report of this format, or of one that is told from its content.
    pub fn new(given: Option<&'static dyn InputFormat>) -> Self {
        Self { given, no_text: false, is_mismatch: false, state: State::Sniffing(Vec::new()) }
    }

    /// A reader for a live stream of this format, which must not wait for more bytes than there are.
    pub fn live(format: &'static dyn InputFormat) -> Self {
        let state = State::Reading { decoder: Decoder::utf8(), format, parser: format.parser() };
        Self { given: Some(format), no_text: false, is_mismatch: false, state }
    }

    /// Reads some bytes.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        match &mut self.state {
            State::Sniffing(head) => {
                head.extend_from_slice(bytes);
                if head.len() >= HEAD {
                    self.decide(sink);
                }
            }
            State::Reading { decoder, parser, .. } => {
                parser.feed(decoder.decode(bytes, sink), sink);
            }
            State::Unknown(_) => {}
        }
    }

    /// Decides on the format now, if that has not happened yet: no more bytes come.
    pub fn settle(&mut self, sink: &mut dyn Sink) {
        if let State::Sniffing(_) = self.state {
            self.decide(sink);
        }
    }

    /// Whether to leave formats of grade [`Grade::Text`] out of the guessing.
    pub fn leave_out_text(&mut self, leave_out: bool) {
        self.no_text = leave_out;
    }

    /// Whether the report does not begin like one of the given format.
    pub fn is_mismatch(&self) -> bool {
        self.is_mismatch
    }

    /// Whether no format fits, so that reading on is of no use.
    pub fn is_unknown(&self) -> bool {
        matches!(self.state, State::Unknown(_))
    }

    /// The format, as soon as it is known.
    pub fn format(&self) -> Option<&'static dyn InputFormat> {
        match &self.state {
            State::Reading { format, .. } => Some(*format),
            _ => self.given,
        }
    }

    /// The report is over. Tells if it was none.
    pub fn finish(mut self, sink: &mut dyn Sink) -> Result<(), Unknown> {
        self.settle(sink);
        match self.state {
            State::Reading { mut decoder, mut parser, .. } => {
                let last = decoder.finish(sink);
                if !last.is_empty() {
                    parser.feed(last, sink);
                }
                parser.finish(sink);
                Ok(())
            }
            State::Unknown(unknown) => Err(unknown),
            State::Sniffing(_) => Ok(()),
        }
    }

    fn decide(&mut self, sink: &mut dyn Sink) {
        let State::Sniffing(bytes) = &mut self.state else {
            return;
        };
        let bytes = std::mem::take(bytes);
        let mut decoder = Decoder::for_head(&bytes, sink);
        let text = decoder.decode(&bytes, sink).to_owned();
        // The same, however large the first piece was.
        let head = Head::new(&text[..text.floor_char_boundary(HEAD)]);
        let is_whole = bytes.len() < HEAD;
        let sniffed =
            || sniff(&head).filter(|format| !self.no_text || format.grade() != Grade::Text);
        let Some(format) = self.given.or_else(sniffed) else {
            self.state = State::Unknown(unknown::explain(&head, is_whole));
            return;
        };
        self.is_mismatch = !format.sniff(&head);
        let mut parser = format.parser();
        self.state = {
            let tool = crate::event::Tool { framework: format.framework(), ..Default::default() };
            sink.event(&crate::event::Event::Tool(tool));
            parser.feed(&text, sink);
            State::Reading { decoder, format, parser }
        };
    }
}
