//! What the next slot needs, read before it comes.
//!
//! Owns the jobs of the next due instant while the engine is at rest: at the instant itself, reading them would be a third of
//! what a run is late. They count only as long as nothing was written since, by whomever: a job that was edited, a run that
//! began, a question that was answered are all commits. Crowds are not read ahead, which would be memory for hours, but
//! counted: the more they are, the earlier they are written (`prepared`). One
//! could get it wrong by telling changes by what the engine did itself: a run's steps and answers are written elsewhere.

use rouse_core::UnixMs;
use rouse_store::{DueJob, StoreError};

use crate::engine::Engine;
use crate::prepared::lead_of;

/// Most jobs that are read ahead.
const MOST: u32 = 16;

/// The jobs of one instant.
pub(crate) struct Ahead {
    pub(crate) at: UnixMs,
    /// The store's commits before they were read.
    commits: u64,
    /// None when they are too many, or one cannot be read.
    jobs: Option<Vec<DueJob>>,
    /// How long before the instant they are written, in milliseconds.
    pub(crate) lead: i64,
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
        let slots = match &jobs {
            Some(_) => 1,
            None => self.store.count_due(at).await.unwrap_or_else(|error| {
                tracing::debug!(%error, "nobody knows how many the next slots are");
                1
            }),
        };
        self.ahead = Some(Ahead { at, commits, jobs, lead: lead_of(slots) });
        Ok(())
    }

    /// All jobs of the instant `at`, if they were read ahead and are still as they were; they stay.
    pub(crate) fn look_into_ahead(&self, at: UnixMs) -> Option<Vec<DueJob>> {
        let ahead = self.ahead.as_ref()?;
        let holds = ahead.at == at && ahead.commits == self.store.commits();
        ahead.jobs.clone().filter(|_| holds)
    }

    /// All jobs that are due at `now`, if they were read ahead and are still as they were.
    pub(crate) fn looked_ahead(&mut self, now: UnixMs) -> Option<Vec<DueJob>> {
        let Ahead { at, commits, jobs, .. } = self.ahead.take()?;
        jobs.filter(|_| at == now && commits == self.store.commits())
    }
}
