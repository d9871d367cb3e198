//! The built programs, and `rouse serve` as a process.
//!
//! Owns the environment of the process, its start and its end. Never connects during the start, which a bench measures.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use rouse_gateway::Client;
use serde_json::json;

/// The arguments of an engine on a free port.
pub const SERVE: [&str; 4] = ["serve", "--port", "0", "--ready-json"];

/// The path of a program: `variable`, else the build beside this test.
pub fn program_path(variable: &str, name: &str) -> PathBuf {
    let build_path = || {
        let test = std::env::current_exe().expect("this program");
        test.parent().and_then(Path::parent).expect("target/PROFILE/deps").join(name)
    };
    std::env::var_os(variable).map_or_else(build_path, PathBuf::from)
}

/// The path of a program that `package` builds.
pub fn built_program(variable: &str, name: &str, package: &str) -> PathBuf {
    let path = program_path(variable, name);
    assert!(
        path.exists(),
        "{} is missing; build it with `cargo build -p {package}`",
        path.display()
    );
    path
}

/// `rouse` with the data directory `data` in a clean environment: no key, proxy or zone of the machine.
pub fn rouse_command(user_home: &Path, data: &Path) -> Command {
    let mut command = Command::new(built_program("ROUSE_BIN", "rouse", "rouse-cli"));
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", user_home)
        .env("ROUSE_HOME", data)
        .env("ROUSE_LOCAL_MODELS", "0")
        .env("ROUSE_KEYRING", "0");
    command
}

/// Removes the example job of the first start, which would fire in every test.
pub async fn remove_example_job(client: &Client) {
    let status = client.call("system.status", json!({})).await.expect("an answer");
    if let Some(id) = status["firstStart"]["exampleJobId"].as_str() {
        client.call("cron.remove", json!({ "id": id })).await.expect("an answer");
    }
}

/// A running `rouse serve`. Dropping it kills the process.
pub struct ServeProcess {
    /// The process.
    pub process: Child,
    /// The later output. Kept open, because the engine must not depend on a reader.
    pub out: BufReader<ChildStdout>,
    /// The ready line; empty if the program ended first.
    pub ready_line: String,
}

impl ServeProcess {
    /// Starts `rouse` with the arguments `SERVE` and waits for the ready line.
    pub fn start(rouse: &mut Command) -> Self {
        let mut process =
            rouse.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("rouse starts");
        let mut out = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut ready_line = String::new();
        out.read_line(&mut ready_line).expect("text");
        Self { process, out, ready_line }
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends SIGTERM and waits for the end.
    pub fn stop(mut self) -> ExitStatus {
        self.terminate();
        self.process.wait().expect("an exit status")
    }

    /// Stops the engine and returns its output after the ready line.
    pub fn stop_and_read(mut self) -> String {
        self.terminate();
        let rest = std::io::read_to_string(&mut self.out).expect("text");
        self.process.wait().expect("an exit status");
        rest
    }

    fn terminate(&self) {
        Command::new("kill").args(["-TERM", &self.pid().to_string()]).status().expect("kill");
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        // The process may have ended.
        if self.process.kill().is_ok() {
            self.process.wait().expect("an exit status");
        }
    }
}
