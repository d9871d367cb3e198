//! The scheduler on a real store: jobs in, runs out. Clock, timer and the work of a run are scripted by the test.

mod pending_approvals;
mod stage;

mod approvals;
mod awaited_runs;
mod catch_up_runs;
mod chat;
mod clock_change;
mod clock_rollback;
mod events;
mod heartbeat;
mod heartbeat_requests;
mod job_edits;
mod jobs;
mod manual_runs;
mod misfire;
mod model_waits;
mod overlap;
mod pause;
mod prefetch;
mod recovery;
mod restore;
mod retries;
mod run_ends;
mod skipped_rows;
mod slot_accounting;
mod slot_identity;
mod slots;
mod staging;
mod store_errors;
mod zone_rules;
