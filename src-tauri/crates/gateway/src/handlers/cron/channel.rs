//! Whether there is a channel where a job wants its outcome.
//!
//! A job that names a channel that is not set up is refused when it is written down, because its delivery can only fail.
//! It refuses to stand in the way of anything else: such a job from an older Rouse can still be changed and run, and one
//! from a file is taken in, switched off and with a word about it.

use rouse_core::delivery::Channel;
use rouse_core::job::{Job, Payload};

use crate::error::RpcError;

/// Refuses a channel that is not set up, unless the job named it `before`.
pub(super) fn check(job: &Job, before: Option<&Job>) -> Result<(), RpcError> {
    match complaint(job) {
        Some(complaint) if before.and_then(named) != named(job) => {
            Err(RpcError::field("payload.channel", &complaint))
        }
        _ => Ok(()),
    }
}

/// Why nothing can go where the job says.
pub(super) fn complaint(job: &Job) -> Option<String> {
    Channel::complaint(named(job)?)
}

fn named(job: &Job) -> Option<&str> {
    match &job.payload {
        Payload::AgentTurn(turn) => turn.channel.as_deref(),
        Payload::SystemEvent { .. } | Payload::ToolCall(_) => None,
    }
}
