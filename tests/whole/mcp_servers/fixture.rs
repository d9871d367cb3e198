//! An engine with MCP servers: the server double as a real process.

use rouse_tests::{TestEngine, built_program};
use serde_json::{Value, json};

/// The definition of the double with these arguments, outside the sandbox.
pub(crate) fn double(arguments: &[&str]) -> Value {
    let program = built_program("ROUSE_MCP_DOUBLE", "mcp-double", "rouse-testkit");
    let arguments: Vec<&str> = ["--stdio"].into_iter().chain(arguments.iter().copied()).collect();
    json!({ "transport": {
        "kind": "stdio", "command": program, "arguments": arguments, "isUnconfined": true,
    } })
}

/// Installs the server `name` and returns the page of its tools.
pub(crate) async fn install(engine: &TestEngine, name: &str, server: Value) -> Value {
    let draft = json!({ "name": name, "server": server });
    let page = engine.call("extensions.preview", draft.clone()).await;
    let mut params = draft;
    params["accept"] = page["hash"].clone();
    engine.call("extensions.install", params).await
}

/// Installs the server `name` and accepts its tools as proposed.
pub(crate) async fn install_and_accept(engine: &TestEngine, name: &str, server: Value) -> Value {
    let tools = install(engine, name, server).await;
    assert_eq!(tools["error"], Value::Null, "{tools}");
    accept(engine, name, &tools["page"]).await
}

/// Accepts the held tools of `page` as proposed.
pub(crate) async fn accept(engine: &TestEngine, name: &str, page: &Value) -> Value {
    let params = json!({ "name": name, "accept": page["hash"] });
    engine.call("extensions.accept", params).await
}

/// An agent job with these servers.
pub(crate) fn server_job(message: &str, servers: &[&str]) -> Value {
    let mut job = rouse_tests::agent_job(message);
    job["payload"]["servers"] = json!(servers);
    job
}

/// The steps of a run with this tool.
pub(crate) async fn steps_of(engine: &TestEngine, run: &Value, tool: &str) -> Vec<Value> {
    let detail = engine.run_detail(run).await;
    let steps = detail["steps"].as_array().cloned().unwrap_or_default();
    steps.into_iter().filter(|step| step["name"] == tool).collect()
}
