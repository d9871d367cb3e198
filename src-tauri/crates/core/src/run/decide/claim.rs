//! The runs of a due slot: misfire, overlap, cooldown and the global switches.
//!
//! Owns the order of checks: may anything fire; how many slots have passed, and how late; does a run of the job still go.
//! Every slot gets a row, alone or in a row that covers several, and `next_run_at` is never in the past.
//! Pitfall: letting catch-up runs skip each other; runs of the same claim wait for each other.

use crate::job::{Job, MisfireMode, Overlap};
use crate::schedule::format_duration;
use crate::slots::{DecidedSlots, PassedSlots, Plan, Slots};
use crate::{RunState, RunTrigger, UnixMs};

/// The maximum lateness of an on-time slot (Quartz's default misfire threshold).
const ON_TIME_MS: i64 = 60_000;
/// A run starts some milliseconds after the slot. So that a cooldown as long as the interval does not swallow the next
/// slot, the slot may come this much (or a tenth of a short cooldown) early.
const COOLDOWN_SLACK_MS: i64 = 1_000;
/// The reason of a missed slot without catch-up.
const PASSED: &str = "Passed while nothing could fire";
/// The maximum queued runs of a job with `overlap: queue`.
const QUEUE_BOUND: u32 = 10;
/// The default of `misfire.limit`.
const DEFAULT_LIMIT: u32 = 10;

/// Whether runs may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Firing {
    /// Yes.
    On,
    /// No: slots are skipped with this reason.
    Off(String),
    /// No: the database was restored from an older state, so it is unknown whether these slots ran. The slots are
    /// missed with this reason.
    Restored(String),
}

/// A job with a due next slot.
#[derive(Debug, Clone, Copy)]
pub struct DueSlot<'a> {
    /// The job.
    pub job: &'a Job,
    /// The compiled schedule.
    pub slots: &'a Slots,
    /// The due slot.
    pub slot: UnixMs,
    /// Queued runs; for a one-shot only runs of the slot, which a manual run does not take.
    pub queued: u32,
    /// Active runs, likewise. A parked run does not count.
    pub active: u32,
    /// When the newest run that counts for the cooldown started.
    pub last_run_at: Option<UnixMs>,
}

/// The present runs of a job.
#[derive(Clone, Copy)]
pub(super) struct JobLoad<'a> {
    pub(super) job: &'a Job,
    pub(super) queued: u32,
    pub(super) active: u32,
    /// When the previous run started.
    pub(super) last_run_at: Option<UnixMs>,
    /// Whether the next run comes from a slot, like the previous run.
    pub(super) has_slots: bool,
}

impl<'a> DueSlot<'a> {
    const fn load(&self) -> JobLoad<'a> {
        let Self { job, queued, active, last_run_at, .. } = *self;
        JobLoad { job, queued, active, last_run_at, has_slots: true }
    }
}

/// A run to be inserted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedRun {
    /// The slot.
    pub slot_at: UnixMs,
    /// The oldest slot, when there are several.
    pub first_slot_at: Option<UnixMs>,
    /// The trigger.
    pub trigger: RunTrigger,
    /// `Queued`, `Skipped` or `Missed`.
    pub state: RunState,
    /// Why the run does not start.
    pub reason: Option<String>,
    /// The number of slots.
    pub slot_count: u32,
}

impl PlannedRun {
    /// The same for all slots since `first`.
    fn since(self, first: UnixMs) -> Self {
        let first_slot_at = Some(first).filter(|first| *first < self.slot_at);
        Self { first_slot_at, ..self }
    }
}

/// The changes of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimPlan {
    /// The runs, oldest slot first; at least 1.
    pub runs: Vec<PlannedRun>,
    /// The slot after the claimed slots.
    pub next_run_at: Option<UnixMs>,
    /// The decided slots of the job afterwards.
    pub decided: DecidedSlots,
    /// Whether the job's other runs must be cancelled first.
    pub cancel_others: bool,
}

