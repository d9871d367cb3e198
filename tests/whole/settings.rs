//! Every setting changes behaviour, invalid values change nothing, and unknown content of the file stays.

use std::net::TcpListener;

use rouse_testkit::fake_model::{FakeModel, Reply, sse};
use rouse_testkit::scripted_model::calls;
use rouse_tests::{EngineBuilder, HOUR, agent_job, echo_job};
use serde_json::json;

#[tokio::test]
async fn kill_switch_in_settings_applies_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = engine.add_job(echo_job(&json!({ "kind": "every", "everyMs": HOUR }))).await;
    engine.call("config.patch", json!({ "patch": { "cron": { "enabled": false } } })).await;
    engine
        .wait_until(async |engine| {
            (engine.call("cron.status", json!({})).await["enabled"] == false).then_some(())
        })
        .await;
    engine.clock.advance(HOUR);
    assert_eq!(engine.finished_runs(&id, 1).await[0]["state"], "skipped");
    engine.call("config.patch", json!({ "patch": { "cron": { "enabled": true } } })).await;
    engine
        .wait_until(async |engine| {
            (engine.call("cron.status", json!({})).await["enabled"] == true).then_some(())
        })
        .await;
    engine.clock.advance(HOUR);
    assert_eq!(engine.finished_runs(&id, 2).await[0]["state"], "succeeded");
    engine.host.stop().await;
}

#[tokio::test]
async fn taken_port_of_settings_falls_back_to_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = other.local_addr().expect("an address").port();
    std::fs::write(folder.path().join("config.toml"), format!("[gateway]\nport = {port}\n"))
        .expect("a file");
    let start = async || {
        let engine = EngineBuilder::new(folder.path()).configured_port().build().await;
        engine.call("cron.status", json!({})).await;
        let address = engine.host.address();
        engine.host.stop().await;
        address.port()
    };
    assert_ne!(start().await, port, "the port is taken");
    drop(other);
    assert_eq!(start().await, port);
}

#[tokio::test]
async fn invalid_setting_changes_nothing_and_comments_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.toml");
    std::fs::write(&path, "# mine\n[cron]\nmaxConcurrentRuns = 3 # three\n[theirs]\nx = 1\n")
        .expect("a file");
    let engine = EngineBuilder::new(folder.path()).build().await;
    assert_eq!(engine.call("cron.status", json!({})).await["maxConcurrentRuns"], 3);
    let refused = engine
        .try_call("config.patch", json!({ "patch": { "cron": { "maxConcurrentRuns": 0 } } }))
        .await;
    assert_eq!(refused.expect_err("refused").data["fields"][0]["path"], "cron.maxConcurrentRuns");
    let refused =
        engine.try_call("config.patch", json!({ "patch": { "gateway": { "port": 1 } } })).await;
    assert!(refused.is_err(), "not for clients");
    engine
        .call("config.patch", json!({ "patch": { "heartbeat": { "everyMs": 3_600_000 } } }))
        .await;
    let text = std::fs::read_to_string(&path).expect("the file");
    for kept in
        ["# mine", "maxConcurrentRuns = 3 # three", "[theirs]", "x = 1", "every = \"3600s\""]
    {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    engine
        .wait_until(async |engine| {
            (engine.call("heartbeat.status", json!({})).await["everyMs"] == 3_600_000).then_some(())
        })
        .await;
    engine.host.stop().await;
}

#[tokio::test]
async fn provider_in_settings_answers_job() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::replying([Reply::events(sse::chat_says("Hello from the wire."))]);
    let engine = EngineBuilder::new(folder.path()).build().await;
    let provider =
        json!({ "kind": "openai", "baseUrl": format!("{}/v1", server.url()), "model": "tiny" });
    engine.call("config.patch", json!({ "patch": { "providers": { "mine": provider } } })).await;
    engine
        .wait_until(async |engine| {
            (!engine.call("system.status", json!({})).await["model"].is_null()).then_some(())
        })
        .await;
    let id = engine.add_job(agent_job("Hello?")).await;
    engine.start_run(&id).await;
    let runs = engine.finished_runs(&id, 1).await;
    assert_eq!(
        (&runs[0]["state"], &runs[0]["summary"]),
        (&json!("succeeded"), &json!("Hello from the wire."))
    );
    assert_eq!(server.bodies()[0]["model"], "tiny");
    engine.host.stop().await;
}

#[tokio::test]
async fn workspace_containing_database_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    for path in [folder.path(), folder.path().parent().expect("a parent")] {
        let change = json!({ "patch": { "workspace": path } });
        let refused = engine.try_call("config.patch", change).await.expect_err("refused");
        assert_eq!(refused.data["fields"][0]["path"], "workspace");
    }
    engine.host.stop().await;
}

