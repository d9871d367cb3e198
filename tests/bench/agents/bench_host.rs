//! `rouse serve` in a private folder, with the times of its events.
//!
//! Owns the start of the program with one model, and the waiting for run states. A time is that of the event at this
//! client; the transport delay affects start and end alike.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use rouse_gateway::wire::{EventKindView, EventView};
use rouse_gateway::{Client, EventStream};
use rouse_tests::remove_example_job;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::model_server::ModelServer;
use crate::engine::{BenchEngine, Programs, echo_job, wait};

/// A running engine with the model server as its only model.
pub(crate) struct BenchHost {
    engine: BenchEngine,
    events: EventStream,
    pub(crate) folder: TempDir,
}

/// The times of a run.
pub(crate) struct RunInstants {
    /// The commit of the start.
    pub(crate) started: Instant,
    /// The commit of the end.
    pub(crate) ended: Instant,
}

impl BenchHost {
    /// Starts an engine with `server` as its only model.
    pub(crate) async fn start(server: &ModelServer, settings: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::write(
            folder.path().join("config.toml"),
            format!("{settings}{}", server.config()),
        )?;
        Self::start_in(folder).await
    }

    /// Starts the engine of `folder` again.
    pub(crate) async fn restart(self) -> anyhow::Result<Self> {
        let Self { engine, folder, .. } = self;
        engine.stop();
        Self::start_in(folder).await
    }

    async fn start_in(folder: TempDir) -> anyhow::Result<Self> {
        let engine = BenchEngine::start(&Programs::find()?, folder.path())?;
        let events = engine.client.events(None).await?;
        remove_example_job(&engine.client).await;
        Ok(Self { engine, events, folder })
    }

    /// The process of the engine.
    pub(crate) fn pid(&self) -> u32 {
        self.engine.pid()
    }

    pub(crate) async fn call(&self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.engine.call(method, params).await
    }

    /// The client of the engine.
    pub(crate) fn client(&self) -> &Client {
        &self.engine.client
    }

    /// Adds a manual agent job. Returns its id.
    pub(crate) async fn add_agent_job(&self, name: &str) -> anyhow::Result<String> {
        self.add_job(json!({
            "name": name,
            "schedule": { "kind": "manual" },
            "payload": { "kind": "agentTurn", "message": "Look at the notes." },
        }))
        .await
    }

    /// Adds a manual job that calls `tool` with a short text. Returns its id.
    pub(crate) async fn add_call_job(&self, tool: &str) -> anyhow::Result<String> {
        let mut job = echo_job(tool, &json!({ "kind": "manual" }));
        job["payload"]["tool"] = tool.into();
        self.add_job(job).await
    }

    /// Adds a job. Returns its id.
    pub(crate) async fn add_job(&self, job: Value) -> anyhow::Result<String> {
        let view = self.call("cron.add", job).await?;
        Ok(view["job"]["id"].as_str().context("an id")?.to_owned())
    }

    /// Starts a run of `job`.
    pub(crate) async fn start_run(&self, job: &str) -> anyhow::Result<()> {
        self.call("cron.run", json!({ "id": job, "mode": "force" })).await.map(drop)
    }

    /// Waits until a run of `job` is in `state`. Returns the time of the event.
    pub(crate) async fn wait_for_state(
        &mut self,
        job: &str,
        state: &str,
    ) -> anyhow::Result<Instant> {
        loop {
            let (event, at) = self.next_event().await?;
            let is_of_job = event.kind == EventKindView::Run && event.data["jobId"] == job;
            if !is_of_job || !event.data["step"].is_null() {
                continue;
            }
            let state_name = event.data["state"].as_str().unwrap_or_default();
            anyhow::ensure!(state_name != "failed", "a run failed: {}", self.run_error(job).await?);
            if state_name == state {
                return Ok(at);
            }
        }
    }

    /// Runs `job` to its end.
    pub(crate) async fn run(&mut self, job: &str) -> anyhow::Result<RunInstants> {
        self.start_run(job).await?;
        let started = self.wait_for_state(job, "running").await?;
        let ended = self.wait_for_state(job, "succeeded").await?;
        // Keeps the delivery of the report out of the next run.
        wait(Duration::from_millis(20)).await;
        Ok(RunInstants { started, ended })
    }

    pub(crate) async fn next_event(&mut self) -> anyhow::Result<(EventView, Instant)> {
        let event = self.events.next().await.context("the engine has stopped")?;
        #[expect(clippy::disallowed_methods, reason = "a bench measures")]
        let at = Instant::now();
        Ok((event, at))
    }

    async fn run_error(&self, job: &str) -> anyhow::Result<String> {
        let runs = self.call("cron.runs", json!({ "id": job, "limit": 1 })).await?;
        Ok(runs["entries"][0]["error"].to_string())
    }

    pub(crate) fn stop(self) {
        self.engine.stop();
    }
}
