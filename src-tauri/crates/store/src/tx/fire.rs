//! Runs without a slot: fired by an event or a webhook, or started by hand.
//!
//! Runs and causes are inserted in the transaction that makes the event a fact (the end of a run, a queued line, an accepted
//! webhook call). A crash leaves both or none, so a chain of jobs neither loses nor repeats a link.

use std::collections::HashSet;

use rouse_core::event::EventKind;
use rouse_core::{Run, RunId, UnixMs};

use crate::sql::{Batch, Durability, Store, StoreError, Transaction};
use crate::tables::causes::{FiredRun, add_causes, copy_cause, known_causes};
use crate::tables::event_data::{finished_event, run_event};
use crate::tables::jobs::add_last_states;
use crate::tables::runs::insert_runs;
use crate::tables::system_events::queue_line;
use crate::tables::webhooks::{WebhookCall, put_webhook_call};

impl Store {
    /// Inserts a manual run or a run of the main session. Event `run`. Fails with `Write` if the id is taken.
    pub async fn insert_run(&self, run: &Run, now: UnixMs) -> Result<(), StoreError> {
        let mut tx = self.begin("save the run", Durability::Full, now).await?;
        insert_runs(&mut tx, &[run]).await?;
        if let Some(retried) = &run.retry_of {
            copy_cause(&mut tx, retried, &run.id).await?;
        }
        tx.emit(EventKind::Run, run_event(run));
        tx.commit().await
    }

    /// Inserts the runs of a webhook call and stores the key; returns the new runs.
    pub async fn fire_webhook(
        &self,
        fired: &[FiredRun],
        call: Option<&WebhookCall>,
        now: UnixMs,
    ) -> Result<HashSet<RunId>, StoreError> {
        let mut tx = self.begin("save the webhook call", Durability::Full, now).await?;
        let inserted = insert_fired_runs(&mut tx, fired).await?;
        if let Some(call) = call {
            put_webhook_call(&mut tx, call).await?;
        }
        tx.commit().await?;
        Ok(inserted)
    }

    /// Queues a line for the main session and inserts the fired runs; returns the id. Event `heartbeat` with
    /// `queued`.
    pub async fn queue_system_event(
        &self,
        text: &str,
        source: &str,
        fired: &[FiredRun],
        now: UnixMs,
    ) -> Result<i64, StoreError> {
        let mut tx = self.begin("queue the system event", Durability::Full, now).await?;
        let id = queue_line(&mut tx, text, source).await?;
        insert_fired_runs(&mut tx, fired).await?;
        tx.commit().await?;
        Ok(id)
    }
}

/// Inserts fired runs, unless the same event fired the job before; returns the new runs. Events `run`, and `cron` `finished`
/// for final runs.
pub(super) async fn insert_fired_runs(
    tx: &mut Transaction,
    fired: &[FiredRun],
) -> Result<HashSet<RunId>, StoreError> {
    if fired.is_empty() {
        return Ok(HashSet::new());
    }
    let known = known_causes(tx, fired).await?;
    let unknown = fired.iter().enumerate().filter(|(index, _)| !known.contains(index));
    let mut new: Vec<&FiredRun> = unknown.map(|(_, fired)| fired).collect();
    let runs: Vec<&Run> = new.iter().map(|fired| &fired.run).collect();
    let inserted = insert_runs(tx, &runs).await?;
    new.retain(|fired| inserted.contains(&fired.run.id));
    let runs = || new.iter().map(|fired| &fired.run);
    let mut batch = Batch::default();
    add_causes(&mut batch, new.iter().copied());
    add_last_states(&mut batch, runs().filter(|run| run.state.is_final()));
    tx.execute_batch(batch).await?;
    for run in runs() {
        tx.emit(EventKind::Run, run_event(run));
        if let Some(job_id) = run.job_id.as_ref().filter(|_| run.state.is_final()) {
            tx.emit(EventKind::Cron, finished_event(run, job_id, None));
        }
    }
    Ok(runs().map(|run| run.id.clone()).collect())
}
