//! Slots, description and time zone of a schedule.

use rouse_core::JobId;
use rouse_core::job::{Job, Schedule, ScheduleSpec};
use rouse_core::slots::{DecidedSlots, Slots};

use crate::context::Context;
use crate::error::RpcError;

/// The slots of `schedule`, with the decided slots of the job with `id` if it exists.
pub(super) async fn compile_slots(
    context: &Context,
    schedule: &Schedule,
    id: Option<&str>,
) -> Result<(Slots, DecidedSlots), RpcError> {
    let zones = context.clock.zones();
    let id = JobId::new(id.unwrap_or("new"));
    let (slots, decided) = match context.store.job(&id).await? {
        Some(job) => {
            let decided = if job.schedule.spec == schedule.spec {
                job.state.decided
            } else {
                job.state.decided.for_new_schedule()
            };
            (Slots::of_job(schedule, &id, job.created_at, &zones), decided)
        }
        None => (Slots::compile(schedule, &id, &zones), DecidedSlots::default()),
    };
    Ok((slots.map_err(|reason| RpcError::field("schedule", &reason))?, decided))
}

/// The description of the schedule, with the name of a predecessor, and whether the predecessor is missing.
pub(super) async fn schedule_text(
    context: &Context,
    spec: &ScheduleSpec,
) -> Result<(String, bool), RpcError> {
    let ScheduleSpec::Event(trigger) = spec else {
        return Ok((spec.describe(&context.clock.zones()), false));
    };
    let Some(id) = trigger.job_id() else {
        return Ok((spec.describe(&context.clock.zones()), false));
    };
    Ok(match context.store.job(&JobId::new(id)).await? {
        Some(job) => (trigger.describe_after(&job.name), false),
        None => (trigger.describe_after("a deleted job"), true),
    })
}

/// The time zone of `schedule_text`.
pub(super) fn schedule_zone(context: &Context, job: &Job) -> Option<String> {
    match &job.schedule.spec {
        ScheduleSpec::Cron { tz, .. } => Some(tz.clone()),
        ScheduleSpec::At { tz, .. } => {
            Some(tz.clone().unwrap_or_else(|| context.clock.zone().name().to_owned()))
        }
        ScheduleSpec::Every { .. }
        | ScheduleSpec::Event(_)
        | ScheduleSpec::Webhook
        | ScheduleSpec::Manual => None,
    }
}
