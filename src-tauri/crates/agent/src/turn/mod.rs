//! The turn loop of a run: model calls, tool calls, and the journal of both.
//!
//! Carries out the steps of the state machine in `core::turn`. Files import downwards: `scope` and `end` first,
//! `conversation` last.

pub(crate) mod end;
pub(crate) mod scope;
pub(crate) mod journal;
pub(crate) mod usage;
pub(crate) mod output_limit;
mod model_sequence;
mod model_step;
mod model_call;
pub(crate) mod summary_call;
mod session_history;
mod notifications;
pub(crate) mod tool_calls;
mod task_inputs;
pub(crate) mod conversation;
