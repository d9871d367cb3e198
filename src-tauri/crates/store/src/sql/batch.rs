//! Batches: statements that go to the connection's thread together.
//!
//! Owns the joining of statements and their values. Each round trip to the thread wakes two threads; a claim of single
//! statements would wait longer for round trips than for the disk. Values of joined statements are renumbered: `$2` of
//! the second of two statements with three values each is `$5` of the text. Never branches: a statement that depends on a
//! result belongs into the next batch. A batch may state how many rows a statement must change, and fails otherwise.
//! Pitfall: joining many row counts; each mixture would be another text to prepare and cache.

use std::fmt::Write as _;

use futures_util::TryStreamExt as _;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Either, Execute as _, Executor as _, Sqlite};

use super::multi_row::MultiRowSql;
use super::reply::await_reply;
use super::row_number::changed_rows;

/// A statement with its values.
pub(crate) type Query = sqlx::query::Query<'static, Sqlite, SqliteArguments>;

/// Maximum values of a text: a statement beyond it begins the next text.
const MAX_VALUES: usize = 512;

/// Fails unless the statement before changed that many rows: `settings.key` is NOT NULL. See
/// [`StoreError::is_unmet_expectation`](super::StoreError).
const EXPECT_CHANGES: &str = concat!(
    "INSERT INTO settings (key, value) SELECT NULL, NULL WHERE ",
    changed_rows!(),
    " <> $1"
);

/// Statements in order.
#[derive(Default)]
pub(crate) struct Batch {
    parts: Vec<BatchPart>,
}

/// Statements joined into one text.
pub(crate) struct BatchPart {
    text: String,
    values: Query,
    value_count: usize,
    statements: usize,
}

/// The result of one statement.
#[derive(Default)]
pub(crate) struct StatementResult {
    pub(crate) rows: Vec<SqliteRow>,
    pub(crate) rows_affected: u64,
    pub(crate) last_insert_rowid: i64,
}

pub(crate) fn total_rows_affected(results: &[StatementResult]) -> u64 {
    results.iter().map(|result| result.rows_affected).sum()
}

impl Batch {
    /// A batch of one statement.
    pub(crate) fn of(query: Query) -> sqlx::Result<Self> {
        Ok(Self { parts: vec![BatchPart::of(query)?] })
    }

    /// Adds a statement.
    pub(crate) fn add(&mut self, sql: &str, bind: impl FnOnce(Query) -> Query) {
        debug_assert!(!sql.contains(';'), "more than one statement: {sql}");
        debug_assert!(!sql.contains("?1"), "a placeholder other than `$1`: {sql}");
        let value_count = count_values(sql);
        match self.parts.last_mut().filter(|part| part.value_count + value_count <= MAX_VALUES) {
            Some(part) => part.join(sql, value_count, bind),
            None => self.parts.push(BatchPart::new(sql.to_owned(), bind(no_values()), value_count)),
        }
    }

    /// Adds the statements for all `rows`, in order; returns their number.
    pub(crate) fn add_rows<T>(
        &mut self,
        sql: &'static MultiRowSql,
        rows: &[T],
        bind: impl Fn(Query, &T) -> Query,
    ) -> usize {
        let statements = sql.split(rows);
        let count = statements.len();
        for (text, rows) in statements {
            self.add(text, |values| rows.iter().fold(values, &bind));
        }
        count
    }

    /// Adds the statements for all `rows`; the batch fails unless each row changes one row of the table.
    pub(crate) fn expect_rows<T>(
        &mut self,
        sql: &'static MultiRowSql,
        rows: &[T],
        bind: impl Fn(Query, &T) -> Query,
    ) {
        for (text, rows) in sql.split(rows) {
            self.add(text, |values| rows.iter().fold(values, &bind));
            let changes = i64::try_from(rows.len()).expect("BUG: more rows than fit");
            self.add(EXPECT_CHANGES, |values| values.bind(changes));
        }
    }

    pub(crate) fn statement_count(&self) -> usize {
        self.parts.iter().map(|part| part.statements).sum()
    }

    pub(super) fn into_parts(self) -> Vec<BatchPart> {
        self.parts
    }
}

impl BatchPart {
    fn of(mut query: Query) -> sqlx::Result<Self> {
        let arguments = query.take_arguments().map_err(sqlx::Error::Encode)?.unwrap_or_default();
        let text = query.sql().as_str().to_owned();
        let value_count = count_values(&text);
        Ok(Self::new(text, query_with(String::new(), arguments), value_count))
    }

    const fn new(text: String, values: Query, value_count: usize) -> Self {
        Self { text, values, value_count, statements: 1 }
    }

    fn join(&mut self, sql: &str, value_count: usize, bind: impl FnOnce(Query) -> Query) {
        self.text.push(';');
        renumber(sql, self.value_count, &mut self.text);
        self.values = bind(std::mem::replace(&mut self.values, no_values()));
        self.value_count += value_count;
        self.statements += 1;
    }

