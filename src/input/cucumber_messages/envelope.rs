//! The envelopes of Cucumber Messages, as far as they are read.

use std::time::Duration;

use serde::Deserialize;

use crate::model::Timestamp;

/// A line: one of these.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub(super) struct Envelope {
    pub(super) gherkin_document: Option<GherkinDocument>,
    pub(super) pickle: Option<Pickle>,
    pub(super) hook: Option<Hook>,
    pub(super) test_run_started: Option<RunStarted>,
    pub(super) test_case: Option<TestCase>,
    pub(super) test_case_started: Option<CaseStarted>,
    pub(super) test_step_finished: Option<StepFinished>,
    pub(super) attachment: Option<Attachment>,
    pub(super) test_case_finished: Option<CaseFinished>,
    pub(super) test_run_hook_finished: Option<RunHookFinished>,
    pub(super) test_run_finished: Option<RunFinished>,
    pub(super) parse_error: Option<ParseError>,
}

#[derive(Deserialize)]
pub(super) struct GherkinDocument {
    #[serde(default)]
    pub(super) uri: String,
    #[serde(default)]
    pub(super) feature: Option<Feature>,
}

#[derive(Deserialize)]
pub(super) struct Feature {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) children: Vec<Child>,
}

/// A background, a scenario or a rule, which holds more of the first two.
#[derive(Deserialize)]
pub(super) struct Child {
    #[serde(default)]
    pub(super) background: Option<AstScenario>,
    #[serde(default)]
    pub(super) scenario: Option<AstScenario>,
    #[serde(default)]
    pub(super) rule: Option<Rule>,
}

#[derive(Deserialize)]
pub(super) struct Rule {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) children: Vec<RuleChild>,
}

#[derive(Deserialize)]
pub(super) struct RuleChild {
    #[serde(default)]
    pub(super) background: Option<AstScenario>,
    #[serde(default)]
    pub(super) scenario: Option<AstScenario>,
}

#[derive(Deserialize)]
pub(super) struct AstScenario {
    pub(super) id: String,
    #[serde(default)]
    pub(super) location: Place,
    #[serde(default)]
    pub(super) steps: Vec<AstStep>,
    #[serde(default)]
    pub(super) examples: Vec<Examples>,
}

#[derive(Deserialize)]
pub(super) struct AstStep {
    pub(super) id: String,
    #[serde(default)]
    pub(super) keyword: String,
    #[serde(default)]
    pub(super) location: Place,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Examples {
    #[serde(default)]
    pub(super) table_header: Option<Row>,
    #[serde(default)]
    pub(super) table_body: Vec<Row>,
}

#[derive(Deserialize)]
pub(super) struct Row {
    #[serde(default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) location: Place,
    #[serde(default)]
    pub(super) cells: Vec<Cell>,
}

#[derive(Deserialize)]
pub(super) struct Cell {
    #[serde(default)]
    pub(super) value: String,
}

#[derive(Clone, Copy, Default, Deserialize)]
pub(super) struct Place {
    #[serde(default)]
    pub(super) line: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pickle {
    pub(super) id: String,
    #[serde(default)]
    pub(super) uri: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) ast_node_ids: Vec<String>,
    #[serde(default)]
    pub(super) tags: Vec<Tag>,
    #[serde(default)]
    pub(super) steps: Vec<PickleStep>,
}

#[derive(Deserialize)]
pub(super) struct Tag {
    #[serde(default)]
    pub(super) name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PickleStep {
    pub(super) id: String,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) ast_node_ids: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Hook {
    pub(super) id: String,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) source_reference: Option<SourceReference>,
}

#[derive(Default, Deserialize)]
pub(super) struct SourceReference {
    #[serde(default)]
    pub(super) uri: Option<String>,
    #[serde(default)]
    pub(super) location: Place,
}

#[derive(Deserialize)]
pub(super) struct RunStarted {
    #[serde(default)]
    pub(super) timestamp: Option<Moment>,
}

#[derive(Clone, Copy, Deserialize)]
pub(super) struct Moment {
    #[serde(default)]
    pub(super) seconds: i64,
    #[serde(default)]
    pub(super) nanos: i64,
}

impl Moment {
    pub(super) fn timestamp(self) -> Option<Timestamp> {
        let nanos = self.seconds.checked_mul(1_000_000_000)?;
        nanos.checked_add(self.nanos).map(Timestamp::from_nanos)
    }

    pub(super) fn duration(self) -> Option<Duration> {
        let nanos = u32::try_from(self.nanos).ok().filter(|&nanos| nanos < 1_000_000_000)?;
        Some(Duration::new(u64::try_from(self.seconds).ok()?, nanos))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TestCase {
    pub(super) id: String,
    #[serde(default)]
    pub(super) pickle_id: String,
    #[serde(default)]
    pub(super) test_steps: Vec<TestStep>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TestStep {
    pub(super) id: String,
    #[serde(default)]
    pub(super) pickle_step_id: Option<String>,
    #[serde(default)]
    pub(super) hook_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CaseStarted {
    pub(super) id: String,
    pub(super) test_case_id: String,
    #[serde(default)]
    pub(super) timestamp: Option<Moment>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names are the format's")]
pub(super) struct StepFinished {
    pub(super) test_case_started_id: String,
    #[serde(default)]
    pub(super) test_step_id: String,
    pub(super) test_step_result: StepResult,
}

#[derive(Deserialize)]
pub(super) struct StepResult {
    #[serde(default)]
    pub(super) status: String,
    #[serde(default)]
    pub(super) duration: Option<Moment>,
    #[serde(default)]
    pub(super) message: Option<String>,
    #[serde(default)]
    pub(super) exception: Option<Exception>,
}

#[derive(Deserialize)]
pub(super) struct Exception {
    #[serde(rename = "type", default)]
    pub(super) type_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Attachment {
    #[serde(default)]
    pub(super) test_case_started_id: Option<String>,
    #[serde(default)]
    pub(super) body: String,
    #[serde(default)]
    pub(super) content_encoding: String,
    #[serde(default)]
    pub(super) media_type: String,
    #[serde(default)]
    pub(super) file_name: Option<String>,
    #[serde(default)]
    pub(super) url: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CaseFinished {
    pub(super) test_case_started_id: String,
    #[serde(default)]
    pub(super) will_be_retried: bool,
}

#[derive(Deserialize)]
pub(super) struct RunHookFinished {
    pub(super) result: StepResult,
}

#[derive(Deserialize)]
pub(super) struct RunFinished {
    #[serde(default)]
    pub(super) success: Option<bool>,
    #[serde(default)]
    pub(super) message: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ParseError {
    #[serde(default)]
    pub(super) source: SourceReference,
    #[serde(default)]
    pub(super) message: String,
}
