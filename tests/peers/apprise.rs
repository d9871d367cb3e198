//! Apprise on both sides: the services behind the channel apprise, and a client of webhooks.

use std::process::Command;

use rouse_tests::{EngineBuilder, TestEngine, echo_job};
use serde_json::{Value, json};

use crate::fixture::{ScriptServer, python_program};

/// Reports to the services of `tag` alone.
async fn report_to(engine: &TestEngine, server: &ScriptServer, tag: &str) {
    let url = format!("http://127.0.0.1:{}/notify/home", server.port);
    let phone = json!({ "kind": "apprise", "url": url, "tag": tag });
    let patch = json!({ "channels": { "phone": phone }, "deliverTo": ["phone"] });
    engine.call("config.patch", json!({ "patch": patch })).await;
}

/// Runs `job` and waits until its delivery is in `state`.
async fn delivery_in(engine: &TestEngine, job: Value, state: &str) -> Value {
    let id = engine.add_job(job).await;
    engine.start_run(&id).await;
    let run = engine.finished_runs(&id, 1).await.remove(0);
    engine
        .wait_until(async |engine| {
            let delivery = engine.run_detail(&run).await["deliveries"][0].clone();
            (delivery["state"] == state).then_some(delivery)
        })
        .await
}

fn manual_job() -> Value {
    echo_job(&json!({ "kind": "manual" }))
}

#[tokio::test]
async fn services_of_the_tag_get_report_and_failure() {
    let server = ScriptServer::start("apprise_server.py", &[]);
    let home = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(home.path()).build().await;
    report_to(&engine, &server, "phone").await;
    delivery_in(&engine, manual_job(), "delivered").await;
    let mut failing = manual_job();
    failing["payload"]["tool"] = "json".into();
    failing["payload"]["arguments"] = json!({ "op": "get", "value": { "a": 1 }, "pointer": "/b" });
    delivery_in(&engine, failing, "delivered").await;
    engine.host.stop().await;
    let received = server.stop();
    let [report, failure] = received.as_slice() else { panic!("{received:#?}") };
    assert_eq!(*report, json!({ "title": "Echo", "body": "hello", "type": "info" }));
    assert_eq!(failure["type"], "failure");
}

#[tokio::test]
async fn failed_and_missing_services_have_their_state() {
    let server = ScriptServer::start("apprise_server.py", &[]);
    let home = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(home.path()).build().await;
    for (tag, state, code) in [("broken", "unknown", "(424)"), ("nobody", "failed", "(204)")] {
        report_to(&engine, &server, tag).await;
        let delivery = delivery_in(&engine, manual_job(), state).await;
        let reason = delivery["reason"].as_str().expect("a reason");
        assert!(reason.contains(code), "{tag}: {reason}");
    }
    engine.host.stop().await;
    assert_eq!(server.stop(), [] as [Value; 0]);
}

#[tokio::test]
async fn apprise_client_fires_a_webhook_job() {
    let home = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(home.path()).build().await;
    let id = engine.add_job(echo_job(&json!({ "kind": "webhook" }))).await;
    let webhook = engine.call("cron.webhook", json!({ "id": id, "rotate": true })).await;
    let secret = webhook["secret"].as_str().expect("a secret");
    let address = engine.host.address();
    let url = |secret: &str| format!("json://{address}/hooks/jobs/{id}?+X-Rouse-Secret={secret}");
    assert!(!send_by_apprise(url("wrong"), home.path().to_owned()).await, "a wrong secret");
    assert!(send_by_apprise(url(secret), home.path().to_owned()).await);
    let run = engine.finished_runs(&id, 1).await.remove(0);
    let cause = engine.run_detail(&run).await["cause"]["text"].clone();
    let cause: Value = serde_json::from_str(cause.as_str().expect("a text")).expect("JSON");
    assert_eq!(
        (&cause["title"], &cause["message"], &cause["type"]),
        (&json!("Backup"), &json!("The disk is full."), &json!("failure"))
    );
    engine.host.stop().await;
}

/// Sends a failure to `url` with the program apprise. Returns whether the program succeeded.
async fn send_by_apprise(url: String, user_home: std::path::PathBuf) -> bool {
    let send = move || {
        let mut apprise = Command::new(python_program("apprise"));
        // The settings of the user would add services.
        apprise.env("HOME", &user_home).env("USERPROFILE", &user_home);
        apprise.args(["--title", "Backup", "--body", "The disk is full."]);
        apprise.args(["--notification-type", "failure", &url]);
        apprise.output().expect("apprise starts").status.success()
    };
    tokio::task::spawn_blocking(send).await.expect("no panic")
}
