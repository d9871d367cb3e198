//! Reads snapshots of the engine for the tray.
//!
//! A snapshot is four small calls. Jobs are read again only after a job event, and only as many as
//! the menu shows plus one. Times use the engine's zone and this computer's zone rules.

use rouse_core::naming::from_call;
use rouse_core::schedule::{Zone, Zones};
use rouse_core::{ApprovalId, Clock as _, JobId, RunId, UnixMs};
use rouse_gateway::RpcError;
use rouse_gateway::wire::{
    ApprovalView, ApprovalsListParams, ApprovalsListResult, CronListParams, CronListResult,
    CronStatus, EmptyObject, EventKindView, EventView, RunState, RunView, RunsListParams,
    RunsListResult, SystemStatus,
};
use rouse_host::SystemClock;
use serde_json::Value;

use super::state::{
    ApprovalLine, EngineSummary, FiringState, JobLine, MAX_JOBS, MAX_LIVE, MAX_RUNS, NextRun,
    RunLine, Snapshot,
};
use crate::backend::{Backend, EngineHandle, EngineState};

/// Data invalidated by an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stale {
    /// States and times.
    State,
    /// Also the list of jobs.
    Jobs,
}

impl Stale {
    /// Invalidated data; none if the tray shows nothing of the event.
    pub(crate) fn by(event: &EventView) -> Option<Self> {
        let is = |key: &str, words: &[&str]| {
            event.data.get(key).and_then(Value::as_str).is_some_and(|word| words.contains(&word))
        };
        match event.kind {
            EventKindView::Reset => Some(Self::Jobs),
            EventKindView::Cron if is("action", &["added", "updated", "removed"]) => {
                Some(Self::Jobs)
            }
            EventKindView::Run if event.data.get("step").is_some() => None,
            EventKindView::Cron
            | EventKindView::Run
            | EventKindView::Config
            | EventKindView::Approval => Some(Self::State),
            EventKindView::Delivery
            | EventKindView::Session
            | EventKindView::Heartbeat
            | EventKindView::RunText
            | EventKindView::RunProgress
            | EventKindView::Seen => None,
        }
    }
}

/// Reads snapshots and caches the jobs.
#[derive(Debug, Default)]
pub(super) struct SnapshotReader {
    jobs: Option<Vec<JobLine>>,
    /// Used only for zone rules.
    clock: SystemClock,
}

impl SnapshotReader {
    /// Drops the cached jobs.
    pub(super) fn forget_jobs(&mut self) {
        self.jobs = None;
    }

    /// Reads a snapshot.
    pub(super) async fn read(&mut self, engine: &EngineHandle) -> Snapshot {
        let backend = match engine.state() {
            EngineState::Starting => return Snapshot::Starting,
            EngineState::Failed(reason) => return Snapshot::Failed(reason),
            EngineState::Ready(backend) => backend,
        };
        match self.summary(&backend).await {
            Ok(summary) => Snapshot::Ready(Box::new(summary)),
            Err(error) => Snapshot::Failed(error.message),
        }
    }

    async fn summary(&mut self, backend: &Backend) -> Result<EngineSummary, RpcError> {
        let status: SystemStatus = backend.ask("system.status", &EmptyObject {}).await?;
        let newest =
            RunsListParams { limit: u32::try_from(MAX_RUNS).ok(), ..RunsListParams::default() };
        let recent: RunsListResult = backend.ask("runs.list", &newest).await?;
        let live = backend.ask::<RunsListResult>("runs.list", &live_runs()).await?;
        let pending: ApprovalsListResult =
            backend.ask("approvals.list", &ApprovalsListParams::default()).await?;
        let jobs = match &self.jobs {
            Some(jobs) => jobs.clone(),
            None => self.jobs.insert(read_jobs(backend).await?).clone(),
        };
        Ok(EngineSummary {
            now: UnixMs(status.now_ms),
            zone: zone_of(&status.zone, &self.clock.zones()),
            firing: firing(&status.cron),
            problem: status.problem,
            has_model: status.model.is_some(),
            is_engine_local: backend.is_local(),
            running: status.cron.running,
            between_attempts: status.cron.between_attempts,
            queued: status.cron.queued,
            failing: status.cron.failing_jobs,
            next: status.cron.next.map(|next| NextRun {
                job: JobId::new(next.job_id),
                name: next.name,
                at: UnixMs(next.at_ms),
            }),
            jobs,
            live: live.runs.into_iter().map(run_line).collect(),
            approvals: pending.approvals.into_iter().map(approval_line).collect(),
            recent: recent.runs.into_iter().map(run_line).collect(),
        })
    }
}

