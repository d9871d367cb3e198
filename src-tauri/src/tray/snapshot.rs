//! Takes a reading of the engine for the tray.
//!
//! A reading is four small questions; the jobs are asked for again only when an event says that one was added, changed or
//! removed, and then only as many as the menu shows, and one that tells that there are more. Times of day follow the same
//! zone data as the engine: the engine names its zone, and this computer has the rules.

use rouse_core::naming::from_call;
use rouse_core::schedule::{Zone, Zones};
use rouse_core::{ApprovalId, Clock as _, JobId, RunId, UnixMs};
use rouse_gateway::RpcError;
use rouse_gateway::wire::{
    ApprovalView, ApprovalsListParams, ApprovalsListResult, CronListParams, CronListResult,
    CronStatus, Empty, EventKind, EventView, RunState, RunView, RunsListParams, RunsListResult,
    SystemStatus,
};
use rouse_host::SystemClock;
use serde_json::Value;

use super::state::{
    Facts, Firing, JobLine, MOST_JOBS, MOST_LIVE, MOST_RUNS, NextSlot, QuestionLine, RunLine,
    Snapshot,
};
use crate::backend::{Backend, Engine, EngineDoor};

/// What an event makes stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stale {
    /// States and times.
    Facts,
    /// The list of jobs as well.
    Jobs,
}

impl Stale {
    /// What `event` makes stale of the tray; none when it shows nothing of it.
    pub(crate) fn by(event: &EventView) -> Option<Self> {
        let is = |key: &str, words: &[&str]| {
            event.data.get(key).and_then(Value::as_str).is_some_and(|word| words.contains(&word))
        };
        match event.kind {
            EventKind::Reset => Some(Self::Jobs),
            EventKind::Cron if is("action", &["added", "updated", "removed"]) => Some(Self::Jobs),
            EventKind::Run if event.data.get("step").is_some() => None,
            EventKind::Cron | EventKind::Run | EventKind::Config | EventKind::Approval => {
                Some(Self::Facts)
            }
            EventKind::Delivery
            | EventKind::Session
            | EventKind::Heartbeat
            | EventKind::RunText
            | EventKind::Seen => None,
        }
    }
}

/// Takes readings; remembers the jobs between two.
#[derive(Debug, Default)]
pub(super) struct Reader {
    jobs: Option<Vec<JobLine>>,
    /// For the rules of zones alone.
    clock: SystemClock,
}

impl Reader {
    /// The jobs have changed.
    pub(super) fn forget_jobs(&mut self) {
        self.jobs = None;
    }

    /// How the engine is now.
    pub(super) async fn read(&mut self, door: &EngineDoor) -> Snapshot {
        let backend = match door.engine() {
            Engine::Starting => return Snapshot::Starting,
            Engine::Failed(reason) => return Snapshot::Failed(reason),
            Engine::Ready(backend) => backend,
        };
        match self.facts(&backend).await {
            Ok(facts) => Snapshot::Ready(Box::new(facts)),
            Err(error) => Snapshot::Failed(error.message),
        }
    }

    async fn facts(&mut self, backend: &Backend) -> Result<Facts, RpcError> {
        let status: SystemStatus = backend.ask("system.status", &Empty {}).await?;
        let newest =
            RunsListParams { limit: u32::try_from(MOST_RUNS).ok(), ..RunsListParams::default() };
        let recent: RunsListResult = backend.ask("runs.list", &newest).await?;
        let live = backend.ask::<RunsListResult>("runs.list", &live_runs()).await?;
        let asked: ApprovalsListResult =
            backend.ask("approvals.list", &ApprovalsListParams::default()).await?;
        let jobs = match &self.jobs {
            Some(jobs) => jobs.clone(),
            None => self.jobs.insert(read_jobs(backend).await?).clone(),
        };
        Ok(Facts {
            now: UnixMs(status.now_ms),
            zone: zone_of(&status.zone, &self.clock.zones()),
            firing: firing(&status.cron),
            problem: status.problem,
            has_model: status.model.is_some(),
            engine_is_ours: backend.is_ours(),
            running: status.cron.running,
            between_attempts: status.cron.between_attempts,
            queued: status.cron.queued,
            failing: status.cron.failing_jobs,
            next: status.cron.next.map(|next| NextSlot {
                job: JobId::new(next.job_id),
                name: next.name,
                at: UnixMs(next.at_ms),
            }),
            jobs,
            live: live.runs.into_iter().map(run_line).collect(),
            questions: asked.approvals.into_iter().map(question_line).collect(),
            recent: recent.runs.into_iter().map(run_line).collect(),
        })
    }
}

/// The engine's zone; UTC when this computer knows no such zone, which can be only when the engine is another version.
pub(crate) fn zone_of(name: &str, zones: &Zones) -> Zone {
    zones.zone(name).unwrap_or(Zone::UTC)
}

/// Runs that are not over, and one more than is shown.
fn live_runs() -> RunsListParams {
    RunsListParams {
        states: Some(vec![RunState::Running, RunState::AwaitingApproval, RunState::Queued]),
        limit: u32::try_from(MOST_LIVE + 1).ok(),
        ..RunsListParams::default()
    }
}

async fn read_jobs(backend: &Backend) -> Result<Vec<JobLine>, RpcError> {
    let first = CronListParams {
        include_disabled: Some(true),
        limit: u32::try_from(MOST_JOBS + 1).ok(),
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

fn firing(cron: &CronStatus) -> Firing {
    match (&cron.pause, cron.enabled) {
        (_, false) => Firing::Off,
        (Some(pause), true) => Firing::Paused(pause.until_ms.map(UnixMs)),
        (None, true) => Firing::On,
    }
}

fn question_line(one: ApprovalView) -> QuestionLine {
    QuestionLine {
        id: ApprovalId::new(one.id),
        job: one.job_name,
        call: from_call(&one.tool, &one.arguments),
        is_highest: one.is_highest,
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

    fn by(kind: EventKind, data: Value) -> Option<Stale> {
        Stale::by(&EventView { seq: 1, at_ms: 0, kind, data })
    }

    #[test]
    fn events_make_stale_what_they_change() {
        assert_eq!(
            by(EventKind::Cron, json!({ "jobId": "j", "action": "added" })),
            Some(Stale::Jobs)
        );
        assert_eq!(
            by(EventKind::Cron, json!({ "jobId": "j", "action": "finished" })),
            Some(Stale::Facts)
        );
        assert_eq!(
            by(EventKind::Run, json!({ "runId": "r", "state": "running" })),
            Some(Stale::Facts)
        );
        assert_eq!(by(EventKind::Config, json!({ "pause": {} })), Some(Stale::Facts));
        assert_eq!(by(EventKind::Reset, Value::Null), Some(Stale::Jobs));
    }

    #[test]
    fn what_the_tray_does_not_show_costs_no_reading() {
        assert_eq!(by(EventKind::Run, json!({ "runId": "r", "step": 3 })), None);
        assert_eq!(by(EventKind::RunText, json!({ "runId": "r", "text": "…" })), None);
        assert_eq!(by(EventKind::Delivery, json!({ "deliveryId": "d" })), None);
    }
}
