//! Runs that wait for a person.
//!
//! A run that asks is parked: its questions and its new state are on the disk together, and its place in the lane is
//! free before anybody is told. While it waits, other slots of its job come and go. The last of its answers, or the end
//! of the time for them, puts it back into its lane; whoever does its work then finds the answers in the store. Here is
//! also the one place where an answer is taken, so that two people who click at once cannot both decide. One could get
//! it wrong by keeping a parked run in memory as if it were at work: a restart would have to invent it anew.
//!
//! What an answer has done is on the disk before anything else is read or written for it. So whatever fails after that is
//! tried again by the engine, and is no reason to tell whoever answered that it did not count.

use std::collections::VecDeque;
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
    /// Whether questions have come or gone since that was read.
    is_stale: bool,
    /// Runs that the store has as queued again and that are not in their lanes yet.
    goes_on: VecDeque<Run>,
}

impl Parked {
    /// When the first question ends that nobody has answered.
    pub(crate) const fn next_expiry(&self) -> Option<UnixMs> {
        self.next_expiry
    }

    /// Forgets the parked runs of a job and answers them.
    pub(crate) fn take_those_of(&mut self, job: &JobId) -> Vec<RunId> {
        let is_of_job = |of: &Option<JobId>| of.as_ref() == Some(job);
        let parked = self.runs.extract_if(.., |(_, of)| is_of_job(of)).map(|(run, _)| run);
        let mut of_job: Vec<RunId> = parked.collect();
        let going_on = self.goes_on.iter().filter(|run| is_of_job(&run.job_id));
        of_job.extend(going_on.map(|run| run.id.clone()));
        self.goes_on.retain(|run| !is_of_job(&run.job_id));
        of_job
    }

    /// The ends of questions were changed.
    pub(crate) const fn look_again(&mut self) {
        self.is_stale = true;
    }

    /// Takes up a run that is queued again.
    fn take_up(&mut self, run: Run) {
        self.runs.retain(|(parked, _)| *parked != run.id);
        self.goes_on.push_back(run);
    }

    /// Whether it waits for an answer, or has one and goes on soon.
    pub(crate) fn has(&self, id: &RunId) -> bool {
        self.runs.iter().any(|(run, _)| run == id) || self.goes_on.iter().any(|run| run.id == *id)
    }

    fn forget(&mut self, id: &RunId) {
        self.runs.retain(|(parked, _)| parked != id);
        self.goes_on.retain(|run| run.id != *id);
    }
}

impl Engine {
    /// Parks a run whose attempt has ended in questions. One whose job went meanwhile goes on and is told that nobody is
    /// asked: after an answer, what it had to do would not be known any more.
    pub(crate) async fn park(&mut self, run: &Run, outcome: &Outcome) -> Result<(), StoreError> {
        let now = self.clock.now();
        let job = self.job_of(run).await?;
        let told = question(job.as_ref(), run, &outcome.asks, DeliveryId::generate(now));
        let park = Park {
            run_id: run.id.clone(),
            questions: outcome.asks.clone(),
            usage: outcome.usage,
            worked_ms: run.worked_ms,
            deliveries: vec![told],
            now,
        };
        let parked = match self.store.park_run(&park).await {
            Err(StoreError::NotFound { .. }) => {
                self.goes_on_unasked(&run.id);
                return Ok(());
            }
            parked => parked?,
        };
        self.release(&run.id);
        if parked.is_some() {
            let job_id = run.job_id.as_ref().map(tracing::field::display);
            let questions = outcome.asks.len();
            tracing::info!(job_id, run_id = %run.id, name = run.name_for_log(), questions, "a run waits for an answer");
            self.parked.runs.push((run.id.clone(), run.job_id.clone()));
            self.parked.is_stale = true;
            self.outbox.notify_one();
        }
        Ok(())
    }

    /// Runs that an earlier life has parked.
    pub(crate) async fn load_parked(&mut self) -> Result<(), StoreError> {
        let runs = self.store.parked_runs().await?;
        let runs = runs.into_iter().map(|run| (run.id, run.job_id)).collect();
        // Those that were answered already are found among the queued ones.
        self.parked = Parked { runs, is_stale: true, ..Parked::default() };
        Ok(())
    }

    /// Takes an answer; the first one counts, and none after the end of the time for it.
    pub(crate) async fn decide(
        &mut self,
        id: &ApprovalId,
        answer: &Answer,
        from: AnsweredFrom,
    ) -> Result<Decided, SchedulerError> {
        // Whoever comes too late is told that, and not that nobody has answered yet.
        self.expire_questions().await?;
        let decided = self.store.decide(id, answer, from, self.clock.now()).await?;
        if let Decided::Counts { approval, goes_on } = &decided {
            let run = match goes_on.iter().find(|run| run.id == approval.run_id) {
                Some(run) => Ok(Some(run.clone())),
                None => self.store.run(&approval.run_id).await,
            };
            match run {
                Ok(run) => log_answer(approval, run.map(|run| run.name_for_log())),
                Err(error) => {
                    tracing::debug!(%error, "the run of a question cannot be read");
                    log_answer(approval, None);
                }
            }
            self.parked.is_stale = true;
            for run in goes_on {
                self.parked.take_up(run.clone());
            }
        }
        Ok(decided)
    }

    /// Ends the questions that nobody has answered in time, and puts the runs that go on into their lanes.
    pub(crate) async fn follow_questions(&mut self) -> Result<(), StoreError> {
        self.expire_questions().await?;
        while let Some(run) = self.parked.goes_on.front() {
            let job = self.job_of(run).await?.map(Arc::new);
            let Some(run) = self.parked.goes_on.pop_front() else { break };
            if run.trigger == RunTrigger::Heartbeat {
                self.heartbeat.takes_over();
            }
            self.enqueue(run, job);
        }
        self.look_at_expiry().await
    }

    async fn look_at_expiry(&mut self) -> Result<(), StoreError> {
        if self.parked.is_stale {
            self.parked.next_expiry = self.store.next_expiry().await?;
            self.parked.is_stale = false;
        }
        Ok(())
    }

    async fn expire_questions(&mut self) -> Result<(), StoreError> {
        self.look_at_expiry().await?;
        let now = self.clock.now();
        if self.parked.next_expiry.is_none_or(|end| end > now) {
            return Ok(());
        }
        for run in self.store.expire_approvals(now).await? {
            let job_id = run.job_id.as_ref().map(tracing::field::display);
            tracing::info!(job_id, run_id = %run.id, name = run.name_for_log(), "nobody answered in time");
            self.parked.take_up(run);
        }
        self.parked.is_stale = true;
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

fn log_answer(approval: &Approval, name: Option<String>) {
    let job_id = approval.job_id.as_ref().map(tracing::field::display);
    tracing::info!(job_id, run_id = %approval.run_id, name, tool = approval.tool,
        answer = approval.state.name(), "a question was answered");
}
