//! `cron.preview`: the next slots, with notes on clock changes, and the routes of the messages.
//!
//! Uses the same functions as the engine.

use chrono::SecondsFormat;
use rouse_core::job::{Job, JobError, ScheduleSpec, job_from_json, schedule_from_json};
use rouse_core::schedule::{
    ClockNote, CronPattern, Transition, Zone, Zones, format_duration, instant_note,
    interval_effect, transitions_in,
};
use rouse_core::slots::Slots;
use rouse_core::{JobId, UnixMs};
use serde_json::json;

use super::channel::problem_text;
use super::schedule::{compile_slots, schedule_text};
use crate::context::Context;
use crate::error::RpcError;
use crate::handlers::route_labels::RouteLabels;
use crate::wire::{CronPreviewParams, CronPreviewResult, DeliveryDraft, PreviewSlot};

/// Maximum number of notes on clock changes; the rest is counted.
const MAX_NOTES: usize = 3;
/// Number of slots compared after a clock change: one day of an hourly job.
const SLOTS_COMPARED: usize = 24;

pub(crate) async fn preview(
    context: &Context,
    params: CronPreviewParams,
) -> Result<CronPreviewResult, RpcError> {
    let (now, zones) = (context.clock.now(), context.clock.zones());
    let mut schedule = schedule_from_json(params.schedule, now, &zones)?;
    // The jitter of a job depends on its id. A new job has none, so its slots are shown without jitter.
    let jitter_ms = match params.id {
        Some(_) => None,
        None => schedule.jitter_ms.take().filter(|ms| *ms > 0),
    };
    let (slots, decided) = compile_slots(context, &schedule, params.id.as_deref()).await?;
    let first = slots.first_plan(decided, now).map_err(JobError::from)?.next;
    let local = zones.local();
    let zone = spec_zone(&schedule.spec, &zones).unwrap_or(local);
    let count = params.count.unwrap_or(5).clamp(1, 50) as usize;
    let next = next_slots(&slots, first, count);
    let clock = ClockUse::of(&schedule.spec);
    let jitter = jitter_ms.map(|ms| format!("Each up to {} later", format_duration(i64::from(ms))));
    let changes = next.last().map(|last| clock.notes((zone, local), now, *last));
    let job = job_for_routes(context, params.id.as_deref(), params.delivery).await?;
    let channels = context.channels.now();
    let route_problem = job.as_ref().and_then(|job| channels.job_problem(job));
    Ok(CronPreviewResult {
        text: schedule_text(context, &schedule.spec).await?.0,
        zone: zone.name().to_owned(),
        local_zone: local.name().to_owned(),
        notes: jitter.into_iter().chain(changes.into_iter().flatten()).collect(),
        next: next.into_iter().map(|at| slot_view(at, &slots, &clock, (zone, local))).collect(),
        routes: RouteLabels::of(channels).message_routes(job.as_ref()),
        route_problem: route_problem.as_ref().map(problem_text),
    })
}

/// A job with the unsaved delivery settings, or the stored job; none for a new job without delivery settings.
async fn job_for_routes(
    context: &Context,
    id: Option<&str>,
    delivery: Option<DeliveryDraft>,
) -> Result<Option<Job>, RpcError> {
    let Some(DeliveryDraft { deliver_to, channel, to, deliver }) = delivery else {
        return match id {
            Some(id) => Ok(context.store.job(&JobId::new(id)).await?),
            None => Ok(None),
        };
    };
    // Nothing else of a job determines its routes.
    let document = json!({
        "name": "preview",
        "schedule": { "kind": "manual" },
        "payload": {
            "kind": "agentTurn", "message": "preview",
            "channel": channel, "to": to, "deliver": deliver,
        },
        "policies": { "deliverTo": deliver_to },
    });
    Ok(Some(job_from_json(document, context.clock.now(), context.clock.zones())?))
}

/// The description and the next slots of a job, enabled or not.
pub(super) async fn preview_job(
    context: &Context,
    job: &Job,
    count: usize,
) -> Result<(String, Vec<PreviewSlot>), RpcError> {
    let (now, zones) = (context.clock.now(), context.clock.zones());
    let slots = Slots::of_job(&job.schedule, &job.id, job.created_at, &zones)
        .map_err(|reason| RpcError::field("schedule", &reason))?;
    let local = zones.local();
    let zone = spec_zone(&job.schedule.spec, &zones).unwrap_or(local);
    let clock = ClockUse::of(&job.schedule.spec);
    let first = job.state.next_run_at.filter(|first| *first > now);
    let first = first.or_else(|| slots.plan_after(job.state.decided, now).next);
    let next = next_slots(&slots, first, count);
    let next = next.into_iter().map(|at| slot_view(at, &slots, &clock, (zone, local))).collect();
    Ok((schedule_text(context, &job.schedule.spec).await?.0, next))
}

fn next_slots(slots: &Slots, first: Option<UnixMs>, count: usize) -> Vec<UnixMs> {
    std::iter::successors(first, |last| slots.next_after(*last)).take(count).collect()
}

