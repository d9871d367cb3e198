//! Reading rows, column by column, and handing many rows to one statement.
//!
//! Owns the translation of single values. Columns are read in the order in which the statement
//! names them: a name per value would cost a hash for each of a hundred thousand values. One could
//! get this wrong by adding a column to a list of columns and not to the function that reads it;
//! every such pair stands side by side in its table's file.
//!
//! A row of a list that cannot be read is left out and told once: whatever wrote it, it must not take the others with it.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use rouse_core::UnixMs;
use rouse_core::naming::{for_log, of_unread};
use rouse_core::run::Usage;
use serde_json::Value;
use sqlx::sqlite::{Sqlite, SqliteRow};
use sqlx::{Decode, Row as _, Type};

use crate::write::Query;
use crate::{Store, StoreError};

/// The columns of a row, one after the other.
pub(crate) struct Columns<'r> {
    row: &'r SqliteRow,
    next: usize,
}

impl<'r> Columns<'r> {
    pub(crate) const fn of(row: &'r SqliteRow) -> Self {
        Self::after(row, 0)
    }

    /// The columns from number `next` on.
    pub(crate) const fn after(row: &'r SqliteRow, next: usize) -> Self {
        Self { row, next }
    }

    /// The next column as SQLite has it.
    pub(crate) fn get<T: Decode<'r, Sqlite> + Type<Sqlite>>(&mut self) -> sqlx::Result<T> {
        self.next += 1;
        self.row.try_get(self.next - 1)
    }

    pub(crate) fn instant(&mut self) -> sqlx::Result<UnixMs> {
        self.get().map(UnixMs)
    }

    pub(crate) fn some_instant(&mut self) -> sqlx::Result<Option<UnixMs>> {
        Ok(self.get::<Option<i64>>()?.map(UnixMs))
    }

    /// A text wrapped into an id.
    pub(crate) fn id<T>(&mut self, wrap: impl Fn(String) -> T) -> sqlx::Result<T> {
        self.get().map(wrap)
    }

    pub(crate) fn some_id<T>(&mut self, wrap: impl Fn(String) -> T) -> sqlx::Result<Option<T>> {
        Ok(self.get::<Option<String>>()?.map(wrap))
    }

    /// A count; a negative one can only come from outside and reads as none.
    pub(crate) fn count(&mut self) -> sqlx::Result<u32> {
        Ok(u32::try_from(self.get::<i64>()?.max(0)).unwrap_or(u32::MAX))
    }

    /// A count that is absent where nothing was counted.
    pub(crate) fn some_count(&mut self) -> sqlx::Result<u32> {
        let count = self.get::<Option<i64>>()?.unwrap_or(0);
        Ok(u32::try_from(count.max(0)).unwrap_or(u32::MAX))
    }

    /// A word of a closed set.
    pub(crate) fn word<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> sqlx::Result<T> {
        known(self.get()?, read)
    }

    pub(crate) fn some_word<T>(
        &mut self,
        read: impl Fn(&str) -> Option<T>,
    ) -> sqlx::Result<Option<T>> {
        self.get::<Option<&str>>()?.map(|word| known(word, read)).transpose()
    }

    pub(crate) fn json(&mut self) -> sqlx::Result<Value> {
        json(self.get()?)
    }

    pub(crate) fn some_json(&mut self) -> sqlx::Result<Option<Value>> {
        self.get::<Option<&str>>()?.map(json).transpose()
    }

    /// Four columns: tokens in, cached, out, and cost.
    pub(crate) fn usage(&mut self) -> sqlx::Result<Usage> {
        let unsigned = |number: i64| u64::try_from(number).unwrap_or(0);
        Ok(Usage {
            input_tokens: unsigned(self.get()?),
            cached_input_tokens: unsigned(self.get()?),
            output_tokens: unsigned(self.get()?),
            cost_micro_usd: self.get::<Option<i64>>()?.map(unsigned),
            ..Usage::NONE
        })
    }
}

impl Store {
    /// Reads all rows of a statement but those that cannot be read; `what` names it in errors.
    pub(crate) async fn list<T>(
        &self,
        what: &'static str,
        query: Query,
        read: impl Fn(&SqliteRow) -> sqlx::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.rows(what, query).await?;
        Ok(rows.iter().filter_map(|row| readable(what, row, &read)).collect())
    }

    /// Reads all rows of a statement, or none: where a row that is left out would be taken for one that never was.
    pub(crate) async fn whole<T>(
        &self,
        what: &'static str,
        query: Query,
        read: impl Fn(&SqliteRow) -> sqlx::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.rows(what, query).await?;
        let rows: sqlx::Result<Vec<T>> = rows.iter().map(read).collect();
        rows.map_err(|source| StoreError::Read { what, source })
    }

