//! MCP servers in jobs, from the installation to the report, with a real server process.

mod fixture;
mod attacks;
mod faults;
#[cfg(unix)]
mod missing_tools;
mod progress;
mod kept_files;
#[cfg(target_os = "linux")]
mod killed_server;

use rouse_testkit::scripted_model::{calls, says};
use rouse_tests::EngineBuilder;
use rouse_tests::mcp::{install, install_and_accept, server_job, steps_of};
use serde_json::{Value, json};

use fixture::double;

#[tokio::test]
async fn job_calls_an_accepted_tool_and_reports() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [calls([("c1", "cal_echo", json!({ "text": "three events" }))]), says("Three.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    install_and_accept(&engine, "cal", double(&[])).await;
    let id = engine.add_job(server_job("What is on today?", &["cal"])).await;
    let effective = engine.call("tools.effective", json!({ "id": id })).await;
    let tools = effective["tools"].as_array().expect("tools");
    let echo = tools.iter().find(|tool| tool["name"] == "cal_echo").expect("offered");
    assert_eq!(echo["origin"]["extension"], "cal");
    assert_eq!(echo["origin"]["version"], "mcp-double 1.0.0");
    assert_eq!(echo["origin"]["hash"].as_str().map(str::len), Some(64));
    engine.start_run(&id).await;
    let run = engine.wait_for_run(&id, "succeeded").await;
    let steps = steps_of(&engine, &run, "cal_echo").await;
    assert_eq!(steps[0]["output"], json!("three events"));
    engine.host.stop().await;
}

/// A page shows no folder that the start would refuse.
#[cfg(unix)]
#[tokio::test]
async fn forbidden_folder_is_refused_before_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let data = folder.path().canonicalize().expect("there");
    let data = data.to_str().expect("text");
    let refusal = async |field: &str, value: Value, source: Option<&str>| {
        let mut server = double(&[]);
        server["transport"]["isUnconfined"] = json!(false);
        server["transport"][field] = value;
        let mut draft = json!({ "name": "cal", "server": server });
        if let Some(path) = source {
            draft["source"] = json!({ "kind": "folder", "path": path });
        }
        let error = engine.try_call("extensions.preview", draft).await.expect_err("refused");
        error.data["fields"][0]["path"].as_str().expect("a field").to_owned()
    };
    for forbidden in [data, "/"] {
        let field = refusal("folders", json!([forbidden]), None).await;
        assert_eq!(field, "server.transport.folders", "{forbidden}");
        let field = refusal("folders", json!([]), Some(forbidden)).await;
        assert_eq!(field, "source", "{forbidden}");
    }
    let gone = format!("{data}/gone");
    assert_eq!(refusal("folder", json!(gone), None).await, "server.transport.folder");
    engine.host.stop().await;
}

#[tokio::test]
async fn tool_of_an_unnamed_server_is_not_offered() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([says("Done.")]).build().await;
    install_and_accept(&engine, "cal", double(&[])).await;
    let id = engine.add_job(rouse_tests::agent_job("What is on today?")).await;
    engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await;
    let offered = format!("{:?}", engine.model.requests()[0].tools);
    assert!(!offered.contains("cal_"), "{offered}");
    engine.host.stop().await;
}

#[tokio::test]
async fn job_is_warned_of_a_server_that_runs_cannot_use() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([]).build().await;
    install_and_accept(&engine, "cal", double(&[])).await;
    let warnings = async |servers: &[&str]| {
        let mut job = server_job("Echo.", servers);
        job["payload"]["tools"] = json!(["cal_echo"]);
        let checked = engine.call("cron.check", json!({ "job": job })).await;
        let found = checked["warnings"].as_array().expect("warnings").iter();
        found.map(|found| found["message"].as_str().expect("words").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(warnings(&["cal"]).await, [""; 0]);
    let unused = "The job does not use the MCP server `cal` of the tool `cal_echo`; runs start without the tool.";
    assert_eq!(warnings(&[]).await, [unused]);
    let missing = "The MCP server `clal` is not installed; runs start without it.";
    assert_eq!(warnings(&["clal:optional"]).await, [missing, unused]);
    engine.call("extensions.setEnabled", json!({ "name": "cal", "enabled": false })).await;
    let off = "The MCP server `cal` is switched off; runs fail.";
    assert_eq!(warnings(&["cal"]).await[0], off);
    engine.host.stop().await;
}

#[tokio::test]
async fn tool_call_job_uses_a_server_without_a_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    install_and_accept(&engine, "cal", double(&[])).await;
    let call = json!({ "kind": "toolCall", "tool": "cal_add", "arguments": { "a": 1, "b": 2 } });
    let job = json!({ "name": "Add", "schedule": { "kind": "manual" }, "payload": call });
    let id = engine.add_job(job).await;
    engine.start_run(&id).await;
    let run = engine.wait_for_run(&id, "succeeded").await;
    assert_eq!(run["summary"], "3", "{run}");
    engine.host.stop().await;
}

