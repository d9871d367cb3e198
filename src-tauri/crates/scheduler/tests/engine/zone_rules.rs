//! New zone rules, a machine that moves to another zone, and clock jumps.

use std::collections::HashSet;

use chrono::DateTime;
use rouse_core::schedule::{ZoneFiles, ZoneSource, ZoneVersion, Zones};
use rouse_core::slots::{DecidedSlots, Plan, Slots};
use rouse_core::{Job, RunState, UnixMs};
use rouse_scheduler::SchedulerConfig;
use serde_json::{Value, json};

use crate::stage::{HOUR, MINUTE, SECOND, START, Stage, config, every};

const DAY: i64 = 24 * HOUR;

/// Two files of the release 2026f, in which Vancouver keeps summer time in November 2026.
struct Release2026f;

impl ZoneFiles for Release2026f {
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/zoneinfo/2026f");
        std::fs::read(std::path::Path::new(folder).join(name)).ok()
    }
}

pub(crate) fn newer() -> Zones {
    let version = ZoneVersion::parse("2026f").expect("a version");
    Zones::newest(ZoneSource { version, folder: Some("/zones".to_owned()) }, Box::new(Release2026f))
}

pub(crate) fn built_in() -> Zones {
    chrono_tz::UTC.into()
}

pub(crate) fn at(text: &str) -> UnixMs {
    UnixMs(DateTime::parse_from_rfc3339(text).expect("an instant").timestamp_millis())
}

pub(crate) fn cron(id: &str, expr: &str, tz: &str) -> Value {
    every(
        MINUTE,
        json!({ "id": id, "schedule": { "kind": "cron", "expr": expr, "tz": tz, "everyMs": null, "anchorMs": null } }),
    )
}

/// A scheduler at `now` with `zones`, and a job at 07:30 in Vancouver.
pub(crate) async fn vancouver(now: &str, zones: Zones) -> (Stage, Job) {
    let stage = Stage::with(SchedulerConfig { max_concurrent_runs: 50, ..config() }, false).await;
    stage.clock.set_zones(zones);
    stage.clock.set(at(now));
    stage.settle().await;
    let job = stage.add(cron("morning", "30 7 * * *", "America/Vancouver")).await;
    (stage, job)
}

pub(crate) async fn change_to(stage: &Stage, zones: Zones) {
    stage.clock.set_zones(zones);
    stage.handle.clock_changed().await.expect("notified");
    stage.settle().await;
}

pub(crate) async fn next(stage: &Stage, job: &Job) -> Option<UnixMs> {
    stage.stored(job).await.state.next_run_at
}

#[tokio::test]
async fn new_rules_move_the_next_slot() {
    let (stage, job) = vancouver("2026-11-10T12:00:00Z", built_in()).await;
    assert_eq!(next(&stage, &job).await, Some(at("2026-11-10T07:30:00-08:00")));
    change_to(&stage, newer()).await;
    assert_eq!(next(&stage, &job).await, Some(at("2026-11-10T07:30:00-07:00")));
    assert_eq!(stage.load().await, (0, 0));
    change_to(&stage, built_in()).await;
    assert_eq!(next(&stage, &job).await, Some(at("2026-11-10T07:30:00-08:00")));
    assert!(stage.runs_of(&job.id).await.is_empty(), "the new rules fire nothing");
}

#[tokio::test]
async fn time_skipped_by_new_rules_is_due_once() {
    let (stage, job) = vancouver("2026-11-10T14:45:00Z", built_in()).await;
    change_to(&stage, newer()).await;
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.slot_at, Some(at("2026-11-10T07:30:00-07:00")));
    assert_eq!(begun.run.slot_count, 1);
    begun.succeed();
    assert_eq!(next(&stage, &job).await, Some(at("2026-11-11T07:30:00-07:00")));
}

