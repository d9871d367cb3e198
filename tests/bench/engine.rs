//! The measured programs with a private data directory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rouse_gateway::Client;
use rouse_tests::{SERVE, ServeProcess, program_path};
use serde_json::{Value, json};

use crate::scheduling::timed;

/// The measured programs.
pub(crate) struct Programs {
    /// `rouse`.
    pub(crate) rouse: PathBuf,
    /// The desktop app, if built.
    pub(crate) desktop: Option<PathBuf>,
}

impl Programs {
    /// `ROUSE_BIN` and `ROUSE_DESKTOP_BIN`, else the builds of this profile.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let rouse = program_path("ROUSE_BIN", "rouse");
        anyhow::ensure!(rouse.exists(), "{} is missing; run `cargo xtask bench`", rouse.display());
        let desktop =
            Some(program_path("ROUSE_DESKTOP_BIN", "rouse-desktop")).filter(|path| path.exists());
        Ok(Self { rouse, desktop })
    }
}

/// A running `rouse serve`.
pub(crate) struct BenchEngine {
    process: ServeProcess,
    /// The data directory.
    pub(crate) home: PathBuf,
    /// The time from the start of the process to the ready line.
    pub(crate) ready_after: Duration,
    /// The client of the engine.
    pub(crate) client: Client,
}

impl BenchEngine {
    /// Starts the engine in `home`, without local model discovery.
    pub(crate) fn start(programs: &Programs, home: &Path) -> anyhow::Result<Self> {
        let mut rouse = Command::new(&programs.rouse);
        rouse
            .args(SERVE)
            .env("ROUSE_HOME", home)
            .env("ROUSE_LOCAL_MODELS", "0")
            .env_remove("ANTHROPIC_API_KEY")
            .env_remove("OPENAI_API_KEY")
            .env_remove("OPENROUTER_API_KEY")
            .env("ROUSE_LOG", "warn");
        let (process, ready_after) = timed(|| ServeProcess::start(&mut rouse));
        let line = &process.ready_line;
        anyhow::ensure!(line.contains("address"), "rouse serve did not become ready: {line}");
        Ok(Self { process, home: home.to_owned(), ready_after, client: Client::find(home)? })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(crate) async fn call(&self, method: &str, params: Value) -> anyhow::Result<Value> {
        Ok(self.client.call(method, params).await?)
    }

    /// Imports enabled jobs in chunks.
    pub(crate) async fn import(&self, jobs: Vec<Value>) -> anyhow::Result<()> {
        for chunk in jobs.chunks(1_000) {
            let text = Value::from(chunk).to_string();
            self.call("cron.import", json!({ "text": text, "enable": true })).await?;
        }
        Ok(())
    }

    /// Stops the engine with SIGTERM.
    pub(crate) fn stop(self) {
        self.process.stop();
    }
}

/// A cheap job that needs no model.
pub(crate) fn echo_job(name: &str, schedule: &Value) -> Value {
    json!({
        "name": name,
        "schedule": schedule,
        "payload": { "kind": "toolCall", "tool": "echo", "arguments": { "text": "x" }, "notifyWhen": "failure" }
    })
}

/// A monthly job in the far future.
pub(crate) fn future_job(number: usize) -> Value {
    let (minute, hour) = (number % 60, number / 60 % 24);
    echo_job(
        &format!("Future {number}"),
        &json!({ "kind": "cron", "expr": format!("{minute} {hour} 1 1 *"), "tz": "UTC" }),
    )
}

/// Wall time in milliseconds.
pub(crate) fn now_ms() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "a bench measures")]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(0))
}

/// Waits.
pub(crate) async fn wait(duration: Duration) {
    #[expect(clippy::disallowed_methods, reason = "a bench lets time pass")]
    tokio::time::sleep(duration).await;
}
