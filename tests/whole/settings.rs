//! Every knob changes behaviour, bad values change nothing, and the file keeps what it does not know.

use std::net::TcpListener;
use std::sync::Arc;

use rouse_gateway::wire::EngineMode;
use rouse_host::{Home, Host, HostOptions};
use rouse_testkit::fake_model::{FakeModel, Reply, sse};
use rouse_testkit::scripted_model::calls;
use serde_json::json;

use crate::house::{HOUR, Plan, ask, echo, no_ui};

#[tokio::test]
async fn the_kill_switch_in_the_settings_works_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let id = house.add(echo(&json!({ "kind": "every", "everyMs": HOUR }))).await;
    house.call("config.patch", json!({ "patch": { "cron": { "enabled": false } } })).await;
    house
        .until(async |house| {
            (house.call("cron.status", json!({})).await["enabled"] == false).then_some(())
        })
        .await;
    house.clock.advance(HOUR);
    assert_eq!(house.ended(&id, 1).await[0]["state"], "skipped");
    house.call("config.patch", json!({ "patch": { "cron": { "enabled": true } } })).await;
    house
        .until(async |house| {
            (house.call("cron.status", json!({})).await["enabled"] == true).then_some(())
        })
        .await;
    house.clock.advance(HOUR);
    assert_eq!(house.ended(&id, 2).await[0]["state"], "succeeded");
    house.host.stop().await;
}

#[tokio::test]
async fn the_port_of_the_settings_is_taken_when_it_is_free_and_another_when_it_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = other.local_addr().expect("an address").port();
    std::fs::write(folder.path().join("config.toml"), format!("[gateway]\nport = {port}\n"))
        .expect("a file");
    let start = async || {
        let home = Home::at(folder.path());
        let mut options = HostOptions::headless(home, EngineMode::Serve, None, no_ui());
        options.env = Arc::new(|name| (name == "ROUSE_LOCAL_MODELS").then(|| "0".to_owned()));
        let host = Host::start(options).await.expect("a host");
        host.gateway().call("cron.status", json!({})).await.expect("an answer");
        let address = host.address();
        host.stop().await;
        address.port()
    };
    assert_ne!(start().await, port, "somebody else has it");
    drop(other);
    assert_eq!(start().await, port);
}

#[tokio::test]
async fn a_wrong_value_changes_nothing_and_comments_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.toml");
    std::fs::write(&path, "# mine\n[cron]\nmaxConcurrentRuns = 3 # three\n[theirs]\nx = 1\n")
        .expect("a file");
    let house = Plan::new(folder.path()).build().await;
    assert_eq!(house.call("cron.status", json!({})).await["maxConcurrentRuns"], 3);
    let refused = house
        .try_call("config.patch", json!({ "patch": { "cron": { "maxConcurrentRuns": 0 } } }))
        .await;
    assert_eq!(refused.expect_err("refused").data["fields"][0]["path"], "cron.maxConcurrentRuns");
    let refused =
        house.try_call("config.patch", json!({ "patch": { "gateway": { "port": 1 } } })).await;
    assert!(refused.is_err(), "not for clients");
    house.call("config.patch", json!({ "patch": { "heartbeat": { "everyMs": 3_600_000 } } })).await;
    let text = std::fs::read_to_string(&path).expect("the file");
    for kept in
        ["# mine", "maxConcurrentRuns = 3 # three", "[theirs]", "x = 1", "every = \"3600s\""]
    {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    house
        .until(async |house| {
            (house.call("heartbeat.status", json!({})).await["everyMs"] == 3_600_000).then_some(())
        })
        .await;
    house.host.stop().await;
}

#[tokio::test]
async fn a_provider_in_the_settings_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::replying([Reply::events(sse::chat_says("Hello from the wire."))]);
    let house = Plan::new(folder.path()).build().await;
    let provider =
        json!({ "kind": "openai", "baseUrl": format!("{}/v1", server.url()), "model": "tiny" });
    house.call("config.patch", json!({ "patch": { "providers": { "mine": provider } } })).await;
    house
        .until(async |house| {
            (!house.call("system.status", json!({})).await["model"].is_null()).then_some(())
        })
        .await;
    let id = house.add(ask("Hello?")).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    let runs = house.ended(&id, 1).await;
    assert_eq!(
        (&runs[0]["state"], &runs[0]["summary"]),
        (&json!("succeeded"), &json!("Hello from the wire."))
    );
    assert_eq!(server.bodies()[0]["model"], "tiny");
    house.host.stop().await;
}

