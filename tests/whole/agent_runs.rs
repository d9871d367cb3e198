//! Outcomes of agent runs over scripted model answers, valid and invalid.

use rouse_core::model::ProviderErrorKind;
use rouse_testkit::scripted_model::{calls, fails, says};
use rouse_tests::{EngineBuilder, TestEngine, agent_job, tool_calls};
use serde_json::{Value, json};

async fn run_job(engine: &TestEngine, job: Value) -> Value {
    let id = engine.add_job(job).await;
    engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await.remove(0)
}

#[tokio::test]
async fn turn_with_tool_calls_ends_with_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [
        calls([("c1", "echo", json!({ "text": "42" }))]),
        calls([(
            "c2",
            "complete_run",
            json!({ "outcome": "report", "summary": "The answer is 42." }),
        )]),
    ];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let run = run_job(&engine, agent_job("What is it?")).await;
    assert_eq!(
        (&run["state"], &run["summary"]),
        (&json!("succeeded"), &json!("The answer is 42."))
    );
    assert_eq!(run["usage"]["outputTokens"], json!(10));
    let kinds: Vec<_> = engine.run_detail(&run).await["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|s| s["kind"].clone())
        .collect();
    assert_eq!(kinds, ["modelTurn", "toolCall", "modelTurn", "toolCall"]);
    let request = &engine.model.requests()[0];
    let task = format!("{:?}", request.messages.last());
    let id = run["jobId"].as_str().expect("a job");
    assert!(task.contains(&format!("[cron:{id}] Ask: What is it?")), "{task}");
    assert_eq!(engine.notifier.shown.next().await.body, "The answer is 42.");
    engine.host.stop().await;
}

