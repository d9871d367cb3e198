//! The table `runs`: rows and queries.
//!
//! A claim inserts the run of a slot, `Store::insert_run` any other run. Transitions are in `tx`, lists in
//! `run_list`, the history of a job in `run_history`.
//! Pitfall: an update without a condition on the state; a late or repeated call would change a final run.

use std::collections::{HashMap, HashSet};

use rouse_core::{JobId, Run, RunId, RunState, RunTrigger, SessionKey, UnixMs};

use super::pruned_slots::not_pruned;
use crate::sql::{
    Batch, MultiRowSql, Query, Store, StoreError, Transaction, bind_usage, by_index, from_columns,
    in_json_list, json_list, total_rows_affected,
};

/// The columns of a new run, in the order of `bind_run`.
macro_rules! new_run_columns {
    () => {
        "id, job_id, job_name, slot_at, trigger, state, reason, stands_for, created_at, started_at, finished_at,
         attempt, retry_of, summary, error, session, model, input_tokens, cached_input_tokens, output_tokens,
         cost_micro_usd, payload, fell_back, first_slot_at"
    };
}
/// The slot of the interrupted run that a catch-up run replaces.
macro_rules! retried_slot {
    () => {
        "CASE trigger WHEN 'catchUp' THEN
            (SELECT interrupted.slot_at FROM runs AS interrupted WHERE interrupted.id = runs.retry_of) END"
    };
}
/// The columns that `Run` reads, in order.
macro_rules! run_columns {
    () => {
        concat!(
            $crate::tables::runs::new_run_columns!(),
            ", next_attempt_at, worked_ms, waits_for, model_wait_ms, ",
            $crate::tables::runs::retried_slot!()
        )
    };
}

/// Assignments that add four values to the usage of a run. An unknown cost makes the sum unknown.
macro_rules! add_usage {
    ($input:literal, $cached:literal, $output:literal, $cost:literal) => {
        concat!(
            "cost_micro_usd = CASE WHEN ",
            $cost,
            " IS NULL AND ",
            $input,
            " + ",
            $output,
            " = 0 THEN cost_micro_usd
                 WHEN cost_micro_usd IS NULL AND input_tokens + output_tokens > 0 THEN NULL
                 ELSE coalesce(cost_micro_usd, 0) + ",
            $cost,
            " END,
             input_tokens = input_tokens + ",
            $input,
            ", cached_input_tokens = cached_input_tokens + ",
            $cached,
            ",
             output_tokens = output_tokens + ",
            $output
        )
    };
}

/// The condition under which a run may be inserted, for a row whose job is `column2` and whose slot is `column4`: the first
/// row at or after the slot does not stand for it. Slots in the middle of a coalesced row (`tx::coalesce`) have no row.
macro_rules! not_coalesced {
    () => {
        "((SELECT since.counted_from FROM runs AS since WHERE since.job_id = column2 AND since.slot_at >= column4
             ORDER BY since.slot_at LIMIT 1) <= column4) IS NOT TRUE"
    };
}
pub(crate) use {add_usage, new_run_columns, not_coalesced, retried_slot, run_columns};

pub(crate) const GET: &str = concat!("SELECT ", run_columns!(), " FROM runs WHERE id = $1");
const STATES: &str = concat!("SELECT id, trigger, state FROM runs WHERE id ", in_json_list!("$1"));
pub(crate) const IN_STATE: &str =
    concat!("SELECT ", run_columns!(), " FROM runs WHERE state = $1 ORDER BY created_at, seq");
pub(crate) static INSERT: MultiRowSql = MultiRowSql::new(
    concat!("INSERT INTO runs (", new_run_columns!(), ") SELECT * FROM ("),
    24,
    concat!(
        ") WHERE ",
        not_pruned!(),
        " AND ",
        not_coalesced!(),
        " ON CONFLICT (job_id, slot_at) WHERE slot_at IS NOT NULL DO NOTHING"
    ),
);
const EXISTING: &str = concat!("SELECT id FROM runs WHERE id ", in_json_list!("$1"));
// Running before queued, the oldest first. Without `INDEXED BY` SQLite scans all runs that ever were in these states.
pub(crate) const LIVE: &str = concat!(
    "SELECT job_id, id FROM ",
    by_index!("runs", "runs_open"),
    " WHERE finished_at IS NULL AND job_id ",
    in_json_list!("$1"),
    " AND state IN ('running', 'queued')
    ORDER BY state DESC, created_at, seq"
);
pub(crate) const OPEN_FOR_SLOT: &str = concat!(
    "SELECT 1 FROM ",
    by_index!("runs", "runs_open"),
    " WHERE job_id = $1 AND finished_at IS NULL AND id <> $2 AND coalesce(slot_at, ",
    retried_slot!(),
    ") IS NOT NULL LIMIT 1"
);

from_columns!(
    Run:
    id, job_id, job_name, slot_at, trigger, state, reason, slot_count, created_at, started_at,
    finished_at, attempt, retry_of, summary, error, session, model, usage, payload, fallback_reason,
    first_slot_at, next_attempt_at, worked_ms, waits_for, model_wait_ms, catch_up_slot_at
);

