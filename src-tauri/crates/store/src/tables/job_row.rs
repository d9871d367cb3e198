//! A row of the table `jobs`: columns of the engine, and the definition as the person wrote it.
//!
//! Pitfall: failing on an unknown `last_state`, which is mere history.

use rouse_core::job::{JobState, stored_job_from_json, to_json};
use rouse_core::slots::DecidedSlots;
use rouse_core::{Job, JobId, RunState, UnixMs};
use serde_json::{Map, Value};

use crate::sql::{FromColumns, RowReader, StoreError, from_columns, is_first_report, log_name};

/// The columns that `JobRow` reads, in order.
macro_rules! job_columns {
    () => {
        "id, enabled, revision, next_run_at, decided_until, settled_until, last_run_at, last_state, last_error,
         last_duration_ms, consecutive_failures, definition"
    };
}
pub(crate) use job_columns;

pub(crate) struct JobRow {
    pub(crate) id: JobId,
    pub(crate) enabled: bool,
    pub(crate) state: JobState,
    definition: String,
}

impl FromColumns<'_> for JobRow {
    fn from_columns(row: &mut RowReader<'_>) -> sqlx::Result<Self> {
        let (id, enabled, revision) = row.read()?;
        let (next_run_at, decided, last_run_at): (_, _, Option<UnixMs>) = row.read()?;
        let last_state: Option<String> = row.read()?;
        let state = JobState {
            next_run_at,
            decided,
            last_run_at,
            last: last_state.as_deref().and_then(RunState::from_name).into(),
            last_error: row.read()?,
            last_duration_ms: row.read()?,
            consecutive_failures: row.read()?,
            revision,
            extra: Map::new(),
        };
        let row = Self { id, enabled, state, definition: row.read()? };
        if let Some(name) = last_state.filter(|_| row.state.last.state.is_none()) {
            row.report_unknown_state(&name);
        }
        Ok(row)
    }
}

from_columns!(DecidedSlots: until, settled_until);

impl JobRow {
    fn report_unknown_state(&self, state: &str) {
        let Self { id, definition, .. } = self;
        if is_first_report(&format!("last state {id}")) {
            let name = log_name(None, definition, id.as_str());
            tracing::error!(job_id = %id, name, state, "the state of a job's newest run is unknown");
        }
    }

    /// The job.
    ///
    /// # Errors
    /// `Unreadable`.
    pub(crate) fn into_job(self) -> Result<Job, StoreError> {
        let id = self.id.to_string();
        self.parse().map_err(|reason| StoreError::Unreadable { what: "job", id, reason })
    }

    /// The job, or the reason why the definition cannot be read.
    pub(crate) fn parse(self) -> Result<Job, String> {
        let job = self.parse_definition()?;
        Ok(self.with_columns(job))
    }

    /// The job; logs an unreadable definition with the `consequence`.
    pub(crate) fn parse_or_log(self, consequence: &str) -> Option<Job> {
        match self.parse_definition() {
            Ok(job) => Some(self.with_columns(job)),
            Err(reason) => {
                let name = log_name(None, &self.definition, self.id.as_str());
                tracing::error!(job_id = %self.id, name, reason, "{consequence}");
                None
            }
        }
    }

    fn parse_definition(&self) -> Result<Job, String> {
        let document = serde_json::from_str(&self.definition).map_err(|e| e.to_string())?;
        stored_job_from_json(document).map_err(|e| e.to_string())
    }

    fn with_columns(self, job: Job) -> Job {
        let state = JobState { extra: job.state.extra, ..self.state };
        Job { id: self.id, enabled: self.enabled, state, ..job }
    }
}

/// The job document without the fields that have columns. Of `state` only unknown keys stay.
pub(crate) fn definition_of(job: &Job) -> String {
    let mut document = to_json(job);
    if let Some(fields) = document.as_object_mut() {
        fields.shift_remove("enabled");
        fields.shift_remove("state");
        if !job.state.extra.is_empty() {
            fields.insert("state".to_owned(), Value::Object(job.state.extra.clone()));
        }
    }
    document.to_string()
}
