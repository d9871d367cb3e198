//! From an outcome to the record: what is committed with it, what it does to its job, who is woken.
//!
//! A place in a lane is given back only when the outcome is in the store, so that a job's next run never begins before
//! its last one is on record. What the store does not take stays in memory and is tried again.

use std::sync::Arc;

use rouse_core::condition::Verdict;
use rouse_core::decide::{Ended, JobFate, SETTLED_MS, announce, fate_of_job, incident_step};
use rouse_core::incident::IncidentStep;
use rouse_core::job::{Job, NotifyWhen, Payload, WakeMode, payload_to_json};
use rouse_core::naming::for_log;
use rouse_core::{DeliveryId, JobId, Outcome, Run, RunId, RunState, RunTrigger, UnixMs};
use rouse_store::{Finish, StoreError};
use serde_json::Value;

use crate::attempt::{Running, Work};
use crate::end_log::{log_end, log_finish, log_outcome};
use crate::engine::Engine;
use crate::events::{Follow, rows};
use crate::execute::span_of;
use crate::heartbeat::COALESCE;
use crate::lanes::LaneKey;

/// Why the other runs of a job for one run end with it.
const DONE: &str = "The job is done";
/// Most ends of one transaction: a slot that comes meanwhile waits for them.
const TOGETHER: usize = 64;

/// The end of a run at work, ready to be written.
struct End {
    job_id: Option<JobId>,
    job: Option<Job>,
    fate: JobFate,
    follows: Vec<Follow>,
    finish: Finish,
}

/// A run that left its lane without having started.
#[derive(Debug)]
pub(crate) struct WaitEnded {
    /// The run.
    pub(crate) id: RunId,
    /// How it ended.
    pub(crate) outcome: Outcome,
}

impl Engine {
    /// Whether there is an end to record.
    pub(crate) fn has_ends(&self) -> bool {
        !self.wait_ended.is_empty() || self.running.values().any(Running::is_over)
    }

    /// Records every run that is over.
    pub(crate) async fn record_ends(&mut self) -> Result<(), StoreError> {
        self.record_wait_ends().await?;
        self.record_ends_of_work().await
    }

    /// Ends what waits of a job that is about to go, its place or an answer, as any other run ends: with what that fires.
    pub(crate) async fn end_waiting_of(
        &mut self,
        job: &JobId,
        reason: &str,
    ) -> Result<(), StoreError> {
        self.take_waiting_of(job, reason);
        self.record_wait_ends().await
    }

    /// Records the ends of runs that left their lanes without having started: a thousand that end at once are some
    /// commits, and nothing waits for one of each. One that is told or fires something comes alone, since what it says
    /// and fires depends on what was recorded before it.
    pub(crate) async fn record_wait_ends(&mut self) -> Result<(), StoreError> {
        if !self.wait_ended.is_empty() {
            self.refresh_listeners().await?;
        }
        while !self.wait_ended.is_empty() {
            let quiet = self.quiet_wait_ends().await?;
            if !quiet.is_empty() {
                self.record_quiet(&quiet).await?;
                self.wait_ended.drain(..quiet.len());
            } else if let Some(end) = self.wait_ended.pop_front()
                && let Err(error) = self.record_wait_end(&end.id, &end.outcome).await
            {
                self.wait_ended.push_front(end);
                return Err(error);
            }
        }
        Ok(())
    }

    /// The first of them, up to one that is told or fires something.
    async fn quiet_wait_ends(&self) -> Result<Vec<Finish>, StoreError> {
        let now = self.clock.now();
        let mut quiet = Vec::new();
        for WaitEnded { id, outcome } in self.wait_ended.iter().take(TOGETHER) {
            let said = self.tell_wait_end(id, outcome).await?;
            let is_told = !said.deliveries.is_empty() || said.system_event.is_some();
            if is_told || !self.plan_after_waiting(id, outcome, None).await?.is_empty() {
                break;
            }
            quiet.push(Finish::of(id.clone(), outcome.clone(), now));
        }
        Ok(quiet)
    }

