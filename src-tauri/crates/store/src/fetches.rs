//! What a job fetched before, asked of the journals of its runs.
//!
//! Owns the bound on how far back that is looked: the newest runs of the job that ended well. Never keeps a table of its
//! own; what retention prunes is forgotten here as well.

use rouse_core::fetches::{FetchHistory, FetchHistoryFailure, PastFetch, WEB_FETCH};
use rouse_core::tool::BoxFuture;
use rouse_core::{JobId, RunId, UnixMs};

use crate::Store;
use crate::row::Columns;

pub(crate) const LAST: &str = "SELECT s.output ->> '$.contentHash', s.finished_at
    FROM (SELECT id FROM runs WHERE job_id = ?1 AND id <> ?2 AND state IN ('succeeded', 'nothingToReport')
        ORDER BY created_at DESC LIMIT 200) r
    JOIN run_steps s ON s.run_id = r.id
    WHERE s.kind = 'toolCall' AND s.name = ?3 AND s.status = 'finished' AND s.is_error = 0
        AND s.input ->> '$.url' = ?4 AND s.output ->> '$.contentHash' IS NOT NULL
    ORDER BY s.finished_at DESC LIMIT 1";

impl FetchHistory for Store {
    fn last<'a>(
        &'a self,
        job: &'a JobId,
        current: &'a RunId,
        url: &'a str,
    ) -> BoxFuture<'a, Result<Option<PastFetch>, FetchHistoryFailure>> {
        Box::pin(async move {
            let query = sqlx::query(LAST)
                .bind(job.as_str())
                .bind(current.as_str())
                .bind(WEB_FETCH)
                .bind(url);
            let found = self.one("read earlier fetches", query, |row| {
                let mut columns = Columns::of(row);
                Ok(PastFetch { content_hash: columns.get()?, at: UnixMs(columns.get()?) })
            });
            found.await.map_err(|error| FetchHistoryFailure(error.to_string()))
        })
    }
}
