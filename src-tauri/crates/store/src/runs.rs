//! The table `runs`: rows, and the way from queued to running.
//!
//! Owns the row of a run. A run is inserted by a claim, or by
//! `insert_run` when no slot asked for it; how it ends is in `finish`, lists are in `run_pages`.
//! Every update names the state it comes from, so that a late or repeated call changes nothing.

use std::collections::{HashMap, HashSet};

use rouse_core::event::EventKind;
use rouse_core::run::{Usage, WaitsFor};
use rouse_core::{JobId, Run, RunId, RunState, RunTrigger, SessionKey, UnixMs};
use serde_json::Value;
use sqlx::sqlite::SqliteRow;

use crate::approvals::withdraw;
use crate::causes::copy_cause;
use crate::counted::not_counted;
use crate::many::Rows;
use crate::retention::not_pruned;
use crate::row::{Columns, bind_usage, json_list, readable};
use crate::run_events::{run_event, started_event, state_event};
use crate::steps::lose_unfinished;
use crate::walk::{Walk, changed};
use crate::write::{Durability, Query, Write};
use crate::{Store, StoreError};

/// What a new run has, in the order of `bind_run`.
macro_rules! new_run_columns {
    () => {
        "id, job_id, job_name, slot_at, trigger, state, reason, stands_for, created_at, started_at, finished_at,
         attempt, retry_of, summary, error, session, model, input_tokens, cached_input_tokens, output_tokens,
         cost_micro_usd, payload, fell_back, first_slot_at"
    };
}
/// The slot that was cut off with the run that this one makes up for.
macro_rules! makes_up_for {
    () => {
        "CASE trigger WHEN 'catchUp' THEN
            (SELECT cut_off.slot_at FROM runs AS cut_off WHERE cut_off.id = runs.retry_of) END"
    };
}
/// What `read_run` reads, in its order.
macro_rules! run_columns {
    () => {
        concat!(
            $crate::runs::new_run_columns!(),
            ", next_attempt_at, worked_ms, waits_for, model_wait_ms, ",
            $crate::runs::makes_up_for!()
        )
    };
}
pub(crate) use {makes_up_for, new_run_columns, run_columns};

