//! The table `spending`: what every call has cost, for budgets; and `told_budgets`: which of them were told.
//!
//! Owns the sums over a run, a job and everything since an instant. A row is written with the end of the step that it is
//! about, so a journal and its costs never differ. A sum has no upper end: what a clock that was ahead has dated later
//! than now was spent all the same, and a clock that is set back buys nothing twice. Rows that lie days ahead come from a
//! clock that was plainly wrong, unless this one is; nobody can tell. They count as of the instant at which they were met
//! there, or they would count on every day until then; that instant is kept beside them (`MET`), and when the clock has
//! come to where they lie, they count there. One could get it wrong by dating them anew: a clock that is early for a
//! moment would take what was spent out of its day for good. Or by pruning by age: a clock that is wrong for a moment
//! would take all of it.

use std::collections::HashMap;

use rouse_core::money::{MicroUsd, Spent};
use rouse_core::run::Usage;
use rouse_core::{JobId, RunId, UnixMs};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteRow;

use crate::row::{Columns, json_list, signed};
use crate::walk::Walk;
use crate::write::{Durability, Query, Write};
use crate::{Store, StoreError};

/// How far ahead of the clock a row is believed: 48 hours.
macro_rules! ahead_ms {
    () => {
        172_800_000
    };
}

const AHEAD_MS: i64 = ahead_ms!();
/// Where the store keeps when rows were met that lay too far ahead to be believed: an instant, and the numbers of the
/// oldest and the newest of them.
const MET: &str = "spending.met";
/// Most such instants that are kept. Rows whose instant is gone are met anew.
const MOST_MET: usize = 100;
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

