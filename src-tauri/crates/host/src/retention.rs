//! Deletes data beyond the retention limits, shrinks the database, and removes the homes of deleted jobs.
//!
//! Works after runs have ended, never on a timer, so an idle engine stays asleep. A round consists of small steps and
//! checks the next slot before each, so no claim waits for more than one step. Pitfall: pruning inside the listener,
//! which runs with the store's writer held; the listener only counts.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rouse_core::event::{Event, EventKind};
use rouse_core::{Clock, JobId, RunState};
use rouse_store::{Store, StoreError};
use rouse_tools::{private_homes, remove_homes_without_job};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use rouse_core::settings::RetentionSection;

use crate::config::Config;

/// Finished runs between two rounds.
const RUNS_PER_ROUND: usize = 200;
/// The maximum age of the last round when runs are rare; checked after a run.
const MAX_ROUND_AGE: Duration = Duration::from_secs(24 * 3600);
/// A round yields if a slot is this near, and continues after a later run.
const SLOT_NEAR_MS: i64 = 25;
/// With so many finished runs a round no longer yields: a slot is always near then.
const OVERDUE_RUNS: usize = 10 * RUNS_PER_ROUND;
/// Free space that stays in the file for reuse.
const SLACK_BYTES: u64 = 1_048_576;
/// The required distance of the next slot for a rebuild of the file, per megabyte and at least.
const REBUILD_MS_PER_MB: i64 = 200;
const REBUILD_MS: i64 = 10_000;
const MB: u64 = 1_048_576;

/// The number of runs that ended since the last round.
#[derive(Default)]
pub(crate) struct FinishedRuns {
    count: Mutex<usize>,
    signal: Notify,
}

/// The retention task.
pub(crate) struct Retention {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: watch::Receiver<Config>,
    /// The private homes of job commands.
    pub(crate) job_homes: PathBuf,
    pub(crate) finished_runs: Arc<FinishedRuns>,
    pub(crate) closing: CancellationToken,
}

/// The result of a round.
#[derive(Debug, PartialEq, Eq)]
enum PruneRound {
    Done,
    /// A slot was near; work remains.
    Yielded,
}

impl FinishedRuns {
    /// Counts the runs that these events end. Must be fast: the store's writer is held.
    pub(crate) fn count(&self, committed: &[Event]) {
        let is_end = |event: &&Event| {
            event.kind == EventKind::Run
                && event.data["state"]
                    .as_str()
                    .and_then(RunState::from_name)
                    .is_some_and(RunState::is_final)
        };
        let ended = committed.iter().filter(is_end).count();
        if ended > 0 {
            *self.count.lock().unwrap_or_else(PoisonError::into_inner) += ended;
            self.signal.notify_one();
        }
    }

    fn counted(&self) -> usize {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn subtract(&self, counted: usize) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) -= counted;
    }
}

impl Retention {
    /// Works until the engine closes.
    pub(crate) async fn run(mut self) {
        // The first round runs at start: a limit may have been lowered, or the last round was cut off.
        let mut last_round = None;
        let closing = self.closing.clone();
        loop {
            let counted = self.finished_runs.counted();
            let is_long_ago = last_round
                .is_none_or(|at| self.clock.monotonic().saturating_sub(at) >= MAX_ROUND_AGE);
            if counted >= RUNS_PER_ROUND || is_long_ago {
                match self.round(counted >= OVERDUE_RUNS).await {
                    Ok(PruneRound::Done) => {
                        self.finished_runs.subtract(counted);
                        last_round = Some(self.clock.monotonic());
                    }
                    Ok(PruneRound::Yielded) => {}
                    Err(error) => {
                        tracing::warn!(module = "retention", %error, "old runs could not be deleted");
                        self.finished_runs.subtract(counted);
                        last_round = Some(self.clock.monotonic());
                    }
                }
            }
            tokio::select! {
                () = closing.cancelled() => return,
                () = self.finished_runs.signal.notified() => {}
                changed = self.settings.changed() => match changed {
                    // A lower limit applies at once.
                    Ok(()) => last_round = None,
                    Err(_) => return,
                },
            }
        }
    }

