//! The first streamed token of `rouse chat`, from the model server to the terminal, in the real programs.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rouse_testkit::fake_model::sse;

use super::model_server::{ModelServer, ServerReply};
use crate::command;
use crate::engine::{BenchEngine, Programs};
use crate::report::{Report, millis_of, quantile};

const ROUNDS: usize = 20;
/// With this delay the command is ready before the model's first token.
const MODEL_DELAY: Duration = Duration::from_millis(300);

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let programs = Programs::find()?;
    let mut immediate = measure_chat(&programs, Duration::ZERO)?;
    let mut delayed = measure_chat(&programs, MODEL_DELAY)?;
    report.info(
        "rouse chat: from the start of the process to the first output, without the model's time, p50",
        quantile(&mut immediate.total, 0.5),
        "ms",
    );
    let home = tempfile::tempdir()?;
    let empty_process = command::empty_process_ms(&programs, home.path())?;
    report.info("baseline: an empty process, p50", empty_process, "ms");
    report.info(
        "rouse chat: from the model's first token to standard output, p50",
        quantile(&mut delayed.from_model, 0.5),
        "ms",
    );
    report.info("the same, p99", quantile(&mut delayed.from_model, 0.99), "ms");
    Ok(())
}

/// Milliseconds to the first output.
#[derive(Default)]
struct FirstTokenTimes {
    /// From the start of the command, without the time of the model server.
    total: Vec<f64>,
    /// From the first byte of the answer.
    from_model: Vec<f64>,
}

fn measure_chat(programs: &Programs, delay: Duration) -> anyhow::Result<FirstTokenTimes> {
    let server =
        ModelServer::start(move |_| ServerReply { delay, events: sse::chat_says("All is well.") })?;
    let home = tempfile::tempdir()?;
    std::fs::write(home.path().join("config.toml"), server.config())?;
    let engine = BenchEngine::start(programs, home.path())?;
    let mut times = FirstTokenTimes::default();
    for round in 0..=ROUNDS {
        let (started, first_output) = chat(programs, home.path())?;
        let exchanges = server.take();
        let exchange = exchanges.first().context("the model was not called")?;
        // The first round discovers the model and opens the connection.
        if round > 0 {
            let server_time = exchange.answering - exchange.received;
            times.total.push(millis_of((first_output - started).saturating_sub(server_time)));
            times
                .from_model
                .push(millis_of(first_output.saturating_duration_since(exchange.answering)));
        }
    }
    engine.stop();
    Ok(times)
}

/// The times of the start and of the first output.
fn chat(programs: &Programs, home: &Path) -> anyhow::Result<(Instant, Instant)> {
    let started = now();
    let mut command = Command::new(&programs.rouse)
        .args(["chat", "How is it?"])
        .env("ROUSE_HOME", home)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut output = command.stdout.take().context("piped")?;
    let mut first = [0];
    output.read_exact(&mut first)?;
    let first_output = now();
    output.read_to_end(&mut Vec::new())?;
    anyhow::ensure!(command.wait()?.success(), "rouse chat failed");
    Ok((started, first_output))
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "a bench measures")]
    Instant::now()
}
