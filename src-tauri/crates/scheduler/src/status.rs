//! What the scheduler tells about itself.

use std::fmt;

use rouse_core::{JobId, RunId, UnixMs};

/// Everything a status line needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Whether slots fire; a pause is told apart.
    pub firing: bool,
    /// Why not.
    pub off_reason: Option<String>,
    /// The pause of everything, if there is one.
    pub pause: Option<Pause>,
    /// The earliest slot to come; none as long as it comes in the pause, which leaves it out.
    pub next: Option<NextSlot>,
    /// Runs at work.
    pub running: u32,
    /// Runs that wait for their next attempt. They hold no place.
    pub between_attempts: u32,
    /// Runs that wait in their lanes.
    pub queued: u32,
    /// The cap.
    pub max_concurrent_runs: u32,
    /// The heartbeat.
    pub heartbeat: HeartbeatStatus,
}

/// A pause of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// When it began.
    pub since: UnixMs,
    /// When it ends by itself; none when it waits for somebody.
    pub until: Option<UnixMs>,
    /// When its end was set: with its beginning, or later when somebody has changed it.
    pub set_at: UnixMs,
}

impl Pause {
    /// Whether it leaves out what is due at `at`. What is due at its very end fires.
    pub(crate) fn holds_at(self, at: UnixMs) -> bool {
        self.until.is_none_or(|until| until > at)
    }
}

/// A slot to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextSlot {
    /// The job.
    pub job_id: JobId,
    /// Its name.
    pub name: String,
    /// When.
    pub at: UnixMs,
}

/// The heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatStatus {
    /// Whether it beats by itself.
    pub enabled: bool,
    /// Milliseconds between beats.
    pub every_ms: i64,
    /// When it may beat by itself, such as `08:00–22:00`; always when none.
    pub active_hours: Option<String>,
    /// The next beat; none while nothing fires.
    pub next_at: Option<UnixMs>,
    /// Why there is no next beat, or why the last one was left out; none when it was not.
    pub last_skip_reason: Option<String>,
    /// The last beat that was left out, whatever came since.
    pub last_skip: Option<LastSkip>,
    /// What a turn that was asked for still waits for; none when none was.
    pub pending: Option<Pending>,
    /// The newest request for a turn since the engine began, also one that became the turn of another.
    pub last_request: Option<LastRequest>,
}

/// What a turn of the main session that was asked for waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pending {
    /// For firing, which is off for this reason.
    Firing(String),
    /// For a model.
    Model,
    /// For the end of the turn that is going.
    Turn,
    /// For the minute to pass in which there were many.
    Flood,
    /// For others that may come with it.
    Others,
    /// For a while, because no model has answered the one before.
    Answer,
}

/// As a sentence without its full stop.
impl fmt::Display for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Firing(reason) => return write!(f, "It waits: {reason}"),
            Self::Model => "It waits for a model",
            Self::Turn => "It waits for the turn that is going",
            Self::Flood => "There were many wakes in the last minute; it waits a little",
            Self::Others => "It comes in a moment",
            Self::Answer => {
                "No model has answered the one before; it is asked for again in a while"
            }
        })
    }
}

/// A request for a turn of the main session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastRequest {
    /// Why, in the words of whoever asked.
    pub reason: String,
    /// When.
    pub at: UnixMs,
}

/// A beat that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastSkip {
    /// Why.
    pub reason: String,
    /// When it would have come.
    pub at: UnixMs,
}

/// What one tick did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TickReport {
    /// Jobs whose slots were claimed.
    pub claimed: usize,
    /// Runs that went into their lanes.
    pub queued: Vec<RunId>,
    /// Rows of slots that did not fire: skipped or missed.
    pub quiet: Vec<RunId>,
    /// Runs whose work began.
    pub started: Vec<RunId>,
}
