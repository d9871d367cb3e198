//! The tables `spending`: the usage of each call, for budgets; and `told_budgets`: budgets that were announced.
//!
//! Owns the sums over a run, a job, and everything since an instant. A row is written with the end of its step, so journal
//! and spending never differ. Sums have no upper end: after a clock rollback, rows dated later than now still count.
//! Rows dated days ahead come from a wrong clock, or the clock is wrong now; nothing can tell. They count from the instant at
//! which a query first saw them (`SEEN_KEY`), or they would count on every day until that date; when the clock reaches the
//! date, they count there.
//! Pitfall: redating such rows, so a short clock jump moves spending to another day for good; or pruning by age, so a short
//! clock jump deletes everything.

use std::collections::HashMap;

use rouse_core::budget::{MicroUsd, Spent};
use rouse_core::run::Usage;
use rouse_core::{JobId, RunId, UnixMs};
use serde_json::json;

use crate::sql::{
    Batch, Durability, FromColumns, Query, RowReader, Store, StoreError, Transaction, at_most,
    in_json_list, json_list, json_rows, to_signed, unindexed,
};

/// The furthest plausible date of a row ahead of the clock: 48 hours.
macro_rules! max_ahead_ms {
    () => {
        172_800_000
    };
}

const MAX_AHEAD_MS: i64 = max_ahead_ms!();
/// The setting with the instants at which implausible rows were first seen: `[[instant, oldest id, newest id], …]`.
const SEEN_KEY: &str = "spending.met";
/// Entries of that setting. Rows without an entry are seen anew.
const MAX_SEEN: usize = 100;
/// Rows that are kept; many times the rows of a month of busy jobs.
const MAX_ROWS: i64 = 200_000;
const MAX_ANNOUNCED: i64 = 10_000;

