//! Statements that go to the thread of the connection together.
//!
//! Owns the joining of their texts and values. The connection lives in a thread of its own, and each walk there and back
//! wakes two threads; a slot that is claimed statement by statement waits longer for those than for the disk. The values
//! of joined statements are numbered through: `?2` of the second of two statements with three values each is `$5` of the
//! whole. It refuses to choose: whatever depends on an answer belongs into the next walk. What may be demanded of an answer is
//! how many rows it has changed; a walk in which that is not so fails on the spot. One could get it wrong by joining
//! many rows: each mixture of sizes would be a text of its own, to be prepared and kept.

use std::fmt::Write as _;

use futures_util::TryStreamExt as _;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteQueryResult, SqliteRow};
use sqlx::{AssertSqlSafe, Either, Execute as _, Executor as _};

use crate::answer_wait::answer;
use crate::many::Rows;
use crate::write::Query;

/// Values of one walk: a statement that would bring more begins the next.
const VALUES: usize = 512;

/// Fails unless the statement before it has changed so many rows: a setting without a name is refused.
const DEMAND: &str = "INSERT INTO settings (key, value) SELECT NULL, NULL WHERE changes() <> ?1";
/// What SQLite calls that (`SQLITE_CONSTRAINT_NOTNULL`).
pub(crate) const UNMET: i64 = 1299;

/// Statements in their order.
#[derive(Default)]
pub(crate) struct Walk {
    parts: Vec<Part>,
}

/// Statements of one text.
pub(crate) struct Part {
    text: String,
    values: Query,
    taken: usize,
    statements: usize,
}

/// What one statement did.
#[derive(Default)]
pub(crate) struct Done {
    /// The rows that it answered.
    pub(crate) rows: Vec<SqliteRow>,
    /// What it changed.
    pub(crate) result: SqliteQueryResult,
}

/// How many rows these have changed.
pub(crate) fn changed(done: &[Done]) -> u64 {
    done.iter().map(|done| done.result.rows_affected()).sum()
}

impl Walk {
    /// A walk for one statement.
    pub(crate) fn of(query: Query) -> sqlx::Result<Self> {
        Ok(Self { parts: vec![Part::of(query)?] })
    }

    /// Adds a statement, which is one.
    pub(crate) fn add(&mut self, sql: &str, bind: impl FnOnce(Query) -> Query) {
        debug_assert!(!sql.contains(';'), "more than one statement: {sql}");
        let taken = count(sql);
        match self.parts.last_mut().filter(|part| part.taken + taken <= VALUES) {
            Some(part) => part.join(sql, taken, bind),
            None => self.parts.push(Part::new(sql.to_owned(), bind(nothing()), taken)),
        }
    }

    /// Adds a statement for all `rows`, in their order; answers how many it is in truth.
    pub(crate) fn add_rows<T>(
        &mut self,
        statement: &'static Rows,
        rows: &[T],
        bind: impl Fn(Query, &T) -> Query,
    ) -> usize {
        let parts = statement.of(rows);
        let statements = parts.len();
        for (text, rows) in parts {
            self.add(text, |values| rows.iter().fold(values, &bind));
        }
        statements
    }

    /// The same, where the walk fails with an unmet demand unless each of the rows changes one.
    pub(crate) fn demand_rows<T>(
        &mut self,
        statement: &'static Rows,
        rows: &[T],
        bind: impl Fn(Query, &T) -> Query,
    ) {
        for (text, rows) in statement.of(rows) {
            self.add(text, |values| rows.iter().fold(values, &bind));
            let changes = i64::try_from(rows.len()).expect("BUG: more rows than fit");
            self.add(DEMAND, |values| values.bind(changes));
        }
    }

    /// How many statements it has.
    pub(crate) fn statements(&self) -> usize {
        self.parts.iter().map(|part| part.statements).sum()
    }

    pub(crate) fn into_parts(self) -> Vec<Part> {
        self.parts
    }
}

impl Part {
    fn of(mut query: Query) -> sqlx::Result<Self> {
        let arguments = query.take_arguments().map_err(sqlx::Error::Encode)?.unwrap_or_default();
        let text = query.sql().as_str().to_owned();
        let taken = count(&text);
        Ok(Self::new(text, with(String::new(), arguments), taken))
    }

    const fn new(text: String, values: Query, taken: usize) -> Self {
        Self { text, values, taken, statements: 1 }
    }

