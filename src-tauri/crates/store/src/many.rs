//! Many rows in few statements.
//!
//! Owns the shape of a statement that takes its rows as `VALUES`: one text for a single row and one for a handful, each
//! prepared once. Ten thousand rows are some hundred statements; a statement per row would cost a walk to the thread of
//! the connection and back for each, and rows inside one JSON text a search for each of their values. One could get
//! this wrong by making a statement for every number of rows: each would have to be prepared, and would be kept.

use std::sync::OnceLock;

use sqlx::sqlite::SqliteQueryResult;

use crate::StoreError;
use crate::write::{Query, Write};

/// Rows of one statement. The values of more of them would take more memory than they save time.
pub(crate) const HANDFUL: usize = 32;

/// A statement around `VALUES`, whose columns are `column1` and so on.
pub(crate) struct Rows {
    before: &'static str,
    columns: usize,
    after: &'static str,
    one: OnceLock<String>,
    handful: OnceLock<String>,
}

impl Rows {
    pub(crate) const fn new(before: &'static str, columns: usize, after: &'static str) -> Self {
        Self { before, columns, after, one: OnceLock::new(), handful: OnceLock::new() }
    }

    /// The statement for one row.
    pub(crate) fn one(&self) -> &str {
        self.one.get_or_init(|| self.text(1))
    }

    /// The statement for `HANDFUL` rows.
    pub(crate) fn handful(&self) -> &str {
        self.handful.get_or_init(|| self.text(HANDFUL))
    }

    fn text(&self, rows: usize) -> String {
        let row = format!("({})", vec!["?"; self.columns].join(","));
        format!("{} VALUES {} {}", self.before, vec![row; rows].join(","), self.after)
    }
}

impl Write {
    /// Runs a statement for all `rows`, in their order; answers the sum of what it did.
    pub(crate) async fn rows<T: Sync>(
        &mut self,
        statement: &'static Rows,
        rows: &[T],
        bind: impl Fn(Query, &T) -> Query,
    ) -> Result<SqliteQueryResult, StoreError> {
        let mut done = SqliteQueryResult::default();
        let handfuls = rows.chunks_exact(HANDFUL);
        let rest = handfuls.remainder();
        for handful in handfuls {
            let query = handful.iter().fold(sqlx::query(statement.handful()), &bind);
            done.extend([self.run(query).await?]);
        }
        for row in rest {
            done.extend([self.run(bind(sqlx::query(statement.one()), row)).await?]);
        }
        Ok(done)
    }
}