/// The sums that `Spent` reads. Each row is capped at more than a call can use: without the caps one damaged row would make
/// the sum overflow, and SQLite would answer every query with an error.
macro_rules! sums {
    () => {
        concat!(
            "coalesce(sum(",
            at_most!("tokens", "2000000000"),
            "), 0), coalesce(sum(",
            at_most!("cost_micro_usd", "1000000000000"),
            "), 0),
         coalesce(sum(CASE WHEN cost_micro_usd IS NULL THEN ",
            at_most!("tokens", "2000000000"),
            " END), 0)"
        )
    };
}

/// The entries of `SEEN_KEY` as the table `seen`.
macro_rules! with_seen {
    ($seen:literal) => {
        concat!(
            "WITH seen (at, oldest, newest) AS MATERIALIZED (SELECT at, oldest, newest FROM ",
            json_rows!($seen: 0 => "at", 1 => "oldest", 2 => "newest"),
            " AS entries) "
        )
    };
}

/// Whether a row was seen at `seen.at`, which must be plausible itself.
macro_rules! was_seen {
    ($horizon:literal) => {
        concat!(
            "spending.id BETWEEN seen.oldest AND seen.newest AND seen.at + ",
            max_ahead_ms!(),
            " < spending.at AND seen.at <= ",
            $horizon
        )
    };
}

/// Whether a row counts since an instant: dated plausibly and not before, or first seen since, or not seen yet.
macro_rules! counts_since {
    ($since:literal, $horizon:literal) => {
        concat!(
            "at >= ",
            $since,
            " AND (at <= ",
            $horizon,
            " OR coalesce((SELECT max(seen.at) FROM seen WHERE ",
            was_seen!($horizon),
            "), ",
            $since,
            ") >= ",
            $since,
            ")"
        )
    };
}

pub(crate) const OF_RUN: &str = concat!("SELECT ", sums!(), " FROM spending WHERE run_id = $1");
pub(crate) const OF_JOB: &str = concat!(
    with_seen!("$4"),
    "SELECT ",
    sums!(),
    " FROM spending WHERE job_id = $1 AND ",
    counts_since!("$2", "$3")
);
pub(crate) const OF_ALL: &str = concat!(
    with_seen!("$3"),
    "SELECT ",
    sums!(),
    " FROM spending WHERE ",
    counts_since!("$1", "$2")
);
/// An index scan per job.
pub(crate) const OF_JOBS: &str = concat!(
    with_seen!("$4"),
    "SELECT job_id, ",
    sums!(),
    " FROM spending WHERE job_id ",
    in_json_list!("$1"),
    " AND ",
    counts_since!("$2", "$3"),
    " GROUP BY job_id"
);
pub(crate) const HAS_ROWS_AHEAD: &str = "SELECT EXISTS (SELECT 1 FROM spending WHERE at > $1)";
/// The ids of the oldest and the newest implausible row not seen yet. The `+` keeps SQLite from scanning all rows.
pub(crate) const UNSEEN: &str = concat!(
    with_seen!("$2"),
    "SELECT min(",
    unindexed!("id"),
    "), max(",
    unindexed!("id"),
    ") FROM spending
    WHERE at > $1 AND NOT EXISTS (SELECT 1 FROM seen WHERE ",
    was_seen!("$1"),
    ")"
);
const INSERT: &str = "INSERT INTO spending (at, run_id, job_id, tokens, cost_micro_usd)
    VALUES ($1, $2, (SELECT job_id FROM runs WHERE id = $2), $3, $4)";
const PRUNE: &str = "DELETE FROM spending WHERE id <= (SELECT max(id) FROM spending) - $1";
const ANNOUNCE: &str =
    "INSERT INTO told_budgets (key, at) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING";
const PRUNE_ANNOUNCED: &str =
    "DELETE FROM told_budgets WHERE id <= (SELECT max(id) FROM told_budgets) - $1";

const ACTION: &str = "read the spending";

impl FromColumns<'_> for Spent {
    fn from_columns(row: &mut RowReader<'_>) -> sqlx::Result<Self> {
        Ok(Self { tokens: row.read()?, usd: MicroUsd(row.read()?), unpriced_tokens: row.read()? })
    }
}

impl Store {
    /// The spending of a run over all attempts.
    pub async fn spent_by_run(&self, run: &RunId) -> Result<Spent, StoreError> {
        self.fetch_or_default(ACTION, sqlx::query(OF_RUN).bind(run.as_str())).await
    }

    /// The spending of all runs of a job since `since`, open runs included.
    pub async fn spent_by_job(
        &self,
        job: &JobId,
        since: UnixMs,
        now: UnixMs,
    ) -> Result<Spent, StoreError> {
        let window = self.spending_window(now).await?;
        let query = sqlx::query(OF_JOB).bind(job.as_str()).bind(since.0);
        self.fetch_or_default(ACTION, window.bind(query)).await
    }

    /// The spending of several jobs, for display; jobs without spending are left out.
    pub async fn spent_by_jobs(
        &self,
        jobs: &[JobId],
        since: UnixMs,
        now: UnixMs,
    ) -> Result<HashMap<JobId, Spent>, StoreError> {
        let window = self.spending_window(now).await?;
        let query = sqlx::query(OF_JOBS).bind(json_list(jobs.iter().map(JobId::as_str)));
        let sums = self.fetch_all::<(JobId, Spent)>(ACTION, window.bind(query.bind(since.0)));
        Ok(sums.await?.into_iter().collect())
    }

    /// The spending of everything since `since`: jobs, deleted jobs, heartbeat and chat.
    pub async fn spent_since(&self, since: UnixMs, now: UnixMs) -> Result<Spent, StoreError> {
        let window = self.spending_window(now).await?;
        self.fetch_or_default(ACTION, window.bind(sqlx::query(OF_ALL).bind(since.0))).await
    }

    /// Books a call that belongs to no run, under the name of its `source`.
    pub async fn record_spending_without_run(
        &self,
        source: &str,
        usage: Usage,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let tx = self.begin("book the spending", Durability::Normal, now).await?;
        let mut batch = Batch::default();
        add_spending(&mut batch, &RunId::new(source), usage, now);
        tx.commit_with(batch).await.map(drop)
    }

    /// Records implausible rows as seen; the rows stay unchanged.
    async fn spending_window(&self, now: UnixMs) -> Result<SpendingWindow, StoreError> {
        let horizon = now.plus_ms(MAX_AHEAD_MS);
        let mut seen: Vec<(i64, i64, i64)> = Vec::new();
        if self.fetch_or_default(ACTION, sqlx::query(HAS_ROWS_AHEAD).bind(horizon.0)).await? {
            let stored = self.setting(SEEN_KEY).await?;
            // silent-ok: rows whose entry cannot be read are seen anew.
            seen = stored.and_then(|seen| serde_json::from_value(seen).ok()).unwrap_or_default();
            let query = sqlx::query(UNSEEN).bind(horizon.0).bind(json!(seen).to_string());
            if let Some((Some(oldest), Some(newest))) = self.fetch_optional(ACTION, query).await? {
                // A concurrent call records the same entry.
                seen.push((now.0, oldest, newest));
                seen.drain(..seen.len().saturating_sub(MAX_SEEN));
                if let Err(error) = self.put_setting(SEEN_KEY, &json!(seen), None, now).await {
                    tracing::warn!(%error, "spending dated later than now counts as of now once more");
                }
            }
        }
        Ok(SpendingWindow { horizon, seen: json!(seen).to_string() })
    }
}

/// The plausible dates of rows, and the instants at which the others were first seen.
struct SpendingWindow {
    horizon: UnixMs,
    seen: String,
}

impl SpendingWindow {
    /// Binds the last two values of a sum.
    fn bind(self, query: Query) -> Query {
        query.bind(self.horizon.0).bind(self.seen)
    }
}

/// Adds the usage of a step to a batch, unless zero.
pub(crate) fn add_spending(batch: &mut Batch, run: &RunId, usage: Usage, now: UnixMs) {
    if usage.tokens() == 0 && usage.cost_micro_usd.unwrap_or(0) == 0 {
        return;
    }
    batch.add(INSERT, |values| {
        values
            .bind(now.0)
            .bind(run.as_str())
            .bind(to_signed(usage.tokens()))
            .bind(usage.cost_micro_usd.map(to_signed))
    });
    batch.add(PRUNE, |values| values.bind(MAX_ROWS));
}

/// Records the announcement of a used-up budget; false if announced before.
pub(crate) async fn announce_budget_once(
    tx: &mut Transaction,
    key: &str,
) -> Result<bool, StoreError> {
    let is_new = tx.execute(sqlx::query(ANNOUNCE).bind(key).bind(tx.now().0)).await? > 0;
    if is_new {
        tx.execute(sqlx::query(PRUNE_ANNOUNCED).bind(MAX_ANNOUNCED)).await?;
    }
    Ok(is_new)
}
