//! Lists of runs: filtered, counted, page by page.
//!
//! Runs are ordered by the instant they were made and, within one millisecond, by the order in
//! which they were inserted; the cursor names both, so that pages neither repeat nor lose a run
//! while new ones arrive. The keys of a page are found first and its rows read after, so that
//! sorting never drags whole rows along. The statement is put together from fixed pieces; values
//! are always bound.

use rouse_core::{DeliveryId, JobId, Run, RunState, RunTrigger, UnixMs};
use serde_json::json;
use sqlx::AssertSqlSafe;

use crate::row::{Columns, json_list, readable};
use crate::runs::{run_columns, take_run};
use crate::write::Query;
use crate::{Store, StoreError};

/// Which runs. The default is all of them, 50 to a page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunQuery {
    /// Of this job.
    pub job_id: Option<JobId>,
    /// In one of these states; empty means any.
    pub states: Vec<RunState>,
    /// With one of these triggers; empty means any.
    pub triggers: Vec<RunTrigger>,
    /// Created at or after.
    pub from: Option<UnixMs>,
    /// Created before.
    pub to: Option<UnixMs>,
    /// Told of by this digest.
    pub digest: Option<DeliveryId>,
    /// With this text in the job's name, the outcome, the error, the reason or the transcript.
    pub text: Option<String>,
    /// Most runs of the page; 0 means 50.
    pub limit: u32,
    /// Continue after this cursor (`RunPage::next`).
    pub before: Option<String>,
}

/// A page of runs, the newest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunPage {
    /// The runs.
    pub runs: Vec<Run>,
    /// The cursor of the next page; none on the last one.
    pub next: Option<String>,
    /// How many runs the query finds over all pages, counted up to 100,000.
    pub total: u32,
}

const COUNTED: u32 = 100_000;
const DEFAULT_LIMIT: u32 = 50;

