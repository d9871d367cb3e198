//! Tools in JavaScript, from their folder to a run. The engine of scripts is compiled once, so the cases share a host.

mod builder;

use std::path::{Path, PathBuf};

use rouse_host::{CompilerProgram, run_wasm_compiler};
use rouse_testkit::scripted_model::{calls, says};
use rouse_tests::mcp::{accept, server_job, steps_of};
use rouse_tests::{EngineBuilder, TestEngine};
use serde_json::{Value, json};

/// Not a test: the child process that compiles the engine of scripts.
#[test]
fn wasm_compiler() {
    assert!(run_wasm_compiler().is_none_or(|code| code == std::process::ExitCode::SUCCESS));
}

const ADDER: &str = "function run(args) { return { sum: args.a + args.b }; }";

const ADDER_MANIFEST: &str = r#"
    name = "adder"
    description = "Adds two numbers."
    language = "javascript"
    version = "1.2.0"
    reads_only = true
    [parameters]
    type = "object"
    properties = { a = { type = "number" }, b = { type = "number" } }
    [[tests]]
    name = "small numbers"
    arguments = { a = 1, b = 2 }
    expected = { sum = 3 }
"#;

/// Asks a server, although its manifest lists no host.
const REACHER: &str = r#"function run(args) { return http("https://api.example.com/").status; }"#;

const REACHER_MANIFEST: &str = r#"
    name = "reacher"
    description = "Asks a server."
    language = "javascript"
    reads_only = true
    parameters.type = "object"
    [[tests]]
    name = "no host"
    expected_error = "no permission for HTTP"
"#;

/// Sends a secret to its host.
const SENDER: &str = r#"function run() {
    const headers = { "x-key": "{{secret:mail}}" };
    return http({ url: "https://api.example.com/", headers }).status;
}"#;

const SENDER_MANIFEST: &str = r#"
    name = "sender"
    description = "Sends a secret."
    language = "javascript"
    parameters.type = "object"
    permissions = { hosts = ["api.example.com"], secrets = ["mail"] }
    [[tests]]
    name = "canned"
    expected = 200
    http = [{ url = "https://api.example.com/" }]
"#;

fn write_tool(folder: &Path, name: &str, manifest: &str, script: &str) -> PathBuf {
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("tool.toml"), manifest).expect("a file");
    std::fs::write(folder.join("tool.js"), script).expect("a file");
    folder
}

fn draft(name: &str, folder: &Path) -> Value {
    json!({
        "name": name, "server": { "transport": { "kind": "wasm" } },
        "source": { "kind": "tool", "path": folder },
    })
}

/// Installs the tool in `folder` and accepts it as proposed. Returns the page of the installation.
async fn install_tool(engine: &TestEngine, name: &str, folder: &Path) -> Value {
    let page = engine.call("extensions.preview", draft(name, folder)).await;
    let mut params = draft(name, folder);
    params["accept"] = page["hash"].clone();
    let tools = engine.call("extensions.install", params).await;
    assert_eq!(tools["error"], Value::Null, "{tools}");
    accept(engine, name, &tools["page"]).await;
    page
}

/// Runs a job that calls `tool` and returns the finished run.
async fn call_by_job(engine: &TestEngine, tool: &str, arguments: Value) -> Value {
    let call = json!({ "kind": "toolCall", "tool": tool, "arguments": arguments });
    let job = json!({ "name": tool, "schedule": { "kind": "manual" }, "payload": call });
    let id = engine.add_job(job).await;
    engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await.remove(0)
}

#[tokio::test]
async fn tool_folder_is_checked_installed_and_called() {
    let home = tempfile::tempdir().expect("a folder");
    let tools = tempfile::tempdir().expect("a folder");
    let compiler = ["--exact", "wasm_tools::wasm_compiler", "--nocapture"];
    let arguments = json!({ "a": 20, "b": 22 });
    let script = [calls([("c1", "adder", arguments)]), says("It is 42.")];
    let builder = EngineBuilder::new(home.path()).model(script);
    let engine = builder.wasm_compiler(CompilerProgram::with_arguments(&compiler)).build().await;
    failing_test_is_refused(&engine, tools.path()).await;
    accepted_tool_is_called(&engine, tools.path()).await;
    tool_without_hosts_has_no_http(&engine, tools.path()).await;
    secret_of_another_host_is_not_sent(&engine, tools.path()).await;
    changed_file_is_refused(&engine, home.path()).await;
    builder::tool_is_built_and_repaired(&engine).await;
    builder::refused_version_leaves_the_tool(&engine).await;
    builder::accepted_version_replaces_the_tool(&engine).await;
    builder::changed_version_is_not_installed(&engine, home.path()).await;
    builder::test_without_canned_answer_fails(&engine).await;
    builder::version_of_a_tainted_run_is_marked(&engine, &home.path().join("workspace")).await;
    engine.host.stop().await;
}

