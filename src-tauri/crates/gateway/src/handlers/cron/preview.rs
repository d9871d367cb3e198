//! `cron.preview`: the next slots by the engine's own function, and a change of clocks in words.

use chrono::SecondsFormat;
use rouse_core::UnixMs;
use rouse_core::job::ScheduleSpec;
use rouse_core::schedule::{
    ClockNote, CronPattern, Transition, Zone, Zones, format_duration, instant_note,
    interval_effect, transitions_in,
};
use rouse_core::slots::Slots;

use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{CronPreviewParams, CronPreviewResult, PreviewSlot};

/// Changes of clocks that are put into words at most; of the others there is a number.
const MOST_NOTES: usize = 3;
/// Slots after a change whose times are looked for among those before it: the day of an hourly job.
const SLOTS_COMPARED: usize = 24;

pub(crate) async fn preview(
    context: &Context,
    params: CronPreviewParams,
) -> Result<CronPreviewResult, RpcError> {
    let (now, zones) = (context.clock.now(), context.clock.zones());
    let mut schedule = rouse_core::job::schedule_from_json(params.schedule, now, &zones)?;
    // How much later a job fires depends on its id. One that is new has none yet, so its times are shown without.
    let spread_ms = match params.id {
        Some(_) => None,
        None => schedule.jitter_ms.take().filter(|ms| *ms > 0),
    };
    let (slots, decided) = super::slots_of(context, &schedule, params.id.as_deref()).await?;
    let first = slots.first_plan(decided, now)?.next;
    let local = zones.local();
    let zone = zone_of(&schedule.spec, &zones).unwrap_or(local);
    let count = params.count.unwrap_or(5).clamp(1, 50) as usize;
    let next = following(&slots, first, count);
    let clock = Follows::of(&schedule.spec);
    let spread = spread_ms.map(|ms| format!("Each up to {} later", format_duration(i64::from(ms))));
    let changes = next.last().map(|last| clock.notes((zone, local), now, *last));
    Ok(CronPreviewResult {
        text: super::schedule_text(context, &schedule.spec).await?.0,
        zone: zone.name().to_owned(),
        local_zone: local.name().to_owned(),
        notes: spread.into_iter().chain(changes.into_iter().flatten()).collect(),
        next: next.into_iter().map(|at| slot(at, &slots, &clock, (zone, local))).collect(),
    })
}

/// The next slots of a job as it is written down, whether or not it is on.
pub(super) async fn of_job(
    context: &Context,
    job: &rouse_core::job::Job,
    count: usize,
) -> Result<(String, Vec<PreviewSlot>), RpcError> {
    let (now, zones) = (context.clock.now(), context.clock.zones());
    let slots = Slots::of_job(&job.schedule, &job.id, job.created_at, &zones)
        .map_err(|reason| RpcError::field("schedule", &reason))?;
    let local = zones.local();
    let zone = zone_of(&job.schedule.spec, &zones).unwrap_or(local);
    let clock = Follows::of(&job.schedule.spec);
    let first = job.state.next_run_at.filter(|first| *first > now);
    let first = first.or_else(|| slots.plan_after(job.state.decided, now).next);
    let next = following(&slots, first, count);
    let next = next.into_iter().map(|at| slot(at, &slots, &clock, (zone, local))).collect();
    Ok((super::schedule_text(context, &job.schedule.spec).await?.0, next))
}

fn following(slots: &Slots, first: Option<UnixMs>, count: usize) -> Vec<UnixMs> {
    std::iter::successors(first, |last| slots.next_after(*last)).take(count).collect()
}

