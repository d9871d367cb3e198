//! Runs from their start to their outcome, with the gate and the store.
//!
//! Real SQLite, a scripted model, a manual clock, and test tools.

mod fixtures;
mod discovery;
mod gate;
mod run_fixture;
mod heartbeat;
mod tool_call_jobs;
mod turns;
mod budgets;
mod output_limits;
mod fallbacks;
mod sandbox;
mod key_shaped_commands;
mod per_call_rules;
mod refusal_kinds;
mod approvals;
mod input_requests;
mod secrets_and_hooks;
mod kept_files;
mod stored_secrets;
mod answer_stream;
mod resume;
mod parallel_calls;
mod context_window;
mod run_events;
mod chat;
mod call_ids;
mod servers;
mod server_calls;
mod server_offers;
mod tool_search;
mod call_progress;
mod compaction;