#[tokio::test]
async fn the_workspace_never_holds_the_database() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    for path in [folder.path(), folder.path().parent().expect("a parent")] {
        let change = json!({ "patch": { "workspace": path } });
        let refused = house.try_call("config.patch", change).await.expect_err("refused");
        assert_eq!(refused.data["fields"][0]["path"], "workspace");
    }
    house.host.stop().await;
}

#[tokio::test]
async fn every_variable_overrides_its_setting() {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = tempfile::tempdir().expect("a folder");
    let file = workspace.path().join("long.txt");
    std::fs::write(&file, "0123456789").expect("a file");
    let again = || calls([("c", "echo", json!({ "text": "again" }))]);
    let house = Plan::new(folder.path())
        .env("HEARTBEAT_ENABLED", "off")
        .env("HEARTBEAT_INTERVAL_MS", "90000")
        .env("FILE_WORKSPACE_ROOT", workspace.path().to_str().expect("a path"))
        .env("READ_FILE_MAX_BYTES", "4")
        .env("MAX_MULTI_ACT_STEPS", "2")
        .env("RUN_COMMAND_TIMEOUT_MS", "100")
        .model([again(), again(), again()])
        .build()
        .await;
    let heartbeat = house.call("heartbeat.status", json!({})).await;
    assert_eq!((&heartbeat["enabled"], &heartbeat["everyMs"]), (&json!(false), &json!(90_000)));
    let id = house
        .add(json!({
            "name": "Read",
            "schedule": { "kind": "manual" },
            "payload": { "kind": "toolCall", "tool": "read_file", "arguments": { "path": "long.txt" } }
        }))
        .await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    let run = house.ended(&id, 1).await.remove(0);
    let read = house.detail(&run).await["steps"][0]["output"].to_string();
    assert!(read.contains("at most 4 are read at once"), "{read}");
    let id = house.add(ask("Go in circles")).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.ended(&id, 1).await;
    assert_eq!(
        house.model.requests().len(),
        3,
        "two turns with tools, and one to say what came of them"
    );
    #[cfg(unix)]
    {
        let call = json!({ "kind": "toolCall", "tool": "run_command", "arguments": { "command": "sleep 1000" } });
        let job = json!({ "name": "Slow", "schedule": { "kind": "manual" }, "payload": call });
        let id = house.add(job).await;
        house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
        let run = house.ended(&id, 1).await.remove(0);
        assert_eq!(run["state"], "failed");
        assert!(run["error"].as_str().is_some_and(|error| error.contains("was ended")), "{run}");
    }
    let overridden = house.call("config.get", json!({})).await["overridden"].clone();
    assert_eq!(overridden.as_array().map(Vec::len), Some(6));
    house.host.stop().await;
}

#[tokio::test]
async fn a_wider_workspace_is_that_of_the_tools_where_a_person_opens_it() {
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
        let house = Plan::new(folder.path())
            .env(folder_by, &path("safe"))
            .env(mode_by, mode)
            .env("RISKY_WORKSPACE_ROOT", &path("wide"))
            .build()
            .await;
        let arguments = json!({ "name": "mail", "createReadme": true });
        let call =
            json!({ "kind": "toolCall", "tool": "create_workspace", "arguments": arguments });
        let job = json!({ "name": "Make", "schedule": { "kind": "manual" }, "payload": call });
        let id = house.add(job).await;
        house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
        let run = house.ended(&id, 1).await.remove(0);
        assert_eq!(run["summary"], "New folder: mail.", "{run:#}");
        let output = house.detail(&run).await["steps"][0]["output"].clone();
        assert_eq!(output["workspaceRoot"], json!(path(root)), "{output:#}");
        let is_wide = root == "wide";
        assert_eq!(output["riskyMode"], json!(is_wide));
        let settings = house.call("config.get", json!({})).await;
        assert_eq!(settings["workspace"], json!(path("safe")), "{settings:#}");
        let wider = json!({ "enabled": is_wide, "root": is_wide.then(|| path("wide")) });
        assert_eq!(settings["riskyWorkspace"], wider, "{settings:#}");
        let readme = std::fs::read_to_string(all.path().join(root).join("mail/README.md"));
        assert_eq!(readme.expect("it is there"), "# mail\n");
        house.host.stop().await;
    }
}