    async fn rows(&self, what: &'static str, query: Query) -> Result<Vec<SqliteRow>, StoreError> {
        self.all_rows(query).await.map_err(|source| StoreError::Read { what, source })
    }

    /// Reads the first row of a statement.
    pub(crate) async fn one<T>(
        &self,
        what: &'static str,
        query: Query,
        read: impl Fn(&SqliteRow) -> sqlx::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let row = self.first_row(query).await;
        row.and_then(|row| row.as_ref().map(read).transpose())
            .map_err(|source| StoreError::Read { what, source })
    }
}

/// What the log calls a job of this name (that in its definition when none), as far as that can be read.
pub(crate) fn name_for_log(name: Option<&str>, definition: &str, id: &str) -> String {
    // silent-ok: it is only said beside what is wrong.
    let document: Value = serde_json::from_str(definition).unwrap_or_default();
    match name.or_else(|| document["name"].as_str()) {
        Some(name) => called(name, &document["payload"], id),
        None => of_unread(id),
    }
}

/// What the log calls the job `id`, which does this. Where nobody can read that, its name may be made of it.
fn called(name: &str, payload: &Value, id: &str) -> String {
    if payload.is_object() { for_log(name, payload, id) } else { of_unread(id) }
}

/// A row of a list, unless it cannot be read.
pub(crate) fn readable<T>(
    what: &str,
    row: &SqliteRow,
    read: impl FnOnce(&SqliteRow) -> sqlx::Result<T>,
) -> Option<T> {
    match read(row) {
        Ok(value) => Some(value),
        Err(error) => {
            let text = |column: &str| row.try_get::<Option<String>, _>(column).ok().flatten();
            let id = text("id").unwrap_or_else(|| "without an id".to_owned());
            if is_news(&format!("{what} {id}")) {
                // Of a run, and of a job.
                let (of_run, of_job) = (text("job_name"), text("definition"));
                let run_id = of_run.as_ref().map(|_| id.as_str());
                let job_id = text("job_id").or_else(|| of_job.as_ref().map(|_| id.clone()));
                let name = match (of_run, &job_id) {
                    (Some(name), Some(job)) => {
                        // silent-ok: what cannot be read is no name.
                        let payload = text("payload").unwrap_or_default();
                        Some(called(
                            &name,
                            &serde_json::from_str(&payload).unwrap_or_default(),
                            job,
                        ))
                    }
                    (None, _) => of_job.map(|definition| name_for_log(None, &definition, &id)),
                    (name, None) => name,
                };
                tracing::error!(job_id, run_id, name, id, %error, "a row is left out, it cannot be read ({what})");
            }
            None
        }
    }
}

/// Whether a broken row was not told yet in this process: lists are read again and again.
pub(crate) fn is_news(about: &str) -> bool {
    const MOST: usize = 1_000;
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    told.len() < MOST && told.insert(about.to_owned())
}

/// Binds the four columns that `Columns::usage` reads.
pub(crate) fn bind_usage(query: Query, usage: Usage) -> Query {
    query
        .bind(signed(usage.input_tokens))
        .bind(signed(usage.cached_input_tokens))
        .bind(signed(usage.output_tokens))
        .bind(usage.cost_micro_usd.map(signed))
}

/// SQLite has signed numbers only; no count of tokens comes near their end.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A list of texts for `json_each`: one statement for any number of them.
pub(crate) fn json_list<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    Value::Array(texts.into_iter().map(Value::from).collect()).to_string()
}

fn known<T>(word: &str, read: impl Fn(&str) -> Option<T>) -> sqlx::Result<T> {
    read(word).ok_or_else(|| sqlx::Error::Decode(format!("unknown word `{word}`").into()))
}

fn json(text: &str) -> sqlx::Result<Value> {
    serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(error.into()))
}

#[cfg(test)]
mod tests {
    use super::name_for_log;

    #[test]
    fn a_name_that_may_be_made_of_what_nobody_can_read_is_not_logged() {
        let named = |definition: &str| name_for_log(Some("Ask Anna"), definition, "0123456789");
        for definition in ["garbled", "{}", r#"{"payload": 5}"#] {
            assert_eq!(named(definition), "job 01234567", "{definition}");
        }
        let given = r#"{"payload": {"kind": "agentTurn", "message": "Look."}}"#;
        assert_eq!(named(given), "Ask Anna");
        let made = r#"{"payload": {"kind": "agentTurn", "message": "ask Anna"}}"#;
        assert_eq!(named(made), "agent job 01234567");
    }
}