    async fn record_quiet(&mut self, ends: &[Finish]) -> Result<(), StoreError> {
        for run in self.store.finish_runs(ends).await?.iter().flatten() {
            self.wait_is_over(run);
        }
        Ok(())
    }

    /// What follows the end of a run that waited, once it is on the disk.
    fn wait_is_over(&mut self, run: &Run) {
        log_end(run, run.state, run.reason.as_deref(), self.clock.now());
        if has_begun(run) {
            self.tell_finished(run);
        }
    }

    /// Tells the hooks; a line about one that fails names the run.
    fn tell_finished(&self, run: &Run) {
        span_of(run).in_scope(|| self.hooks.finished(run));
    }

    /// Ends of different jobs that fire nothing have nothing to do with each other, and are committed together: a
    /// hundred runs that end at once wait for the disk once. One that fires, or after which its job goes, comes after
    /// them and alone, since what it fires depends on what is going then.
    async fn record_ends_of_work(&mut self) -> Result<(), StoreError> {
        let over = self.running.iter().filter(|(_, running)| running.is_over());
        let over: Vec<RunId> = over.map(|(id, _)| id.clone()).collect();
        if !over.is_empty() {
            self.refresh_listeners().await?;
        }
        let (mut together, mut alone) = (Vec::<End>::new(), Vec::new());
        for id in over {
            let job_id = self.running.get(&id).and_then(|running| running.run.job_id.as_ref());
            if together.len() >= TOGETHER
                || together.iter().any(|end| end.job_id.as_ref() == job_id)
            {
                self.commit_ends(std::mem::take(&mut together)).await?;
            }
            match self.end_of(&id).await? {
                Some(end) if end.follows.is_empty() && end.fate != JobFate::IsDeleted => {
                    together.push(end);
                }
                Some(_) => alone.push(id),
                None => {}
            }
        }
        self.commit_ends(together).await?;
        for id in alone {
            let mut end = self.end_of(&id).await?;
            if let Some(End { job_id: Some(job), fate: JobFate::IsDeleted, .. }) = &end {
                let job = job.clone();
                self.end_waiting_of(&job, DONE).await?;
                end = self.end_of(&id).await?;
            }
            self.commit_ends(end.into_iter().collect()).await?;
        }
        Ok(())
    }

    /// Records the end of a run that has not started, with what it fires. False when it is over already.
    pub(crate) async fn record_wait_end(
        &mut self,
        id: &RunId,
        outcome: &Outcome,
    ) -> Result<bool, StoreError> {
        let said = self.tell_wait_end(id, outcome).await?;
        let follows = self.plan_after_waiting(id, outcome, said.system_event.as_deref()).await?;
        let now = self.clock.now();
        let finish = Finish {
            fired: rows(&follows),
            deliveries: said.deliveries,
            system_event: said.system_event,
            ..Finish::of(id.clone(), outcome.clone(), now)
        };
        let ended = self.store.finish_run(&finish).await?;
        if !finish.deliveries.is_empty() {
            self.outbox.notify_one();
        }
        if let Some(run) = &ended {
            self.wait_is_over(run);
        }
        let is_new = ended.is_some();
        self.follow(follows, |_| is_new);
        Ok(is_new)
    }

