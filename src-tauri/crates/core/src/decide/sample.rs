//! A job and a run to decide about, for the tests of this folder.

use serde_json::{Value, json};

use crate::job::{Job, Policies, job_from_json};
use crate::{JobId, Run, RunId, RunState, RunTrigger, UnixMs, run::Usage};

/// A job every minute on the minute.
pub(super) fn job() -> Job {
    let document = json!({
        "id": "job-1",
        "name": "Morning",
        "schedule": { "kind": "every", "everyMs": 60_000, "anchorMs": 0 },
        "payload": { "kind": "toolCall", "tool": "echo" },
    });
    job_from_json(document, UnixMs(0), chrono_tz::UTC).expect("a valid job")
}

/// The same with other policies.
pub(super) fn job_with(change: impl FnOnce(&mut Policies)) -> Job {
    let mut job = job();
    change(&mut job.policies);
    job
}

/// The same with another payload.
pub(super) fn job_doing(payload: Value) -> Job {
    let patch = json!({ "payload": payload, "sessionTarget": null });
    crate::job::patch_job(&job(), patch, UnixMs(0), chrono_tz::UTC).expect("a valid job")
}

/// A run of the job that began at one minute.
pub(super) fn run() -> Run {
    Run {
        id: RunId::new("run-1"),
        job_id: Some(JobId::new("job-1")),
        job_name: "Morning".to_owned(),
        slot_at: Some(UnixMs(60_000)),
        trigger: RunTrigger::Schedule,
        state: RunState::Running,
        reason: None,
        stands_for: 1,
        created_at: UnixMs(60_000),
        started_at: Some(UnixMs(60_001)),
        finished_at: None,
        attempt: 1,
        retry_of: None,
        summary: None,
        error: None,
        session: None,
        model: None,
        usage: Usage::default(),
        payload: Value::Null,
    }
}
