//! The end of a run: once, with all consequences in one transaction.
//!
//! Owns the transition into a final state. The statement has a condition on the state, so a second end (a runner that returns
//! after the run was cancelled) changes nothing and writes nothing else. The run's row, the job's state, the line for
//! the main session, the outbox, the incident, a paused or deleted job and the events are committed together.

use rouse_core::delivery::NewDelivery;
use rouse_core::event::EventKind;
use rouse_core::incident::IncidentStep;
use rouse_core::{Outcome, Run, RunId, RunState, UnixMs};
use serde_json::json;

use super::approve::{add_withdrawal, complete_withdrawal};
use super::fire::insert_fired_runs;
use super::job_edit::remove_job;
use crate::sql::{
    Batch, Durability, Store, StoreError, Transaction, at_least, bind_usage, changed_rows,
    if_valid_json, json_text,
};
use crate::tables::causes::{FiredRun, copy_cause};
use crate::tables::event_data::{finished_event, run_event};
use crate::tables::incidents::{apply_incident_step, set_pause_reason};
use crate::tables::jobs::disable_job;
use crate::tables::outbox::{enqueue, enqueue_once};
use crate::tables::runs::{add_usage, insert_runs, retried_slot, run_columns};
use crate::tables::settings::{PENDING_MAIN_TURN, put_setting};
use crate::tables::spending::announce_budget_once;
use crate::tables::steps::mark_steps_unknown;
use crate::tables::system_events::{SOURCE_REMINDER, queue_line, source_of};

/// The end of a run and everything that is committed with it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    /// The run.
    pub run_id: RunId,
    /// The outcome.
    pub outcome: Outcome,
    /// When the work began, if known better than the stored start.
    pub started_at: Option<UnixMs>,
    /// Rows for the outbox.
    pub deliveries: Vec<NewDelivery>,
    /// Undelivered reminders of this main turn, with the runs that queued them. A reminder whose id is in the outbox is not
    /// delivered again.
    pub reminders: Vec<(RunId, NewDelivery)>,
    /// A line for the main session.
    pub system_event: Option<String>,
    /// Why the main session gets a turn at once to see that line. Committed together, so a crash cannot lose the turn.
    pub wake_reason: Option<String>,
    /// Whether the line is a reminder that the person worded, and not a report.
    pub is_user_reminder: bool,
    /// The runs fired by this end.
    pub fired: Vec<FiredRun>,
    /// The change of the job's incidents.
    pub incident: IncidentStep,
    /// Why the job is paused as well.
    pub pause_job: Option<String>,
    /// Whether the job is deleted as well.
    pub delete_job: bool,
    /// The instant.
    pub now: UnixMs,
}

impl RunEnd {
    /// An end without deliveries and without changes of the job.
    #[must_use]
    pub const fn of(run_id: RunId, outcome: Outcome, now: UnixMs) -> Self {
        Self {
            run_id,
            outcome,
            started_at: None,
            deliveries: Vec::new(),
            reminders: Vec::new(),
            system_event: None,
            wake_reason: None,
            is_user_reminder: false,
            fired: Vec::new(),
            incident: IncidentStep::Nothing,
            pause_job: None,
            delete_job: false,
            now,
        }
    }
}

/// The interruption of a run by the end of the process.
#[derive(Debug, Clone, PartialEq)]
pub struct Interruption {
    /// The run.
    pub run_id: RunId,
    /// The reason in words.
    pub reason: String,
    /// Rows for the outbox.
    pub deliveries: Vec<NewDelivery>,
    /// Drained reminders, with the runs that queued them.
    pub reminders: Vec<(RunId, NewDelivery)>,
    /// A queued rerun, in the same transaction: a crash can neither lose nor repeat the rerun.
    pub rerun: Option<Run>,
    /// The runs fired by this end.
    pub fired: Vec<FiredRun>,
    /// The instant.
    pub now: UnixMs,
}

