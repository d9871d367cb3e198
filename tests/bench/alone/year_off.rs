//! A minutely job on a machine that was off for a year.

use rouse_core::decide::{Due, Firing, plan_claim};
use rouse_core::job::job_from_json;
use rouse_core::schedule::Zones;
use rouse_core::slots::Slots;
use rouse_core::{RunState, UnixMs};
use serde_json::json;

use super::stage::timed;
use crate::report::Report;

/// 2026-01-01T00:00:00Z.
const NEW_YEAR: UnixMs = UnixMs(1_767_225_600_000);
const MINUTES: u32 = 366 * 24 * 60;

pub(crate) fn measure(report: &mut Report) -> anyhow::Result<()> {
    let zones = Zones::built_in(chrono_tz::Europe::Berlin);
    let document = json!({
        "name": "Every minute",
        "schedule": { "kind": "cron", "expr": "* * * * *", "tz": "Europe/Berlin" },
        "payload": { "kind": "toolCall", "tool": "echo" },
        "policies": { "misfire": { "mode": "runAll", "limit": 100 } }
    });
    let job = job_from_json(document, NEW_YEAR, zones.clone())?;
    let now = NEW_YEAR.plus_ms(i64::from(MINUTES - 1) * 60_000);
    let (plan, took) = timed(|| {
        let slots = Slots::compile(&job.schedule, &job.id, &zones)?;
        let due = Due { job: &job, slots: &slots, slot: NEW_YEAR, queued: 0, active: 0 };
        Ok::<_, String>(plan_claim(due, now, &Firing::On))
    });
    let plan = plan.map_err(anyhow::Error::msg)?;
    let (stand_for, run) =
        (plan.runs.iter().map(|run| run.stands_for).sum::<u32>(), plan.runs.len() - 1);
    let missed = plan.runs.first().is_some_and(|run| run.state == RunState::Missed);
    assert!(stand_for == MINUTES && run == 100 && missed, "{stand_for} slots, {run} runs");
    let what = "a minutely job after a year off is decided";
    report.at_most(what, took.as_secs_f64() * 1_000.0, 50.0, "ms");
    Ok(())
}