    /// What the end of a run at work means. None for one that is not over; one that asks a person is parked.
    async fn end_of(&mut self, id: &RunId) -> Result<Option<End>, StoreError> {
        let Some(running) = self.running.get(id) else { return Ok(None) };
        let (run, Work::Over(outcome)) = (&running.run, &running.work) else { return Ok(None) };
        if outcome.state == RunState::AwaitingApproval {
            let (run, outcome) = (run.clone(), outcome.clone());
            self.park(&run, &outcome).await?;
            return Ok(None);
        }
        // One that has removed its job tells its answer as that job would, and changes nothing about it.
        let gone = running.job.as_deref().filter(|_| running.outlives_job).cloned();
        let is_gone = gone.is_some();
        let job = match gone {
            Some(job) => Some(job),
            None => self.job_of(run).await?,
        };
        let previous = self.previous_result(job.as_ref()).await?;
        let fate = match job.as_ref().filter(|_| !is_gone) {
            Some(job) => fate_of_job(job, run, outcome, self.slot_is_open(job, run).await?),
            None => JobFate::Stays,
        };
        let now = self.clock.now();
        let incident = if run.is_watched() {
            // Who has begun it is there and sees what went wrong.
            IncidentStep::Nothing
        } else {
            self.incident_step(job.as_ref(), outcome, now).await?
        };
        let ended = Ended {
            job: job.as_ref(),
            run,
            outcome,
            fate: &fate,
            incident: &incident,
            previous_result: previous.as_ref(),
        };
        let said = announce(&ended, DeliveryId::generate(now));
        let follows = self.plan_after(run, outcome, said.system_event.as_deref()).await?;
        let finish = Finish {
            started_at: run.started_at,
            fired: rows(&follows),
            deliveries: said.deliveries,
            reminders: self.untold_by(run, outcome).await?,
            asks_for_turn: turn_asked_for(job.as_ref(), outcome),
            system_event: said.system_event,
            is_line_by_person: job.as_ref().is_some_and(Job::reminds_in_persons_words),
            incident: if is_gone { IncidentStep::Nothing } else { incident },
            pause_job: fate.pause_reason().map(str::to_owned),
            delete_job: fate == JobFate::IsDeleted,
            ..Finish::of(id.clone(), (**outcome).clone(), now)
        };
        Ok(Some(End { job_id: run.job_id.clone(), job, fate, follows, finish }))
    }

    /// Whether a job that goes after its run is kept by another run of it. Only for one that is for no slot it is asked.
    async fn slot_is_open(&self, job: &Job, run: &Run) -> Result<bool, StoreError> {
        let may_go = job.delete_after_run && run.slot().is_none();
        Ok(may_go && self.store.has_open_slot(&job.id, &run.id).await?)
    }

    /// Writes ends and follows them: all of them, because they are on the disk and nobody comes back for one.
    async fn commit_ends(&mut self, ends: Vec<End>) -> Result<(), StoreError> {
        let (finishes, ends): (Vec<Finish>, Vec<_>) =
            ends.into_iter().map(|end| (end.finish, (end.job, end.fate, end.follows))).unzip();
        let ended = self.store.finish_runs(&finishes).await?;
        let mut followed = Ok(());
        for ((finish, (job, fate, follows)), ended) in finishes.iter().zip(ends).zip(ended) {
            if let Some(ended) = &ended {
                self.tell_finished(ended);
            }
            let this = self.follow_end(finish, job, &fate, follows, ended.is_some()).await;
            followed = followed.and(this);
        }
        followed
    }

    /// What follows an end that is on the disk.
    async fn follow_end(
        &mut self,
        finish: &Finish,
        job: Option<Job>,
        fate: &JobFate,
        follows: Vec<Follow>,
        is_new: bool,
    ) -> Result<(), StoreError> {
        let Some(running) = self.running.get(&finish.run_id) else { return Ok(()) };
        let (run, outcome) = (&running.run, &finish.outcome);
        let stays = *fate == JobFate::Stays && !running.outlives_job;
        let next_run_at = job.as_ref().filter(|_| stays);
        let next_run_at = next_run_at.and_then(|job| job.state.next_run_at);
        log_finish(run, outcome, next_run_at, finish.now);
        log_outcome(run, outcome);
        let begun_at = main_turn_begun_at(run, outcome);
        let trigger = run.trigger;
        let is_left_out = trigger == RunTrigger::Heartbeat && outcome.state == RunState::Skipped;
        let left_out = outcome.reason.as_deref().filter(|_| is_left_out);
        let job_id = run.job_id.clone();
        self.remember_incident(job_id.as_ref(), &finish.incident);
        self.release(&finish.run_id);
        self.follow(follows, |_| is_new);
        if !finish.deliveries.is_empty() || !finish.reminders.is_empty() {
            self.outbox.notify_one();
        }
        if let Some(reason) = &finish.asks_for_turn {
            let (now, until) = (self.clock.now(), self.clock.monotonic() + COALESCE);
            self.heartbeat.request_stored(reason, now, until);
        }
        if may_go_better(trigger, outcome) {
            self.heartbeat.request_again(self.clock.monotonic());
        } else if trigger.is_main_turn() {
            self.heartbeat.has_gone_well();
        }
        if let Some(job) = job {
            self.settle_job(&job, fate, &finish.run_id);
        }
        match (begun_at, left_out) {
            (Some(begun_at), _) => self.ask_for_the_rest(begun_at).await,
            (None, Some(reason)) => self.skip_beat(reason, finish.now).await,
            (None, None) => Ok(()),
        }
    }

