//! A request for an approval, its state and its decision.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{EnumDiscriminants, EnumString, IntoStaticStr};
use ts_rs::TS;

use super::fingerprint::{Fingerprint, Surroundings};
use super::grant::NewGrant;
use crate::input_request::{InputAnswer, InputExchange, InputPrompt, InputReply, PermissionPrompt};
use crate::{ApprovalId, GrantId, JobId, RunId, UnixMs};

/// A request for a person's approval of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// Identity.
    pub id: ApprovalId,
    /// The parked run.
    pub run_id: RunId,
    /// The run's job; none for the main session.
    pub job_id: Option<JobId>,
    /// The job's name at the time of the request.
    pub job_name: String,
    /// The provider's id of the call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The exact arguments.
    pub arguments: Value,
    /// Everything else that determines the effect of the call.
    pub surroundings: Surroundings,
    /// The fingerprint that the decision is bound to.
    pub fingerprint: Fingerprint,
    /// The effect of the call in words for the person, never shortened.
    pub preview: String,
    /// Why approval is required, as a sentence.
    pub reason: String,
    /// Whether the call needs approval every time and can never be granted.
    pub is_highest: bool,
    /// When the request was made.
    pub requested_at: UnixMs,
    /// When the request expires.
    pub expires_at: UnixMs,
    /// Pending, or the final state.
    pub state: ApprovalState,
    /// Where the person decided.
    pub decided_from: Option<DecisionSource>,
    /// When the first call was made with this approval.
    pub used_at: Option<UnixMs>,
    /// What the call asks for before its end; none for an approval of the call itself.
    pub input: Option<InputExchange>,
}

impl Approval {
    /// The fingerprint of a grant for exactly this call.
    #[must_use]
    pub fn grant_fingerprint(&self) -> Fingerprint {
        Fingerprint::for_grant(&self.tool, &self.arguments, &self.surroundings)
    }

    /// Whether the approval is decided or expired, and no call has used the decision yet.
    #[must_use]
    pub const fn has_unused_decision(&self) -> bool {
        self.used_at.is_none() && self.state.is_decided()
    }

    /// Whether the approval can count for the call with this id. An answer is for one call, an approval for each equal
    /// call.
    #[must_use]
    pub fn concerns_call(&self, call_id: &str) -> bool {
        self.input.is_none() || self.call_id == call_id
    }

    /// The input that the call requests; none for an approval of the call itself, and for a permission.
    #[must_use]
    pub fn input_prompt(&self) -> Option<&InputPrompt> {
        self.input.as_ref().and_then(|input| input.request.prompt())
    }

    /// The action for which a coding agent asks permission.
    #[must_use]
    pub fn permission(&self) -> Option<&PermissionPrompt> {
        self.input.as_ref().and_then(|input| input.request.permission())
    }

    /// The answer for the repeated call; none for an approval of the call itself. The decision about a permission is the
    /// decision of the approval.
    #[must_use]
    pub fn input_reply(&self) -> Option<InputReply> {
        let reply = self.input.as_ref()?.reply();
        if self.permission().is_none() {
            return Some(reply);
        }
        let (answer, is_for_run) = match &self.state {
            ApprovalState::Approved { scope, .. } => {
                (InputAnswer::Accept { content: None }, *scope == ApprovalScope::Run)
            }
            ApprovalState::Denied { .. } => (InputAnswer::Decline, false),
            ApprovalState::Pending
            | ApprovalState::Expired { .. }
            | ApprovalState::Withdrawn { .. }
            | ApprovalState::Covered { .. } => (InputAnswer::Cancel, false),
        };
        Some(InputReply { answer, is_for_run, ..reply })
    }

    /// Whether the decision lets the call be made. The tool also gets the refusal or expiry of its request.
    #[must_use]
    pub const fn permits_call(&self) -> bool {
        let is_approved = matches!(self.state, ApprovalState::Approved { .. });
        self.has_unused_decision() && (is_approved || self.input.is_some())
    }

    /// Whether the parked run continues: by an unused decision, or by a grant made since.
    #[must_use]
    pub const fn resumes_run(&self) -> bool {
        self.has_unused_decision() || matches!(self.state, ApprovalState::Covered { .. })
    }
}

/// The basis of a call. Used in the transaction that journals the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorization {
    /// An approval of this run.
    Approval(ApprovalId),
    /// A grant of the job.
    Grant(GrantId),
}

/// Where a person decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionSource {
    /// The surface.
    pub surface: DecisionSurface,
    /// The channel with its recipient, or the device; none on this computer.
    pub name: Option<String>,
}

impl From<DecisionSurface> for DecisionSource {
    fn from(surface: DecisionSurface) -> Self {
        Self { surface, name: None }
    }
}

/// The surface on which a person decided.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, IntoStaticStr, EnumString,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum DecisionSurface {
    /// A page or a window.
    Page,
    /// The command line.
    Cli,
    /// A button of a notification.
    Notification,
    /// The tray's menu.
    Tray,
    /// A button of a message on a channel.
    Channel,
}

impl DecisionSurface {
    /// The name in JSON and SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The state of an approval. Every state but `Pending` is final.
#[derive(Debug, Clone, PartialEq, Eq, EnumDiscriminants)]
#[strum_discriminants(
    name(ApprovalStateKind),
    doc = " The state of an approval, without its data.",
    derive(Serialize, Deserialize, TS, IntoStaticStr, EnumString),
    serde(rename_all = "camelCase"),
    strum(serialize_all = "camelCase")
)]
pub enum ApprovalState {
    /// Not decided yet.
    Pending,
    /// Allowed by the person.
    Approved {
        /// How far the approval reaches.
        scope: ApprovalScope,
        /// The instant of the decision.
        at: UnixMs,
    },
    /// Denied by the person.
    Denied {
        /// The person's reason, passed to the model.
        reason: Option<String>,
        /// The instant of the decision.
        at: UnixMs,
    },
    /// Not decided in time.
    Expired {
        /// The instant of the expiry.
        at: UnixMs,
    },
    /// The run ended before a decision.
    Withdrawn {
        /// When the run ended.
        at: UnixMs,
    },
    /// Covered by a grant made meanwhile, so no decision is needed.
    Covered {
        /// When the grant was made.
        at: UnixMs,
    },
}

impl ApprovalState {
    /// Whether the approval was approved, denied or left to expire.
    #[must_use]
    pub const fn is_decided(&self) -> bool {
        match self {
            Self::Approved { .. } | Self::Denied { .. } | Self::Expired { .. } => true,
            Self::Pending | Self::Withdrawn { .. } | Self::Covered { .. } => false,
        }
    }

    /// The state without its data.
    #[must_use]
    pub fn kind(&self) -> ApprovalStateKind {
        self.into()
    }

    /// The name in JSON and SQL.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.kind().into()
    }
}

/// How far an approval reaches.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, IntoStaticStr, EnumString,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum ApprovalScope {
    /// This call, once.
    Once,
    /// The same call for the rest of this run.
    Run,
    /// The same call in all runs of the job; recorded as a grant.
    Always,
}

impl ApprovalScope {
    /// The name in JSON and SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A person's decision about an approval.
#[derive(Debug, Clone, PartialEq)]
pub enum ApprovalDecision {
    /// Allow once.
    Once,
    /// Allow for this run.
    Run,
    /// Allow and grant for the job.
    Always(NewGrant),
    /// Deny.
    Deny {
        /// The person's reason, passed to the model.
        reason: Option<String>,
    },
    /// Answer an input request.
    Answer(InputAnswer),
}