    async fn round(&mut self, is_overdue: bool) -> Result<PruneRound, StoreError> {
        let keep = self.settings.borrow_and_update().retention.clone();
        let yields_to_slots = !is_overdue;
        let mut over_limit: BTreeSet<Option<JobId>> =
            self.store.jobs_over_limit(keep.runs_per_job).await?.into_iter().collect();
        let most = u64::from(keep.max_database_mb) * MB;
        // The main session is never deleted. Counting its size would in the end delete all runs.
        let main_bytes = if self.store.file_size().await?.used > most {
            self.store.main_session_bytes().await?
        } else {
            0
        };
        loop {
            if self.closing.is_cancelled() {
                return Ok(PruneRound::Done);
            }
            if yields_to_slots && self.slot_is_near().await? {
                return Ok(PruneRound::Yielded);
            }
            if !self.step(&keep, main_bytes, &mut over_limit).await? {
                break;
            }
            // Tasks that wait for the writer have priority.
            tokio::task::yield_now().await;
        }
        self.rebuild_if_idle().await?;
        self.remove_job_homes().await?;
        Ok(PruneRound::Done)
    }

    /// Removes the private homes of deleted jobs. Homes are listed before jobs, so a new job keeps its home.
    async fn remove_job_homes(&self) -> Result<(), StoreError> {
        let folder = self.job_homes.clone();
        let listed = tokio::task::spawn_blocking(move || private_homes(&folder)).await;
        let homes = match listed.expect("BUG: listing folders does not panic") {
            Ok(homes) => homes,
            Err(error) => {
                tracing::warn!(module = "retention", %error, "the homes of jobs could not be listed");
                return Ok(());
            }
        };
        if homes.is_empty() {
            return Ok(());
        }
        let jobs = self.store.job_ids().await?;
        let removal = move || remove_homes_without_job(&homes, &jobs);
        let removed = tokio::task::spawn_blocking(removal).await;
        match removed.expect("BUG: removing folders does not panic") {
            0 => {}
            count => {
                tracing::info!(module = "retention", count, "removed the homes of deleted jobs")
            }
        }
        Ok(())
    }

    /// Does a small step. Returns whether another step may follow.
    async fn step(
        &self,
        keep: &RetentionSection,
        main_bytes: u64,
        over_limit: &mut BTreeSet<Option<JobId>>,
    ) -> Result<bool, StoreError> {
        let now = self.clock.now();
        if let Some(job) = over_limit.first().cloned() {
            if !self.store.prune_runs_of(job.as_ref(), keep.runs_per_job, now).await? {
                over_limit.remove(&job);
            }
            return Ok(true);
        }
        if self.store.prune_messages(keep.messages_per_session, now).await?
            || self.store.prune_settled_rows(now).await?
        {
            return Ok(true);
        }
        let size = self.store.file_size().await?;
        if size.used.saturating_sub(main_bytes) > u64::from(keep.max_database_mb) * MB {
            if self.store.prune_oldest_runs(now).await? {
                return Ok(true);
            }
            tracing::warn!(
                module = "retention",
                used = size.used,
                allowed_mb = keep.max_database_mb,
                "the database without the main session exceeds retention.maxDatabaseMb, and nothing is left to delete"
            );
        }
        let can_give = size.can_shrink && size.free > SLACK_BYTES;
        if can_give {
            self.store.release_free_pages(now).await?;
        }
        Ok(can_give)
    }

    async fn slot_is_near(&self) -> Result<bool, StoreError> {
        let next = self.store.next_due_at().await?;
        Ok(next.is_some_and(|at| at.since(self.clock.now()) < SLOT_NEAR_MS))
    }

    /// Rebuilds a file from an older version, which cannot shrink in steps before.
    async fn rebuild_if_idle(&self) -> Result<(), StoreError> {
        let size = self.store.file_size().await?;
        if size.can_shrink {
            return Ok(());
        }
        let megabytes = i64::try_from((size.used + size.free) / MB).unwrap_or(i64::MAX);
        let takes = megabytes.saturating_mul(REBUILD_MS_PER_MB).saturating_add(REBUILD_MS);
        let next = self.store.next_due_at().await?;
        let has_time = next.is_none_or(|at| at.since(self.clock.now()) > takes);
        if has_time && self.store.running_runs().await?.is_empty() {
            self.store.rebuild_file().await?;
            tracing::info!(module = "retention", "the database was rebuilt and can shrink now");
        }
        Ok(())
    }
}
