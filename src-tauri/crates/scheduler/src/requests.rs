//! The engine's answers to requests.

use std::sync::Arc;

use rouse_core::decide::Firing;
use rouse_core::job::{Job, payload_to_json};
use rouse_core::{JobId, Outcome, Run, RunId, RunState, RunTrigger, UnixMs};
use rouse_store::StoreError;

use crate::attempt::{GRACE, Running, Why, Work};
use crate::engine::{Engine, Stop};
use crate::handle::{Reply, Request};
use crate::jobs::Origin;
use crate::tick::new_run;
use crate::{NextSlot, RunMode, SchedulerConfig, SchedulerError, Status};

impl Engine {
    /// Answers a request. A request to stop is handed back; it is answered when everything has stopped.
    pub(crate) async fn handle(&mut self, request: Request) -> Option<Stop> {
        match request {
            Request::Add(job, reply) => answer(reply, self.add_job(*job).await),
            Request::Update(id, patch, expected, reply) => {
                answer(reply, self.update_job(&id, patch, expected, Origin::Here).await);
            }
            Request::Replace(id, patch, expected, reply) => {
                answer(reply, self.update_job(&id, patch, expected, Origin::Elsewhere).await);
            }
            Request::Remove(id, by, reply) => {
                answer(reply, self.remove_job(&id, by.as_ref()).await);
            }
            Request::RunNow(id, mode, by, reply) => {
                answer(reply, self.run_now(&id, mode, by.as_ref()).await);
            }
            Request::Await(id, by, reply) => answer(reply, self.wait_for(id, &by)),
            Request::Retry(id, reply) => answer(reply, self.retry(&id).await),
            Request::Cancel(id, reason, reply) => answer(reply, self.cancel(&id, &reason).await),
            Request::Decide(id, said, from, reply) => {
                answer(reply, self.decide(&id, &said, from).await);
            }
            Request::Pause(until, reply) => answer(reply, self.pause(until).await),
            Request::Resume(reply) => answer(reply, self.resume().await),
            Request::Status(reply) => answer(reply, self.status().await),
            Request::Heartbeat(reason, coalesce, reply) => {
                let (now, until) = (self.clock.now(), self.clock.monotonic() + coalesce);
                self.heartbeat.request(&reason, now, until);
                answer(reply, self.beat_if_wanted().await.map_err(Into::into));
            }
            Request::Wake(text, source, reply) => {
                answer(reply, self.queue_wake(&text, source).await);
            }
            Request::Chat(text, key, reply) => {
                answer(reply, self.chat(&text, key.as_deref()).await)
            }
            Request::Try(tool, arguments, reply) => {
                answer(reply, self.try_tool(&tool, &arguments).await);
            }
            Request::CallWebhook(call, reply) => answer(reply, self.call_webhook(call).await),
            Request::SetConfig(config, reply) => answer(reply, self.set_config(*config).await),
            Request::ClockChanged(reply) => {
                self.clock_changed();
                answer(reply, Ok(()));
            }
            Request::QuestionsMoved(reply) => {
                self.parked.look_again();
                answer(reply, Ok(()));
            }
            Request::Tick(now, reply) => answer(reply, self.tick(now).await.map_err(Into::into)),
            Request::Shutdown(reply) => return Some(reply),
        }
        None
    }

    async fn run_now(
        &mut self,
        id: &JobId,
        mode: RunMode,
        awaited_by: Option<&RunId>,
    ) -> Result<Option<RunId>, SchedulerError> {
        let job = self.found(id).await?;
        if let Some(by) = awaited_by {
            self.may_be_awaited(&job, by)?;
        }
        let now = self.clock.now();
        let run = match mode {
            RunMode::Force => Some(self.insert_manual(job, None, now).await?),
            RunMode::Due if job.state.next_run_at.is_none_or(|next| next > now) => None,
            RunMode::Due => {
                let queued = self.tick(now).await?.queued;
                queued.into_iter().find(|run| self.is_of(run, id))
            }
        };
        if let (Some(by), Some(run)) = (awaited_by, &run) {
            self.lend_place(by, run.clone());
        }
        Ok(run)
    }

    async fn retry(&mut self, id: &RunId) -> Result<RunId, SchedulerError> {
        let run = self.store.run(id).await?;
        let run = run.ok_or_else(|| StoreError::NotFound { what: "run", id: id.to_string() })?;
        if !run.state.is_final() {
            return Err(SchedulerError::NotOver);
        }
        let job_id = run.job_id.ok_or(SchedulerError::IsHeartbeat)?;
        let job = self.store.job(&job_id).await?;
        let job = job.ok_or(SchedulerError::JobIsGone { name: run.job_name })?;
        self.insert_manual(job, Some(run.id), self.clock.now()).await
    }

