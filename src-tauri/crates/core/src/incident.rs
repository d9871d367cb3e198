//! What makes a job fail, from the first failure to the first success.
//!
//! A job that fails every minute of a night has one thing to tell, not five hundred: one incident per job and cause. A
//! condition on its results that cannot be checked is one as well: the runs go well, yet nobody hears what they found. One
//! that comes back soon after it was over is the same one: a job that fails and succeeds by turns is told of once.
//! Whom it is told is decided in `decide`, and the rows are the store's.

use crate::{Job, JobId, RunId, UnixMs};

/// The class of results that cannot be checked, however that is worded: a person mends the one condition there is.
pub const CONDITION: &str = "condition";

/// One cause of failures of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// Identity.
    pub id: i64,
    /// Its job; none for the heartbeat.
    pub job_id: Option<JobId>,
    /// What makes two failures the same cause.
    pub class: String,
    /// The first failure in words.
    pub cause: String,
    /// When the first run failed of it.
    pub opened_at: UnixMs,
    /// When it ended, and how.
    pub closed: Option<(UnixMs, IncidentEnd)>,
    /// Whether it was over before and is open again.
    pub came_back: bool,
    /// Whether somebody has switched the job on again that it had paused: the first run that goes well ends it, another
    /// failure is a new one.
    pub taken_up: bool,
    /// Runs that failed of it.
    pub count: u32,
    /// The first of them.
    pub first_run: RunId,
    /// The newest of them.
    pub last_run: RunId,
    /// When the newest of them failed.
    pub last_at: UnixMs,
    /// Why its job was switched off because of it.
    pub paused_because: Option<String>,
}

impl Incident {
    /// Whether it keeps its job off: it has paused it, and nobody has switched the job on since.
    #[must_use]
    pub const fn keeps_off(&self, job: &Job) -> bool {
        !job.enabled && self.paused_because.is_some() && !self.taken_up
    }
}

/// How an incident ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncidentEnd {
    /// A run of the job went well.
    Recovered,
    /// Somebody switched the job on again, and it failed once more before it went well, or it had not been paused.
    Resumed,
    /// The job was removed.
    Removed,
}

impl IncidentEnd {
    /// The name in SQL.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recovered => "recovered",
            Self::Resumed => "resumed",
            Self::Removed => "removed",
        }
    }

    /// The end of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Recovered, Self::Resumed, Self::Removed].into_iter().find(|end| end.name() == name)
    }
}

/// What the end of one run does to the incidents of its job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum IncidentStep {
    /// Nothing.
    #[default]
    Nothing,
    /// It failed of something new.
    Opens {
        /// What makes two failures the same cause.
        class: String,
        /// The failure in words.
        cause: String,
    },
    /// It failed of the same again.
    GoesOn {
        /// The incident.
        id: i64,
    },
    /// It failed of what it had recovered from not long ago; the incident is open again.
    ComesBack {
        /// The incident.
        id: i64,
        /// Runs that have failed of it, this one included.
        failures: u32,
        /// Since the first of them.
        after_ms: i64,
    },
    /// It went well again.
    Recovers {
        /// What was wrong.
        of: Ailment,
        /// Runs that had failed, or whose results could not be checked.
        failures: u32,
        /// Since the first of them.
        after_ms: i64,
    },
}

/// What was wrong with a job that works again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ailment {
    /// Its runs failed.
    Runs,
    /// Its runs went well, but the condition on their results could not be checked.
    Condition,
    /// Its runs found no model at work.
    Model,
}
