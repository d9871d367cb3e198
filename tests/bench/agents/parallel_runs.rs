//! Twenty agent runs at once with a concurrency of twenty.

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use rouse_testkit::fake_model::sse;
use serde_json::json;

use super::bench_host::BenchHost;
use super::model_server::{Answer, ModelServer};
use crate::report::{Report, millis_of, quantile};

const RUNS: usize = 20;
const MODEL_TAKES: Duration = Duration::from_millis(500);

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let server = ModelServer::start(|_| {
        let arguments = json!({ "outcome": "report", "summary": "All is well." });
        Answer { delay: MODEL_TAKES, events: sse::chat_calls("call_1", "complete_run", &arguments) }
    })?;
    let settings = format!("[cron]\nmaxConcurrentRuns = {RUNS}\n");
    let mut host = BenchHost::start(&server, &settings).await?;
    let mut jobs = Vec::with_capacity(RUNS);
    for number in 0..RUNS {
        jobs.push(host.add_agent_job(&format!("Parallel {number}")).await?);
    }
    let (mut of_one, mut of_all) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        of_one.push(time_of(&mut host, &jobs[..1]).await?);
        of_all.push(time_of(&mut host, &jobs).await?);
    }
    host.stop()?;
    let (one, all) = (quantile(&mut of_one, 0.5), quantile(&mut of_all, 0.5));
    report.known("one agent run with a model that takes 500 ms, p50", one, "ms");
    report.known("twenty such runs at once with a concurrency of 20, p50", all, "ms");
    report.at_most("the same, of the time of one", all / one, 1.2, "times");
    Ok(())
}

/// Milliseconds from the request for the runs to the end of the last one.
async fn time_of(host: &mut BenchHost, jobs: &[String]) -> anyhow::Result<f64> {
    #[expect(clippy::disallowed_methods, reason = "a bench measures")]
    let began = Instant::now();
    try_join_all(jobs.iter().map(|job| host.start_run(job))).await?;
    let mut last = began;
    let mut open: Vec<&str> = jobs.iter().map(String::as_str).collect();
    while !open.is_empty() {
        let (event, at) = host.next_event().await?;
        let ended = event.data["state"] == "succeeded" && event.data["step"].is_null();
        if let Some(place) = open.iter().position(|job| ended && event.data["jobId"] == *job) {
            open.swap_remove(place);
            last = at;
        }
        anyhow::ensure!(event.data["state"] != "failed", "a run failed: {}", event.data);
    }
    crate::engine::wait(Duration::from_millis(200)).await;
    Ok(millis_of(last - began))
}