/// Runs whose row or transcript holds a text. The first pattern is of the row's text. The second is of the JSON of a message
/// and spares reading most of them as JSON; the third is of its strings, and of those only what was said, asked of a tool
/// or answered by one.
const HAS_TEXT: &str = r"(coalesce(job_name || char(10) || coalesce(summary, '') || char(10) || coalesce(error, '')
        || char(10) || coalesce(reason, ''), '') LIKE ? ESCAPE '\' OR id IN
    (SELECT run_id FROM messages WHERE run_id IS NOT NULL AND message LIKE ? ESCAPE '\' AND CASE WHEN json_valid(message)
        THEN EXISTS (SELECT 1 FROM json_tree(message) WHERE type = 'text' AND (key = 'text' OR path LIKE '%.arguments%')
            AND atom LIKE ? ESCAPE '\') END))";

/// A value for a place in the statement.
enum Bound {
    Number(i64),
    Text(String),
}

/// The conditions of a query with their values, in order.
pub(crate) struct Filter {
    conditions: String,
    values: Vec<Bound>,
}

impl Store {
    /// A page of runs, the newest first. An unreadable cursor begins at the top.
    ///
    /// # Errors
    /// `Read`.
    pub async fn runs(&self, query: &RunQuery) -> Result<RunPage, StoreError> {
        let limit = if query.limit == 0 { DEFAULT_LIMIT } else { query.limit };
        let all = Filter::of(query);
        let count = all.bind(all.count_sql());
        let page = all.with_cursor(query.before.as_deref().and_then(Place::parse));
        let select = page.bind(page.page_sql()).bind(i64::from(limit) + 1);

        let mut rows = self
            .list("list the runs", select, |row| {
                let mut columns = Columns::of(row);
                let place = Place { seq: columns.get()?, created_at: columns.get()? };
                // One that cannot be read has its place all the same, or the page would seem to be the last.
                Ok((place, readable("list the runs", row, |_| take_run(&mut columns))))
            })
            .await?;
        let has_more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let last = rows.last().filter(|_| has_more);
        let next = last.map(|(place, _)| place.write());
        let total = self.one("count the runs", count, |row| Columns::of(row).count()).await?;
        let runs = rows.into_iter().filter_map(|(_, run)| run).collect();
        Ok(RunPage { runs, next, total: total.unwrap_or(0) })
    }
}

impl Filter {
    pub(crate) fn of(query: &RunQuery) -> Self {
        let mut filter = Self { conditions: "true".to_owned(), values: Vec::new() };
        if let Some(job_id) = &query.job_id {
            filter.add("job_id = ?", Bound::Text(job_id.to_string()));
        }
        match query.states.as_slice() {
            [] => {}
            [state] => filter.add("state = ?", Bound::Text(state.name().to_owned())),
            states => filter.add_words("state", states.iter().map(|state| state.name())),
        }
        if !query.triggers.is_empty() {
            filter.add_words("trigger", query.triggers.iter().map(|trigger| trigger.name()));
        }
        if let Some(from) = query.from {
            filter.add("created_at >= ?", Bound::Number(from.0));
        }
        if let Some(to) = query.to {
            filter.add("created_at < ?", Bound::Number(to.0));
        }
        if let Some(digest) = &query.digest {
            let of_digest = "id IN (SELECT run_id FROM outbox WHERE digest = ?)";
            filter.add(of_digest, Bound::Text(digest.to_string()));
        }
        if let Some(text) = query.text.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
            let in_json = json!(text).to_string();
            filter.add(HAS_TEXT, Bound::Text(pattern(text)));
            filter.values.push(Bound::Text(pattern(&in_json[1..in_json.len() - 1])));
            filter.values.push(Bound::Text(pattern(text)));
        }
        filter
    }

    pub(crate) fn with_cursor(mut self, place: Option<Place>) -> Self {
        if let Some(place) = place {
            self.add("(created_at, seq) < (?", Bound::Number(place.created_at));
            self.conditions.push_str(", ?)");
            self.values.push(Bound::Number(place.seq));
        }
        self
    }

    pub(crate) fn page_sql(&self) -> String {
        format!(
            "SELECT seq, created_at, {} FROM runs WHERE seq IN
                (SELECT seq FROM runs WHERE {} ORDER BY created_at DESC, seq DESC LIMIT ?)
             ORDER BY created_at DESC, seq DESC",
            run_columns!(),
            self.conditions
        )
    }

    pub(crate) fn count_sql(&self) -> String {
        let conditions = &self.conditions;
        format!("SELECT count(*) FROM (SELECT 1 FROM runs WHERE {conditions} LIMIT {COUNTED})")
    }

    /// `condition` is a piece of this file's text, never of a query's values.
    fn add(&mut self, condition: &str, value: Bound) {
        self.conditions.push_str(" AND ");
        self.conditions.push_str(condition);
        self.values.push(value);
    }

    fn add_words<'w>(&mut self, column: &str, words: impl Iterator<Item = &'w str>) {
        let condition = format!("{column} IN (SELECT value FROM json_each(?))");
        self.add(&condition, Bound::Text(json_list(words)));
    }

    fn bind(&self, sql: String) -> Query {
        self.values.iter().fold(sqlx::query(AssertSqlSafe(sql)), |query, value| match value {
            Bound::Number(number) => query.bind(*number),
            Bound::Text(text) => query.bind(text.as_str()),
        })
    }
}

/// A place in the order of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    created_at: i64,
    seq: i64,
}

impl Place {
    pub(crate) fn parse(cursor: &str) -> Option<Self> {
        let (created_at, seq) = cursor.split_once('.')?;
        Some(Self { created_at: created_at.parse().ok()?, seq: seq.parse().ok()? })
    }

    fn write(self) -> String {
        format!("{}.{}", self.created_at, self.seq)
    }
}

/// Words anywhere in a text; `%` and `_` mean themselves.
fn pattern(words: &str) -> String {
    let mut pattern = String::from("%");
    for letter in words.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}
