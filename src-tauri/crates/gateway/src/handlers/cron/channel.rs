//! The check of a job's channel.
//!
//! Refuses a new job with a channel that is not set up, because its deliveries would fail. An existing job that already has
//! such a channel can still be edited. An import accepts such a job, disabled and with a warning.

use rouse_core::delivery::Channel;
use rouse_core::job::{Job, Payload};

use crate::error::RpcError;

/// Refuses a channel that is not set up, unless the job had this channel `before`.
pub(super) fn check_channel(job: &Job, before: Option<&Job>) -> Result<(), RpcError> {
    match channel_problem(job) {
        Some(problem) if before.and_then(channel_name) != channel_name(job) => {
            Err(RpcError::field("payload.channel", &problem))
        }
        _ => Ok(()),
    }
}

/// Why the job's channel cannot deliver; none if it can.
pub(super) fn channel_problem(job: &Job) -> Option<String> {
    Channel::complaint(channel_name(job)?)
}

fn channel_name(job: &Job) -> Option<&str> {
    match &job.payload {
        Payload::AgentTurn(turn) => turn.channel.as_deref(),
        Payload::SystemEvent { .. } | Payload::ToolCall(_) => None,
    }
}
