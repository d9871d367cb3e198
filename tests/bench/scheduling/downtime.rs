//! A minutely job after a year of downtime: the decision on its slots and their rows on disk.
//!
//! Pitfall: measuring only the decision; its rows are written before any run starts.

use rouse_core::decide::{ClaimPlan, DueSlot, Firing, PlannedRun, plan_claim};
use rouse_core::job::{Job, job_from_json};
use rouse_core::schedule::Zones;
use rouse_core::slots::Slots;
use rouse_core::{Run, RunId, RunState, UnixMs};
use rouse_store::Claim;
use serde_json::{Value, json};

use super::fixture::{SchedulerFixture, timed, timed_async};
use crate::report::{Report, millis_of};

/// 2026-01-01T00:00:00Z.
const NEW_YEAR: UnixMs = UnixMs(1_767_225_600_000);
const MINUTES: u32 = 366 * 24 * 60;

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let all = json!({ "misfire": { "mode": "runAll", "limit": 100 } });
    let (decided, stored, rows) = measure_year(all).await?;
    assert!(rows == 101, "a row per run and a summary row: {rows}");
    report.millis(
        "minutely job after a year of downtime: decision (100 catch-up runs)",
        decided,
        50.0,
    );
    report.millis("the same with the durable claim: 101 rows", decided + stored, 50.0);
    let (decided, stored, rows) = measure_year(json!({})).await?;
    assert!(rows == 1, "a single row by default: {rows}");
    report.millis("the same by default: one row", decided + stored, 50.0);
    Ok(())
}

/// The milliseconds of the decision and of the durable claim, and the number of rows.
async fn measure_year(policies: Value) -> anyhow::Result<(f64, f64, usize)> {
    let zones = Zones::built_in(chrono_tz::Europe::Berlin);
    let document = json!({
        "name": "Every minute",
        "schedule": { "kind": "cron", "expr": "* * * * *", "tz": "Europe/Berlin" },
        "payload": { "kind": "toolCall", "tool": "echo" },
        "policies": policies,
    });
    let mut job = job_from_json(document, NEW_YEAR, zones.clone())?;
    job.state.next_run_at = Some(NEW_YEAR);
    let fixture = SchedulerFixture::new(std::sync::Arc::new(|_| {})).await?;
    let job = fixture.store.insert_job(&job, NEW_YEAR).await?;
    let now = NEW_YEAR.plus_ms(i64::from(MINUTES - 1) * 60_000);
    let (plan, planned) = timed(|| {
        let slots = Slots::compile(&job.schedule, &job.id, &zones)?;
        let due = DueSlot {
            job: &job,
            slots: &slots,
            slot: NEW_YEAR,
            queued: 0,
            active: 0,
            last_run_at: None,
        };
        Ok::<_, String>(plan_claim(due, now, &Firing::On))
    });
    let ClaimPlan { runs, next_run_at, decided, .. } = plan.map_err(anyhow::Error::msg)?;
    let stand_for: u32 = runs.iter().map(|run| run.slot_count).sum();
    assert!(stand_for == MINUTES, "the rows stand for {stand_for} slots of {MINUTES}");
    let claim = Claim {
        job_id: job.id.clone(),
        slot_at: NEW_YEAR,
        next_run_at,
        decided,
        runs: runs.into_iter().map(|planned| planned_run(&job, planned, now)).collect(),
        coalesce_key: None,
        fired: Vec::new(),
    };
    let (claimed, stored) = timed_async(fixture.store.claim(&[claim], now)).await;
    Ok((millis_of(planned), millis_of(stored), claimed?.runs.len()))
}

fn planned_run(job: &Job, planned: PlannedRun, now: UnixMs) -> Run {
    Run {
        job_id: Some(job.id.clone()),
        job_name: job.name.clone(),
        slot_at: Some(planned.slot_at),
        first_slot_at: planned.first_slot_at,
        state: planned.state,
        reason: planned.reason,
        slot_count: planned.slot_count,
        finished_at: (planned.state == RunState::Missed).then_some(now),
        payload: json!({ "kind": "toolCall", "tool": "echo" }),
        ..Run::queued(RunId::generate(now), planned.trigger, now)
    }
}
