//! MCP servers and coding agents of an engine in this process: installation, consent, jobs.
//!
//! Never starts a server itself; the engine does.

use std::path::Path;

use serde_json::{Value, json};

use crate::engine::{TestEngine, agent_job};

/// The definition of the coding agent double at `program` with these arguments. Its sessions are stored in `folder`.
pub fn coding_agent(program: &Path, folder: &Path, arguments: &[&str]) -> Value {
    let mut words = vec!["--sessions".to_owned(), folder.display().to_string()];
    words.extend(arguments.iter().map(|word| (*word).to_owned()));
    let transport = json!({
        "kind": "stdio", "command": program, "arguments": words, "isUnconfined": true,
    });
    json!({ "transport": transport, "protocol": "acp", "mode": "default" })
}

/// Installs the server `name` and returns the page of its tools.
pub async fn install(engine: &TestEngine, name: &str, server: Value) -> Value {
    let draft = json!({ "name": name, "server": server });
    let page = engine.call("extensions.preview", draft.clone()).await;
    let mut params = draft;
    params["accept"] = page["hash"].clone();
    engine.call("extensions.install", params).await
}

/// Installs the server `name` and accepts its tools as proposed.
pub async fn install_and_accept(engine: &TestEngine, name: &str, server: Value) -> Value {
    let tools = install(engine, name, server).await;
    assert_eq!(tools["error"], Value::Null, "{tools}");
    accept(engine, name, &tools["page"]).await
}

/// Accepts the held tools of `page` as proposed.
pub async fn accept(engine: &TestEngine, name: &str, page: &Value) -> Value {
    let params = json!({ "name": name, "accept": page["hash"] });
    engine.call("extensions.accept", params).await
}

/// An agent job with these servers.
pub fn server_job(message: &str, servers: &[&str]) -> Value {
    let mut job = agent_job(message);
    job["payload"]["servers"] = json!(servers);
    job
}

/// The steps of a run with this tool.
pub async fn steps_of(engine: &TestEngine, run: &Value, tool: &str) -> Vec<Value> {
    let detail = engine.run_detail(run).await;
    let steps = detail["steps"].as_array().cloned().unwrap_or_default();
    steps.into_iter().filter(|step| step["name"] == tool).collect()
}
