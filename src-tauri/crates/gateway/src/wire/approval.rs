//! `approvals.*` and `grants.*`: questions to a person, and standing answers.

use std::collections::BTreeMap;

use rouse_core::approval::Rule;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::Follower;

/// A question.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalView {
    /// Identity.
    pub id: String,
    /// The run that waits.
    pub run_id: String,
    /// Its job; none for the main session.
    pub job_id: Option<String>,
    /// The job's name when it asked.
    pub job_name: String,
    /// The tool.
    pub tool: String,
    /// What the tool does in a few words for people; none where nobody has said it, or the tool is not here any more.
    pub tool_label: Option<String>,
    /// The arguments, exactly; what signs in is not hidden here, for this is what the person says yes to.
    #[ts(type = "Record<string, unknown>")]
    pub arguments: Value,
    /// The stored secrets whose values it writes into the workspace, by name: the arguments show their handles.
    pub writes_values: Vec<String>,
    /// The folder it works in.
    pub directory: Option<String>,
    /// The files it runs or reads, to which every answer is bound beside the arguments.
    pub files: Vec<String>,
    /// The files it replaces or adds to. An answer for once is bound to them, a grant is not: its own calls change them.
    pub replaces: Vec<String>,
    /// When the job that it proposes fires, where that is once; the instant that a yes is bound to.
    pub fires_once_at_ms: Option<i64>,
    /// What would happen, for a person; nothing is cut off and what cannot be seen is shown.
    pub preview: String,
    /// Why it is asked, as a sentence.
    pub why: String,
    /// Whether it is asked each time and granted never.
    pub is_highest: bool,
    /// The arguments that a shell reads: a grant takes them only as they are.
    pub shell_text: Vec<String>,
    /// Why it cannot be allowed for always, as a sentence; none when it can, or when it is asked each time anyway.
    pub ungranted: Option<String>,
    /// When it was asked.
    pub asked_at_ms: i64,
    /// When nobody's answer counts any more.
    pub expires_at_ms: i64,
    /// Where it stands.
    pub state: ApprovalState,
    /// How far a yes reaches.
    pub scope: Option<ApprovalScope>,
    /// What the model is told with a no.
    pub reason: Option<String>,
    /// When it was answered or ended.
    pub decided_at_ms: Option<i64>,
    /// Where it was answered.
    pub answered_from: Option<AnsweredFrom>,
    /// What waits with it; none once it is answered.
    pub holds_up: Option<HoldsUp>,
}

/// What waits for an answer. Later slots of a job never do, whatever its overlap policy says: a run that waits for a
/// person is not at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HoldsUp {
    /// All of it, in words.
    pub text: String,
    /// Other open questions of its run, which goes on when all have an answer.
    pub questions: u32,
    /// Jobs that are on and start when a run of its job has ended, by name.
    pub followers: Vec<Follower>,
    /// Runs of its job that came since it was asked and did not wait for it.
    pub passed_by: u32,
}

/// Where a question stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the states are documented in rouse_core::approval")]
pub enum ApprovalState {
    Pending,
    Approved,
    Denied,
    Expired,
    Withdrawn,
    Covered,
}

/// How far a yes reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the words are documented in rouse_core::approval")]
pub enum ApprovalScope {
    Once,
    Run,
    Always,
}

/// Where a person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the words are documented in rouse_core::approval")]
pub enum AnsweredFrom {
    Page,
    Cli,
    Notification,
    Tray,
}

/// `approvals.list`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct ApprovalsListParams {
    /// Also those that have an answer, the newest first; else only the open ones, the first to expire first.
    pub all: Option<bool>,
    /// Of all, at most so many; 50 when absent, at most 500.
    pub limit: Option<u32>,
}

/// `approvals.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalsListResult {
    /// The questions.
    pub approvals: Vec<ApprovalView>,
}

/// One question by id.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRef {
    /// The question.
    pub id: String,
}

/// `approvals.decide`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalsDecideParams {
    /// The question.
    pub id: String,
    /// The answer.
    pub answer: Answer,
    /// Where it is given.
    pub from: AnsweredFrom,
}

