//! `cron.preview`: the next slots by the engine's own function, and a change of clocks in words.

use chrono::SecondsFormat;
use rouse_core::job::ScheduleSpec;
use rouse_core::schedule::{CronPattern, Zone, Zones, format_duration, transitions_in};
use rouse_core::slots::Slots;
use rouse_core::{JobId, UnixMs};

use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{CronPreviewParams, CronPreviewResult, PreviewSlot};

/// Changes of clocks that are put into words at most.
const MOST_NOTES: usize = 3;

pub(crate) async fn preview(
    context: &Context,
    params: CronPreviewParams,
) -> Result<CronPreviewResult, RpcError> {
    let (now, zones) = (context.clock.now(), context.clock.zones());
    let mut schedule = rouse_core::job::schedule_from_json(params.schedule, now, &zones)?;
    // How much later a job fires depends on its id. One that is new has none yet, so its times are shown without.
    let (id, spread_ms) = match params.id {
        Some(id) => (JobId::new(id), None),
        None => (JobId::new("new"), schedule.jitter_ms.take().filter(|ms| *ms > 0)),
    };
    let slots = Slots::compile(&schedule, &id, &zones)
        .map_err(|reason| RpcError::field("schedule", &reason))?;
    let local = zones.local();
    let zone = zone_of(&schedule.spec, &zones).unwrap_or(local);
    let count = params.count.unwrap_or(5).clamp(1, 50) as usize;
    let next = following(&slots, now, count);
    if next.is_empty() && matches!(schedule.spec, ScheduleSpec::At { .. }) {
        return Err(RpcError::field("schedule.atMs", "must be in the future"));
    }
    let pattern = pattern_of(&schedule.spec);
    let spread = spread_ms.map(|ms| format!("Each up to {} later", format_duration(i64::from(ms))));
    let changes = notes(pattern.as_ref(), zone, now, next.last().copied());
    Ok(CronPreviewResult {
        text: super::schedule_text(context, &schedule.spec).await?.0,
        zone: zone.name().to_owned(),
        local_zone: local.name().to_owned(),
        notes: spread.into_iter().chain(changes).collect(),
        next: next.into_iter().map(|at| slot(at, pattern.as_ref(), zone, local)).collect(),
    })
}

fn following(slots: &Slots, now: UnixMs, count: usize) -> Vec<UnixMs> {
    std::iter::successors(slots.next_after(now), |last| slots.next_after(*last))
        .take(count)
        .collect()
}

fn slot(at: UnixMs, pattern: Option<&CronPattern>, zone: Zone, local: Zone) -> PreviewSlot {
    let written =
        |zone: Zone| at.to_utc().with_timezone(&zone).to_rfc3339_opts(SecondsFormat::Secs, false);
    let note =
        pattern.and_then(|pattern| pattern.clock_note(zone, at.0)).map(|note| note.to_string());
    PreviewSlot { at_ms: at.0, job_time: written(zone), local_time: written(local), note }
}

fn zone_of(spec: &ScheduleSpec, zones: &Zones) -> Option<Zone> {
    match spec {
        ScheduleSpec::Cron { tz, .. } => zones.zone(tz),
        ScheduleSpec::At { tz, .. } => tz.as_ref().and_then(|tz| zones.zone(tz)),
        ScheduleSpec::Every { .. }
        | ScheduleSpec::Event(_)
        | ScheduleSpec::Webhook
        | ScheduleSpec::Manual => None,
    }
}

/// Only a cron schedule follows local time, so only there a change of clocks means anything.
fn pattern_of(spec: &ScheduleSpec) -> Option<CronPattern> {
    match spec {
        ScheduleSpec::Cron { expr, .. } => CronPattern::parse(expr).ok(),
        ScheduleSpec::At { .. }
        | ScheduleSpec::Every { .. }
        | ScheduleSpec::Event(_)
        | ScheduleSpec::Webhook
        | ScheduleSpec::Manual => None,
    }
}

fn notes(
    pattern: Option<&CronPattern>,
    zone: Zone,
    now: UnixMs,
    last: Option<UnixMs>,
) -> Vec<String> {
    let (Some(pattern), Some(last)) = (pattern, last) else { return Vec::new() };
    let changes = transitions_in(zone, now.0, last.0.saturating_add(1));
    let words = changes.iter().take(MOST_NOTES).map(|change| match pattern.effect_of(change) {
        Some(effect) => format!("{change}; {effect}"),
        None => change.to_string(),
    });
    words.collect()
}
