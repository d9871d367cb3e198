//! A kill around an approved call: the approval belongs to the call of its run, covers it once after a restart, and
//! is never requested again.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::engine::{EngineProcess, TestHome};

/// Requires an approval for each call. From the second call on, blocks on the pipe `gate` until the file `calm`
/// exists.
const HOOK: &str = r#"cat >/dev/null; if [ -e asked ] && [ ! -e calm ]; then cat gate; fi; : >asked; echo '{"decision":"ask","reason":"look first"}'"#;

fn home_with_hook() -> TestHome {
    let settings = format!(
        "[[hooks]]\non = \"before_tool_call\"\ncommand = [\"/bin/sh\", \"-c\", '''{HOOK}''']\n"
    );
    let home = TestHome::new().config(&settings);
    let pipe = Command::new("mkfifo").arg(home.data().join("gate")).status();
    assert!(pipe.expect("mkfifo").success());
    home
}

fn written_letters(home: &TestHome) -> String {
    fs::read_to_string(home.data().join("workspace/made")).unwrap_or_default()
}

/// Waits until the hook or command opens the gate, and keeps the gate open.
async fn hold_gate(gate: PathBuf) -> File {
    let opened = tokio::task::spawn_blocking(move || File::options().write(true).open(gate)).await;
    opened.expect("a thread").expect("a pipe")
}

/// Starts a job that runs `command` and allows the call.
async fn approve_command(engine: &EngineProcess<'_>, command: &str) -> String {
    let id = engine
        .add_job(json!({
            "name": "Mark", "schedule": { "kind": "manual" },
            "payload": { "kind": "toolCall", "tool": "run_command", "arguments": { "command": command } },
        }))
        .await;
    engine.start_run(&id).await;
    let approval = engine.pending_approval().await;
    let decision = json!({ "id": approval["id"], "decision": { "kind": "once" }, "from": "cli" });
    assert_eq!(engine.call("approvals.decide", decision).await["applied"], true);
    id
}

/// The finished or parked runs of the job, and all approvals.
async fn settled_runs(engine: &EngineProcess<'_>, id: &str) -> (Vec<Value>, Vec<Value>) {
    let runs = engine
        .wait_until(async |engine| {
            let runs = engine.call("runs.list", json!({ "jobId": id })).await["runs"].clone();
            let runs = runs.as_array().expect("runs").clone();
            let active_states = ["queued", "running"].map(|state| json!(state));
            (!runs.iter().any(|run| active_states.contains(&run["state"]))).then_some(runs)
        })
        .await;
    let approvals = engine.call("approvals.list", json!({ "all": true })).await;
    (runs, approvals["approvals"].as_array().expect("questions").clone())
}

fn allow_all(data: &Path) {
    fs::write(data.join("calm"), "").expect("a file");
}

#[tokio::test]
async fn killed_run_makes_its_approved_call_once() {
    let home = home_with_hook();
    let engine = home.serve().await;
    let id = approve_command(&engine, "printf a >>made").await;
    let held = hold_gate(home.data().join("gate")).await;
    engine.kill();
    allow_all(&home.data());
    drop(held);
    assert_eq!(written_letters(&home), "", "no call before the kill");

    let engine = home.serve_plain();
    let (runs, approvals) = settled_runs(&engine, &id).await;
    assert_eq!(written_letters(&home), "a", "{runs:#?}");
    assert_eq!((runs.len(), &runs[0]["state"]), (1, &json!("succeeded")), "{runs:#?}");
    assert_eq!(approvals.len(), 1, "{approvals:#?}");
    assert!(engine.stop().success());
}

#[tokio::test]
async fn approval_covers_one_call_when_its_outcome_is_unknown() {
    let home = home_with_hook();
    let engine = home.serve().await;
    allow_all(&home.data());
    let gate = home.data().join("gate");
    let command = format!("printf a >>made; cat {}", gate.display());
    let id = approve_command(&engine, &command).await;
    let held = hold_gate(gate).await;
    engine.kill();
    drop(held);

    let engine = home.serve_plain();
    let (runs, approvals) = settled_runs(&engine, &id).await;
    assert_eq!(written_letters(&home), "a", "{runs:#?}");
    assert_eq!((runs.len(), &runs[0]["state"]), (1, &json!("interrupted")), "{runs:#?}");
    assert_eq!(approvals.len(), 1, "{approvals:#?}");
    assert!(engine.stop().success());
}
