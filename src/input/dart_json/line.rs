//! The lines of Dart's JSON reporter, as far as they are read.

use std::borrow::Cow;

use serde::Deserialize;

/// What any of the events may have; those that are not known have nothing of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Cow<'a, str>,
    #[serde(default)]
    pub(super) time: Option<f64>,
    #[serde(borrow, default)]
    pub(super) suite: Option<SuiteLine<'a>>,
    #[serde(borrow, default)]
    pub(super) group: Option<GroupLine<'a>>,
    #[serde(borrow, default)]
    pub(super) test: Option<TestLine<'a>>,
    #[serde(rename = "testID", default)]
    pub(super) test_id: Option<u64>,
    #[serde(borrow, default)]
    pub(super) message_type: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) message: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) error: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) stack_trace: Cow<'a, str>,
    #[serde(default)]
    pub(super) is_failure: bool,
    #[serde(borrow, default)]
    pub(super) result: Cow<'a, str>,
    #[serde(default)]
    pub(super) skipped: bool,
    #[serde(default)]
    pub(super) hidden: bool,
    #[serde(default)]
    pub(super) success: Option<bool>,
    #[serde(default)]
    pub(super) count: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct SuiteLine<'a> {
    pub(super) id: u64,
    #[serde(borrow, default)]
    pub(super) platform: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) path: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(super) struct GroupLine<'a> {
    pub(super) id: u64,
    #[serde(rename = "parentID", default)]
    pub(super) parent_id: Option<u64>,
    #[serde(rename = "testCount", default)]
    pub(super) test_count: u64,
    #[serde(borrow, default)]
    pub(super) name: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(super) struct TestLine<'a> {
    pub(super) id: u64,
    #[serde(borrow, default)]
    pub(super) name: Cow<'a, str>,
    #[serde(rename = "suiteID", default)]
    pub(super) suite_id: u64,
    #[serde(rename = "groupIDs", default)]
    pub(super) group_ids: Vec<u64>,
    #[serde(borrow, default)]
    pub(super) metadata: Option<Metadata<'a>>,
    #[serde(default)]
    pub(super) line: Option<u32>,
    #[serde(borrow, default)]
    pub(super) url: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) root_line: Option<u32>,
}

#[derive(Deserialize)]
pub(super) struct Metadata<'a> {
    #[serde(rename = "skipReason", borrow, default)]
    pub(super) skip_reason: Option<Cow<'a, str>>,
}
