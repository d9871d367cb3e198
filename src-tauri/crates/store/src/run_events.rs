//! The data of events about runs.
//!
//! Owns the fields of `run` events, and of `cron` events about a run. Never writes an event: the change of the row does.
//! Pitfall: clients read these fields without asking for the run, so a field that goes breaks them.

use rouse_core::{JobId, Run, RunId, RunState, UnixMs};
use serde_json::{Value, json};

use crate::jobs::change;

/// The data of a `run` event.
pub(crate) fn run_event(run: &Run) -> Value {
    let mut data = state_event(&run.id, run.job_id.as_ref(), run.state);
    if let Some(waits_for) = run.waits_for {
        data["waitsFor"] = waits_for.name().into();
        let why = run.error.as_deref().or(run.reason.as_deref()).unwrap_or_default();
        data["why"] = why.lines().next().unwrap_or_default().into();
    }
    data
}

pub(crate) fn state_event(id: &RunId, job_id: Option<&JobId>, state: RunState) -> Value {
    let mut data = json!({ "runId": id.as_str(), "state": state.name() });
    if let Some(job_id) = job_id {
        data["jobId"] = job_id.as_str().into();
    }
    data
}

/// The data of a `cron` event about a run that is over.
pub(crate) fn finished_event(run: &Run, job_id: &JobId, next_run_at: Option<UnixMs>) -> Value {
    let mut data = change(job_id, "finished", next_run_at);
    data["runId"] = run.id.as_str().into();
    data["state"] = run.state.name().into();
    if let Some(status) = run.state.rfc_status() {
        data["status"] = status.into();
    }
    if let Some(error) = run.error.as_deref().or(run.reason.as_deref()) {
        data["error"] = error.into();
    }
    data
}

pub(crate) fn started_event(id: &RunId, job_id: &JobId) -> Value {
    let mut data = change(job_id, "started", None);
    data["runId"] = id.as_str().into();
    data
}
