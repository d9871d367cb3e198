//! Faults of a server in the runs of a job.

use rouse_testkit::scripted_model::{calls, says};
use rouse_tests::EngineBuilder;
use rouse_tests::mcp::{accept, install, install_and_accept, server_job, steps_of};
use serde_json::json;

use super::fixture::double;

#[tokio::test]
async fn server_that_exits_fails_the_run_with_its_last_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([]).build().await;
    let tools = install(&engine, "cal", double(&["--fault", "exit-at-start"])).await;
    let error = tools["error"].as_str().expect("an error");
    assert!(error.contains("no configuration found"), "{error}");
    let mut job = server_job("What is on today?", &["cal"]);
    job["runtime"] = json!({ "maxAttempts": 1 });
    let id = engine.add_job(job).await;
    engine.start_run(&id).await;
    let run = engine.finished_runs(&id, 1).await.remove(0);
    assert_eq!(run["state"], "failed", "{run}");
    let error = run["error"].as_str().expect("an error");
    assert!(error.contains("no configuration found") && error.contains("status 1"), "{error}");
    let list = engine.call("extensions.list", json!({})).await;
    assert_eq!(list["extensions"][0]["state"], "broken", "{list}");
    engine.host.stop().await;
}

#[tokio::test]
async fn server_that_dies_in_a_call_starts_again_for_the_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [
        calls([("c1", "cal_crash", json!({}))]),
        calls([("c2", "cal_echo", json!({ "text": "alive" }))]),
        says("It is back."),
    ];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    install_and_accept(&engine, "cal", double(&[])).await;
    let reads = json!({ "name": "cal", "tool": "crash", "access": "readsOnly" });
    engine.call("extensions.setAccess", reads).await;
    let id = engine.add_job(server_job("Look.", &["cal"])).await;
    engine.start_run(&id).await;
    // The second call follows untrusted input, to a server outside the sandbox.
    engine.wait_for_run(&id, "awaitingApproval").await;
    engine.decide(&engine.pending_approval().await, "once").await;
    let run = engine.wait_for_run(&id, "succeeded").await;
    let crashed = steps_of(&engine, &run, "cal_crash").await;
    assert_eq!(crashed[0]["isError"], true, "{crashed:?}");
    assert!(crashed[0]["output"].to_string().contains("status 3"), "{crashed:?}");
    let echoed = steps_of(&engine, &run, "cal_echo").await;
    assert_eq!(echoed[0]["output"], json!("alive"));
    engine.host.stop().await;
}

/// The server changes a description after the first call. The next run is without the tool until a person has read the
/// difference.
#[tokio::test]
async fn changed_tool_is_held_until_it_is_accepted() {
    let folder = tempfile::tempdir().expect("a folder");
    let echoes = || calls([("c1", "cal_echo", json!({ "text": "x" }))]);
    let script = [echoes(), says("One."), says("Two."), echoes(), says("Three.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    install_and_accept(&engine, "cal", double(&["--fault", "list-changed"])).await;
    let id = engine.add_job(server_job("Look.", &["cal"])).await;
    engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await;

    engine.start_run(&id).await;
    engine.finished_runs(&id, 2).await;
    let request = engine.model.requests()[2].clone();
    assert!(!format!("{:?}", request.tools).contains("cal_echo"), "not offered");
    let task = format!("{:?}", request.messages.last());
    assert!(task.contains("have changed and wait for the user's review: cal_echo"), "{task}");

    let review = engine.call("extensions.review", json!({ "name": "cal" })).await;
    let held = &review["page"]["tools"][0];
    assert_eq!((&held["change"], &held["offered"]["name"]), (&json!("changed"), &json!("echo")));
    assert_ne!(held["accepted"]["description"], held["offered"]["description"]);
    accept(&engine, "cal", &review["page"]).await;
    engine.start_run(&id).await;
    // The session has read untrusted input, and the server is outside the sandbox.
    engine.wait_for_run(&id, "awaitingApproval").await;
    engine.decide(&engine.pending_approval().await, "once").await;
    let run = engine.finished_runs(&id, 3).await.remove(0);
    assert_eq!(steps_of(&engine, &run, "cal_echo").await[0]["output"], json!("x"));
    engine.host.stop().await;
}

#[tokio::test]
async fn odd_names_and_schemas_leave_the_other_tools() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    for (name, fault) in [("names", "odd-names"), ("schemas", "bad-schema"), ("many", "many-tools")]
    {
        let tools = install(&engine, name, double(&["--fault", fault])).await;
        assert_eq!(tools["error"], json!(null), "{fault}: {tools}");
        assert!(!tools["refused"].as_array().expect("refused tools").is_empty(), "{fault}");
        accept(&engine, name, &tools["page"]).await;
        let catalog = engine.call("tools.catalog", json!({})).await;
        let offered = catalog["tools"].as_array().expect("tools");
        let echo = format!("{name}_echo");
        assert!(offered.iter().any(|tool| tool["name"] == echo.as_str()), "{fault}");
        let is_long =
            |tool: &&serde_json::Value| tool["name"].as_str().is_some_and(|name| name.len() > 64);
        assert_eq!(offered.iter().find(is_long), None, "{fault}");
    }
    engine.host.stop().await;
}

#[tokio::test]
async fn noise_of_a_server_is_skipped() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [calls([("c1", "cal_echo", json!({ "text": "x" }))]), says("Done.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let faults = ["--fault", "noise", "--fault", "crlf", "--fault", "flood-stderr"];
    install_and_accept(&engine, "cal", double(&faults)).await;
    let id = engine.add_job(server_job("Look.", &["cal"])).await;
    engine.start_run(&id).await;
    let run = engine.wait_for_run(&id, "succeeded").await;
    assert_eq!(steps_of(&engine, &run, "cal_echo").await[0]["output"], json!("x"));
    engine.host.stop().await;
}
