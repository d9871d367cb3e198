//! Run hooks: every run emits `run_started` and `run_finished` exactly once.

#![cfg(unix)]

use std::fs;
use std::path::Path;

use rouse_testkit::scripted_model::{Scripted, calls, says};
use rouse_tests::{EngineBuilder, HOUR, MINUTE, TestEngine, agent_job, echo_job};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::unix::pipe;

/// The run events that the hook commands of a settings file receive.
struct RunEvents {
    lines: Lines<BufReader<pipe::Receiver>>,
    /// Keeps the pipe open after the first hook.
    _open: pipe::Sender,
}

impl RunEvents {
    fn of_hooks_in(folder: &Path) -> Self {
        let pipe = folder.join("pipe");
        let status = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
        assert!(status.success());
        let hook = |on| {
            format!("[[hooks]]\non = \"{on}\"\ncommand = [\"/bin/sh\", \"-c\", 'cat >pipe']\n")
        };
        let config = ["run_started", "run_finished"].map(hook).concat();
        fs::write(folder.join("config.toml"), config).expect("a file");
        let receiver = pipe::OpenOptions::new().open_receiver(&pipe).expect("a pipe");
        let open = pipe::OpenOptions::new().open_sender(&pipe).expect("a pipe");
        Self { lines: BufReader::new(receiver).lines(), _open: open }
    }

    async fn next_event(&mut self) -> Value {
        let line = self.lines.next_line().await.expect("read").expect("an open pipe");
        serde_json::from_str(&line).expect("JSON")
    }

    /// The next `count` events, sorted: job name, hook and run state.
    async fn summaries(&mut self, count: usize) -> Vec<String> {
        let mut summaries = Vec::with_capacity(count);
        for _ in 0..count {
            let event = self.next_event().await;
            let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
            let summary = [text("jobName"), text("hook"), text("state")].join(" ");
            summaries.push(summary.trim().to_owned());
        }
        summaries.sort();
        summaries
    }

    /// Stops the engine and asserts that no unread event is left.
    async fn assert_complete(mut self, engine: TestEngine) {
        engine.host.stop().await;
        let reader = self.lines.get_mut();
        assert_eq!(String::from_utf8_lossy(reader.buffer()), "");
        let mut buffer = [0; 4_096];
        let read = reader
            .get_mut()
            .try_read(&mut buffer)
            .map(|len| String::from_utf8_lossy(&buffer[..len]).into_owned());
        assert_eq!(read.map_err(|error| error.kind()), Err(std::io::ErrorKind::WouldBlock));
    }
}

async fn start_job(engine: &TestEngine, job: Value) -> String {
    let id = engine.add_job(job).await;
    engine.start_run(&id).await;
    id
}

fn write_call() -> Scripted {
    calls([("c1", "write_file", json!({ "path": "note.md", "content": "Tea at four." }))])
}

/// A run that waits for the approval of a write. Returns job id and approval id.
async fn parked(engine: &TestEngine) -> (String, Value) {
    let id = start_job(engine, agent_job("Write it down")).await;
    let run = engine.wait_for_run(&id, "awaitingApproval").await;
    (id, engine.run_detail(&run).await["approvals"][0]["id"].clone())
}

async fn cancel(engine: &TestEngine, id: &str) {
    let run = engine.runs(id).await.remove(0);
    assert_eq!(engine.call("runs.cancel", json!({ "id": run["id"] })).await["changed"], true);
}

#[tokio::test]
async fn run_hooks_get_summary_and_context() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut events = RunEvents::of_hooks_in(folder.path());
    let engine = EngineBuilder::new(folder.path()).model([says("Tea at four.")]).build().await;
    let id = start_job(&engine, agent_job("When is tea?")).await;
    let run = engine.finished_runs(&id, 1).await.remove(0);
    let mut pair = [events.next_event().await, events.next_event().await];
    pair.sort_by_key(|event| event["hook"].to_string());
    let [finished, started] = pair;
    let context = json!({
        "agentId": id, "sessionKey": format!("cron:{id}"), "sessionId": format!("cron:{id}"), "runId": run["id"],
        "workspaceDir": folder.path().join("workspace"),
    });
    assert_eq!(
        started,
        json!({ "hook": "run_started", "runId": run["id"], "jobId": id, "jobName": "Ask", "trigger": "manual", "context": context })
    );
    assert_eq!(
        finished,
        json!({
            "hook": "run_finished", "runId": run["id"], "jobId": id, "jobName": "Ask", "trigger": "manual", "context": context,
            "state": "succeeded", "attempts": 1, "summary": "Tea at four.", "error": null, "reason": null
        })
    );
    events.assert_complete(engine).await;
}

#[tokio::test]
async fn timed_out_and_cancelled_runs_notify_hooks() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut events = RunEvents::of_hooks_in(folder.path());
    let script = [Scripted::Silence, Scripted::Silence];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let mut slow = agent_job("Think for ever");
    slow["policies"] = json!({ "timeoutSeconds": 60 });
    start_job(&engine, slow.clone()).await;
    engine.model.asked(1).await;
    engine.clock.advance(MINUTE);
    assert_eq!(events.summaries(2).await, ["Ask run_finished timedOut", "Ask run_started"]);
    let id = start_job(&engine, slow).await;
    engine.model.asked(2).await;
    cancel(&engine, &id).await;
    assert_eq!(events.summaries(2).await, ["Ask run_finished cancelled", "Ask run_started"]);
    events.assert_complete(engine).await;
}

