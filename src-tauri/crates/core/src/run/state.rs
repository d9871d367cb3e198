//! Closed sets of a run: states, triggers and waits, with their names and labels.
//!
//! Owns every label: CLI and tray print `label()`, and `cargo xtask types` writes the labels for the UI. Never holds
//! colours or icons. Pitfall: changing a name; names are stored and sent, labels are only shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use ts_rs::TS;

/// Every state a run can be in. Waiting states move on; final states never change.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    TS,
    IntoStaticStr,
    EnumString,
    VariantArray,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum RunState {
    /// Claimed, waiting in the lane.
    Queued,
    /// Running.
    Running,
    /// Parked until the approval is decided.
    AwaitingApproval,
    /// Done, with a result to show.
    Succeeded,
    /// Done, nothing to report.
    NothingToReport,
    /// Failed.
    Failed,
    /// Over the time limit.
    TimedOut,
    /// Cancelled by a person or by the overlap policy.
    Cancelled,
    /// Not run by decision; the reason is on the row.
    Skipped,
    /// The slot passed unclaimed; the reason is on the row.
    Missed,
    /// Interrupted by the end of the process.
    Interrupted,
}

impl RunState {
    /// All states in the order of a run's life.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in JSON and SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The label in the UI; lower case in the CLI and the tray.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Queued => "Queued",
            Self::Running => "Running",
            Self::AwaitingApproval => "Needs you",
            Self::Succeeded => "Succeeded",
            Self::NothingToReport => "Nothing to report",
            Self::Failed => "Failed",
            Self::TimedOut => "Timed out",
            Self::Cancelled => "Cancelled",
            Self::Skipped => "Skipped",
            Self::Missed => "Missed",
            Self::Interrupted => "Interrupted",
        }
    }

    /// The symbol for menus without icons.
    #[must_use]
    pub const fn symbol(self) -> char {
        match self {
            Self::Queued => '○',
            Self::Running => '◔',
            Self::AwaitingApproval => '✋',
            Self::Succeeded => '✓',
            Self::NothingToReport => '–',
            Self::Failed | Self::TimedOut => '✗',
            Self::Cancelled => '■',
            Self::Skipped => '⊘',
            Self::Missed => '◌',
            Self::Interrupted => '╌',
        }
    }

    /// The state with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// Whether the state is final.
    #[must_use]
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Running | Self::AwaitingApproval)
    }

    /// Whether the state counts as a failure of the job.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::TimedOut)
    }

    /// The status of the cron RFC for a final state.
    #[must_use]
    pub const fn rfc_status(self) -> Option<RfcStatus> {
        match self {
            Self::Succeeded | Self::NothingToReport => Some(RfcStatus::Ok),
            Self::Failed | Self::TimedOut | Self::Interrupted => Some(RfcStatus::Error),
            Self::Skipped | Self::Missed | Self::Cancelled => Some(RfcStatus::Skipped),
            Self::Queued | Self::Running | Self::AwaitingApproval => None,
        }
    }
}

/// The status of the cron RFC (`lastStatus`), coarser than the run state.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS, IntoStaticStr,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum RfcStatus {
    /// Succeeded, with or without a report.
    Ok,
    /// Failed, timed out or interrupted.
    Error,
    /// Skipped, missed or cancelled.
    Skipped,
}

/// Why a run exists.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    TS,
    IntoStaticStr,
    EnumString,
    VariantArray,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum RunTrigger {
    /// The slot.
    Schedule,
    /// A slot that had passed, or the rerun of an interrupted run.
    CatchUp,
    /// An event that the job listens to.
    Event,
    /// A call of the job's webhook.
    Webhook,
    /// A person.
    Manual,
    /// A chat message of a person who waits for the answer.
    Chat,
    /// The heartbeat or a wake.
    Heartbeat,
}

impl RunTrigger {
    /// All triggers.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in JSON and SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The label in the UI; lower case in the CLI.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Schedule => "Schedule",
            Self::CatchUp => "Catch-up",
            Self::Event => "Event",
            Self::Webhook => "Webhook",
            Self::Manual => "Manual",
            Self::Chat => "Chat",
            Self::Heartbeat => "Heartbeat",
        }
    }

    /// Whether the trigger is for a turn of the main session.
    #[must_use]
    pub const fn is_main_turn(self) -> bool {
        matches!(self, Self::Heartbeat | Self::Chat)
    }
}

/// The reason for a pause within one attempt.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    TS,
    IntoStaticStr,
    EnumString,
    VariantArray,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum WaitsFor {
    /// No model can answer at present.
    Model,
    /// A tool's rate limit.
    RateLimit,
}

impl WaitsFor {
    /// All reasons.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in JSON and SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The label of a waiting run in the UI; lower case in the CLI.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Model => "Waiting for the model",
            Self::RateLimit => "Waiting for a rate limit",
        }
    }

    /// The reason with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}