/// Headers can carry data out, so an approval shows headers in full. Transcripts, runs and notifications do not;
/// stored secrets appear as their handles everywhere.
#[tokio::test]
async fn auth_header_is_shown_only_in_its_approval() {
    let folder = tempfile::tempdir().expect("a folder");
    let diary = "Dear diary, today I have told nobody anything.";
    let headers = json!({ "Authorization": "Basic dXNlcjpwYXNz", "Cookie": diary });
    let post = json!({ "url": "https://api.example.com/notes", "method": "POST", "headers": headers, "body": "Tea." });
    let script = [calls([("c1", "http", post)]), says("You said no.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let id = engine.add_job(agent_job("Send it")).await;
    engine.start_run(&id).await;
    let run = engine.wait_for_run(&id, "awaitingApproval").await;
    let approval = engine.pending_approval().await;
    let preview = approval["preview"].as_str().expect("words");
    assert!(preview.contains("api.example.com") && preview.contains("Tea."), "{preview}");
    assert!(preview.contains("Basic dXNlcjpwYXNz") && preview.contains(diary), "{preview}");
    assert_eq!(approval["arguments"]["headers"], headers);
    engine.decide(&approval, "deny").await;
    engine.wait_for_run(&id, "succeeded").await;
    let transcript = engine.call("sessions.get", json!({ "key": format!("cron:{id}") })).await;
    let steps = engine.run_detail(&run).await;
    let notifications = engine.notifier.shown.take_all();
    for (source, text) in [
        ("transcript", transcript.to_string()),
        ("run", format!("{}{}", steps["steps"], steps["deliveries"])),
        ("notifications", format!("{notifications:?}")),
    ] {
        assert!(!text.contains("dXNlcjpwYXNz") && !text.contains(diary), "{source}: {text}");
    }
    assert!(transcript.to_string().contains("[hidden: 18 characters]"), "{transcript}");
    engine.host.stop().await;
}

/// A grant list hides the header values that the approval showed.
#[tokio::test]
async fn auth_header_in_grant_rule_is_hidden() {
    let folder = tempfile::tempdir().expect("a folder");
    let headers = json!({ "Authorization": "Basic dXNlcjpwYXNz" });
    let post = json!({ "url": "https://api.example.com/notes", "method": "POST", "headers": headers, "body": "Tea." });
    let engine =
        EngineBuilder::new(folder.path()).model([calls([("c1", "http", post)])]).build().await;
    let id = engine.add_job(agent_job("Send it")).await;
    engine.start_run(&id).await;
    engine.wait_for_run(&id, "awaitingApproval").await;
    let approval = engine.pending_approval().await;
    let shown = approval["arguments"]["headers"].clone();
    let rules = json!({
        "url": { "rule": "below", "value": "https://api.example.com/" },
        "method": { "rule": "oneOf", "value": ["POST", "PUT"] },
        "headers": { "rule": "oneOf", "value": [{ "Accept": "*/*" }, shown] },
        "body": { "rule": "any" },
    });
    let always = json!({ "kind": "always", "rules": rules });
    let decision = json!({ "id": approval["id"], "decision": always, "from": "page" });
    let decided = engine.call("approvals.decide", decision).await;
    assert_eq!(decided["applied"], true, "{decided}");
    let grant = engine.call("grants.list", json!({})).await["grants"][0].clone();
    let text = grant.to_string();
    assert!(text.contains("[hidden: 18 characters]") && !text.contains("dXNlcjpwYXNz"), "{text}");
    engine.host.stop().await;
}

#[tokio::test]
async fn malformed_arguments_return_error_to_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [
        calls([("c1", "echo", json!("{\"text\": \"unfini")), ("c2", "no_such_tool", json!({}))]),
        calls([("c3", "complete_run", json!({ "outcome": "nothing_to_report", "summary": "" }))]),
    ];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let run = run_job(&engine, agent_job("Try")).await;
    assert_eq!(run["state"], "nothingToReport");
    let messages = format!("{:?}", engine.model.requests()[1].messages);
    assert!(messages.contains("is_error: true"), "{messages}");
    let steps = engine.run_detail(&run).await["steps"].clone();
    assert_eq!((&steps[1]["isError"], &steps[2]["isError"]), (&json!(true), &json!(true)));
    engine.host.stop().await;
}

#[tokio::test]
async fn empty_answer_or_question_is_not_success() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [says(""), says(""), says("Shall I?"), says("Shall I really?")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    for _ in 0..2 {
        assert_eq!(run_job(&engine, agent_job("Do it")).await["state"], "failed");
    }
    engine.host.stop().await;
}

#[tokio::test]
async fn routine_ok_answer_is_nothing_to_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([says("ROUTINE_OK")]).build().await;
    let run = run_job(&engine, agent_job("Anything new?")).await;
    assert_eq!(run["state"], "nothingToReport");
    assert!(engine.notifier.shown.take_all().is_empty());
    engine.host.stop().await;
}

#[tokio::test]
async fn provider_refusal_is_error_of_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path())
        .model([fails(ProviderErrorKind::Auth, "The key was refused.")])
        .build()
        .await;
    let run = run_job(&engine, agent_job("Hello")).await;
    assert_eq!(run["state"], "failed");
    assert!(
        run["error"].as_str().is_some_and(|error| error.contains("The key was refused.")),
        "{run}"
    );
    engine.host.stop().await;
}

#[tokio::test]
async fn run_without_model_names_the_fix() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let run = run_job(&engine, agent_job("Hello")).await;
    assert_eq!(run["state"], "failed");
    assert!(
        run["error"].as_str().is_some_and(|error| error.starts_with("No model is set up.")),
        "{run}"
    );
    assert_eq!(engine.call("system.status", json!({})).await["model"], json!(null));
    engine.host.stop().await;
}

#[tokio::test]
async fn summary_is_posted_to_main_session_with_prefix() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([says("Three mails.")]).build().await;
    let mut job = agent_job("Count mails");
    job["isolation"] = json!({ "postToMainPrefix": "Mail" });
    run_job(&engine, job).await;
    assert_eq!(engine.call("heartbeat.status", json!({})).await["queuedEvents"], json!(1));
    engine.host.stop().await;
}