/// The rows of `MET`, as the table `met` of a query.
macro_rules! with_met {
    ($met:literal) => {
        concat!(
            "WITH met (at, oldest, newest) AS MATERIALIZED
                (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(",
            $met,
            ")) "
        )
    };
}

/// That a row was met at `met`, an instant that is believed itself.
macro_rules! was_met {
    ($horizon:literal) => {
        concat!(
            "spending.id BETWEEN met.oldest AND met.newest AND met.at + ",
            ahead_ms!(),
            " < spending.at AND met.at <= ",
            $horizon
        )
    };
}

/// That a row counts from an instant on: it is dated so, or it lies too far ahead and was met since, or is met now.
macro_rules! counts {
    ($since:literal, $horizon:literal) => {
        concat!(
            "at >= ",
            $since,
            " AND (at <= ",
            $horizon,
            " OR coalesce((SELECT max(met.at) FROM met WHERE ",
            was_met!($horizon),
            "), ",
            $since,
            ") >= ",
            $since,
            ")"
        )
    };
}

pub(crate) const OF_RUN: &str = concat!("SELECT ", amounts!(), " FROM spending WHERE run_id = ?1");
pub(crate) const OF_JOB: &str = concat!(
    with_met!("?4"),
    "SELECT ",
    amounts!(),
    " FROM spending WHERE job_id = ?1 AND ",
    counts!("?2", "?3")
);
pub(crate) const OF_ALL: &str =
    concat!(with_met!("?3"), "SELECT ", amounts!(), " FROM spending WHERE ", counts!("?1", "?2"));
/// A walk over an index per job.
pub(crate) const OF_JOBS: &str = concat!(
    with_met!("?4"),
    "SELECT job_id, ",
    amounts!(),
    " FROM spending WHERE job_id IN (SELECT value FROM json_each(?1)) AND ",
    counts!("?2", "?3"),
    " GROUP BY job_id"
);
pub(crate) const AHEAD: &str = "SELECT EXISTS (SELECT 1 FROM spending WHERE at > ?1)";
/// The oldest and the newest of those that lie too far ahead and were not met. The `+` keeps it from a walk over all rows.
pub(crate) const UNMET: &str = concat!(
    with_met!("?2"),
    "SELECT min(+id), max(+id) FROM spending
    WHERE at > ?1 AND NOT EXISTS (SELECT 1 FROM met WHERE ",
    was_met!("?1"),
    ")"
);
// The job is that of the run.
const INSERT: &str = "INSERT INTO spending (at, run_id, job_id, tokens, cost_micro_usd)
    VALUES (?1, ?2, (SELECT job_id FROM runs WHERE id = ?2), ?3, ?4)";
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
    /// `Read`.
    pub async fn spent_by_job(
        &self,
        job: &JobId,
        since: UnixMs,
        now: UnixMs,
    ) -> Result<Spent, StoreError> {
        let believed = self.believe(now).await?;
        self.sum(believed.bind(sqlx::query(OF_JOB).bind(job.as_str()).bind(since.0))).await
    }

    /// The same of several jobs, for who only shows it; jobs that have spent nothing are absent.
    ///
    /// # Errors
    /// `Read`.
    pub async fn spent_by_jobs(
        &self,
        jobs: &[JobId],
        since: UnixMs,
        now: UnixMs,
    ) -> Result<HashMap<JobId, Spent>, StoreError> {
        let believed = self.believe(now).await?;
        let query =
            sqlx::query(OF_JOBS).bind(json_list(jobs.iter().map(JobId::as_str))).bind(since.0);
        let query = believed.bind(query);
        let sums = self.list("read what was spent", query, |row| {
            let mut columns = Columns::of(row);
            Ok((columns.id(JobId::new)?, spent(&mut columns)?))
        });
        Ok(sums.await?.into_iter().collect())
    }

    /// What everything has spent from `since` on: jobs, those that are gone included, the heartbeat and the chat.
    ///
    /// # Errors
    /// `Read`.
    pub async fn spent_since(&self, since: UnixMs, now: UnixMs) -> Result<Spent, StoreError> {
        let believed = self.believe(now).await?;
        self.sum(believed.bind(sqlx::query(OF_ALL).bind(since.0))).await
    }

    /// Books a call that belongs to no run, under the name of its `source`.
    ///
    /// # Errors
    /// `Write`.
    pub async fn spend_outside_runs(
        &self,
        source: &str,
        usage: Usage,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let write = self.write("book the call", Durability::Normal, now).await?;
        let mut walk = Walk::default();
        add_spending(&mut walk, &RunId::new(source), usage, now);
        write.commit_after(walk).await.map(drop)
    }

    /// Writes down that rows were met which lie days ahead of the clock; the rows stay as they are.
    async fn believe(&self, now: UnixMs) -> Result<Believed, StoreError> {
        let horizon = now.plus_ms(AHEAD_MS);
        let what = "read what was spent";
        let query = sqlx::query(AHEAD).bind(horizon.0);
        let mut met = Vec::new();
        if self.one(what, query, |row| Columns::of(row).get()).await? == Some(true) {
            met = met_in(self.setting(MET).await?);
            let query = sqlx::query(UNMET).bind(horizon.0).bind(json!(met).to_string());
            if let Some((Some(oldest), Some(newest))) = self.one(what, query, ends).await? {
                // Whoever does the same at this moment writes down the same.
                met.push((now.0, oldest, newest));
                met.drain(..met.len().saturating_sub(MOST_MET));
                if let Err(error) = self.put_setting(MET, &json!(met), None, now).await {
                    tracing::warn!(%error, "what was spent later than now is counted as of now once more");
                }
            }
        }
        Ok(Believed { horizon, met: json!(met).to_string() })
    }

    async fn sum(&self, query: Query) -> Result<Spent, StoreError> {
        Ok(self.one("read what was spent", query, read).await?.unwrap_or_default())
    }
}

/// Up to where rows are believed, and when those beyond were met.
struct Believed {
    horizon: UnixMs,
    met: String,
}

impl Believed {
    /// Binds the last two values of a sum.
    fn bind(self, query: Query) -> Query {
        query.bind(self.horizon.0).bind(self.met)
    }
}

fn met_in(setting: Option<Value>) -> Vec<(i64, i64, i64)> {
    // silent-ok: rows whose instant cannot be read are met anew.
    setting.and_then(|met| serde_json::from_value(met).ok()).unwrap_or_default()
}

fn ends(row: &SqliteRow) -> sqlx::Result<(Option<i64>, Option<i64>)> {
    let mut columns = Columns::of(row);
    Ok((columns.get()?, columns.get()?))
}

fn read(row: &SqliteRow) -> sqlx::Result<Spent> {
    spent(&mut Columns::of(row))
}

fn spent(columns: &mut Columns<'_>) -> sqlx::Result<Spent> {
    let mut amount = || columns.get::<i64>().map(|sum| u64::try_from(sum).unwrap_or(0));
    Ok(Spent { tokens: amount()?, usd: MicroUsd(amount()?), unpriced_tokens: amount()? })
}

/// Adds the cost of a step of `run` to a walk, if it has cost anything.
pub(crate) fn add_spending(walk: &mut Walk, run: &RunId, usage: Usage, now: UnixMs) {
    if usage.tokens() == 0 && usage.cost_micro_usd.unwrap_or(0) == 0 {
        return;
    }
    walk.add(INSERT, |values| {
        values
            .bind(now.0)
            .bind(run.as_str())
            .bind(signed(usage.tokens()))
            .bind(usage.cost_micro_usd.map(signed))
    });
    walk.add(PRUNE, |values| values.bind(MOST_ROWS));
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
