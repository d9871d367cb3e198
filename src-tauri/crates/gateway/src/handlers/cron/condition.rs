//! `cron.tryCondition`: what a condition says of the last result, before anybody waits for it.

use rouse_agent::{Subject, event_of};
use rouse_core::condition::Verdict;
use rouse_core::job::{Job, NotifyWhen, Payload, state_to_json};
use rouse_core::{JobId, RunId};

use super::found;
use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{CronTryConditionParams, CronTryConditionResult, TriedResult};

pub(crate) async fn try_condition(
    context: &Context,
    params: CronTryConditionParams,
) -> Result<CronTryConditionResult, RpcError> {
    let conditions = context.gate.conditions();
    if let Err(problem) = conditions.check(&params.cel).await {
        return Ok(CronTryConditionResult { problem: Some(problem), holds: None, on: None });
    }
    let Some(id) = &params.id else { return Ok(untried()) };
    let job = found(context, id).await?;
    let Some(on) = last_result(context, &job.id).await? else { return Ok(untried()) };
    let cause = context.store.cause(&RunId::new(on.run_id.as_str())).await?;
    let subject = Subject {
        result: on.result.clone(),
        previous: on.previous.clone(),
        state: state_to_json(&job.state),
        event: cause.as_ref().map(event_of).unwrap_or_default(),
    };
    let (problem, holds) = match conditions.judge(&params.cel, subject).await {
        Verdict::Met => (None, Some(true)),
        Verdict::NotMet => (None, Some(false)),
        Verdict::Broken(problem) => (Some(problem), None),
    };
    Ok(CronTryConditionResult { problem, holds, on: Some(on) })
}

/// A condition that could only fail at three in the morning is refused when it is written down.
pub(super) async fn check(context: &Context, job: &Job) -> Result<(), RpcError> {
    let Payload::ToolCall(call) = &job.payload else { return Ok(()) };
    let NotifyWhen::Cel { source, .. } = &call.notify_when else { return Ok(()) };
    let checked = context.gate.conditions().check(source).await;
    checked.map_err(|problem| RpcError::field("payload.notifyWhen.cel", &problem))
}

const fn untried() -> CronTryConditionResult {
    CronTryConditionResult { problem: None, holds: None, on: None }
}

async fn last_result(context: &Context, job: &JobId) -> Result<Option<TriedResult>, RpcError> {
    let mut newest = context.store.newest_results(job, 2).await?.into_iter();
    let Some((run, at, result)) = newest.next() else { return Ok(None) };
    let previous = newest.next().map(|(_, _, result)| result).unwrap_or_default();
    Ok(Some(TriedResult { run_id: run.to_string(), at_ms: at.0, result, previous }))
}
