//! Queries on the reading connections.
//!
//! Owns the borrowing of a reader. `action` names the query in errors: "cannot {action}".

use sqlx::Sqlite;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::SqliteRow;

use super::batch::{Batch, Query};
use super::connection::Store;
use super::error::StoreError;
use super::reply::{await_reply, is_blocking};
use super::row::{FromColumns, RowReader};
use super::unreadable_row::decode_or_log;

impl Store {
    /// All rows that can be decoded.
    pub(crate) async fn fetch_all<T: for<'r> FromColumns<'r>>(
        &self,
        action: &'static str,
        query: Query,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.fetch_rows(action, query).await?;
        Ok(rows.iter().filter_map(|row| decode_or_log(action, row)).collect())
    }

    /// All rows; fails if any row cannot be decoded. For callers that must not overlook a row.
    pub(crate) async fn fetch_complete<T: for<'r> FromColumns<'r>>(
        &self,
        action: &'static str,
        query: Query,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.fetch_rows(action, query).await?;
        let decoded: sqlx::Result<_> = rows.iter().map(|row| RowReader::of(row).read()).collect();
        decoded.map_err(|source| StoreError::Read { action, source })
    }

    /// The first row.
    pub(crate) async fn fetch_optional<T: for<'r> FromColumns<'r>>(
        &self,
        action: &'static str,
        query: Query,
    ) -> Result<Option<T>, StoreError> {
        let row = self.fetch_first(query).await;
        row.and_then(|row| row.map(|row| RowReader::of(&row).read()).transpose())
            .map_err(|source| StoreError::Read { action, source })
    }

    /// The first row, or the default without any.
    pub(crate) async fn fetch_or_default<T: for<'r> FromColumns<'r> + Default>(
        &self,
        action: &'static str,
        query: Query,
    ) -> Result<T, StoreError> {
        Ok(self.fetch_optional(action, query).await?.unwrap_or_default())
    }

    /// Whether there is a row.
    pub(crate) async fn exists(
        &self,
        action: &'static str,
        query: Query,
    ) -> Result<bool, StoreError> {
        Ok(self.fetch_optional::<()>(action, query).await?.is_some())
    }

    /// All rows, not decoded.
    pub(crate) async fn fetch_rows(
        &self,
        action: &'static str,
        query: Query,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        let fetch = async {
            let mut reader = self.reader().await?;
            let rows = await_reply(query.fetch_all(&mut *reader)).await;
            return_reader(reader).await;
            rows
        };
        fetch.await.map_err(|source| StoreError::Read { action, source })
    }

    async fn fetch_first(&self, query: Query) -> sqlx::Result<Option<SqliteRow>> {
        let mut reader = self.reader().await?;
        let row = await_reply(query.fetch_optional(&mut *reader)).await;
        return_reader(reader).await;
        row
    }

    /// The rows of each statement of a batch, from the same reader.
    pub(crate) async fn fetch_batch(&self, batch: Batch) -> sqlx::Result<Vec<Vec<SqliteRow>>> {
        let mut reader = self.reader().await?;
        let mut rows = Vec::with_capacity(batch.statement_count());
        let mut outcome = Ok(());
        for part in batch.into_parts() {
            let (results, result) = part.execute("", 0, &mut reader).await;
            rows.extend(results.into_iter().map(|result| result.rows));
            outcome = outcome.and(result);
        }
        return_reader(reader).await;
        outcome.map(|()| rows)
    }

    async fn reader(&self) -> sqlx::Result<PoolConnection<Sqlite>> {
        let acquire = self.readers.acquire();
        // A thread that blocks has returned every other reader.
        if is_blocking() { await_reply(acquire).await } else { acquire.await }
    }
}

/// The pool takes a reader back in a separate task, so that no caller waits. A blocking thread returns the reader at once.
async fn return_reader(mut reader: PoolConnection<Sqlite>) {
    if is_blocking() {
        await_reply(reader.return_to_pool()).await;
    }
}
