//! Approvals: requests to a person, their decisions, and grants.
//!
//! Owns the life of an approval, the fingerprint that binds a decision to a call (`fingerprint`), standing grants of a
//! job (`grant`) and the gate's decisions in the journal (`decision`). After any change in the fingerprint, the
//! decision does not count and the call needs another approval.
//! Pitfall: comparing arguments as the model wrote them; the same call may be written in many ways.

mod decision;
mod decision_text;
mod fingerprint;
mod grant;
mod request;
mod request_count;

pub use self::decision::{GateDecision, HookDenial, Refusal};
pub use self::fingerprint::{ABSENT, FIRES_ONCE_AT, Fingerprint, Surroundings, canonical};
pub use self::grant::{ArgumentRule, Grant, GrantError, GrantFolder, GrantScope, NewGrant};
pub use self::request::{
    Approval, ApprovalDecision, ApprovalScope, ApprovalState, ApprovalStateKind, Authorization,
    DecisionSource, DecisionSurface,
};
pub use self::request_count::count_requests;
