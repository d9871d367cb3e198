//! The row number of SQLite, and the row count of the statement before.
//!
//! Owns the use of both. The number orders rows of the same instant by their insertion. PostgreSQL: an identity column, and
//! one statement with the change as a common table expression.
//! Pitfall: keeping a row number beyond a statement. `VACUUM` may change the numbers of a table without an integer key.

/// The number of a row, in the order of insertion.
macro_rules! row_id {
    () => {
        "rowid"
    };
}
pub(crate) use row_id;

/// The number of rows that the statement before changed.
macro_rules! changed_rows {
    () => {
        "changes()"
    };
}
pub(crate) use changed_rows;
