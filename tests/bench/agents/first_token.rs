//! The first streamed word of `rouse chat`, from the model server to the terminal, in the real programs.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rouse_testkit::fake_model::sse;

use super::model_server::{Answer, ModelServer};
use crate::engine::{Engine, Programs};
use crate::report::{Report, millis_of, quantile};
use crate::round_trip;

const ROUNDS: usize = 20;
/// A model that thinks for so long finds the command waiting for its words.
const THINKING: Duration = Duration::from_millis(300);

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let programs = Programs::find()?;
    let mut at_once = of_model(&programs, Duration::ZERO)?;
    let mut thinking = of_model(&programs, THINKING)?;
    report.known(
        "rouse chat: from the start of the process to the first word on standard output, without the model's own time, p50",
        quantile(&mut at_once.total, 0.5),
        "ms",
    );
    let home = tempfile::tempdir()?;
    let nothing = round_trip::of_nothing(&programs, home.path())?;
    report.known("floor of it: a process and nothing else, p50", nothing, "ms");
    report.known(
        "rouse chat: from the model's first word to standard output, p50",
        quantile(&mut thinking.from_model, 0.5),
        "ms",
    );
    report.known("the same, p99", quantile(&mut thinking.from_model, 0.99), "ms");
    Ok(())
}

/// Milliseconds to the first word on standard output.
#[derive(Default)]
struct FirstWord {
    /// From the start of the command, without the time of the model server.
    total: Vec<f64>,
    /// From the first byte of the answer.
    from_model: Vec<f64>,
}

fn of_model(programs: &Programs, delay: Duration) -> anyhow::Result<FirstWord> {
    let server =
        ModelServer::start(move |_| Answer { delay, events: sse::chat_says("All is well.") })?;
    let home = tempfile::tempdir()?;
    std::fs::write(home.path().join("config.toml"), server.config())?;
    let engine = Engine::start(programs, home.path())?;
    let mut first_word = FirstWord::default();
    for round in 0..=ROUNDS {
        let (began, shown) = chat(programs, home.path())?;
        let exchanges = server.take();
        let exchange = exchanges.first().context("the model was not called")?;
        // The first round looks for the model and opens the connection.
        if round > 0 {
            let of_server = exchange.answering - exchange.received;
            first_word.total.push(millis_of((shown - began).saturating_sub(of_server)));
            first_word
                .from_model
                .push(millis_of(shown.saturating_duration_since(exchange.answering)));
        }
    }
    engine.stop()?;
    Ok(first_word)
}

/// The instants of the start of the command and of its first output.
fn chat(programs: &Programs, home: &Path) -> anyhow::Result<(Instant, Instant)> {
    let began = now();
    let mut command = Command::new(&programs.rouse)
        .args(["chat", "How is it?"])
        .env("ROUSE_HOME", home)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut output = command.stdout.take().context("piped")?;
    let mut first = [0];
    output.read_exact(&mut first)?;
    let shown = now();
    output.read_to_end(&mut Vec::new())?;
    anyhow::ensure!(command.wait()?.success(), "rouse chat failed");
    Ok((began, shown))
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "a bench measures")]
    Instant::now()
}
