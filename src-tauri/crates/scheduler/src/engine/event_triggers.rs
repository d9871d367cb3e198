//! Event triggers, webhooks and system events: planning and queueing the fired runs.
//!
//! Fired runs are planned before the transaction of the event and committed with the event. The runs go into their
//! lanes after the commit. A skipped run has an end as well, which may fire others; a chain of jobs has a maximum
//! length, beyond which runs are skipped and fire nothing.
//! Pitfall: with separate commits, a crash in between loses the run.

use std::collections::{HashMap, HashSet, VecDeque};

use rouse_core::cause::MAX_CHAIN;
use rouse_core::decide::Firing;
use rouse_core::job::ScheduleSpec;
use rouse_core::{Cause, JobId, Outcome, Run, RunId, RunTrigger};
use rouse_store::{PriorWebhookCall, StoreError, WebhookCall};

use super::Engine;
use super::run_log::log_unstarted_end;
use crate::error::SchedulerError;
use crate::state::event_listeners::MatchedEvent;
use crate::state::event_run::{EventRun, fired_rows};
use crate::status::{WebhookOutcome, WebhookRequest};

impl Engine {
    /// Reads the event triggers if a job has changed.
    pub(super) async fn refresh_listeners(&mut self) -> Result<(), StoreError> {
        if self.listeners.is_stale() {
            let jobs = self.store.event_jobs().await?;
            self.listeners.replace(&jobs);
        }
        Ok(())
    }

    /// Plans the runs that events fire, directly and through skipped runs.
    pub(super) async fn plan_event_runs(
        &self,
        causes: Vec<Cause>,
    ) -> Result<Vec<EventRun>, StoreError> {
        let now = self.clock.now();
        let firing = self.firing_at(now);
        let mut causes: VecDeque<Cause> = causes.into();
        let mut queued: HashMap<JobId, u32> = HashMap::new();
        let mut fired = HashSet::new();
        let mut runs = Vec::new();
        while let Some(cause) = causes.pop_front() {
            let mut matches = self.listeners.matches_of(&cause);
            matches.retain(|job, event| fired.insert((job.clone(), event.cause.id.clone())));
            if matches.is_empty() {
                continue;
            }
            let ids: Vec<JobId> = matches.keys().cloned().collect();
            for mut due in self.store.jobs_with_load(&ids).await? {
                let planned = queued.entry(due.job.id.clone()).or_default();
                due.queued += *planned;
                let Some(event) = matches.remove(&due.job.id) else { continue };
                let MatchedEvent { cause: own_cause, undecided } = event;
                let firing = undecided.map_or_else(|| firing.clone(), Firing::Off);
                let run = EventRun::plan(due, RunTrigger::Event, own_cause, now, &firing);
                if run.is_queued() {
                    *planned += 1;
                } else if cause.chain.len() <= MAX_CHAIN {
                    causes.extend(run.end());
                }
                runs.push(run);
            }
        }
        Ok(runs)
    }

    /// Plans the runs fired by the end of `run`, and the system event.
    pub(super) async fn event_runs_after(
        &self,
        run: &Run,
        outcome: &Outcome,
        system_event: Option<&str>,
    ) -> Result<Vec<EventRun>, StoreError> {
        if self.listeners.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.clock.now();
        let before = self.store.cause(&run.id).await?;
        let text = outcome_text(outcome);
        let end = Cause::end_of_run(run, outcome.state, text.as_deref(), before.as_ref(), now);
        let line = system_event
            .and_then(|text| Cause::system_event_of_run(run, text, before.as_ref(), now));
        self.plan_event_runs(end.into_iter().chain(line).collect()).await
    }

