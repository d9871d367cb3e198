//! The table `run_steps`: a run's journal, written before and after each step.
//!
//! Owns the order "journal, then act": a step is here before it is done, and one that must not be
//! repeated is on the disk, so that after a crash nobody has to guess. It refuses steps of runs
//! that do not exist. It does not limit what a tool says; whoever journals cuts it to a sane length
//! first.

use rouse_core::approval::{GateDecision, Permit};
use rouse_core::event::EventKind;
use rouse_core::run::Usage;
use rouse_core::{JobId, RunId, RunState, UnixMs};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteRow;

use crate::approvals::use_up;
use crate::row::{Columns, bind_usage};
use crate::run_events::state_event;
use crate::spending::add_spending;
use crate::walk::{Done, Walk};
use crate::write::{Durability, Write};
use crate::{Store, StoreError};

/// What a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// A request to the model and its answer.
    ModelTurn,
    /// A tool call.
    ToolCall,
    /// A line for the reader of the journal.
    Note,
    /// A summary of what a session said before, asked of a model.
    Summary,
}

const KINDS: [(StepKind, &str); 4] = [
    (StepKind::ModelTurn, "modelTurn"),
    (StepKind::ToolCall, "toolCall"),
    (StepKind::Note, "note"),
    (StepKind::Summary, "summary"),
];

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepStatus {
    /// Begun.
    Started,
    /// Done.
    Finished,
    /// Ended in an error.
    Failed,
    /// The process ended before it did: nobody knows.
    Unknown,
}

const STATUSES: [(StepStatus, &str); 4] = [
    (StepStatus::Started, "started"),
    (StepStatus::Finished, "finished"),
    (StepStatus::Failed, "failed"),
    (StepStatus::Unknown, "unknown"),
];

/// The field of what goes into a question to a model that says what it has cost, `inputTokens` and `costMicroUsd`, if its
/// process ends before it is answered: nobody else will say it then.
pub const IF_CUT_OFF: &str = "ifCutOff";

/// A step about to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct NewStep {
    /// Its run.
    pub run_id: RunId,
    /// What it is.
    pub kind: StepKind,
    /// The tool's or the model's name.
    pub name: String,
    /// The call in the words of the model's provider.
    pub call_id: Option<String>,
    /// Whether repeating it after a crash is harmless. One that is not is on the disk before
    /// `begin_step` returns.
    pub repeatable: bool,
    /// What goes in.
    pub input: Value,
    /// What the gate decided about it, for people; none for what it does not judge.
    pub gate: Option<GateDecision>,
}

/// A line for the reader of the journal.
#[derive(Debug)]
pub struct Note<'n> {
    /// Its run.
    pub run_id: &'n RunId,
    /// What it is about.
    pub name: &'n str,
    /// What it was made of.
    pub input: Value,
    /// What it says.
    pub output: Option<Value>,
    /// Whether it tells of something that went wrong.
    pub is_error: bool,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq)]
pub struct StepEnd {
    /// `Finished`, `Failed` or `Unknown`.
    pub status: StepStatus,
    /// What came out.
    pub output: Option<Value>,
    /// Whether the output is an error that the model may mend.
    pub is_error: bool,
    /// What it cost.
    pub usage: Usage,
    /// How long it took, on the monotonic clock.
    pub duration_ms: Option<i64>,
}

/// A step as it stands in the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStep {
    /// Its run.
    pub run_id: RunId,
    /// Its number in the run, from 1.
    pub seq: u32,
    /// What it is.
    pub kind: StepKind,
    /// The tool's or the model's name.
    pub name: String,
    /// The call in the words of the model's provider.
    pub call_id: Option<String>,
    /// Where it stands.
    pub status: StepStatus,
    /// Whether repeating it is harmless.
    pub repeatable: bool,
    /// What went in.
    pub input: Value,
    /// What came out.
    pub output: Option<Value>,
    /// Whether the output is an error that the model may mend.
    pub is_error: bool,
    /// What it cost.
    pub usage: Usage,
    /// When it began.
    pub started_at: UnixMs,
    /// When it ended.
    pub finished_at: Option<UnixMs>,
    /// How long it took.
    pub duration_ms: Option<i64>,
    /// What the gate decided about it.
    pub gate: Option<GateDecision>,
}