pub(crate) const END: &str = concat!(
    "UPDATE runs SET state = $3, reason = $4, finished_at = $5, summary = $6, error = $7,
        model = coalesce($8, model), result = $9, ",
    add_usage!("$10", "$11", "$12", "$13"),
    ", started_at = coalesce($14, started_at), fell_back = coalesce($15, fell_back),
        error_for_log = NULL, backoff_ms = NULL, next_attempt_at = NULL
     WHERE id = $1 AND finished_at IS NULL AND ($2 IS NULL OR state = $2) RETURNING ",
    run_columns!()
);
/// Assigns `$new`, unless the job is a one-shot that was moved during the run and the run of the new slot has ended.
macro_rules! unless_overtaken {
    ($column:literal, $new:literal) => {
        concat!(
            $column,
            " = CASE WHEN ended.is_overtaken AND ",
            if_valid_json!("definition", json_text!("definition", "schedule.kind")),
            " = 'at' THEN ",
            $column,
            " ELSE ",
            $new,
            " END"
        )
    };
}
/// The job's state after `END`, if that has ended a run. Returns the next slot.
pub(crate) const UPDATE_JOB: &str = concat!(
    "UPDATE jobs SET ",
    unless_overtaken!("last_state", "$2"),
    ", ",
    unless_overtaken!("last_error", "ended.why"),
    ", ",
    unless_overtaken!("last_duration_ms", "ended.took"),
    ", consecutive_failures = CASE $3 WHEN 1 THEN consecutive_failures + 1 WHEN 0 THEN 0
                                       ELSE consecutive_failures END
    FROM (SELECT job_id, why, took, EXISTS (SELECT 1 FROM runs AS newer
                  WHERE newer.job_id = one.job_id AND newer.slot_at > one.slot AND newer.finished_at IS NOT NULL) AS is_overtaken
          FROM (SELECT job_id, coalesce(error, reason) AS why,
                    CASE WHEN state <> 'interrupted' THEN ",
    at_least!("finished_at - started_at", "0"),
    " END AS took,
                    coalesce(slot_at, ",
    retried_slot!(),
    ") AS slot
                FROM runs WHERE id = $1) AS one) AS ended
    WHERE ",
    changed_rows!(),
    " > 0 AND jobs.id = ended.job_id RETURNING next_run_at"
);

impl Store {
    /// Ends runs in one transaction, so that many ends wait for one flush of the disk. Returns the runs in the given order;
    /// none for a run that was final or does not exist.
    ///
    /// # Errors
    /// `NotFinal` for a waiting state.
    pub async fn finish_runs(&self, ends: &[RunEnd]) -> Result<Vec<Option<Run>>, StoreError> {
        let Some(now) = ends.iter().map(|end| end.now).max() else { return Ok(Vec::new()) };
        let mut tx = self.begin("save the outcome", Durability::Full, now).await?;
        let mut ended = Vec::with_capacity(ends.len());
        for end in ends {
            ended.push(finish(&mut tx, end).await?);
        }
        if ended.iter().all(Option::is_none) {
            tx.roll_back().await?;
        } else {
            tx.commit().await?;
        }
        Ok(ended)
    }

    /// Ends one run.
    ///
    /// # Errors
    /// `NotFinal` for a waiting state.
    pub async fn finish_run(&self, end: &RunEnd) -> Result<Option<Run>, StoreError> {
        let ended = self.finish_runs(std::slice::from_ref(end)).await?;
        Ok(ended.into_iter().next().flatten())
    }

    /// Inserts and ends a run that cannot begin.
    ///
    /// # Errors
    /// `NotFinal` for a waiting state.
    pub async fn insert_ended_run(
        &self,
        run: &Run,
        end: &RunEnd,
    ) -> Result<Option<Run>, StoreError> {
        let action = "save a run that cannot begin";
        let mut tx = self.begin(action, Durability::Full, end.now).await?;
        insert_runs(&mut tx, &[run]).await?;
        let ended = finish(&mut tx, end).await?;
        tx.commit().await?;
        Ok(ended)
    }

    /// Ends a running run as interrupted and unfinished steps as unknown; none if not running.
    pub async fn interrupt_run(
        &self,
        interruption: &Interruption,
    ) -> Result<Option<Run>, StoreError> {
        let Interruption { run_id, reason, deliveries, reminders, rerun, fired, now } =
            interruption;
        let mut tx = self.begin("save the interruption", Durability::Full, *now).await?;
        let Some(run) = interrupt(&mut tx, run_id, Some(RunState::Running), reason).await? else {
            tx.roll_back().await?;
            return Ok(None);
        };
        for delivery in deliveries {
            enqueue(&mut tx, Some(run_id), delivery).await?;
        }
        for (queued_by, delivery) in reminders {
            enqueue_once(&mut tx, Some(queued_by), delivery).await?;
        }
        if let Some(rerun) = rerun {
            insert_runs(&mut tx, &[rerun]).await?;
            copy_cause(&mut tx, run_id, &rerun.id).await?;
            tx.emit(EventKind::Run, run_event(rerun));
        }
        insert_fired_runs(&mut tx, fired).await?;
        tx.commit().await?;
        Ok(Some(run))
    }
}

/// Ends a run with all consequences; none if already final.
async fn finish(tx: &mut Transaction, end: &RunEnd) -> Result<Option<Run>, StoreError> {
    let ended = end_run(tx, &end.run_id, None, &end.outcome, end.started_at).await?;
    let Some(run) = ended else { return Ok(None) };
    if let Some(text) = &end.system_event {
        let source = match &run.job_id {
            Some(job) if end.is_user_reminder => format!("{SOURCE_REMINDER}{job}"),
            _ => source_of(&run),
        };
        queue_line(tx, text, &source).await?;
    }
    if let Some(reason) = &end.wake_reason {
        put_setting(tx, PENDING_MAIN_TURN, &json!(reason)).await?;
        tx.emit(EventKind::Heartbeat, json!({ "pending": true }));
    }
    let is_announced = match &end.outcome.budget {
        // A paused job is announced although the budget was announced before.
        Some(stop) if !end.deliveries.is_empty() => {
            announce_budget_once(tx, &stop.key).await? || end.pause_job.is_some()
        }
        _ => true,
    };
    for delivery in end.deliveries.iter().filter(|_| is_announced) {
        enqueue(tx, Some(&run.id), delivery).await?;
    }
    for (queued_by, delivery) in &end.reminders {
        enqueue_once(tx, Some(queued_by), delivery).await?;
    }
    insert_fired_runs(tx, &end.fired).await?;
    apply_incident_step(tx, &run, &end.incident).await?;
    if let (Some(job_id), Some(reason)) = (&run.job_id, &end.pause_job)
        && disable_job(tx, job_id, reason).await?
    {
        set_pause_reason(tx, job_id, &run.id, reason).await?;
    }
    if let Some(job_id) = run.job_id.as_ref().filter(|_| end.delete_job) {
        remove_job(tx, job_id).await?;
    }
    Ok(Some(run))
}

/// Ends a run as interrupted and unfinished steps as unknown; none unless in `from` (or in any waiting state).
pub(super) async fn interrupt(
    tx: &mut Transaction,
    id: &RunId,
    from: Option<RunState>,
    reason: &str,
) -> Result<Option<Run>, StoreError> {
    let reason = Some(reason.to_owned());
    let outcome = Outcome { reason, ..Outcome::of(RunState::Interrupted) };
    mark_steps_unknown(tx, id).await?;
    end_run(tx, id, from, &outcome, None).await
}

/// Ends a run, updates the job and withdraws approvals; none unless in `from` (or in any waiting state).
async fn end_run(
    tx: &mut Transaction,
    id: &RunId,
    from: Option<RunState>,
    outcome: &Outcome,
    started_at: Option<UnixMs>,
) -> Result<Option<Run>, StoreError> {
    if !outcome.state.is_final() {
        return Err(StoreError::NotFinal { state: outcome.state });
    }
    let now = tx.now();
    let mut batch = Batch::default();
    batch.add(END, |values| {
        let values = values
            .bind(id.as_str())
            .bind(from.map(RunState::name))
            .bind(outcome.state.name())
            .bind(outcome.reason.as_deref())
            .bind(now.0)
            .bind(outcome.summary.as_deref())
            .bind(outcome.error.as_deref())
            .bind(outcome.model.as_deref())
            .bind(outcome.result.as_ref().map(ToString::to_string));
        bind_usage(values, outcome.usage)
            .bind(started_at.map(|at| at.0))
            .bind(outcome.fallback_reason.as_deref())
    });
    batch.add(UPDATE_JOB, |values| {
        values.bind(id.as_str()).bind(outcome.state.name()).bind(is_job_failure(outcome))
    });
    add_withdrawal(&mut batch, id, now);
    let results = tx.execute_batch(batch).await?;
    let run: Option<Run> = tx.decode_first(&results[0])?;
    let Some(run) = run else { return Ok(None) };
    tx.emit(EventKind::Run, run_event(&run));
    complete_withdrawal(tx, &run.id, &results[2]).await?;
    if let Some(job_id) = &run.job_id {
        let next: Option<Option<UnixMs>> = tx.decode_first(&results[1])?;
        tx.emit(EventKind::Cron, finished_event(&run, job_id, next.flatten()));
    }
    Ok(Some(run))
}

/// Whether a final state adds to the consecutive failures of the job (true), resets them (false), or does neither.
fn is_job_failure(outcome: &Outcome) -> Option<bool> {
    match outcome.state {
        // A daily budget is used up; the job itself works.
        _ if outcome.budget.as_ref().is_some_and(|stop| stop.resets_daily) => None,
        RunState::Failed | RunState::TimedOut => Some(true),
        RunState::Succeeded | RunState::NothingToReport => Some(false),
        _ => None,
    }
}
