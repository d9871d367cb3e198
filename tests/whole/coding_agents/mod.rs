//! Coding agents in jobs and in a model's run, with a real agent process.

mod fixture;
mod restarts;

use rouse_testkit::scripted_model::{calls, says};
use rouse_tests::mcp::{install, steps_of};
use rouse_tests::{EngineBuilder, agent_job};
use serde_json::{Value, json};

use fixture::{approval, double, engine, job, start, text_of};

#[tokio::test]
async fn job_reports_what_the_agent_did() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = engine(folder.path(), &[]).await;
    let task = "say First.\nread Look at a.txt\nappend a.txt one\ncost 0.25\nsay All is done.";
    let id = start(&engine, task).await;
    let run = engine.wait_for_run(&id, "succeeded").await;
    assert_eq!(run["summary"], "All is done.");
    assert_eq!(run["usage"]["costMicroUsd"], 250_000);
    let steps = steps_of(&engine, &run, "delegate").await;
    let titles: Vec<&Value> = steps[0]["output"]["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|s| &s["title"])
        .collect();
    assert_eq!(titles, ["Look at a.txt", "Append to a.txt"]);
    assert_eq!(text_of(folder.path(), "a.txt"), "one\n");
    engine.host.stop().await;
}

#[tokio::test]
async fn permission_parks_the_run_until_a_decision() {
    for (decision, written, report) in
        [("once", "one\n", "Done."), ("deny", "", "The change of a.txt was rejected. Done.")]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let engine = engine(folder.path(), &[]).await;
        let id = start(&engine, "ask a.txt one\nsay Done.").await;
        let request = approval(&engine).await;
        let preview = request["preview"].as_str().expect("a text");
        assert!(
            preview.starts_with("Append to a.txt\n") && preview.contains("\n+one"),
            "{preview}"
        );
        let reason = &request["requestReason"];
        assert_eq!(reason, "The coding agent coder asks for your permission.");
        assert_eq!((&request["isHighest"], &request["input"]), (&json!(false), &Value::Null));
        assert_eq!(text_of(folder.path(), "a.txt"), "");
        engine.decide(&request, decision).await;
        let run = engine.wait_for_run(&id, "succeeded").await;
        assert_eq!(run["summary"], report);
        assert_eq!(text_of(folder.path(), "a.txt"), written);
        engine.host.stop().await;
    }
}

#[tokio::test]
async fn action_allowed_for_the_run_is_not_asked_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = engine(folder.path(), &[]).await;
    // The second request equals the first one: the file is away in between.
    let task = "ask /dev/null same\nask /dev/null same\nask b.txt other\nsay Done.";
    let id = start(&engine, task).await;
    engine.decide(&approval(&engine).await, "run").await;
    let next = approval(&engine).await;
    assert!(next["preview"].as_str().expect("a text").starts_with("Append to b.txt"), "{next}");
    engine.decide(&next, "once").await;
    engine.wait_for_run(&id, "succeeded").await;
    engine.host.stop().await;
}

#[tokio::test]
async fn request_without_allow_once_is_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = engine(folder.path(), &[]).await;
    let id = start(&engine, "ask-always a.txt one\nsay Done.").await;
    let run = engine.wait_for_run(&id, "succeeded").await;
    let steps = steps_of(&engine, &run, "delegate").await;
    let title = steps[0]["output"]["steps"][0]["title"].as_str().expect("a title");
    assert!(title.starts_with("Rejected, because the request offers no way"), "{title}");
    assert_eq!(text_of(folder.path(), "a.txt"), "");
    engine.host.stop().await;
}

#[tokio::test]
async fn report_without_text_or_with_a_question_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = engine(folder.path(), &[]).await;
    for (task, error) in [
        ("read a.txt", "coder ended without a report."),
        ("say Shall I?", "coder ended with a question, but the run is unattended: Shall I?"),
        ("say Half.\ndie", "coder ended before its task did. The agent exited with status 3"),
        ("say Half.\nstop max_tokens", "coder stopped at its limit of tokens"),
    ] {
        let id = start(&engine, task).await;
        let run = engine.wait_for_run(&id, "failed").await;
        assert!(run["error"].as_str().expect("a text").contains(error), "{run}");
    }
    engine.host.stop().await;
}

#[tokio::test]
async fn agent_that_is_missing_or_signed_out_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = engine(folder.path(), &["--signed-out"]).await;
    let id = start(&engine, "say Done.").await;
    let run = engine.wait_for_run(&id, "failed").await;
    assert!(run["error"].as_str().expect("a text").contains("coder is not signed in."), "{run}");
    engine.call("extensions.remove", json!({ "name": "coder" })).await;
    engine.start_run(&id).await;
    let runs = engine.finished_runs(&id, 2).await;
    let error = runs[0]["error"].as_str().expect("a text");
    assert!(error.contains("`rouse agents add coder`"), "{error}");
    engine.host.stop().await;
}

