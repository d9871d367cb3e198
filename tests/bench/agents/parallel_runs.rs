//! Twenty concurrent agent runs with a limit of twenty.

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use rouse_testkit::fake_model::sse;
use serde_json::json;

use super::bench_host::BenchHost;
use super::model_server::{ModelServer, ServerReply};
use crate::report::{Report, millis_of, quantile};

const RUNS: usize = 20;
const MODEL_DELAY: Duration = Duration::from_millis(500);

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let server = ModelServer::start(|_| {
        let arguments = json!({ "outcome": "report", "summary": "All is well." });
        ServerReply {
            delay: MODEL_DELAY,
            events: sse::chat_calls("call_1", "complete_run", &arguments),
        }
    })?;
    let settings = format!("[cron]\nmaxConcurrentRuns = {RUNS}\n");
    let mut host = BenchHost::start(&server, &settings).await?;
    let mut jobs = Vec::with_capacity(RUNS);
    for number in 0..RUNS {
        jobs.push(host.add_agent_job(&format!("Parallel {number}")).await?);
    }
    let (mut single_samples, mut parallel_samples) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        single_samples.push(measure_runs(&mut host, &jobs[..1]).await?);
        parallel_samples.push(measure_runs(&mut host, &jobs).await?);
    }
    host.stop();
    let (single, all) = (quantile(&mut single_samples, 0.5), quantile(&mut parallel_samples, 0.5));
    report.info("one agent run with a model of 500 ms, p50", single, "ms");
    report.info("twenty such runs in parallel, p50", all, "ms");
    report.at_most("the same, relative to one", all / single, 1.2, "times");
    Ok(())
}

/// The milliseconds from the request for the runs to the end of the last run.
async fn measure_runs(host: &mut BenchHost, jobs: &[String]) -> anyhow::Result<f64> {
    #[expect(clippy::disallowed_methods, reason = "a bench measures")]
    let started = Instant::now();
    try_join_all(jobs.iter().map(|job| host.start_run(job))).await?;
    let mut last = started;
    let mut open: Vec<&str> = jobs.iter().map(String::as_str).collect();
    while !open.is_empty() {
        let (event, at) = host.next_event().await?;
        let ended = event.data["state"] == "succeeded" && event.data["step"].is_null();
        if let Some(position) = open.iter().position(|job| ended && event.data["jobId"] == *job) {
            open.swap_remove(position);
            last = at;
        }
        anyhow::ensure!(event.data["state"] != "failed", "a run failed: {}", event.data);
    }
    crate::engine::wait(Duration::from_millis(200)).await;
    Ok(millis_of(last - started))
}