/// Plans the runs of a due slot and of the slots since then up to `now`.
#[must_use]
pub fn plan_claim(due: DueSlot<'_>, now: UnixMs, firing: &Firing) -> ClaimPlan {
    let most = match due.job.policies.misfire.mode {
        MisfireMode::RunAll => due.job.policies.misfire.limit.unwrap_or(DEFAULT_LIMIT) as usize,
        MisfireMode::Skip | MisfireMode::RunOnce => 1,
    };
    // One slot more than can run, so that the row of the older slots has a separate slot.
    let decided = due.job.state.decided;
    let passed = due.slots.passed(due.slot, decided, now, most + 1);
    let (runs, cancel_others) = match firing {
        Firing::Off(reason) => (one_row(RunState::Skipped, &passed, due.slot, reason), false),
        Firing::Restored(reason) => (one_row(RunState::Missed, &passed, due.slot, reason), false),
        Firing::On => {
            let mut runs = catch_up(due.job, due.slot, &passed, most, now);
            let cancel_others = apply_overlap(due.load(), now, &mut runs);
            (merge_rows(runs), cancel_others)
        }
    };
    let Plan { next: next_run_at, decided } = due.slots.plan_after_claim(decided, due.slot, now);
    ClaimPlan { runs, next_run_at, decided, cancel_others }
}

/// A single row for all passed slots.
fn one_row(state: RunState, passed: &PassedSlots, first: UnixMs, reason: &str) -> Vec<PlannedRun> {
    let newest = *passed.newest.last().expect("BUG: a due slot has passed");
    vec![unfired_run(state, newest, passed.count, reason.to_owned()).since(first)]
}

/// The runs by misfire policy, before overlap: the newest slots that are not too late, and a single row for all earlier
/// slots.
fn catch_up(
    job: &Job,
    first: UnixMs,
    passed: &PassedSlots,
    most: usize,
    now: UnixMs,
) -> Vec<PlannedRun> {
    let newest_first = passed.newest.iter().rev();
    let on_time =
        newest_first.take(most).take_while(|slot| too_late(job, **slot, PASSED, now).is_none());
    let on_time = on_time.count();
    let (older, fitting) = passed.newest.split_at(passed.newest.len() - on_time);
    if let ([.., newest], MisfireMode::RunOnce) = (fitting, job.policies.misfire.mode) {
        return vec![firing_run(*newest, passed.count, now).since(first)];
    }
    // The oldest row covers all slots without a row of their own.
    let rows = u32::try_from(on_time + usize::from(!older.is_empty())).unwrap_or(u32::MAX);
    let mut slot_count = passed.count.saturating_sub(rows).saturating_add(1);
    let mut of_row = || std::mem::replace(&mut slot_count, 1);
    let missed = older.last().map(|slot| missed_run(job, *slot, of_row(), now).since(first));
    let fires: Vec<_> = fitting.iter().map(|slot| firing_run(*slot, of_row(), now)).collect();
    missed.into_iter().chain(fires).collect()
}

fn missed_run(job: &Job, slot: UnixMs, slot_count: u32, now: UnixMs) -> PlannedRun {
    let reason = too_late(job, slot, PASSED, now).unwrap_or_else(|| {
        let reason = match job.policies.misfire.mode {
            MisfireMode::RunAll => "Beyond the catch-up limit",
            MisfireMode::Skip | MisfireMode::RunOnce => PASSED,
        };
        reason.to_owned()
    });
    unfired_run(RunState::Missed, slot, slot_count, reason)
}

/// Why a slot is too late at `now`, with `skipped` as the reason of a job without catch-up; none when in time.
pub(super) fn too_late(job: &Job, slot: UnixMs, skipped: &str, now: UnixMs) -> Option<String> {
    let misfire = &job.policies.misfire;
    let late = now.since(slot);
    if let Some(most) = misfire.max_lateness_seconds.map(|s| i64::from(s) * 1_000)
        && late > most
    {
        return Some(format!("Later than the {} allowed", format_duration(most)));
    }
    (misfire.mode == MisfireMode::Skip && late > ON_TIME_MS).then(|| skipped.to_owned())
}

