//! `rouse serve` over a folder of its own, and the instants of its events.
//!
//! Owns the start of the program with one model and the waiting for the states of runs. An instant is that of the event at
//! this client; the way from the engine to the client is in the begin and in the end of a run alike.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use rouse_gateway::EventStream;
use rouse_gateway::wire::{EventKind, EventView};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::model_server::ModelServer;
use crate::engine::{Engine, Programs, wait};

/// A running engine whose only model is that of a model server.
pub(crate) struct BenchHost {
    engine: Engine,
    events: EventStream,
    pub(crate) folder: TempDir,
}

/// The instants of one run.
pub(crate) struct RunInstants {
    /// Its start was committed.
    pub(crate) started: Instant,
    /// Its end was committed.
    pub(crate) ended: Instant,
}

impl BenchHost {
    /// Starts an engine whose only model is that of `server`.
    pub(crate) async fn start(server: &ModelServer, settings: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::write(
            folder.path().join("config.toml"),
            format!("{settings}{}", server.config()),
        )?;
        let engine = Engine::start(&Programs::find()?, folder.path())?;
        let events = engine.client.events(None).await?;
        let status = engine.call("system.status", json!({})).await?;
        if let Some(example) = status["firstStart"]["exampleJobId"].as_str() {
            engine.call("cron.remove", json!({ "id": example })).await?;
        }
        Ok(Self { engine, events, folder })
    }

    pub(crate) async fn call(&self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.engine.call(method, params).await
    }

    /// Adds an agent job that fires by hand; its id.
    pub(crate) async fn add_agent_job(&self, name: &str) -> anyhow::Result<String> {
        let job = json!({
            "name": name,
            "schedule": { "kind": "manual" },
            "payload": { "kind": "agentTurn", "message": "Look at the notes." },
        });
        let view = self.call("cron.add", job).await?;
        Ok(view["job"]["id"].as_str().context("an id")?.to_owned())
    }

    /// Starts a run of `job`.
    pub(crate) async fn start_run(&self, job: &str) -> anyhow::Result<()> {
        self.call("cron.run", json!({ "id": job, "mode": "force" })).await.map(drop)
    }

    /// Waits until a run of `job` is in `state`; the instant of the event.
    pub(crate) async fn reached(&mut self, job: &str, state: &str) -> anyhow::Result<Instant> {
        loop {
            let (event, at) = self.next_event().await?;
            let is_of_job = event.kind == EventKind::Run && event.data["jobId"] == job;
            if !is_of_job || !event.data["step"].is_null() {
                continue;
            }
            let reached = event.data["state"].as_str().unwrap_or_default();
            anyhow::ensure!(reached != "failed", "a run failed: {}", self.failure(job).await?);
            if reached == state {
                return Ok(at);
            }
        }
    }

    /// Carries out a run of `job`.
    pub(crate) async fn run(&mut self, job: &str) -> anyhow::Result<RunInstants> {
        self.start_run(job).await?;
        let started = self.reached(job, "running").await?;
        let ended = self.reached(job, "succeeded").await?;
        // The delivery of the report is no part of the next run.
        wait(Duration::from_millis(20)).await;
        Ok(RunInstants { started, ended })
    }

    pub(crate) async fn next_event(&mut self) -> anyhow::Result<(EventView, Instant)> {
        let event = self.events.next().await.context("the engine has stopped")?;
        #[expect(clippy::disallowed_methods, reason = "a bench measures")]
        let at = Instant::now();
        Ok((event, at))
    }

    async fn failure(&self, job: &str) -> anyhow::Result<String> {
        let runs = self.call("cron.runs", json!({ "id": job, "limit": 1 })).await?;
        Ok(runs["entries"][0]["error"].to_string())
    }

    pub(crate) fn stop(self) -> anyhow::Result<()> {
        self.engine.stop()
    }
}
