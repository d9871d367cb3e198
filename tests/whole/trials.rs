//! A person tries a tool: one call through the gate, as a run of its own, and nobody else is told.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::house::{House, MINUTE, Plan, of_calls};

async fn begin(house: &House, tool: &str, arguments: Value) -> Value {
    let params = json!({ "tool": tool, "arguments": arguments });
    house.call("tools.try", params).await["runId"].clone()
}

/// Waits until the run is in this state; answers everything about it.
async fn in_state(house: &House, id: &Value, state: &str) -> Value {
    house
        .until(async |house| {
            let detail = house.call("runs.get", json!({ "id": id })).await;
            (detail["run"]["state"] == state).then_some(detail)
        })
        .await
}

#[tokio::test]
async fn a_call_that_needs_no_yes_is_made_and_stands_among_the_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let id = begin(&house, "echo", json!({ "text": "good morning" })).await;
    let detail = in_state(&house, &id, "succeeded").await;
    let run = &detail["run"];
    assert_eq!(
        (&run["jobName"], &run["jobId"], &run["trigger"], &run["summary"]),
        (&json!("Trial of echo"), &Value::Null, &json!("manual"), &json!("good morning"))
    );
    let calls = of_calls(&detail);
    assert_eq!(
        (calls.len(), &calls[0]["name"], &calls[0]["status"]),
        (1, &json!("echo"), &json!("finished"))
    );
    assert_eq!(detail["deliveries"], json!([]), "whoever tries looks on");
    let main = house.call("sessions.get", json!({ "key": "main" })).await;
    assert_eq!(main["messages"], json!([]), "it is no part of the conversation");
    house.host.stop().await;
}

#[tokio::test]
async fn what_changes_something_shows_what_it_would_do_and_waits_for_the_yes() {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = tempfile::tempdir().expect("a folder");
    let root = workspace.path().to_str().expect("a path");
    let house = Plan::new(folder.path()).env("FILE_WORKSPACE_ROOT", root).build().await;
    let write = json!({ "path": "note.md", "content": "Tea at four." });
    let file = workspace.path().join("note.md");
    for (says, state) in [("deny", "cancelled"), ("once", "succeeded")] {
        let id = begin(&house, "write_file", write.clone()).await;
        let waits = in_state(&house, &id, "awaitingApproval").await;
        let asked = &waits["approvals"][0];
        assert!(asked["preview"].as_str().expect("words").contains("Tea at four."), "{asked}");
        assert_eq!(asked["toolLabel"], "Write a file");
        assert!(!file.exists() && of_calls(&waits).is_empty(), "nothing is done before the yes");
        house.answer(asked, says).await;
        let ended = in_state(&house, &id, state).await;
        let gate = of_calls(&ended)[0]["gate"]["decision"].clone();
        match state {
            "cancelled" => {
                assert_eq!(ended["run"]["reason"], "You said no, so write_file was not called");
                assert!(!file.exists() && gate == "refused", "{gate}");
            }
            _ => {
                assert_eq!(gate, "answered");
                assert_eq!(std::fs::read_to_string(&file).expect("written"), "Tea at four.");
            }
        }
    }
    house.host.stop().await;
}

#[tokio::test]
async fn a_trial_that_nobody_answers_ends_and_calls_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let id = begin(&house, "write_file", json!({ "path": "a", "content": "b" })).await;
    in_state(&house, &id, "awaitingApproval").await;
    house.clock.advance(31 * MINUTE);
    let ended = in_state(&house, &id, "cancelled").await;
    assert_eq!(ended["run"]["reason"], "Nobody said yes in time, so write_file was not called");
    house.host.stop().await;
}

#[tokio::test]
async fn a_header_that_signs_in_is_shown_by_its_question_and_nowhere_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let headers = json!({ "X-Goog-Api-Key": "tulip-9", "Authorization": "Bearer daffodil-7", "Accept": "text/plain" });
    let id =
        begin(&house, "http", json!({ "url": "https://a.example/", "headers": headers })).await;
    let waits = in_state(&house, &id, "awaitingApproval").await;
    assert_eq!(waits["approvals"][0]["arguments"]["headers"], headers);
    let shown = format!("{}{}{}", waits["payload"], waits["steps"], waits["deliveries"]);
    assert!(!shown.contains("tulip") && !shown.contains("daffodil"), "{shown}");
    assert_eq!(waits["payload"]["arguments"]["headers"]["Accept"], "text/plain");
    house.host.stop().await;
}

#[tokio::test]
async fn a_failure_is_shown_where_it_was_tried_and_told_to_nobody_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let id = begin(&house, "read_file", json!({ "path": "nowhere.md" })).await;
    let detail = in_state(&house, &id, "failed").await;
    assert!(
        detail["run"]["error"].as_str().is_some_and(|error| error.contains("nowhere.md")),
        "{detail}"
    );
    assert_eq!(detail["deliveries"], json!([]));
    house.host.stop().await;
}

/// What tools are called for people, by their names.
fn labels(tools: &Value) -> HashMap<&str, &Value> {
    let all = tools["tools"].as_array().into_iter().flatten();
    all.map(|tool| (tool["name"].as_str().expect("a name"), &tool["label"])).collect()
}

#[tokio::test]
async fn what_could_only_fail_is_refused_beside_its_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let tools = house.call("tools.catalog", json!({})).await;
    let alone: Vec<&str> = tools["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter(|tool| tool["canBeTried"] == false)
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(alone.len(), 9, "{alone:?}");
    assert_eq!(labels(&tools)["read_file"], "Read a file");
    let wrong = [("nobody", "tool"), ("echo", "arguments")];
    let refused = alone.iter().map(|name| (*name, "tool")).chain(wrong);
    for (tool, field) in refused {
        let params = json!({ "tool": tool, "arguments": { "strange": 1 } });
        let error = house.try_call("tools.try", params).await.expect_err("refused");
        let data = json!(error.data);
        assert!(data.to_string().contains(&format!("\"{field}\"")), "{tool}: {data}");
    }
    let runs = house.call("runs.list", json!({})).await;
    assert_eq!(runs["runs"], json!([]), "nothing was begun");
    house.host.stop().await;
}
