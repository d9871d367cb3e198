//! Accounting: every due slot has exactly one row, and every run ends.

use rouse_core::schedule::every_count_slots;
use rouse_core::time::Clock as _;
use rouse_core::{Outcome, RunState};
use rouse_scheduler::{ManualRunMode, SchedulerConfig};
use rouse_store::RunQuery;
use serde_json::{Value, json};

use crate::stage::{HOUR, MINUTE, SECOND, START, Stage, config, every};

/// FixedDice with a fixed seed, so that a failure can be repeated.
struct FixedDice(u64);

impl FixedDice {
    fn below(&mut self, sides: i64) -> i64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(self.0 >> 33).expect("31 bits") % sides
    }
}

const JOBS: [(i64, &str); 5] = [
    (MINUTE, r#"{}"#),
    (7 * MINUTE, r#"{ "misfire": { "mode": "skip" }, "overlap": "queue" }"#),
    (HOUR, r#"{ "misfire": { "mode": "runAll", "limit": 3 }, "overlap": "cancelOther" }"#),
    (
        90 * SECOND,
        r#"{ "misfire": { "maxLatenessSeconds": 300 }, "overlap": "parallel", "maxConcurrent": 2 }"#,
    ),
    (5 * MINUTE, r#"{ "cooldownSeconds": 900 }"#),
];

#[tokio::test]
async fn every_slot_is_accounted_for_once() {
    for seed in 0..4 {
        let mut dice = FixedDice(seed);
        let mut stage =
            Stage::with(SchedulerConfig { max_concurrent_runs: 3, ..config() }, false).await;
        for (every_ms, policies) in JOBS {
            let policies: Value = serde_json::from_str(policies).expect("JSON");
            stage.add(every(every_ms, json!({ "policies": policies }))).await;
        }
        for _ in 0..60 {
            stage = step(stage, &mut dice).await;
        }
        stage.handle.resume().await.expect("resumed");
        end_everything(&stage).await;
        check(&stage, seed).await;
    }
}

async fn step(stage: Stage, dice: &mut FixedDice) -> Stage {
    match dice.below(10) {
        0 | 1 => stage.pass(dice.below(20 * MINUTE)).await,
        2 => stage.pass(dice.below(3 * SECOND)).await,
        3 => return stage.killed_for(dice.below(3 * HOUR)).await,
        4 => {
            stage.clock.set(stage.clock.now().plus_ms(dice.below(2 * HOUR)));
            stage.settle().await;
        }
        5 => {
            let until = stage.clock.now().plus_ms(1 + dice.below(HOUR));
            stage.handle.pause((dice.below(2) == 0).then_some(until)).await.expect("paused");
        }
        6 => stage.handle.resume().await.expect("resumed"),
        7 => {
            let (every_ms, _) = JOBS[usize::try_from(dice.below(5)).expect("small")];
            let id = rouse_core::JobId::new(format!("every-{every_ms}"));
            stage.handle.run_now(&id, ManualRunMode::Force).await.expect("taken");
        }
        _ => {
            for begun in stage.begun.take_all() {
                let outcome = match dice.below(3) {
                    0 => Outcome::failed("no luck"),
                    1 => Outcome { is_transient: true, ..Outcome::failed("not yet") },
                    _ => Outcome::succeeded("Done."),
                };
                begun.try_end(outcome);
            }
            stage.settle().await;
        }
    }
    stage
}

async fn end_everything(stage: &Stage) {
    while stage.load().await != (0, 0) {
        for begun in stage.begun.take_all() {
            begun.try_end(Outcome::succeeded("Done."));
        }
        stage.settle().await;
    }
}

async fn check(stage: &Stage, seed: u64) {
    let now = stage.clock.now();
    for (every_ms, _) in JOBS {
        let id = rouse_core::JobId::new(format!("every-{every_ms}"));
        let query = RunQuery { job_id: Some(id), limit: 10_000, ..RunQuery::default() };
        let runs = stage.store.runs(&query).await.expect("read").runs;
        let of_slots = runs.iter().filter(|run| run.slot_at.is_some());
        let stood_for: u32 = of_slots.map(|run| run.slot_count).sum();
        let came = every_count_slots(START.0, every_ms, START.0, now.0, u32::MAX);
        assert_eq!(stood_for, came, "seed {seed}, every {every_ms}");
        for run in &runs {
            assert!(run.state.is_final(), "seed {seed}: {run:?}");
            let has_reason = run.reason.is_some();
            let needs_one = matches!(
                run.state,
                RunState::Skipped | RunState::Missed | RunState::Cancelled | RunState::Interrupted
            );
            assert_eq!(has_reason, needs_one, "seed {seed}: {run:?}");
        }
    }
}
