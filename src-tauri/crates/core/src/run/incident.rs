//! Incidents: causes of failure of a job, from the first failure to recovery.
//!
//! Owns the type. A job that fails every minute of a night is a single incident per cause. A condition that cannot be
//! checked is an incident as well: the runs succeed, but without notifications of findings. A cause that returns soon
//! after recovery reopens the incident (flapping). `decide` chooses the recipients; the store keeps the rows.

use strum::{EnumString, IntoStaticStr};

use crate::{Job, JobId, RunId, UnixMs};

/// The class of conditions that cannot be checked, with any message.
pub const CONDITION: &str = "condition";

/// A cause of failure of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// Identity.
    pub id: i64,
    /// The job; none for the heartbeat.
    pub job_id: Option<JobId>,
    /// The class: equal for failures of the same cause.
    pub class: String,
    /// The message of the first failure.
    pub cause: String,
    /// When the first run failed.
    pub opened_at: UnixMs,
    /// The instant and the reason of the closing.
    pub closed: Option<(UnixMs, IncidentEnd)>,
    /// Whether the incident was reopened after recovery.
    pub came_back: bool,
    /// Whether a person re-enabled the job that the incident had paused. The next success closes the incident; the next
    /// failure opens another.
    pub taken_up: bool,
    /// The failed runs.
    pub count: u32,
    /// The first failed run.
    pub first_run: RunId,
    /// The newest failed run.
    pub last_run: RunId,
    /// When the newest run failed.
    pub last_at: UnixMs,
    /// Why the incident paused the job.
    pub paused_because: Option<String>,
}

impl Incident {
    /// Whether the incident paused the job, without a later re-enabling.
    #[must_use]
    pub const fn keeps_job_disabled(&self, job: &Job) -> bool {
        !job.enabled && self.paused_because.is_some() && !self.taken_up
    }
}

/// Why an incident was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
#[strum(serialize_all = "camelCase")]
pub enum IncidentEnd {
    /// A run of the job succeeded.
    Recovered,
    /// A person re-enabled the job, and the job failed again before recovery, or had not been paused.
    Resumed,
    /// The job was removed.
    Removed,
}

impl IncidentEnd {
    /// The name in SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The effect of a finished run on the incidents of the job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum IncidentStep {
    /// Nothing.
    #[default]
    Nothing,
    /// A new cause.
    Opened {
        /// The class.
        class: String,
        /// The message.
        cause: String,
    },
    /// The same cause again.
    Recurred {
        /// The incident.
        id: i64,
    },
    /// A cause that had recovered recently.
    Reopened {
        /// The incident.
        id: i64,
        /// All failed runs, with this run.
        failures: u32,
        /// Milliseconds since the first failure.
        after_ms: i64,
    },
    /// Recovered.
    Resolved {
        /// The kind of the incident.
        of: IncidentKind,
        /// The affected runs.
        failures: u32,
        /// Milliseconds since the first failure.
        after_ms: i64,
    },
}

/// The kind of a resolved incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncidentKind {
    /// Failed runs.
    Runs,
    /// A condition that could not be checked.
    Condition,
    /// No model available.
    Model,
}
