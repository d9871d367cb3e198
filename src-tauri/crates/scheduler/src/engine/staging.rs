//! Staged claims: the next slots, written before the instant and committed at the instant.
//!
//! Some milliseconds before the next slots are due (the lead), the claims are written into an open transaction. At the
//! instant only the commit is left, so a run is late by a wake-up and a flush of the disk, and a crowd is not late by
//! the time for the rows. Until the commit nothing has happened: a crash leaves the slots unchanged, and any other
//! event (a request, a clock jump, a suspend, another writer) discards the claims; the slots are then claimed as usual.
//! Only slots that simply fire are staged, and only while no run is active.
//! Pitfall: an open transaction blocks every writer, so take it up before anything else.

use rouse_core::UnixMs;
use rouse_core::decide::Firing;
use rouse_core::time::Wake;
use rouse_store::{PreparedClaim, StoreError};

use super::tick::MAX_BATCH;
use super::{Engine, wall_instant};
use crate::state::claim_draft::{ClaimDraft, PlannedClaim, StagedClaims};
use crate::status::TickReport;

/// Maximum delay of a commit, in milliseconds, for starts that count as on time.
const MAX_COMMIT_DELAY_MS: i64 = 25;

impl Engine {
    /// Stages the next slots if their lead has begun. An error here occurs again at their instant and is reported then.
    pub(super) async fn stage_next_slot(&mut self) {
        let now = self.clock.now();
        let Some(at) = self.slots.fresh_next_due() else { return };
        if at <= now || self.staging_start(at).is_none_or(|start| start > now) {
            return;
        }
        self.slots.staged_for = Some(at);
        if let Err(error) = self.stage(at).await {
            tracing::debug!(%error, "the next slots are claimed at their instant");
        }
    }

    /// Commits staged claims if the timer woke the engine at the instant; any other wake discards the claims.
    pub(super) async fn commit_or_discard_staged(&mut self, wake: Option<Wake>) {
        let Some(staged) = self.slots.staged.take() else { return };
        let delay = self.clock.now().since(staged.at);
        if wake != Some(Wake::Due) || !(0..=MAX_COMMIT_DELAY_MS).contains(&delay) {
            return self.discard_staged(staged.drafts, staged.transaction).await;
        }
        self.slots.invalidate();
        match staged.transaction.commit().await {
            Ok(()) => {
                let mut report = TickReport::default();
                for draft in staged.drafts {
                    self.apply_staged_claims(draft, &mut report);
                }
            }
            Err(error) => {
                tracing::debug!(%error, "the next slots are claimed once more");
                self.discard_drafts(staged.drafts);
            }
        }
    }

    /// When the lead of the slots at `at` begins; none if staging is impossible.
    pub(super) fn staging_start(&self, at: UnixMs) -> Option<UnixMs> {
        let prefetch = self.slots.prefetch_for(at)?;
        let is_idle = self.is_recovered
            && self.config.firing
            && self.pause.is_none()
            && self.active.is_empty()
            && !self.zones.clock_was_set
            && !self.zones.are_unknown;
        let (now, monotonic) = (self.clock.now(), self.clock.monotonic());
        let is_first = self.next_wake_besides_slots(now, monotonic).is_none_or(|other| other > at);
        let is_new = self.slots.staged_for != Some(at);
        (is_idle && is_first && is_new).then(|| at.plus_ms(-prefetch.lead_ms))
    }

    async fn stage(&mut self, at: UnixMs) -> Result<(), StoreError> {
        let Some(mut transaction) = self.store.prepare_claim(at).await? else { return Ok(()) };
        let mut drafts = Vec::new();
        match self.write_drafts(at, &mut transaction, &mut drafts).await {
            Ok(true) if !drafts.is_empty() => {
                self.slots.staged = Some(StagedClaims { at, drafts, transaction });
                Ok(())
            }
            written => {
                self.discard_staged(drafts, transaction).await;
                written.map(|_| ())
            }
        }
    }

    /// Writes as many batches as fit before the instant. False when all must be discarded, because a batch was not
    /// written as planned, or another writer or a request waits.
    async fn write_drafts(
        &mut self,
        at: UnixMs,
        transaction: &mut PreparedClaim,
        drafts: &mut Vec<ClaimDraft>,
    ) -> Result<bool, StoreError> {
        let planner = self.claim_planner(at, Firing::On);
        let mut prefetched = self.slots.prefetched(at, self.store.commit_count());
        let mut due = self.store.due_jobs(at, MAX_BATCH).leave_unreadable();
        let is_prefetched = prefetched.is_some();
        loop {
            let began = self.clock.monotonic();
            let batch = match prefetched.take() {
                None if !is_prefetched => tokio::select! {
                    biased;
                    () = transaction.wait_for_writer() => return Ok(false),
                    batch = due.next() => batch?,
                },
                batch => batch,
            };
            let Some(batch) = batch else { return Ok(true) };
            let mut planned = planner.plan_batch(batch);
            planned.retain(PlannedClaim::only_fires);
            if !planned.is_empty() {
                let draft = self.draft_claims(planned, Vec::new(), at);
                let is_as_planned = transaction.add(&draft.claims).await;
                drafts.push(draft);
                if !is_as_planned? {
                    return Ok(false);
                }
            }
            if transaction.has_waiting_writer() || !self.inbox.is_empty() {
                return Ok(false);
            }
            // The next batch takes about as long as this batch.
            let (now, monotonic) = (self.clock.now(), self.clock.monotonic());
            if wall_instant(now, monotonic, monotonic + (monotonic - began)) >= at {
                return Ok(true);
            }
        }
    }

    async fn discard_staged(&mut self, drafts: Vec<ClaimDraft>, transaction: PreparedClaim) {
        if let Err(error) = transaction.roll_back().await {
            tracing::debug!(%error, "staged claims are rolled back with the next write");
        }
        self.discard_drafts(drafts);
    }
}
