//! A thousand jobs at one instant in the real program: the recorded start of the work against the slot.

use std::time::Duration;

use serde_json::{Value, json};

use crate::engine::{BenchEngine, Programs, echo_job, now_ms, wait};
use crate::report::{Report, quantile};

pub(crate) async fn measure(programs: &Programs, report: &mut Report) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    // The default limit would be the measured bottleneck.
    std::fs::write(home.path().join("config.toml"), "[cron]\nmaxConcurrentRuns = 1000\n")?;
    let engine = BenchEngine::start(programs, home.path())?;
    let at = now_ms() + 4_000;
    let jobs = (0..1_000)
        .map(|n| echo_job(&format!("Burst {n}"), &json!({ "kind": "at", "atMs": at })))
        .collect();
    engine.import(jobs).await?;
    wait(Duration::from_millis(u64::try_from(at - now_ms()).unwrap_or(0) + 3_000)).await;
    let mut late = read_lateness(&engine, "Burst").await?;
    anyhow::ensure!(late.len() == 1_000, "{} of 1000 runs started", late.len());
    report.note(
        "1,000 jobs at one instant, p50 of the start",
        format!("{:.0} ms", quantile(&mut late, 0.5)),
    );
    report.note(
        "1,000 jobs at one instant, p99 of the start",
        format!("{:.0} ms", quantile(&mut late, 0.99)),
    );
    report.millis(
        "1,000 jobs at one instant, last one started (cap 1,000)",
        quantile(&mut late, 1.0),
        150.0,
    );
    engine.stop();
    Ok(())
}

/// The lateness in milliseconds of every run whose job name begins with `name`.
async fn read_lateness(engine: &BenchEngine, name: &str) -> anyhow::Result<Vec<f64>> {
    let mut late = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = engine.call("runs.list", json!({ "limit": 500, "cursor": cursor })).await?;
        let runs = page["runs"].as_array().cloned().unwrap_or_default();
        let named = runs
            .iter()
            .filter(|run| run["jobName"].as_str().is_some_and(|job| job.starts_with(name)));
        late.extend(named.filter_map(|run| run["lateByMs"].as_f64()));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            return Ok(late);
        }
    }
}