/// Outside the sandbox every command needs an approval despite grants, and `tools.effective` reports that.
#[tokio::test]
async fn effective_approval_rule_depends_on_sandbox() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    for (sandbox, rule) in [("required", "unlessGranted"), ("open", "always")] {
        let mut job = agent_job("Clean up");
        job["policies"] = json!({ "sandbox": sandbox });
        let id = engine.add_job(job).await;
        let shown = engine.call("tools.effective", json!({ "id": id })).await;
        let tools = shown["tools"].as_array().expect("tools");
        let command = tools.iter().find(|tool| tool["name"] == "run_command").expect("offered");
        assert_eq!(command["approval"], rule, "{sandbox}");
        assert!(sandbox == "required" || command["unavailableReason"].is_null(), "{command}");
    }
    engine.host.stop().await;
}

#[tokio::test]
async fn impossible_workspace_folder_fails_without_approval() {
    let folder = tempfile::tempdir().expect("a folder");
    let impossible = [
        json!({ "name": ".." }),
        json!({ "name": "a", "path": "b" }),
        json!({ "name": "a/b" }),
        json!({ "path": "." }),
        json!({ "path": "../out" }),
        json!({ "name": "there" }),
        json!({ "name": "file", "allowExisting": true }),
    ];
    let ids = ["c0", "c1", "c2", "c3", "c4", "c5", "c6"];
    let requests = ids.into_iter().zip(impossible.clone());
    let requests = requests.map(|(id, arguments)| (id, "create_workspace", arguments));
    let engine =
        EngineBuilder::new(folder.path()).model([calls(requests), says("None.")]).build().await;
    let workspace = folder.path().join("workspace");
    std::fs::create_dir_all(workspace.join("there")).expect("a folder");
    std::fs::write(workspace.join("file"), "x").expect("a file");
    let id = engine.add_job(agent_job("Make them")).await;
    engine.start_run(&id).await;
    let run = engine.finished_runs(&id, 1).await.remove(0);
    assert_eq!(run["state"], "succeeded", "{run}");
    let detail = engine.run_detail(&run).await;
    let steps = tool_calls(&detail);
    assert_eq!(steps.len(), impossible.len(), "{detail}");
    for step in steps {
        assert_eq!(step["isError"], true, "{step}");
    }
    engine.host.stop().await;
}

#[tokio::test]
async fn job_with_approvals_skip_offers_granted_tools_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = || calls([("c1", "write_file", json!({ "path": "a.txt", "content": "Tea." }))]);
    let script = [write(), says("One."), write(), says("Two."), says("Three.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let id = engine.add_job(agent_job("Write it")).await;
    engine.start_run(&id).await;
    engine.wait_for_run(&id, "awaitingApproval").await;
    engine.decide(&engine.pending_approval().await, "always").await;
    engine.finished_runs(&id, 1).await;
    let patch = json!({ "id": id, "patch": { "policies": { "approvals": "skip" } } });
    engine.call("cron.update", patch).await;

    let file = folder.path().join("workspace/a.txt");
    std::fs::remove_file(&file).expect("written");
    let effective_tools = async || {
        let shown = engine.call("tools.effective", json!({ "id": id })).await;
        let tools = shown["tools"].as_array().expect("tools").iter();
        tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let offered = |request: usize| {
        let tools = engine.model.requests()[request].tools.clone();
        tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>()
    };
    let before = effective_tools().await;
    engine.start_run(&id).await;
    engine.finished_runs(&id, 2).await;
    assert_eq!(std::fs::read_to_string(&file).expect("written again"), "Tea.");
    assert_eq!(offered(2), before);
    let contains = |tools: &[String], name: &str| tools.iter().any(|tool| tool == name);
    assert!(contains(&before, "write_file") && !contains(&before, "run_command"), "{before:?}");

    let grant = engine.call("grants.list", json!({})).await["grants"][0]["id"].clone();
    engine.call("grants.revoke", json!({ "id": grant })).await;
    let after = effective_tools().await;
    assert!(!contains(&after, "write_file"), "{after:?}");
    engine.start_run(&id).await;
    engine.finished_runs(&id, 3).await;
    assert_eq!(offered(4), after);
    engine.host.stop().await;
}
