//! How runs end: once, and with everything that is told about it in the same transaction.
//!
//! Owns the step into a final state. The statement names the states it may come from, so whoever
//! comes second (a runner that answers after its run was cancelled) finds nothing to change, and
//! nothing else of its call is written either. The job's memory of the run, the line for main, the
//! outbox rows, the incident, a job that is switched off or deleted and the events are committed with
//! the run's row: a crash leaves either all of them or none.

use rouse_core::delivery::NewDelivery;
use rouse_core::event::EventKind;
use rouse_core::incident::IncidentStep;
use rouse_core::{Outcome, Run, RunId, RunState, SessionKey, UnixMs};
use serde_json::json;

use crate::approvals::{add_withdraw, follow_withdraw};
use crate::causes::{Fired, copy_cause, insert_fired};
use crate::incidents;
use crate::jobs::{delete, pause};
use crate::outbox::{enqueue, enqueue_once};
use crate::row::{Columns, bind_usage};
use crate::run_events::{finished_event, run_event};
use crate::runs::{insert_runs, makes_up_for, read_run, run_columns, with_usage};
use crate::settings::{PENDING_TURN, put};
use crate::spending::tell_once;
use crate::steps::lose_unfinished;
use crate::system_events::{REMINDER, queue};
use crate::walk::Walk;
use crate::write::{Durability, Write};
use crate::{Store, StoreError};

/// The end of a run and everything that is committed with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finish {
    /// The run.
    pub run_id: RunId,
    /// How it ended.
    pub outcome: Outcome,
    /// When its work began, if that is known better than when its start was written.
    pub started_at: Option<UnixMs>,
    /// Rows for the outbox.
    pub deliveries: Vec<NewDelivery>,
    /// Reminders that this turn of the main session has not told, with the runs that queued them. One that is in the
    /// outbox already is not told again.
    pub reminders: Vec<(RunId, NewDelivery)>,
    /// A line for the main session.
    pub system_event: Option<String>,
    /// Why a turn of the main session is asked for at once, which sees that line. It is written with it: a crash in
    /// between would leave the line without anybody who looks at it.
    pub asks_for_turn: Option<String>,
    /// Whether that line is the person's own words: a reminder, and not a report.
    pub is_line_by_person: bool,
    /// What its end fires.
    pub fired: Vec<Fired>,
    /// What it does to the incidents of its job.
    pub incident: IncidentStep,
    /// Why its job is switched off with it.
    pub pause_job: Option<String>,
    /// Whether its job disappears with it.
    pub delete_job: bool,
    /// When.
    pub now: UnixMs,
}

impl Finish {
    /// An end that nobody is told about and that changes nothing about its job.
    #[must_use]
    pub const fn of(run_id: RunId, outcome: Outcome, now: UnixMs) -> Self {
        Self {
            run_id,
            outcome,
            started_at: None,
            deliveries: Vec::new(),
            reminders: Vec::new(),
            system_event: None,
            asks_for_turn: None,
            is_line_by_person: false,
            fired: Vec::new(),
            incident: IncidentStep::Nothing,
            pause_job: None,
            delete_job: false,
            now,
        }
    }
}

/// The end of a run that the end of the process cut off, and what makes up for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Interruption {
    /// The run.
    pub run_id: RunId,
    /// Why, in words.
    pub reason: String,
    /// Rows for the outbox.
    pub deliveries: Vec<NewDelivery>,
    /// Reminders that it had taken out of the queue, each with the run that had queued it.
    pub reminders: Vec<(RunId, NewDelivery)>,
    /// A queued run that makes up for it. It is part of the same transaction, so that a crash in
    /// between can neither lose it nor make a second one.
    pub run_again: Option<Run>,
    /// What its end fires.
    pub fired: Vec<Fired>,
    /// When.
    pub now: UnixMs,
}

