//! Lists of jobs: searched, page by page.
//!
//! Jobs are ordered by next slot (without one last), then by name. The cursor holds both and the id, so a page continues
//! although the job at the cursor was deleted or renamed. A job that moves between two pages may be on both or on neither;
//! an event reports the move.

use rouse_core::Job;
use rouse_core::job::Payload;
use serde_json::json;

use super::job_row::{JobRow, job_columns};
use super::unreadable_jobs::UnreadableJob;
use crate::sql::{Store, StoreError, ignore_case, nulls_last};

/// A query for jobs. The default is all enabled jobs in one page.
#[derive(Debug, Clone, Default)]
pub struct JobQuery {
    /// Whether disabled jobs are included.
    pub include_disabled: bool,
    /// Only jobs with these words in name, description or payload, or at the beginning of the id. Ignores case.
    pub search: Option<String>,
    /// Jobs per page; 0 means all.
    pub limit: u32,
    /// The cursor of the page before (`JobPage::next`).
    pub after: Option<String>,
}

/// A page of jobs by next slot (without one last), then by name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobPage {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Jobs among them that cannot be read.
    pub unreadable: Vec<UnreadableJob>,
    /// The cursor of the next page; none on the last page.
    pub next: Option<String>,
}

// The first condition on `next_run_at` is implied, but lets SQLite begin in the middle of the index.
pub(crate) const LIST: &str = concat!(
    "SELECT ",
    job_columns!(),
    ", name FROM jobs WHERE enabled >= $1 AND ",
    nulls_last!("next_run_at"),
    " >= $2
        AND (",
    nulls_last!("next_run_at"),
    ", ",
    ignore_case!("name"),
    ", id) > ($2, $3, $4)
     ORDER BY ",
    nulls_last!("next_run_at"),
    ", ",
    ignore_case!("name"),
    ", id LIMIT $5"
);

/// Jobs per query of a search.
const SEARCH_BATCH: usize = 500;

impl Store {
    /// A page of jobs. An unreadable job is listed with the reason and never hides others. An unreadable cursor begins at
    /// the top.
    pub async fn jobs(&self, query: &JobQuery) -> Result<JobPage, StoreError> {
        let words = query.search.as_deref().map(|words| words.trim().to_lowercase());
        let limit = if query.limit == 0 { usize::MAX } else { query.limit as usize };
        // One more than the page holds shows whether there is another page.
        let batch = if words.is_some() { SEARCH_BATCH } else { limit.saturating_add(1) };
        let mut page = JobPage::default();
        let mut cursor = query.after.as_deref().and_then(JobCursor::parse).unwrap_or_default();
        let mut page_end = JobCursor::default();
        loop {
            let rows = self.jobs_after(&cursor, query.include_disabled, batch).await?;
            let is_last = rows.len() < batch;
            for (row, name) in rows {
                cursor = JobCursor::at(&row, name.clone());
                let id = row.id.clone();
                let job = match row.parse() {
                    Ok(job) => job,
                    Err(reason) => {
                        page.unreadable.push(UnreadableJob::new(id, name, &reason));
                        continue;
                    }
                };
                if !words.as_deref().is_none_or(|words| mentions(&job, words)) {
                    continue;
                }
                if page.jobs.len() == limit {
                    page.next = Some(page_end.to_text());
                    return Ok(page);
                }
                page.jobs.push(job);
                page_end = cursor.clone();
            }
            if is_last {
                return Ok(page);
            }
        }
    }

    async fn jobs_after(
        &self,
        cursor: &JobCursor,
        include_disabled: bool,
        limit: usize,
    ) -> Result<Vec<(JobRow, String)>, StoreError> {
        let query = sqlx::query(LIST)
            .bind(i64::from(!include_disabled))
            .bind(cursor.next_run_at)
            .bind(cursor.name.as_str())
            .bind(cursor.id.as_str())
            .bind(i64::try_from(limit).unwrap_or(i64::MAX));
        self.fetch_all("list the jobs", query).await
    }
}

/// A position in the order of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct JobCursor {
    next_run_at: i64,
    name: String,
    id: String,
}

impl Default for JobCursor {
    /// Before the first job.
    fn default() -> Self {
        Self { next_run_at: i64::MIN, name: String::new(), id: String::new() }
    }
}

impl JobCursor {
    fn at(row: &JobRow, name: String) -> Self {
        let next_run_at = row.state.next_run_at.map_or(i64::MAX, |at| at.0);
        Self { next_run_at, name, id: row.id.to_string() }
    }

    fn parse(text: &str) -> Option<Self> {
        // silent-ok: an unreadable cursor begins at the top, as `Store::jobs` documents.
        let (next_run_at, name, id) = serde_json::from_str(text).ok()?;
        Some(Self { next_run_at, name, id })
    }

    fn to_text(&self) -> String {
        json!([self.next_run_at, self.name, self.id]).to_string()
    }
}

/// Whether the job contains the lower-case words. SQLite ignores the case of ASCII letters only.
fn mentions(job: &Job, words: &str) -> bool {
    let contains = |text: &str| text.to_lowercase().contains(words);
    let in_payload = match &job.payload {
        Payload::SystemEvent { text, .. } => contains(text),
        Payload::AgentTurn(turn) => contains(&turn.message),
        Payload::ToolCall(call) => contains(&call.tool),
    };
    let in_id = job.id.as_str().to_lowercase().starts_with(words);
    let in_description = job.description.as_deref().is_some_and(contains);
    in_id || in_payload || contains(&job.name) || in_description
}
