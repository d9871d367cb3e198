//! `kill -9` of the engine at each step of a delegated task: an answered permission is never requested again, and no
//! effect is claimed that nobody knows.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::path::Path;
use std::process::Command;

use rouse_tests::{built_program, mcp};
use serde_json::{Value, json};

use crate::engine::{EngineProcess, TestHome};

/// Installs the coding agent double as `coder` and starts a job with this task.
async fn start(engine: &EngineProcess<'_>, home: &TestHome, task: &str) -> String {
    let program = built_program("ROUSE_ACP_DOUBLE", "acp-double", "rouse-testkit");
    let server = mcp::coding_agent(&program, &home.data(), &[]);
    let mut params = json!({ "name": "coder", "server": server });
    let page = engine.call("extensions.preview", params.clone()).await;
    params["accept"] = page["hash"].clone();
    engine.call("extensions.install", params).await;
    let payload = json!({ "kind": "agentTurn", "message": task, "agent": "coder" });
    let job = json!({ "name": "Delegate", "schedule": { "kind": "manual" }, "payload": payload });
    let id = engine.add_job(job).await;
    engine.start_run(&id).await;
    id
}

fn written(home: &TestHome) -> String {
    std::fs::read_to_string(home.data().join("workspace/a.txt")).unwrap_or_default()
}

/// Makes the named pipe on which the agent waits.
fn make_gate(home: &TestHome) {
    let workspace = home.data().join("workspace");
    std::fs::create_dir_all(&workspace).expect("a folder");
    let made = Command::new("mkfifo").arg(workspace.join("gate")).status();
    assert!(made.expect("mkfifo").success());
}

/// Waits until the agent reads the pipe, and keeps the pipe open.
async fn hold_gate(home: &TestHome) -> File {
    let gate = home.data().join("workspace/gate");
    let opened = tokio::task::spawn_blocking(move || File::options().write(true).open(gate)).await;
    opened.expect("a thread").expect("a pipe")
}

async fn decide(engine: &EngineProcess<'_>, approval: &Value) {
    let decision = json!({ "id": approval["id"], "decision": { "kind": "once" }, "from": "cli" });
    assert_eq!(engine.call("approvals.decide", decision).await["applied"], true);
}

async fn approval_count(engine: &EngineProcess<'_>) -> usize {
    let all = engine.call("approvals.list", json!({ "all": true })).await;
    all["approvals"].as_array().expect("approvals").len()
}

/// Whether a process works for this home.
fn has_agent_process(home: &Path) -> bool {
    let home = home.display().to_string();
    let entries = std::fs::read_dir("/proc").expect("a list of processes").flatten();
    entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok()).any(|line| {
        let line = String::from_utf8_lossy(&line);
        line.contains("acp-double") && line.contains(&home)
    })
}

#[tokio::test]
async fn task_killed_at_work_has_an_unknown_outcome() {
    let home = TestHome::new();
    let engine = home.serve().await;
    make_gate(&home);
    let id = start(&engine, &home, "append a.txt one\ngate gate").await;
    let held = hold_gate(&home).await;
    engine.kill();
    drop(held);
    let engine = home.serve_plain();
    let runs = engine.finished_runs(&id, 1).await;
    assert_eq!((runs.len(), &runs[0]["state"]), (1, &json!("interrupted")), "{runs:#?}");
    assert_eq!(written(&home), "one\n", "the task was not started again");
    assert!(!has_agent_process(&home.data()));
    assert!(engine.stop().success());
}

#[tokio::test]
async fn killed_wait_continues_with_the_answer() {
    for is_answered_before_the_kill in [false, true] {
        let home = TestHome::new();
        let engine = home.serve().await;
        let id = start(&engine, &home, "ask a.txt one\nsay Done.").await;
        let approval = engine.pending_approval().await;
        if is_answered_before_the_kill {
            decide(&engine, &approval).await;
        }
        engine.kill();
        let engine = home.serve_plain();
        if !is_answered_before_the_kill {
            decide(&engine, &approval).await;
        }
        let runs = engine.finished_runs(&id, 1).await;
        let is_unknown = runs[0]["state"] == "interrupted";
        let is_done = runs[0]["state"] == "succeeded" && written(&home) == "one\n";
        // A kill right after the answer may hit the agent at work.
        assert!(is_done || is_answered_before_the_kill && is_unknown, "{runs:#?}");
        assert!(["", "one\n"].contains(&written(&home).as_str()));
        assert_eq!(approval_count(&engine).await, 1, "asked once");
        assert!(engine.stop().success());
        assert!(!has_agent_process(&home.data()));
    }
}

#[tokio::test]
async fn task_killed_after_the_answer_is_not_asked_again() {
    let home = TestHome::new();
    let engine = home.serve().await;
    make_gate(&home);
    let id = start(&engine, &home, "ask a.txt one\ngate gate").await;
    decide(&engine, &engine.pending_approval().await).await;
    let held = hold_gate(&home).await;
    engine.kill();
    drop(held);
    let engine = home.serve_plain();
    let runs = engine.finished_runs(&id, 1).await;
    assert_eq!(runs[0]["state"], "interrupted", "{runs:#?}");
    assert_eq!((written(&home).as_str(), approval_count(&engine).await), ("one\n", 1));
    assert!(engine.stop().success());
    assert!(!has_agent_process(&home.data()));
}