/// What a run has cost, with what it has cost since: four values from `$first` on. A part of which nobody knows the price
/// leaves nobody knowing that of the whole.
macro_rules! with_usage {
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
pub(crate) use with_usage;

pub(crate) const GET: &str = concat!("SELECT ", run_columns!(), " FROM runs WHERE id = ?1");
const STANDING: &str =
    "SELECT id, trigger, state FROM runs WHERE id IN (SELECT value FROM json_each(?1))";
pub(crate) const IN_STATE: &str =
    concat!("SELECT ", run_columns!(), " FROM runs WHERE state = ?1 ORDER BY created_at, seq");
pub(crate) static INSERT: Rows = Rows::new(
    concat!("INSERT INTO runs (", new_run_columns!(), ") SELECT * FROM ("),
    24,
    concat!(
        ") WHERE ",
        not_pruned!(),
        " AND ",
        not_counted!(),
        " ON CONFLICT (job_id, slot_at) WHERE slot_at IS NOT NULL DO NOTHING"
    ),
);
const THERE: &str = "SELECT id FROM runs WHERE id IN (SELECT value FROM json_each(?1))";
// The `+` keeps SQLite from walking all queued runs instead of looking these up.
pub(crate) const START: &str = "UPDATE runs SET state = 'running', started_at = coalesce(started_at, ?1), attempt = max(attempt, 1)
    WHERE id IN (SELECT value FROM json_each(?2)) AND +state = 'queued' RETURNING id, job_id";
pub(crate) const TOUCH_JOBS: &str =
    "UPDATE jobs SET last_run_at = ?1 WHERE id IN (SELECT value FROM json_each(?2))";
const PUT_BACK: &str = concat!(
    "UPDATE runs SET state = 'queued', attempt = attempt + 1, worked_ms = 0 WHERE id = ?1 AND state = 'running' RETURNING ",
    run_columns!()
);
pub(crate) const CANCEL_QUEUED_OF: &str = concat!(
    "UPDATE runs SET state = 'cancelled', reason = ?2, finished_at = ?3
     WHERE job_id = ?1 AND finished_at IS NULL AND state IN ('queued', 'awaitingApproval') RETURNING ",
    run_columns!()
);
// The `+` keeps SQLite on the runs of this job, away from all runs in this state.
pub(crate) const LAST_RESULT: &str = "SELECT result FROM runs
    WHERE job_id = ?1 AND +state = 'succeeded' AND result IS NOT NULL
    ORDER BY created_at DESC, seq DESC LIMIT 1";
pub(crate) const NEWEST_RESULTS: &str = "SELECT id, created_at, result FROM runs
    WHERE job_id = ?1 AND +state = 'succeeded' AND result IS NOT NULL
    ORDER BY created_at DESC, seq DESC LIMIT ?2";
// Runs that have used something.
pub(crate) const USAGES: &str =
    "SELECT input_tokens, cached_input_tokens, output_tokens, cost_micro_usd FROM runs
    WHERE job_id = ?1 AND +state IN ('succeeded', 'nothingToReport', 'failed', 'timedOut')
        AND (input_tokens + output_tokens > 0 OR cost_micro_usd > 0)
    ORDER BY created_at DESC, seq DESC LIMIT ?2";
// A short walk per job. A window function over all their runs would read every run they ever had.
pub(crate) const RECENT: &str = "SELECT asked.value,
        (SELECT json_group_array(state) FROM
            (SELECT state FROM runs WHERE job_id = asked.value ORDER BY created_at DESC, seq DESC LIMIT ?1))
    FROM json_each(?2) AS asked";

// What runs comes before what waits, each the oldest first. SQLite would rather walk all runs that ever were in
// these states.
pub(crate) const LIVE: &str = "SELECT job_id, id FROM runs INDEXED BY runs_open
    WHERE finished_at IS NULL AND job_id IN (SELECT value FROM json_each(?1)) AND state IN ('running', 'queued')
    ORDER BY state DESC, created_at, seq";

pub(crate) const OPEN_FOR_SLOT: &str = concat!(
    "SELECT 1 FROM runs INDEXED BY runs_open
     WHERE job_id = ?1 AND finished_at IS NULL AND id <> ?2 AND coalesce(slot_at, ",
    makes_up_for!(),
    ") IS NOT NULL LIMIT 1"
);

impl Store {
    /// Inserts a run that no slot asked for: manual or heartbeat. Event `run`.
    ///
    /// # Errors
    /// `Write`, also when the id is taken.
    pub async fn insert_run(&self, run: &Run, now: UnixMs) -> Result<(), StoreError> {
        let mut write = self.write("save the run", Durability::Full, now).await?;
        insert_runs(&mut write, &[run]).await?;
        if let Some(of) = &run.retry_of {
            copy_cause(&mut write, of, &run.id).await?;
        }
        write.event(EventKind::Run, run_event(run));
        write.commit().await
    }

    /// One run.
    ///
    /// # Errors
    /// `Read`.
    pub async fn run(&self, id: &RunId) -> Result<Option<Run>, StoreError> {
        self.one("read the run", sqlx::query(GET).bind(id.as_str()), read_run).await
    }

    /// What these runs were begun by, and how they stand; one that is gone is left out.
    ///
    /// # Errors
    /// `Read`.
    pub async fn standing_of(
        &self,
        runs: &[RunId],
    ) -> Result<HashMap<RunId, (RunTrigger, RunState)>, StoreError> {
        let query = sqlx::query(STANDING).bind(json_list(runs.iter().map(RunId::as_str)));
        let read = |row: &SqliteRow| {
            let mut columns = Columns::of(row);
            let id = columns.id(RunId::new)?;
            let trigger = columns.word(RunTrigger::from_name)?;
            Ok((id, (trigger, columns.word(RunState::from_name)?)))
        };
        Ok(self.list("read the runs", query, read).await?.into_iter().collect())
    }

    /// Whether a run of the job that is for a slot, and is not `but`, waits, works or asks.
    ///
    /// # Errors
    /// `Read`.
    pub async fn has_open_slot(&self, job: &JobId, but: &RunId) -> Result<bool, StoreError> {
        let query = sqlx::query(OPEN_FOR_SLOT).bind(job.as_str()).bind(but.as_str());
        Ok(self.one("read the runs", query, |_| Ok(())).await?.is_some())
    }

    /// Queued runs, the oldest first.
    ///
    /// # Errors
    /// `Read`.
    pub async fn queued_runs(&self) -> Result<Vec<Run>, StoreError> {
        self.runs_in(RunState::Queued).await
    }

    /// Running runs, the oldest first.
    ///
    /// # Errors
    /// `Read`.
    pub async fn running_runs(&self) -> Result<Vec<Run>, StoreError> {
        self.runs_in(RunState::Running).await
    }

    /// Parked runs, the oldest first.
    ///
    /// # Errors
    /// `Read`.
    pub async fn parked_runs(&self) -> Result<Vec<Run>, StoreError> {
        self.runs_in(RunState::AwaitingApproval).await
    }

    async fn runs_in(&self, state: RunState) -> Result<Vec<Run>, StoreError> {
        self.list("list the runs", sqlx::query(IN_STATE).bind(state.name()), read_run).await
    }

    /// Queued → running, attempt 1, all in one transaction; answers those that really moved, in the
    /// order given. Events `run` and `cron` `started`.
    ///
    /// # Errors
    /// `Write`: none was started.
    pub async fn start_runs(&self, ids: &[RunId], now: UnixMs) -> Result<Vec<RunId>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut write = self.write("start the runs", Durability::Normal, now).await?;
        let list = json_list(ids.iter().map(RunId::as_str));
        let started: HashMap<RunId, Option<JobId>> = write
            .list(sqlx::query(START).bind(now.0).bind(list), |row| {
                let mut columns = Columns::of(row);
                Ok((columns.id(RunId::new)?, columns.some_id(JobId::new)?))
            })
            .await?
            .into_iter()
            .collect();
        let jobs = json_list(started.values().flatten().map(JobId::as_str));
        write.run(sqlx::query(TOUCH_JOBS).bind(now.0).bind(jobs)).await?;
        let moved: Vec<RunId> = ids.iter().filter(|id| started.contains_key(id)).cloned().collect();
        for id in &moved {
            let job_id = started.get(id).and_then(Option::as_ref);
            write.event(EventKind::Run, state_event(id, job_id, RunState::Running));
            if let Some(job_id) = job_id {
                write.event(EventKind::Cron, started_event(id, job_id));
            }
        }
        write.commit().await?;
        Ok(moved)
    }

    /// Puts a run that the end of the process cut off back among those that wait, to go on as another attempt; its
    /// unfinished steps become unknown. None when it is not running. Event `run`.
    ///
    /// # Errors
    /// `Write`.
    pub async fn put_back(&self, id: &RunId, now: UnixMs) -> Result<Option<Run>, StoreError> {
        let mut write = self.write("take the run up again", Durability::Full, now).await?;
        lose_unfinished(&mut write, id).await?;
        let Some(run) = write.one(sqlx::query(PUT_BACK).bind(id.as_str()), read_run).await? else {
            write.undo().await?;
            return Ok(None);
        };
        write.event(EventKind::Run, run_event(&run));
        write.commit().await?;
        Ok(Some(run))
    }

    /// The result of the job's newest succeeded run that has one.
    ///
    /// # Errors
    /// `Read`.
    pub async fn last_result(&self, job: &JobId) -> Result<Option<Value>, StoreError> {
        let query = sqlx::query(LAST_RESULT).bind(job.as_str());
        self.one("read the last result", query, |row| Columns::of(row).json()).await
    }

    /// The newest results of the job's succeeded runs, with their runs and when those were made.
    ///
    /// # Errors
    /// `Read`.
    pub async fn newest_results(
        &self,
        job: &JobId,
        most: u32,
    ) -> Result<Vec<(RunId, UnixMs, Value)>, StoreError> {
        let query = sqlx::query(NEWEST_RESULTS).bind(job.as_str()).bind(most);
        self.list("read the newest results", query, |row| {
            let mut columns = Columns::of(row);
            Ok((columns.id(RunId::new)?, columns.instant()?, columns.json()?))
        })
        .await
    }

    /// The newest `n` states of each job, the newest last; jobs without runs are absent.
    ///
    /// # Errors
    /// `Read`.
    pub async fn recent_states(
        &self,
        jobs: &[JobId],
        n: u32,
    ) -> Result<HashMap<JobId, Vec<RunState>>, StoreError> {
        let query = sqlx::query(RECENT).bind(n).bind(json_list(jobs.iter().map(JobId::as_str)));
        let recent = self.list("read the recent runs", query, |row| {
            let mut columns = Columns::of(row);
            Ok((columns.id(JobId::new)?, states(&columns.json()?)))
        });
        Ok(recent.await?.into_iter().filter(|(_, states)| !states.is_empty()).collect())
    }

    /// What the newest runs of a job have used that have come to an end and used anything, the newest first.
    ///
    /// # Errors
    /// `Read`.
    pub async fn usage_of_newest_runs(
        &self,
        job: &JobId,
        most: u32,
    ) -> Result<Vec<Usage>, StoreError> {
        let query = sqlx::query(USAGES).bind(job.as_str()).bind(most);
        self.list("read what runs have used", query, |row| Columns::of(row).usage()).await
    }

    /// The runs of each job that run or wait, the running ones first; jobs without any are absent.
    ///
    /// # Errors
    /// `Read`.
    pub async fn live_runs(
        &self,
        jobs: &[JobId],
    ) -> Result<HashMap<JobId, Vec<RunId>>, StoreError> {
        let query = sqlx::query(LIVE).bind(json_list(jobs.iter().map(JobId::as_str)));
        let runs = self.list("read the live runs", query, |row| {
            let mut columns = Columns::of(row);
            Ok((columns.id(JobId::new)?, columns.id(RunId::new)?))
        });
        let mut live: HashMap<JobId, Vec<RunId>> = HashMap::new();
        for (job, run) in runs.await? {
            live.entry(job).or_default().push(run);
        }
        Ok(live)
    }
}

/// Which of the runs that were handed over are in the file now.
pub(crate) enum Inserted {
    All,
    Only(HashSet<RunId>),
}

impl Inserted {
    pub(crate) fn contains(&self, id: &RunId) -> bool {
        match self {
            Self::All => true,
            Self::Only(ids) => ids.contains(id),
        }
    }
}

/// Inserts runs as part of a write, those that are final as finished now; answers those whose slot had none.
pub(crate) async fn insert_runs(write: &mut Write, runs: &[&Run]) -> Result<Inserted, StoreError> {
    let now = write.now();
    let mut walk = Walk::default();
    walk.add_rows(&INSERT, runs, |query, run| bind_run(query, run, now));
    let done = write.go(walk).await?;
    if changed(&done) == runs.len() as u64 {
        return Ok(Inserted::All);
    }
    let asked = json_list(runs.iter().map(|run| run.id.as_str()));
    let there = write.list(sqlx::query(THERE).bind(asked), |row| Columns::of(row).id(RunId::new));
    Ok(Inserted::Only(there.await?.into_iter().collect()))
}

/// Adds what inserts runs to a walk, which fails where one of their slots has a run.
pub(crate) fn demand_runs(walk: &mut Walk, runs: &[&Run], now: UnixMs) {
    walk.demand_rows(&INSERT, runs, |query, run| bind_run(query, run, now));
}

/// Binds a run as `INSERT` takes it: the columns in their order.
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
        .bind(run.stands_for)
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
        .bind(run.fell_back.as_deref())
        .bind(run.first_slot_at.map(|at| at.0))
}