/// Converts a slot. The note on a clock change refers to the time before jitter.
fn slot_view(
    at: UnixMs,
    slots: &Slots,
    clock: &ClockUse,
    (zone, local): (Zone, Zone),
) -> PreviewSlot {
    let format =
        |zone: Zone| at.to_utc().with_timezone(&zone).to_rfc3339_opts(SecondsFormat::Secs, false);
    let offset_ms = slots.offset_ms();
    let note = clock.note(zone, at.plus_ms(-offset_ms)).map(|note| match offset_ms {
        0 => note.to_string(),
        later @ ..1_000 => format!("{note}, and {} later", format_duration(later)),
        later => format!("{note}, and {} later", format_duration(later / 1_000 * 1_000)),
    });
    PreviewSlot { at_ms: at.0, job_time: format(zone), local_time: format(local), note }
}

fn spec_zone(spec: &ScheduleSpec, zones: &Zones) -> Option<Zone> {
    match spec {
        ScheduleSpec::Cron { tz, .. } => zones.zone(tz),
        ScheduleSpec::At { tz, .. } => tz.as_ref().and_then(|tz| zones.zone(tz)),
        ScheduleSpec::Every { .. }
        | ScheduleSpec::Event(_)
        | ScheduleSpec::Webhook
        | ScheduleSpec::Manual => None,
    }
}

/// How a schedule uses the wall clock.
enum ClockUse {
    /// Wall clock times.
    Pattern(CronPattern),
    /// Elapsed time in milliseconds, so that the wall clock times move with a clock change.
    Elapsed(i64),
    /// One instant.
    Instant,
    /// None.
    Unused,
}

impl ClockUse {
    fn of(spec: &ScheduleSpec) -> Self {
        match spec {
            ScheduleSpec::Cron { expr, .. } => {
                CronPattern::parse(expr).map_or(Self::Unused, Self::Pattern)
            }
            ScheduleSpec::Every { every_ms, .. } => Self::Elapsed(*every_ms),
            ScheduleSpec::At { .. } => Self::Instant,
            ScheduleSpec::Event(_) | ScheduleSpec::Webhook | ScheduleSpec::Manual => Self::Unused,
        }
    }

    /// The note on a clock change that moved the slot.
    fn note(&self, zone: Zone, at: UnixMs) -> Option<ClockNote> {
        match self {
            Self::Pattern(pattern) => pattern.clock_note(zone, at.0),
            Self::Instant => instant_note(zone, at.0),
            Self::Elapsed(_) | Self::Unused => None,
        }
    }

    /// Notes on clock changes up to the last slot, in the zone of the job and in the local zone.
    fn notes(&self, (zone, local): (Zone, Zone), now: UnixMs, last: UnixMs) -> Vec<String> {
        let changes = |zone| transitions_in(zone, now.0, last.0.saturating_add(1));
        let job_changes = changes(zone);
        let local_changes = if zone.name() == local.name() { Vec::new() } else { changes(local) };
        let local_notes = local_changes.iter().filter_map(|change| {
            let job_change = job_changes.iter().find(|other| other.at == change.at);
            Some((change.at, false, self.local_note(change, job_change, (zone, local))?))
        });
        let job_notes = job_changes.iter().filter_map(|change| {
            let (has_effect, note) = self.job_note(change)?;
            Some((change.at, has_effect, note))
        });
        let mut notes: Vec<(i64, bool, String)> = job_notes.chain(local_notes).collect();
        notes.sort_by_key(|(at, ..)| *at);
        let more = notes.len().saturating_sub(MAX_NOTES);
        if more > 0 {
            // Changes with an effect on slots take precedence.
            notes.sort_by_key(|(_, has_effect, _)| !has_effect);
            notes.truncate(MAX_NOTES);
            notes.sort_by_key(|(at, ..)| *at);
        }
        let mut texts: Vec<String> = notes.into_iter().map(|(.., text)| text).collect();
        texts.extend(match more {
            0 => None,
            1 => Some("And 1 more clock change".to_owned()),
            more => Some(format!("And {more} more clock changes")),
        });
        texts
    }

    /// Whether the change affects slots, and the note in the zone of the job.
    fn job_note(&self, change: &Transition) -> Option<(bool, String)> {
        match self {
            Self::Pattern(pattern) => Some(match pattern.effect_of(change) {
                Some(effect) => (true, format!("{change}; {effect}")),
                None => (false, change.to_string()),
            }),
            Self::Elapsed(every_ms) => interval_effect(change, *every_ms)
                .map(|effect| (true, format!("{change}; {effect}"))),
            Self::Instant | Self::Unused => None,
        }
    }

    /// The note on a clock change in the local zone for a pattern in another zone, whose own change at the same instant is
    /// `job_change`; none if the local times stay the same.
    fn local_note(
        &self,
        change: &Transition,
        job_change: Option<&Transition>,
        (zone, local): (Zone, Zone),
    ) -> Option<String> {
        let Self::Pattern(pattern) = self else { return None };
        let seconds = |change: &Transition| change.offset_after - change.offset_before;
        let later_ms = i64::from(seconds(change) - job_change.map_or(0, seconds)) * 1000;
        let next = |from: i64| pattern.next_after(zone, from);
        let slots = std::iter::successors(next(change.at - 1), |last| next(*last));
        let is_unchanged =
            |slot: i64| next(slot + later_ms - 1).is_some_and(|found| found == slot + later_ms);
        if slots.take(SLOTS_COMPARED).all(is_unchanged) {
            return None;
        }
        let (shift, direction) =
            (format_duration(later_ms.abs()), if later_ms > 0 { "later" } else { "earlier" });
        Some(format!(
            "{change} in {}; the job uses {}, so it then fires {shift} {direction} on your clock",
            local.name(),
            zone.name()
        ))
    }
}
