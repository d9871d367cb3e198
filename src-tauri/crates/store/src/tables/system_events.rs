//! The table `system_events`: lines queued for the main session.
//!
//! A line stays queued until a main turn has handled the line and is stored. Lines never expire, also while the heartbeat is
//! disabled.

use rouse_core::event::EventKind;
use rouse_core::{Run, RunId, SessionKey, UnixMs};
use serde_json::{Value, json};

use crate::sql::{
    Durability, Store, StoreError, Transaction, from_columns, in_json_list, unindexed,
};

/// A line queued for the main session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemEvent {
    /// The id.
    pub id: i64,
    /// The line.
    pub text: String,
    /// The source, such as `cron:<jobId>`, `reminder:<jobId>` or `wake`.
    pub source: String,
    /// When the line was queued.
    pub queued_at: UnixMs,
    /// Whether the text is untrusted input: all but wakes and the person's own reminders.
    pub is_tainted: bool,
}

/// The source of a line that the person wrote.
pub const SOURCE_WAKE: &str = "wake";
/// The source of a line that a program sent.
pub const SOURCE_HOOK: &str = "hook";
/// The source of a reminder that the person worded, before the id of the job. The line stays the person's text after changes
/// of the job or the run.
pub(crate) const SOURCE_REMINDER: &str = "reminder:";

/// The name of the journal note that lists the system events of a turn, as `ids`.
pub const QUEUED_EVENTS_NOTE: &str = "System events";
/// [`QUEUED_EVENTS_NOTE`] as stored by older builds.
pub const OLD_QUEUED_EVENTS_NOTE: &str = "Queued lines";

/// The lines shown to a main turn that awaits an approval, or the lane after the decision.
macro_rules! lines_of_parked_turns {
    () => {
        concat!(
            "SELECT shown.value FROM runs JOIN run_steps ON run_steps.run_id = runs.id, ",
            $crate::sql::json_items_of!("run_steps.input", "ids"),
            " AS shown
        WHERE runs.state IN ('awaitingApproval', 'queued') AND runs.job_id IS NULL
            AND run_steps.kind = 'note' AND run_steps.name IN ('System events', 'Queued lines')"
        )
    };
}
pub(crate) use lines_of_parked_turns;

const INSERT: &str = "INSERT INTO system_events (text, source, queued_at) VALUES ($1, $2, $3)";
pub(crate) const PENDING: &str = concat!(
    "SELECT id, text, source, queued_at, source <> 'wake' AND source NOT LIKE 'reminder:%'
    FROM system_events
    WHERE drained_at IS NULL AND id NOT IN (",
    lines_of_parked_turns!(),
    ") ORDER BY id LIMIT $1"
);
pub(crate) const COUNT_PENDING: &str = concat!(
    "SELECT count(*) FROM system_events WHERE drained_at IS NULL AND id NOT IN (",
    lines_of_parked_turns!(),
    ")"
);
pub(crate) const COUNT_QUEUED: &str = "SELECT count(*) FROM system_events WHERE drained_at IS NULL";
pub(crate) const LAST_MAIN_TURN: &str = concat!(
    "SELECT started_at FROM runs
    WHERE job_id IS NULL AND trigger IN ('heartbeat', 'chat') AND ",
    unindexed!("state"),
    " IN ('succeeded', 'nothingToReport')
    ORDER BY created_at DESC, seq DESC LIMIT 1"
);
const DRAIN: &str = concat!(
    "UPDATE system_events SET drained_at = $1, drained_by = $2
    WHERE drained_at IS NULL AND id ",
    in_json_list!("$3")
);

from_columns!(SystemEvent: id, text, source, queued_at, is_tainted);

impl Store {
    /// The oldest `limit` queued events, in order, without events of a parked main turn.
    pub async fn pending_system_events(&self, limit: u32) -> Result<Vec<SystemEvent>, StoreError> {
        self.fetch_all("read the system events", sqlx::query(PENDING).bind(limit)).await
    }

    /// The number of queued events, without events of a parked main turn.
    pub async fn count_pending_system_events(&self) -> Result<u32, StoreError> {
        self.fetch_or_default("count the system events", sqlx::query(COUNT_PENDING)).await
    }

    /// When the last successful turn of the main session began.
    pub async fn last_main_turn_started_at(&self) -> Result<Option<UnixMs>, StoreError> {
        let action = "read the last turn of the main session";
        self.fetch_or_default(action, sqlx::query(LAST_MAIN_TURN)).await
    }

    /// Drains the lines with these ids, which `run` has handled. Event `heartbeat` with `queued`.
    pub async fn drain_system_events(
        &self,
        run: &RunId,
        ids: &[i64],
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin("drain the system events", Durability::Normal, now).await?;
        let query = sqlx::query(DRAIN).bind(now.0).bind(run.as_str()).bind(json!(ids).to_string());
        tx.execute(query).await?;
        emit_queue_length(&mut tx).await?;
        tx.commit().await
    }
}

/// Queues a line; returns the id. Event `heartbeat` with `queued`.
pub(crate) async fn queue_line(
    tx: &mut Transaction,
    text: &str,
    source: &str,
) -> Result<i64, StoreError> {
    let id = tx.insert(sqlx::query(INSERT).bind(text).bind(source).bind(tx.now().0)).await?;
    emit_queue_length(tx).await?;
    Ok(id)
}

/// The source of a line about a run.
pub(crate) fn source_of(run: &Run) -> String {
    run.job_id.as_ref().map_or_else(SessionKey::main, SessionKey::of_job).to_string()
}

async fn emit_queue_length(tx: &mut Transaction) -> Result<(), StoreError> {
    let queued: Option<u32> = tx.fetch_optional(sqlx::query(COUNT_QUEUED)).await?;
    let data: Value = json!({ "queued": queued.unwrap_or(0) });
    tx.emit(EventKind::Heartbeat, data);
    Ok(())
}
