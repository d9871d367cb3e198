//! The SQLite file of Rouse: its schema, every SQL statement, every transaction.
//!
//! Layers, each importing only those before it: `sql` (file, connections, transactions, row decoding), `tables` (one file
//! per table: rows and queries), `tx` (verbs across tables: claim, finish, approve, prune, restore …).
//!
//! One [`Store`] owns the file, with one writing connection and a few reading ones, so that a list never waits for a write.
//! A verb is one transaction. Events are committed together and reported to the listener afterwards, in the order of their
//! numbers. `Durability::Full` is for everything confirmed to a person, and for claims; journals and progress are
//! `Normal` and become durable with the next full commit.
//!
//! Never decides: due slots, the meaning of failures and recipients are arguments, and so is `now`.
//! Pitfall: calling a verb from the listener, which runs while the writer is locked; or splitting a read and a dependent
//! write into two verbs.
//!
//! # Errors
//! A query fails with [`StoreError::Read`], a transaction with [`StoreError::Write`] and without any change. Verbs
//! document only other errors.

mod sql;
mod tables;
mod tx;

#[cfg(test)]
mod tests;

pub use rouse_core::run::{StepKind, StepStatus};
pub use sql::{
    DAMAGED_WHILE_RUNNING, DAMAGED_WHILE_STOPPED, EventListener, FileSize, Store, StoreError,
    block_while_waiting, database_files, integrity_problems,
};
pub use tables::{
    CallAttachment, ChannelOutcome, DueJob, DueJobs, FiredRun, JobCounts, JobPage, JobQuery,
    JournalNote, NewReplyButton, NewStep, OLD_QUEUED_EVENTS_NOTE, OutdatedButtons,
    PENDING_MAIN_TURN, PlannedJob, PressedButton, PriorWebhookCall, QUEUED_EVENTS_NOTE, RunPage,
    RunQuery, RunStep, SOURCE_HOOK, SOURCE_WAKE, SessionReads, SessionRow, SessionTaint, SkillText,
    StepEnd, StoredMessage, StoredSetting, SystemEvent, TranscriptEntry, TranscriptRow,
    TranscriptSummary, USAGE_IF_INTERRUPTED, UndeliveredReminder, UnreadableJob, WebhookCall,
    WebhookSecret,
};
pub use tx::{
    Backoff, Claim, ClaimResult, CoalescedSlot, DecisionResult, HistorySize, Interruption,
    MissedSlotNotice, ParkRequest, Postponement, PreparedClaim, RestoreMark, RestoredPermissions,
    RunEnd, copy_database, mark_restored,
};