pub(crate) const END: &str = concat!(
    "UPDATE runs SET state = ?3, reason = ?4, finished_at = ?5, summary = ?6, error = ?7,
        model = coalesce(?8, model), result = ?9, ",
    with_usage!("?10", "?11", "?12", "?13"),
    ", started_at = coalesce(?14, started_at), fell_back = coalesce(?15, fell_back),
        error_for_log = NULL, backoff_ms = NULL, next_attempt_at = NULL
     WHERE id = ?1 AND finished_at IS NULL AND (?2 IS NULL OR state = ?2) RETURNING ",
    run_columns!()
);
/// What a job remembers of its newest run becomes `$new`. Of a one-shot that was moved while its run was going, the slot that
/// it was moved to may be over by then: that one is the newest.
macro_rules! unless_overtaken {
    ($column:literal, $new:literal) => {
        concat!(
            $column,
            " = CASE WHEN ended.is_overtaken AND json_valid(definition) AND definition ->> '$.schedule.kind' = 'at' THEN ",
            $column,
            " ELSE ",
            $new,
            " END"
        )
    };
}
/// After `END`, of the run that it has ended; if it has ended none, nothing. Answers when the job comes next.
pub(crate) const REMEMBER: &str = concat!(
    "UPDATE jobs SET ",
    unless_overtaken!("last_state", "?2"),
    ", ",
    unless_overtaken!("last_error", "ended.why"),
    ", ",
    unless_overtaken!("last_duration_ms", "ended.took"),
    ", consecutive_failures = CASE ?3 WHEN 1 THEN consecutive_failures + 1 WHEN 0 THEN 0
                                       ELSE consecutive_failures END
    FROM (SELECT job_id, why, took, EXISTS (SELECT 1 FROM runs AS newer
                  WHERE newer.job_id = one.job_id AND newer.slot_at > one.slot AND newer.finished_at IS NOT NULL) AS is_overtaken
          FROM (SELECT job_id, coalesce(error, reason) AS why,
                    CASE WHEN state <> 'interrupted' THEN max(0, finished_at - started_at) END AS took,
                    coalesce(slot_at, ",
    makes_up_for!(),
    ") AS slot
                FROM runs WHERE id = ?1) AS one) AS ended
    WHERE changes() > 0 AND jobs.id = ended.job_id RETURNING next_run_at"
);

impl Store {
    /// Ends runs: of each the run row, job state, system event, outbox and events, all in one transaction, so that many
    /// ends at once wait for the disk once. Answers the runs, in the order given; none for one that was final already
    /// (or is not there): a final state never changes, and nothing is written of it.
    ///
    /// # Errors
    /// `NotFinal` for a waiting state, `Write`: no run has ended.
    pub async fn finish_runs(&self, ends: &[Finish]) -> Result<Vec<Option<Run>>, StoreError> {
        let Some(now) = ends.iter().map(|end| end.now).max() else { return Ok(Vec::new()) };
        let mut write = self.write("save the outcome", Durability::Full, now).await?;
        let mut ended = Vec::with_capacity(ends.len());
        for finish in ends {
            ended.push(finish_one(&mut write, finish).await?);
        }
        match ended.iter().all(Option::is_none) {
            true => write.undo().await?,
            false => write.commit().await?,
        }
        Ok(ended)
    }

    /// Ends one run.
    ///
    /// # Errors
    /// `NotFinal` for a waiting state, `Write`.
    pub async fn finish_run(&self, finish: &Finish) -> Result<Option<Run>, StoreError> {
        let ended = self.finish_runs(std::slice::from_ref(finish)).await?;
        Ok(ended.into_iter().next().flatten())
    }

    /// Running → interrupted, its unfinished steps → unknown, with what tells about it and what
    /// makes up for it. None when it is not running any more.
    ///
    /// # Errors
    /// `Write`.
    pub async fn mark_interrupted(
        &self,
        interruption: &Interruption,
    ) -> Result<Option<Run>, StoreError> {
        let Interruption { run_id, reason, deliveries, reminders, run_again, fired, now } =
            interruption;
        let mut write = self.write("save the interruption", Durability::Full, *now).await?;
        let outcome =
            Outcome { reason: Some(reason.clone()), ..Outcome::of(RunState::Interrupted) };
        lose_unfinished(&mut write, run_id).await?;
        let Some(run) = end(&mut write, run_id, Some(RunState::Running), &outcome, None).await?
        else {
            write.undo().await?;
            return Ok(None);
        };
        for delivery in deliveries {
            enqueue(&mut write, Some(run_id), delivery).await?;
        }
        for (queued_by, delivery) in reminders {
            enqueue_once(&mut write, Some(queued_by), delivery).await?;
        }
        if let Some(again) = run_again {
            insert_runs(&mut write, &[again]).await?;
            copy_cause(&mut write, run_id, &again.id).await?;
            write.event(EventKind::Run, run_event(again));
        }
        insert_fired(&mut write, fired).await?;
        write.commit().await?;
        Ok(Some(run))
    }
}

impl Store {
    /// Makes a run that cannot begin, and ends it with everything that hangs on its end.
    ///
    /// # Errors
    /// `NotFinal`, `Write`: nothing was saved.
    pub async fn insert_ended(
        &self,
        run: &Run,
        finish: &Finish,
    ) -> Result<Option<Run>, StoreError> {
        let what = "save a run that cannot begin";
        let mut write = self.write(what, Durability::Full, finish.now).await?;
        insert_runs(&mut write, &[run]).await?;
        let ended = finish_one(&mut write, finish).await?;
        write.commit().await?;
        Ok(ended)
    }
}

/// The end of one run with everything that hangs on it, as part of a write.
async fn finish_one(write: &mut Write, finish: &Finish) -> Result<Option<Run>, StoreError> {
    let Some(run) = end(write, &finish.run_id, None, &finish.outcome, finish.started_at).await?
    else {
        return Ok(None);
    };
    if let Some(text) = &finish.system_event {
        let source = match (&run.job_id, finish.is_line_by_person) {
            (Some(job), true) => format!("{REMINDER}{job}"),
            _ => source_of(&run),
        };
        queue(write, text, &source).await?;
    }
    if let Some(reason) = &finish.asks_for_turn {
        put(write, PENDING_TURN, &json!(reason)).await?;
        write.event(EventKind::Heartbeat, json!({ "pending": true }));
    }
    let is_news = match &finish.outcome.budget {
        // That a job is paused is news whatever was told of its budget.
        Some(stop) if !finish.deliveries.is_empty() => {
            tell_once(write, &stop.key).await? || finish.pause_job.is_some()
        }
        _ => true,
    };
    for delivery in finish.deliveries.iter().filter(|_| is_news) {
        enqueue(write, Some(&run.id), delivery).await?;
    }
    for (queued_by, delivery) in &finish.reminders {
        enqueue_once(write, Some(queued_by), delivery).await?;
    }
    insert_fired(write, &finish.fired).await?;
    incidents::follow(write, &run, &finish.incident).await?;
    if let (Some(job_id), Some(reason)) = (&run.job_id, &finish.pause_job)
        && pause(write, job_id, reason).await?
    {
        incidents::blame(write, job_id, &run.id, reason).await?;
    }
    if let Some(job_id) = run.job_id.as_ref().filter(|_| finish.delete_job) {
        delete(write, job_id).await?;
    }
    Ok(Some(run))
}

/// Ends one run and writes its fate into its job; none when it is not in `from` (or in any waiting
/// state) any more.
pub(crate) async fn end(
    write: &mut Write,
    id: &RunId,
    from: Option<RunState>,
    outcome: &Outcome,
    started_at: Option<UnixMs>,
) -> Result<Option<Run>, StoreError> {
    if !outcome.state.is_final() {
        return Err(StoreError::NotFinal { state: outcome.state });
    }
    let now = write.now();
    let mut walk = Walk::default();
    walk.add(END, |values| {
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
            .bind(outcome.fell_back.as_deref())
    });
    walk.add(REMEMBER, |values| {
        values.bind(id.as_str()).bind(outcome.state.name()).bind(failure(outcome))
    });
    add_withdraw(&mut walk, id, now);
    let done = write.go(walk).await?;
    let (ended, remembered, withdrawn) = (&done[0], &done[1], &done[2]);
    let Some(run) = write.read(ended, read_run)?.into_iter().next() else { return Ok(None) };
    write.event(EventKind::Run, run_event(&run));
    follow_withdraw(write, &run.id, withdrawn).await?;
    if let Some(job_id) = &run.job_id {
        let next = write.read(remembered, |row| Columns::of(row).some_instant())?;
        let next = next.into_iter().next().flatten();
        write.event(EventKind::Cron, finished_event(&run, job_id, next));
    }
    Ok(Some(run))
}

/// Whether a final state adds to the failures in a row, ends them, or says nothing about the job.
fn failure(outcome: &Outcome) -> Option<bool> {
    match outcome.state {
        // It is the day that is over, not the job that does not work.
        _ if outcome.budget.as_ref().is_some_and(|stop| stop.passes_with_the_day) => None,
        RunState::Failed | RunState::TimedOut => Some(true),
        RunState::Succeeded | RunState::NothingToReport => Some(false),
        _ => None,
    }
}

/// Where a run's line for main comes from.
pub(crate) fn source_of(run: &Run) -> String {
    run.job_id.as_ref().map_or_else(SessionKey::main, SessionKey::of_job).to_string()
}
