//! What runs and sessions know from outside, asked of the journals.
//!
//! Owns which calls count: those that have reached their tool, for what the gate has refused has told nobody anything. What
//! a session has inherited of runs that are kept no longer counts as well (`inherited`). It refuses to know which tools read
//! from outside: whoever asks says that.

use rouse_core::{RunId, SessionKey};
use serde_json::{Value, json};

use crate::inherited::{self, Inherited};
use crate::row::{Columns, json_list, readable};
use crate::summaries::{self, NEWEST_SUMMARY, Summary};
use crate::walk::Walk;
use crate::{Store, StoreError};

/// A call that has reached its tool: what the gate has refused has told the run nothing from outside.
macro_rules! reached {
    () => {
        "kind = 'toolCall' AND coalesce(gate ->> '$.decision', '') <> 'refused'"
    };
}

pub(crate) const HAS_CALLED: &str = concat!(
    "SELECT EXISTS (SELECT 1 FROM run_steps WHERE run_id = ?1 AND status <> 'started'
        AND name IN (SELECT value FROM json_each(?2)) AND ",
    reached!(),
    ")"
);
/// Whether one of the runs `said` knows something from outside.
macro_rules! any_knows {
    ($runs:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM (",
            $runs,
            ") said
    WHERE EXISTS (SELECT 1 FROM causes WHERE causes.run_id = said.run_id)
        OR EXISTS (SELECT 1 FROM run_steps WHERE run_steps.run_id = said.run_id
            AND name IN (SELECT value FROM json_each(?2)) AND ",
            reached!(),
            ")
        OR EXISTS (SELECT 1 FROM run_steps WHERE run_steps.run_id = said.run_id AND kind = 'note'
            AND input ->> '$.fromOutside' = 1))"
        )
    };
}

pub(crate) const SESSION_KNOWS: &str = concat!(
    "SELECT EXISTS (SELECT 1 FROM sessions WHERE key = ?1 AND from_outside) OR ",
    any_knows!(
        "SELECT DISTINCT run_id FROM (SELECT run_id FROM messages WHERE session = ?1 ORDER BY id DESC LIMIT 500)"
    )
);
pub(crate) const SESSION_CALLS: &str = concat!(
    "SELECT DISTINCT input, output FROM run_steps
    WHERE name = ?2 AND is_error = 0 AND run_id IN (SELECT run_id FROM messages WHERE session = ?1) AND ",
    reached!()
);
pub(crate) const ANY_HAS_CALLED: &str =
    concat!("SELECT ", any_knows!("SELECT value AS run_id FROM json_each(?1)"));

/// The skill texts and calls that taint a session.
#[derive(Debug, Default)]
pub struct SessionReads {
    /// The newest summary of the transcript; none when it cannot be read.
    pub summary: Option<Summary>,
    /// The input and the output of each call.
    pub calls: Vec<(Value, Option<Value>)>,
    /// The taint of runs whose journal may be pruned.
    pub inherited: Inherited,
}

impl Store {
    /// Whether the run has called one of these tools and was told something by it. What was refused was not called.
    ///
    /// # Errors
    /// `Read`.
    pub async fn has_called(&self, run: &RunId, tools: &[&str]) -> Result<bool, StoreError> {
        let query = sqlx::query(HAS_CALLED).bind(run.as_str()).bind(json!(tools).to_string());
        let found = self.one("read the journal", query, |row| Columns::of(row).get()).await?;
        Ok(found.unwrap_or(false))
    }

    /// Whether a run that has written to this session has called one of these tools and was not refused, was fired from
    /// outside, was told something that a note of it says is `fromOutside`, or has inherited something of the kind. Of the
    /// runs themselves those of the newest 500 messages are asked.
    ///
    /// # Errors
    /// `Read`.
    pub async fn session_knows_outside(
        &self,
        session: &SessionKey,
        tools: &[&str],
    ) -> Result<bool, StoreError> {
        let query =
            sqlx::query(SESSION_KNOWS).bind(session.as_str()).bind(json!(tools).to_string());
        let found = self.one("read the journal", query, |row| Columns::of(row).get()).await?;
        Ok(found.unwrap_or(false))
    }

    /// The same of these runs, whatever they have written to.
    ///
    /// # Errors
    /// `Read`.
    pub async fn any_has_called(&self, runs: &[RunId], tools: &[&str]) -> Result<bool, StoreError> {
        let runs = json_list(runs.iter().map(RunId::as_str));
        let query = sqlx::query(ANY_HAS_CALLED).bind(runs).bind(json!(tools).to_string());
        let found = self.one("read the journal", query, |row| Columns::of(row).get()).await?;
        Ok(found.unwrap_or(false))
    }

    /// What the runs of a session have read with this tool, as far as it is kept. A refused or failed call has read
    /// nothing.
    ///
    /// # Errors
    /// `Read`.
    pub async fn session_reads(
        &self,
        session: &SessionKey,
        tool: &str,
    ) -> Result<SessionReads, StoreError> {
        let what = "read what the session has read";
        let mut walk = Walk::default();
        walk.add(NEWEST_SUMMARY, |values| values.bind(session.as_str()));
        walk.add(SESSION_CALLS, |values| values.bind(session.as_str()).bind(tool));
        walk.add(inherited::GET, |values| values.bind(session.as_str()));
        let rows = self.rows_of_each(walk).await;
        let rows = rows.map_err(|source| StoreError::Read { what, source })?;
        let Ok([summaries, calls, left]) = <[_; 3]>::try_from(rows) else {
            panic!("BUG: three statements have three answers");
        };
        let summary = |row| readable(what, row, |row| summaries::read(Columns::of(row).get()?));
        let call = |row| {
            readable(what, row, |row| {
                let mut columns = Columns::of(row);
                Ok((columns.json()?, columns.some_json()?))
            })
        };
        let left = left.first().map(|row| inherited::read(&mut Columns::of(row))).transpose();
        Ok(SessionReads {
            summary: summaries.iter().find_map(summary),
            calls: calls.iter().filter_map(call).collect(),
            inherited: left
                .map_err(|source| StoreError::Read { what, source })?
                .unwrap_or_default(),
        })
    }
}
