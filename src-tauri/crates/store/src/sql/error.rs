//! Errors of the store. A variant names the operation that failed; the cause stays a source.

use std::path::PathBuf;

use rouse_core::{RunId, RunState};

/// An operation of the store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file or the folder cannot be created, or the mode cannot be set.
    #[error("cannot create the database {path}")]
    Create {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The file cannot be opened.
    #[error("cannot open the database {path}")]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        #[source]
        source: sqlx::Error,
    },
    /// The linked SQLite can corrupt a file.
    #[error("SQLite {found} is too old: {needed} or newer is needed")]
    OldSqlite {
        /// The linked version.
        found: String,
        /// The oldest supported version.
        needed: &'static str,
    },
    /// A newer Rouse has changed the file.
    #[error(
        "{path} was made by a newer Rouse (schema {found}, this version supports {known}). Start that version, or move the file away"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The schema of the file.
        found: i64,
        /// The newest schema of this binary.
        known: i64,
    },
    /// The file belongs to another program.
    #[error("{path} is not a database of Rouse. Move it away, or use another data directory")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A migration failed; the file is unchanged.
    #[error("cannot migrate the database to schema {to}")]
    Migrate {
        /// The schema of the migration.
        to: i64,
        /// The error of SQLite.
        #[source]
        source: sqlx::Error,
    },
    /// A query failed.
    #[error("cannot {action}")]
    Read {
        /// The verb in words, such as "list the jobs".
        action: &'static str,
        /// The error of SQLite.
        #[source]
        source: sqlx::Error,
    },
    /// A transaction failed; nothing of it was written.
    #[error("cannot {action}")]
    Write {
        /// The verb in words, such as "save the job".
        action: &'static str,
        /// The error of SQLite.
        #[source]
        source: sqlx::Error,
    },
    /// The path no longer names the file that is open.
    #[error(
        "The database {path} was deleted or replaced while Rouse was running. Nothing is saved and no job fires. Restore the file, or restart Rouse to use the new one."
    )]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// A stored value has a form that this binary does not write.
    #[error("cannot read the stored {what} {id}: {reason}")]
    Unreadable {
        /// The kind of record, such as "job".
        what: &'static str,
        /// The id.
        id: String,
        /// The reason.
        reason: String,
    },
    /// The id is taken.
    #[error("There is already a {what} {id}.")]
    Exists {
        /// The kind of record.
        what: &'static str,
        /// The id.
        id: String,
    },
    /// The record does not exist.
    #[error("There is no {what} {id}.")]
    NotFound {
        /// The kind of record.
        what: &'static str,
        /// The id.
        id: String,
    },
    /// A run that has begun needs the session's transcript.
    #[error(
        "A run of this conversation is still open: {run}. Wait for it to end or cancel it, then clear the conversation."
    )]
    InUse {
        /// The run.
        run: RunId,
    },
    /// The job was changed since the last read of the caller.
    #[error("the job was changed elsewhere (revision {found}, expected {expected})")]
    Stale {
        /// The revision that the caller read.
        expected: i64,
        /// The stored revision.
        found: i64,
    },
    /// A run cannot end in a waiting state.
    #[error("a run cannot end as {}", .state.name())]
    NotFinal {
        /// The waiting state.
        state: RunState,
    },
    /// Events after that number are pruned, or the number was never assigned: read everything anew.
    #[error("some events after {after} are pruned (stored: {oldest} to {newest})")]
    Gap {
        /// The requested number.
        after: i64,
        /// The oldest stored event; 1 without any.
        oldest: i64,
        /// The newest stored event; 0 without any.
        newest: i64,
    },
    /// The store was closed, or the runtime ended during a commit.
    #[error("the database is closed")]
    Closed,
}

impl StoreError {
    pub(crate) fn not_found(kind: &'static str, id: impl ToString) -> Self {
        Self::NotFound { what: kind, id: id.to_string() }
    }

    /// Whether the disk is full or cannot be written: the call is valid and may succeed later.
    #[must_use]
    pub fn is_full(&self) -> bool {
        const FULL: i64 = 13;
        const IO_ERROR: i64 = 10;
        const READ_ONLY: i64 = 8;
        const CANNOT_OPEN: i64 = 14;
        matches!(self.primary_code(), Some(FULL | IO_ERROR | READ_ONLY | CANNOT_OPEN))
    }

    /// Whether the file is damaged, or no database.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        const CORRUPT: i64 = 11;
        const NO_DATABASE: i64 = 26;
        matches!(self.primary_code(), Some(CORRUPT | NO_DATABASE))
    }

    /// Whether a lock or a reader was not available in time: the call is valid and may succeed later.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        const BUSY: i64 = 5;
        const LOCKED: i64 = 6;
        matches!(self.primary_code(), Some(BUSY | LOCKED))
            || matches!(self.sqlx_source(), Some(sqlx::Error::PoolTimedOut))
    }

    /// Whether the store was closed before the reply.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed) || matches!(self.sqlx_source(), Some(sqlx::Error::PoolClosed))
    }

    /// Whether an expectation of a batch was not met: the NOT NULL constraint of `EXPECT_CHANGES` failed.
    pub(crate) fn is_unmet_expectation(&self) -> bool {
        const CONSTRAINT_NOT_NULL: i64 = 1299;
        matches!(self, Self::Write { source, .. } if code_of(source) == Some(CONSTRAINT_NOT_NULL))
    }

    fn primary_code(&self) -> Option<i64> {
        code_of(self.sqlx_source()?).map(|code| code & 0xff)
    }

    const fn sqlx_source(&self) -> Option<&sqlx::Error> {
        match self {
            Self::Open { source, .. }
            | Self::Migrate { source, .. }
            | Self::Read { source, .. }
            | Self::Write { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// SQLite's extended result code.
pub(super) fn code_of(error: &sqlx::Error) -> Option<i64> {
    error.as_database_error()?.code()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeout_and_closed_pool_are_classified() {
        let read = |source| StoreError::Read { action: "list the jobs", source };
        assert!(read(sqlx::Error::PoolTimedOut).is_busy());
        assert!(read(sqlx::Error::PoolClosed).is_closed() && StoreError::Closed.is_closed());
        for other in [read(sqlx::Error::RowNotFound), StoreError::Closed] {
            assert!(!other.is_busy() && !other.is_full() && !other.is_damaged(), "{other}");
        }
    }
}
