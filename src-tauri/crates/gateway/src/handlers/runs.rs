//! `runs.*`: run history and control.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rouse_core::{DeliveryId, JobId, RunId, UnixMs};
use rouse_store::RunQuery;
use serde_json::Value;

use crate::context::Context;
use crate::convert::{cause_view, delivery_view, run_view, step_view};
use crate::error::{ErrorCode, RpcError};
use crate::wire::{
    ChangeResult, EmptyObject, RunAttachment, RunAttachmentParams, RunAwaitParams, RunDetail,
    RunRef, RunsListParams, RunsListResult, StartedRun,
};

pub(crate) async fn list(
    context: &Context,
    params: RunsListParams,
) -> Result<RunsListResult, RpcError> {
    let query = RunQuery {
        job_id: params.job_id.map(JobId::new),
        states: params.states.unwrap_or_default(),
        triggers: params.triggers.unwrap_or_default(),
        from: params.from_ms.map(UnixMs),
        to: params.to_ms.map(UnixMs),
        digest: params.digest.map(DeliveryId::new),
        text: super::input::parse_search(params.search)?,
        limit: params.limit.unwrap_or(50).clamp(1, 500),
        before: params.cursor,
    };
    let page = context.store.runs(&query).await?;
    Ok(RunsListResult {
        runs: page.runs.iter().map(run_view).collect(),
        next_cursor: page.next,
        total: page.total,
    })
}

pub(crate) async fn get(context: &Context, params: RunRef) -> Result<RunDetail, RpcError> {
    let id = RunId::new(params.id.as_str());
    let run = context.store.run(&id).await?.ok_or_else(|| not_found(&params.id))?;
    let steps = context.store.steps(&id).await?;
    let files = context.store.call_attachments(&id).await?;
    let deliveries = context.store.deliveries_of(&id).await?;
    let job_exists = match &run.job_id {
        Some(job_id) => context.store.job(job_id).await?.is_some(),
        None => false,
    };
    let approvals = context.store.approvals_of_run(&id).await?;
    let cause = context.store.cause(&id).await?;
    let channels = context.channels.now();
    Ok(RunDetail {
        cause: cause.map(cause_view),
        payload: shown_payload(context, &run.payload),
        steps: steps.iter().map(|step| step_view(step, &files)).collect(),
        approvals: super::approvals::views(context, &approvals).await?,
        deliveries: deliveries.iter().map(|delivery| delivery_view(&channels, delivery)).collect(),
        job_exists,
        live_text: context.live_text.text(&id),
        progress: context.live_progress.of_run(&id),
        run: run_view(&run),
    })
}

/// A file that a call returned, for the person.
pub(crate) async fn attachment(
    context: &Context,
    params: RunAttachmentParams,
) -> Result<RunAttachment, RpcError> {
    let RunAttachmentParams { run_id, step, position } = params;
    let id = RunId::new(run_id.as_str());
    if context.store.run(&id).await?.is_none() {
        return Err(not_found(&run_id));
    }
    let file = context.store.call_attachment(&id, step, position).await?;
    let (kind, bytes) = file.ok_or_else(|| {
        let text = format!("Run {run_id} keeps no file {position} of step {step}.");
        RpcError::new(ErrorCode::NotFound, text)
    })?;
    Ok(RunAttachment {
        media_type: kind.media_type().to_owned(),
        data: BASE64_STANDARD.encode(bytes),
    })
}

pub(crate) async fn cancel(context: &Context, params: RunRef) -> Result<ChangeResult, RpcError> {
    let id = RunId::new(params.id.as_str());
    if context.store.run(&id).await?.is_none() {
        return Err(not_found(&params.id));
    }
    let changed = context.scheduler.cancel(&id, "Cancelled by you").await?;
    Ok(ChangeResult { changed })
}

/// Publishes that the person viewed the run, so that its notification is withdrawn.
pub(crate) async fn seen(context: &Context, params: RunRef) -> Result<ChangeResult, RpcError> {
    context.events.publish_seen(&params.id);
    Ok(ChangeResult { changed: true })
}

pub(crate) async fn await_run(
    context: &Context,
    params: RunAwaitParams,
) -> Result<EmptyObject, RpcError> {
    context.scheduler.await_run(&RunId::new(params.id), &RunId::new(params.waiting_run_id)).await?;
    Ok(EmptyObject {})
}

pub(crate) async fn retry(context: &Context, params: RunRef) -> Result<StartedRun, RpcError> {
    let run_id = context.scheduler.retry(&RunId::new(params.id.as_str())).await?;
    Ok(StartedRun { run_id: Some(run_id.to_string()) })
}

/// The payload of the claim, without the arguments that the tool hides.
fn shown_payload(context: &Context, payload: &Value) -> Value {
    let mut shown = payload.clone();
    if let (Some(tool), Some(arguments)) = (payload["tool"].as_str(), shown.get_mut("arguments")) {
        *arguments = context.gate.shown_arguments(tool, arguments);
    }
    shown
}

fn not_found(id: &str) -> RpcError {
    RpcError::new(ErrorCode::NotFound, format!("There is no run {id}."))
}
