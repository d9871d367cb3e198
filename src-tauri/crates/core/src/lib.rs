//! Types, job format, next-fire maths and decisions of Rouse.
//!
//! Owns values and pure functions, and the port traits that other rooms implement. Never does IO and never reads the
//! clock: `now` is an argument everywhere, so a test replays a year of schedules within a second.

pub mod text;
pub mod id;
mod future;
pub mod http_exchange;
pub mod json_fields;
pub mod naming;
pub mod time;
pub mod schedule;
pub mod budget;
pub mod settings;
pub mod job;
pub mod import;
pub mod run;
pub mod extension;
pub mod channel;
mod access;
mod agent;

pub use access::{
    approval, call_progress, input_request, policy, redaction_marks as redaction, tool, tool_search,
};
pub use agent::{attachment, fence, fetch_history, memory, message, model, routines, skills, turn};
pub use id::{ApprovalId, DeliveryId, GrantId, JobId, RunId, SessionKey};
pub use job::Job;
pub use run::{Cause, Outcome, Run, RunState, RunTrigger};
pub use run::{cause, condition, decide, delivery, event, incident};
pub use schedule::slots;
pub use time::{Clock, UnixMs};
