//! The taint of runs and sessions: whether they have read untrusted input.
//!
//! A run is tainted by calls of tools other than the given trusted ones, by a cause, or by a note in the journal. A session is tainted by the runs
//! that wrote to it, and by the stored taint (`SessionTaint`), because journals may be pruned while the transcript
//! still repeats their content. Refused calls never count. Never knows which tools are trusted: the caller does. A tool
//! that was removed is not among the trusted tools, so its results still taint.
//! Pitfall: storing the taint of a run's own calls only; runs that inherit taint would be trusted.

use rouse_core::{RunId, SessionKey, UnixMs};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::summaries::{NEWEST_SUMMARY, TranscriptSummary};
use crate::sql::{
    Batch, Durability, FromColumns, RowReader, Store, StoreError, decode_or_log, decode_row,
    in_json_list, json_is_true, json_items, json_list, json_text,
};

/// A call that reached the tool: not refused by the gate.
macro_rules! reached_tool {
    () => {
        concat!(
            "kind = 'toolCall' AND coalesce(",
            json_text!("gate", "decision"),
            ", '') <> 'refused'"
        )
    };
}

/// Whether one of the `run_id`s of `$runs` is tainted; `$2` lists the trusted tools.
macro_rules! has_tainted_run {
    ($runs:expr) => {
        concat!(
            "EXISTS (SELECT 1 FROM (",
            $runs,
            ") asked
    WHERE EXISTS (SELECT 1 FROM causes WHERE causes.run_id = asked.run_id)
        OR EXISTS (SELECT 1 FROM run_steps WHERE run_steps.run_id = asked.run_id
            AND name NOT ",
            in_json_list!("$2"),
            " AND ",
            reached_tool!(),
            ")
        OR EXISTS (SELECT 1 FROM run_steps WHERE run_steps.run_id = asked.run_id AND kind = 'note'
            AND ",
            json_is_true!("input", "fromOutside"),
            "))"
        )
    };
}

const HAS_READ_UNTRUSTED: &str = concat!(
    "SELECT EXISTS (SELECT 1 FROM run_steps WHERE run_id = $1 AND status <> 'started'
        AND name NOT ",
    in_json_list!("$2"),
    " AND ",
    reached_tool!(),
    ")"
);
const SESSION_IS_TAINTED: &str = concat!(
    "SELECT EXISTS (SELECT 1 FROM sessions WHERE key = $1 AND from_outside = 1) OR ",
    has_tainted_run!(
        "SELECT DISTINCT run_id FROM (SELECT run_id FROM messages WHERE session = $1 ORDER BY id DESC LIMIT 500)"
    )
);
const SESSION_CALLS: &str = concat!(
    "SELECT DISTINCT input, output FROM run_steps
    WHERE name = $2 AND is_error = 0 AND run_id IN (SELECT run_id FROM messages WHERE session = $1) AND ",
    reached_tool!()
);
pub(crate) const ANY_RUN_IS_TAINTED: &str = concat!(
    "SELECT ",
    has_tainted_run!(concat!("SELECT value AS run_id FROM ", json_items!("$1")))
);
const GET: &str = "SELECT from_outside, skill_texts FROM sessions WHERE key = $1";
const PUT: &str = "UPDATE sessions SET from_outside = $2, skill_texts = $3 WHERE key = $1";

/// The taint of a session, carried into the next runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionTaint {
    /// Whether earlier runs have read untrusted input.
    pub is_tainted: bool,
    /// The texts of skills that were untrusted at the time of reading.
    pub skill_texts: Vec<SkillText>,
}

/// A text of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillText {
    /// The skill.
    pub skill: String,
    /// The file; none for the instructions.
    pub path: Option<String>,
    /// The SHA-256 of the text, in hexadecimal digits.
    pub digest: String,
}

/// The skill texts and calls that taint a session.
#[derive(Debug, Default)]
pub struct SessionReads {
    /// The newest readable summary of the transcript.
    pub summary: Option<TranscriptSummary>,
    /// The input and the output of each call.
    pub calls: Vec<(Value, Option<Value>)>,
    /// The taint of runs whose journal may be pruned.
    pub taint: SessionTaint,
}

impl SessionTaint {
    fn union(&self, other: &Self) -> Self {
        let new = other.skill_texts.iter().filter(|text| !self.skill_texts.contains(text));
        Self {
            is_tainted: self.is_tainted || other.is_tainted,
            skill_texts: self.skill_texts.iter().chain(new).cloned().collect(),
        }
    }
}