async fn failing_test_is_refused(engine: &TestEngine, tools: &Path) {
    let refusal = async |name: &str, folder: &Path| {
        let refused = engine.try_call("extensions.preview", draft(name, folder)).await;
        refused.expect_err("refused").message
    };
    let manifest = ADDER_MANIFEST.replace("sum = 3", "sum = 4");
    let folder = write_tool(tools, "failing", &manifest, ADDER);
    let message = refusal("adder", &folder).await;
    assert!(message.contains("test `small numbers`: The result is"), "{message}");
    let manifest = ADDER_MANIFEST.replace("[parameters]", "[paramters]");
    let folder = write_tool(tools, "misspelt", &manifest, ADDER);
    let message = refusal("adder", &folder).await;
    assert!(message.contains("tool.toml: parameters: is missing"), "{message}");
    let folder = write_tool(tools, "other-name", ADDER_MANIFEST, ADDER);
    let message = refusal("sum", &folder).await;
    assert!(message.contains("is called adder in tool.toml"), "{message}");
    let list = engine.call("extensions.list", json!({})).await;
    assert_eq!(list["extensions"], json!([]));
}

async fn accepted_tool_is_called(engine: &TestEngine, tools: &Path) {
    let folder = write_tool(tools, "adder", ADDER_MANIFEST, ADDER);
    let page = install_tool(engine, "adder", &folder).await;
    let notes = page["package"]["notes"].to_string();
    for part in ["JavaScript", "1 test of the author passed", "says that the tool only reads"] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    let shown = engine.call("extensions.list", json!({})).await["extensions"][0].clone();
    assert_eq!((&shown["state"], &shown["accepted"]), (&json!("ready"), &json!(1)), "{shown}");
    // The installed copy is called.
    std::fs::write(folder.join("tool.js"), "function run() { return 0; }").expect("a file");
    let run = call_by_job(engine, "adder", json!({ "a": 1, "b": 2 })).await;
    assert_eq!(run["state"], "succeeded", "{run}");
    assert!(run["summary"].to_string().contains('3'), "{run}");
    let id = engine.add_job(server_job("What is 20 + 22?", &["adder"])).await;
    engine.start_run(&id).await;
    let run = engine.wait_for_run(&id, "succeeded").await;
    let steps = steps_of(engine, &run, "adder").await;
    assert_eq!(steps[0]["output"], json!({ "sum": 42 }), "{steps:?}");
}

async fn tool_without_hosts_has_no_http(engine: &TestEngine, tools: &Path) {
    let folder = write_tool(tools, "reacher", REACHER_MANIFEST, REACHER);
    install_tool(engine, "reacher", &folder).await;
    let run = call_by_job(engine, "reacher", json!({})).await;
    assert_eq!(run["state"], "failed", "{run}");
    assert!(run["error"].to_string().contains("no permission for HTTP"), "{run}");
}

async fn secret_of_another_host_is_not_sent(engine: &TestEngine, tools: &Path) {
    let secret = json!({ "name": "mail", "value": "tulip-9-rose-4711", "hosts": ["mail.example"] });
    engine.call("secrets.set", secret).await;
    let folder = write_tool(tools, "sender", SENDER_MANIFEST, SENDER);
    install_tool(engine, "sender", &folder).await;
    let run = call_by_job(engine, "sender", json!({})).await;
    assert_eq!(run["state"], "failed", "{run}");
    let error = run["error"].to_string();
    assert!(error.contains("mail is not bound to the host api.example.com"), "{error}");
    assert!(error.contains("--host mail.example --host api.example.com"), "{error}");
}

async fn changed_file_is_refused(engine: &TestEngine, home: &Path) {
    let installed = home.join("extensions/.packages/adder/tool.js");
    std::fs::write(installed, "function run() { return { sum: 0 }; }").expect("a file");
    let run = call_by_job(engine, "adder", json!({ "a": 1, "b": 2 })).await;
    assert_eq!(run["state"], "failed", "{run}");
    let error = run["error"].to_string();
    assert!(error.contains("tool.js is changed"), "{error}");
    assert!(error.contains("rouse extensions update adder"), "{error}");
}