pub(crate) const BEGIN: &str = "INSERT INTO run_steps (run_id, seq, kind, name, status, repeatable, input, is_error,
        input_tokens, cached_input_tokens, output_tokens, started_at, call_id, gate)
    SELECT ?1, (SELECT coalesce(max(seq), 0) + 1 FROM run_steps WHERE run_id = ?1), ?2, ?3, 'started', ?4, ?5, 0,
        0, 0, 0, ?6, ?7, ?8
    FROM runs WHERE id = ?1
    RETURNING seq";
const END: &str = "UPDATE run_steps SET status = ?3, output = ?4, is_error = ?5, finished_at = ?6, duration_ms = ?7,
        input_tokens = ?8, cached_input_tokens = ?9, output_tokens = ?10, cost_micro_usd = ?11
    WHERE run_id = ?1 AND seq = ?2";
pub(crate) const LIST: &str =
    "SELECT run_id, seq, kind, name, status, repeatable, input, output, is_error, input_tokens,
        cached_input_tokens, output_tokens, cost_micro_usd, started_at, finished_at, duration_ms, call_id, gate
    FROM run_steps WHERE run_id = ?1 ORDER BY seq";
// Only of questions to a model: what goes into a tool may have a field of that name.
const LOSE: &str = "UPDATE run_steps SET status = 'unknown',
        input_tokens = CASE WHEN kind = 'toolCall' THEN input_tokens
            ELSE coalesce(json_extract(input, '$.ifCutOff.inputTokens'), input_tokens) END,
        cost_micro_usd = CASE WHEN kind = 'toolCall' THEN cost_micro_usd
            ELSE coalesce(json_extract(input, '$.ifCutOff.costMicroUsd'), cost_micro_usd) END,
        output = CASE WHEN kind = 'toolCall' OR json_extract(input, '$.ifCutOff') IS NULL THEN output
            ELSE json_object('usageIsEstimated', json('true')) END
    WHERE run_id = ?1 AND status = 'started'
    RETURNING input_tokens, cached_input_tokens, output_tokens, cost_micro_usd";
// No step has used more than `min` lets through (see `spending`).
const SUM_UP: &str = "UPDATE runs SET (input_tokens, cached_input_tokens, output_tokens, cost_micro_usd) =
        (SELECT coalesce(sum(min(input_tokens, 1000000000)), 0), coalesce(sum(min(cached_input_tokens, 1000000000)), 0),
            coalesce(sum(min(output_tokens, 1000000000)), 0),
            CASE WHEN coalesce(sum(cost_micro_usd IS NULL AND (input_tokens > 0 OR output_tokens > 0)), 0) = 0
                 THEN sum(min(cost_micro_usd, 1000000000000)) END
         FROM run_steps WHERE run_id = ?1)
    WHERE id = ?1 AND finished_at IS NULL";
const UNREPEATABLE: &str = "SELECT EXISTS
    (SELECT 1 FROM run_steps WHERE run_id = ?1 AND kind = 'toolCall' AND repeatable = 0)";
/// A call that counts to what a tool may be called in an hour.
macro_rules! is_counted {
    () => {
        "kind = 'toolCall' AND coalesce(gate ->> '$.decision', '') NOT IN ('refused', 'written')"
    };
}
pub(crate) use is_counted;
/// How long before a call its run may have been made: the longest that a question waits is a week.
const OLDEST_RUN_MS: i64 = 8 * 86_400_000;
// Of what was made more than a day ago only what has ended since is read. When a run was made its id says (`?2`), also
// after a clock that was early has taken it nearer.
pub(crate) const CALLED_SINCE: &str = concat!(
    "SELECT name, started_at FROM run_steps
    WHERE run_id IN (SELECT id FROM runs
                WHERE id > ?2 AND (created_at > ?1 - 86400000 OR finished_at > ?1)
            UNION SELECT id FROM runs INDEXED BY runs_open WHERE finished_at IS NULL)
        AND started_at > ?1 AND ",
    is_counted!()
);
const OF_RUN: &str = "SELECT job_id, state FROM runs WHERE id = ?1";

impl Store {
    /// Journals a step before it is done; answers its number. Event `run` with `step`.
    ///
    /// # Errors
    /// `NotFound` without its run, `Write`.
    pub async fn begin_step(&self, step: &NewStep, now: UnixMs) -> Result<u32, StoreError> {
        let durability = if step.repeatable { Durability::Normal } else { Durability::Full };
        let write = self.write("journal the step", durability, now).await?;
        begin(write, step).await
    }

