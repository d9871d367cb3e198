//! A job's one call that a hook wants asked, its yes, and a kill between the two or after them: the yes is to this run's
//! call, so it is used by it after the kill, once, and nobody is asked again.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::asks::question;
use crate::engine::{Engine, Home};

/// Asks about every call. Once it has asked, it waits for whoever holds the gate, until there is a file `calm`.
const HOOK: &str = r#"cat >/dev/null; if [ -e asked ] && [ ! -e calm ]; then cat gate; fi; : >asked; echo '{"decision":"ask","reason":"look first"}'"#;

fn home() -> Home {
    let settings = format!(
        "[[hooks]]\non = \"before_tool_call\"\ncommand = [\"/bin/sh\", \"-c\", '''{HOOK}''']\n"
    );
    let home = Home::new().config(&settings);
    let pipe = Command::new("mkfifo").arg(home.data().join("gate")).status();
    assert!(pipe.expect("mkfifo").success());
    home
}

fn made(home: &Home) -> String {
    fs::read_to_string(home.data().join("workspace/made")).unwrap_or_default()
}

/// Waits until somebody waits at the gate, and keeps it waiting.
async fn at(gate: PathBuf) -> File {
    let opened = tokio::task::spawn_blocking(move || File::options().write(true).open(gate)).await;
    opened.expect("a thread").expect("a pipe")
}

/// Fires a job that runs `command`, and says yes to it.
async fn asked_and_answered(engine: &Engine<'_>, command: &str) -> String {
    let id = engine
        .add(json!({
            "name": "Mark", "schedule": { "kind": "manual" },
            "payload": { "kind": "toolCall", "tool": "run_command", "arguments": { "command": command } },
        }))
        .await;
    engine.run_now(&id).await;
    let asked = question(engine).await;
    let yes = json!({ "id": asked["id"], "answer": { "kind": "once" }, "from": "cli" });
    assert_eq!(engine.call("approvals.decide", yes).await["counts"], true);
    id
}

/// The runs of the job when nothing of them is left to be done without a person, and all that was asked.
async fn over(engine: &Engine<'_>, id: &str) -> (Vec<Value>, Vec<Value>) {
    let runs = engine
        .until(async |engine| {
            let runs = engine.call("runs.list", json!({ "jobId": id })).await["runs"].clone();
            let runs = runs.as_array().expect("runs").clone();
            let waits = ["queued", "running"].map(|state| json!(state));
            (!runs.iter().any(|run| waits.contains(&run["state"]))).then_some(runs)
        })
        .await;
    let asked = engine.call("approvals.list", json!({ "all": true })).await;
    (runs, asked["approvals"].as_array().expect("questions").clone())
}

fn calm(data: &Path) {
    fs::write(data.join("calm"), "").expect("a file");
}

#[tokio::test]
async fn a_yes_counts_after_a_kill_before_its_call() {
    let home = home();
    let engine = home.serve().await;
    let id = asked_and_answered(&engine, "printf a >>made").await;
    let held = at(home.data().join("gate")).await;
    engine.kill();
    calm(&home.data());
    drop(held);
    assert_eq!(made(&home), "", "nothing was done before the kill");

    let engine = home.serve_as_it_is();
    let (runs, asked) = over(&engine, &id).await;
    assert_eq!(made(&home), "a", "{runs:#?}");
    assert_eq!((runs.len(), &runs[0]["state"]), (1, &json!("succeeded")), "{runs:#?}");
    assert_eq!(asked.len(), 1, "{asked:#?}");
    assert!(engine.stop().success());
}

#[tokio::test]
async fn a_yes_counts_for_one_call_whatever_becomes_of_it() {
    let home = home();
    let engine = home.serve().await;
    calm(&home.data());
    let gate = home.data().join("gate");
    let command = format!("printf a >>made; cat {}", gate.display());
    let id = asked_and_answered(&engine, &command).await;
    let held = at(gate).await;
    engine.kill();
    drop(held);

    let engine = home.serve_as_it_is();
    let (runs, asked) = over(&engine, &id).await;
    assert_eq!(made(&home), "a", "{runs:#?}");
    assert_eq!((runs.len(), &runs[0]["state"]), (1, &json!("interrupted")), "{runs:#?}");
    assert_eq!(asked.len(), 1, "{asked:#?}");
    assert!(engine.stop().success());
}
