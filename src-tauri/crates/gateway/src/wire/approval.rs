//! `approvals.*` and `grants.*`: pending approvals, decisions and grants.

use std::collections::BTreeMap;

pub use rouse_core::approval::{ApprovalScope, ApprovalStateKind, ArgumentRule, DecisionSurface};
pub use rouse_core::input_request::{
    InputAnswer, InputBody, InputField, InputOption, InputPrompt, InputTextFormat, InputValueKind,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use super::job::Follower;

/// An approval.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalView {
    /// Id of the approval.
    pub id: String,
    /// The waiting run.
    pub run_id: String,
    /// Job of the run; none for the main session.
    pub job_id: Option<String>,
    /// Name of the job at the time of the request.
    pub job_name: String,
    /// The tool.
    pub tool: String,
    /// Label of the tool; none for a removed tool or a tool without a label.
    pub tool_label: Option<String>,
    /// The exact arguments, without redaction: the decision is bound to them.
    #[ts(type = "Record<string, unknown>")]
    pub arguments: Value,
    /// Working directory of the call.
    pub directory: Option<String>,
    /// Files that the call executes or reads. Every decision is bound to their content.
    pub files: Vec<String>,
    /// Files that the call overwrites or appends to. Only "allow once" is bound to their content.
    pub replaced_files: Vec<String>,
    /// Instant at which the proposed job fires once. The decision is bound to this instant.
    pub fires_once_at_ms: Option<i64>,
    /// Effect of the call for the person, never shortened, with visible escapes for invisible characters.
    pub preview: String,
    /// Reason for the request, as a sentence.
    pub request_reason: String,
    /// Whether each call needs approval, so that no grant is possible.
    pub is_highest: bool,
    /// Arguments that a shell interprets; grants match them exactly only.
    pub shell_text: Vec<String>,
    /// Why no grant can cover the call, as a sentence; none if a grant can, or if `isHighest`.
    pub no_grant_reason: Option<String>,
    /// Time of the request.
    pub requested_at_ms: i64,
    /// Expiry of the request.
    pub expires_at_ms: i64,
    /// State of the approval.
    pub state: ApprovalStateKind,
    /// Scope of an approved call.
    pub scope: Option<ApprovalScope>,
    /// The person's reason for a denial, passed to the model.
    pub reason: Option<String>,
    /// Time of the decision, expiry or withdrawal.
    pub decided_at_ms: Option<i64>,
    /// Surface of the decision.
    pub decided_from: Option<DecisionSurface>,
    /// Channel and recipient of the decision, or the device; none on this computer.
    pub decided_by: Option<String>,
    /// Work that waits for the decision; none once decided.
    pub blocked_work: Option<BlockedWork>,
    /// What the server of the call asks the person; none for an approval of the call itself.
    pub input: Option<InputPrompt>,
    /// Coding agent that asks for permission for the action in `preview`; none for an approval of the call itself.
    pub agent: Option<String>,
    /// Answer to `input`; none while pending, and after the expiry.
    pub input_answer: Option<InputAnswer>,
}

/// Work that waits for a decision. Later slots of the job are not blocked: a parked run holds no permit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BlockedWork {
    /// Summary as a sentence.
    pub text: String,
    /// Other pending approvals of the run. The run resumes after the last decision.
    pub other_approvals: u32,
    /// Enabled jobs that start after a run of this job.
    pub followers: Vec<Follower>,
    /// Runs of the job since the request.
    pub later_runs: u32,
}

/// `approvals.list`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct ApprovalsListParams {
    /// Also decided approvals, newest first. Default: only pending ones, by expiry.
    pub all: Option<bool>,
    /// Page size with `all`: 1 to 500, default 50.
    pub limit: Option<u32>,
}

/// `approvals.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalsListResult {
    /// The approvals.
    pub approvals: Vec<ApprovalView>,
}

/// An approval by id.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRef {
    /// Id of the approval.
    pub id: String,
}