#[tokio::test]
async fn environment_variables_override_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = tempfile::tempdir().expect("a folder");
    let file = workspace.path().join("long.txt");
    std::fs::write(&file, "0123456789").expect("a file");
    let again = || calls([("c", "echo", json!({ "text": "again" }))]);
    let engine = EngineBuilder::new(folder.path())
        .env("HEARTBEAT_ENABLED", "off")
        .env("HEARTBEAT_INTERVAL_MS", "90000")
        .env("FILE_WORKSPACE_ROOT", workspace.path().to_str().expect("a path"))
        .env("READ_FILE_MAX_BYTES", "4")
        .env("MAX_MULTI_ACT_STEPS", "2")
        .env("RUN_COMMAND_TIMEOUT_MS", "100")
        .model([again(), again(), again()])
        .build()
        .await;
    let heartbeat = engine.call("heartbeat.status", json!({})).await;
    assert_eq!((&heartbeat["enabled"], &heartbeat["everyMs"]), (&json!(false), &json!(90_000)));
    let id = engine
        .add_job(json!({
            "name": "Read",
            "schedule": { "kind": "manual" },
            "payload": { "kind": "toolCall", "tool": "read_file", "arguments": { "path": "long.txt" } }
        }))
        .await;
    engine.start_run(&id).await;
    let run = engine.finished_runs(&id, 1).await.remove(0);
    let read = engine.run_detail(&run).await["steps"][0]["output"].to_string();
    assert!(read.contains("at most 4 are read at once"), "{read}");
    let id = engine.add_job(agent_job("Go in circles")).await;
    engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await;
    assert_eq!(engine.model.requests().len(), 3, "two turns with tools and a final turn");
    #[cfg(unix)]
    {
        let call = json!({ "kind": "toolCall", "tool": "run_command", "arguments": { "command": "sleep 1000" } });
        let job = json!({ "name": "Slow", "schedule": { "kind": "manual" }, "payload": call });
        let id = engine.add_job(job).await;
        engine.start_run(&id).await;
        let run = engine.finished_runs(&id, 1).await.remove(0);
        assert_eq!(run["state"], "failed");
        assert!(run["error"].as_str().is_some_and(|error| error.contains("was ended")), "{run}");
    }
    let overridden = engine.call("config.get", json!({})).await["overridden"].clone();
    assert_eq!(overridden.as_array().map(Vec::len), Some(6));
    engine.host.stop().await;
}

#[tokio::test]
async fn wide_workspace_needs_its_mode_variable() {
    let [mine, other] = ["FILE_WORKSPACE_ROOT", "CODEX_CWD"];
    for (folder_by, mode_by, mode, root) in [
        (mine, "RISKY_WORKSPACE_MODE", "false", "safe"),
        (mine, "RISKY_WORKSPACE_MODE", "true", "wide"),
        (other, "FILE_WORKSPACE_MODE", "safe", "safe"),
        (other, "FILE_WORKSPACE_MODE", "risky", "wide"),
    ] {
        let (folder, all) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let path = |name: &str| all.path().join(name).display().to_string();
        let engine = EngineBuilder::new(folder.path())
            .env(folder_by, &path("safe"))
            .env(mode_by, mode)
            .env("RISKY_WORKSPACE_ROOT", &path("wide"))
            .build()
            .await;
        let arguments = json!({ "name": "mail", "createReadme": true });
        let call =
            json!({ "kind": "toolCall", "tool": "create_workspace", "arguments": arguments });
        let job = json!({ "name": "Make", "schedule": { "kind": "manual" }, "payload": call });
        let id = engine.add_job(job).await;
        engine.start_run(&id).await;
        let run = engine.finished_runs(&id, 1).await.remove(0);
        assert_eq!(run["summary"], "Created mail.", "{run:#}");
        let output = engine.run_detail(&run).await["steps"][0]["output"].clone();
        assert_eq!(output["workspaceRoot"], json!(path(root)), "{output:#}");
        let is_wide = root == "wide";
        assert_eq!(output["riskyMode"], json!(is_wide));
        let settings = engine.call("config.get", json!({})).await;
        assert_eq!(settings["workspace"], json!(path("safe")), "{settings:#}");
        let wider = json!({ "enabled": is_wide, "root": is_wide.then(|| path("wide")) });
        assert_eq!(settings["riskyWorkspace"], wider, "{settings:#}");
        let readme = std::fs::read_to_string(all.path().join(root).join("mail/README.md"));
        assert_eq!(readme.expect("it is there"), "# mail\n");
        engine.host.stop().await;
    }
}
