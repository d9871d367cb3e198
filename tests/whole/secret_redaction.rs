//! Stored secrets in user input. The value stands in no file but the secret store and in no model request, whichever
//! way the text comes in. Text older than the secret stays stored and is redacted in requests.

use std::fs;
use std::path::{Path, PathBuf};

use rouse_testkit::scripted_model::{calls, says};
use rouse_tests::{EngineBuilder, TestEngine, agent_job, echo_job, tool_calls};
use serde_json::{Value, json};

const VALUE: &str = "sunflower-42-Tango";

async fn store_secret(engine: &TestEngine) {
    let secret = json!({ "name": "mail", "value": VALUE, "hosts": ["a.example"] });
    engine.call("secrets.set", secret).await;
}

/// Returns the run as soon as finished.
async fn finished_run(engine: &TestEngine, id: &Value) -> Value {
    engine
        .wait_until(async |engine| {
            let run = engine.call("runs.get", json!({ "id": id })).await["run"].clone();
            run["finishedAtMs"].is_i64().then_some(run)
        })
        .await
}

async fn chat(engine: &TestEngine, text: &str) -> Value {
    let sent = engine.call("chat.send", json!({ "text": text })).await;
    let run = finished_run(engine, &sent["runId"]).await;
    assert_eq!(run["state"], "succeeded", "{run}");
    run
}

/// The files below `folder` that hold the value, the write-ahead log included.
pub(crate) fn files_with_value(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files_with_value(&path));
        } else if path.is_file() {
            let bytes = fs::read(&path).expect("a file");
            let holds = bytes.windows(VALUE.len()).any(|window| window == VALUE.as_bytes());
            found.extend(holds.then_some(path));
        }
    }
    found
}

fn requests_text(engine: &TestEngine) -> String {
    format!("{:?}", engine.model.requests())
}

#[tokio::test]
async fn secret_in_user_input_is_redacted_everywhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let post = json!({ "url": "https://api.example.com/", "method": "POST", "body": "Tea." });
    let script =
        [says("One."), says("Two."), calls([("c1", "http", post)]), says("Three."), says("Four.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    store_secret(&engine).await;

    chat(&engine, &format!("The key is {VALUE}, use it")).await;
    let line = json!({ "text": format!("Mind {VALUE}"), "mode": "next-heartbeat" });
    engine.call("wake", line).await;
    let key = json!({ "text": "Hello", "key": VALUE });
    let error = engine.try_call("chat.send", key).await.expect_err("a key is a name");
    assert!(!error.message.contains(VALUE), "{error:?}");
    chat(&engine, "And now?").await;

    let id = engine.add_job(agent_job("Send it")).await;
    engine.start_run(&id).await;
    engine.wait_for_run(&id, "awaitingApproval").await;
    let approval = engine.pending_approval().await;
    let decision = json!({ "kind": "deny", "reason": format!("Not with {VALUE}") });
    let params = json!({ "id": approval["id"], "decision": decision, "from": "page" });
    engine.call("approvals.decide", params).await;
    engine.finished_runs(&id, 1).await;

    let requests = requests_text(&engine);
    let mark = "[redacted: secret:mail]";
    for text in ["The key is", "Mind", "Not with"] {
        assert!(requests.contains(&format!("{text} {mark}")), "{text}: {requests}");
    }
    assert!(!requests.contains(VALUE), "{requests}");
    engine.host.stop().await;
    assert_eq!(files_with_value(folder.path()), [folder.path().join("secrets.json")]);
}

#[tokio::test]
async fn text_older_than_secret_is_redacted_in_requests() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = format!("[heartbeat]\nprompt = \"Speak {VALUE}.\"\n");
    fs::write(folder.path().join("config.toml"), settings).expect("a file");
    let engine =
        EngineBuilder::new(folder.path()).model([says("One."), says("Two.")]).build().await;
    let mut job = agent_job("Look");
    job["payload"]["contextPaths"] = json!([format!("f-{VALUE}.txt")]);
    let id = engine.add_job(job).await;
    store_secret(&engine).await;
    engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await;
    engine.call("wake", json!({ "text": "Up" })).await;
    engine.coalesce_wakes().await;
    engine.model.asked(2).await;
    let requests = requests_text(&engine);
    for text in ["f-[redacted: secret:mail].txt:", "Speak [redacted: secret:mail]."] {
        assert!(requests.contains(text), "{text}: {requests}");
    }
    assert!(!requests.contains(VALUE), "{requests}");
    let patch = json!({ "patch": { "heartbeat": { "prompt": format!("Use {VALUE}") } } });
    let refused = engine.try_call("config.patch", patch).await.expect_err("refused");
    assert_eq!(refused.data["fields"][0]["path"], "heartbeat.prompt");
    engine.host.stop().await;
}

/// Jobs with the value in a field, and the path of that field.
fn jobs_with_value() -> Vec<(Value, &'static str)> {
    let text = format!("Call it with {VALUE}");
    let with = |key: &str| {
        let mut job = agent_job("Send it");
        job[key] = json!(text);
        job
    };
    let mut event = echo_job(&json!({ "kind": "manual" }));
    event["payload"] = json!({ "kind": "systemEvent", "text": text });
    event["sessionTarget"] = json!("main");
    let call = |arguments: Value| {
        let mut job = echo_job(&json!({ "kind": "manual" }));
        job["payload"]["arguments"] = arguments;
        job
    };
    let encoded = "c3VuZmxvd2VyLTQyLVRhbmdv";
    vec![
        (agent_job(&text), "payload.message"),
        (with("name"), "name"),
        (with("description"), "description"),
        (with("theirs"), "theirs"),
        (event, "payload.text"),
        (call(json!({ "text": text })), "payload.arguments.text"),
        (call(json!({ "text": format!("Basic {encoded}") })), "payload.arguments.text"),
        (call(json!({ "text": "a", VALUE: 1 })), "payload.arguments"),
    ]
}