#[tokio::test]
async fn time_repeated_by_new_rules_does_not_fire_again() {
    let (stage, job) = vancouver("2026-11-10T14:00:00Z", newer()).await;
    stage.clock.advance_to(at("2026-11-10T14:30:00Z"));
    stage.begun.next().await.succeed();
    stage.pass(10 * MINUTE).await;
    change_to(&stage, built_in()).await;
    assert_eq!(next(&stage, &job).await, Some(at("2026-11-11T07:30:00-08:00")));
    assert_eq!(stage.runs_of(&job.id).await.len(), 1);
}

#[tokio::test]
async fn time_repeated_by_rules_and_clock_jump_fires_once() {
    for step in [-90 * MINUTE, -20 * MINUTE, 0, 5 * MINUTE] {
        let (stage, job) = vancouver("2026-11-10T14:00:00Z", newer()).await;
        stage.clock.advance_to(at("2026-11-10T14:30:00Z"));
        stage.begun.next().await.succeed();
        stage.pass(10 * MINUTE).await;
        change_to(&stage, built_in()).await;
        stage.clock.set(stage.now().plus_ms(step));
        stage.handle.clock_changed().await.expect("notified");
        stage.settle().await;
        let tomorrow = Some(at("2026-11-11T07:30:00-08:00"));
        assert_eq!(next(&stage, &job).await, tomorrow, "{step}");
        assert_eq!(stage.runs_of(&job.id).await.len(), 1);
    }
}

#[tokio::test]
async fn rollback_of_years_over_new_rules_replans() {
    let (stage, job) = vancouver("2030-11-10T14:00:00Z", newer()).await;
    change_to(&stage, built_in()).await;
    stage.clock.set(at("2026-11-10T14:00:00Z"));
    stage.handle.clock_changed().await.expect("notified");
    stage.settle().await;
    assert_eq!(next(&stage, &job).await, Some(at("2026-11-10T07:30:00-08:00")));
}

#[tokio::test]
async fn interval_pattern_follows_rules_interval_does_not() {
    let (stage, _) = vancouver("2026-11-10T12:10:00Z", built_in()).await;
    let pattern = stage.add(cron("pattern", "0 */2 * * *", "America/Vancouver")).await;
    let hourly = stage.add(every(HOUR, json!({}))).await;
    let before = next(&stage, &hourly).await;
    assert_eq!(next(&stage, &pattern).await, Some(at("2026-11-10T06:00:00-08:00")));
    change_to(&stage, newer()).await;
    assert_eq!(next(&stage, &pattern).await, Some(at("2026-11-10T06:00:00-07:00")));
    assert_eq!(next(&stage, &hourly).await, before);
}

/// The run of the slot starts and succeeds.
async fn check_slot_runs(stage: &Stage, slot: &str) {
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.slot_at, Some(at(slot)));
    let id = begun.run.id.clone();
    begun.succeed();
    stage.ended(&id).await;
}

#[tokio::test]
async fn rules_changed_while_off_replan_at_start() {
    let (stage, job) = vancouver("2026-11-10T12:00:00Z", built_in()).await;
    stage.clock.set_zones(newer());
    let stage = stage.killed_for(1_000).await;
    stage.settle().await;
    assert_eq!(next(&stage, &job).await, Some(at("2026-11-10T07:30:00-07:00")));
    assert!(stage.runs_of(&job.id).await.is_empty());
}

#[tokio::test]
async fn time_skipped_by_rules_while_off_is_due_once() {
    let (stage, job) = vancouver("2026-11-10T14:20:00Z", built_in()).await;
    stage.clock.set_zones(newer());
    let stage = stage.killed_for(25 * MINUTE).await;
    check_slot_runs(&stage, "2026-11-10T07:30:00-07:00").await;
    stage.settle().await;
    assert_eq!(next(&stage, &job).await, Some(at("2026-11-11T07:30:00-07:00")));
    let stage = stage.killed_for(HOUR).await;
    stage.settle().await;
    assert_eq!(stage.runs_of(&job.id).await.len(), 1);
}

