//! The channels and recipients of a job: the check, and a problem in words.
//!
//! Refuses a new job with a channel that is not set up or a recipient that no person has written down, because its
//! deliveries would fail. An existing job that already has such a channel can still be edited. An import accepts such a
//! job, disabled and with a warning.

use rouse_core::channel::{ChannelDirectory, JobRouteProblem};
use rouse_core::job::Job;

use crate::error::RpcError;

/// Refuses a channel or recipient that cannot get messages, unless the job had it `before`.
pub(super) fn check_channel(
    channels: &ChannelDirectory,
    job: &Job,
    before: Option<&Job>,
) -> Result<(), RpcError> {
    match channels.job_problem(job) {
        Some(problem)
            if before.and_then(|job| channels.job_problem(job)) != Some(problem.clone()) =>
        {
            Err(RpcError::field(problem.field, &problem.cause.to_string()))
        }
        _ => Ok(()),
    }
}

/// A problem of a job's channel or recipient, as a sentence.
pub(super) fn problem_text(problem: &JobRouteProblem) -> String {
    format!("The outcome cannot be delivered: {}.", problem.cause)
}
