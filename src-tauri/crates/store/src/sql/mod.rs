//! The database file and its connections, below every table.
//!
//! Owns opening, migrations, the writer, the readers, transactions, batches, row decoding, and the syntax and functions that
//! only SQLite has (`json`, `planner`, `order`, `row_number`, `text_search`); `tables` and `tx` compose them. Never names a table
//! other than `events` (every transaction inserts rows), `settings` (a batch uses the NOT NULL key to fail) and those of
//! `text_search`.

mod error;
mod reply;
mod completion;
mod file;
mod schema;
mod json;
mod planner;
mod order;
mod row_number;
mod text_search;
mod multi_row;
mod batch;
mod event_log;
mod writer;
mod writer_queue;
mod connection;
mod row;
mod unreadable_row;
mod reader;
mod transaction;
mod integrity;
mod size;

pub use connection::{EventListener, Store};
pub use error::StoreError;
pub use file::database_files;
pub use integrity::{DAMAGED_WHILE_RUNNING, DAMAGED_WHILE_STOPPED, integrity_problems};
pub use reply::block_while_waiting;
pub use size::FileSize;

pub(crate) use batch::{Batch, Query, StatementResult, total_rows_affected};
pub(crate) use connection::connect_options;
pub(crate) use file::{COPY_FILE, create_file};
pub(crate) use json::{
    if_valid_json, in_json_list, is_in_json_list, json_append, json_array, json_array_of,
    json_is_true, json_items, json_items_of, json_part, json_rows, json_text, json_value,
    json_with_field,
};
pub(crate) use multi_row::MultiRowSql;
pub(crate) use order::{at_least, at_most, ignore_case, nulls_last};
pub(crate) use planner::{by_index, unindexed};
pub(crate) use reply::await_reply;
pub(crate) use row::{
    FromColumns, RowReader, bind_usage, decode_row, from_columns, json_list, parse_json, to_signed,
    unknown_name,
};
pub(crate) use row_number::{changed_rows, row_id};
pub(crate) use text_search::{
    DELETE_MEMORY_TEXT, DELETE_MEMORY_TEXTS, INSERT_MEMORY_TEXT, SEARCH_MEMORY, run_has_text,
    text_after_colon,
};
pub(crate) use transaction::Transaction;
pub(crate) use unreadable_row::{decode_or_log, is_first_report, log_name};
pub(crate) use writer::Durability;
pub(crate) use writer_queue::WriterQueue;

#[cfg(test)]
pub(crate) use {
    event_log::MAX_EVENTS,
    schema::{MIGRATIONS, apply_migration, require_sqlite},
};
