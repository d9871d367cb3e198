//! Order and bounds of values.
//!
//! Owns the expressions of the index `jobs_listed`, which must be worded as in the migration, and bounds that keep NULL: `min` of
//! two values is SQLite's own, and `least` of PostgreSQL ignores NULL.

/// A time for ordering, with NULL last. PostgreSQL: `coalesce`, with an index on that expression.
macro_rules! nulls_last {
    ($column:literal) => {
        concat!("ifnull(", $column, ", 9223372036854775807)")
    };
}
pub(crate) use nulls_last;

/// A text for ordering without regard to ASCII case. PostgreSQL: `lower(column)`.
macro_rules! ignore_case {
    ($column:literal) => {
        concat!($column, " COLLATE NOCASE")
    };
}
pub(crate) use ignore_case;

/// A value, at most `$bound`; NULL stays NULL.
macro_rules! at_most {
    ($value:literal, $bound:literal) => {
        concat!("CASE WHEN ", $value, " > ", $bound, " THEN ", $bound, " ELSE ", $value, " END")
    };
}
pub(crate) use at_most;

/// A value, at least `$bound`; NULL stays NULL.
macro_rules! at_least {
    ($value:literal, $bound:literal) => {
        concat!("CASE WHEN ", $value, " < ", $bound, " THEN ", $bound, " ELSE ", $value, " END")
    };
}
pub(crate) use at_least;
