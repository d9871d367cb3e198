//! The overhead of an agent turn: the time of a run without its model.

use std::time::Duration;

use rouse_testkit::fake_model::sse;
use serde_json::json;

use super::bench_host::BenchHost;
use super::model_server::{HttpExchange, ModelServer, ServerReply};
use crate::report::{Report, millis_of, quantile};
use crate::scheduling::{baselines, timed};

/// Jobs and runs per job. The number is too small for a summary, which is a model call too.
const JOBS: usize = 11;
const RUNS: usize = 20;
/// The model calls and the number of longer runs, below the rate limit of the tool.
const TURNS: usize = 6;
const LONGER_RUNS: usize = 5;

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let mut single = measure_overheads(1, JOBS, RUNS).await?;
    let p50 = quantile(&mut single, 0.5);
    let label = "agent run with one model call and one tool call, without the model's time";
    report.millis(&format!("{label}, p50"), p50, 2.0);
    report.info(&format!("{label}, p99"), quantile(&mut single, 0.99), "ms");
    report.info(
        "baseline: its eight transactions by plain SQLite, the last durable, p50",
        measure_run_transactions()?,
        "ms",
    );
    let mut longer = measure_overheads(TURNS, 2, LONGER_RUNS).await?;
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let per_turn = (quantile(&mut longer, 0.5) - p50) / (TURNS - 1) as f64;
    report.info("each further turn of the run (a model call and a tool call), p50", per_turn, "ms");
    Ok(())
}

/// The overheads in milliseconds of runs with `turns` model calls. The runs of the first job are a warm-up.
async fn measure_overheads(turns: usize, jobs: usize, runs: usize) -> anyhow::Result<Vec<f64>> {
    let server = ModelServer::start(move |body| ServerReply {
        delay: Duration::ZERO,
        events: next_reply(body, turns),
    })?;
    let mut host = BenchHost::start(&server, "").await?;
    let mut overheads = Vec::with_capacity(jobs * runs);
    for number in 0..jobs {
        let job = host.add_agent_job(&format!("Turn {number}")).await?;
        for _ in 0..runs {
            let run = host.run(&job).await?;
            let exchanges = server.take();
            anyhow::ensure!(exchanges.len() == turns, "{} model calls", exchanges.len());
            let server_time: Duration = exchanges.iter().map(HttpExchange::elapsed).sum();
            if number > 0 {
                overheads.push(millis_of((run.ended - run.started).saturating_sub(server_time)));
            }
        }
    }
    host.stop();
    Ok(overheads)
}

/// The milliseconds of a run's transactions with one turn: task, answer and result in the transcript, begin and end
/// of two steps in the journal, and the outcome, the only durable write.
fn measure_run_transactions() -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let connection = baselines::plain_sqlite(folder.path())?;
    let mut samples = Vec::new();
    for _ in 0..RUNS * JOBS {
        let (result, elapsed) = timed(|| -> rusqlite::Result<()> {
            connection.execute_batch("PRAGMA synchronous = NORMAL")?;
            let mut insert = connection.prepare_cached("INSERT INTO events (data) VALUES (?1)")?;
            for _ in 0..7 {
                insert.execute([baselines::DEFINITION])?;
            }
            connection.execute_batch("PRAGMA synchronous = FULL")?;
            insert.execute([baselines::DEFINITION]).map(drop)
        });
        result?;
        samples.push(millis_of(elapsed));
    }
    Ok(quantile(&mut samples, 0.5))
}

/// The end of the run in the last turn, else a small tool call.
fn next_reply(body: &str, turns: usize) -> String {
    // Each earlier call of the run has its result after the task of this run.
    let task = body.rfind("[cron:").unwrap_or_default();
    let answered = body[task..].matches("\"role\":\"tool\"").count();
    let id = format!("call_{answered}");
    if answered + 1 == turns {
        let arguments = json!({ "outcome": "report", "summary": "All is well." });
        sse::chat_calls(&id, "complete_run", &arguments)
    } else {
        sse::chat_calls(&id, "echo", &json!({ "text": format!("Note {answered}") }))
    }
}
