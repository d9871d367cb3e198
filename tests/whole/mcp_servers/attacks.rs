//! A compromised server with a compromised model: no effect without approval, and no secret.

use rouse_testkit::scripted_model::{calls, says};
use rouse_tests::EngineBuilder;
use rouse_tests::mcp::{install, install_and_accept, server_job, steps_of};
use serde_json::json;

use super::fixture::double;

#[tokio::test]
async fn install_needs_the_hash_of_exactly_this_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let draft = json!({ "name": "cal", "server": double(&[]) });
    let page = engine.call("extensions.preview", draft).await;
    for accept in [json!(""), json!("0000000000000000"), page["hash"].clone()] {
        let other = double(&["--notes", "/tmp/x"]);
        let params = json!({ "name": "cal", "server": other, "accept": accept });
        assert!(engine.try_call("extensions.install", params).await.is_err(), "{accept}");
    }
    let list = engine.call("extensions.list", json!({})).await;
    assert_eq!(list["extensions"], json!([]));
    engine.host.stop().await;
}

#[tokio::test]
async fn tool_without_consent_is_never_called() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [calls([("c1", "cal_echo", json!({ "text": "x" }))]), says("Done.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    install(&engine, "cal", double(&[])).await;
    let id = engine.add_job(server_job("Look.", &["cal:optional"])).await;
    engine.start_run(&id).await;
    let run = engine.finished_runs(&id, 1).await.remove(0);
    let steps = steps_of(&engine, &run, "cal_echo").await;
    assert_eq!(steps[0]["isError"], true, "{steps:?}");
    assert!(steps[0]["output"].to_string().contains("no tool called cal_echo"), "{steps:?}");
    engine.host.stop().await;
}

/// A tainted run needs an approval before it sends arguments to a server that can reach the network.
#[tokio::test]
async fn exfiltration_by_arguments_needs_an_approval() {
    let folder = tempfile::tempdir().expect("a folder");
    let echoes = |id, text: &str| (id, "cal_echo", json!({ "text": text }));
    let script = [
        calls([echoes("c1", "three events")]),
        calls([("c2", "mail_echo", json!({ "text": "three events" }))]),
    ];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    install_and_accept(&engine, "cal", double(&[])).await;
    install_and_accept(&engine, "mail", double(&[])).await;
    let id = engine.add_job(server_job("Look.", &["cal", "mail"])).await;
    engine.start_run(&id).await;
    engine.wait_for_run(&id, "awaitingApproval").await;
    assert_eq!(engine.pending_approval().await["tool"], "mail_echo");
    engine.host.stop().await;
}

/// The model obeys a description that the person accepted.
#[tokio::test]
async fn obedient_model_sends_no_file_without_approval() {
    let folder = tempfile::tempdir().expect("a folder");
    let reads = calls([("c1", "read_file", json!({ "path": "key.txt" }))]);
    let sends = calls([("c2", "cal_echo", json!({ "text": "canary" }))]);
    let script = [reads, sends, says("Done.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let workspace = folder.path().join("workspace");
    std::fs::create_dir_all(&workspace).expect("a folder");
    std::fs::write(workspace.join("key.txt"), "canary").expect("written");
    let server = double(&["--fault", "poisoned-description"]);
    install_and_accept(&engine, "cal", server).await;
    let id = engine.add_job(server_job("Look.", &["cal"])).await;
    engine.start_run(&id).await;
    let run = engine.wait_for_run(&id, "awaitingApproval").await;
    engine.decide(&engine.pending_approval().await, "deny").await;
    engine.wait_for_run(&id, "succeeded").await;
    let steps = steps_of(&engine, &run, "cal_echo").await;
    assert_eq!((steps.len(), &steps[0]["isError"]), (1, &json!(true)), "{steps:?}");
    engine.host.stop().await;
}

#[tokio::test]
async fn form_for_a_password_reaches_no_person() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [calls([("c1", "cal_echo", json!({ "text": "x" }))]), says("Done.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let server = double(&["--fault", "modern-only", "--fault", "ask-password"]);
    install_and_accept(&engine, "cal", server).await;
    let id = engine.add_job(server_job("Look.", &["cal"])).await;
    engine.start_run(&id).await;
    let run = engine.wait_for_run(&id, "succeeded").await;
    let steps = steps_of(&engine, &run, "cal_echo").await;
    assert!(steps[0]["output"].to_string().contains("asks for a secret in a form"), "{steps:?}");
    let approvals = engine.call("approvals.list", json!({ "state": "all" })).await;
    assert_eq!(approvals["approvals"], json!([]));
    engine.host.stop().await;
}

#[tokio::test]
async fn server_gets_no_variable_of_the_engine() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [
        calls([("c1", "cal_secret_env", json!({ "name": "ROUSE_HOME" }))]),
        calls([("c2", "cal_secret_env", json!({ "name": "CARGO_MANIFEST_DIR" }))]),
        says("Done."),
    ];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    install_and_accept(&engine, "cal", double(&[])).await;
    let reads = json!({ "name": "cal", "tool": "secret_env", "access": "readsOnly" });
    engine.call("extensions.setAccess", reads).await;
    let mut job = server_job("Look.", &["cal"]);
    job["policies"] = json!({ "approvals": "ask" });
    let id = engine.add_job(job).await;
    engine.start_run(&id).await;
    // The second call follows untrusted input, to a server outside the sandbox.
    let run = engine.wait_for_run(&id, "awaitingApproval").await;
    engine.decide(&engine.pending_approval().await, "once").await;
    engine.wait_for_run(&id, "succeeded").await;
    for step in steps_of(&engine, &run, "cal_secret_env").await {
        assert!(!step["output"].to_string().contains('/'), "{step}");
    }
    engine.host.stop().await;
}

/// A server that asks for a day, a completion or folders gets nothing, and the call goes on.
#[tokio::test]
async fn questions_of_a_server_get_no_answer() {
    for (fault, answer) in [("elicit", "cancel"), ("sample", "-32601")] {
        let folder = tempfile::tempdir().expect("a folder");
        let script = [calls([("c1", "cal_echo", json!({ "text": "x" }))]), says("Done.")];
        let engine = EngineBuilder::new(folder.path()).model(script).build().await;
        install_and_accept(&engine, "cal", double(&["--fault", fault])).await;
        let id = engine.add_job(server_job("Look.", &["cal"])).await;
        engine.start_run(&id).await;
        let run = engine.wait_for_run(&id, "succeeded").await;
        let steps = steps_of(&engine, &run, "cal_echo").await;
        assert!(steps[0]["output"].to_string().contains(answer), "{steps:?}");
        assert_eq!(engine.model.requests().len(), 2, "no model answered the server");
        engine.host.stop().await;
    }
}