    /// What an outcome does to the incidents of its job. Most ends are well and their jobs have none, which costs no
    /// reading.
    pub(crate) async fn incident_step(
        &self,
        job: Option<&Job>,
        outcome: &Outcome,
        now: UnixMs,
    ) -> Result<IncidentStep, StoreError> {
        let id = job.map(|job| &job.id);
        let goes_wrong = outcome.state.is_failure()
            || matches!(outcome.verdict, Some(Verdict::Broken(_)))
            || job.is_some() && outcome.lacks_model();
        let mut known = match id.is_none_or(|id| goes_wrong || self.with_incidents.contains(id)) {
            true => self.store.open_incidents(id).await?,
            false => Vec::new(),
        };
        if goes_wrong {
            known.extend(self.store.recovered_incidents(id, now.plus_ms(-SETTLED_MS)).await?);
        }
        Ok(incident_step(job, outcome, &known, now))
    }

    /// Remembers which jobs have open incidents; one too many costs a reading.
    pub(crate) fn remember_incident(&mut self, job: Option<&JobId>, step: &IncidentStep) {
        let Some(job) = job else { return };
        match step {
            IncidentStep::Opens { .. } | IncidentStep::ComesBack { .. } => {
                self.with_incidents.insert(job.clone());
            }
            IncidentStep::Recovers { .. } => drop(self.with_incidents.remove(job)),
            IncidentStep::GoesOn { .. } | IncidentStep::Nothing => {}
        }
    }

    /// Which jobs an earlier life left with open incidents.
    pub(crate) async fn load_incidents(&mut self) -> Result<(), StoreError> {
        self.with_incidents = self.store.jobs_with_incidents().await?.into_iter().collect();
        Ok(())
    }

    /// The job of a run as it is defined now, with the work that the run was claimed with; none when it is gone, or when
    /// this version cannot read it.
    pub(crate) async fn job_of(&self, run: &Run) -> Result<Option<Job>, StoreError> {
        let Some(id) = &run.job_id else { return Ok(None) };
        match self.store.job(id).await {
            Err(error @ StoreError::Unreadable { .. }) => {
                // Its runs must come to an end all the same.
                tracing::error!(%error, job_id = %id, run_id = %run.id, name = run.name_for_log(), "the job of a run cannot be read");
                Ok(None)
            }
            job => Ok(job?.and_then(|job| as_claimed(job, run))),
        }
    }

    async fn previous_result(&self, job: Option<&Job>) -> Result<Option<Value>, StoreError> {
        match job {
            Some(Job { id, payload: Payload::ToolCall(call), .. })
                if call.notify_when == NotifyWhen::Changed =>
            {
                self.store.last_result(id).await
            }
            _ => Ok(None),
        }
    }

    /// Gives the place of a recorded run back.
    pub(crate) fn release(&mut self, id: &RunId) {
        if let Some(running) = self.running.remove(id) {
            match running.has_place {
                true => self.lanes.finished(&running.lane, running.rank),
                false => self.lanes.finished_at_rest(&running.lane),
            }
            if running.run.trigger == RunTrigger::Heartbeat {
                self.heartbeat.beat_ended();
            }
        }
    }

