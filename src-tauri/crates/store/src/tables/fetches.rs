//! Earlier fetches of a job, read from the journals of its runs.
//!
//! Owns the limit of the search: the newest successful runs. Without a separate table, retention prunes fetches with the
//! runs.

use rouse_core::fetch_history::{FetchHistory, FetchHistoryFailure, PastFetch, WEB_FETCH};
use rouse_core::tool::BoxFuture;
use rouse_core::{JobId, RunId};

use crate::sql::{Store, from_columns, json_text};

pub(crate) const LAST_FETCH: &str = concat!(
    "SELECT ",
    json_text!("s.output", "contentHash"),
    ", s.finished_at
    FROM (SELECT id FROM runs WHERE job_id = $1 AND id <> $2 AND state IN ('succeeded', 'nothingToReport')
        ORDER BY created_at DESC LIMIT 200) r
    JOIN run_steps s ON s.run_id = r.id
    WHERE s.kind = 'toolCall' AND s.name = $3 AND s.status = 'finished' AND s.is_error = 0
        AND ",
    json_text!("s.input", "url"),
    " = $4 AND ",
    json_text!("s.output", "contentHash"),
    " IS NOT NULL
    ORDER BY s.finished_at DESC LIMIT 1"
);

from_columns!(PastFetch: content_hash, at);

impl FetchHistory for Store {
    fn last<'a>(
        &'a self,
        job: &'a JobId,
        current: &'a RunId,
        url: &'a str,
    ) -> BoxFuture<'a, Result<Option<PastFetch>, FetchHistoryFailure>> {
        Box::pin(async move {
            let query = sqlx::query(LAST_FETCH)
                .bind(job.as_str())
                .bind(current.as_str())
                .bind(WEB_FETCH)
                .bind(url);
            let found = self.fetch_optional("read earlier fetches", query).await;
            found.map_err(|error| FetchHistoryFailure(error.to_string()))
        })
    }
}