#[tokio::test]
async fn time_repeated_by_rules_while_off_fires_once() {
    let (stage, job) = vancouver("2026-11-10T14:00:00Z", newer()).await;
    stage.clock.advance_to(at("2026-11-10T14:30:00Z"));
    check_slot_runs(&stage, "2026-11-10T07:30:00-07:00").await;
    stage.pass(5 * MINUTE).await;
    stage.clock.set_zones(built_in());
    let stage = stage.killed_for(5 * MINUTE).await;
    stage.settle().await;
    assert_eq!(next(&stage, &job).await, Some(at("2026-11-11T07:30:00-08:00")));
    // Nor after a clock jump.
    stage.clock.set(stage.now().plus_ms(-5 * MINUTE));
    stage.handle.clock_changed().await.expect("notified");
    stage.settle().await;
    assert_eq!(next(&stage, &job).await, Some(at("2026-11-11T07:30:00-08:00")));
    assert_eq!(stage.runs_of(&job.id).await.len(), 1);
}

async fn slots_of(stage: &Stage, job: &Job) -> HashSet<UnixMs> {
    stage.runs_of(&job.id).await.into_iter().filter_map(|run| run.slot_at).collect()
}

/// By the new rules, 08:00 is the instant of 07:00 by the old rules, which has fired.
#[tokio::test]
async fn time_moved_onto_a_fired_instant_fires_later() {
    let (stage, _) = vancouver("2026-11-10T14:50:00Z", built_in()).await;
    let job = stage.add(cron("hours", "0 7,8 * * *", "America/Vancouver")).await;
    stage.clock.advance_to(at("2026-11-10T15:00:00Z"));
    check_slot_runs(&stage, "2026-11-10T07:00:00-08:00").await;
    stage.clock.advance_to(at("2026-11-10T15:10:00Z"));
    change_to(&stage, newer()).await;
    let seven_and_eight =
        [at("2026-11-10T07:00:00-08:00"), at("2026-11-10T08:00:00.001-07:00")].into();
    assert_eq!(slots_of(&stage, &job).await, seven_and_eight);
    let tomorrow = Some(at("2026-11-11T07:00:00-07:00"));
    assert_eq!(next(&stage, &job).await, tomorrow);
    stage.clock.set(stage.now().plus_ms(-20 * MINUTE));
    stage.handle.clock_changed().await.expect("notified");
    stage.settle().await;
    stage.pass(30 * MINUTE).await;
    assert_eq!(next(&stage, &job).await, tomorrow);
    assert_eq!(slots_of(&stage, &job).await, seven_and_eight);
}

#[tokio::test]
async fn slot_due_by_old_rules_while_off_fires_once() {
    let (stage, job) = vancouver("2026-11-10T14:00:00Z", newer()).await;
    stage.clock.set_zones(built_in());
    let stage = stage.killed_for(HOUR).await;
    check_slot_runs(&stage, "2026-11-10T07:30:00-07:00").await;
    stage.settle().await;
    assert_eq!(next(&stage, &job).await, Some(at("2026-11-11T07:30:00-08:00")));
}

#[tokio::test]
async fn move_to_another_zone_moves_no_job() {
    let (stage, job) = vancouver("2026-11-10T12:00:00Z", built_in()).await;
    let before = next(&stage, &job).await;
    change_to(&stage, chrono_tz::Asia::Kathmandu.into()).await;
    assert_eq!(next(&stage, &job).await, before);
    let mut document = cron("new", "0 9 * * *", "");
    document["schedule"].as_object_mut().expect("an object").remove("tz");
    let new = stage.add(document).await;
    assert_eq!(next(&stage, &new).await, Some(at("2026-11-11T09:00:00+05:45")));
}

