//! Lists of runs: filtered, counted, page by page.
//!
//! Runs are ordered by creation and, within a millisecond, by insertion; the cursor names both, so pages neither repeat nor
//! lose a run while new runs arrive. The keys of a page are selected before the rows, so sorting never moves whole rows.
//! The statement consists of fixed pieces; values are always bound.

use rouse_core::{DeliveryId, JobId, Run, RunState, RunTrigger, UnixMs};
use serde_json::json;
use sqlx::AssertSqlSafe;

use super::runs::run_columns;
use crate::sql::{
    Query, Store, StoreError, decode_or_log, decode_row, from_columns, is_in_json_list, json_list,
    run_has_text,
};

/// A query for runs. The default is all runs, 50 per page.
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
    /// Announced in this digest.
    pub digest: Option<DeliveryId>,
    /// With this text in the job's name, the outcome, the error, the reason or the transcript.
    pub text: Option<String>,
    /// Runs per page; 0 means 50.
    pub limit: u32,
    /// The cursor of the page before (`RunPage::next`).
    pub before: Option<String>,
}

/// A page of runs, the newest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunPage {
    /// The runs.
    pub runs: Vec<Run>,
    /// The cursor of the next page; none on the last page.
    pub next: Option<String>,
    /// The number of runs on all pages, counted up to 100,000.
    pub total: u32,
}

const MAX_COUNTED: u32 = 100_000;
const DEFAULT_LIMIT: u32 = 50;

enum BoundValue {
    Number(i64),
    Text(String),
}

/// The conditions of a query with their values, in order.
pub(crate) struct RunFilter {
    conditions: String,
    values: Vec<BoundValue>,
}

impl Store {
    /// A page of runs, the newest first. An unreadable cursor begins at the top.
    pub async fn runs(&self, query: &RunQuery) -> Result<RunPage, StoreError> {
        const ACTION: &str = "list the runs";
        let limit = if query.limit == 0 { DEFAULT_LIMIT } else { query.limit };
        let all = RunFilter::of(query);
        let count = all.bind(all.count_sql());
        let page = all.before(query.before.as_deref().and_then(RunCursor::parse));
        let select = page.bind(page.page_sql()).bind(i64::from(limit) + 1);

        let mut rows = self.fetch_rows(ACTION, select).await?;
        let has_more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        // The cursor is readable in every row; a page of unreadable rows must not look like the last page.
        let last: sqlx::Result<Option<RunCursor>> =
            rows.last().filter(|_| has_more).map(decode_row).transpose();
        let last = last.map_err(|source| StoreError::Read { action: ACTION, source })?;
        let runs = rows.iter().filter_map(|row| decode_or_log::<(RunCursor, Run)>(ACTION, row));
        let runs = runs.map(|(_, run)| run).collect();
        let total = self.fetch_or_default("count the runs", count).await?;
        Ok(RunPage { runs, next: last.map(RunCursor::to_text), total })
    }
}

impl RunFilter {
    pub(crate) fn of(query: &RunQuery) -> Self {
        let mut filter = Self { conditions: "true".to_owned(), values: Vec::new() };
        if let Some(job_id) = &query.job_id {
            let job_id = filter.add_text(job_id.as_str());
            filter.require(&format!("job_id = ${job_id}"));
        }
        match query.states.as_slice() {
            [] => {}
            [state] => {
                let state = filter.add_text(state.name());
                filter.require(&format!("state = ${state}"));
            }
            states => filter.require_one_of("state", states.iter().map(|state| state.name())),
        }
        if !query.triggers.is_empty() {
            filter.require_one_of("trigger", query.triggers.iter().map(|trigger| trigger.name()));
        }
        if let Some(from) = query.from {
            let from = filter.add_number(from.0);
            filter.require(&format!("created_at >= ${from}"));
        }
        if let Some(to) = query.to {
            let to = filter.add_number(to.0);
            filter.require(&format!("created_at < ${to}"));
        }
        if let Some(digest) = &query.digest {
            // A digest that another channel took over has an id of its own, and the same message.
            let digest = filter.add_text(digest.message());
            filter.require(&format!("id IN (SELECT run_id FROM outbox WHERE digest = ${digest})"));
        }
        if let Some(text) = query.text.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
            let in_json = json!(text).to_string();
            let row = filter.add_text(&like_pattern(text));
            let json = filter.add_text(&like_pattern(&in_json[1..in_json.len() - 1]));
            filter.require(&run_has_text(row, json));
        }
        filter
    }

    pub(crate) fn before(mut self, cursor: Option<RunCursor>) -> Self {
        if let Some(RunCursor { seq, created_at }) = cursor {
            let (created_at, seq) = (self.add_number(created_at), self.add_number(seq));
            self.require(&format!("(created_at, seq) < (${created_at}, ${seq})"));
        }
        self
    }

    /// The last value is the limit.
    pub(crate) fn page_sql(&self) -> String {
        format!(
            "SELECT seq, created_at, {} FROM runs WHERE seq IN
                (SELECT seq FROM runs WHERE {} ORDER BY created_at DESC, seq DESC LIMIT ${})
             ORDER BY created_at DESC, seq DESC",
            run_columns!(),
            self.conditions,
            self.values.len() + 1
        )
    }

    pub(crate) fn count_sql(&self) -> String {
        let conditions = &self.conditions;
        format!("SELECT count(*) FROM (SELECT 1 FROM runs WHERE {conditions} LIMIT {MAX_COUNTED})")
    }

    /// Adds a condition: text of this file, never a value of a query.
    fn require(&mut self, condition: &str) {
        self.conditions.push_str(" AND ");
        self.conditions.push_str(condition);
    }

    fn require_one_of<'n>(&mut self, column: &str, names: impl Iterator<Item = &'n str>) {
        let names = self.add_text(&json_list(names));
        self.require(&is_in_json_list(column, names));
    }

    /// Adds a value; returns the number of its placeholder.
    fn add_text(&mut self, text: &str) -> usize {
        self.values.push(BoundValue::Text(text.to_owned()));
        self.values.len()
    }

    fn add_number(&mut self, number: i64) -> usize {
        self.values.push(BoundValue::Number(number));
        self.values.len()
    }

    fn bind(&self, sql: String) -> Query {
        self.values.iter().fold(sqlx::query(AssertSqlSafe(sql)), |query, value| match value {
            BoundValue::Number(number) => query.bind(*number),
            BoundValue::Text(text) => query.bind(text.as_str()),
        })
    }
}

/// A position in the order of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunCursor {
    seq: i64,
    created_at: i64,
}

from_columns!(RunCursor: seq, created_at);

impl RunCursor {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (created_at, seq) = text.split_once('.')?;
        Some(Self { seq: seq.parse().ok()?, created_at: created_at.parse().ok()? })
    }

    fn to_text(self) -> String {
        format!("{}.{}", self.created_at, self.seq)
    }
}

/// A LIKE pattern for a text anywhere; `%` and `_` match themselves.
fn like_pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}
