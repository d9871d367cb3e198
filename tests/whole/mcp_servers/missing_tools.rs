//! Tools that are missing for some time: the run of a `toolCall` job says why, a later run has the tool again, and the
//! check of an agent job warns.

use std::path::{Path, PathBuf};

use rouse_tests::mcp::{install, install_and_accept, server_job};
use rouse_tests::{EngineBuilder, TestEngine};
use serde_json::{Value, json};

use super::fixture::double;

/// An engine with the double, which reads its faults from a file at each start.
struct FaultyServer {
    engine: TestEngine,
    faults: PathBuf,
}

impl FaultyServer {
    async fn install(folder: &Path) -> Self {
        let faults = folder.join("faults");
        std::fs::write(&faults, "\n").expect("written");
        let mut server = double(&[]);
        let program = server["transport"]["command"].take();
        let start = r#"read -r faults < "$1"; exec "$0" --stdio $faults"#;
        server["transport"]["command"] = json!("/bin/sh");
        server["transport"]["arguments"] = json!(["-c", start, program, faults]);
        let engine = EngineBuilder::new(folder).build().await;
        install_and_accept(&engine, "cal", server).await;
        Self { engine, faults }
    }

    /// Starts the server anew with these faults and runs the job. Returns the run.
    async fn run(&self, id: &str, faults: &str) -> Value {
        std::fs::write(&self.faults, format!("{faults}\n")).expect("written");
        self.engine.call("extensions.restart", json!({ "name": "cal" })).await;
        run_again(&self.engine, id).await
    }

    /// The number of accepted tools that runs may call.
    async fn accepted(&self) -> u64 {
        let list = self.engine.call("extensions.list", json!({})).await;
        list["extensions"][0]["accepted"].as_u64().expect("a number")
    }
}

/// Runs a job to its end, a second after the run before. Returns the run.
async fn run_again(engine: &TestEngine, id: &str) -> Value {
    let count = engine.runs(id).await.len() + 1;
    engine.clock.advance(1_000);
    engine.start_run(id).await;
    engine.finished_runs(id, count).await.remove(0)
}

/// A job that calls `tool`, twice if the first attempt fails for a transient cause.
fn call_job(tool: &str, arguments: Value) -> Value {
    json!({
        "name": tool, "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": tool, "arguments": arguments },
        "runtime": { "maxAttempts": 2, "retryBackoffMs": 0 },
    })
}

fn sum_job() -> Value {
    call_job("cal_add", json!({ "a": 1, "b": 2 }))
}

#[track_caller]
fn assert_failed_once(run: &Value, part: &str) {
    assert_eq!((&run["state"], &run["attempt"]), (&json!("failed"), &json!(1)), "{run}");
    assert!(run["error"].as_str().is_some_and(|error| error.contains(part)), "{part}: {run}");
}

#[tokio::test]
async fn missing_tool_fails_once_and_is_called_when_it_is_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FaultyServer::install(folder.path()).await;
    let echo_job = call_job("cal_echo", json!({ "text": "tea" }));
    for (job, faults, part, summary) in [
        (sum_job(), "--fault missing-tool", "The server cal does not offer cal_add now.", "3"),
        (echo_job, "--fault changed-description", "`rouse extensions accept cal`", "tea"),
    ] {
        let id = server.engine.add_job(job).await;
        for _ in 0..2 {
            assert_failed_once(&server.run(&id, faults).await, part);
        }
        let run = server.run(&id, "").await;
        let result = (&run["state"], &run["summary"]);
        assert_eq!(result, (&json!("succeeded"), &json!(summary)), "{run}");
    }
    server.engine.host.stop().await;
}

#[tokio::test]
async fn gone_tool_is_not_counted_until_it_is_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FaultyServer::install(folder.path()).await;
    let before = server.accepted().await;
    let id = server.engine.add_job(sum_job()).await;
    server.run(&id, "--fault missing-tool").await;
    assert_eq!(server.accepted().await, before - 1);
    let shown = server.engine.call("extensions.get", json!({ "name": "cal" })).await;
    assert_eq!(shown["extension"]["gone"], json!(["add"]));
    server.run(&id, "").await;
    assert_eq!(server.accepted().await, before);
    server.engine.host.stop().await;
}

#[tokio::test]
async fn job_is_warned_of_a_missing_tool_of_a_required_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FaultyServer::install(folder.path()).await;
    let id = server.engine.add_job(sum_job()).await;
    let warnings = async |used: &str, tool: &str| {
        let mut job = server_job("Echo.", &[used]);
        job["payload"]["tools"] = json!([tool]);
        let checked = server.engine.call("cron.check", json!({ "job": job })).await;
        let found = checked["warnings"].as_array().expect("warnings").iter();
        let found = found.filter(|found| found["field"] == "payload.tools[0]");
        found.map(|found| found["message"].as_str().expect("words").to_owned()).collect::<Vec<_>>()
    };
    for (faults, tool, part) in [
        (
            "--fault changed-description",
            "cal_echo",
            "Review it with `rouse extensions accept cal`.",
        ),
        ("--fault missing-tool", "cal_add", "The server cal does not offer cal_add now."),
        ("", "cal_never", "The server cal has no accepted tool cal_never"),
    ] {
        server.run(&id, faults).await;
        let found = warnings("cal", tool).await;
        let start = format!("Runs without `{tool}` fail. ");
        assert!(found.len() == 1 && found[0].starts_with(&start), "{found:?}");
        assert!(found[0].contains(part), "{found:?}");
        let optional = format!("There is no tool `{tool}`; runs start without it.");
        assert_eq!(warnings("cal:optional", tool).await, [optional]);
    }
    assert_eq!(warnings("cal", "cal_echo").await, [""; 0]);
    server.engine.host.stop().await;
}

#[tokio::test]
async fn call_of_a_disabled_or_removed_server_names_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    install_and_accept(&engine, "cal", double(&[])).await;
    let id = engine.add_job(sum_job()).await;
    engine.call("extensions.setEnabled", json!({ "name": "cal", "enabled": false })).await;
    assert_failed_once(&run_again(&engine, &id).await, "`rouse extensions enable cal`");
    engine.call("extensions.remove", json!({ "name": "cal" })).await;
    assert_failed_once(&run_again(&engine, &id).await, "`rouse mcp add cal ");
    engine.host.stop().await;
}

#[tokio::test]
async fn missing_secret_fails_a_run_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    install_and_accept(&engine, "cal", double(&[])).await;
    let id = engine.add_job(sum_job()).await;
    let mut server = double(&[]);
    server["transport"]["environment"] = json!({ "TOKEN": "{{secret:token}}" });
    install(&engine, "cal", server).await;
    assert_failed_once(&run_again(&engine, &id).await, "`rouse secrets set token --server cal`");
    engine.host.stop().await;
}
