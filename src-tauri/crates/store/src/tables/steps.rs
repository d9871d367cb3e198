//! The table `run_steps`: the journal of a run, written before and after each step.
//!
//! Owns the order "journal, then act": a step is stored before the start, and durable unless repeatable, so after a crash the
//! outcome is known or marked unknown. Rejects steps of missing runs. Never limits the size of outputs: the caller
//! truncates.

use rouse_core::approval::{Authorization, GateDecision};
use rouse_core::attachment::Attachment;
use rouse_core::event::EventKind;
use rouse_core::run::{StepKind, StepStatus, Usage};
use rouse_core::{JobId, RunId, RunState, UnixMs};
use serde_json::{Value, json};

use super::approvals::use_permit;
use super::call_attachments::add_attachments;
use super::event_data::run_state_event;
use super::spending::add_spending;
use crate::sql::{
    Batch, Durability, FromColumns, RowReader, StatementResult, Store, StoreError, Transaction,
    at_most, bind_usage, by_index, json_text,
};

/// The input field of a model call with the usage (`inputTokens`, `costMicroUsd`) to book if the process ends before the
/// reply.
pub const USAGE_IF_INTERRUPTED: &str = "ifCutOff";

/// A step about to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct NewStep {
    /// The run.
    pub run_id: RunId,
    /// The kind.
    pub kind: StepKind,
    /// The name of the tool or model.
    pub name: String,
    /// The provider's id of the call.
    pub call_id: Option<String>,
    /// Whether a repetition after a crash is harmless. If not, the step is durable before `begin_step` returns.
    pub repeatable: bool,
    /// The input.
    pub input: Value,
    /// The decision of the gate, for tool calls.
    pub gate: Option<GateDecision>,
}

/// A note for readers of the journal.
#[derive(Debug)]
pub struct JournalNote<'n> {
    /// The run.
    pub run_id: &'n RunId,
    /// The subject.
    pub name: &'n str,
    /// The facts behind the note.
    pub input: Value,
    /// The text.
    pub output: Option<Value>,
    /// Whether the note reports an error.
    pub is_error: bool,
}

/// The end of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepEnd {
    /// `Finished`, `Failed` or `Unknown`.
    pub status: StepStatus,
    /// The output.
    pub output: Option<Value>,
    /// Whether the output is an error that the model may correct.
    pub is_error: bool,
    /// Tokens and cost.
    pub usage: Usage,
    /// The duration on the monotonic clock.
    pub duration_ms: Option<i64>,
}

/// A step of the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStep {
    /// The run.
    pub run_id: RunId,
    /// The number within the run, from 1.
    pub seq: u32,
    /// The kind.
    pub kind: StepKind,
    /// The name of the tool or model.
    pub name: String,
    /// The provider's id of the call.
    pub call_id: Option<String>,
    /// The status.
    pub status: StepStatus,
    /// Whether a repetition after a crash is harmless.
    pub repeatable: bool,
    /// The input.
    pub input: Value,
    /// The output.
    pub output: Option<Value>,
    /// Whether the output is an error that the model may correct.
    pub is_error: bool,
    /// Tokens and cost.
    pub usage: Usage,
    /// When the step began.
    pub started_at: UnixMs,
    /// When the step ended.
    pub finished_at: Option<UnixMs>,
    /// The duration.
    pub duration_ms: Option<i64>,
    /// The decision of the gate.
    pub gate: Option<GateDecision>,
}

pub(crate) const BEGIN: &str = "INSERT INTO run_steps (run_id, seq, kind, name, status, repeatable, input, is_error,
        input_tokens, cached_input_tokens, output_tokens, started_at, call_id, gate)
    SELECT $1, (SELECT coalesce(max(seq), 0) + 1 FROM run_steps WHERE run_id = $1), $2, $3, 'started', $4, $5, 0,
        0, 0, 0, $6, $7, $8
    FROM runs WHERE id = $1
    RETURNING seq";
const END: &str = "UPDATE run_steps SET status = $3, output = $4, is_error = $5, finished_at = $6, duration_ms = $7,
        input_tokens = $8, cached_input_tokens = $9, output_tokens = $10, cost_micro_usd = $11
    WHERE run_id = $1 AND seq = $2";
pub(crate) const LIST: &str =
    "SELECT run_id, seq, kind, name, status, repeatable, input, output, is_error, input_tokens,
        cached_input_tokens, output_tokens, cost_micro_usd, started_at, finished_at, duration_ms, call_id, gate
    FROM run_steps WHERE run_id = $1 ORDER BY seq";