/// Merges consecutive skipped slots with the same reason into a single row.
fn merge_rows(runs: Vec<PlannedRun>) -> Vec<PlannedRun> {
    let mut rows: Vec<PlannedRun> = Vec::with_capacity(runs.len());
    for run in runs {
        let is_alike = |before: &&mut PlannedRun| {
            run.state == RunState::Skipped
                && (before.state, &before.reason) == (run.state, &run.reason)
        };
        match rows.last_mut().filter(is_alike) {
            Some(row) => {
                let first = row.first_slot_at.unwrap_or(row.slot_at);
                let slot_count = row.slot_count.saturating_add(run.slot_count);
                *row = PlannedRun { slot_count, ..run }.since(first);
            }
            None => rows.push(run),
        }
    }
    rows
}

/// The runs of a claim that may be queued.
enum Admission {
    All,
    Newest { most: usize, reason: String },
    Nothing { reason: String },
}

/// Applies cooldown and overlap policy. Returns whether the job's other runs must be cancelled.
pub(super) fn apply_overlap(load: JobLoad<'_>, now: UnixMs, runs: &mut [PlannedRun]) -> bool {
    let fires = runs.iter().any(|run| run.state == RunState::Queued);
    let admission = admission(load, now);
    let admits = !matches!(admission, Admission::Nothing { .. });
    match admission {
        Admission::All => {}
        Admission::Newest { most, reason } => {
            let older = runs.len().saturating_sub(most);
            skip(&mut runs[..older], &reason);
        }
        Admission::Nothing { reason } => skip(runs, &reason),
    }
    let is_busy = load.active + load.queued > 0;
    load.job.policies.overlap == Overlap::CancelOther && fires && admits && is_busy
}

fn admission(load: JobLoad<'_>, now: UnixMs) -> Admission {
    let policies = &load.job.policies;
    let busy = load.active + load.queued;
    let unless = |refused: bool, reason: &str| {
        if refused { Admission::Nothing { reason: reason.to_owned() } } else { Admission::All }
    };
    let by_overlap = match policies.overlap {
        Overlap::CancelOther => {
            Admission::Newest { most: 1, reason: "Replaced by a newer slot".to_owned() }
        }
        Overlap::Skip => unless(
            busy > 0,
            match load.active {
                0 => "The previous run was still queued",
                _ => "The previous run was still running",
            },
        ),
        Overlap::Queue => {
            let reason = format!("No more than {QUEUE_BOUND} runs may wait");
            match QUEUE_BOUND.saturating_sub(load.queued) {
                0 => Admission::Nothing { reason },
                room => Admission::Newest { most: room as usize, reason },
            }
        }
        Overlap::Parallel => {
            let most = policies.max_concurrent.unwrap_or(2);
            unless(
                busy >= most,
                match (load.active, load.queued) {
                    (_, 0) => "The maximum number of runs was running",
                    (0, _) => "The maximum number of runs was queued",
                    (_, _) => "The maximum number of runs was running or queued",
                },
            )
        }
    };
    let Some(seconds) = policies.cooldown_seconds.filter(|seconds| *seconds > 0) else {
        return by_overlap;
    };
    let cooldown_ms = i64::from(seconds) * 1_000;
    let reason = format!("Less than {} after the run before", format_duration(cooldown_ms));
    if load.queued > 0 || is_cooling_down(load, cooldown_ms, now) {
        return Admission::Nothing { reason };
    }
    match by_overlap {
        narrow @ (Admission::Nothing { .. } | Admission::Newest { most: 1, .. }) => narrow,
        Admission::All | Admission::Newest { .. } => Admission::Newest { most: 1, reason },
    }
}

/// A last run in the future means a clock rollback and is ignored.
fn is_cooling_down(load: JobLoad<'_>, cooldown_ms: i64, now: UnixMs) -> bool {
    let Some(since) = load.last_run_at.map(|at| now.since(at)) else { return false };
    let slack = if load.has_slots { COOLDOWN_SLACK_MS.min(cooldown_ms / 10) } else { 0 };
    (0..cooldown_ms - slack).contains(&since)
}

