//! Prunes what the settings say is not kept, lets the file shrink, and removes the command homes of deleted jobs.
//!
//! Works after runs have ended, never on a timer: an idle engine keeps what it has and wakes nobody. A round goes in
//! small steps with a look at the next slot before each, so that no claim waits for more than one of them. One could
//! get this wrong by pruning inside the listener, which runs while the writer is held; it only counts there.

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

use crate::config::{Config, RetentionConfig};

/// A round after so many runs that ended …
const RUNS: usize = 200;
/// … or, when runs are rare, after the first that ended this long after the round before.
const AT_LEAST_EVERY: Duration = Duration::from_secs(24 * 3600);
/// With a slot this near a round stops, and goes on after a later run …
const SLOT_NEAR_MS: i64 = 25;
/// … unless so many runs have ended meanwhile: then there is always a slot near.
const OVERDUE: usize = 10 * RUNS;
/// Free space that is left to be filled again.
const SLACK_BYTES: u64 = 1_048_576;
/// Writing a file anew is done when the next slot is at least so far away, for each megabyte and in any case.
const ANEW_MS_PER_MB: i64 = 200;
const ANEW_MS: i64 = 10_000;
const MB: u64 = 1_048_576;

/// The runs that ended since the last round, counted where events pass by.
#[derive(Default)]
pub(crate) struct Ended {
    count: Mutex<usize>,
    signal: Notify,
}

/// What pruning works with.
pub(crate) struct Retention {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: watch::Receiver<Config>,
    /// The private homes of the commands of jobs.
    pub(crate) job_homes: PathBuf,
    pub(crate) ended: Arc<Ended>,
    pub(crate) closing: CancellationToken,
}

/// How a round ended.
#[derive(Debug, PartialEq, Eq)]
enum Round {
    Done,
    /// A slot was near; there is more to do.
    GaveWay,
}

impl Ended {
    /// Counts the runs that these events end. Quick: it is called while the store's writer is held.
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

    fn so_far(&self) -> usize {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, counted: usize) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) -= counted;
    }
}

impl Retention {
    /// Works until the engine closes.
    pub(crate) async fn run(mut self) {
        // A start is the first occasion: a limit may have been lowered, and an earlier life may have been cut off.
        let mut last_round = None;
        let closing = self.closing.clone();
        loop {
            let counted = self.ended.so_far();
            let is_long_ago = last_round
                .is_none_or(|at| self.clock.monotonic().saturating_sub(at) >= AT_LEAST_EVERY);
            if counted >= RUNS || is_long_ago {
                match self.round(counted >= OVERDUE).await {
                    Ok(Round::Done) => {
                        self.ended.forget(counted);
                        last_round = Some(self.clock.monotonic());
                    }
                    Ok(Round::GaveWay) => {}
                    Err(error) => {
                        tracing::warn!(module = "retention", %error, "old runs were not deleted");
                        self.ended.forget(counted);
                        last_round = Some(self.clock.monotonic());
                    }
                }
            }
            tokio::select! {
                () = closing.cancelled() => return,
                () = self.ended.signal.notified() => {}
                changed = self.settings.changed() => match changed {
                    // A lower limit is put into force at once.
                    Ok(()) => last_round = None,
                    Err(_) => return,
                },
            }
        }
    }

    async fn round(&mut self, even_if_a_slot_is_near: bool) -> Result<Round, StoreError> {
        let keep = self.settings.borrow_and_update().retention.clone();
        let patient = !even_if_a_slot_is_near;
        let mut crowded: BTreeSet<Option<JobId>> =
            self.store.crowded_jobs(keep.runs_per_job).await?.into_iter().collect();
        let most = u64::from(keep.max_database_mb) * MB;
        // The main session is the person's and stays. Counted in, it would one day take the place of all runs.
        let of_main = match self.store.file_size().await?.used > most {
            true => self.store.main_session_bytes().await?,
            false => 0,
        };
        loop {
            if self.closing.is_cancelled() {
                return Ok(Round::Done);
            }
            if patient && self.slot_is_near().await? {
                return Ok(Round::GaveWay);
            }
            if !self.step(&keep, of_main, &mut crowded).await? {
                break;
            }
            // Whoever waits for the writer goes first.
            tokio::task::yield_now().await;
        }
        self.write_anew_if_quiet().await?;
        self.remove_job_homes().await?;
        Ok(Round::Done)
    }

    /// The private home of a job's commands goes with the job. Homes are listed before jobs: see there.
    async fn remove_job_homes(&self) -> Result<(), StoreError> {
        let folder = self.job_homes.clone();
        let listed = tokio::task::spawn_blocking(move || private_homes(&folder)).await;
        let homes = match listed.expect("BUG: listing folders does not panic") {
            Ok(homes) => homes,
            Err(error) => {
                tracing::warn!(module = "retention", %error, "the homes of jobs were not listed");
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
            count => tracing::info!(module = "retention", count, "homes of deleted jobs removed"),
        }
        Ok(())
    }

    /// One small step; whether there may be another.
    async fn step(
        &self,
        keep: &RetentionConfig,
        of_main: u64,
        crowded: &mut BTreeSet<Option<JobId>>,
    ) -> Result<bool, StoreError> {
        let now = self.clock.now();
        if let Some(job) = crowded.first().cloned() {
            if !self.store.prune_runs_of(job.as_ref(), keep.runs_per_job, now).await? {
                crowded.remove(&job);
            }
            return Ok(true);
        }
        if self.store.prune_messages(keep.messages_per_session, now).await?
            || self.store.prune_leftovers(now).await?
        {
            return Ok(true);
        }
        let size = self.store.file_size().await?;
        if size.used.saturating_sub(of_main) > u64::from(keep.max_database_mb) * MB {
            if self.store.prune_oldest_runs(now).await? {
                return Ok(true);
            }
            tracing::warn!(
                module = "retention",
                used = size.used,
                allowed_mb = keep.max_database_mb,
                "the database without the main session is larger than retention.maxDatabaseMb, and nothing in it is left to delete"
            );
        }
        let can_give = size.can_shrink && size.free > SLACK_BYTES;
        if can_give {
            self.store.give_space_back(now).await?;
        }
        Ok(can_give)
    }

    async fn slot_is_near(&self) -> Result<bool, StoreError> {
        let next = self.store.next_due_at().await?;
        Ok(next.is_some_and(|at| at.since(self.clock.now()) < SLOT_NEAR_MS))
    }

    /// A file from before this version cannot shrink in steps until it was written anew once.
    async fn write_anew_if_quiet(&self) -> Result<(), StoreError> {
        let size = self.store.file_size().await?;
        if size.can_shrink {
            return Ok(());
        }
        let megabytes = i64::try_from((size.used + size.free) / MB).unwrap_or(i64::MAX);
        let takes = megabytes.saturating_mul(ANEW_MS_PER_MB).saturating_add(ANEW_MS);
        let next = self.store.next_due_at().await?;
        let is_free = next.is_none_or(|at| at.since(self.clock.now()) > takes);
        if is_free && self.store.running_runs().await?.is_empty() {
            self.store.write_file_anew().await?;
            tracing::info!(
                module = "retention",
                "the database was written anew and can shrink from now on"
            );
        }
        Ok(())
    }
}
