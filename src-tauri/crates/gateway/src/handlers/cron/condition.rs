//! `cron.tryCondition`: a trial of a condition on the last result.

use rouse_agent::{ConditionInput, event_variable};
use rouse_core::condition::ConditionVerdict;
use rouse_core::job::{Job, NotifyWhen, Payload, to_json};
use rouse_core::{JobId, RunId};

use super::job_lookup::find_job;
use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{ConditionSample, CronTryConditionParams, CronTryConditionResult};

pub(crate) async fn try_condition(
    context: &Context,
    params: CronTryConditionParams,
) -> Result<CronTryConditionResult, RpcError> {
    let conditions = context.gate.conditions();
    if let Err(problem) = conditions.check(&params.cel).await {
        return Ok(CronTryConditionResult { problem: Some(problem), holds: None, on: None });
    }
    let Some(id) = &params.id else { return Ok(no_sample()) };
    let job = find_job(context, id).await?;
    let Some(sample) = last_result(context, &job.id).await? else { return Ok(no_sample()) };
    let cause = context.store.cause(&RunId::new(sample.run_id.as_str())).await?;
    let input = ConditionInput {
        result: sample.result.clone(),
        previous: sample.previous.clone(),
        state: to_json(&job.state),
        event: cause.as_ref().map(event_variable).unwrap_or_default(),
    };
    let (problem, holds) = match conditions.evaluate(&params.cel, input).await {
        ConditionVerdict::Met => (None, Some(true)),
        ConditionVerdict::NotMet => (None, Some(false)),
        ConditionVerdict::Broken(problem) => (Some(problem), None),
    };
    Ok(CronTryConditionResult { problem, holds, on: Some(sample) })
}

/// Refuses a fixed call with an invalid condition.
pub(super) async fn check_condition(context: &Context, job: &Job) -> Result<(), RpcError> {
    let Payload::ToolCall(call) = &job.payload else { return Ok(()) };
    let NotifyWhen::Condition(condition) = &call.notify_when else { return Ok(()) };
    let checked = context.gate.conditions().check(&condition.cel).await;
    checked.map_err(|problem| RpcError::field("payload.notifyWhen.cel", &problem))
}

const fn no_sample() -> CronTryConditionResult {
    CronTryConditionResult { problem: None, holds: None, on: None }
}

async fn last_result(context: &Context, job: &JobId) -> Result<Option<ConditionSample>, RpcError> {
    let mut newest = context.store.newest_results(job, 2).await?.into_iter();
    let Some((run, at, result)) = newest.next() else { return Ok(None) };
    let previous = newest.next().map(|(_, _, result)| result).unwrap_or_default();
    Ok(Some(ConditionSample { run_id: run.to_string(), at_ms: at.0, result, previous }))
}
