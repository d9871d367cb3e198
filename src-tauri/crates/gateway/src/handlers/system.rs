//! `system.*`.

use rouse_core::event::EventKind;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::RpcError;
use crate::handlers::{cron, heartbeat};
use crate::wire::{
    Done, Empty, FirstStart, NotificationStatus, StorageView, SystemStatus, ZoneDataStatus,
};

/// Settings of the store that the first-start card lives by.
pub(crate) const DISMISSED: &str = "firstStart.dismissed";
/// The id of the example job that the host made.
pub(crate) const EXAMPLE_JOB: &str = "firstStart.exampleJobId";

pub(crate) async fn status(context: &Context, _: Empty) -> Result<SystemStatus, RpcError> {
    let zones = context.clock.zones();
    let source = zones.source();
    Ok(SystemStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        mode: context.engine.mode,
        pid: std::process::id(),
        now_ms: context.clock.now().0,
        started_at_ms: context.engine.started_at.0,
        zone: zones.local().name().to_owned(),
        zone_data: ZoneDataStatus { version: source.version.to_string(), folder: source.folder },
        home: context.engine.home.display().to_string(),
        seq: context.store.last_seq().await?,
        cron: cron::status(context, Empty {}).await?,
        heartbeat: heartbeat::status(context, Empty {}).await?,
        model: context.models.active_label(),
        model_is_untried: context.models.is_untried(),
        failing_models: context.models.failing(),
        notifications: notifications(context),
        first_start: first_start(context).await?,
        problem: problem(context),
    })
}

fn problem(context: &Context) -> Option<String> {
    let of_zone = context.clock.zones().local_problem().map(str::to_owned);
    let lost = context.engine.start_problem.clone();
    let all = [context.scheduler.problem(), (context.engine.log_problem)(), of_zone, lost];
    let said: Vec<String> = all.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join(" "))
}

fn notifications(context: &Context) -> NotificationStatus {
    let own = &context.engine.notifications;
    if !own.available && !context.screens.is_any() {
        return own.clone();
    }
    let reason = context.unshown.borrow().clone();
    NotificationStatus { available: reason.is_none(), failing: reason.is_some(), reason }
}

pub(crate) async fn storage(context: &Context, _: Empty) -> Result<StorageView, RpcError> {
    let (size, kept) = (context.store.file_size().await?, context.store.kept().await?);
    Ok(StorageView {
        used_bytes: size.used,
        free_bytes: size.free,
        runs: kept.runs,
        oldest_run_at_ms: kept.oldest_run_at.map(|at| at.0),
        messages: kept.messages,
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
