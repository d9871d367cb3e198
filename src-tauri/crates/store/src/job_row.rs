//! A row of the table `jobs` with the whole job: columns for what the engine writes, the definition as it was written.
//!
//! One could get it wrong by failing with a state that is no word of ours: that is history, and the job goes on without it.

use rouse_core::job::{JobState, job_to_json, stored_job_from_json};
use rouse_core::slots::DecidedSlots;
use rouse_core::{Job, JobId, RunState};
use serde_json::{Map, Value};
use sqlx::sqlite::SqliteRow;

use crate::StoreError;
use crate::row::{Columns, is_news, name_for_log};

/// A row as it is stored.
pub(crate) struct JobRow {
    pub(crate) id: JobId,
    pub(crate) enabled: bool,
    pub(crate) state: JobState,
    definition: String,
}

impl JobRow {
    pub(crate) fn read(row: &SqliteRow) -> sqlx::Result<Self> {
        Self::take(&mut Columns::of(row))
    }

    pub(crate) fn take(columns: &mut Columns<'_>) -> sqlx::Result<Self> {
        let (id, enabled, revision) = (columns.id(JobId::new)?, columns.get()?, columns.get()?);
        let next_run_at = columns.some_instant()?;
        let decided = decided(columns)?;
        let last_run_at = columns.some_instant()?;
        let word: Option<&str> = columns.get()?;
        let state = JobState {
            next_run_at,
            decided,
            last_run_at,
            last_state: word.and_then(RunState::from_name),
            last_error: columns.get()?,
            last_duration_ms: columns.get()?,
            consecutive_failures: columns.count()?,
            revision,
            extra: Map::new(),
        };
        let row = Self { id, enabled, state, definition: columns.get()? };
        if let Some(word) = word.filter(|_| row.state.last_state.is_none()) {
            row.say_unknown_state(word);
        }
        Ok(row)
    }

    /// A state that is no word of ours is history that nobody can read; the job goes on without it.
    fn say_unknown_state(&self, word: &str) {
        let Self { id, .. } = self;
        if is_news(&format!("last state {id}")) {
            let name = name_for_log(None, &self.definition, id.as_str());
            tracing::error!(job_id = %id, name, word, "the state of a job's newest run is no known word");
        }
    }

    /// The whole job.
    pub(crate) fn job(self) -> Result<Job, StoreError> {
        let id = self.id.to_string();
        self.parse().map_err(|reason| StoreError::Unreadable { what: "job", id, reason })
    }

    /// The whole job, or why it is none.
    pub(crate) fn parse(self) -> Result<Job, String> {
        let job = self.document()?;
        Ok(self.with(job))
    }

    /// The whole job; one that cannot be read is logged, with what that means.
    pub(crate) fn readable(self, means: &str) -> Option<Job> {
        match self.document() {
            Ok(job) => Some(self.with(job)),
            Err(reason) => {
                let (id, name) = (&self.id, name_for_log(None, &self.definition, self.id.as_str()));
                tracing::error!(job_id = %id, name, reason, "{means}");
                None
            }
        }
    }

    fn document(&self) -> Result<Job, String> {
        let document = serde_json::from_str(&self.definition).map_err(|e| e.to_string())?;
        stored_job_from_json(document).map_err(|e| e.to_string())
    }

    fn with(self, job: Job) -> Job {
        let state = JobState { extra: job.state.extra, ..self.state };
        Job { id: self.id, enabled: self.enabled, state, ..job }
    }
}

/// Up to where the slots of a job are decided: two columns.
fn decided(columns: &mut Columns<'_>) -> sqlx::Result<DecidedSlots> {
    Ok(DecidedSlots { until: columns.some_instant()?, settled_until: columns.some_instant()? })
}

/// The job in the job format, without what the columns hold. Of its state only what nobody here knows is left.
pub(crate) fn definition(job: &Job) -> String {
    let mut document = job_to_json(job);
    if let Some(fields) = document.as_object_mut() {
        fields.shift_remove("enabled");
        fields.shift_remove("state");
        if !job.state.extra.is_empty() {
            fields.insert("state".to_owned(), Value::Object(job.state.extra.clone()));
        }
    }
    document.to_string()
}
