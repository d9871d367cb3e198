//! JSON → jitter.
//!
//! It spreads slots, so what has none takes none: a number that does nothing is refused when somebody writes it. One that
//! is stored, or comes out of a file, stays where it is.

use super::{Origin, unsigned};
use crate::job::{Schedule, ScheduleSpec};
use crate::json_fields::{FieldError, Fields};

const PATH: &str = "schedule.jitterMs";
const MEANINGLESS: &str = "spreads the times of at, every and cron: this one has none";

pub(super) fn read(
    fields: &mut Fields<'_>,
    spec: &ScheduleSpec,
    origin: Origin<'_>,
) -> Option<u32> {
    let jitter_ms = unsigned(fields, "jitterMs", 0, 3_600_000);
    // Without a kind that is known, nobody knows whether it has times.
    if let Origin::Written { .. } = origin
        && does_nothing(spec, jitter_ms)
        && fields.silent_about("kind")
    {
        fields.complain("jitterMs", MEANINGLESS);
    }
    jitter_ms
}

/// What is wrong with one that does nothing.
pub(super) fn complaint() -> FieldError {
    FieldError { path: PATH.to_owned(), message: MEANINGLESS.to_owned() }
}

/// What is wrong with the jitter of a job that is there: an edit of something else is not refused for it.
pub(super) fn complaint_about(schedule: &Schedule) -> Option<FieldError> {
    does_nothing(&schedule.spec, schedule.jitter_ms).then(complaint)
}

fn does_nothing(spec: &ScheduleSpec, jitter_ms: Option<u32>) -> bool {
    !spec.has_slots() && jitter_ms.is_some_and(|ms| ms > 0)
}
