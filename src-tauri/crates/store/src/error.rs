//! What can go wrong with the store. Every variant names the operation that failed; the cause stays
//! a source.

use std::path::PathBuf;

use rouse_core::{RunId, RunState};

use crate::walk::UNMET;

/// An operation of the store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file or its folder cannot be made or given its mode.
    #[error("cannot create the database {path}")]
    Create {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The file cannot be opened.
    #[error("cannot open the database {path}")]
    Open {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: sqlx::Error,
    },
    /// The SQLite that was linked can corrupt a file.
    #[error("SQLite {found} is too old: {needed} or newer is needed")]
    OldSqlite {
        /// The version that is linked.
        found: String,
        /// The oldest version that is good enough.
        needed: &'static str,
    },
    /// A newer Rouse has changed the file.
    #[error(
        "{path} was made by a newer Rouse (schema {found}, this one knows {known}). Start that one, or move the file away"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema of this binary.
        known: i64,
    },
    /// The file belongs to something else.
    #[error("{path} is not a database of Rouse. Move it away, or use another data folder")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file could not be brought to this binary's schema; it is as it was.
    #[error("cannot bring the database to schema {to}")]
    Migrate {
        /// The schema it was on its way to.
        to: i64,
        /// What SQLite said.
        #[source]
        source: sqlx::Error,
    },
    /// A reading verb failed.
    #[error("cannot {what}")]
    Read {
        /// The verb in words, such as "list the jobs".
        what: &'static str,
        /// What SQLite said.
        #[source]
        source: sqlx::Error,
    },
    /// A writing verb failed; nothing of it was written.
    #[error("cannot {what}")]
    Write {
        /// The verb in words, such as "save the job".
        what: &'static str,
        /// What SQLite said.
        #[source]
        source: sqlx::Error,
    },
    /// The file at the store's path is not the one that is open.
    #[error(
        "The database {path} was deleted or replaced while Rouse was running. Nothing is saved and no job fires: put it back, or start Rouse anew to begin with what is there now."
    )]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// A stored value is not what this binary writes.
    #[error("cannot read the stored {what} {id}: {reason}")]
    Unreadable {
        /// What it is, such as "job".
        what: &'static str,
        /// Which one.
        id: String,
        /// Why not.
        reason: String,
    },
    /// The id is taken.
    #[error("There is already a {what} {id}.")]
    Exists {
        /// What it is.
        what: &'static str,
        /// The id.
        id: String,
    },
    /// There is no such thing.
    #[error("There is no {what} {id}.")]
    NotFound {
        /// What it is.
        what: &'static str,
        /// The id.
        id: String,
    },
    /// A run of the session goes on with what was said in it.
    #[error(
        "A run of this conversation has begun and has not ended: {run}. Wait for its end or end it, and clear the conversation then."
    )]
    InUse {
        /// The run.
        run: RunId,
    },
    /// The job was changed since the caller saw it.
    #[error("the job was changed elsewhere (revision {found}, expected {expected})")]
    Stale {
        /// The revision that the caller saw.
        expected: i64,
        /// The revision that is stored.
        found: i64,
    },
    /// A run cannot end in a waiting state.
    #[error("a run cannot end as {}", .state.name())]
    NotFinal {
        /// The waiting state.
        state: RunState,
    },
    /// The events after that number are gone, or it was never given out: read everything anew.
    #[error("the events after {after} are not all stored (stored are {oldest} to {newest})")]
    Gap {
        /// The number that was asked for.
        after: i64,
        /// The oldest stored event; 1 when there is none.
        oldest: i64,
        /// The newest stored event; 0 when there is none.
        newest: i64,
    },
    /// The runtime ended in the middle of a commit.
    #[error("the store was closed while it was writing")]
    Closed,
}

impl StoreError {
    /// Whether the disk is full or cannot be written: nothing is wrong with the call, and it may
    /// work later.
    #[must_use]
    pub fn is_full(&self) -> bool {
        const FULL: i64 = 13;
        const IO_ERROR: i64 = 10;
        const READ_ONLY: i64 = 8;
        const CANNOT_OPEN: i64 = 14;
        let primary = self.sqlite_code().map(|code| code & 0xff);
        matches!(primary, Some(FULL | IO_ERROR | READ_ONLY | CANNOT_OPEN))
    }

    /// Whether the file itself is damaged, or no database at all.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        const CORRUPT: i64 = 11;
        const NO_DATABASE: i64 = 26;
        let primary = self.sqlite_code().map(|code| code & 0xff);
        matches!(primary, Some(CORRUPT | NO_DATABASE))
    }

    /// Whether others kept the file or its connections to themselves for as long as is waited for them: nothing is wrong,
    /// and it works later.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        const BUSY: i64 = 5;
        const LOCKED: i64 = 6;
        let primary = self.sqlite_code().map(|code| code & 0xff);
        matches!(primary, Some(BUSY | LOCKED))
            || matches!(self.source_of_sqlx(), Some(sqlx::Error::PoolTimedOut))
    }

    /// Whether the store was closed before it could answer.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
            || matches!(self.source_of_sqlx(), Some(sqlx::Error::PoolClosed))
    }

    fn sqlite_code(&self) -> Option<i64> {
        code_of(self.source_of_sqlx()?)
    }

    const fn source_of_sqlx(&self) -> Option<&sqlx::Error> {
        match self {
            Self::Open { source, .. }
            | Self::Migrate { source, .. }
            | Self::Read { source, .. }
            | Self::Write { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Whether a demand of a walk was not met.
    pub(crate) fn is_unmet(&self) -> bool {
        matches!(self, Self::Write { source, .. } if code_of(source) == Some(UNMET))
    }
}

/// SQLite's extended result code, if the error is one of SQLite's.
pub(crate) fn code_of(error: &sqlx::Error) -> Option<i64> {
    error.as_database_error()?.code()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_took_too_long_is_told_from_what_is_wrong() {
        let read = |source| StoreError::Read { what: "list the jobs", source };
        assert!(read(sqlx::Error::PoolTimedOut).is_busy());
        assert!(read(sqlx::Error::PoolClosed).is_closed() && StoreError::Closed.is_closed());
        for other in [read(sqlx::Error::RowNotFound), StoreError::Closed] {
            assert!(!other.is_busy() && !other.is_full() && !other.is_damaged(), "{other}");
        }
    }
}
