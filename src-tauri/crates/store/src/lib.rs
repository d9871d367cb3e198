//! The SQLite file of Rouse: its schema, every SQL statement, every transaction.
//!
//! One [`Store`] owns the file. It has one writing connection, taken in turns, and a few reading
//! ones, so that a list never waits behind a write. Each verb is one transaction; the events it
//! caused are committed with it and handed to the listener afterwards, in the order of their
//! numbers. What a person was told is done, and a claimed slot, is on the disk before the verb
//! returns (`FULL`); journals and progress may lag behind by a moment (`NORMAL`), and a later
//! `FULL` commit takes them along.
//!
//! The store refuses to decide: which slot is due next, what a failure means or who is told comes
//! in as arguments, and so does `now`. It refuses files that are not its own or that a newer Rouse
//! wrote. One could get this wrong by calling a verb from inside the listener (it runs while the
//! writer is held), or by reading with one verb and writing with another what one transaction must
//! do.

mod answer_wait;
mod connection;
mod damage;
mod error;
mod identity;
mod many;
mod row;
mod to_the_end;
mod turns;
mod walk;
mod write;

mod approvals;
mod attempts;
mod backup;
mod broken;
mod causes;
mod claims;
mod missed;
mod namesake;
mod counted;
mod due;
mod fetches;
mod events;
mod finish;
mod grants;
mod history;
mod incidents;
mod inherited;
mod job_row;
mod jobs;
mod plans;
mod memory;
mod outbox;
mod prepared;
mod retention;
mod run_events;
mod run_pages;
mod runs;
mod sessions;
mod set_back;
mod settings;
mod spending;
mod steps;
mod outside;
mod summaries;
mod system_events;
mod webhooks;

#[cfg(test)]
mod tests;

pub use answer_wait::block_while_waiting;
pub use approvals::{Decided, Park};
pub use attempts::Backoff;
pub use backup::{Restored, copy_database, database_files, mark_restored};
pub use broken::BrokenJob;
pub use causes::Fired;
pub use claims::{Claim, Claimed};
pub use connection::{EventListener, Store};
pub use counted::Counted;
pub use damage::{DAMAGED, DAMAGED_AT_REST, damage};
pub use due::{DueJob, DueJobs};
pub use error::StoreError;
pub use finish::{Finish, Interruption};
pub use inherited::{Inherited, SkillText};
pub use jobs::{JobCounts, JobPage, JobQuery};
pub use missed::ToldMissed;
pub use outside::SessionReads;
pub use plans::PlannedJob;
pub use prepared::Prepared;
pub use retention::{FileSize, Kept};
pub use run_pages::{RunPage, RunQuery};
pub use sessions::{Entry, SessionRow, StoredEntry, StoredMessage};
pub use settings::{PENDING_TURN, Setting};
pub use steps::{IF_CUT_OFF, NewStep, Note, RunStep, StepEnd, StepKind, StepStatus};
pub use summaries::Summary;
pub use system_events::{HOOK, QUEUED_LINES, SystemEvent, UntoldReminder, WAKE};
pub use webhooks::{KnownCall, WebhookCall, WebhookSecret};
