//! The event loop: one event at a time, then all resulting writes and starts.

use rouse_core::time::Wake;
use rouse_store::{JobCounts, StoreError};

use super::Engine;
use crate::state::active_runs::AttemptResult;
use crate::state::claim_draft::StagedClaims;
use crate::state::inbox::InboxItem;

/// An event of the loop.
enum LoopEvent {
    Timer(Wake),
    Model(bool),
    Inbox(Box<InboxItem>),
    InvalidPattern,
    /// Another writer needs the database while claims are staged.
    StagingWanted,
}

impl Engine {
    /// Runs until shutdown, or until no handle is left.
    pub(crate) async fn run(mut self) {
        self.advance().await;
        self.arm_timer();
        // The timer is armed: nothing below delays a slot.
        self.commit_or_discard_staged(None).await;
        self.log_started().await;
        if let Err(error) = self.refresh_listeners().await {
            tracing::warn!(%error, "event triggers are read with the first event");
        }
        self.listeners.compile_in_background();
        let mut wake = None;
        loop {
            let event = self.next_event(wake).await;
            wake = if let LoopEvent::Timer(wake) = event { Some(wake) } else { None };
            self.take_urgent(wake).await;
            match event {
                LoopEvent::Timer(Wake::Due)
                | LoopEvent::InvalidPattern
                | LoopEvent::StagingWanted => {}
                LoopEvent::Timer(Wake::ClockChanged) => self.note_clock_change(),
                LoopEvent::Model(is_present) => {
                    self.model.set_present(is_present);
                    self.heartbeat.is_stale = true;
                }
                LoopEvent::Inbox(item) => match *item {
                    InboxItem::Attempt(result) => self.end_attempt(result),
                    InboxItem::Request(Some(request)) => {
                        if let Some(stopped) = self.handle(request).await {
                            self.shut_down().await;
                            drop(stopped.send(Ok(())));
                            return;
                        }
                    }
                    InboxItem::Request(None) => return,
                },
            }
            self.advance().await;
            self.arm_timer();
            self.listeners.compile_in_background();
        }
    }

    /// Logs the start in the words of the cron RFC, after the timer is armed, because counting takes time.
    async fn log_started(&self) {
        let next_wake_at = self.slots.last_next_due().map(|at| at.0);
        match self.store.job_counts().await {
            Ok(JobCounts { all: job_count, .. }) => {
                tracing::debug!(job_count, "cron: store loaded");
                tracing::info!(job_count, next_wake_at, "cron: scheduler started");
            }
            Err(error) => tracing::warn!(%error, next_wake_at, "cron: scheduler started"),
        }
    }

    /// Handles urgent work before the event: staged claims, which hold the database's write lock, then the ended
    /// attempts, which must not delay a due slot.
    async fn take_urgent(&mut self, wake: Option<Wake>) {
        self.commit_or_discard_staged(wake).await;
        while let Some(result) = self.active.try_next_result() {
            self.end_attempt(result);
        }
    }

    /// Waits for the next event. The timer has priority, so that a request at a due instant finds the slots claimed.
    /// After a wake-up a request has priority, so that a slot due at every moment does not lock requests out.
    async fn next_event(&mut self, last_wake: Option<Wake>) -> LoopEvent {
        if last_wake.is_some() && !self.inbox.is_empty() {
            self.take_urgent(None).await;
            self.advance().await;
            if let Some(request) = self.inbox.try_next_request() {
                return LoopEvent::Inbox(Box::new(InboxItem::Request(Some(request))));
            }
        }
        tokio::select! {
            biased;
            wake = self.timer.wait() => LoopEvent::Timer(wake),
            is_present = self.model.changed() => LoopEvent::Model(is_present),
            () = StagedClaims::is_wanted(self.slots.staged.as_ref()) => LoopEvent::StagingWanted,
            item = self.inbox.next(&mut self.active) => LoopEvent::Inbox(Box::new(item)),
            () = self.listeners.found_invalid() => LoopEvent::InvalidPattern,
        }
    }

    pub(super) fn end_attempt(&mut self, result: AttemptResult) {
        let Some((run, outcome)) = self.active.outcome_of(result) else { return };
        run.end_attempt(outcome, self.clock.monotonic(), self.config.model_patience);
        if run.is_in_backoff() {
            run.holds_permit = false;
            self.lanes.release_permit(run.permit);
        }
    }

    /// Writes and starts all that state and clock require, unless the store is in a backoff.
    async fn advance(&mut self) {
        let now = self.clock.monotonic();
        self.active.enforce_deadlines(now);
        if self.store_backoff.pauses_until(now).is_some() {
            return;
        }
        match self.write_and_start().await {
            Ok(()) => self.store_backoff.end(self.clock.monotonic()),
            Err(error) => self.store_backoff.begin(&error, self.clock.monotonic()),
        }
    }

    async fn write_and_start(&mut self) -> Result<(), StoreError> {
        self.recover_once().await?;
        self.advance_after_clock_rollback().await?;
        self.save_backoffs().await?;
        self.record_ends().await?;
        self.pause_jobs_with_invalid_patterns().await?;
        self.resume_parked_runs().await?;
        self.tick_if_due().await?;
        self.replan_if_needed().await?;
        self.start_heartbeat_turns().await?;
        self.report_awaited_model();
        self.start_runs().await?;
        self.prefetch_next_slot().await?;
        self.stage_next_slot().await;
        Ok(())
    }

    /// Loads the settings and runs of an earlier process. May fail half-way and start over.
    pub(crate) async fn recover_once(&mut self) -> Result<(), StoreError> {
        if !self.is_recovered {
            self.load_pause().await?;
            self.load_zone_rules().await?;
            self.load_heartbeat().await?;
            self.load_incidents().await?;
            self.replan_after_unseen_rollback().await?;
            self.settle_restore().await?;
            self.recover_runs().await?;
            self.is_recovered = true;
            self.record_ends().await?;
        }
        Ok(())
    }

    async fn tick_if_due(&mut self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let is_pause_over = self.pause_end().is_some_and(|until| until <= now);
        if !is_pause_over && self.next_due().await?.is_none_or(|due| due > now) {
            return Ok(());
        }
        self.tick(now).await?;
        if self.next_due().await?.is_some_and(|due| due <= now) {
            // Possible only if another process writes the file. Avoids a tight loop.
            self.store_backoff.begin_stalled(self.clock.monotonic());
        }
        Ok(())
    }

    /// Arms the timer for the earliest deadline. In a backoff of the store, due slots are left out, because they would
    /// fire the timer at once.
    fn arm_timer(&mut self) {
        let (now, monotonic) = (self.clock.now(), self.clock.monotonic());
        let is_in_backoff = self.store_backoff.pauses_until(monotonic).is_some();
        let slot = self.slots.last_next_due().filter(|_| !is_in_backoff);
        let slot = slot.map(|at| self.staging_start(at).map_or(at, |start| start.max(now)));
        let first = self.next_wake_besides_slots(now, monotonic);
        self.timer.arm(first.into_iter().chain(slot).min());
    }
}