/// What a person answers.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", tag = "kind", rename_all_fields = "camelCase")]
#[ts(optional_fields)]
pub enum Answer {
    /// Yes, for this call.
    Once,
    /// Yes, for the same call in this run.
    Run,
    /// Yes, and from now on for this job.
    Always {
        /// What each argument may be, by name; exactly this call when absent.
        rules: Option<BTreeMap<String, RuleView>>,
        /// When it ends by itself; never when absent.
        expires_at_ms: Option<i64>,
        /// How many calls it is good for; any number when absent.
        uses: Option<u32>,
    },
    /// No.
    Deny {
        /// What the model is told.
        reason: Option<String>,
    },
}

/// What one argument may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", tag = "rule", content = "value")]
pub enum RuleView {
    /// Anything.
    Any,
    /// This value.
    Equals(#[ts(type = "unknown")] Value),
    /// One of these values.
    OneOf(#[ts(type = "unknown[]")] Vec<Value>),
    /// A path or URL at or below this one.
    Below(String),
}

impl From<RuleView> for Rule {
    fn from(rule: RuleView) -> Self {
        match rule {
            RuleView::Any => Self::Any,
            RuleView::Equals(value) => Self::Equals(value),
            RuleView::OneOf(values) => Self::OneOf(values),
            RuleView::Below(root) => Self::Below(root),
        }
    }
}

impl From<Rule> for RuleView {
    fn from(rule: Rule) -> Self {
        match rule {
            Rule::Any => Self::Any,
            Rule::Equals(value) => Self::Equals(value),
            Rule::OneOf(values) => Self::OneOf(values),
            Rule::Below(root) => Self::Below(root),
        }
    }
}

/// `approvals.decide`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalsDecideResult {
    /// Whether this answer counts; else somebody was faster, the time is over, or the run has ended.
    pub counts: bool,
    /// The question as it stands now.
    pub approval: ApprovalView,
}

/// `grants.list`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct GrantsListParams {
    /// Only this job's.
    pub job_id: Option<String>,
}

/// `grants.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct GrantsListResult {
    /// The newest first, those that count no more among them.
    pub grants: Vec<GrantView>,
}

/// A standing yes of one job.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct GrantView {
    /// Identity.
    pub id: String,
    /// The job.
    pub job_id: String,
    /// Its name; none when it was removed.
    pub job_name: Option<String>,
    /// The tool.
    pub tool: String,
    /// What it covers.
    pub covers: CoverView,
    /// The stored secrets whose values its calls may write into the workspace, by name; no others.
    pub writes_values: Vec<String>,
    /// When it was given.
    pub created_at_ms: i64,
    /// When it ends by itself.
    pub expires_at_ms: Option<i64>,
    /// Calls that it is still good for; any number when none.
    pub uses_left: Option<u32>,
    /// Calls that it has covered.
    pub used: u32,
    /// When it was taken back.
    pub revoked_at_ms: Option<i64>,
    /// Whether it counts now.
    pub is_good: bool,
    /// Why it covers no call although it was given, as a sentence; none when it does.
    pub why_void: Option<String>,
}

/// What a grant covers.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", tag = "kind", rename_all_fields = "camelCase")]
pub enum CoverView {
    /// Exactly one call.
    Exact {
        /// Its arguments.
        #[ts(type = "Record<string, unknown>")]
        arguments: Value,
    },
    /// Arguments that each fit their rule.
    Pattern {
        /// By name.
        rules: BTreeMap<String, RuleView>,
        /// The folder that the calls work in; none when they work in no folder, or nobody knows (`whyVoid`).
        folder: Option<String>,
    },
}

impl CoverView {
    /// What it covers, in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        let (rules, folder) = match self {
            Self::Exact { arguments } => return format!("exactly {arguments}"),
            Self::Pattern { rules, folder } => (rules, folder),
        };
        let rule = |(name, rule): (&String, &RuleView)| match rule {
            RuleView::Any => format!("{name} any"),
            RuleView::Equals(value) => format!("{name} = {value}"),
            RuleView::OneOf(values) => format!("{name} one of {}", Value::from(values.clone())),
            RuleView::Below(root) => format!("{name} below {root}"),
        };
        let rules = rules.iter().map(rule).collect::<Vec<_>>().join(", ");
        match folder {
            Some(folder) => format!("{rules}, in {folder}"),
            None => rules,
        }
    }
}

/// One grant by id.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct GrantRef {
    /// The grant.
    pub id: String,
}
