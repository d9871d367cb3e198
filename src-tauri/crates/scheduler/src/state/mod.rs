//! The scheduler's memory: state types without IO.
//!
//! Owns the engine's memory between two events: lanes and permits, active and parked runs, event listeners, heartbeat
//! timing and the schedule of slots. Never reads the store or a clock; `now` is an argument.

pub mod lanes;
pub mod permits;

pub(crate) mod active_run;
pub(crate) mod active_runs;
pub(crate) mod claim_draft;
pub(crate) mod event_listeners;
pub(crate) mod event_run;
pub(crate) mod heartbeat;
pub(crate) mod incidents;
pub(crate) mod inbox;
pub(crate) mod model_presence;
pub(crate) mod parked_runs;
mod pattern_match;
pub(crate) mod queued_run;
pub(crate) mod slot_schedule;
pub(crate) mod store_backoff;
pub(crate) mod wait_graph;
pub(crate) mod zone_rules;