#[tokio::test]
async fn retried_run_notifies_hooks_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut events = RunEvents::of_hooks_in(folder.path());
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut job = echo_job(&json!({ "kind": "manual" }));
    job["payload"]["tool"] = json!("read_file");
    job["payload"]["arguments"] = json!({ "path": "nowhere.md" });
    job["runtime"] = json!({ "maxAttempts": 2, "retryBackoffMs": 1_000 });
    job["policies"] = json!({ "timeoutSeconds": 86_400 });
    let id = start_job(&engine, job).await;
    // The retry backoff starts at an unknown instant.
    while engine.runs(&id).await.remove(0)["state"] != "failed" {
        engine.clock.advance(1_000);
    }
    let mut pair = [events.next_event().await, events.next_event().await];
    pair.sort_by_key(|event| event["hook"].to_string());
    let [finished, started] = pair;
    assert_eq!(
        (&finished["state"], &finished["attempts"]),
        (&json!("failed"), &json!(2)),
        "{finished}"
    );
    assert_eq!(started["hook"], "run_started");
    events.assert_complete(engine).await;
}

#[tokio::test]
async fn parked_run_notifies_hooks_once_when_resumed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut events = RunEvents::of_hooks_in(folder.path());
    let script =
        [write_call(), says("Written."), write_call(), write_call(), says("Nobody said yes.")];
    let engine = EngineBuilder::new(folder.path())
        .env("HEARTBEAT_ENABLED", "false")
        .model(script)
        .build()
        .await;
    let (_, approval) = parked(&engine).await;
    engine.decide(&json!({ "id": approval }), "once").await;
    assert_eq!(events.summaries(2).await, ["Ask run_finished succeeded", "Ask run_started"]);

    let (id, _) = parked(&engine).await;
    assert_eq!(events.summaries(1).await, ["Ask run_started"]);
    cancel(&engine, &id).await;
    assert_eq!(events.summaries(1).await, ["Ask run_finished cancelled"]);

    parked(&engine).await;
    engine.clock.advance(31 * MINUTE);
    assert_eq!(events.summaries(2).await, ["Ask run_finished succeeded", "Ask run_started"]);

    events.assert_complete(engine).await;
}

#[tokio::test]
async fn interrupted_run_notifies_hooks_at_next_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut events = RunEvents::of_hooks_in(folder.path());
    let script = [Scripted::Silence];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    start_job(&engine, agent_job("Think for ever")).await;
    engine.model.asked(1).await;
    let clock = engine.clock.clone();
    engine.host.stop().await;
    assert_eq!(events.summaries(1).await, ["Ask run_started"]);
    // With the kill switch the engine retries nothing.
    let engine =
        EngineBuilder::new(folder.path()).clock(&clock).env("ROUSE_SKIP_CRON", "1").build().await;
    assert_eq!(events.summaries(1).await, ["Ask run_finished interrupted"]);
    events.assert_complete(engine).await;
}

#[tokio::test]
async fn parked_run_notifies_hooks_after_removal_or_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut events = RunEvents::of_hooks_in(folder.path());
    let engine =
        EngineBuilder::new(folder.path()).model([write_call(), write_call()]).build().await;
    let (removed, _) = parked(&engine).await;
    engine.call("cron.remove", json!({ "id": removed })).await;
    assert_eq!(events.summaries(2).await, ["Ask run_finished cancelled", "Ask run_started"]);
    let (_, approval) = parked(&engine).await;
    assert_eq!(events.summaries(1).await, ["Ask run_started"]);
    let clock = engine.clock.clone();
    engine.host.stop().await;
    let engine =
        EngineBuilder::new(folder.path()).clock(&clock).model([says("Written.")]).build().await;
    engine.decide(&json!({ "id": approval }), "once").await;
    assert_eq!(events.summaries(1).await, ["Ask run_finished succeeded"]);
    events.assert_complete(engine).await;
}

#[tokio::test]
async fn skipped_run_does_not_notify_hooks() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut events = RunEvents::of_hooks_in(folder.path());
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = engine.add_job(echo_job(&json!({ "kind": "every", "everyMs": HOUR }))).await;
    engine.call("cron.pause", json!({})).await;
    engine.clock.advance(HOUR);
    assert_eq!(engine.finished_runs(&id, 1).await[0]["state"], "skipped");
    engine.call("cron.resume", json!({})).await;
    engine.clock.advance(HOUR);
    assert_eq!(events.summaries(2).await, ["Echo run_finished succeeded", "Echo run_started"]);
    engine.call("tools.try", json!({ "tool": "echo", "arguments": { "text": "x" } })).await;
    assert_eq!(
        events.summaries(2).await,
        ["Trial of echo run_finished succeeded", "Trial of echo run_started"]
    );
    events.assert_complete(engine).await;
}