impl Store {
    /// One run.
    pub async fn run(&self, id: &RunId) -> Result<Option<Run>, StoreError> {
        self.fetch_optional("read the run", sqlx::query(GET).bind(id.as_str())).await
    }

    /// The triggers and states of these runs; missing runs are left out.
    pub async fn run_states(
        &self,
        runs: &[RunId],
    ) -> Result<HashMap<RunId, (RunTrigger, RunState)>, StoreError> {
        let query = sqlx::query(STATES).bind(json_list(runs.iter().map(RunId::as_str)));
        let rows: Vec<(RunId, (RunTrigger, RunState))> =
            self.fetch_all("read the runs", query).await?;
        Ok(rows.into_iter().collect())
    }

    /// Whether the job has an open run for a slot other than `except`.
    pub async fn has_open_slot_run(&self, job: &JobId, except: &RunId) -> Result<bool, StoreError> {
        let query = sqlx::query(OPEN_FOR_SLOT).bind(job.as_str()).bind(except.as_str());
        self.exists("read the runs", query).await
    }

    /// Queued runs, the oldest first.
    pub async fn queued_runs(&self) -> Result<Vec<Run>, StoreError> {
        self.runs_in(RunState::Queued).await
    }

    /// Running runs, the oldest first.
    pub async fn running_runs(&self) -> Result<Vec<Run>, StoreError> {
        self.runs_in(RunState::Running).await
    }

    /// Parked runs, the oldest first.
    pub async fn parked_runs(&self) -> Result<Vec<Run>, StoreError> {
        self.runs_in(RunState::AwaitingApproval).await
    }

    async fn runs_in(&self, state: RunState) -> Result<Vec<Run>, StoreError> {
        self.fetch_all("list the runs", sqlx::query(IN_STATE).bind(state.name())).await
    }

    /// The live runs of each job, running before queued; jobs without live runs are left out.
    pub async fn live_runs(
        &self,
        jobs: &[JobId],
    ) -> Result<HashMap<JobId, Vec<RunId>>, StoreError> {
        let query = sqlx::query(LIVE).bind(json_list(jobs.iter().map(JobId::as_str)));
        let mut live: HashMap<JobId, Vec<RunId>> = HashMap::new();
        for (job, run) in self.fetch_all("read the live runs", query).await? {
            live.entry(job).or_default().push(run);
        }
        Ok(live)
    }
}

/// The runs of an insert that have rows now.
pub(crate) enum InsertedRuns {
    All,
    Only(HashSet<RunId>),
}

impl InsertedRuns {
    pub(crate) fn contains(&self, id: &RunId) -> bool {
        match self {
            Self::All => true,
            Self::Only(ids) => ids.contains(id),
        }
    }
}

/// Inserts runs whose slots have no run; final runs are finished now.
pub(crate) async fn insert_runs(
    tx: &mut Transaction,
    runs: &[&Run],
) -> Result<InsertedRuns, StoreError> {
    let now = tx.now();
    let mut batch = Batch::default();
    batch.add_rows(&INSERT, runs, |query, run| bind_run(query, run, now));
    let results = tx.execute_batch(batch).await?;
    if total_rows_affected(&results) == runs.len() as u64 {
        return Ok(InsertedRuns::All);
    }
    let ids = json_list(runs.iter().map(|run| run.id.as_str()));
    let existing = tx.fetch_all(sqlx::query(EXISTING).bind(ids)).await?;
    Ok(InsertedRuns::Only(existing.into_iter().collect()))
}

/// Adds the insert of runs to a batch, which fails if a slot has a run already.
pub(crate) fn expect_inserted_runs(batch: &mut Batch, runs: &[&Run], now: UnixMs) {
    batch.expect_rows(&INSERT, runs, |query, run| bind_run(query, run, now));
}

/// Binds the columns of `INSERT` in order.
fn bind_run(query: Query, run: &Run, now: UnixMs) -> Query {
    let finished_at = run.finished_at.or(run.state.is_final().then_some(now));
    let query = query
        .bind(run.id.as_str())
        .bind(run.job_id.as_ref().map(JobId::as_str))
        .bind(run.job_name.as_str())
        .bind(run.slot_at.map(|at| at.0))
        .bind(run.trigger.name())
        .bind(run.state.name())
        .bind(run.reason.as_deref())
        .bind(run.slot_count)
        .bind(run.created_at.0)
        .bind(run.started_at.map(|at| at.0))
        .bind(finished_at.map(|at| at.0))
        .bind(run.attempt)
        .bind(run.retry_of.as_ref().map(RunId::as_str))
        .bind(run.summary.as_deref())
        .bind(run.error.as_deref())
        .bind(run.session.as_ref().map(SessionKey::as_str))
        .bind(run.model.as_deref());
    bind_usage(query, run.usage)
        .bind(run.payload.to_string())
        .bind(run.fallback_reason.as_deref())
        .bind(run.first_slot_at.map(|at| at.0))
}
