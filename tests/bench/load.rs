//! Ten thousand jobs: adding one more, listing them, starting over them.

use std::time::Instant;

use serde_json::json;

use crate::engine::{Engine, Programs, future_job};
use crate::report::{Report, millis_of, quantile};

const JOBS: usize = 10_000;

pub(crate) async fn with_many_jobs(programs: &Programs, report: &mut Report) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let engine = Engine::start(programs, home.path())?;
    engine.import((0..JOBS).map(future_job).collect()).await?;
    let mut adds = Vec::new();
    for number in 0..200 {
        adds.push(timed(&engine, "cron.add", future_job(JOBS + number)).await?);
    }
    report.millis("RPC cron.add with 10,000 jobs, p50", quantile(&mut adds, 0.5), 2.0);
    report
        .note("RPC cron.add with 10,000 jobs, p99", format!("{:.2} ms", quantile(&mut adds, 0.99)));
    let mut lists = Vec::new();
    for _ in 0..5 {
        lists.push(timed(&engine, "cron.list", json!({})).await?);
    }
    report
        .note("RPC cron.list of 10,000 jobs, p50", format!("{:.0} ms", quantile(&mut lists, 0.5)));
    engine.stop()?;

    let mut starts = Vec::new();
    for _ in 0..7 {
        let engine = Engine::start(programs, home.path())?;
        starts.push(millis_of(engine.ready_after));
        engine.stop()?;
    }
    report.millis(
        "start of the process to armed with 10,000 jobs, p50",
        quantile(&mut starts, 0.5),
        25.0,
    );
    Ok(())
}

async fn timed(engine: &Engine, method: &str, params: serde_json::Value) -> anyhow::Result<f64> {
    #[expect(clippy::disallowed_methods, reason = "a bench measures")]
    let began = Instant::now();
    engine.call(method, params).await?;
    Ok(millis_of(began.elapsed()))
}
