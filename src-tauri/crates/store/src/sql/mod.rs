//! The database file and its connections, below every table.
//!
//! Owns opening, migrations, the writer, the readers, transactions, batches and row decoding. Never names a table other
//! than `events` (every transaction inserts rows) and `settings` (a batch uses the NOT NULL key to fail).

mod error;
mod reply;
mod completion;
mod file;
mod schema;
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
pub(crate) use file::create_file;
pub(crate) use multi_row::MultiRowSql;
pub(crate) use reply::await_reply;
pub(crate) use row::{
    FromColumn, FromColumns, RowReader, bind_usage, decode_row, from_columns, json_list,
    parse_json, to_signed, unknown_name,
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
