//! An engine with the coding agent double, and its jobs.

use std::path::Path;

use rouse_tests::mcp::{coding_agent, install};
use rouse_tests::{EngineBuilder, TestEngine, agent_job, built_program};
use serde_json::{Value, json};

/// The definition of the double with these arguments. Sessions are stored in `folder`.
pub(crate) fn double(folder: &Path, arguments: &[&str]) -> Value {
    let program = built_program("ROUSE_ACP_DOUBLE", "acp-double", "rouse-testkit");
    coding_agent(&program, folder, arguments)
}

/// An engine with the double as the agent `coder`.
pub(crate) async fn engine(folder: &Path, arguments: &[&str]) -> TestEngine {
    let engine = EngineBuilder::new(folder).build().await;
    let page = install(&engine, "coder", double(folder, arguments)).await;
    assert_eq!(page["error"], Value::Null, "{page}");
    engine
}

/// A job whose task goes to the double.
pub(crate) fn job(task: &str) -> Value {
    let mut job = agent_job(task);
    job["payload"]["agent"] = json!("coder");
    job
}

/// Adds a job with this task and starts a run.
pub(crate) async fn start(engine: &TestEngine, task: &str) -> String {
    let id = engine.add_job(job(task)).await;
    engine.start_run(&id).await;
    id
}

/// Waits for the only pending approval.
pub(crate) async fn approval(engine: &TestEngine) -> Value {
    engine
        .wait_until(async |engine| {
            let pending = engine.call("approvals.list", json!({})).await;
            pending["approvals"].get(0).cloned()
        })
        .await
}

/// The text of a file in the workspace; empty without the file.
pub(crate) fn text_of(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join("workspace").join(file)).unwrap_or_default()
}