/// The approval outlives the engine; the call is made once, by the server of the new engine.
#[tokio::test]
async fn approved_server_call_is_made_once_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let notes = folder.path().join("notes.txt");
    let server = double(&["--notes", notes.to_str().expect("text")]);
    let call = json!({ "path": "a", "text": "tea" });
    let script = [calls([("c1", "cal_write_note", call)])];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    install_and_accept(&engine, "cal", server).await;
    let id = engine.add_job(server_job("Write it down.", &["cal"])).await;
    engine.start_run(&id).await;
    engine.wait_for_run(&id, "awaitingApproval").await;
    assert!(!notes.exists(), "nothing was written before the approval");
    let clock = engine.clock.clone();
    engine.host.stop().await;

    let builder = EngineBuilder::new(folder.path()).clock(&clock);
    let engine = builder.model([says("Written.")]).build().await;
    let approval = engine.pending_approval().await;
    assert!(approval["preview"].as_str().expect("words").contains("tea"), "{approval}");
    engine.decide(&approval, "once").await;
    engine.wait_for_run(&id, "succeeded").await;
    assert_eq!(std::fs::read_to_string(&notes).expect("a file"), "a: tea\n");
    engine.host.stop().await;
}

#[tokio::test]
async fn reason_of_an_always_ask_tool_is_the_choice() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [calls([("c1", "cal_echo", json!({ "text": "tea" }))])];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    install_and_accept(&engine, "cal", double(&[])).await;
    let always_ask = json!({ "name": "cal", "tool": "echo", "access": "alwaysAsk" });
    engine.call("extensions.setAccess", always_ask).await;
    let id = engine.add_job(server_job("Echo.", &["cal"])).await;
    engine.start_run(&id).await;
    engine.wait_for_run(&id, "awaitingApproval").await;
    let approval = engine.pending_approval().await;
    assert_eq!(approval["requestReason"], "Such a call needs your approval each time.");
    assert_eq!(approval["isHighest"], true, "{approval}");
    engine.host.stop().await;
}

#[tokio::test]
async fn form_of_a_server_parks_the_run_until_the_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [calls([("c1", "cal_echo", json!({ "text": "Hello" }))]), says("Done.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let server = double(&["--fault", "modern-only", "--fault", "ask-input"]);
    install_and_accept(&engine, "cal", server).await;
    let id = engine.add_job(server_job("Look.", &["cal"])).await;
    engine.start_run(&id).await;
    let run = engine.wait_for_run(&id, "awaitingApproval").await;
    let request = engine.pending_approval().await;
    let answers = json!({ "name": "Ada", "count": 3 });
    let decision = json!({ "kind": "submit", "answers": answers });
    let params = json!({ "id": request["id"], "decision": decision, "from": "page" });
    let decided = engine.call("approvals.decide", params).await;
    assert_eq!(decided["applied"], true, "{decided}");
    engine.wait_for_run(&id, "succeeded").await;
    let steps = steps_of(&engine, &run, "cal_echo").await;
    let output = steps.last().expect("a call")["output"].to_string();
    assert!(output.contains("Hello") && output.contains("Ada"), "{output}");
    engine.host.stop().await;
}

#[tokio::test]
async fn missing_required_server_fails_the_run_once_per_cause() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([]).build().await;
    let id = engine.add_job(server_job("What is on today?", &["cal"])).await;
    for count in [1, 2] {
        engine.start_run(&id).await;
        let run = engine.finished_runs(&id, count).await.remove(0);
        assert_eq!(run["state"], "failed", "{run}");
        let error = run["error"].as_str().expect("an error");
        assert!(
            error.contains("cal is not installed")
                && error.contains("rouse mcp add cal -- COMMAND")
        );
    }
    assert_eq!(engine.notifier.shown.take_all().len(), 1, "one incident");
    engine.host.stop().await;
}

#[tokio::test]
async fn optional_server_that_does_not_start_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([says("No calendar.")]).build().await;
    install(&engine, "cal", double(&["--fault", "exit-at-start"])).await;
    let id = engine.add_job(server_job("What is on today?", &["cal:optional"])).await;
    engine.start_run(&id).await;
    engine.wait_for_run(&id, "succeeded").await;
    let task = format!("{:?}", engine.model.requests()[0].messages);
    assert!(task.contains("The MCP server cal is not available"), "{task}");
    engine.host.stop().await;
}

#[tokio::test]
async fn removed_extension_leaves_no_tool_and_no_grant() {
    let folder = tempfile::tempdir().expect("a folder");
    let call = json!({ "path": "a", "text": "tea" });
    let script = [calls([("c1", "cal_write_note", call)]), says("Written.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let notes = folder.path().join("notes.txt");
    let server = double(&["--notes", notes.to_str().expect("text")]);
    install_and_accept(&engine, "cal", server).await;
    let id = engine.add_job(server_job("Write it down.", &["cal"])).await;
    engine.start_run(&id).await;
    engine.wait_for_run(&id, "awaitingApproval").await;
    engine.decide(&engine.pending_approval().await, "always").await;
    engine.wait_for_run(&id, "succeeded").await;
    let valid = async || {
        let grants = engine.call("grants.list", json!({ "jobId": id })).await["grants"].clone();
        grants.as_array().expect("grants").iter().filter(|grant| grant["isValid"] == true).count()
    };
    assert_eq!(valid().await, 1);
    engine.call("extensions.remove", json!({ "name": "cal" })).await;
    assert_eq!(valid().await, 0);
    let catalog = engine.call("tools.catalog", json!({})).await.to_string();
    assert!(!catalog.contains("cal_"), "{catalog}");
    let list = engine.call("extensions.list", json!({})).await;
    assert_eq!(list["extensions"], Value::Array(Vec::new()));
    engine.host.stop().await;
}