/// Cancels what waits for a job, its place or an answer, as part of a write.
pub(crate) async fn cancel_queued_of(
    write: &mut Write,
    job: &JobId,
    reason: &str,
) -> Result<(), StoreError> {
    let query = sqlx::query(CANCEL_QUEUED_OF).bind(job.as_str()).bind(reason).bind(write.now().0);
    let cancelled = write.list(query, |row| Ok(readable("cancel the runs", row, read_run))).await?;
    for run in cancelled.into_iter().flatten() {
        withdraw(write, &run.id).await?;
        write.event(EventKind::Run, run_event(&run));
    }
    Ok(())
}

pub(crate) fn read_run(row: &SqliteRow) -> sqlx::Result<Run> {
    take_run(&mut Columns::of(row))
}

pub(crate) fn take_run(columns: &mut Columns<'_>) -> sqlx::Result<Run> {
    Ok(Run {
        id: columns.id(RunId::new)?,
        job_id: columns.some_id(JobId::new)?,
        job_name: columns.get()?,
        slot_at: columns.some_instant()?,
        trigger: columns.word(RunTrigger::from_name)?,
        state: columns.word(RunState::from_name)?,
        reason: columns.get()?,
        stands_for: columns.count()?,
        created_at: columns.instant()?,
        started_at: columns.some_instant()?,
        finished_at: columns.some_instant()?,
        attempt: columns.count()?,
        retry_of: columns.some_id(RunId::new)?,
        summary: columns.get()?,
        error: columns.get()?,
        session: columns.some_id(SessionKey::new)?,
        model: columns.get()?,
        usage: columns.usage()?,
        payload: columns.json()?,
        fell_back: columns.get()?,
        first_slot_at: columns.some_instant()?,
        next_attempt_at: columns.some_instant()?,
        worked_ms: columns.get()?,
        waits_for: columns.some_word(WaitsFor::from_name)?,
        model_wait_ms: columns.get()?,
        makes_up_for: columns.some_instant()?,
    })
}

/// Newest first from SQL; a word that this binary does not know is left out.
fn states(newest_first: &Value) -> Vec<RunState> {
    let words = newest_first.as_array().into_iter().flatten().rev();
    words.filter_map(|word| RunState::from_name(word.as_str()?)).collect()
}