    /// The same for a step that somebody has allowed, which uses that up; none when it allows nothing any more.
    ///
    /// # Errors
    /// `NotFound` without its run, `Write`.
    pub async fn begin_permitted_step(
        &self,
        step: &NewStep,
        permit: &Permit,
        now: UnixMs,
    ) -> Result<Option<u32>, StoreError> {
        let mut write = self.write("journal the step", Durability::Full, now).await?;
        if !use_up(&mut write, permit).await? {
            write.undo().await?;
            return Ok(None);
        }
        begin(write, step).await.map(Some)
    }

    /// Journals a line for the reader: nothing is done between its beginning and its end.
    ///
    /// # Errors
    /// `NotFound` without its run, `Write`.
    pub async fn note(&self, note: Note<'_>, now: UnixMs) -> Result<(), StoreError> {
        let Note { run_id, name, input, output, is_error } = note;
        let step = NewStep {
            run_id: run_id.clone(),
            kind: StepKind::Note,
            name: name.to_owned(),
            call_id: None,
            repeatable: true,
            input,
            gate: None,
        };
        let seq = self.begin_step(&step, now).await?;
        let end = StepEnd {
            status: if is_error { StepStatus::Failed } else { StepStatus::Finished },
            output,
            is_error,
            usage: Usage::default(),
            duration_ms: None,
        };
        self.end_step(run_id, seq, &end, now).await
    }

    /// Which tools runs have called since `since`, and when. What was refused is no call, and what a person has written
    /// is theirs. Runs that are over by then, or were made eight days before that, are not looked at.
    ///
    /// # Errors
    /// `Read`.
    pub async fn called_since(&self, since: UnixMs) -> Result<Vec<(String, UnixMs)>, StoreError> {
        let made_since = RunId::bound(since.plus_ms(-OLDEST_RUN_MS));
        let query = sqlx::query(CALLED_SINCE).bind(since.0).bind(made_since);
        self.list("read the journal", query, |row| {
            let mut columns = Columns::of(row);
            Ok((columns.get()?, UnixMs(columns.get()?)))
        })
        .await
    }

    /// Journals how a step ended, and what it has cost. Event `run` with `step`.
    ///
    /// # Errors
    /// `NotFound`, `Write`.
    pub async fn end_step(
        &self,
        run: &RunId,
        seq: u32,
        end: &StepEnd,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut write = self.write("journal the step", Durability::Normal, now).await?;
        let mut walk = Walk::default();
        walk.add(END, |values| {
            let values = values
                .bind(run.as_str())
                .bind(seq)
                .bind(name_of(&STATUSES, end.status))
                .bind(end.output.as_ref().map(ToString::to_string))
                .bind(end.is_error)
                .bind(now.0)
                .bind(end.duration_ms);
            bind_usage(values, end.usage)
        });
        add_run_of_step(&mut walk, run);
        add_spending(&mut walk, run, end.usage, now);
        let done = write.go(walk).await?;
        let ended = done[0].result.rows_affected() > 0;
        let Some(of_run) = RunOfStep::first(&write, &done[1])?.filter(|_| ended) else {
            write.undo().await?;
            return Err(StoreError::NotFound { what: "step", id: format!("{run}/{seq}") });
        };
        write.event(EventKind::Run, of_run.event(run, seq));
        write.commit().await
    }

    /// A run's journal, in order, for the run that goes on by it.
    ///
    /// # Errors
    /// `Read`, also when a step cannot be read: what it did would be done again.
    pub async fn whole_journal(&self, run: &RunId) -> Result<Vec<RunStep>, StoreError> {
        self.whole("read the journal", sqlx::query(LIST).bind(run.as_str()), read).await
    }

    /// A run's journal, in order, as far as it can be read.
    ///
    /// # Errors
    /// `Read`.
    pub async fn steps(&self, run: &RunId) -> Result<Vec<RunStep>, StoreError> {
        self.list("read the journal", sqlx::query(LIST).bind(run.as_str()), read).await
    }

