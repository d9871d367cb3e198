//! The job document: JSON (camelCase) and types.
//!
//! Owns the one declaration of every field; JSON schema, TypeScript, validation and defaults derive from it. Unknown
//! keys survive a round trip at every level, so a document of a newer Rouse or of another program loses nothing.
//! Never decides what is due (`slots`) or what a run did (`run`).
//! Pitfall: validating a stored document. A job that an older version accepted must stay readable.

mod field_schema;
mod schema;
mod checks;
mod read;
mod patch;
mod author;
mod bounds;
mod claim;
mod document;
mod folder;
mod grant_candidates;
mod payload;
mod policies;
mod schedule;
mod server;
mod summary;
mod work;

pub use author::{CREATED_BY, MESSAGE_BY, client_signature, signature};
pub use document::{
    Isolation, Job, JobState, LastOutcome, Runtime, SessionTarget, WakeMode, to_json,
};
pub use folder::{FolderAccess, FolderGrant};
pub use grant_candidates::NamedGrants;
pub use patch::patch_job;
pub use payload::{AgentTurn, NotifyCondition, NotifyWhen, NotifyWord, Payload, ToolCall};
pub use policies::{Approvals, Budget, Misfire, MisfireMode, Notify, Overlap, Policies, Sandbox};
pub use read::{
    JobError, check_bounds, imported_job_from_json, job_from_json, schedule_from_json,
    stored_job_from_json, unknown_state_keys,
};
pub use schedule::{EventTrigger, Schedule, ScheduleSpec};
pub use schema::job_schema;
pub use server::JobServer;
pub use summary::{JobFact, job_facts, label_of};
