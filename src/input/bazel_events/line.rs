//! The lines of Bazel's build events, as far as they are read.

use serde::Deserialize;

use crate::model::Timestamp;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line {
    #[serde(default)]
    pub(super) id: Id,
    #[serde(default)]
    pub(super) children: Vec<Id>,
    #[serde(default)]
    pub(super) started: Option<Started>,
    #[serde(default)]
    pub(super) configured: Option<Configured>,
    #[serde(default)]
    pub(super) completed: Option<Completed>,
    #[serde(default)]
    pub(super) test_result: Option<TestResult>,
    #[serde(default)]
    pub(super) test_summary: Option<TestSummary>,
    #[serde(default)]
    pub(super) aborted: Option<Aborted>,
    #[serde(default)]
    pub(super) finished: Option<Finished>,
    #[serde(default)]
    pub(super) last_message: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Id {
    pub(super) target_configured: Option<Label>,
    pub(super) target_completed: Option<Label>,
    pub(super) test_result: Option<Label>,
    pub(super) test_summary: Option<Label>,
    pub(super) pattern: Option<Pattern>,
}

impl Id {
    pub(super) fn label(self) -> Option<Label> {
        let target = self.target_completed.or(self.target_configured);
        target.or(self.test_result).or(self.test_summary)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Label {
    pub(super) label: String,
    pub(super) aspect: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Pattern {
    pub(super) pattern: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Started {
    #[serde(default)]
    pub(super) start_time_millis: Option<Number>,
    #[serde(default)]
    pub(super) start_time: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub(super) struct Configured {
    pub(super) test_size: String,
    pub(super) tag: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Completed {
    pub(super) success: bool,
    pub(super) tag: Vec<String>,
    pub(super) failure_detail: Option<Detail>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Detail {
    pub(super) message: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct TestResult {
    pub(super) status: String,
    pub(super) status_details: String,
    pub(super) cached_locally: bool,
    pub(super) test_attempt_duration_millis: Option<Number>,
    pub(super) test_attempt_duration: Option<String>,
    pub(super) test_attempt_start_millis_epoch: Option<Number>,
    pub(super) test_attempt_start: Option<String>,
    pub(super) test_action_output: Vec<Output>,
    pub(super) execution_info: ExecutionInfo,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ExecutionInfo {
    pub(super) cached_remotely: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Output {
    pub(super) name: String,
    pub(super) uri: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct TestSummary {
    pub(super) overall_status: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Aborted {
    pub(super) reason: String,
    pub(super) description: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Finished {
    pub(super) exit_code: ExitCode,
    pub(super) overall_success: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ExitCode {
    pub(super) name: String,
    pub(super) code: i64,
}

/// Protocol buffers put long numbers into strings.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Number {
    Number(f64),
    Text(String),
}

impl Number {
    pub(super) fn value(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
        }
    }

    pub(super) fn timestamp(&self) -> Option<Timestamp> {
        let millis = self.value().filter(|millis| (0.0..9e15).contains(millis))?;
        Timestamp::from_millis(millis as i64)
    }
}
