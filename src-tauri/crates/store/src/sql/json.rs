//! JSON in statements: lists of values, rows of a batch, fields of a document.
//!
//! Owns every JSON function of SQLite as a macro, so that the statements of `tables` and `tx` name none. Each macro is a
//! text for `concat!` and names its counterpart in PostgreSQL, where the columns would be `jsonb`.
//! Pitfall: `->>` of SQLite returns a number for a JSON number; `->>` of PostgreSQL returns a text to cast.

/// `IN` the JSON list that `json_list` binds. PostgreSQL: `= ANY ($1)` with an array.
macro_rules! in_json_list {
    ($list:literal) => {
        concat!("IN (SELECT value FROM json_each(", $list, "))")
    };
}
pub(crate) use in_json_list;

/// Whether a column is in the JSON list of the value with this number, for a text that is built at run time.
pub(crate) fn is_in_json_list(column: &str, number: usize) -> String {
    format!("{column} IN (SELECT value FROM json_each(${number}))")
}

/// The items of a bound JSON list, with the columns `key` and `value`. PostgreSQL:
/// `jsonb_array_elements($1) WITH ORDINALITY AS items (value, key)`.
macro_rules! json_items {
    ($list:literal) => {
        concat!("jsonb_each(", $list, ")")
    };
}
pub(crate) use json_items;

/// The items of a list in a column, with the column `value`. PostgreSQL: `jsonb_array_elements(column -> 'field')`.
macro_rules! json_items_of {
    ($column:literal, $field:literal) => {
        concat!("json_each(", $column, ", '$.", $field, "')")
    };
}
pub(crate) use json_items_of;

/// The rows of a bound JSON list of lists: `position`, and a named column for each index. PostgreSQL: `value ->> 0`
/// and so on from `jsonb_array_elements($1) WITH ORDINALITY`, with casts.
macro_rules! json_rows {
    ($list:literal: $($index:literal => $column:literal),+) => {
        concat!(
            "(SELECT key AS position",
            $(", value ->> ", $index, " AS ", $column,)+
            " FROM jsonb_each(",
            $list,
            "))"
        )
    };
}
pub(crate) use json_rows;

/// A field of a document as an SQL value; fields of fields are separated by dots. PostgreSQL: `column #>> '{field}'`.
macro_rules! json_text {
    ($column:literal, $field:literal) => {
        concat!($column, " ->> '$.", $field, "'")
    };
}
pub(crate) use json_text;

/// Whether a field of a document is true. PostgreSQL: `column -> 'field' = 'true'`.
macro_rules! json_is_true {
    ($column:literal, $field:literal) => {
        concat!($column, " ->> '$.", $field, "' = 1")
    };
}
pub(crate) use json_is_true;

/// A field of a document as JSON. PostgreSQL: `column -> 'field'`.
macro_rules! json_part {
    ($column:literal, $field:literal) => {
        concat!($column, " -> '$.", $field, "'")
    };
}
pub(crate) use json_part;

/// An expression on a column that may hold invalid JSON; NULL if it does. PostgreSQL: `column IS JSON`, or no condition
/// on a `jsonb` column.
macro_rules! if_valid_json {
    ($column:literal, $expression:expr) => {
        concat!("CASE WHEN json_valid(", $column, ") THEN ", $expression, " END")
    };
}
pub(crate) use if_valid_json;

/// A JSON list of these expressions, separated by commas. PostgreSQL: `jsonb_build_array(…)`.
macro_rules! json_array {
    ($expressions:expr) => {
        concat!("json_array(", $expressions, ")")
    };
}
pub(crate) use json_array;

/// A JSON text as JSON, for `json_array`. PostgreSQL: a cast to `jsonb`.
macro_rules! json_value {
    ($expression:expr) => {
        concat!("json(", $expression, ")")
    };
}
pub(crate) use json_value;

/// One JSON list of an expression in all rows. PostgreSQL: `jsonb_agg(expression)`.
macro_rules! json_array_of {
    ($expression:expr) => {
        concat!("json_group_array(", $expression, ")")
    };
}
pub(crate) use json_array_of;

/// A document with a field set to a bound JSON text. PostgreSQL: `jsonb_set(column, '{field}', $1)`.
macro_rules! json_with_field {
    ($column:literal, $field:literal, $value:literal) => {
        concat!("json_set(", $column, ", '$.", $field, "', json(", $value, "))")
    };
}
pub(crate) use json_with_field;

/// A list with a bound value added; the column may be NULL. PostgreSQL: `coalesce(column, '[]') || to_jsonb($1)`.
macro_rules! json_append {
    ($column:literal, $value:literal) => {
        concat!("json_insert(coalesce(", $column, ", '[]'), '$[#]', ", $value, ")")
    };
}
pub(crate) use json_append;
