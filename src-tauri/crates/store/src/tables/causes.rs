//! The table `causes`: the events that fired runs without a slot.
//!
//! The id of an event is unique per job for ever, so an event fires a job at most once. A rerun has the same cause without
//! the id. `tx::fire` inserts runs with causes.

use std::collections::HashSet;

use rouse_core::{Cause, JobId, Run, RunId};
use serde_json::{Value, json};

use crate::sql::{Batch, Store, StoreError, Transaction, json_rows};

/// A run that an event fired: `Queued`, or `Skipped` with the reason.
#[derive(Debug, Clone, PartialEq)]
pub struct FiredRun {
    /// The run.
    pub run: Run,
    /// The event.
    pub cause: Cause,
}

impl FiredRun {
    /// The run whose end was the event.
    pub(crate) fn causing_run(&self) -> Option<&str> {
        self.cause.fields.get("runId").and_then(Value::as_str)
    }
}

pub(crate) const OF_RUN: &str = "SELECT cause FROM causes WHERE run_id = $1";
pub(crate) const KNOWN: &str = concat!(
    "SELECT asked.position FROM ",
    json_rows!("$1": 0 => "job", 1 => "event"),
    " AS asked WHERE EXISTS (SELECT 1 FROM causes
        WHERE job_id = asked.job AND id = asked.event AND id IS NOT NULL)"
);
const INSERT: &str = concat!(
    "INSERT INTO causes (run_id, job_id, id, cause) SELECT run, job, event, cause FROM ",
    json_rows!("$1": 0 => "run", 1 => "job", 2 => "event", 3 => "cause"),
    " AS fired"
);
const COPY: &str = "INSERT INTO causes (run_id, job_id, id, cause)
    SELECT $2, job_id, NULL, cause FROM causes WHERE run_id = $1";

impl Store {
    /// The event that fired a run; none if a slot or a person did.
    pub async fn cause(&self, run: &RunId) -> Result<Option<Cause>, StoreError> {
        let query = sqlx::query(OF_RUN).bind(run.as_str());
        let cause: Option<Value> = self.fetch_optional("read the cause", query).await?;
        Ok(cause.as_ref().and_then(Cause::from_json))
    }
}

/// The indices of runs whose jobs were fired by the same event before.
pub(crate) async fn known_causes(
    tx: &mut Transaction,
    fired: &[FiredRun],
) -> Result<HashSet<usize>, StoreError> {
    let events = fired
        .iter()
        .map(|FiredRun { run, cause }| json!([run.job_id.as_ref().map(JobId::as_str), cause.id]));
    let query = sqlx::query(KNOWN).bind(Value::Array(events.collect()).to_string());
    let known: Vec<u32> = tx.fetch_all(query).await?;
    Ok(known.into_iter().map(|index| index as usize).collect())
}

/// Adds the insert of causes to a batch.
pub(crate) fn add_causes<'f>(batch: &mut Batch, fired: impl Iterator<Item = &'f FiredRun>) {
    let causes = fired.map(|FiredRun { run, cause }| {
        let job_id = run.job_id.as_ref().map(JobId::as_str);
        json!([run.id.as_str(), job_id, cause.id, cause.to_json()])
    });
    let causes = Value::Array(causes.collect()).to_string();
    batch.add(INSERT, |values| values.bind(causes));
}

/// Gives the run `to` the cause of the run `from`.
pub(crate) async fn copy_cause(
    tx: &mut Transaction,
    from: &RunId,
    to: &RunId,
) -> Result<(), StoreError> {
    tx.execute(sqlx::query(COPY).bind(from.as_str()).bind(to.as_str())).await.map(drop)
}
