//! `cron.export` and `cron.import`: jobs in the job format, kept keys included.

use rouse_core::job::{job_from_json, job_to_json};
use serde_json::Value;

use super::found;
use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{
    CronExportParams, CronExportResult, CronImportParams, CronImportResult, ImportLine,
};

/// The version of the export's shape.
const VERSION: u32 = 1;

pub(crate) async fn export(
    context: &Context,
    params: CronExportParams,
) -> Result<CronExportResult, RpcError> {
    let jobs = match params.id {
        Some(id) => vec![found(context, &id).await?],
        None => {
            let query = rouse_store::JobQuery { include_disabled: true, search: None };
            context.store.jobs(&query).await?
        }
    };
    Ok(CronExportResult { version: VERSION, jobs: jobs.iter().map(job_to_json).collect() })
}

pub(crate) async fn import(
    context: &Context,
    params: CronImportParams,
) -> Result<CronImportResult, RpcError> {
    let dry_run = params.dry_run.unwrap_or(false);
    let keep_enabled = params.keep_enabled.unwrap_or(false);
    let mut lines = Vec::with_capacity(params.jobs.len());
    for (index, document) in params.jobs.into_iter().enumerate() {
        let name =
            document["name"].as_str().map_or_else(|| format!("job {}", index + 1), str::to_owned);
        let line = match import_one(context, document, dry_run, keep_enabled).await {
            Ok(id) => ImportLine { name, id: Some(id), ok: true, message: None },
            Err(error) => ImportLine { name, id: None, ok: false, message: Some(error.message) },
        };
        lines.push(line);
    }
    Ok(CronImportResult { lines })
}

/// History stays behind: an imported job starts with an empty state, and switched off unless asked otherwise.
async fn import_one(
    context: &Context,
    mut document: Value,
    dry_run: bool,
    keep_enabled: bool,
) -> Result<String, RpcError> {
    if let Some(fields) = document.as_object_mut() {
        fields.remove("state");
        if !keep_enabled {
            fields.insert("enabled".to_owned(), Value::Bool(false));
        }
    }
    let job = job_from_json(document, context.clock.now(), context.clock.zone())?;
    super::check_call(context, &job)?;
    let id = job.id.to_string();
    if dry_run {
        if context.store.job(&job.id).await?.is_some() {
            return Err(RpcError::new(
                crate::error::ErrorCode::Exists,
                format!("There is a job {id} already."),
            ));
        }
        return Ok(id);
    }
    Ok(context.scheduler.add_job(job).await?.id.to_string())
}