/// Clock jumps both ways, suspends and passing time in varying order: the next slot is always ahead and never farther
/// than the schedule's own, no slot has two rows, and none is missing.
#[tokio::test]
async fn clock_jumps_lose_and_double_no_slot() {
    for round in 0..6_i64 {
        let stage =
            Stage::with(SchedulerConfig { max_concurrent_runs: 50, ..config() }, false).await;
        let missed = json!({ "policies": { "misfire": { "mode": "skip" } } });
        let mut jobs = Vec::new();
        for (id, expr, tz) in [
            ("daily", "30 2 * * *", "Europe/Berlin"),
            ("quarter", "*/15 * * * *", "Australia/Lord_Howe"),
        ] {
            let mut document = cron(id, expr, tz);
            document["policies"] = missed["policies"].clone();
            jobs.push(stage.add(document).await);
        }
        let mut furthest = START;
        let steps = [SECOND, 90 * SECOND, 20 * MINUTE, 3 * HOUR, DAY, 40 * DAY, 400 * DAY];
        for (turn, step) in steps.iter().enumerate().map(|(turn, step)| (turn as i64, *step)) {
            match (turn + round) % 3 {
                0 => stage.clock.set(stage.now().plus_ms(step)),
                1 => stage.clock.set(stage.now().plus_ms(-step)),
                // Suspend: both clocks advance, and the system reports the resume.
                _ => {
                    stage.clock.advance(step.unsigned_abs());
                    stage.handle.clock_changed().await.expect("notified");
                }
            }
            stage.settle().await;
            stage.pass(16 * MINUTE).await;
            furthest = furthest.max(stage.now());
            for job in &jobs {
                check(&stage, job, furthest).await;
            }
        }
    }
}

async fn check(stage: &Stage, job: &Job, furthest: UnixMs) {
    let now = stage.now();
    let slots = Slots::compile(&job.schedule, &job.id, &built_in()).expect("compiles");
    let next = next(stage, job).await.expect("goes on");
    assert!(next > now, "{} was due at {next:?}, and now is {now:?}", job.id);
    assert!(Some(next) <= slots.next_after(now), "{} sleeps over a slot", job.id);
    let runs = stage.runs_of(&job.id).await;
    let instants: HashSet<UnixMs> = runs.iter().filter_map(|run| run.slot_at).collect();
    assert_eq!(instants.len(), runs.len(), "{}: a slot has two rows", job.id);
    assert!(runs.iter().all(|run| run.state != RunState::Cancelled));
    let first = slots.next_after(START).expect("a slot");
    if first <= furthest {
        let came = slots.passed(first, DecidedSlots::default(), furthest, 1);
        let stood_for: u32 = runs.iter().map(|run| run.slot_count).sum();
        assert!(
            stood_for >= came.count,
            "{}: {stood_for} of {} slots are on record",
            job.id,
            came.count
        );
        assert!(instants.contains(&came.newest[0]), "{}: the newest slot is missing", job.id);
    }
}

#[tokio::test]
async fn interval_keeps_its_slot_by_new_rules() {
    let stage = Stage::new().await;
    let interval =
        json!({ "kind": "every", "everyMs": HOUR, "anchorMs": START.0, "jitterMs": 30 * MINUTE });
    let job = stage.add(every(MINUTE, json!({ "id": "spread", "schedule": interval }))).await;
    let first = next(&stage, &job).await.expect("a slot");
    assert!(first.since(START) >= HOUR, "an interval goes by before the first run: {first:?}");
    assert!(first.since(START) < HOUR + 30 * MINUTE, "{first:?}");
    // The form of an earlier version, which counted the anchor itself.
    let early = first.plus_ms(-HOUR);
    let planned = stage.store.planned_jobs().await.expect("read").remove(0);
    let kept = (planned, Plan { next: Some(early), decided: DecidedSlots::default() });
    stage.store.save_plans(&[kept], START).await.expect("stored");
    change_to(&stage, newer()).await;
    assert_eq!(next(&stage, &job).await, Some(early));
}
