//! The progress of a server's call, for the clients that watch the run.

use rouse_tests::EngineBuilder;
use rouse_tests::mcp::install_and_accept;
use serde_json::{Value, json};

use super::fixture::double;

#[tokio::test]
async fn progress_reaches_the_clients_until_the_run_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    install_and_accept(&engine, "cal", double(&[])).await;
    let call = json!({ "kind": "toolCall", "tool": "cal_slow", "arguments": {} });
    let job = json!({ "name": "Wait", "schedule": { "kind": "manual" }, "payload": call });
    let id = engine.add_job(job).await;
    let mut events = engine.events();
    engine.start_run(&id).await;
    let progress = loop {
        let event = json!(events.next().await.expect("the host goes on"));
        if event["kind"] == "runProgress" {
            break event["data"].clone();
        }
    };
    // The clock stands still, so later messages come too early.
    let (run, step, tool) = (&progress["runId"], &progress["step"], &progress["tool"]);
    assert_eq!((tool, &progress["text"]), (&json!("cal_slow"), &json!("1")));
    let detail = engine.call("runs.get", json!({ "id": run })).await;
    assert_eq!(&detail["steps"][0]["seq"], step, "{detail}");
    assert_eq!(detail["progress"], json!([{ "step": step, "tool": tool, "text": "1" }]));

    engine.call("runs.cancel", json!({ "id": run })).await;
    engine.finished_runs(&id, 1).await;
    let detail = engine.call("runs.get", json!({ "id": run })).await;
    assert_eq!(detail["progress"], Value::Null, "{detail}");
    engine.host.stop().await;
}
