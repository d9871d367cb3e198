//! What the gate decided about a call, and of which kind a refusal was.
//!
//! What a surface says of a refusal it makes out of its kind; the words that a model was told stand in the step's output.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What the gate decided about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", tag = "decision", rename_all_fields = "camelCase")]
pub enum GateView {
    /// The person has written the call into the job.
    Written,
    /// The person said yes to it.
    Answered {
        /// The question.
        approval_id: String,
        /// The hook that had made it of another call before.
        rewritten_by: Option<String>,
    },
    /// A grant of the job covers it.
    Granted {
        /// The grant.
        grant_id: String,
        /// The hook that had made it of another call before.
        rewritten_by: Option<String>,
    },
    /// It needed nobody's yes. A hook has made it of another call.
    Rewritten {
        /// The hook.
        rewritten_by: String,
    },
    /// It was not let through.
    Refused {
        /// Of which kind that was; none where it is not known, as in runs of earlier versions.
        why: Option<RefusalView>,
        /// The hook that had made it of another call before.
        rewritten_by: Option<String>,
    },
}

/// Of which kind a refusal was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", tag = "kind", rename_all_fields = "camelCase")]
pub enum RefusalView {
    /// There is no tool of that name.
    UnknownTool,
    /// The arguments do not fit the tool's parameters.
    Misfit,
    /// The tool was called too often.
    RateLimited {
        /// How long from then until it could be called again.
        wait_ms: i64,
    },
    /// The tool is not among those that the run may call.
    NotListed,
    /// The run may only look, because it is told of skills that nobody has trusted.
    Ceiling {
        /// Their names.
        skills: Vec<String>,
    },
    /// The tool is for turns that a person has started.
    Unattended,
    /// It needs a yes, and the job asks nobody.
    Unasked {
        /// The job's setting, `deny` or `skip`.
        approvals: String,
    },
    /// A hook stands against it.
    Hook {
        /// Its name.
        hook: String,
        /// In which way.
        how: HookNoView,
    },
    /// The person said no.
    Denied {
        /// In the person's words.
        reason: Option<String>,
    },
    /// Nobody answered the question in time.
    Expired,
    /// It needs a yes, and the job is not there any more to ask for it.
    JobGone,
    /// It needs a yes, and earlier runs of the job wait for answers.
    EarlierAsks,
    /// It would have carried a secret away.
    Leak {
        /// What was found: `secret:NAME` of a stored one, or what it looked like.
        found: Vec<String>,
    },
    /// A handle in it cannot be filled: there is no such secret, or it may not go there.
    Secret {
        /// The secret's name.
        name: String,
    },
    /// It holds the value of a stored secret that must not be written down.
    Unkept,
    /// A budget has no room for it.
    Budget,
    /// There is no sandbox for it on this computer.
    NoSandbox,
    /// Its tool says that it could not be carried out.
    Impossible,
}

/// How a hook stands against a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the words are documented in rouse_core::approval")]
pub enum HookNoView {
    SaidNo,
    DidNotAnswer,
    KeptRewriting,
}