/// `approvals.decide`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalsDecideParams {
    /// Id of the approval.
    pub id: String,
    /// The decision.
    pub decision: DecisionDraft,
    /// Surface of the decision.
    pub from: DecisionSurface,
}

/// A decision as a client sends it.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", tag = "kind", rename_all_fields = "camelCase")]
#[ts(optional_fields)]
pub enum DecisionDraft {
    /// Allow once.
    Once,
    /// Allow for this run.
    Run,
    /// Grant for the job.
    Always {
        /// Rules by argument name. Default: exactly this call.
        rules: Option<BTreeMap<String, ArgumentRule>>,
        /// Expiry of the grant. Default: never.
        expires_at_ms: Option<i64>,
        /// Number of calls. Default: unlimited.
        uses: Option<u32>,
    },
    /// Deny; an input request is declined.
    Deny {
        /// Reason, passed to the model.
        reason: Option<String>,
    },
    /// Answer an input request.
    Submit {
        /// Values by field name. Default: none, as for a page.
        #[ts(type = "Record<string, unknown>")]
        answers: Option<Map<String, Value>>,
    },
    /// Neither answer nor decline an input request.
    Cancel,
}

/// `approvals.decide`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalsDecideResult {
    /// Whether this decision was applied. False after an earlier decision, the expiry or the end of the run.
    pub applied: bool,
    /// The approval after the decision.
    pub approval: ApprovalView,
}

/// `grants.list`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct GrantsListParams {
    /// Only grants of this job.
    pub job_id: Option<String>,
}

/// `grants.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct GrantsListResult {
    /// Valid and invalid grants, newest first.
    pub grants: Vec<GrantView>,
}

/// A grant of one job.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct GrantView {
    /// Id of the grant.
    pub id: String,
    /// The job.
    pub job_id: String,
    /// Name of the job; none for a removed job.
    pub job_name: Option<String>,
    /// The tool.
    pub tool: String,
    /// Covered calls.
    pub covers: GrantScopeView,
    /// Creation time.
    pub created_at_ms: i64,
    /// Expiry.
    pub expires_at_ms: Option<i64>,
    /// Remaining calls; unlimited when none.
    pub uses_left: Option<u32>,
    /// Calls made with the grant.
    pub used: u32,
    /// Revocation time.
    pub revoked_at_ms: Option<i64>,
    /// Whether the grant covers calls now.
    pub is_valid: bool,
    /// Why the grant covers no call, as a sentence; none if it does.
    pub void_reason: Option<String>,
}

/// Calls that a grant covers.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", tag = "kind", rename_all_fields = "camelCase")]
pub enum GrantScopeView {
    /// Exactly one call.
    Exact {
        /// Arguments of the call.
        #[ts(type = "Record<string, unknown>")]
        arguments: Value,
    },
    /// Calls whose arguments each match a rule.
    Pattern {
        /// Rules by argument name.
        rules: BTreeMap<String, ArgumentRule>,
        /// Working directory of the calls; none without one, or if unknown (`voidReason`).
        folder: Option<String>,
    },
}

impl GrantScopeView {
    /// Describes the covered calls.
    #[must_use]
    pub fn describe(&self) -> String {
        let (rules, folder) = match self {
            Self::Exact { arguments } => return format!("exactly {arguments}"),
            Self::Pattern { rules, folder } => (rules, folder),
        };
        let rule = |(name, rule): (&String, &ArgumentRule)| match rule {
            ArgumentRule::Any => format!("{name} any"),
            ArgumentRule::Equals(value) => format!("{name} = {value}"),
            ArgumentRule::OneOf(values) => format!("{name} one of {}", Value::from(values.clone())),
            ArgumentRule::Below(root) => format!("{name} below {root}"),
        };
        let rules = rules.iter().map(rule).collect::<Vec<_>>().join(", ");
        match folder {
            Some(folder) => format!("{rules}, in {folder}"),
            None => rules,
        }
    }
}

/// A grant by id.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct GrantRef {
    /// Id of the grant.
    pub id: String,
}