    pub(crate) fn settle_job(&mut self, job: &Job, fate: &JobFate, by: &RunId) {
        match fate {
            JobFate::Stays => {}
            JobFate::IsDeleted => {
                self.next_due_is_stale = true;
                self.end_runs_of(&job.id, DONE);
            }
            JobFate::IsPaused(reason) => {
                let name = for_log(&job.name, &payload_to_json(&job.payload), job.id.as_str());
                tracing::warn!(job_id = %job.id, run_id = %by, name, reason, "a job was switched off");
                self.next_due_is_stale = true;
                self.skip_waiting(Some(&job.id), reason);
            }
        }
    }

    /// Takes runs that slots asked for out of their lanes, as skipped: those of one job, or all. Those that wait for their
    /// next attempt end with the failure of the last.
    pub(crate) fn skip_waiting(&mut self, job: Option<&JobId>, reason: &str) {
        self.give_up_waits(job, reason);
        let goes = |run: &Run| {
            !has_begun(run)
                && !matches!(
                    run.trigger,
                    RunTrigger::Manual | RunTrigger::Heartbeat | RunTrigger::Chat
                )
                && job.is_none_or(|job| run.job_id.as_ref() == Some(job))
        };
        for id in self.lanes.remove_where(|waiting| goes(&waiting.run)) {
            self.wait_ended.push_back(WaitEnded { id, outcome: Outcome::skipped(reason) });
        }
    }

    /// What came with the open runs of a job that was changed follows the change, but for their work.
    pub(crate) fn refresh_runs_of(&mut self, job: &Job) {
        let lane = LaneKey::Job(job.id.clone());
        for (_, load) in self.lanes.loads_of(&lane) {
            load.job = as_claimed(job.clone(), &load.run).map(Arc::new);
        }
        self.lanes.set_width(&lane, crate::execute::lane_width(job));
        for running in self.begun_runs_of(&job.id) {
            if let Some(job) = as_claimed(job.clone(), &running.run) {
                running.follows(job);
            }
        }
        self.refuse_waits_of(job);
    }
}

/// `job` with the work that `run` was claimed with; none when nobody can read what that was.
pub(crate) fn as_claimed(job: Job, run: &Run) -> Option<Job> {
    let id = job.id.clone();
    match job.as_claimed(&run.payload) {
        Ok(job) => Some(job),
        Err(error) => {
            tracing::error!(%error, job_id = %id, run_id = %run.id, name = run.name_for_log(), "what a run has to do cannot be read");
            None
        }
    }
}

/// Whether it has done a part of its work and waits for a place to go on.
pub(crate) const fn has_begun(run: &Run) -> bool {
    run.started_at.is_some()
}

/// When a turn of the main session began that did its work; it may have left lines for the next.
fn main_turn_begun_at(run: &Run, outcome: &Outcome) -> Option<UnixMs> {
    let has_worked = matches!(outcome.state, RunState::Succeeded | RunState::NothingToReport);
    run.started_at.filter(|_| has_worked && run.trigger.is_main_turn())
}

/// Why a reminder that is queued for the main session asks for a turn at once, where it does.
fn turn_asked_for(job: Option<&Job>, outcome: &Outcome) -> Option<String> {
    let job = job.filter(|job| job.wake_mode == WakeMode::Now)?;
    let is_told = matches!(job.payload, Payload::SystemEvent { .. });
    (is_told && outcome.state == RunState::Succeeded).then(|| format!("cron:{}", job.id))
}

/// Whether a turn that was to see what waits for the main session has not come to it, and another one later may: no model
/// answered. One that a budget or a person has ended may not, and one that had nothing to see to need not.
fn may_go_better(trigger: RunTrigger, outcome: &Outcome) -> bool {
    let is_absent = outcome.state == RunState::Skipped && outcome.budget.is_none();
    let came_to_nothing = is_absent || outcome.state.is_failure();
    trigger == RunTrigger::Heartbeat && came_to_nothing && outcome.may_pass
}