// `USAGE_IF_INTERRUPTED` of model calls only: the input of a tool may have a field of that name.
const MARK_UNKNOWN: &str = concat!(
    "UPDATE run_steps SET status = 'unknown',
        input_tokens = CASE WHEN kind = 'toolCall' THEN input_tokens
            ELSE coalesce(",
    json_text!("input", "ifCutOff.inputTokens"),
    ", input_tokens) END,
        cost_micro_usd = CASE WHEN kind = 'toolCall' THEN cost_micro_usd
            ELSE coalesce(",
    json_text!("input", "ifCutOff.costMicroUsd"),
    ", cost_micro_usd) END,
        output = CASE WHEN kind = 'toolCall' OR ",
    json_text!("input", "ifCutOff"),
    " IS NULL THEN output
            ELSE '{\"usageIsEstimated\":true}' END
    WHERE run_id = $1 AND status = 'started'
    RETURNING input_tokens, cached_input_tokens, output_tokens, cost_micro_usd"
);
// The amounts of a step are capped as in `spending`.
const SUM_USAGE: &str = concat!(
    "UPDATE runs SET (input_tokens, cached_input_tokens, output_tokens, cost_micro_usd) =
        (SELECT coalesce(sum(",
    at_most!("input_tokens", "1000000000"),
    "), 0), coalesce(sum(",
    at_most!("cached_input_tokens", "1000000000"),
    "), 0),
            coalesce(sum(",
    at_most!("output_tokens", "1000000000"),
    "), 0),
            CASE WHEN count(*) FILTER (WHERE cost_micro_usd IS NULL AND (input_tokens > 0 OR output_tokens > 0)) = 0
                 THEN sum(",
    at_most!("cost_micro_usd", "1000000000000"),
    ") END
         FROM run_steps WHERE run_id = $1)
    WHERE id = $1 AND finished_at IS NULL"
);
const HAS_UNREPEATABLE: &str = "SELECT EXISTS
    (SELECT 1 FROM run_steps WHERE run_id = $1 AND kind = 'toolCall' AND repeatable = 0)";
/// A call that counts towards the hourly rate limit of the tool.
macro_rules! counts_towards_rate_limit {
    () => {
        concat!(
            "kind = 'toolCall' AND coalesce(",
            $crate::sql::json_text!("gate", "decision"),
            ", '') NOT IN ('refused', 'written')"
        )
    };
}
pub(crate) use counts_towards_rate_limit;
/// The maximum age of a run at the start of a call: an approval expires within a week.
const MAX_RUN_AGE_MS: i64 = 8 * 86_400_000;
// Runs created more than a day before `$1` are read only if they ended since. The id (`$2`) states the creation even after
// a clock rollback adjusted `created_at`.
pub(crate) const TOOL_CALLS_SINCE: &str = concat!(
    "SELECT name, started_at FROM run_steps
    WHERE run_id IN (SELECT id FROM runs
                WHERE id > $2 AND (created_at > $1 - 86400000 OR finished_at > $1)
            UNION SELECT id FROM ",
    by_index!("runs", "runs_open"),
    " WHERE finished_at IS NULL)
        AND started_at > $1 AND ",
    counts_towards_rate_limit!()
);
const RUN_OF_STEP: &str = "SELECT job_id, state FROM runs WHERE id = $1";

impl FromColumns<'_> for RunStep {
    fn from_columns(row: &mut RowReader<'_>) -> sqlx::Result<Self> {
        Ok(Self {
            run_id: row.read()?,
            seq: row.read()?,
            kind: row.read()?,
            name: row.read()?,
            status: row.read()?,
            repeatable: row.read()?,
            input: row.read()?,
            output: row.read()?,
            is_error: row.read()?,
            usage: row.read()?,
            started_at: row.read()?,
            finished_at: row.read()?,
            duration_ms: row.read()?,
            call_id: row.read()?,
            // silent-ok: a decision that only a newer version knows does not hide the step.
            gate: row.read::<Option<Value>>()?.and_then(|gate| serde_json::from_value(gate).ok()),
        })
    }
}

impl Store {
    /// Journals the start of a step; returns the number. Event `run` with `step`.
    ///
    /// # Errors
    /// `NotFound` if the run does not exist.
    pub async fn begin_step(&self, step: &NewStep, now: UnixMs) -> Result<u32, StoreError> {
        let durability = if step.repeatable { Durability::Normal } else { Durability::Full };
        let tx = self.begin("journal the step", durability, now).await?;
        begin_step(tx, step).await
    }

    /// Journals the start of a step and uses the permit; none if the permit is no longer valid.
    ///
    /// # Errors
    /// `NotFound` if the run does not exist.
    pub async fn begin_permitted_step(
        &self,
        step: &NewStep,
        permit: &Authorization,
        now: UnixMs,
    ) -> Result<Option<u32>, StoreError> {
        let mut tx = self.begin("journal the step", Durability::Full, now).await?;
        if !use_permit(&mut tx, permit).await? {
            tx.roll_back().await?;
            return Ok(None);
        }
        begin_step(tx, step).await.map(Some)
    }

    /// Journals a note.
    ///
    /// # Errors
    /// `NotFound` if the run does not exist.
    pub async fn add_note(&self, note: JournalNote<'_>, now: UnixMs) -> Result<(), StoreError> {
        let JournalNote { run_id, name, input, output, is_error } = note;
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

    /// Journals the end of a step with the usage. Event `run` with `step`.
    ///
    /// # Errors
    /// `NotFound` if the step does not exist.
    pub async fn end_step(
        &self,
        run: &RunId,
        seq: u32,
        end: &StepEnd,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        self.end_call(run, seq, end, &[], now).await
    }

    /// The same for a tool call, with the files for the person.
    ///
    /// # Errors
    /// `NotFound` if the step does not exist.
    pub async fn end_call(
        &self,
        run: &RunId,
        seq: u32,
        end: &StepEnd,
        files: &[Attachment],
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin("journal the step", Durability::Normal, now).await?;
        let mut batch = Batch::default();
        batch.add(END, |values| {
            let values = values
                .bind(run.as_str())
                .bind(seq)
                .bind(end.status.name())
                .bind(end.output.as_ref().map(ToString::to_string))
                .bind(end.is_error)
                .bind(now.0)
                .bind(end.duration_ms);
            bind_usage(values, end.usage)
        });
        batch.add(RUN_OF_STEP, |values| values.bind(run.as_str()));
        add_spending(&mut batch, run, end.usage, now);
        let results = tx.execute_batch(batch).await?;
        if results[0].rows_affected == 0 || !emit_step_event(&mut tx, run, seq, &results[1])? {
            tx.roll_back().await?;
            return Err(StoreError::not_found("step", format!("{run}/{seq}")));
        }
        add_attachments(&mut tx, run, seq, files).await?;
        tx.commit().await
    }

    /// Tool calls since `since`, with their instants, without refused calls and calls that a person wrote. Skips runs that
    /// ended before, and runs created more than eight days before.
    pub async fn tool_calls_since(
        &self,
        since: UnixMs,
    ) -> Result<Vec<(String, UnixMs)>, StoreError> {
        let created_since = RunId::bound(since.plus_ms(-MAX_RUN_AGE_MS));
        let query = sqlx::query(TOOL_CALLS_SINCE).bind(since.0).bind(created_since);
        self.fetch_all("read the journal", query).await
    }

    /// The journal of a run that resumes, in order. Fails if any step cannot be decoded: the run would repeat the step.
    pub async fn complete_journal(&self, run: &RunId) -> Result<Vec<RunStep>, StoreError> {
        self.fetch_complete("read the journal", sqlx::query(LIST).bind(run.as_str())).await
    }

    /// The readable steps of a run, in order.
    pub async fn steps(&self, run: &RunId) -> Result<Vec<RunStep>, StoreError> {
        self.fetch_all("read the journal", sqlx::query(LIST).bind(run.as_str())).await
    }

    /// Whether the run has begun a tool call that must not be repeated, as a restart of the run would.
    pub async fn has_unrepeatable_step(&self, run: &RunId) -> Result<bool, StoreError> {
        let query = sqlx::query(HAS_UNREPEATABLE).bind(run.as_str());
        self.fetch_or_default("read the journal", query).await
    }
}

/// Inserts a step and commits.
async fn begin_step(mut tx: Transaction, step: &NewStep) -> Result<u32, StoreError> {
    let now = tx.now();
    let mut batch = Batch::default();
    batch.add(RUN_OF_STEP, |values| values.bind(step.run_id.as_str()));
    batch.add(BEGIN, |values| {
        values
            .bind(step.run_id.as_str())
            .bind(step.kind.name())
            .bind(step.name.as_str())
            .bind(step.repeatable)
            .bind(step.input.to_string())
            .bind(now.0)
            .bind(step.call_id.clone())
            .bind(step.gate.as_ref().map(|gate| json!(gate).to_string()))
    });
    let results = tx.execute_batch(batch).await?;
    let seq = tx.decode_first(&results[1])?.unwrap_or_default();
    if !emit_step_event(&mut tx, &step.run_id, seq, &results[0])? {
        tx.roll_back().await?;
        return Err(StoreError::not_found("run", &step.run_id));
    }
    tx.commit().await?;
    Ok(seq)
}

/// Emits the event of a step with the run that `RUN_OF_STEP` returned; false if there is none.
fn emit_step_event(
    tx: &mut Transaction,
    run: &RunId,
    seq: u32,
    result: &StatementResult,
) -> Result<bool, StoreError> {
    let row: Option<(Option<JobId>, RunState)> = tx.decode_first(result)?;
    let Some((job_id, state)) = row else { return Ok(false) };
    let mut data = run_state_event(run, job_id.as_ref(), state);
    data["step"] = seq.into();
    tx.emit(EventKind::Run, data);
    Ok(true)
}

/// Marks the steps that the end of the process interrupted as unknown, before their run ends or is requeued. Books the usage
/// of model calls among them and sums up the usage of the run.
pub(crate) async fn mark_steps_unknown(
    tx: &mut Transaction,
    run: &RunId,
) -> Result<(), StoreError> {
    let interrupted = tx.fetch_all(sqlx::query(MARK_UNKNOWN).bind(run.as_str())).await?;
    let (mut batch, now) = (Batch::default(), tx.now());
    for usage in interrupted {
        add_spending(&mut batch, run, usage, now);
    }
    batch.add(SUM_USAGE, |values| values.bind(run.as_str()));
    tx.execute_batch(batch).await.map(drop)
}
