//! Decisions of the gate.

pub use rouse_core::approval::{HookDenial, Refusal};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The gate's decision about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", tag = "decision", rename_all_fields = "camelCase")]
pub enum GateView {
    /// The person wrote the call into the job.
    Written,
    /// The person approved the call.
    Approved {
        /// The approval.
        approval_id: String,
        /// Hook that rewrote the call before.
        rewritten_by: Option<String>,
    },
    /// A grant of the job covers the call.
    Granted {
        /// The grant.
        grant_id: String,
        /// Hook that rewrote the call before.
        rewritten_by: Option<String>,
    },
    /// No approval needed, but a hook rewrote the call.
    Rewritten {
        /// The hook.
        rewritten_by: String,
    },
    /// Not allowed.
    Refused {
        /// Kind of the refusal; none if unknown, as in runs of earlier versions.
        refusal: Option<Refusal>,
        /// Hook that rewrote the call before.
        rewritten_by: Option<String>,
    },
}