    fn join(&mut self, sql: &str, taken: usize, bind: impl FnOnce(Query) -> Query) {
        self.text.push(';');
        renumber(sql, self.taken, &mut self.text);
        self.values = bind(std::mem::replace(&mut self.values, nothing()));
        self.taken += taken;
        self.statements += 1;
    }

    /// Carries them out after the statements of `opening`, which take no values; answers what each of both has done, up to
    /// the one that failed.
    pub(crate) async fn go(
        mut self,
        (opening, opened): (&'static str, usize),
        connection: &mut SqliteConnection,
    ) -> (Vec<Done>, sqlx::Result<()>) {
        let mut done = Vec::new();
        if !opening.is_empty() {
            self.text.insert_str(0, opening);
        }
        let arguments = match self.values.take_arguments() {
            Ok(arguments) => arguments.unwrap_or_default(),
            Err(error) => return (done, Err(sqlx::Error::Encode(error))),
        };
        let statements = opened + self.statements;
        let failed = collect(connection, with(self.text, arguments), statements, &mut done).await;
        (done, failed)
    }
}

async fn collect(
    connection: &mut SqliteConnection,
    query: Query,
    statements: usize,
    done: &mut Vec<Done>,
) -> sqlx::Result<()> {
    let mut answers = connection.fetch_many(query);
    let mut rows = Vec::new();
    // Nothing comes after the last statement, and its end is not waited for.
    while done.len() < statements
        && let Some(next) = answer(answers.try_next()).await?
    {
        match next {
            Either::Right(row) => rows.push(row),
            Either::Left(result) => done.push(Done { rows: std::mem::take(&mut rows), result }),
        }
    }
    Ok(())
}

fn with(text: String, arguments: SqliteArguments) -> Query {
    sqlx::query_with(AssertSqlSafe(text), arguments)
}

fn nothing() -> Query {
    sqlx::query("")
}

/// How many values a statement takes: its highest number, or as many as it has places.
fn count(sql: &str) -> usize {
    let mut highest = 0;
    for (number, _) in places(sql) {
        highest = number.unwrap_or(highest + 1).max(highest);
    }
    highest
}

/// Writes a statement with its values numbered from `after` + 1 on. `$7` is the name of a value; with `?7` SQLite would
/// wait for six more.
fn renumber(sql: &str, after: usize, into: &mut String) {
    into.push_str(sql.split('?').next().unwrap_or_default());
    let mut highest = 0;
    for (number, rest) in places(sql) {
        let number = number.unwrap_or(highest + 1);
        highest = highest.max(number);
        write!(into, "${}{rest}", number + after).expect("BUG: a text cannot be written to");
    }
}

/// The places of values: the number of each that has one, and the text up to the next.
fn places(sql: &str) -> impl Iterator<Item = (Option<usize>, &str)> {
    sql.split('?').skip(1).map(|piece| {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit());
        (piece[..piece.len() - rest.len()].parse().ok(), rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renumbered(sql: &str, after: usize) -> String {
        let mut text = String::new();
        renumber(sql, after, &mut text);
        text
    }

    #[test]
    fn the_values_of_joined_statements_are_numbered_through() {
        assert_eq!(
            renumbered("UPDATE t SET a = ?2 WHERE b = ?1", 0),
            "UPDATE t SET a = $2 WHERE b = $1"
        );
        assert_eq!(renumbered("VALUES (?,?), (?,?)", 3), "VALUES ($4,$5), ($6,$7)");
        assert_eq!(renumbered("a = ?12 AND b = ?12", 100), "a = $112 AND b = $112");
        assert_eq!(renumbered("COMMIT", 5), "COMMIT");
        assert_eq!(count("a = ?2 AND b = ?1 AND c = ?2"), 2);
        assert_eq!(count("VALUES (?,?), (?,?)"), 4);
        assert_eq!(count("COMMIT"), 0);
    }

    #[test]
    fn a_statement_that_would_bring_too_many_values_begins_the_next_text() {
        let many = format!("SELECT {}", vec!["?"; VALUES].join(","));
        let mut walk = Walk::default();
        for sql in ["SELECT ?1", "SELECT ?1", &many, "SELECT 1", "SELECT ?1"] {
            walk.add(sql, |values| values);
        }
        let taken: Vec<usize> = walk.into_parts().iter().map(|part| part.taken).collect();
        assert_eq!(taken, [2, VALUES, 1]);
    }
}