impl FromColumns<'_> for SessionTaint {
    fn from_columns(row: &mut RowReader<'_>) -> sqlx::Result<Self> {
        let is_tainted = row.read()?;
        let texts = row.read::<Value>().map(serde_json::from_value);
        // An unreadable list stays tainted: a text that nothing can trust.
        let skill_texts = texts.ok().and_then(Result::ok).unwrap_or_else(|| {
            vec![SkillText { skill: "?".to_owned(), path: None, digest: String::new() }]
        });
        Ok(Self { is_tainted, skill_texts })
    }
}

impl Store {
    /// Whether the run has called a tool that is not trusted, without refused calls and calls in progress.
    pub async fn has_read_untrusted(
        &self,
        run: &RunId,
        trusted_tools: &[&str],
    ) -> Result<bool, StoreError> {
        let query = sqlx::query(HAS_READ_UNTRUSTED)
            .bind(run.as_str())
            .bind(json!(trusted_tools).to_string());
        self.fetch_or_default("read the journal", query).await
    }

    /// Whether the session is tainted: by its stored taint, or by a run among its newest 500 messages. A run is tainted if
    /// an event fired it, if it called a tool that is not among `trusted_tools`, or if it has a note marked `fromOutside`.
    pub async fn is_session_tainted(
        &self,
        session: &SessionKey,
        trusted_tools: &[&str],
    ) -> Result<bool, StoreError> {
        let query = sqlx::query(SESSION_IS_TAINTED).bind(session.as_str());
        self.fetch_or_default("read the journal", query.bind(json!(trusted_tools).to_string()))
            .await
    }

    /// Whether one of these runs is tainted.
    pub async fn is_any_run_tainted(
        &self,
        runs: &[RunId],
        trusted_tools: &[&str],
    ) -> Result<bool, StoreError> {
        let query = sqlx::query(ANY_RUN_IS_TAINTED).bind(json_list(runs.iter().map(RunId::as_str)));
        self.fetch_or_default("read the journal", query.bind(json!(trusted_tools).to_string()))
            .await
    }

    /// The stored successful calls of `tool` by the runs of a session, with summary and taint.
    pub async fn session_reads(
        &self,
        session: &SessionKey,
        tool: &str,
    ) -> Result<SessionReads, StoreError> {
        let action = "read the taint of the session";
        let read_error = |source| StoreError::Read { action, source };
        let mut batch = Batch::default();
        batch.add(NEWEST_SUMMARY, |values| values.bind(session.as_str()));
        batch.add(SESSION_CALLS, |values| values.bind(session.as_str()).bind(tool));
        batch.add(GET, |values| values.bind(session.as_str()));
        let rows = self.fetch_batch(batch).await.map_err(read_error)?;
        let Ok([summaries, calls, taint]) = <[_; 3]>::try_from(rows) else {
            panic!("BUG: three statements have three results");
        };
        let taint = taint.first().map(decode_row).transpose().map_err(read_error)?;
        Ok(SessionReads {
            summary: summaries.iter().find_map(|row| decode_or_log(action, row)),
            calls: calls.iter().filter_map(|row| decode_or_log(action, row)).collect(),
            taint: taint.unwrap_or_default(),
        })
    }

    /// The taint that the next run of a session inherits.
    pub async fn session_taint(&self, session: &SessionKey) -> Result<SessionTaint, StoreError> {
        self.fetch_or_default("read the session", sqlx::query(GET).bind(session.as_str())).await
    }

    /// Adds to the taint of a session. A session without messages has none.
    pub async fn record_taint(
        &self,
        session: &SessionKey,
        taint: &SessionTaint,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        if *taint == SessionTaint::default() {
            return Ok(());
        }
        let known = self.session_taint(session).await?;
        if known.union(taint) == known {
            return Ok(());
        }
        let mut tx = self.begin("record the taint of the session", Durability::Normal, now).await?;
        // Another run may have added taint since.
        let known: Option<SessionTaint> =
            tx.fetch_optional(sqlx::query(GET).bind(session.as_str())).await?;
        let all = known.unwrap_or_default().union(taint);
        let query = sqlx::query(PUT).bind(session.as_str()).bind(all.is_tainted);
        tx.execute(query.bind(json!(all.skill_texts).to_string())).await?;
        tx.commit().await
    }
}
