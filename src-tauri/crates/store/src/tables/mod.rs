//! Tables: one file per table with its rows and queries. Verbs across tables are in `tx`.
//!
//! A function that takes a `Transaction` is a part of a verb; a method of `Store` is a verb.

pub(crate) mod event_data;
pub(crate) mod settings;
pub(crate) mod events;
pub(crate) mod pruned_slots;
pub(crate) mod runs;
pub(crate) mod run_list;
pub(crate) mod run_history;
pub(crate) mod job_row;
pub(crate) mod jobs;
pub(crate) mod job_list;
pub(crate) mod job_plans;
pub(crate) mod unreadable_jobs;
pub(crate) mod due_jobs;
pub(crate) mod grants;
pub(crate) mod approvals;
pub(crate) mod spending;
pub(crate) mod call_attachments;
pub(crate) mod steps;
pub(crate) mod sessions;
pub(crate) mod summaries;
pub(crate) mod taint;
pub(crate) mod system_events;
pub(crate) mod reminders;
pub(crate) mod outbox;
pub(crate) mod channel_outcomes;
pub(crate) mod recipients;
pub(crate) mod reply_buttons;
pub(crate) mod incidents;
pub(crate) mod causes;
pub(crate) mod webhooks;
pub(crate) mod memory;
pub(crate) mod fetches;
pub(crate) mod tool_builds;
pub(crate) mod compiled_components;

pub use call_attachments::CallAttachment;
pub use causes::FiredRun;
pub use channel_outcomes::ChannelOutcome;
pub use due_jobs::{DueJob, DueJobs};
pub use job_list::{JobPage, JobQuery};
pub use job_plans::PlannedJob;
pub use jobs::JobCounts;
pub use reminders::UndeliveredReminder;
pub use reply_buttons::{NewReplyButton, OutdatedButtons, PressedButton};
pub use run_list::{RunPage, RunQuery};
pub use sessions::{SessionRow, StoredMessage, TranscriptEntry, TranscriptRow};
pub use settings::{PENDING_MAIN_TURN, StoredSetting};
pub use steps::{JournalNote, NewStep, RunStep, StepEnd, USAGE_IF_INTERRUPTED};
pub use summaries::TranscriptSummary;
pub use system_events::{
    OLD_QUEUED_EVENTS_NOTE, QUEUED_EVENTS_NOTE, SOURCE_HOOK, SOURCE_WAKE, SystemEvent,
};
pub use taint::{SessionReads, SessionTaint, SkillText};
pub use unreadable_jobs::UnreadableJob;
pub use webhooks::{PriorWebhookCall, WebhookCall, WebhookSecret};
