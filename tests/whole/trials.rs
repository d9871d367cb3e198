//! Trials of a tool: a call through the gate, as a run without notifications.

use std::collections::HashMap;

use rouse_tests::{EngineBuilder, MINUTE, TestEngine, tool_calls};
use serde_json::{Value, json};

async fn start_trial(engine: &TestEngine, tool: &str, arguments: Value) -> Value {
    let params = json!({ "tool": tool, "arguments": arguments });
    engine.call("tools.try", params).await["runId"].clone()
}

/// Waits until the run is in this state and returns the detail.
async fn wait_for_state(engine: &TestEngine, id: &Value, state: &str) -> Value {
    engine
        .wait_until(async |engine| {
            let detail = engine.call("runs.get", json!({ "id": id })).await;
            (detail["run"]["state"] == state).then_some(detail)
        })
        .await
}

#[tokio::test]
async fn trial_without_approval_is_recorded_as_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = start_trial(&engine, "echo", json!({ "text": "good morning" })).await;
    let detail = wait_for_state(&engine, &id, "succeeded").await;
    let run = &detail["run"];
    assert_eq!(
        (&run["jobName"], &run["jobId"], &run["trigger"], &run["summary"]),
        (&json!("Trial of echo"), &Value::Null, &json!("manual"), &json!("good morning"))
    );
    let calls = tool_calls(&detail);
    assert_eq!(
        (calls.len(), &calls[0]["name"], &calls[0]["status"]),
        (1, &json!("echo"), &json!("finished"))
    );
    assert_eq!(detail["deliveries"], json!([]));
    let main = engine.call("sessions.get", json!({ "key": "main" })).await;
    assert_eq!(main["messages"], json!([]), "a trial is no chat message");
    engine.host.stop().await;
}

#[tokio::test]
async fn trial_with_side_effect_shows_preview_and_waits() {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = tempfile::tempdir().expect("a folder");
    let root = workspace.path().to_str().expect("a path");
    let engine = EngineBuilder::new(folder.path()).env("FILE_WORKSPACE_ROOT", root).build().await;
    let write = json!({ "path": "note.md", "content": "Tea at four." });
    let file = workspace.path().join("note.md");
    for (kind, state) in [("deny", "cancelled"), ("once", "succeeded")] {
        let id = start_trial(&engine, "write_file", write.clone()).await;
        let parked = wait_for_state(&engine, &id, "awaitingApproval").await;
        let approval = &parked["approvals"][0];
        assert!(
            approval["preview"].as_str().expect("words").contains("Tea at four."),
            "{approval}"
        );
        assert_eq!(approval["toolLabel"], "Write a file");
        assert!(!file.exists() && tool_calls(&parked).is_empty(), "no call before the decision");
        engine.decide(approval, kind).await;
        let ended = wait_for_state(&engine, &id, state).await;
        let gate = tool_calls(&ended)[0]["gate"]["decision"].clone();
        match state {
            "cancelled" => {
                assert_eq!(ended["run"]["reason"], "You denied the call of write_file");
                assert!(!file.exists() && gate == "refused", "{gate}");
            }
            _ => {
                assert_eq!(gate, "approved");
                assert_eq!(std::fs::read_to_string(&file).expect("written"), "Tea at four.");
            }
        }
    }
    engine.host.stop().await;
}

#[tokio::test]
async fn trial_with_expired_approval_calls_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = start_trial(&engine, "write_file", json!({ "path": "a", "content": "b" })).await;
    wait_for_state(&engine, &id, "awaitingApproval").await;
    engine.clock.advance(31 * MINUTE);
    let ended = wait_for_state(&engine, &id, "cancelled").await;
    assert_eq!(ended["run"]["reason"], "The approval expired, so write_file was not called");
    engine.host.stop().await;
}

#[tokio::test]
async fn trial_auth_header_is_shown_only_in_its_approval() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let headers = json!({ "X-Goog-Api-Key": "tulip-9", "Authorization": "Bearer daffodil-7", "Accept": "text/plain" });
    let id =
        start_trial(&engine, "http", json!({ "url": "https://a.example/", "headers": headers }))
            .await;
    let parked = wait_for_state(&engine, &id, "awaitingApproval").await;
    assert_eq!(parked["approvals"][0]["arguments"]["headers"], headers);
    let shown = format!("{}{}{}", parked["payload"], parked["steps"], parked["deliveries"]);
    assert!(!shown.contains("tulip") && !shown.contains("daffodil"), "{shown}");
    assert_eq!(parked["payload"]["arguments"]["headers"]["Accept"], "text/plain");
    engine.host.stop().await;
}

#[tokio::test]
async fn failed_trial_is_not_announced() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = start_trial(&engine, "read_file", json!({ "path": "nowhere.md" })).await;
    let detail = wait_for_state(&engine, &id, "failed").await;
    assert!(
        detail["run"]["error"].as_str().is_some_and(|error| error.contains("nowhere.md")),
        "{detail}"
    );
    assert_eq!(detail["deliveries"], json!([]));
    engine.host.stop().await;
}

/// The labels of tools by name.
fn labels(tools: &Value) -> HashMap<&str, &Value> {
    let all = tools["tools"].as_array().into_iter().flatten();
    all.map(|tool| (tool["name"].as_str().expect("a name"), &tool["label"])).collect()
}

#[tokio::test]
async fn invalid_trial_is_refused_by_its_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let tools = engine.call("tools.catalog", json!({})).await;
    let untestable: Vec<&str> = tools["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter(|tool| tool["canBeTried"] == false)
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(untestable.len(), 10, "{untestable:?}");
    assert_eq!(labels(&tools)["read_file"], "Read a file");
    let invalid = [("nobody", "tool"), ("echo", "arguments")];
    let refused = untestable.iter().map(|name| (*name, "tool")).chain(invalid);
    for (tool, field) in refused {
        let params = json!({ "tool": tool, "arguments": { "strange": 1 } });
        let error = engine.try_call("tools.try", params).await.expect_err("refused");
        let data = json!(error.data);
        assert!(data.to_string().contains(&format!("\"{field}\"")), "{tool}: {data}");
    }
    let runs = engine.call("runs.list", json!({})).await;
    assert_eq!(runs["runs"], json!([]), "nothing was begun");
    engine.host.stop().await;
}