    async fn insert_manual(
        &mut self,
        job: Job,
        retry_of: Option<RunId>,
        now: UnixMs,
    ) -> Result<RunId, SchedulerError> {
        let run = Run {
            retry_of,
            ..new_run(Some(&job), RunTrigger::Manual, payload_to_json(&job.payload), now)
        };
        self.store.insert_run(&run, now).await?;
        let id = run.id.clone();
        self.enqueue(run, Some(Arc::new(job)));
        Ok(id)
    }

    async fn cancel(&mut self, id: &RunId, reason: &str) -> Result<bool, SchedulerError> {
        if let Some(running) = self.running.get_mut(id) {
            return Ok(running.end(Why::Cancelled(reason.to_owned()), self.clock.monotonic()));
        }
        let waits = |run: Run| matches!(run.state, RunState::Queued | RunState::AwaitingApproval);
        if !self.store.run(id).await?.is_some_and(waits) {
            return Ok(false);
        }
        self.refresh_listeners().await?;
        let outcome =
            Outcome { reason: Some(reason.to_owned()), ..Outcome::of(RunState::Cancelled) };
        let cancelled = self.record_wait_end(id, &outcome).await?;
        self.forget_parked(id);
        if let Some(waiting) = self.lanes.remove(id)
            && waiting.run.trigger == RunTrigger::Heartbeat
        {
            self.heartbeat.beat_ended();
        }
        Ok(cancelled)
    }

    async fn status(&mut self) -> Result<Status, SchedulerError> {
        let waits = |running: &&Running| matches!(running.work, Work::Backoff(_));
        let between_attempts = self.running.values().filter(waits).count();
        Ok(Status {
            firing: self.config.firing,
            off_reason: (!self.config.firing).then(|| self.config.off_reason.clone()),
            pause: self.pause,
            next: self.next_slot().await?,
            running: count(self.running.len() - between_attempts),
            between_attempts: count(between_attempts),
            queued: count(self.lanes.waiting_count()),
            max_concurrent_runs: count(self.config.max_concurrent_runs.max(1)),
            heartbeat: self.heartbeat_status(),
        })
    }

    async fn next_slot(&mut self) -> Result<Option<NextSlot>, StoreError> {
        let Some(at) = self.next_due().await? else { return Ok(None) };
        // A slot that comes in the pause is left out; which one is the first after it is not looked for.
        if self.pause.is_some_and(|pause| pause.holds_at(at)) {
            return Ok(None);
        }
        let first = self.store.first_due_job(at).await?;
        Ok(first.map(|job| NextSlot { job_id: job.id, name: job.name, at }))
    }

    async fn set_config(&mut self, config: SchedulerConfig) -> Result<(), SchedulerError> {
        let was_firing = self.config.firing;
        self.lanes.set_cap(config.max_concurrent_runs);
        self.config = config;
        self.load_heartbeat().await?;
        if was_firing {
            self.warn_when_off();
        } else if self.config.firing {
            tracing::info!("cron: enabled");
        }
        if let Firing::Off(reason) = self.firing_at(self.clock.now()) {
            self.skip_waiting(None, &reason);
        }
        Ok(())
    }

    /// Says once that nothing will fire, so that nobody waits for it.
    pub(crate) fn warn_when_off(&self) {
        if !self.config.firing {
            tracing::warn!(reason = self.config.off_reason, "cron: disabled");
        }
    }

    /// Tells the runs at work to end and waits for them. What has not ended by then stays `running` in the store, where
    /// the next start finds it, and so does what waits for its next attempt.
    pub(crate) async fn shut_down(&mut self) {
        let now = self.clock.monotonic();
        for running in self.running.values_mut() {
            running.end(Why::Shutdown, now);
        }
        let ends = async {
            while let Some(result) = self.tasks.join_next_with_id().await {
                self.attempt_ended(result);
            }
        };
        if tokio::time::timeout(GRACE, ends).await.is_err() {
            tracing::warn!(runs = self.tasks.len(), "runs did not end in time and are cut off");
        }
        // What has failed by now goes on at the next start.
        if let Err(error) = self.keep_waits().await {
            tracing::error!(%error, "failed attempts could not be recorded; the next start finds their runs cut off");
        }
        self.running.retain(|_, running| !running.is_left_to_next_start());
        let now = self.clock.monotonic() + GRACE;
        self.expire(now);
        if let Err(error) = self.record_ends().await {
            tracing::error!(%error, "ends of runs could not be recorded; the next start finds them cut off");
        }
        self.tasks.abort_all();
    }

    fn is_of(&self, run: &RunId, job: &JobId) -> bool {
        let at_work = self.running.get(run).map(|running| &running.run);
        let waits =
            || self.lanes.waiting().find(|(id, _)| *id == run).map(|(_, waiting)| &waiting.run);
        at_work.or_else(waits).is_some_and(|run| run.job_id.as_ref() == Some(job))
    }
}

/// Whoever asked may have given up meanwhile; then the answer is nobody's loss.
pub(crate) fn answer<T>(reply: Reply<T>, result: Result<T, SchedulerError>) {
    drop(reply.send(result));
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
