//! `system.*`.

use rouse_core::event::EventKind;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::RpcError;
use crate::handlers::{cron, heartbeat};
use crate::wire::{Done, Empty, FirstStart, SystemStatus};

/// Settings of the store that the first-start card lives by.
pub(crate) const DISMISSED: &str = "firstStart.dismissed";
/// The id of the example job that the host made.
pub(crate) const EXAMPLE_JOB: &str = "firstStart.exampleJobId";

pub(crate) async fn status(context: &Context, _: Empty) -> Result<SystemStatus, RpcError> {
    Ok(SystemStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        mode: context.engine.mode,
        pid: std::process::id(),
        now_ms: context.clock.now().0,
        started_at_ms: context.engine.started_at.0,
        zone: context.clock.zone().name().to_owned(),
        home: context.engine.home.display().to_string(),
        seq: context.store.last_seq().await?,
        cron: cron::status(context, Empty {}).await?,
        heartbeat: heartbeat::status(context, Empty {}).await?,
        model: context.models.active_label(),
        notifications: context.engine.notifications.clone(),
        first_start: first_start(context).await?,
        problem: context.scheduler.problem(),
    })
}

async fn first_start(context: &Context) -> Result<FirstStart, RpcError> {
    let dismissed = context.store.setting(DISMISSED).await? == Some(Value::Bool(true));
    let example =
        context.store.setting(EXAMPLE_JOB).await?.and_then(|id| id.as_str().map(str::to_owned));
    let Some(id) = example else {
        return Ok(FirstStart { dismissed, example_job_id: None, example_run_id: None });
    };
    let query = rouse_store::RunQuery {
        job_id: Some(rouse_core::JobId::new(id.as_str())),
        limit: 1,
        ..rouse_store::RunQuery::default()
    };
    let newest = context.store.runs(&query).await?.runs.into_iter().next();
    let exists = context.store.job(&rouse_core::JobId::new(id.as_str())).await?.is_some();
    Ok(FirstStart {
        dismissed,
        example_job_id: exists.then_some(id),
        example_run_id: newest.map(|run| run.id.to_string()),
    })
}

pub(crate) async fn dismiss_first_start(context: &Context, _: Empty) -> Result<Done, RpcError> {
    let event = Some((EventKind::Config, json!({ "firstStart": "dismissed" })));
    context.store.put_setting(DISMISSED, &Value::Bool(true), event, context.clock.now()).await?;
    Ok(Done { changed: true })
}
