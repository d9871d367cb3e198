//! Runs that wait for a person.
//!
//! A run that asks is parked: its questions and its new state are on the disk together, and its place in the lane is
//! free before anybody is told. While it waits, other slots of its job come and go. The last of its answers, or the end
//! of the time for them, puts it back into its lane; whoever does its work then finds the answers in the store. Here is
//! also the one place where an answer is taken, so that two people who click at once cannot both decide. One could get
//! it wrong by keeping a parked run in memory as if it were at work: a restart would have to invent it anew.

use std::sync::Arc;

use rouse_core::approval::{Answer, AnsweredFrom, Approval};
use rouse_core::decide::question;
use rouse_core::{
    ApprovalId, DeliveryId, JobId, Outcome, Run, RunId, RunState, RunTrigger, UnixMs,
};
use rouse_store::{Decided, Park, StoreError};

use crate::SchedulerError;
use crate::engine::Engine;
use crate::finish::WaitEnded;

/// What the engine remembers of parked runs; everything else is in the store.
#[derive(Debug, Default)]
pub(crate) struct Parked {
    /// The runs, each with its job.
    runs: Vec<(RunId, Option<JobId>)>,
    /// When the first of their questions ends.
    next_expiry: Option<UnixMs>,
}

impl Parked {
    /// When the first question ends that nobody has answered.
    pub(crate) const fn next_expiry(&self) -> Option<UnixMs> {
        self.next_expiry
    }

    /// Forgets the parked runs of a job and answers them.
    pub(crate) fn take_those_of(&mut self, job: &JobId) -> Vec<RunId> {
        let (of_job, others) = std::mem::take(&mut self.runs)
            .into_iter()
            .partition(|(_, of)| of.as_ref() == Some(job));
        self.runs = others;
        let of_job: Vec<(RunId, Option<JobId>)> = of_job;
        of_job.into_iter().map(|(run, _)| run).collect()
    }

    fn forget(&mut self, run: &RunId) {
        self.runs.retain(|(parked, _)| parked != run);
    }
}

impl Engine {
    /// Parks a run whose attempt has ended in questions.
    pub(crate) async fn park(&mut self, run: &Run, outcome: &Outcome) -> Result<(), StoreError> {
        let now = self.clock.now();
        let job = self.job_of(run).await?;
        let told = question(job.as_ref(), run, &outcome.asks, DeliveryId::generate(now));
        let park = Park {
            run_id: run.id.clone(),
            questions: outcome.asks.clone(),
            usage: outcome.usage,
            deliveries: vec![told],
            now,
        };
        let parked = self.store.park_run(&park).await?;
        self.release(&run.id);
        if parked.is_some() {
            let job_id = run.job_id.as_ref().map(tracing::field::display);
            let questions = outcome.asks.len();
            tracing::info!(job_id, run_id = %run.id, name = run.job_name, questions, "a run waits for an answer");
            self.parked.runs.push((run.id.clone(), run.job_id.clone()));
            self.parked.next_expiry = self.store.next_expiry().await?;
            self.outbox.notify_one();
        }
        Ok(())
    }

    /// Runs that an earlier life has parked.
    pub(crate) async fn load_parked(&mut self) -> Result<(), StoreError> {
        let runs = self.store.parked_runs().await?;
        self.parked.runs = runs.into_iter().map(|run| (run.id, run.job_id)).collect();
        self.parked.next_expiry = self.store.next_expiry().await?;
        Ok(())
    }

    /// Takes an answer; the first one counts.
    pub(crate) async fn decide(
        &mut self,
        id: &ApprovalId,
        answer: &Answer,
        from: AnsweredFrom,
    ) -> Result<Decided, SchedulerError> {
        let decided = self.store.decide(id, answer, from, self.clock.now()).await?;
        if let Decided::Counts { approval, goes_on } = &decided {
            log_answer(approval);
            if let Some(run) = goes_on {
                self.go_on((**run).clone()).await?;
            }
            self.parked.next_expiry = self.store.next_expiry().await?;
        }
        Ok(decided)
    }

    /// Ends the questions that nobody has answered in time.
    pub(crate) async fn expire_questions(&mut self) -> Result<(), StoreError> {
        let now = self.clock.now();
        if self.parked.next_expiry.is_none_or(|end| end > now) {
            return Ok(());
        }
        for run in self.store.expire_approvals(now).await? {
            let job_id = run.job_id.as_ref().map(tracing::field::display);
            tracing::info!(job_id, run_id = %run.id, name = run.job_name, "nobody answered in time");
            self.go_on(run).await?;
        }
        self.parked.next_expiry = self.store.next_expiry().await?;
        Ok(())
    }

    /// Puts a run that is queued again into its lane.
    async fn go_on(&mut self, run: Run) -> Result<(), StoreError> {
        self.parked.forget(&run.id);
        if run.trigger == RunTrigger::Heartbeat {
            self.heartbeat.takes_over();
        }
        let job = self.job_of(&run).await?.map(Arc::new);
        self.enqueue(run, job);
        Ok(())
    }

    /// Ends the parked runs of a job.
    pub(crate) fn end_parked_of(&mut self, job: &JobId, reason: &str) {
        for id in self.parked.take_those_of(job) {
            let outcome =
                Outcome { reason: Some(reason.to_owned()), ..Outcome::of(RunState::Cancelled) };
            self.wait_ended.push_back(WaitEnded { id, outcome });
        }
    }

    /// A parked run that was ended by hand is remembered no more.
    pub(crate) fn forget_parked(&mut self, id: &RunId) {
        self.parked.forget(id);
    }
}

fn log_answer(approval: &Approval) {
    let job_id = approval.job_id.as_ref().map(tracing::field::display);
    tracing::info!(job_id, run_id = %approval.run_id, name = approval.job_name, tool = approval.tool,
        answer = approval.state.name(), "a question was answered");
}
