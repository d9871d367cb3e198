//! The job document on the wire. `rouse_core::job` declares and documents every field of a job.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

pub use rouse_core::job::{
    AgentTurn, Approvals, Budget, EventTrigger, FolderGrant, Isolation, Job, JobFact, JobState,
    LastOutcome, Misfire, MisfireMode, Notify, NotifyCondition, NotifyWhen, NotifyWord, Overlap,
    Payload, Policies, Runtime, Sandbox, Schedule, ScheduleSpec, SessionTarget, ToolCall, WakeMode,
};
pub use rouse_core::model::Effort;
pub use rouse_core::run::{RfcStatus, RunState, RunTrigger};
pub use rouse_core::time::{DayOfWeek, QuietHours, QuietPolicy, QuietWord};

/// A new job. The engine sets missing fields and accepts an unused `id`, to undo a deletion.
#[derive(TS)]
#[ts(type = "Partial<Omit<Job, \"name\" | \"schedule\" | \"payload\" | \"state\">> \
            & { name: string; schedule: WrittenSchedule; payload: Payload }")]
#[expect(dead_code, reason = "declares a type for TypeScript")]
pub(crate) struct JobDraft {
    job: Job,
    schedule: WrittenSchedule,
    payload: Payload,
}

/// A schedule as a client sends it. The engine sets zone and anchor, and converts the local time `at`.
#[derive(TS)]
#[ts(type = "Schedule | { kind: \"at\"; at: string; tz?: string; jitterMs?: number } \
            | { kind: \"every\"; everyMs: number; anchorMs?: number; jitterMs?: number } \
            | { kind: \"cron\"; expr: string; tz?: string; jitterMs?: number }")]
#[expect(dead_code, reason = "declares a type for TypeScript")]
pub(crate) struct WrittenSchedule(Schedule);

/// A job that starts after another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Follower {
    /// Id of the job.
    pub id: String,
    /// Name of the job.
    pub name: String,
}