#[tokio::test]
async fn job_with_secret_value_is_refused_with_field_and_handle() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    store_secret(&engine).await;
    let id = engine.add_job(agent_job("Send it")).await;
    for (job, field) in jobs_with_value() {
        let error = engine.try_call("cron.add", job.clone()).await.expect_err(field);
        assert_eq!(error.data["fields"][0]["path"], field, "{error:?}");
        assert!(error.message.contains("{{secret:mail}}"), "{error:?}");
        let patch = json!({ "id": id, "patch": job });
        let refused = engine.try_call("cron.update", patch).await.expect_err(field);
        assert_eq!(refused, error);
        let mut named = job;
        named["id"] = json!("from-a-file");
        let text = json!({ "format": "rouse", "jobs": [named] }).to_string();
        let answer = engine.call("cron.import", json!({ "text": text })).await;
        assert_eq!(answer["lines"][0]["outcome"], "refused", "{answer}");
        assert_eq!(answer["lines"][0]["reason"], error.message, "{answer}");
        assert!(!format!("{error:?} {answer}").contains(VALUE), "{answer}");
    }
    let trial = json!({ "tool": "echo", "arguments": { "text": VALUE } });
    let error = engine.try_call("tools.try", trial).await.expect_err("a trial is written down");
    assert_eq!(error.data["fields"][0]["path"], "arguments.text", "{error:?}");
    engine.add_job(agent_job("Use {{secret:mail}} for it")).await;
    engine.host.stop().await;
    assert_eq!(files_with_value(folder.path()), [folder.path().join("secrets.json")]);
}

/// A job may be older than the secret in the text.
#[tokio::test]
async fn job_older_than_secret_is_redacted_in_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let post = json!({ "url": "https://api.example.com/", "method": "POST", "body": "Tea." });
    let note = json!({ "body": "Done so far." });
    let script = [
        says("One."),
        calls([("c1", "notify", note)]),
        calls([("c2", "http", post)]),
        says("Two."),
        says("Three."),
    ];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    chat(&engine, &format!("Remember {VALUE}")).await;
    let mut job = agent_job(&format!("Send {VALUE}"));
    job["name"] = json!(format!("Mail {VALUE}"));
    let id = engine.add_job(job).await;
    store_secret(&engine).await;
    let before = engine.model.requests().len();

    engine.start_run(&id).await;
    engine.wait_for_run(&id, "awaitingApproval").await;
    let approval = engine.pending_approval().await;
    assert_eq!(approval["jobName"], "Mail [redacted: secret:mail]");
    engine.decide(&approval, "deny").await;
    engine.finished_runs(&id, 1).await;
    let notifications =
        format!("{:?}", [engine.notifier.shown.next().await, engine.notifier.shown.next().await]);
    assert!(!notifications.contains(VALUE), "{notifications}");
    chat(&engine, "And now?").await;
    let requests = format!("{:?}", &engine.model.requests()[before..]);
    assert!(requests.contains("Send [redacted: secret:mail]"), "{requests}");
    assert!(requests.contains("Remember [redacted: secret:mail]"), "{requests}");
    assert!(!requests.contains(VALUE), "{requests}");
    // A disabled job can be edited without rewriting the old text.
    let patch = json!({ "id": id, "patch": { "enabled": false } });
    engine.call("cron.update", patch).await;
    engine.host.stop().await;
}

#[tokio::test]
async fn call_with_secret_value_is_refused_and_not_stored() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |path: &str, content: &str| json!({ "path": path, "content": content });
    let script = [
        calls([
            ("c1", "write_file", file("a.txt", "ordinary")),
            ("c2", "write_file", file("b.txt", &format!("KEY={VALUE}\n"))),
            ("c3", "memory_write", json!({ "title": "Key", "content": format!("It is {VALUE}.") })),
        ]),
        calls([
            ("c4", "write_file", file(&format!("{VALUE}.txt"), "a")),
            ("c5", "run_command", json!({ "command": "echo c3VuZmxvd2VyLTQyLVRhbmdv > b.txt" })),
        ]),
        says("Nothing of it is written."),
    ];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    store_secret(&engine).await;
    let id = engine.add_job(agent_job("Write the settings")).await;
    engine.start_run(&id).await;
    engine.wait_for_run(&id, "awaitingApproval").await;
    let approval = engine.pending_approval().await;
    assert_eq!(approval["arguments"]["path"], "a.txt");
    engine.decide(&approval, "once").await;

    let run = engine.finished_runs(&id, 1).await[0].clone();
    assert_eq!(run["state"], "succeeded", "{run}");
    let detail = engine.run_detail(&run).await;
    let calls = tool_calls(&detail);
    let failed: Vec<bool> = calls.iter().map(|step| step["isError"] == true).collect();
    assert_eq!(failed, [false, true, true, true, true], "{calls:?}");
    for refused in &calls[1..] {
        assert!(refused["output"].to_string().contains("Write {{secret:mail}}"), "{refused}");
    }
    let requests = requests_text(&engine);
    assert!(!requests.contains(VALUE), "{requests}");
    engine.host.stop().await;
    assert!(!folder.path().join("workspace/b.txt").exists());
    assert_eq!(files_with_value(folder.path()), [folder.path().join("secrets.json")]);
}