    /// Executes the part after `prefix`, which has `prefix_statements` statements without values. Returns the results up to
    /// the first statement that failed.
    pub(super) async fn execute(
        mut self,
        prefix: &str,
        prefix_statements: usize,
        connection: &mut SqliteConnection,
    ) -> (Vec<StatementResult>, sqlx::Result<()>) {
        let mut results = Vec::new();
        self.text.insert_str(0, prefix);
        let arguments = match self.values.take_arguments() {
            Ok(arguments) => arguments.unwrap_or_default(),
            Err(error) => return (results, Err(sqlx::Error::Encode(error))),
        };
        let statements = prefix_statements + self.statements;
        let query = query_with(self.text, arguments);
        let outcome = collect_results(connection, query, statements, &mut results).await;
        (results, outcome)
    }
}

async fn collect_results(
    connection: &mut SqliteConnection,
    query: Query,
    statements: usize,
    results: &mut Vec<StatementResult>,
) -> sqlx::Result<()> {
    let mut replies = connection.fetch_many(query);
    let mut rows = Vec::new();
    // Nothing follows the last statement, so the end of the stream is not awaited.
    while results.len() < statements
        && let Some(reply) = await_reply(replies.try_next()).await?
    {
        match reply {
            Either::Right(row) => rows.push(row),
            Either::Left(done) => results.push(StatementResult {
                rows: std::mem::take(&mut rows),
                rows_affected: done.rows_affected(),
                last_insert_rowid: done.last_insert_rowid(),
            }),
        }
    }
    Ok(())
}

fn query_with(text: String, arguments: SqliteArguments) -> Query {
    sqlx::query_with(AssertSqlSafe(text), arguments)
}

fn no_values() -> Query {
    sqlx::query("")
}

/// The number of values of a statement: its highest placeholder number, or its number of `?`.
fn count_values(sql: &str) -> usize {
    let sign = placeholder_sign(sql);
    let numbers = placeholders(sql, sign).filter_map(|(number, _)| number);
    if sign == '?' { sql.matches('?').count() } else { numbers.max().unwrap_or(0) }
}

/// Appends a statement whose values are numbered from `offset` + 1.
fn renumber(sql: &str, offset: usize, into: &mut String) {
    let sign = placeholder_sign(sql);
    into.push_str(sql.split(sign).next().unwrap_or_default());
    for (at, (number, rest)) in (1..).zip(placeholders(sql, sign)) {
        into.push('$');
        let number = if sign == '?' { Some(at) } else { number };
        if let Some(number) = number {
            write!(into, "{}", number + offset).expect("BUG: a text cannot be written to");
        }
        into.push_str(rest);
    }
}

/// `MultiRowSql` writes `?`, the other statements write `$1`.
fn placeholder_sign(sql: &str) -> char {
    if sql.contains('?') { '?' } else { '$' }
}

/// The number after each sign, and the text up to the next sign. A `$` without a number begins a JSON path.
fn placeholders(sql: &str, sign: char) -> impl Iterator<Item = (Option<usize>, &str)> {
    sql.split(sign).skip(1).map(|piece| {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit());
        // silent-ok: no number follows `?` or the `$` of a JSON path.
        (piece[..piece.len() - rest.len()].parse().ok(), rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renumbered(sql: &str, offset: usize) -> String {
        let mut text = String::new();
        renumber(sql, offset, &mut text);
        text
    }

    #[test]
    fn joined_statements_have_consecutive_values() {
        assert_eq!(
            renumbered("UPDATE t SET a = $2 WHERE b = $1", 0),
            "UPDATE t SET a = $2 WHERE b = $1"
        );
        assert_eq!(renumbered("VALUES (?,?), (?,?)", 3), "VALUES ($4,$5), ($6,$7)");
        assert_eq!(renumbered("a = $12 AND b = $12", 100), "a = $112 AND b = $112");
        assert_eq!(renumbered("a ->> '$.b' = $1", 1), "a ->> '$.b' = $2");
        assert_eq!(renumbered("COMMIT", 5), "COMMIT");
        assert_eq!(count_values("a = $2 AND b = $1 AND c = $2"), 2);
        assert_eq!(count_values("a ->> '$.b' = $1"), 1);
        assert_eq!(count_values("VALUES (?,?), (?,?)"), 4);
        assert_eq!(count_values("COMMIT"), 0);
    }

    #[test]
    fn statement_over_the_value_limit_begins_a_new_text() {
        let many = format!("SELECT {}", vec!["?"; MAX_VALUES].join(","));
        let mut batch = Batch::default();
        for sql in ["SELECT $1", "SELECT $1", &many, "SELECT 1", "SELECT $1"] {
            batch.add(sql, |values| values);
        }
        let counts: Vec<usize> = batch.into_parts().iter().map(|part| part.value_count).collect();
        assert_eq!(counts, [2, MAX_VALUES, 1]);
    }
}
