//! `system.*`: status, storage and the first-start card.

use rouse_core::event::EventKind;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::RpcError;
use crate::handlers::{cron, heartbeat};
use crate::wire::{
    ChangeResult, EmptyObject, FirstStart, NotificationStatus, StorageView, SystemStatus,
    ZoneDataStatus,
};

/// The store key for the dismissed first-start card.
pub(crate) const DISMISSED: &str = "firstStart.dismissed";
/// The store key for the id of the example job.
pub(crate) const EXAMPLE_JOB: &str = "firstStart.exampleJobId";

pub(crate) async fn status(context: &Context, _: EmptyObject) -> Result<SystemStatus, RpcError> {
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
        cron: cron::status(context, EmptyObject {}).await?,
        heartbeat: heartbeat::status(context, EmptyObject {}).await?,
        model: context.models.active_label(),
        is_model_untested: context.models.is_untested(),
        failing_models: context.models.failing(),
        notifications: notifications(context),
        first_start: first_start(context).await?,
        problem: problem(context),
    })
}

fn problem(context: &Context) -> Option<String> {
    let problems = [
        context.scheduler.problem(),
        (context.engine.log_problem)(),
        context.clock.zones().local_problem().map(str::to_owned),
        context.engine.start_problem.clone(),
    ];
    let problems: Vec<String> = problems.into_iter().flatten().collect();
    (!problems.is_empty()).then(|| problems.join(" "))
}

fn notifications(context: &Context) -> NotificationStatus {
    let own = &context.engine.notifications;
    if !own.available && !context.desktop_apps.is_any_attached() {
        return own.clone();
    }
    let reason = context.notification_error.borrow().clone();
    NotificationStatus { available: reason.is_none(), failing: reason.is_some(), reason }
}

pub(crate) async fn storage(context: &Context, _: EmptyObject) -> Result<StorageView, RpcError> {
    let size = context.store.file_size().await?;
    let history = context.store.history_size().await?;
    Ok(StorageView {
        used_bytes: size.used,
        free_bytes: size.free,
        runs: history.runs,
        oldest_run_at_ms: history.oldest_run_at.map(|at| at.0),
        messages: history.messages,
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

pub(crate) async fn dismiss_first_start(
    context: &Context,
    _: EmptyObject,
) -> Result<ChangeResult, RpcError> {
    let event = Some((EventKind::Config, json!({ "firstStart": "dismissed" })));
    context.store.put_setting(DISMISSED, &Value::Bool(true), event, context.clock.now()).await?;
    Ok(ChangeResult { changed: true })
}
