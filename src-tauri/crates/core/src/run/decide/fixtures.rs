//! Jobs and runs for the tests of this folder.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::channel::ChannelDirectory;
use crate::job::{Job, Policies, job_from_json};
use crate::{JobId, Run, RunId, RunState, RunTrigger, UnixMs};

/// A computer with the native notification only.
pub(super) fn no_channels() -> &'static ChannelDirectory {
    static NONE: LazyLock<ChannelDirectory> = LazyLock::new(ChannelDirectory::default);
    &NONE
}

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

/// The same with changed policies.
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

/// A run of the job, started at minute one.
pub(super) fn run() -> Run {
    Run {
        job_id: Some(JobId::new("job-1")),
        job_name: "Morning".to_owned(),
        slot_at: Some(UnixMs(60_000)),
        state: RunState::Running,
        started_at: Some(UnixMs(60_001)),
        attempt: 1,
        ..Run::queued(RunId::new("run-1"), RunTrigger::Schedule, UnixMs(60_000))
    }
}
