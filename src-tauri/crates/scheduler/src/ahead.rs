//! What is done for the next slot before it comes.
//!
//! Owns the jobs of the next due instant while the engine is at rest, and the lead: a slot is decided and claimed a few
//! milliseconds before its instant, as of that instant, and its work begins when the instant has come. So a run is late
//! by a wake-up, and not by what the disk takes. Whatever is changed within the lead comes as late as a change a moment
//! after the slot would. There is none while a run is at work: it may be over by then, which decides about its overlap.
//! A crowd has a longer lead, by what its claims take; whoever changes something meanwhile is answered after its instant.
//!
//! The jobs that were read count only as long as nothing was written since, by whomever: a job that was edited, a run that
//! began, a question that was answered are all commits. Crowds are not read ahead; they would be memory for hours. One
//! could get it wrong by telling changes by what the engine did itself, as a run's steps and answers are written
//! elsewhere; or by beginning the work by a duration, as a machine that sleeps within the lead wakes up late.

use rouse_core::UnixMs;
use rouse_core::time::Wake;
use rouse_store::{DueJob, StoreError};

use crate::engine::Engine;

/// Most jobs that are read ahead.
const MOST: u32 = 16;

/// How long before its instant a slot is claimed, in milliseconds: some times what a durable transaction takes.
const LEAD_MS: i64 = 10;
/// How many slots of a crowd are claimed in a millisecond, counted slowly.
const CLAIMS_PER_MS: u32 = 20;
/// The longest lead, in milliseconds. More slots of one instant than fit into it are claimed after it.
const MOST_LEAD_MS: i64 = 1_000;

/// The jobs of one instant.
pub(crate) struct Ahead {
    at: UnixMs,
    /// The store's commits before they were read.
    commits: u64,
    /// None when they are too many, or one cannot be read.
    jobs: Option<Vec<DueJob>>,
    /// In milliseconds.
    lead: i64,
}

impl Engine {
    /// Reads ahead, if nothing is at work that would write before the instant comes. What cannot be read is read when it is
    /// due.
    pub(crate) async fn look_ahead(&mut self) -> Result<(), StoreError> {
        let at = self.next_due().await?;
        let Some(at) = at.filter(|_| self.running.is_empty()) else { return Ok(()) };
        let commits = self.store.commits();
        if self.ahead.as_ref().is_some_and(|ahead| ahead.at == at && ahead.commits == commits) {
            return Ok(());
        }
        let jobs = self.store.few_due_jobs(at, MOST).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "the next slot was not read ahead");
            None
        });
        let lead = match jobs {
            Some(_) => LEAD_MS,
            None => lead_of(self.store.count_due(at).await?),
        };
        self.ahead = Some(Ahead { at, commits, jobs, lead });
        Ok(())
    }

    /// All jobs that are due at `now`, if they were read ahead and are still as they were.
    pub(crate) fn looked_ahead(&mut self, now: UnixMs) -> Option<Vec<DueJob>> {
        let Ahead { at, commits, jobs, .. } = self.ahead.take()?;
        jobs.filter(|_| at == now && commits == self.store.commits())
    }

    /// When the slots of `next` are claimed.
    pub(crate) fn claimed_at(&self, next: UnixMs) -> UnixMs {
        let lead = match &self.ahead {
            _ if !self.running.is_empty() => 0,
            Some(ahead) if ahead.at == next => ahead.lead,
            _ => LEAD_MS,
        };
        next.plus_ms(-lead)
    }

    /// The instant that the engine works for: that of the next slot where its lead has begun, and otherwise now.
    pub(crate) async fn instant(&mut self) -> Result<UnixMs, StoreError> {
        let now = self.clock.now();
        let next = self.next_due().await?.filter(|next| self.claimed_at(*next) <= now);
        Ok(next.map_or(now, |next| next.max(now)))
    }

    /// Waits until `at` has come, if its lead has begun; what somebody asks for by an instant of their own begins at once.
    /// Where the clock is set meanwhile, it had come as good as.
    pub(crate) async fn hold_until(&mut self, at: UnixMs) {
        if !(1..=MOST_LEAD_MS).contains(&at.since(self.clock.now())) {
            return;
        }
        self.timer.arm(Some(at));
        if self.timer.wait().await == Wake::ClockChanged {
            self.clock_changed();
        }
    }
}

/// The lead of so many slots of one instant.
fn lead_of(slots: u32) -> i64 {
    LEAD_MS.saturating_add(i64::from(slots / CLAIMS_PER_MS)).min(MOST_LEAD_MS)
}
