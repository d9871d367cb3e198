//! Undelivered reminders: queued events of reminder jobs that no notification has delivered.
//!
//! A line is queued with the end of the run, at the same instant. A run that called a model or a tool queues a report and no
//! reminder. Pitfall: deciding that by the payload alone; the payload is as old as the run, and the job may have become an
//! agent job since.

use rouse_core::{DeliveryId, JobId, RunId, UnixMs};

use super::system_events::lines_of_parked_turns;
use crate::sql::{
    Query, Store, StoreError, from_columns, json_items_of, json_text, text_after_colon,
};

/// A reminder without a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndeliveredReminder {
    /// The id of the delivery; the same for every read of the line.
    pub key: DeliveryId,
    /// The run that queued the line.
    pub run_id: RunId,
    /// The job, which may be deleted.
    pub job_id: JobId,
    /// The job's name at that time.
    pub job_name: String,
    /// The line.
    pub text: String,
}

macro_rules! undelivered_reminders {
    ($condition:expr) => {
        concat!(
            "SELECT 'line-' || line.id || '-' || line.queued_at, runs.id, runs.job_id, runs.job_name, line.text
    FROM system_events AS line JOIN runs
        ON runs.job_id = ",
            text_after_colon!("line.source"),
            " AND runs.finished_at = line.queued_at
    WHERE (line.source LIKE 'reminder:%' OR line.source LIKE 'cron:%')
        AND runs.created_at <= line.queued_at
        AND ",
            json_text!("runs.payload", "kind"),
            " = 'systemEvent' AND runs.model IS NULL
        AND NOT EXISTS (SELECT 1 FROM run_steps WHERE run_steps.run_id = runs.id)
        AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.run_id = runs.id)
        AND ",
            $condition,
            " ORDER BY line.id"
        )
    };
}

pub(crate) const QUEUED: &str = undelivered_reminders!(concat!(
    "line.drained_at IS NULL AND line.queued_at <= $1 AND line.id NOT IN (",
    lines_of_parked_turns!(),
    ")"
));
pub(crate) const SHOWN_TO_RUN: &str = undelivered_reminders!(concat!(
    "line.id IN (SELECT shown.value FROM run_steps, ",
    json_items_of!("run_steps.input", "ids"),
    " AS shown
        WHERE run_steps.run_id = $1 AND run_steps.kind = 'note' AND run_steps.name IN ('System events', 'Queued lines'))"
));
const DRAINED_BY_RUN: &str = undelivered_reminders!("line.drained_by = $1");

from_columns!(UndeliveredReminder: key, run_id, job_id, job_name, text);

impl Store {
    /// Undelivered reminders that were queued by `until` and that no main turn has handled, the oldest first.
    pub async fn undelivered_reminders(
        &self,
        until: UnixMs,
    ) -> Result<Vec<UndeliveredReminder>, StoreError> {
        self.reminders(sqlx::query(QUEUED).bind(until.0)).await
    }

    /// Undelivered reminders that the main turn `run` was shown, the oldest first.
    pub async fn undelivered_reminders_shown_to(
        &self,
        run: &RunId,
    ) -> Result<Vec<UndeliveredReminder>, StoreError> {
        self.reminders(sqlx::query(SHOWN_TO_RUN).bind(run.as_str())).await
    }

    /// Undelivered reminders that the main turn `run` has drained, the oldest first.
    pub async fn undelivered_reminders_drained_by(
        &self,
        run: &RunId,
    ) -> Result<Vec<UndeliveredReminder>, StoreError> {
        self.reminders(sqlx::query(DRAINED_BY_RUN).bind(run.as_str())).await
    }

    async fn reminders(&self, query: Query) -> Result<Vec<UndeliveredReminder>, StoreError> {
        self.fetch_all("read the undelivered reminders", query).await
    }
}