/// What the clock does is said of the time that the trigger asks for: a job that is spread fires somewhat later.
fn slot(at: UnixMs, slots: &Slots, clock: &Follows, (zone, local): (Zone, Zone)) -> PreviewSlot {
    let written =
        |zone: Zone| at.to_utc().with_timezone(&zone).to_rfc3339_opts(SecondsFormat::Secs, false);
    let offset_ms = slots.offset_ms();
    let note = clock.note(zone, at.plus_ms(-offset_ms)).map(|note| match offset_ms {
        0 => note.to_string(),
        later @ ..1_000 => format!("{note}, and {} later", format_duration(later)),
        later => format!("{note}, and {} later", format_duration(later / 1_000 * 1_000)),
    });
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

/// How a schedule goes by the clock on the wall, whose changes it may have to be told of.
enum Follows {
    /// Times of the clock.
    Pattern(CronPattern),
    /// Elapsed time, in milliseconds: the times that the clock shows change with it.
    Elapsed(i64),
    /// One instant.
    Instant,
    /// Nothing.
    Nothing,
}

impl Follows {
    fn of(spec: &ScheduleSpec) -> Self {
        match spec {
            ScheduleSpec::Cron { expr, .. } => {
                CronPattern::parse(expr).map_or(Self::Nothing, Self::Pattern)
            }
            ScheduleSpec::Every { every_ms, .. } => Self::Elapsed(*every_ms),
            ScheduleSpec::At { .. } => Self::Instant,
            ScheduleSpec::Event(_) | ScheduleSpec::Webhook | ScheduleSpec::Manual => Self::Nothing,
        }
    }

    /// Why one slot is not simply the time that was asked for.
    fn note(&self, zone: Zone, at: UnixMs) -> Option<ClockNote> {
        match self {
            Self::Pattern(pattern) => pattern.clock_note(zone, at.0),
            Self::Instant => instant_note(zone, at.0),
            Self::Elapsed(_) | Self::Nothing => None,
        }
    }

    /// What the changes of the clock up to the last slot mean, in the job's zone and for who reads another clock. An
    /// interval is told only of those that it shows.
    fn notes(&self, (zone, local): (Zone, Zone), now: UnixMs, last: UnixMs) -> Vec<String> {
        let changes = |zone| transitions_in(zone, now.0, last.0.saturating_add(1));
        let of_job = changes(zone);
        let of_reader = if zone.name() == local.name() { Vec::new() } else { changes(local) };
        let here = of_reader.iter().filter_map(|change| {
            let by_job = of_job.iter().find(|other| other.at == change.at);
            Some((change.at, false, self.here_in_words(change, by_job, (zone, local))?))
        });
        let there = of_job.iter().filter_map(|change| {
            let (has_effect, words) = self.in_words(change)?;
            Some((change.at, has_effect, words))
        });
        let mut told: Vec<(i64, bool, String)> = there.chain(here).collect();
        told.sort_by_key(|(at, ..)| *at);
        let more = told.len().saturating_sub(MOST_NOTES);
        if more > 0 {
            // What moves or leaves out a slot is told before what only happens meanwhile.
            told.sort_by_key(|(_, has_effect, _)| !has_effect);
            told.truncate(MOST_NOTES);
            told.sort_by_key(|(at, ..)| *at);
        }
        let mut words: Vec<String> = told.into_iter().map(|(.., words)| words).collect();
        words.extend(match more {
            0 => None,
            1 => Some("And 1 more change of the clock".to_owned()),
            more => Some(format!("And {more} more changes of the clock")),
        });
        words
    }

    /// The change, and whether it has an effect on the slots.
    fn in_words(&self, change: &Transition) -> Option<(bool, String)> {
        match self {
            Self::Pattern(pattern) => Some(match pattern.effect_of(change) {
                Some(effect) => (true, format!("{change}; {effect}")),
                None => (false, change.to_string()),
            }),
            Self::Elapsed(every_ms) => interval_effect(change, *every_ms)
                .map(|effect| (true, format!("{change}; {effect}"))),
            Self::Instant | Self::Nothing => None,
        }
    }
    /// What a change of the reader's own clock means for a pattern of another zone, whose clock changes by `by_job` at the
    /// same instant; none when the pattern shows the same times here after it.
    fn here_in_words(
        &self,
        change: &Transition,
        by_job: Option<&Transition>,
        (zone, local): (Zone, Zone),
    ) -> Option<String> {
        let Self::Pattern(pattern) = self else { return None };
        let seconds = |change: &Transition| change.offset_after - change.offset_before;
        let later_ms = i64::from(seconds(change) - by_job.map_or(0, seconds)) * 1000;
        let next = |from: i64| pattern.next_after(zone, from);
        let slots = std::iter::successors(next(change.at - 1), |last| next(*last));
        let shows_the_same =
            |slot: i64| next(slot + later_ms - 1).is_some_and(|found| found == slot + later_ms);
        if slots.take(SLOTS_COMPARED).all(shows_the_same) {
            return None;
        }
        let (by, way) =
            (format_duration(later_ms.abs()), if later_ms > 0 { "later" } else { "earlier" });
        Some(format!(
            "{change} in {}; it goes by {}, so from then on it fires {by} {way} by your clock",
            local.name(),
            zone.name()
        ))
    }
}
