//! Types, job format, next-fire maths and decisions of Rouse.
//!
//! Everything here is a value or a pure function: no IO, no clock, no async runtime. `now` always comes in as an
//! argument, so that a year of somebody's mornings can be replayed in a test within a second. Port traits
//! (`Clock`, `Tool`) are declared here and implemented in the rooms around it.

pub mod stable_hash;
pub mod visible;
pub mod words;
pub mod naming;
pub mod near;
pub mod hidden;
pub mod time;
pub mod id;
pub mod json_fields;
pub mod depth;
pub mod schedule;
pub mod when;
pub mod money;
pub mod job;
pub mod import;
pub mod run;
pub mod incident;
pub mod day_hours;
pub mod quiet;
pub mod condition;
pub mod cause;
pub mod slots;
pub mod decide;
pub mod delivery;
pub mod event;
pub mod attachment;
pub mod message;
pub mod marks;
pub mod said;
pub mod model;
pub mod skills;
pub mod tool;
pub mod memory;
pub mod fetches;
pub mod routines;
pub mod approval;
pub mod policy;
pub mod turn;

pub use cause::Cause;
pub use id::{ApprovalId, DeliveryId, GrantId, JobId, RunId, SessionKey};
pub use job::Job;
pub use run::{Outcome, Run, RunState, RunTrigger};
pub use time::{Clock, UnixMs};
