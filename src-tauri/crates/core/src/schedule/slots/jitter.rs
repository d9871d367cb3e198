//! The jitter of a job's slots.
//!
//! Owns the jitter offset, which moves the whole schedule grid. The offset depends only on the job's id and schedule, so
//! jitter never merges two slots. Pitfall: another hash would move the slots of every stored job.

use crate::JobId;
use crate::job::{Schedule, ScheduleSpec};
use crate::text::stable_hash;

/// The jitter offset in milliseconds. 0 without jitter.
pub(super) fn jitter_offset(schedule: &Schedule, id: &JobId) -> i64 {
    let jitter_ms = schedule.jitter_ms.unwrap_or(0);
    if jitter_ms == 0 {
        return 0;
    }
    let hash = stable_hash(id.as_str().as_bytes());
    let offset_ms = i64::try_from(hash % u64::from(jitter_ms)).unwrap_or(0);
    match schedule.spec {
        // Whole intervals would only delay the first slot.
        ScheduleSpec::Every { every_ms, .. } => offset_ms % every_ms.max(1),
        ScheduleSpec::At { .. }
        | ScheduleSpec::Cron { .. }
        | ScheduleSpec::Event(_)
        | ScheduleSpec::Webhook
        | ScheduleSpec::Manual => offset_ms,
    }
}
