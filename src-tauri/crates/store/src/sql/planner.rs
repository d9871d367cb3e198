//! Hints for the query planner.
//!
//! Owns the hints that keep SQLite on the right index; `tests::query_plans` shows their effect. PostgreSQL plans from
//! statistics and needs none: there, a macro is the table or the column alone.
//! Pitfall: a hint that names an index whose condition the statement does not repeat is an error, not a slow query.

/// A table that must be read by this index.
macro_rules! by_index {
    ($table:literal, $index:literal) => {
        concat!($table, " INDEXED BY ", $index)
    };
}
pub(crate) use by_index;

/// A column that must not choose the index. In SQLite the `+` changes no value.
macro_rules! unindexed {
    ($column:literal) => {
        concat!("+", $column)
    };
}
pub(crate) use unindexed;
