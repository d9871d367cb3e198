//! The next slots: due instants, prefetched jobs and staged claims.

use rouse_core::UnixMs;
use rouse_store::DueJob;

use super::claim_draft::StagedClaims;

/// Minimum lead of a slot, in milliseconds: a multiple of the time for the rows.
const MIN_LEAD_MS: i64 = 5;
/// Slots that are written per millisecond, by a low estimate.
const SLOTS_PER_MS: u32 = 6;
/// Maximum lead in milliseconds. Slots beyond this lead are claimed after their instant.
const MAX_LEAD_MS: i64 = 2_000;

/// The next due slots of all jobs.
pub(crate) struct SlotSchedule {
    next_due: Option<UnixMs>,
    /// Whether a job has changed since `next_due` was read.
    is_stale: bool,
    prefetch: Option<SlotPrefetch>,
    pub(crate) staged: Option<StagedClaims>,
    /// The newest instant whose slots were staged, with or without success.
    pub(crate) staged_for: Option<UnixMs>,
}

/// The jobs of an instant, read in advance.
pub(crate) struct SlotPrefetch {
    pub(crate) at: UnixMs,
    /// The store's commit count before the read. Any later commit makes the prefetch invalid.
    pub(crate) commits: u64,
    /// None when there are too many jobs, or a job is unreadable.
    pub(crate) jobs: Option<Vec<DueJob>>,
    /// How long before the instant their claims are staged, in milliseconds.
    pub(crate) lead_ms: i64,
}

impl Default for SlotSchedule {
    fn default() -> Self {
        Self { next_due: None, is_stale: true, prefetch: None, staged: None, staged_for: None }
    }
}

impl SlotSchedule {
    /// Notes that slots have changed.
    pub(crate) const fn invalidate(&mut self) {
        self.is_stale = true;
    }

    pub(crate) const fn is_stale(&self) -> bool {
        self.is_stale
    }

    pub(crate) const fn set_next_due(&mut self, at: Option<UnixMs>) {
        self.next_due = at;
        self.is_stale = false;
    }

    /// The earliest next slot of the last read, even if stale.
    pub(crate) const fn last_next_due(&self) -> Option<UnixMs> {
        self.next_due
    }

    /// The earliest next slot, if no job has changed since the read.
    pub(crate) fn fresh_next_due(&self) -> Option<UnixMs> {
        self.next_due.filter(|_| !self.is_stale)
    }

    pub(crate) fn set_prefetch(&mut self, prefetch: SlotPrefetch) {
        self.prefetch = Some(prefetch);
    }

    /// The prefetch for the instant `at`.
    pub(crate) fn prefetch_for(&self, at: UnixMs) -> Option<&SlotPrefetch> {
        self.prefetch.as_ref().filter(|prefetch| prefetch.at == at)
    }

    /// A copy of the prefetched jobs of `at`, if still valid.
    pub(crate) fn prefetched(&self, at: UnixMs, commits: u64) -> Option<Vec<DueJob>> {
        let prefetch = self.prefetch_for(at).filter(|prefetch| prefetch.commits == commits)?;
        prefetch.jobs.clone()
    }

    /// Takes the prefetched jobs, if complete at `now` and still valid.
    pub(crate) fn take_prefetched(&mut self, now: UnixMs, commits: u64) -> Option<Vec<DueJob>> {
        let SlotPrefetch { at, commits: read_at, jobs, .. } = self.prefetch.take()?;
        jobs.filter(|_| at == now && read_at == commits)
    }
}

/// The lead for so many slots, in milliseconds.
pub(crate) fn lead_ms(slots: u32) -> i64 {
    MIN_LEAD_MS.saturating_add(i64::from(slots / SLOTS_PER_MS)).min(MAX_LEAD_MS)
}
