//! Settings of a job that do nothing beside its others, or work against them.
//!
//! Each is told at its own field, also while the job is off: it is no decision of somebody's but a mistake. What can never
//! mean anything is refused by `core`; these come to mean something with another setting.

use rouse_core::UnixMs;
use rouse_core::job::{Job, MisfireMode, Overlap, ScheduleSpec};
use rouse_core::schedule::format_duration;
use rouse_core::slots::Slots;

use super::warning;
use crate::wire::JobWarning;

/// How many of the slots ahead are looked at.
const AHEAD: usize = 10;

pub(super) fn without_effect(job: &Job, slots: Option<&Slots>, now: UnixMs) -> Vec<JobWarning> {
    let apart = slots.and_then(|slots| closest(slots, now));
    [concurrent(job), limit(job), jitter(job), cooldown(job, apart)].into_iter().flatten().collect()
}

fn concurrent(job: &Job) -> Option<JobWarning> {
    let is_idle = job.policies.overlap != Overlap::Parallel;
    let what = "This does nothing unless runs that overlap are `parallel`.";
    job.policies
        .max_concurrent
        .filter(|_| is_idle)
        .map(|_| warning("policies.maxConcurrent", what.to_owned()))
}

fn limit(job: &Job) -> Option<JobWarning> {
    let misfire = &job.policies.misfire;
    let is_idle = misfire.mode != MisfireMode::RunAll;
    let what = "This does nothing unless all missed runs are made up for (`runAll`).";
    misfire.limit.filter(|_| is_idle).map(|_| warning("policies.misfire.limit", what.to_owned()))
}

fn jitter(job: &Job) -> Option<JobWarning> {
    let ScheduleSpec::Every { every_ms, .. } = job.schedule.spec else { return None };
    let jitter_ms = i64::from(job.schedule.jitter_ms?);
    let every = format_duration(every_ms);
    let what = format!("It fires every {every}, so a longer jitter spreads it no further.");
    (jitter_ms > every_ms).then(|| warning("schedule.jitterMs", what))
}

fn cooldown(job: &Job, apart: Option<i64>) -> Option<JobWarning> {
    let (cooldown_ms, apart) = (i64::from(job.policies.cooldown_seconds?) * 1_000, apart?);
    let what = format!(
        "Its times are {} apart and it rests for {} after a start, so those that come meanwhile are skipped.",
        format_duration(apart),
        format_duration(cooldown_ms)
    );
    (cooldown_ms > apart).then(|| warning("policies.cooldownSeconds", what))
}

/// How far the two of the slots ahead are apart that are closest together.
fn closest(slots: &Slots, now: UnixMs) -> Option<i64> {
    let ahead = std::iter::successors(slots.next_after(now), |last| slots.next_after(*last));
    let ahead: Vec<UnixMs> = ahead.take(AHEAD).collect();
    ahead.windows(2).map(|pair| pair[1].since(pair[0])).min()
}
