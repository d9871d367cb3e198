//! The overhead of an agent turn: what a run takes beyond the time of its model.

use std::time::Duration;

use rouse_testkit::fake_model::sse;
use serde_json::json;

use super::bench_host::BenchHost;
use super::model_server::{Answer, Exchange, ModelServer};
use crate::alone::{floor, timed};
use crate::report::{Report, millis_of, quantile};

/// Jobs and runs per job. Few enough that no session is summed up, which is a model call of its own.
const JOBS: usize = 11;
const RUNS: usize = 20;
/// The model calls of a longer run, and its runs: fewer tool calls than the rate limit of the tool.
const TURNS: usize = 6;
const LONGER_RUNS: usize = 5;

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let mut single = overheads(1, JOBS, RUNS).await?;
    let p50 = quantile(&mut single, 0.5);
    let what = "an agent run with one model call and one tool call, without the model's own time";
    report.millis(&format!("{what}, p50"), p50, 2.0);
    report.known(&format!("{what}, p99"), quantile(&mut single, 0.99), "ms");
    report.known(
        "floor of it: its eight transactions by plain SQLite, the last one flushed to the disk, p50",
        transactions_of_run()?,
        "ms",
    );
    let mut longer = overheads(TURNS, 2, LONGER_RUNS).await?;
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let each = (quantile(&mut longer, 0.5) - p50) / (TURNS - 1) as f64;
    report.known(
        "each further turn of the run (one model call and one tool call), p50",
        each,
        "ms",
    );
    Ok(())
}

/// Milliseconds of runs of so many model calls, without the time of the server. The runs of the first job warm up.
async fn overheads(turns: usize, jobs: usize, runs: usize) -> anyhow::Result<Vec<f64>> {
    let server = ModelServer::start(move |body| Answer {
        delay: Duration::ZERO,
        events: next_answer(body, turns),
    })?;
    let mut host = BenchHost::start(&server, "").await?;
    let mut overheads = Vec::with_capacity(jobs * runs);
    for number in 0..jobs {
        let job = host.add_agent_job(&format!("Turn {number}")).await?;
        for _ in 0..runs {
            let run = host.run(&job).await?;
            let exchanges = server.take();
            anyhow::ensure!(exchanges.len() == turns, "{} model calls", exchanges.len());
            let of_server: Duration = exchanges.iter().map(Exchange::took).sum();
            if number > 0 {
                overheads.push(millis_of((run.ended - run.started).saturating_sub(of_server)));
            }
        }
    }
    host.stop()?;
    Ok(overheads)
}

/// Milliseconds of the transactions of a run with one turn: task, answer and result in the transcript, the beginning and
/// the end of two steps in the journal, and the outcome, which alone waits for the disk.
fn transactions_of_run() -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let connection = floor::plain_sqlite(folder.path())?;
    let mut samples = Vec::new();
    for _ in 0..RUNS * JOBS {
        let (done, took) = timed(|| -> rusqlite::Result<()> {
            connection.execute_batch("PRAGMA synchronous = NORMAL")?;
            let mut insert = connection.prepare_cached("INSERT INTO events (data) VALUES (?1)")?;
            for _ in 0..7 {
                insert.execute([floor::DEFINITION])?;
            }
            connection.execute_batch("PRAGMA synchronous = FULL")?;
            insert.execute([floor::DEFINITION]).map(drop)
        });
        done?;
        samples.push(millis_of(took));
    }
    Ok(quantile(&mut samples, 0.5))
}

/// The end of the run in the last turn, a small tool call before.
fn next_answer(body: &str, turns: usize) -> String {
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