/// Zone of the engine; UTC if unknown on this computer, which requires different versions.
pub(crate) fn zone_of(name: &str, zones: &Zones) -> Zone {
    zones.zone(name).unwrap_or(Zone::UTC)
}

/// Live runs, including the first hidden run.
fn live_runs() -> RunsListParams {
    RunsListParams {
        states: Some(vec![RunState::Running, RunState::AwaitingApproval, RunState::Queued]),
        limit: u32::try_from(MAX_LIVE + 1).ok(),
        ..RunsListParams::default()
    }
}

async fn read_jobs(backend: &Backend) -> Result<Vec<JobLine>, RpcError> {
    let first = CronListParams {
        include_disabled: Some(true),
        limit: u32::try_from(MAX_JOBS + 1).ok(),
        ..CronListParams::default()
    };
    let list: CronListResult = backend.ask("cron.list", &first).await?;
    let text = |job: &Value, key: &str| {
        job.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    Ok(list
        .jobs
        .iter()
        .map(|view| JobLine {
            id: JobId::new(text(&view.job, "id")),
            name: text(&view.job, "name"),
        })
        .collect())
}

fn firing(cron: &CronStatus) -> FiringState {
    match (&cron.pause, cron.enabled) {
        (_, false) => FiringState::Off,
        (Some(pause), true) => FiringState::Paused(pause.until_ms.map(UnixMs)),
        (None, true) => FiringState::On,
    }
}

fn approval_line(approval: ApprovalView) -> ApprovalLine {
    ApprovalLine {
        id: ApprovalId::new(approval.id),
        job: approval.job_name,
        call: from_call(&approval.tool, &approval.arguments),
        is_highest: approval.is_highest,
    }
}

fn run_line(run: RunView) -> RunLine {
    let since = run.finished_at_ms.or(run.started_at_ms).unwrap_or(run.created_at_ms);
    RunLine {
        id: RunId::new(run.id),
        name: run.job_name,
        state: run.state,
        is_between_attempts: run.next_attempt_at_ms.is_some(),
        at: UnixMs(run.next_attempt_at_ms.unwrap_or(since)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn by(kind: EventKindView, data: Value) -> Option<Stale> {
        Stale::by(&EventView { seq: 1, at_ms: 0, kind, data })
    }

    #[test]
    fn event_invalidates_matching_data() {
        assert_eq!(
            by(EventKindView::Cron, json!({ "jobId": "j", "action": "added" })),
            Some(Stale::Jobs)
        );
        assert_eq!(
            by(EventKindView::Cron, json!({ "jobId": "j", "action": "finished" })),
            Some(Stale::State)
        );
        assert_eq!(
            by(EventKindView::Run, json!({ "runId": "r", "state": "running" })),
            Some(Stale::State)
        );
        assert_eq!(by(EventKindView::Config, json!({ "pause": {} })), Some(Stale::State));
        assert_eq!(by(EventKindView::Reset, Value::Null), Some(Stale::Jobs));
    }

    #[test]
    fn unrelated_event_invalidates_nothing() {
        assert_eq!(by(EventKindView::Run, json!({ "runId": "r", "step": 3 })), None);
        assert_eq!(by(EventKindView::RunText, json!({ "runId": "r", "text": "…" })), None);
        assert_eq!(by(EventKindView::Delivery, json!({ "deliveryId": "d" })), None);
    }
}