    /// Whether the run has begun a tool call whose effect must not be repeated, whatever became of
    /// it: starting the run over would repeat it.
    ///
    /// # Errors
    /// `Read`.
    pub async fn has_unrepeatable_step(&self, run: &RunId) -> Result<bool, StoreError> {
        let query = sqlx::query(UNREPEATABLE).bind(run.as_str());
        let found = self.one("read the journal", query, |row| Columns::of(row).get()).await?;
        Ok(found.unwrap_or(false))
    }
}

/// Writes the first line of a step and commits.
async fn begin(mut write: Write, step: &NewStep) -> Result<u32, StoreError> {
    let now = write.now();
    let mut walk = Walk::default();
    add_run_of_step(&mut walk, &step.run_id);
    walk.add(BEGIN, |values| {
        values
            .bind(step.run_id.as_str())
            .bind(name_of(&KINDS, step.kind))
            .bind(step.name.as_str())
            .bind(step.repeatable)
            .bind(step.input.to_string())
            .bind(now.0)
            .bind(step.call_id.clone())
            .bind(step.gate.as_ref().map(|gate| json!(gate).to_string()))
    });
    let done = write.go(walk).await?;
    let Some(run) = RunOfStep::first(&write, &done[0])? else {
        write.undo().await?;
        return Err(StoreError::NotFound { what: "run", id: step.run_id.to_string() });
    };
    let seq = write.read(&done[1], |row| Columns::of(row).count())?;
    let seq = seq.into_iter().next().unwrap_or_default();
    write.event(EventKind::Run, run.event(&step.run_id, seq));
    write.commit().await?;
    Ok(seq)
}

/// What an event about a step says of its run.
struct RunOfStep {
    job_id: Option<JobId>,
    state: RunState,
}

impl RunOfStep {
    /// Reads the row of `add_run_of_step`.
    fn first(write: &Write, done: &Done) -> Result<Option<Self>, StoreError> {
        let rows = write.read(done, |row| {
            let mut columns = Columns::of(row);
            Ok(Self {
                job_id: columns.some_id(JobId::new)?,
                state: columns.word(RunState::from_name)?,
            })
        });
        Ok(rows?.into_iter().next())
    }

    fn event(&self, id: &RunId, seq: u32) -> Value {
        let mut data = state_event(id, self.job_id.as_ref(), self.state);
        data["step"] = seq.into();
        data
    }
}

fn add_run_of_step(walk: &mut Walk, id: &RunId) {
    walk.add(OF_RUN, |values| values.bind(id.as_str()));
}

/// The steps that were going when the process ended, as part of a write, before their run is ended or put back. Questions
/// among them are spent, and the run has used what its steps have: nobody else is left to say so.
pub(crate) async fn lose_unfinished(write: &mut Write, run: &RunId) -> Result<(), StoreError> {
    let query = sqlx::query(LOSE).bind(run.as_str());
    let lost = write.list(query, |row| Columns::of(row).usage()).await?;
    let (mut walk, now) = (Walk::default(), write.now());
    for usage in lost {
        add_spending(&mut walk, run, usage, now);
    }
    walk.add(SUM_UP, |values| values.bind(run.as_str()));
    write.go(walk).await.map(drop)
}

fn read(row: &SqliteRow) -> sqlx::Result<RunStep> {
    let mut columns = Columns::of(row);
    Ok(RunStep {
        run_id: columns.id(RunId::new)?,
        seq: columns.count()?,
        kind: columns.word(|word| of_name(&KINDS, word))?,
        name: columns.get()?,
        status: columns.word(|word| of_name(&STATUSES, word))?,
        repeatable: columns.get()?,
        input: columns.json()?,
        output: columns.some_json()?,
        is_error: columns.get()?,
        usage: columns.usage()?,
        started_at: columns.instant()?,
        finished_at: columns.some_instant()?,
        duration_ms: columns.get()?,
        call_id: columns.get()?,
        // What a newer version decided is no reason not to read the step.
        gate: columns.some_json()?.and_then(|gate| serde_json::from_value(gate).ok()),
    })
}

fn name_of<T: Copy + PartialEq>(names: &[(T, &'static str)], value: T) -> &'static str {
    let found = names.iter().find(|(known, _)| *known == value);
    found.map(|(_, name)| *name).expect("BUG: a kind or status of a step has no name")
}

fn of_name<T: Copy>(names: &[(T, &'static str)], name: &str) -> Option<T> {
    names.iter().find(|(_, known)| *known == name).map(|(value, _)| *value)
}
