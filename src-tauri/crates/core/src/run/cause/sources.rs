//! Sources of events, and the fields of their events.

/// The source of finished runs.
pub const JOB: &str = "job";
/// The source of system events queued by jobs.
pub const CRON: &str = "cron";
/// The source of wakes.
pub const WAKE: &str = "wake";
/// The source of webhook calls.
pub const WEBHOOK: &str = "webhook";
/// All sources.
pub const SOURCES: [&str; 4] = [JOB, CRON, WAKE, WEBHOOK];

/// The fields of events of `source`; none when chosen by the sender.
#[must_use]
pub fn event_fields(source: &str) -> Option<&'static [&'static str]> {
    match source {
        JOB => Some(&["type", "jobId", "name", "runId", "state", "status"]),
        CRON => Some(&["type", "jobId", "name"]),
        WAKE => Some(&["type"]),
        _ => None,
    }
}