fn skip(runs: &mut [PlannedRun], reason: &str) {
    for run in runs.iter_mut().filter(|run| run.state == RunState::Queued) {
        (run.state, run.reason) = (RunState::Skipped, Some(reason.to_owned()));
    }
}

fn firing_run(slot_at: UnixMs, slot_count: u32, now: UnixMs) -> PlannedRun {
    let late = now.since(slot_at) > ON_TIME_MS || slot_count > 1;
    let trigger = if late { RunTrigger::CatchUp } else { RunTrigger::Schedule };
    let state = RunState::Queued;
    PlannedRun { slot_at, first_slot_at: None, trigger, state, reason: None, slot_count }
}

fn unfired_run(state: RunState, slot_at: UnixMs, slot_count: u32, reason: String) -> PlannedRun {
    let (first_slot_at, trigger) = (None, RunTrigger::Schedule);
    PlannedRun { slot_at, first_slot_at, trigger, state, reason: Some(reason), slot_count }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{job, job_with};
    use super::*;
    use crate::job::{Misfire, Policies};
    use RunState::{Missed, Queued, Skipped};
    use RunTrigger::{CatchUp, Schedule};

    const MINUTE: i64 = 60_000;

    fn plan_with(
        job: &Job,
        slot: i64,
        now: i64,
        (queued, active): (u32, u32),
        firing: &Firing,
    ) -> ClaimPlan {
        let slots =
            Slots::compile(&job.schedule, &job.id, &chrono_tz::UTC.into()).expect("compiles");
        plan_claim(
            DueSlot {
                job,
                slots: &slots,
                slot: UnixMs(slot),
                queued,
                active,
                last_run_at: job.state.last_run_at,
            },
            UnixMs(now),
            firing,
        )
    }

    /// The slots in minutes: (slot, state, trigger, slot count).
    fn rows(plan: &ClaimPlan) -> Vec<(i64, RunState, RunTrigger, u32)> {
        plan.runs
            .iter()
            .map(|run| (run.slot_at.0 / MINUTE, run.state, run.trigger, run.slot_count))
            .collect()
    }

    fn claimed(job: &Job, slot: i64, now: i64) -> Vec<(i64, RunState, RunTrigger, u32)> {
        rows(&plan_with(job, slot, now, (0, 0), &Firing::On))
    }

    fn misfiring(mode: MisfireMode, limit: Option<u32>, max_lateness_seconds: Option<u32>) -> Job {
        job_with(|policies| {
            policies.misfire = Misfire { mode, limit, max_lateness_seconds, ..Misfire::default() }
        })
    }

    fn reason(plan: &ClaimPlan, index: usize) -> &str {
        plan.runs[index].reason.as_deref().unwrap_or_default()
    }

    #[test]
    fn on_time_slot_fires() {
        let plan = plan_with(&job(), MINUTE, MINUTE + 1, (0, 0), &Firing::On);
        assert_eq!(rows(&plan), [(1, Queued, Schedule, 1)]);
        assert_eq!(plan.next_run_at, Some(UnixMs(2 * MINUTE)));
        assert!(!plan.cancel_others);
    }

    #[test]
    fn next_slot_is_never_in_the_past() {
        for late in [0, 1, MINUTE - 1, MINUTE, 90 * MINUTE, 400 * 1440 * MINUTE] {
            let now = MINUTE + late;
            let next = plan_with(&job(), MINUTE, now, (0, 0), &Firing::On).next_run_at;
            assert!(next.is_some_and(|next| next.0 > now), "{late}");
        }
    }

    #[test]
    fn run_once_covers_all_passed_slots() {
        let once = misfiring(MisfireMode::RunOnce, None, None);
        assert_eq!(claimed(&once, MINUTE, MINUTE + 59_000), [(1, Queued, Schedule, 1)]);
        assert_eq!(claimed(&once, MINUTE, 2 * MINUTE), [(2, Queued, CatchUp, 2)]);
        assert_eq!(claimed(&once, MINUTE, 60 * MINUTE), [(60, Queued, CatchUp, 60)]);
    }

    #[test]
    fn late_single_slot_is_a_catch_up() {
        let mut daily = job();
        let expr = "0 9 * * *".to_owned();
        daily.schedule.spec = crate::job::ScheduleSpec::Cron { expr, tz: "UTC".to_owned() };
        let nine = 9 * 60 * MINUTE;
        assert_eq!(claimed(&daily, nine, nine + 60_000), [(540, Queued, Schedule, 1)]);
        assert_eq!(claimed(&daily, nine, nine + 60_001), [(540, Queued, CatchUp, 1)]);
    }

    #[test]
    fn skip_misses_late_slots_and_fires_on_time_ones() {
        let skip = misfiring(MisfireMode::Skip, None, None);
        assert_eq!(claimed(&skip, MINUTE, MINUTE + 5), [(1, Queued, Schedule, 1)]);
        assert_eq!(
            claimed(&skip, MINUTE, 10 * MINUTE + 5),
            [(9, Missed, Schedule, 9), (10, Queued, Schedule, 1)]
        );
        let mut hourly = skip;
        hourly.schedule.spec =
            crate::job::ScheduleSpec::Every { every_ms: 60 * MINUTE, anchor: UnixMs(0) };
        let plan = plan_with(&hourly, 60 * MINUTE, 150 * MINUTE, (0, 0), &Firing::On);
        assert_eq!(rows(&plan), [(120, Missed, Schedule, 2)]);
        assert_eq!(reason(&plan, 0), "Passed while nothing could fire");
    }

    #[test]
    fn run_all_fires_the_newest_and_misses_the_rest() {
        let all = misfiring(MisfireMode::RunAll, Some(3), None);
        let plan = plan_with(&all, MINUTE, 6 * MINUTE, (0, 0), &Firing::On);
        assert_eq!(
            rows(&plan),
            [
                (3, Missed, Schedule, 3),
                (4, Queued, CatchUp, 1),
                (5, Queued, Schedule, 1),
                (6, Queued, Schedule, 1)
            ]
        );
        assert_eq!(reason(&plan, 0), "Beyond the catch-up limit");
        assert_eq!(
            claimed(&all, MINUTE, 2 * MINUTE),
            [(1, Queued, Schedule, 1), (2, Queued, Schedule, 1)]
        );
        let ten_by_default = misfiring(MisfireMode::RunAll, None, None);
        assert_eq!(claimed(&ten_by_default, MINUTE, 60 * MINUTE).len(), 11);
    }

    #[test]
    fn slot_over_maximum_lateness_is_missed_in_any_mode() {
        let all = misfiring(MisfireMode::RunAll, Some(5), Some(90));
        let plan = plan_with(&all, MINUTE, 6 * MINUTE, (0, 0), &Firing::On);
        assert_eq!(
            rows(&plan),
            [(4, Missed, Schedule, 4), (5, Queued, Schedule, 1), (6, Queued, Schedule, 1)]
        );
        assert_eq!(reason(&plan, 0), "Later than the 1 min 30 s allowed");

        let once = misfiring(MisfireMode::RunOnce, None, Some(10));
        let plan = plan_with(&once, MINUTE, 3 * MINUTE + 11_000, (0, 0), &Firing::On);
        assert_eq!(rows(&plan), [(3, Missed, Schedule, 3)]);
        assert_eq!(claimed(&once, MINUTE, 3 * MINUTE + 9_000), [(3, Queued, CatchUp, 3)]);
    }

    #[test]
    fn every_passed_slot_has_exactly_one_row() {
        for mode in [MisfireMode::Skip, MisfireMode::RunOnce, MisfireMode::RunAll] {
            for limit in [1, 2, 7, 100] {
                for lateness in [None, Some(1), Some(200), Some(100_000)] {
                    for passed in [1, 2, 3, 8, 500] {
                        let job = misfiring(mode, Some(limit), lateness);
                        let runs = claimed(&job, MINUTE, passed * MINUTE + 2_000);
                        let sum: u32 = runs.iter().map(|run| run.3).sum();
                        assert_eq!(i64::from(sum), passed, "{mode:?} {limit} {lateness:?}");
                        assert!(
                            runs.is_sorted_by(|a, b| a.0 < b.0),
                            "slots are distinct: {runs:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn slots_are_skipped_while_firing_is_off() {
        let off = Firing::Off("Everything was paused".to_owned());
        let plan = plan_with(&job(), MINUTE, 5 * MINUTE, (3, 1), &off);
        assert_eq!(rows(&plan), [(5, Skipped, Schedule, 5)]);
        assert_eq!(reason(&plan, 0), "Everything was paused");
        assert_eq!(plan.next_run_at, Some(UnixMs(6 * MINUTE)));
    }

    #[test]
    fn overlap_policy_applies_to_a_running_job() {
        let parallel = |most| {
            move |policies: &mut Policies| {
                (policies.overlap, policies.max_concurrent) = (Overlap::Parallel, most);
            }
        };
        let with = |overlap| move |policies: &mut Policies| policies.overlap = overlap;
        let state = |job: &Job, others| {
            let plan = plan_with(job, MINUTE, MINUTE, others, &Firing::On);
            (plan.runs[0].state, plan.cancel_others)
        };
        for (job, others, expected) in [
            (job_with(with(Overlap::Skip)), (0, 0), (Queued, false)),
            (job_with(with(Overlap::Skip)), (0, 1), (Skipped, false)),
            (job_with(with(Overlap::Skip)), (1, 0), (Skipped, false)),
            (job_with(with(Overlap::Queue)), (9, 1), (Queued, false)),
            (job_with(with(Overlap::Queue)), (10, 1), (Skipped, false)),
            (job_with(parallel(None)), (0, 1), (Queued, false)),
            (job_with(parallel(None)), (1, 1), (Skipped, false)),
            (job_with(parallel(Some(3))), (1, 1), (Queued, false)),
            (job_with(with(Overlap::CancelOther)), (0, 0), (Queued, false)),
            (job_with(with(Overlap::CancelOther)), (0, 1), (Queued, true)),
            (job_with(with(Overlap::CancelOther)), (1, 0), (Queued, true)),
        ] {
            assert_eq!(state(&job, others), expected, "{:?} {others:?}", job.policies.overlap);
        }
    }

    #[test]
    fn skip_reason_names_active_or_queued_runs() {
        let skip = job_with(|policies| policies.overlap = Overlap::Skip);
        let parallel = job_with(|policies| policies.overlap = Overlap::Parallel);
        for (job, others, expected) in [
            (&skip, (0, 1), "The previous run was still running"),
            (&skip, (1, 1), "The previous run was still running"),
            (&skip, (1, 0), "The previous run was still queued"),
            (&parallel, (0, 2), "The maximum number of runs was running"),
            (&parallel, (1, 1), "The maximum number of runs was running or queued"),
            (&parallel, (2, 0), "The maximum number of runs was queued"),
        ] {
            let plan = plan_with(job, MINUTE, MINUTE, others, &Firing::On);
            assert_eq!(reason(&plan, 0), expected, "{others:?}");
        }
    }

    #[test]
    fn runs_of_one_claim_do_not_skip_each_other() {
        for overlap in [Overlap::Skip, Overlap::Parallel] {
            let mut all = misfiring(MisfireMode::RunAll, Some(20), None);
            all.policies.overlap = overlap;
            let runs = claimed(&all, MINUTE, 20 * MINUTE);
            assert!(runs.iter().all(|run| run.1 == Queued), "{overlap:?}");
        }
        let mut all = misfiring(MisfireMode::RunAll, Some(3), None);
        all.policies.overlap = Overlap::CancelOther;
        let states: Vec<_> = claimed(&all, MINUTE, 3 * MINUTE).iter().map(|run| run.1).collect();
        assert_eq!(states, [Skipped, Queued]);
    }

    #[test]
    fn claim_keeps_the_queue_bound() {
        let mut all = misfiring(MisfireMode::RunAll, Some(100), None);
        all.policies.overlap = Overlap::Queue;
        let plan = plan_with(&all, MINUTE, 60 * MINUTE, (9, 1), &Firing::On);
        assert_eq!(rows(&plan), [(59, Skipped, Schedule, 59), (60, Queued, Schedule, 1)]);
        assert_eq!(reason(&plan, 0), "No more than 10 runs may wait");
        assert_eq!(plan.runs[0].first_slot_at, Some(UnixMs(MINUTE)));
        let plan = plan_with(&all, MINUTE, 200 * MINUTE, (0, 0), &Firing::On);
        let fires = plan.runs.iter().filter(|run| run.state == Queued).count();
        let (missed, skipped) = (&rows(&plan)[0], &rows(&plan)[1]);
        assert_eq!((missed.1, missed.3, skipped.1, skipped.3), (Missed, 100, Skipped, 90));
        assert_eq!((fires, plan.runs.len()), (10, 12));
        let plan = plan_with(&all, MINUTE, 4 * MINUTE, (10, 0), &Firing::On);
        assert_eq!(rows(&plan), [(4, Skipped, Schedule, 4)]);
    }

    #[test]
    fn missed_slot_cancels_no_run() {
        let mut late = misfiring(MisfireMode::RunOnce, None, Some(1));
        late.policies.overlap = Overlap::CancelOther;
        let plan = plan_with(&late, MINUTE, MINUTE + 30_000, (0, 1), &Firing::On);
        assert_eq!((plan.runs[0].state, plan.cancel_others), (Missed, false));
    }

    #[test]
    fn cooldown_separates_runs() {
        let cooling = |last: Option<i64>| {
            let mut job = job_with(|policies| policies.cooldown_seconds = Some(300));
            job.state.last_run_at = last.map(UnixMs);
            job
        };
        let state = |job: &Job, queued| {
            plan_with(job, 10 * MINUTE, 10 * MINUTE, (queued, 0), &Firing::On).runs[0].state
        };
        assert_eq!(state(&cooling(None), 0), Queued);
        assert_eq!(state(&cooling(Some(6 * MINUTE)), 0), Skipped);
        assert_eq!(state(&cooling(Some(5 * MINUTE)), 0), Queued);
        assert_eq!(state(&cooling(Some(5 * MINUTE + 4)), 0), Queued, "started 4 ms after the slot");
        assert_eq!(state(&cooling(Some(99 * MINUTE)), 0), Queued, "the clock was set back");

        let mut queues = cooling(None);
        queues.policies.overlap = Overlap::Queue;
        assert_eq!(state(&queues, 1), Skipped, "the queued run would start just before");
        let plan =
            plan_with(&cooling(Some(6 * MINUTE)), 10 * MINUTE, 10 * MINUTE, (0, 0), &Firing::On);
        assert_eq!(reason(&plan, 0), "Less than 5 min after the run before");
    }

    /// A run starts some milliseconds after the slot, so the next slot may come a little early, and never much.
    #[test]
    fn short_cooldown_applies() {
        for (seconds, least) in [(1_u32, 900), (2, 1_800), (5, 4_500), (10, 9_000), (60, 59_000)] {
            let mut job = job_with(|policies| policies.cooldown_seconds = Some(seconds));
            job.state.last_run_at = Some(UnixMs(10 * MINUTE));
            let state = |since| {
                let now = 10 * MINUTE + since;
                let mut run = [firing_run(UnixMs(now), 1, UnixMs(now))];
                let last_run_at = job.state.last_run_at;
                let load =
                    JobLoad { job: &job, queued: 0, active: 0, last_run_at, has_slots: true };
                apply_overlap(load, UnixMs(now), &mut run);
                run[0].state
            };
            assert_eq!((state(least - 1), state(least)), (Skipped, Queued), "{seconds} s");
        }
    }

    #[test]
    fn cooldown_admits_one_run_of_a_claim() {
        let mut all = misfiring(MisfireMode::RunAll, Some(3), None);
        all.policies.cooldown_seconds = Some(30);
        let states: Vec<_> = claimed(&all, MINUTE, 3 * MINUTE).iter().map(|run| run.1).collect();
        assert_eq!(states, [Skipped, Queued]);
    }
}
