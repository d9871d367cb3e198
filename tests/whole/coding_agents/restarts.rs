//! A restart of the engine while a coding agent waits for the person: an answer is never asked for twice, and no effect
//! is claimed that nobody knows.

use std::path::Path;

use rouse_tests::{EngineBuilder, TestEngine};
use serde_json::Value;

use super::fixture::{approval, engine, start, text_of};

const TASK: &str = "read Look around\nask a.txt one\nsay Done.";

/// Stops the engine and starts another one over the same data.
async fn restart(engine: TestEngine, folder: &Path) -> TestEngine {
    let clock = engine.clock.clone();
    engine.host.stop().await;
    EngineBuilder::new(folder).clock(&clock).build().await
}

async fn approvals(engine: &TestEngine) -> Vec<Value> {
    let all = engine.call("approvals.list", serde_json::json!({ "all": true })).await;
    all["approvals"].as_array().expect("approvals").clone()
}

#[tokio::test]
async fn permission_survives_a_restart_with_its_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = engine(folder.path(), &[]).await;
    let id = start(&first, TASK).await;
    let request = approval(&first).await;
    let engine = restart(first, folder.path()).await;
    engine.decide(&request, "once").await;
    let run = engine.wait_for_run(&id, "succeeded").await;
    assert_eq!(run["summary"], "Done.");
    assert_eq!(text_of(folder.path(), "a.txt"), "one\n");
    assert_eq!(approvals(&engine).await.len(), 1, "asked once");
    engine.host.stop().await;
}

#[tokio::test]
async fn lost_session_is_named_before_the_task_starts_again() {
    for arguments in [["--no-load"], ["--forgetful"]] {
        for (decision, state, written) in [("once", "succeeded", "one\n"), ("deny", "failed", "")] {
            let folder = tempfile::tempdir().expect("a folder");
            let first = engine(folder.path(), &arguments).await;
            let id = start(&first, TASK).await;
            let request = approval(&first).await;
            let engine = restart(first, folder.path()).await;
            engine.decide(&request, "once").await;
            let again = approval(&engine).await;
            let preview = again["preview"].as_str().expect("a text");
            assert!(preview.contains("lost its session") && preview.contains("- Look around"));
            engine.decide(&again, decision).await;
            if decision == "once" {
                // A new session asks for the action anew.
                engine.decide(&approval(&engine).await, "once").await;
            }
            let run = engine.wait_for_run(&id, state).await;
            assert_eq!(text_of(folder.path(), "a.txt"), written, "{run}");
            engine.host.stop().await;
        }
    }
}

#[tokio::test]
async fn lost_session_names_the_actions_before_every_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = engine(folder.path(), &["--no-load"]).await;
    let id = start(&first, "read Look around\nask a.txt one\nask b.txt two\nsay Done.").await;
    let request = approval(&first).await;
    first.decide(&request, "once").await;
    let second = approval(&first).await;
    let engine = restart(first, folder.path()).await;
    engine.decide(&second, "once").await;
    let again = approval(&engine).await;
    let preview = again["preview"].as_str().expect("a text");
    assert!(preview.contains("- Look around") && preview.contains("a.txt"), "{preview}");
    engine.decide(&again, "deny").await;
    engine.wait_for_run(&id, "failed").await;
    engine.host.stop().await;
}

#[tokio::test]
async fn action_allowed_for_the_run_survives_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = engine(folder.path(), &[]).await;
    let task = "ask /dev/null same\nask b.txt other\nask /dev/null same\nsay Done.";
    let id = start(&first, task).await;
    let request = approval(&first).await;
    first.decide(&request, "run").await;
    let second = approval(&first).await;
    let engine = restart(first, folder.path()).await;
    engine.decide(&second, "once").await;
    engine.wait_for_run(&id, "succeeded").await;
    assert_eq!(approvals(&engine).await.len(), 2, "the third action is allowed");
    engine.host.stop().await;
}