#[tokio::test]
async fn cancelled_run_ends_a_working_agent() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = engine(folder.path(), &[]).await;
    let id = start(&engine, "hang").await;
    let run = engine.wait_for_run(&id, "running").await;
    engine.call("runs.cancel", json!({ "id": run["id"] })).await;
    engine.wait_for_run(&id, "cancelled").await;
    engine.host.stop().await;
}

#[tokio::test]
async fn silent_agent_is_cancelled() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut server = double(folder.path(), &[]);
    server["callTimeoutSeconds"] = json!(1);
    install(&engine, "coder", server).await;
    let id = start(&engine, "read a.txt\nhang").await;
    let run = engine.wait_for_run(&id, "failed").await;
    let error = run["error"].as_str().expect("a text");
    assert!(error.contains("coder reported nothing for 1 s"), "{error}");
    engine.host.stop().await;
}

/// An event is untrusted input, so the person's own task with it needs an approval.
#[tokio::test]
async fn task_with_an_event_needs_an_approval() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = engine(folder.path(), &[]).await;
    let mut draft = job("say Done.");
    draft["schedule"] = json!({ "kind": "event", "source": "wake" });
    let id = engine.add_job(draft).await;
    engine.call("wake", json!({ "text": "append a.txt x", "mode": "next-heartbeat" })).await;
    let request = approval(&engine).await;
    assert_eq!(request["agent"], Value::Null);
    assert!(request["preview"].as_str().expect("a text").contains("append a.txt x"), "{request}");
    engine.decide(&request, "deny").await;
    engine.wait_for_run(&id, "cancelled").await;
    assert_eq!(text_of(folder.path(), "a.txt"), "");
    engine.host.stop().await;
}

#[tokio::test]
async fn model_delegates_after_an_approval() {
    let folder = tempfile::tempdir().expect("a folder");
    let task = json!({ "agent": "coder", "task": "ask a.txt one\nsay Appended." });
    let script = [calls([("c1", "delegate", task)]), says("The agent appended a line.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    install(&engine, "coder", double(folder.path(), &[])).await;
    let id = engine.add_job(agent_job("Append a line.")).await;
    engine.start_run(&id).await;
    let call = approval(&engine).await;
    assert!(call["preview"].as_str().expect("a text").contains("Coding agent coder in"), "{call}");
    engine.decide(&call, "once").await;
    let permission = approval(&engine).await;
    assert!(permission["preview"].as_str().expect("a text").contains("+one"), "{permission}");
    engine.decide(&permission, "once").await;
    engine.wait_for_run(&id, "succeeded").await;
    assert_eq!(text_of(folder.path(), "a.txt"), "one\n");
    let told = format!("{:?}", engine.model.requests()[1].messages);
    assert!(told.contains("Appended."), "{told}");
    engine.host.stop().await;
}

#[tokio::test]
async fn fields_of_a_model_are_refused_with_an_agent() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = engine(folder.path(), &[]).await;
    let mut draft = job("say Done.");
    draft["payload"]["model"] = json!("gpt");
    draft["payload"]["maxSteps"] = json!(3);
    let error = engine.try_call("cron.add", draft).await.expect_err("refused");
    assert!(error.message.contains("payload.model") && error.message.contains("payload.maxSteps"));
    engine.host.stop().await;
}

/// The private folder is the home, and the folder of the task is the only other one that can be changed.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn confined_agent_changes_its_folder_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut server = double(folder.path(), &[]);
    server["transport"]["isUnconfined"] = json!(false);
    server["transport"]["arguments"] = json!([]);
    let page = install(&engine, "coder", server).await;
    assert_eq!(page["error"], Value::Null, "{page}");
    let id = start(&engine, "ask a.txt one\nvariable HOME\nfolder").await;
    engine.decide(&approval(&engine).await, "once").await;
    let run = engine.wait_for_run(&id, "succeeded").await;
    let workspace = folder.path().join("workspace").canonicalize().expect("there");
    let report = run["summary"].as_str().expect("a text");
    assert!(report.ends_with(workspace.to_str().expect("text")), "{report}");
    assert_eq!(text_of(folder.path(), "a.txt"), "one\n");
    let config = folder.path().join("config.toml");
    let id = start(&engine, &format!("append {} x", config.display())).await;
    engine.wait_for_run(&id, "failed").await;
    assert!(!std::fs::read_to_string(&config).unwrap_or_default().contains('x'));
    engine.host.stop().await;
}
