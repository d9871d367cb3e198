//! Permission: tool declarations, the policy that judges a call, and the approvals and grants behind a decision.
//!
//! Owns the permission of a call, and the input that a server requests of the person. Never runs a tool and never
//! prompts a person: the gate in `agent` does both.

pub mod input_request;
pub mod call_progress;
pub mod tool;
pub mod tool_search;
pub mod redaction_marks;
pub mod approval;
pub mod policy;
