//! What an event fires.
//!
//! Decided before the transaction that makes the event a fact, and committed with it: the end of a run and the run that
//! comes after it, the line for the main session and the run that it fires. Runs get into their lanes when they are on
//! the disk. A run that is skipped has an end, too, which may fire others; a chain of jobs has a longest length, and
//! what would come after it is on record as skipped and fires nothing. One could get it wrong by firing after the
//! commit: a crash in between would lose the run that somebody waits for.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use rouse_core::cause::LONGEST_CHAIN;
use rouse_core::decide::{EventPlan, Firing, plan_event};
use rouse_core::job::{Job, ScheduleSpec, payload_to_json};
use rouse_core::{Cause, JobId, Outcome, Run, RunId, RunState, RunTrigger, UnixMs};
use rouse_store::{DueJob, Fired, KnownCall, StoreError, WebhookCall};

use crate::SchedulerError;
use crate::end_log::log_end;
use crate::engine::Engine;
use crate::listeners::Hears;
use crate::tick::new_run;

/// A run that an event fires, and what else that means.
pub(crate) struct Follow {
    fired: Fired,
    job: Arc<Job>,
    cancel_others: bool,
}

/// A call of a job's webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The job.
    pub job_id: JobId,
    /// What was sent.
    pub body: String,
    /// Names the call, so that the same one twice makes one run.
    pub key: Option<String>,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Called {
    /// It made a run, or a skipped one with the reason.
    Fired {
        /// The run.
        run_id: RunId,
        /// Why it does not run.
        reason: Option<String>,
    },
    /// It came before, and made a run, or a skipped one with the reason.
    Before {
        /// The run.
        run_id: RunId,
        /// Why it did not run.
        reason: Option<String>,
    },
    /// Another call came before under the same key.
    Another,
    /// The job does not fire now, for this reason.
    Refused(String),
}

impl Engine {
    /// What `causes` fire.
    pub(crate) async fn plan_events(&self, causes: Vec<Cause>) -> Result<Vec<Follow>, StoreError> {
        let now = self.clock.now();
        let firing = self.firing_at(now);
        let mut causes: VecDeque<Cause> = causes.into();
        let mut planned: HashMap<JobId, u32> = HashMap::new();
        let mut heard = HashSet::new();
        let mut follows = Vec::new();
        while let Some(cause) = causes.pop_front() {
            let mut waiting = self.listeners.waiting_for(&cause);
            waiting.retain(|job, hears| heard.insert((job.clone(), hears.cause.id.clone())));
            if waiting.is_empty() {
                continue;
            }
            let ids: Vec<JobId> = waiting.keys().cloned().collect();
            for mut due in self.store.jobs_with_load(&ids).await? {
                let before = planned.entry(due.job.id.clone()).or_default();
                due.queued += *before;
                let Some(Hears { cause: own, unclear }) = waiting.remove(&due.job.id) else {
                    continue;
                };
                let firing = unclear.map_or_else(|| firing.clone(), Firing::Off);
                let follow = follow(due, RunTrigger::Event, own, now, &firing);
                if follow.fires() {
                    *before += 1;
                } else if cause.chain.len() <= LONGEST_CHAIN {
                    causes.extend(follow.end());
                }
                follows.push(follow);
            }
        }
        Ok(follows)
    }

    /// What the end of `run` fires, and the line that it queues for the main session.
    pub(crate) async fn plan_after(
        &self,
        run: &Run,
        outcome: &Outcome,
        line: Option<&str>,
    ) -> Result<Vec<Follow>, StoreError> {
        if self.listeners.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.clock.now();
        let before = self.store.cause(&run.id).await?;
        let text = words_of(outcome);
        let end = Cause::end_of_run(run, outcome.state, text.as_deref(), before.as_ref(), now);
        let line = line.and_then(|line| Cause::line_of_run(run, line, before.as_ref(), now));
        self.plan_events(end.into_iter().chain(line).collect()).await
    }

    /// What the end of a run fires that left its lane without having started.
    pub(crate) async fn plan_after_waiting(
        &self,
        id: &RunId,
        outcome: &Outcome,
        line: Option<&str>,
    ) -> Result<Vec<Follow>, StoreError> {
        if !self.listeners.hear_of_skips() && line.is_none() {
            return Ok(Vec::new());
        }
        match self.store.run(id).await? {
            Some(run) => self.plan_after(&run, outcome, line).await,
            None => Ok(Vec::new()),
        }
    }

