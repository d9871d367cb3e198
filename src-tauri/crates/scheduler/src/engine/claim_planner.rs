//! From due jobs to planned claims, without the engine's state.

use std::sync::Arc;

use rouse_core::decide::{ClaimPlan, DueSlot, Firing, PlannedRun, plan_claim};
use rouse_core::job::{Job, to_json};
use rouse_core::schedule::Zones;
use rouse_core::slots::{DecidedSlots, Slots};
use rouse_core::{Run, RunState, RunTrigger, UnixMs};
use rouse_store::{Claim, DueJob, DueJobs, StoreError};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::state::claim_draft::{ClaimFollowUp, PlannedClaim};
use crate::state::queued_run::new_run;

/// Plans the claims of a tick.
pub(super) struct ClaimPlanner {
    pub(super) zones: Zones,
    pub(super) now: UnixMs,
    pub(super) firing: Firing,
    /// The start of the pause.
    pub(super) paused_since: Option<UnixMs>,
}

impl ClaimPlanner {
    /// Plans the rest of a crowd in a separate task, so that a batch is ready when the previous batch is committed.
    pub(super) fn plan_in_background(
        self,
        mut due: DueJobs,
    ) -> mpsc::Receiver<Result<Vec<PlannedClaim>, StoreError>> {
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(async move {
            while let Some(batch) = due.next().await.transpose() {
                let has_failed = batch.is_err();
                let sent = sender.send(batch.map(|batch| self.plan_batch(batch))).await;
                if sent.is_err() || has_failed {
                    return;
                }
            }
        });
        receiver
    }

    pub(super) fn plan_batch(&self, batch: Vec<DueJob>) -> Vec<PlannedClaim> {
        batch.into_iter().filter_map(|due| self.plan(due)).collect()
    }

    fn plan(&self, due: DueJob) -> Option<PlannedClaim> {
        let DueJob { job, queued, active, last_run_at } = due;
        let slot = job.state.next_run_at?;
        let plan = match Slots::of_job(&job.schedule, &job.id, job.created_at, &self.zones) {
            Ok(slots) => {
                let due = DueSlot { job: &job, slots: &slots, slot, queued, active, last_run_at };
                plan_claim(due, self.now, &self.firing)
            }
            Err(reason) => unreadable_schedule_plan(slot, job.state.decided, &reason),
        };
        let payload = to_json(&job.payload);
        let runs = plan.runs.into_iter().map(|run| claimed_run(&job, run, &payload, self.now));
        let claim = Claim {
            job_id: job.id.clone(),
            slot_at: slot,
            next_run_at: plan.next_run_at,
            decided: plan.decided,
            runs: runs.collect(),
            coalesce_key: Some(self.skip_group(&job)),
            fired: Vec::new(),
        };
        let follow_up = ClaimFollowUp { job: Arc::new(job), cancels_others: plan.cancel_others };
        Some(PlannedClaim { claim, follow_up })
    }

    /// Skipped slots share a row as long as revision and pause are the same.
    fn skip_group(&self, job: &Job) -> String {
        let revision = job.state.revision;
        match self.paused_since {
            Some(since) => format!("{revision}/{}", since.0),
            None => revision.to_string(),
        }
    }
}

/// The plan for a job with an unreadable schedule: the slot is skipped, and no slot follows.
fn unreadable_schedule_plan(slot_at: UnixMs, decided: DecidedSlots, reason: &str) -> ClaimPlan {
    let run = PlannedRun {
        slot_at,
        first_slot_at: None,
        trigger: RunTrigger::Schedule,
        state: RunState::Skipped,
        reason: Some(format!("The schedule cannot be read: {reason}")),
        slot_count: 1,
    };
    ClaimPlan { runs: vec![run], next_run_at: None, decided, cancel_others: false }
}

fn claimed_run(job: &Job, planned: PlannedRun, payload: &Value, now: UnixMs) -> Run {
    let PlannedRun { slot_at, first_slot_at, trigger, state, reason, slot_count } = planned;
    Run {
        slot_at: Some(slot_at),
        first_slot_at,
        state,
        reason,
        slot_count,
        finished_at: state.is_final().then_some(now),
        ..new_run(Some(job), trigger, payload.clone(), now)
    }
}
