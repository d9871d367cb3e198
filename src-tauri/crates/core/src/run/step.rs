//! Closed sets of the journal's steps.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};
use ts_rs::TS;

/// The kind of a step.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, IntoStaticStr, EnumString,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum StepKind {
    /// A model call.
    ModelTurn,
    /// A tool call.
    ToolCall,
    /// A note for readers of the journal.
    Note,
    /// A model call for a summary of the transcript.
    Summary,
}

impl StepKind {
    /// The name in JSON and SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The status of a step.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, IntoStaticStr, EnumString,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum StepStatus {
    /// Begun.
    Started,
    /// Done.
    Finished,
    /// Ended in an error.
    Failed,
    /// The process ended first, so the outcome is unknown.
    Unknown,
    /// The tool requested input of the person. The call is made again with the answer.
    InputRequired,
}

impl StepStatus {
    /// The name in JSON and SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}
