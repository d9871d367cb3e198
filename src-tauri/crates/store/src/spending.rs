//! The table `spending`: what every call has cost, for budgets; and `told_budgets`: which of them were told.
//!
//! Owns the sums over a run, a job and everything since an instant. A row is written with the end of the step that it is
//! about, so a journal and its costs never differ. A sum has no upper end: what a clock that was ahead has dated later
//! than now was spent all the same, and a clock that is set back buys nothing twice. Rows that lie days ahead come from a
//! clock that was plainly wrong; they are dated now, or they would count on every day until then. One could get it
//! wrong by pruning by age: a clock that is wrong for a moment would take all of it.

use std::collections::HashMap;

use rouse_core::money::{MicroUsd, Spent};
use rouse_core::run::Usage;
use rouse_core::{JobId, RunId, UnixMs};
use sqlx::sqlite::SqliteRow;

use crate::row::{Columns, json_list, signed};
use crate::write::{Durability, Query, Write};
use crate::{Store, StoreError};

/// How far ahead of the clock a row is believed.
const AHEAD_MS: i64 = 48 * 3_600_000;
/// Rows that are kept; many times what a month of busy jobs writes.
const MOST_ROWS: i64 = 200_000;
/// Told budgets that are kept.
const MOST_TOLD: i64 = 10_000;

/// The three sums. A row that says more than a call can use counts as the most that is believed: a sum of anything else
/// ends in an overflow, which SQLite answers with an error, and nothing could be read as long as the row is there.
macro_rules! amounts {
    () => {
        "coalesce(sum(min(tokens, 2000000000)), 0), coalesce(sum(min(cost_micro_usd, 1000000000000)), 0),
         coalesce(sum(CASE WHEN cost_micro_usd IS NULL THEN min(tokens, 2000000000) END), 0)"
    };
}

macro_rules! sums {
    ($which:literal) => {
        concat!("SELECT ", amounts!(), " FROM spending WHERE ", $which)
    };
}

pub(crate) const OF_RUN: &str = sums!("run_id = ?1");
pub(crate) const OF_JOB: &str = sums!("job_id = ?1 AND at >= ?2");
pub(crate) const OF_ALL: &str = sums!("at >= ?1");
/// A walk over an index per job.
pub(crate) const OF_JOBS: &str = concat!(
    "SELECT job_id, ",
    amounts!(),
    " FROM spending WHERE job_id IN (SELECT value FROM json_each(?1)) AND at >= ?2 GROUP BY job_id"
);
pub(crate) const AHEAD: &str = "SELECT EXISTS (SELECT 1 FROM spending WHERE at > ?1)";
const DATE_NOW: &str = "UPDATE spending SET at = ?2 WHERE at > ?1";
const INSERT: &str =
    "INSERT INTO spending (at, run_id, job_id, tokens, cost_micro_usd) VALUES (?1, ?2, ?3, ?4, ?5)";
const PRUNE: &str = "DELETE FROM spending WHERE id <= (SELECT max(id) FROM spending) - ?1";
const TELL: &str =
    "INSERT INTO told_budgets (key, at) VALUES (?1, ?2) ON CONFLICT (key) DO NOTHING";
const PRUNE_TOLD: &str =
    "DELETE FROM told_budgets WHERE id <= (SELECT max(id) FROM told_budgets) - ?1";

impl Store {
    /// What a run has spent so far, over all its attempts and breaks.
    ///
    /// # Errors
    /// `Read`.
    pub async fn spent_by_run(&self, run: &RunId) -> Result<Spent, StoreError> {
        self.sum(sqlx::query(OF_RUN).bind(run.as_str())).await
    }

    /// What all runs of a job have spent from `since` on, those that are going included.
    ///
    /// # Errors
    /// `Read`, `Write`.
    pub async fn spent_by_job(
        &self,
        job: &JobId,
        since: UnixMs,
        now: UnixMs,
    ) -> Result<Spent, StoreError> {
        self.believe(now).await?;
        self.sum(sqlx::query(OF_JOB).bind(job.as_str()).bind(since.0)).await
    }

    /// The same of several jobs, for who only shows it; jobs that have spent nothing are absent.
    ///
    /// # Errors
    /// `Read`.
    pub async fn spent_by_jobs(
        &self,
        jobs: &[JobId],
        since: UnixMs,
    ) -> Result<HashMap<JobId, Spent>, StoreError> {
        let query =
            sqlx::query(OF_JOBS).bind(json_list(jobs.iter().map(JobId::as_str))).bind(since.0);
        let sums = self.list("read what was spent", query, |row| {
            let mut columns = Columns::of(row);
            Ok((columns.id(JobId::new)?, spent(&mut columns)?))
        });
        Ok(sums.await?.into_iter().collect())
    }

    /// What everything has spent from `since` on: jobs, those that are gone included, the heartbeat and the chat.
    ///
    /// # Errors
    /// `Read`, `Write`.
    pub async fn spent_since(&self, since: UnixMs, now: UnixMs) -> Result<Spent, StoreError> {
        self.believe(now).await?;
        self.sum(sqlx::query(OF_ALL).bind(since.0)).await
    }

    /// Dates what lies days ahead of the clock now.
    async fn believe(&self, now: UnixMs) -> Result<(), StoreError> {
        let horizon = now.plus_ms(AHEAD_MS);
        let what = "read what was spent";
        let query = sqlx::query(AHEAD).bind(horizon.0);
        if self.one(what, query, |row| Columns::of(row).get()).await? != Some(true) {
            return Ok(());
        }
        let mut write = self.write("date what was spent", Durability::Normal, now).await?;
        write.run(sqlx::query(DATE_NOW).bind(horizon.0).bind(now.0)).await?;
        write.commit().await
    }

    async fn sum(&self, query: Query) -> Result<Spent, StoreError> {
        Ok(self.one("read what was spent", query, read).await?.unwrap_or_default())
    }
}

fn read(row: &SqliteRow) -> sqlx::Result<Spent> {
    spent(&mut Columns::of(row))
}

fn spent(columns: &mut Columns<'_>) -> sqlx::Result<Spent> {
    let mut amount = || columns.get::<i64>().map(|sum| u64::try_from(sum).unwrap_or(0));
    Ok(Spent { tokens: amount()?, usd: MicroUsd(amount()?), unpriced_tokens: amount()? })
}

/// Writes down what a step has cost, if it has cost anything.
pub(crate) async fn spend(
    write: &mut Write,
    run: &RunId,
    job: Option<&JobId>,
    usage: Usage,
) -> Result<(), StoreError> {
    if usage.tokens() == 0 && usage.cost_micro_usd.unwrap_or(0) == 0 {
        return Ok(());
    }
    let query = sqlx::query(INSERT)
        .bind(write.now().0)
        .bind(run.as_str())
        .bind(job.map(JobId::as_str))
        .bind(signed(usage.tokens()))
        .bind(usage.cost_micro_usd.map(signed));
    write.run(query).await?;
    write.run(sqlx::query(PRUNE).bind(MOST_ROWS)).await.map(drop)
}

/// Writes down that a budget was told to be used up; false when it was told already.
pub(crate) async fn tell_once(write: &mut Write, key: &str) -> Result<bool, StoreError> {
    let query = sqlx::query(TELL).bind(key.to_owned()).bind(write.now().0);
    let is_new = write.run(query).await?.rows_affected() > 0;
    if is_new {
        write.run(sqlx::query(PRUNE_TOLD).bind(MOST_TOLD)).await?;
    }
    Ok(is_new)
}
