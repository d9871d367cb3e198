//! Dispatch of requests, status and settings.

use rouse_core::decide::Firing;
use rouse_store::StoreError;
use tokio::sync::oneshot;

use super::Engine;
use crate::config::SchedulerConfig;
use crate::error::SchedulerError;
use crate::handle::{EngineRequest, ReplySender};
use crate::state::active_run::ActiveRun;
use crate::status::{SchedulerStatus, UpcomingSlot};

impl Engine {
    /// Handles a request. Returns the reply of a shutdown request, to be sent when everything has stopped.
    pub(super) async fn handle(
        &mut self,
        request: EngineRequest,
    ) -> Option<oneshot::Sender<Result<(), SchedulerError>>> {
        match request {
            EngineRequest::AddJob { job, reply } => send(reply, self.add_job(*job).await),
            EngineRequest::UpdateJob { update, reply } => {
                send(reply, self.update_job(update).await)
            }
            EngineRequest::RemoveJob { id, by, reply } => {
                send(reply, self.remove_job(&id, by.as_ref()).await);
            }
            EngineRequest::RunNow { id, mode, awaited_by, reply } => {
                send(reply, self.run_now(&id, mode, awaited_by.as_ref()).await);
            }
            EngineRequest::AwaitRun { id, by, reply } => send(reply, self.await_run(&id, &by)),
            EngineRequest::Retry { id, reply } => send(reply, self.retry(&id).await),
            EngineRequest::Cancel { id, reason, reply } => {
                send(reply, self.cancel(&id, &reason).await)
            }
            EngineRequest::Decide { id, answer, from, reply } => {
                send(reply, self.decide(&id, &answer, from).await);
            }
            EngineRequest::Pause { until, reply } => send(reply, self.pause(until).await),
            EngineRequest::Resume { reply } => send(reply, self.resume().await),
            EngineRequest::Status { reply } => send(reply, self.status().await),
            EngineRequest::RequestHeartbeat { reason, coalesce, reply } => {
                let not_before = self.clock.monotonic() + coalesce;
                self.heartbeat.request(&reason, self.clock.now(), not_before);
                send(reply, self.start_heartbeat_turns().await.map_err(Into::into));
            }
            EngineRequest::QueueWake { text, source, reply } => {
                send(reply, self.queue_wake(&text, source).await);
            }
            EngineRequest::Chat { message, reply } => send(reply, self.chat(message).await),
            EngineRequest::TryTool { tool, arguments, reply } => {
                send(reply, self.try_tool(&tool, &arguments).await);
            }
            EngineRequest::CallWebhook { call, reply } => {
                send(reply, self.call_webhook(call).await)
            }
            EngineRequest::SetConfig { config, reply } => {
                send(reply, self.set_config(*config).await)
            }
            EngineRequest::ClockChanged { reply } => {
                self.note_clock_change();
                send(reply, Ok(()));
            }
            EngineRequest::ApprovalsMoved { reply } => {
                self.parked.invalidate_expiry();
                send(reply, Ok(()));
            }
            EngineRequest::Tick { now, reply } => {
                send(reply, self.tick(now).await.map_err(Into::into));
            }
            EngineRequest::Shutdown { reply } => return Some(reply),
        }
        None
    }

    async fn status(&mut self) -> Result<SchedulerStatus, SchedulerError> {
        let between_attempts =
            self.active.iter().filter(|run| ActiveRun::is_in_backoff(run)).count();
        Ok(SchedulerStatus {
            firing: self.config.firing,
            off_reason: (!self.config.firing).then(|| self.config.off_reason.clone()),
            pause: self.pause,
            next: self.next_slot().await?,
            running: count(self.active.len() - between_attempts),
            between_attempts: count(between_attempts),
            queued: count(self.lanes.queued_count()),
            max_concurrent_runs: count(self.config.max_concurrent_runs.max(1)),
            heartbeat: self.heartbeat_status(),
        })
    }

    /// The earliest next slot; none if covered by a pause. The first slot after the pause is not searched.
    async fn next_slot(&mut self) -> Result<Option<UpcomingSlot>, StoreError> {
        let Some(at) = self.next_due().await? else { return Ok(None) };
        if self.pause.is_some_and(|pause| pause.covers(at)) {
            return Ok(None);
        }
        let first = self.store.first_due_job(at).await?;
        Ok(first.map(|job| UpcomingSlot { job_id: job.id, name: job.name, at }))
    }

    async fn set_config(&mut self, config: SchedulerConfig) -> Result<(), SchedulerError> {
        let was_firing = self.config.firing;
        self.lanes.set_limit(config.max_concurrent_runs);
        self.config = config;
        self.load_heartbeat().await?;
        if was_firing {
            self.warn_if_off();
        } else if self.config.firing {
            tracing::info!("cron: enabled");
        }
        if let Firing::Off(reason) = self.firing_at(self.clock.now()) {
            self.skip_scheduled_runs(None, &reason);
        }
        Ok(())
    }

    pub(crate) fn warn_if_off(&self) {
        if !self.config.firing {
            tracing::warn!(reason = self.config.off_reason, "cron: disabled");
        }
    }
}

/// Sends an answer. A requester that has gone needs none.
fn send<T>(reply: ReplySender<T>, result: Result<T, SchedulerError>) {
    drop(reply.send(result));
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