    /// The ends of skipped and missed slots as events, if a trigger matches such.
    pub(super) fn skipped_run_causes<'r>(&self, runs: impl Iterator<Item = &'r Run>) -> Vec<Cause> {
        if !self.listeners.match_skipped_runs() {
            return Vec::new();
        }
        let now = self.clock.now();
        runs.filter(|run| run.state.is_final())
            .filter_map(|run| Cause::end_of_run(run, run.state, run.reason.as_deref(), None, now))
            .collect()
    }

    /// Puts committed event runs into their lanes, and logs skipped runs.
    pub(super) fn enqueue_event_runs(
        &mut self,
        runs: Vec<EventRun>,
        is_committed: impl Fn(&RunId) -> bool,
    ) {
        for event_run in runs.into_iter().filter(|run| is_committed(&run.fired.run.id)) {
            let is_queued = event_run.is_queued();
            let EventRun { fired, job, cancels_others } = event_run;
            let run = fired.run;
            if !is_queued {
                log_unstarted_end(&run, run.state, run.reason.as_deref(), run.created_at);
                continue;
            }
            if cancels_others {
                self.replace_runs_of(&job.id);
            }
            self.enqueue(run, Some(job));
        }
    }

    /// Queues a system event for the main session, with the fired runs.
    pub(super) async fn queue_wake(
        &mut self,
        text: &str,
        source: &str,
    ) -> Result<(), SchedulerError> {
        self.refresh_listeners().await?;
        let now = self.clock.now();
        let runs = self.plan_event_runs(vec![Cause::wake(text, now)]).await?;
        self.store.queue_system_event(text, source, &fired_rows(&runs), now).await?;
        self.enqueue_event_runs(runs, |_| true);
        Ok(())
    }

    /// Fires a job by its webhook. While firing is off, the call is recorded and may be repeated with the same key.
    pub(super) async fn call_webhook(
        &mut self,
        call: WebhookRequest,
    ) -> Result<WebhookOutcome, SchedulerError> {
        self.refresh_listeners().await?;
        let now = self.clock.now();
        if let Some(key) = &call.key
            && let Some(known) = self.store.webhook_call(&call.job_id, key, &call.body, now).await?
        {
            let PriorWebhookCall { run_id, has_same_body, reason } = known;
            return Ok(if has_same_body {
                WebhookOutcome::Repeated { run_id, reason }
            } else {
                WebhookOutcome::KeyConflict
            });
        }
        let job = self.existing_job(&call.job_id).await?;
        if job.schedule.spec != ScheduleSpec::Webhook {
            return Err(StoreError::NotFound { what: "webhook", id: job.id.to_string() }.into());
        }
        let due = self.store.jobs_with_load(std::slice::from_ref(&job.id)).await?.pop();
        let Some(due) = due else {
            return Ok(WebhookOutcome::Refused("The job is switched off.".to_owned()));
        };
        let firing = self.firing_at(now);
        let cause = Cause::webhook(&job, &call.body, now);
        let own = EventRun::plan(due, RunTrigger::Webhook, cause.clone(), now, &firing);
        let (run_id, reason) = (own.fired.run.id.clone(), own.fired.run.reason.clone());
        let mut runs = vec![own];
        if firing == Firing::On {
            runs.extend(self.plan_event_runs(vec![cause]).await?);
        }
        let key = call.key.filter(|_| firing == Firing::On);
        let known = key.map(|key| WebhookCall {
            job_id: job.id,
            key,
            body: call.body,
            run_id: run_id.clone(),
            reason: reason.clone(),
        });
        let inserted = self.store.fire_webhook(&fired_rows(&runs), known.as_ref(), now).await?;
        self.enqueue_event_runs(runs, |id| inserted.contains(id));
        Ok(match firing {
            Firing::On => WebhookOutcome::Fired { run_id, reason },
            Firing::Off(reason) | Firing::Restored(reason) => WebhookOutcome::Refused(reason),
        })
    }
}

/// The text of an end that patterns match: the error first, then the summary.
fn outcome_text(outcome: &Outcome) -> Option<String> {
    let Outcome { summary, error, reason, .. } = outcome;
    match (error, summary) {
        (Some(error), Some(summary)) => Some(format!("{error}\n{summary}")),
        _ => summary.as_ref().or(error.as_ref()).or(reason.as_ref()).cloned(),
    }
}
