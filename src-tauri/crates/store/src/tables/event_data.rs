//! The data of events about jobs, runs, approvals, grants and deliveries.
//!
//! Never emits an event: the change of the row does.
//! Pitfall: clients read these fields without asking for the row, so a removed field breaks them.

use rouse_core::approval::Approval;
use rouse_core::delivery::DeliveryState;
use rouse_core::{DeliveryId, GrantId, JobId, Run, RunId, RunState, UnixMs};
use serde_json::{Value, json};

/// A `cron` event about a job.
pub(crate) fn job_event(id: &JobId, action: &str, next_run_at: Option<UnixMs>) -> Value {
    let mut data = json!({ "jobId": id.as_str(), "action": action });
    if let Some(at) = next_run_at {
        data["nextRunAtMs"] = at.0.into();
    }
    data
}

/// A `cron` event about a job that was disabled for `reason`.
pub(crate) fn disabled_event(id: &JobId, reason: &str) -> Value {
    let mut data = job_event(id, "updated", None);
    data["error"] = reason.into();
    data
}

/// A `run` event.
pub(crate) fn run_event(run: &Run) -> Value {
    let mut data = run_state_event(&run.id, run.job_id.as_ref(), run.state);
    if let Some(waits_for) = run.waits_for {
        data["waitsFor"] = waits_for.name().into();
        let why = run.error.as_deref().or(run.reason.as_deref()).unwrap_or_default();
        data["why"] = why.lines().next().unwrap_or_default().into();
    }
    data
}

/// A `run` event with the state alone.
pub(crate) fn run_state_event(id: &RunId, job_id: Option<&JobId>, state: RunState) -> Value {
    let mut data = json!({ "runId": id.as_str(), "state": state.name() });
    if let Some(job_id) = job_id {
        data["jobId"] = job_id.as_str().into();
    }
    data
}

/// A `cron` event about a run that began.
pub(crate) fn started_event(id: &RunId, job_id: &JobId) -> Value {
    let mut data = job_event(job_id, "started", None);
    data["runId"] = id.as_str().into();
    data
}

/// A `cron` event about a run that ended.
pub(crate) fn finished_event(run: &Run, job_id: &JobId, next_run_at: Option<UnixMs>) -> Value {
    let mut data = job_event(job_id, "finished", next_run_at);
    data["runId"] = run.id.as_str().into();
    data["state"] = run.state.name().into();
    if let Some(status) = run.state.rfc_status().map(<&str>::from) {
        data["status"] = status.into();
    }
    if let Some(error) = run.error.as_deref().or(run.reason.as_deref()) {
        data["error"] = error.into();
    }
    data
}

/// An `approval` event about an approval.
pub(crate) fn approval_event(approval: &Approval) -> Value {
    let mut data = json!({
        "approvalId": approval.id.as_str(),
        "runId": approval.run_id.as_str(),
        "state": approval.state.name(),
    });
    if let Some(job_id) = &approval.job_id {
        data["jobId"] = job_id.as_str().into();
    }
    data
}

/// An `approval` event about a grant.
pub(crate) fn grant_event(id: &GrantId, action: &str) -> Value {
    json!({ "grantId": id.as_str(), "action": action })
}

/// A `delivery` event.
pub(crate) fn delivery_event(id: &DeliveryId, run: Option<&RunId>, state: DeliveryState) -> Value {
    let mut data = json!({ "deliveryId": id.as_str(), "state": state.name() });
    if let Some(run) = run {
        data["runId"] = run.as_str().into();
    }
    data
}