    /// The ends of rows of slots that do not fire, as far as somebody waits for such.
    pub(crate) fn quiet_ends<'r>(&self, runs: impl Iterator<Item = &'r Run>) -> Vec<Cause> {
        if !self.listeners.hear_of_skips() {
            return Vec::new();
        }
        let now = self.clock.now();
        runs.filter(|run| run.state.is_final())
            .filter_map(|run| Cause::end_of_run(run, run.state, run.reason.as_deref(), None, now))
            .collect()
    }

    /// Puts what was fired into its lanes, and what was skipped into the log, when it is on the disk.
    pub(crate) fn follow(&mut self, follows: Vec<Follow>, is_there: impl Fn(&RunId) -> bool) {
        for Follow { fired, job, cancel_others } in follows {
            let run = fired.run;
            if !is_there(&run.id) {
                continue;
            }
            if run.state != RunState::Queued {
                log_end(&run, run.state, run.reason.as_deref(), run.created_at);
                continue;
            }
            if cancel_others {
                self.replace_runs_of(&job.id);
            }
            self.enqueue(run, Some(job));
        }
    }

    /// Queues a line for the main session, with what it fires.
    pub(crate) async fn queue_wake(
        &mut self,
        text: &str,
        source: &str,
    ) -> Result<(), SchedulerError> {
        self.refresh_listeners().await?;
        let now = self.clock.now();
        let follows = self.plan_events(vec![Cause::wake(text, now)]).await?;
        self.store.queue_system_event(text, source, &rows(&follows), now).await?;
        self.follow(follows, |_| true);
        Ok(())
    }

    /// Fires a job because its webhook was called. While nothing fires, the call is on record and may come again.
    pub(crate) async fn call_webhook(&mut self, call: Call) -> Result<Called, SchedulerError> {
        self.refresh_listeners().await?;
        let now = self.clock.now();
        if let Some(key) = &call.key
            && let Some(before) =
                self.store.webhook_call(&call.job_id, key, &call.body, now).await?
        {
            let KnownCall { run_id, is_same, reason } = before;
            return Ok(if is_same { Called::Before { run_id, reason } } else { Called::Another });
        }
        let job = self.found(&call.job_id).await?;
        if job.schedule.spec != ScheduleSpec::Webhook {
            return Err(StoreError::NotFound { what: "webhook", id: job.id.to_string() }.into());
        }
        let due = self.store.jobs_with_load(std::slice::from_ref(&job.id)).await?.pop();
        let Some(due) = due else {
            return Ok(Called::Refused("The job is switched off.".to_owned()));
        };
        let firing = self.firing_at(now);
        let cause = Cause::webhook(&job, &call.body, now);
        let own = follow(due, RunTrigger::Webhook, cause.clone(), now, &firing);
        let (run_id, reason) = (own.fired.run.id.clone(), own.fired.run.reason.clone());
        let mut follows = vec![own];
        if firing == Firing::On {
            follows.extend(self.plan_events(vec![cause]).await?);
        }
        let key = call.key.filter(|_| firing == Firing::On);
        let known = key.map(|key| WebhookCall {
            job_id: job.id,
            key,
            body: call.body,
            run_id: run_id.clone(),
            reason: reason.clone(),
        });
        let inserted = self.store.fire(&rows(&follows), known.as_ref(), now).await?;
        self.follow(follows, |id| inserted.contains(id));
        Ok(match firing {
            Firing::On => Called::Fired { run_id, reason },
            Firing::Off(reason) | Firing::Restored(reason) => Called::Refused(reason),
        })
    }
}

/// For the store.
pub(crate) fn rows(follows: &[Follow]) -> Vec<Fired> {
    follows.iter().map(|follow| follow.fired.clone()).collect()
}

/// Those of them that take the place of the others of their job.
pub(crate) fn replacing(follows: &[Follow]) -> Vec<RunId> {
    let replacing = follows.iter().filter(|follow| follow.cancel_others);
    replacing.map(|follow| follow.fired.run.id.clone()).collect()
}

/// What an end says: of a failure why it failed, before what the run had said by then.
fn words_of(outcome: &Outcome) -> Option<String> {
    let Outcome { summary, error, reason, .. } = outcome;
    match (error, summary) {
        (Some(error), Some(said)) => Some(format!("{error}\n{said}")),
        _ => summary.as_ref().or(error.as_ref()).or(reason.as_ref()).cloned(),
    }
}

fn follow(due: DueJob, trigger: RunTrigger, cause: Cause, now: UnixMs, firing: &Firing) -> Follow {
    let DueJob { job, queued, active, .. } = due;
    let plan = plan_event(&job, (queued, active), &cause, now, firing);
    let EventPlan { state, reason, cancel_others } = plan;
    let run =
        Run { state, reason, ..new_run(Some(&job), trigger, payload_to_json(&job.payload), now) };
    Follow { fired: Fired { run, cause }, job: Arc::new(job), cancel_others }
}

impl Follow {
    fn fires(&self) -> bool {
        self.fired.run.state == RunState::Queued
    }

    fn end(&self) -> Option<Cause> {
        let Fired { run, cause } = &self.fired;
        Cause::end_of_run(run, run.state, run.reason.as_deref(), Some(cause), run.created_at)
    }
}
