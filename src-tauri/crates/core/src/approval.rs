//! Questions to a person, and the answers that outlive them.
//!
//! A yes is bound to a fingerprint of the call (`bound`). What was approved is what runs; when any of that is different
//! later, the answer does not count and the question is asked again. A grant is a yes for all runs of one job (`grant`). What
//! the gate made of a call is a decision, and a refusal says of which kind it is (`decision`).
//! One could get it wrong by comparing arguments as the model wrote them: the same call may be written in many ways.

mod asked;
mod bound;
mod decision;
mod grant;
mod values;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::asked::asked_before;
pub use self::bound::{ABSENT, FIRES_ONCE_AT, Fingerprint, Surroundings, canonical};
pub use self::decision::{GateDecision, HookNo, Refusal};
pub use self::grant::{Cover, Grant, GrantError, NewGrant, Rule, WorksIn};
pub use self::values::values_in;
use crate::{ApprovalId, GrantId, JobId, RunId, UnixMs};

/// A question about one call of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// Identity.
    pub id: ApprovalId,
    /// The run that waits.
    pub run_id: RunId,
    /// Its job; none for the main session.
    pub job_id: Option<JobId>,
    /// The job's name when it asked.
    pub job_name: String,
    /// The call, in the words of the model's provider.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The arguments, exactly.
    pub arguments: Value,
    /// What else decides what it does.
    pub surroundings: Surroundings,
    /// What the answer is bound to.
    pub fingerprint: Fingerprint,
    /// What would happen, for a person; nothing is cut off.
    pub preview: String,
    /// Why it is asked, as a sentence.
    pub why: String,
    /// Whether it belongs to the highest class: asked each time, granted never.
    pub is_highest: bool,
    /// When it was asked.
    pub asked_at: UnixMs,
    /// When nobody's answer counts any more.
    pub expires_at: UnixMs,
    /// Where it stands.
    pub state: ApprovalState,
    /// Where a person answered it.
    pub answered_from: Option<AnsweredFrom>,
    /// When a call was first made on the ground of its yes.
    pub used_at: Option<UnixMs>,
}

impl Approval {
    /// What a standing yes to the call is bound to.
    #[must_use]
    pub fn standing(&self) -> Fingerprint {
        Fingerprint::standing(&self.tool, &self.arguments, &self.surroundings)
    }

    /// The stored secrets whose values the call writes down here, by name.
    #[must_use]
    pub fn values(&self) -> Vec<String> {
        values_in(&self.arguments, &self.surroundings)
    }

    /// Whether a person, or nobody in time, has answered it and nothing was done by the answer yet.
    #[must_use]
    pub const fn has_unused_answer(&self) -> bool {
        self.used_at.is_none() && self.state.is_answer()
    }

    /// Whether its run goes on by it: by an answer that was not used yet, or by a grant that was given since.
    #[must_use]
    pub const fn lets_its_run_go_on(&self) -> bool {
        self.has_unused_answer() || matches!(self.state, ApprovalState::Covered { .. })
    }
}

/// What allows one call; used up together with the call's first line in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permit {
    /// An answer of this run.
    Answer(ApprovalId),
    /// A grant of its job.
    Grant(GrantId),
}

/// Where a person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnsweredFrom {
    /// A page or a window.
    Page,
    /// The command line.
    Cli,
    /// A button of a notification.
    Notification,
    /// The tray's menu.
    Tray,
}

impl AnsweredFrom {
    /// The name in SQL and on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Cli => "cli",
            Self::Notification => "notification",
            Self::Tray => "tray",
        }
    }

    /// The place of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Page, Self::Cli, Self::Notification, Self::Tray];
        all.into_iter().find(|place| place.name() == name)
    }
}

/// Where a question stands. Everything but `Pending` is for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalState {
    /// Nobody has answered.
    Pending,
    /// Yes.
    Approved {
        /// For how much.
        scope: Scope,
        /// When.
        at: UnixMs,
    },
    /// No.
    Denied {
        /// What the model is told, in the person's words.
        reason: Option<String>,
        /// When.
        at: UnixMs,
    },
    /// Nobody answered in time.
    Expired {
        /// When.
        at: UnixMs,
    },
    /// Its run ended before anybody answered.
    Withdrawn {
        /// When.
        at: UnixMs,
    },
    /// What the person has granted meanwhile covers it: nobody has to answer, and the grant decides.
    Covered {
        /// When.
        at: UnixMs,
    },
}

impl ApprovalState {
    /// Whether a person has answered, or nobody in time.
    #[must_use]
    pub const fn is_answer(&self) -> bool {
        match self {
            Self::Approved { .. } | Self::Denied { .. } | Self::Expired { .. } => true,
            Self::Pending | Self::Withdrawn { .. } | Self::Covered { .. } => false,
        }
    }

    /// The name in JSON and SQL.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved { .. } => "approved",
            Self::Denied { .. } => "denied",
            Self::Expired { .. } => "expired",
            Self::Withdrawn { .. } => "withdrawn",
            Self::Covered { .. } => "covered",
        }
    }
}

/// How far a yes reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// This call, once.
    Once,
    /// This same call, as often as this run makes it.
    Run,
    /// This call in all runs of the job: a grant was made of it.
    Always,
}

/// What a person answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Yes, for this call.
    Once,
    /// Yes, for the same call in this run.
    Run,
    /// Yes, and from now on for this job.
    Always(NewGrant),
    /// No; the model is told why.
    Deny {
        /// In the person's words.
        reason: Option<String>,
    },
}
