//! Runs that a person starts: manual runs, retries, chat messages and tool trials.
//!
//! Each is a normal run: stored before the acknowledgement, in the lane behind earlier runs, and with one visible end.
//! A pause and the kill switch apply to scheduled runs only. After a restart a chat message continues from the
//! transcript; a tool trial does not start over, because the person can repeat the trial. A trial has no job, since the
//! payload of a job counts as approved, while a trial must show the approvals that a model's call would need.
//! Pitfall: a chat message that crashes Rouse must not be restarted without limit.

use std::collections::HashMap;
use std::sync::Arc;

use rouse_core::job::{Job, to_json};
use rouse_core::run::ManualRunMode;
use rouse_core::{JobId, Run, RunId, RunTrigger, UnixMs};
use rouse_store::StoreError;
use serde_json::{Value, json};

use super::Engine;
use crate::error::SchedulerError;
use crate::state::active_run::Phase;
use crate::state::permits::PermitKind;
use crate::state::queued_run::{lane_of, new_run};
use crate::state::wait_graph::{WaitGraph, WaitNode};
use crate::status::ChatMessage;

impl Engine {
    pub(super) async fn run_now(
        &mut self,
        id: &JobId,
        mode: ManualRunMode,
        awaited_by: Option<&RunId>,
    ) -> Result<Option<RunId>, SchedulerError> {
        let job = self.existing_job(id).await?;
        let now = self.clock.now();
        let run = manual_run(&job, now);
        if let Some(by) = awaited_by {
            let trigger =
                if mode == ManualRunMode::Due { RunTrigger::Schedule } else { run.trigger };
            self.check_await(by, &run.id, Some(&Run { trigger, ..run.clone() }), &job.name)?;
        }
        let run = match mode {
            ManualRunMode::Force => Some(self.insert_manual(run, Some(job)).await?),
            ManualRunMode::Due if job.state.next_run_at.is_none_or(|next| next > now) => None,
            ManualRunMode::Due => {
                let queued = self.tick(now).await?.queued;
                queued.into_iter().find(|run| self.is_run_of(run, id))
            }
        };
        if let (Some(by), Some(run)) = (awaited_by, &run) {
            self.note_await(by, run);
        }
        Ok(run)
    }

    pub(super) async fn retry(&mut self, id: &RunId) -> Result<RunId, SchedulerError> {
        let run = self.store.run(id).await?;
        let run = run.ok_or_else(|| StoreError::NotFound { what: "run", id: id.to_string() })?;
        if !run.state.is_final() {
            return Err(SchedulerError::NotOver);
        }
        let job_id = run.job_id.ok_or(SchedulerError::IsMainTurn)?;
        let job = self.store.job(&job_id).await?;
        let job = job.ok_or(SchedulerError::JobIsGone { name: run.job_name })?;
        let retry_of = Some(run.id);
        let run = Run { retry_of, ..manual_run(&job, self.clock.now()) };
        self.insert_manual(run, Some(job)).await
    }

    /// Queues a chat message. A key that was used before stands for the same message.
    pub(super) async fn chat(&mut self, message: ChatMessage) -> Result<RunId, SchedulerError> {
        let ChatMessage { text, key, reply_to } = message;
        let id = key.map(|key| RunId::new(format!("chat-{key}")));
        if let Some(id) = &id
            && let Some(known) = self.store.run(id).await?
        {
            let is_same = known.payload["text"] == text;
            return is_same.then_some(known.id).ok_or(SchedulerError::KeyIsTaken);
        }
        let mut payload = json!({ "kind": "chat", "text": text });
        if let Some(route) = reply_to {
            payload["replyTo"] = json!(route);
        }
        let run = new_run(None, RunTrigger::Chat, payload, self.clock.now());
        let id = id.unwrap_or_else(|| run.id.clone());
        self.insert_manual(Run { id, job_name: "Chat".to_owned(), ..run }, None).await
    }

    /// Queues a tool trial.
    pub(super) async fn try_tool(
        &mut self,
        tool: &str,
        arguments: &Value,
    ) -> Result<RunId, SchedulerError> {
        let payload = json!({ "kind": "trial", "tool": tool, "arguments": arguments });
        let run = new_run(None, RunTrigger::Manual, payload, self.clock.now());
        let job_name = format!("Trial of {tool}");
        self.insert_manual(Run { job_name, session: None, ..run }, None).await
    }

    async fn insert_manual(&mut self, run: Run, job: Option<Job>) -> Result<RunId, SchedulerError> {
        self.store.insert_run(&run, run.created_at).await?;
        let id = run.id.clone();
        self.enqueue(run, job.map(Arc::new));
        Ok(id)
    }

    /// Lets the active run `by` wait for the run `id`.
    pub(super) fn await_run(&mut self, id: &RunId, by: &RunId) -> Result<(), SchedulerError> {
        let name = self.run_in_memory(id).map_or_else(String::new, |run| run.job_name.clone());
        self.check_await(by, id, None, &name)?;
        self.note_await(by, id);
        Ok(())
    }

    fn note_await(&mut self, by: &RunId, id: &RunId) {
        let active = self.active.get_mut(by);
        if let Some(active) = active.filter(|run| matches!(run.phase, Phase::Attempt(_))) {
            active.awaits.push(id.clone());
        }
    }

    /// Refuses an endless wait of the active run `by` for the run `id`: `id` needs a lane or permit that is free only
    /// after `by`. `new_run` is the run `id` before it is queued.
    fn check_await(
        &self,
        by: &RunId,
        id: &RunId,
        new_run: Option<&Run>,
        name: &str,
    ) -> Result<(), SchedulerError> {
        if self.active.get(by).is_none() {
            return Ok(());
        }
        let active = self.active.iter().map(|run| WaitNode {
            id: run.run.id.clone(),
            lane: run.lane.clone(),
            permit: run.permit,
            holds_lane: true,
            holds_permit: run.holds_permit,
            awaits: run.awaits.iter().chain((run.run.id == *by).then_some(id)).cloned().collect(),
        });
        let queued = self.lanes.queued().map(|(_, queued)| &queued.run);
        let waiting = queued.chain(self.parked.iter()).chain(new_run).map(|run| WaitNode {
            id: run.id.clone(),
            lane: lane_of(run),
            permit: PermitKind::from(run.trigger),
            holds_lane: false,
            holds_permit: false,
            awaits: Vec::new(),
        });
        let nodes: Vec<WaitNode> = active.chain(waiting).collect();
        let rooms = nodes.iter().map(|node| (node.lane.clone(), self.lanes.room_in(&node.lane)));
        let lane_room: HashMap<_, _> = rooms.collect();
        let graph = WaitGraph { nodes, permits: *self.lanes.permits(), lane_room };
        if graph.can_end(by) {
            Ok(())
        } else {
            Err(SchedulerError::Deadlock { name: name.to_owned() })
        }
    }

    fn run_in_memory(&self, id: &RunId) -> Option<&Run> {
        let queued = || self.lanes.queued().find(|(run, _)| *run == id).map(|(_, run)| &run.run);
        self.active.get(id).map(|active| &active.run).or_else(queued)
    }

    fn is_run_of(&self, run: &RunId, job: &JobId) -> bool {
        self.run_in_memory(run).is_some_and(|run| run.job_id.as_ref() == Some(job))
    }
}

fn manual_run(job: &Job, now: UnixMs) -> Run {
    new_run(Some(job), RunTrigger::Manual, to_json(&job.payload), now)
}
