//! The next slot, written before its instant and committed at it.
//!
//! Owns the lead: some milliseconds before the next slots come they are decided and written as of their instant, into a
//! transaction that is committed when it has come. So a run is late by a wake-up and one flush of the disk, and a crowd not
//! by what its rows take. Until then nothing has happened: an engine that ends here leaves the slots as they were, and so
//! does whatever comes between (a request, a clock that is set, a machine that slept, another writer), after which they are
//! claimed like all others. It refuses what has time: slots that are left out or take the place of others, and any while a
//! run is at work, which may be over by then. One could get it wrong by doing anything else first: whatever writes waits
//! for the turn that is held here.

use rouse_core::UnixMs;
use rouse_core::decide::Firing;
use rouse_core::time::Wake;
use rouse_store::{Prepared as Written, StoreError};

use crate::TickReport;
use crate::engine::{Engine, wall};
use crate::tick::{BATCH, Draft, Planned};

/// How long before its instant a slot is written, in milliseconds: some times what its rows take.
const LEAD_MS: i64 = 5;
/// How many slots of a crowd are written in a millisecond, counted slowly.
const SLOTS_PER_MS: u32 = 6;
/// The longest lead, in milliseconds. What does not fit into it is claimed after the instant.
const MOST_LEAD_MS: i64 = 2_000;
/// How long after its instant a slot still counts as begun at it, in milliseconds.
const STILL_AT_IT_MS: i64 = 25;

/// Slots that only want their commit.
pub(crate) struct Prepared {
    at: UnixMs,
    drafts: Vec<Draft>,
    written: Written,
}

/// How long before its instant so many slots are written.
pub(crate) fn lead_of(slots: u32) -> i64 {
    LEAD_MS.saturating_add(i64::from(slots / SLOTS_PER_MS)).min(MOST_LEAD_MS)
}

/// Waits until somebody wants to write who finds the turn held.
pub(crate) async fn wanted(prepared: Option<&Prepared>) {
    match prepared {
        Some(prepared) => prepared.written.wanted().await,
        None => std::future::pending().await,
    }
}

impl Engine {
    /// When there is something to do for the slots of `at`: their lead, or themselves.
    pub(crate) fn lead_or_slot(&self, at: UnixMs, now: UnixMs) -> UnixMs {
        match self.lead_begins(at) {
            Some(lead) => lead.max(now),
            None => at,
        }
    }

    /// Writes the next slots if their lead has begun. What goes wrong here goes wrong at their instant, and is told then.
    pub(crate) async fn prepare_if_near(&mut self) {
        let now = self.clock.now();
        let Some(at) = self.next_due_known() else { return };
        if at <= now || self.lead_begins(at).is_none_or(|lead| lead > now) {
            return;
        }
        self.prepared_for = Some(at);
        if let Err(error) = self.prepare(at).await {
            tracing::debug!(%error, "the next slots are claimed when they come");
        }
    }

    /// Takes up what was prepared: at its instant it is committed, and whatever else comes before undoes it.
    pub(crate) async fn use_prepared(&mut self, wake: Option<Wake>) {
        let Some(prepared) = self.prepared.take() else { return };
        let late = self.clock.now().since(prepared.at);
        if wake != Some(Wake::Due) || !(0..=STILL_AT_IT_MS).contains(&late) {
            return self.give_up(prepared.drafts, prepared.written).await;
        }
        self.next_due_is_stale = true;
        match prepared.written.commit().await {
            Ok(()) => {
                let mut report = TickReport::default();
                for draft in prepared.drafts {
                    self.settle_whole(draft, &mut report);
                }
            }
            Err(error) => {
                tracing::debug!(%error, "the next slots are claimed once more");
                self.take_back(prepared.drafts);
            }
        }
    }

    /// When the lead of the slots of `at` begins; none if they cannot have one.
    fn lead_begins(&self, at: UnixMs) -> Option<UnixMs> {
        let ahead = self.ahead.as_ref().filter(|ahead| ahead.at == at)?;
        let is_quiet = self.has_taken_up
            && self.config.firing
            && self.pause.is_none()
            && self.running.is_empty()
            && !self.clock_was_set
            && !self.rules_are_new;
        let (now, monotonic) = (self.clock.now(), self.clock.monotonic());
        let is_first = self.first_besides_slots(now, monotonic).is_none_or(|other| other > at);
        let is_new = self.prepared_for != Some(at);
        (is_quiet && is_first && is_new).then(|| at.plus_ms(-ahead.lead))
    }

    async fn prepare(&mut self, at: UnixMs) -> Result<(), StoreError> {
        let Some(mut written) = self.store.prepare(at).await? else { return Ok(()) };
        let mut drafts = Vec::new();
        match self.write_drafts(at, &mut written, &mut drafts).await {
            Ok(true) if !drafts.is_empty() => {
                self.prepared = Some(Prepared { at, drafts, written });
                Ok(())
            }
            ended => {
                self.give_up(drafts, written).await;
                ended.map(|_| ())
            }
        }
    }

    /// Writes batch by batch, as many as fit before the instant. False when all of it must be undone, for one of them or
    /// for whoever wants something meanwhile.
    async fn write_drafts(
        &mut self,
        at: UnixMs,
        written: &mut Written,
        drafts: &mut Vec<Draft>,
    ) -> Result<bool, StoreError> {
        let planning = self.planning(at, Firing::On);
        let mut few = self.look_into_ahead(at);
        let mut many = self.store.due_jobs(at, BATCH).leaving_broken();
        let is_few = few.is_some();
        loop {
            let began = self.clock.monotonic();
            let batch = match few.take() {
                None if !is_few => tokio::select! {
                    biased;
                    () = written.wanted() => return Ok(false),
                    batch = many.next() => batch?,
                },
                few => few,
            };
            let Some(batch) = batch else { return Ok(true) };
            let mut planned = planning.plan_all(batch);
            planned.retain(Planned::only_fires);
            if !planned.is_empty() {
                let draft = self.draft(planned, Vec::new(), at);
                let is_whole = written.add(draft.claims()).await;
                drafts.push(draft);
                if !is_whole? {
                    return Ok(false);
                }
            }
            if written.is_wanted() || !self.inbox.is_empty() {
                return Ok(false);
            }
            let (now, monotonic) = (self.clock.now(), self.clock.monotonic());
            // The next batch takes as long as this one.
            if wall(now, monotonic, monotonic + (monotonic - began)) >= at {
                return Ok(true);
            }
        }
    }

    async fn give_up(&mut self, drafts: Vec<Draft>, written: Written) {
        if let Err(error) = written.undo().await {
            tracing::debug!(%error, "what was prepared is undone with the next write");
        }
        self.take_back(drafts);
    }
}
