//! A data directory, the engine process over it, and the `rouse` command.

use std::fs::{self, File};
use std::io::Write as _;
#[cfg(target_os = "linux")]
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Output, Stdio};

use rouse_gateway::{Client, ClientError};
use rouse_testkit::fake_model::FakeModel;
use rouse_tests::{
    SERVE, ServeProcess, is_finished, model_settings, remove_example_job, rouse_command,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A home folder with a data directory and the environment of commands.
pub(crate) struct TestHome {
    folder: TempDir,
    env: Vec<(String, String)>,
}

impl TestHome {
    pub(crate) fn new() -> Self {
        let folder =
            tempfile::Builder::new().prefix("rouse-programs-").tempdir().expect("a folder");
        let mut private = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
        private.create(folder.path().join("data")).expect("a folder");
        Self { folder, env: Vec::new() }
    }

    /// Adds an environment variable for the engine and for commands.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A home with `server` as the model.
    pub(crate) fn with_model(server: &FakeModel) -> Self {
        Self::new().config(&model_settings(server))
    }

    /// Writes the settings file.
    pub(crate) fn config(self, text: &str) -> Self {
        self.write_config(text);
        self
    }

    pub(crate) fn write_config(&self, text: &str) {
        fs::write(self.data().join("config.toml"), text).expect("a file");
    }

    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self
    }

    /// `ROUSE_HOME`.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A path beside the data directory.
    pub(crate) fn sibling(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `rouse` in a clean environment: no key, proxy or zone of the machine.
    pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = rouse_command(self.folder.path(), &self.data());
        command.args(args).envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs `rouse` to the end.
    pub(crate) fn rouse<S: AsRef<std::ffi::OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> CommandOutput {
        CommandOutput::from(self.command(args).stdin(Stdio::null()).output().expect("rouse starts"))
    }

    /// Runs `rouse` to the end with `input` on standard input.
    pub(crate) fn rouse_with_input<S: AsRef<std::ffi::OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &str,
    ) -> CommandOutput {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().expect("rouse starts");
        process.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("sent");
        CommandOutput::from(process.wait_with_output().expect("an exit status"))
    }

    /// Starts the engine and removes the example job, which would fire in every test.
    pub(crate) async fn serve(&self) -> EngineProcess<'_> {
        let engine = self.serve_plain();
        remove_example_job(&engine.client).await;
        engine
    }

    /// Starts the engine.
    pub(crate) fn serve_plain(&self) -> EngineProcess<'_> {
        let stderr = File::create(self.sibling("stderr")).expect("a file");
        let process = ServeProcess::start(self.command(SERVE).stderr(stderr));
        let line = &process.ready_line;
        let ready: Value = serde_json::from_str(line).unwrap_or_else(|_| {
            let stderr = fs::read_to_string(self.sibling("stderr")).unwrap_or_default();
            panic!("rouse serve did not become ready: {line}{stderr}")
        });
        let address = ready["address"].as_str().expect("an address").to_owned();
        let client = Client::find(&self.data()).expect("a running engine");
        EngineProcess { home: self, address, client, process }
    }

    /// Starts the engine with both output streams in a pipe of 4 kB, which nothing reads after the start.
    #[cfg(target_os = "linux")]
    pub(crate) fn serve_with_small_pipe(&self) -> EngineProcess<'_> {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        rustix::pipe::fcntl_setpipe_size(&writer, 4_096).expect("a small pipe");
        let mut command = self.command(["serve", "--port", "0"]);
        command.stdin(Stdio::null()).stdout(writer.try_clone().expect("a copy")).stderr(writer);
        let process = command.spawn().expect("rouse starts");
        drop(command);
        let mut out = BufReader::new(std::os::fd::OwnedFd::from(reader).into());
        let mut line = String::new();
        while !line.starts_with("Stop:") {
            line.clear();
            assert_ne!(
                out.read_line(&mut line).expect("text"),
                0,
                "rouse serve did not become ready"
            );
        }
        let client = Client::find(&self.data()).expect("a running engine");
        let address = client.endpoint().expect("an endpoint").address.to_string();
        let process = ServeProcess { process, out, ready_line: line };
        EngineProcess { home: self, address, client, process }
    }

    /// All files of the home: database, logs, settings and standard error.
    pub(crate) fn written_files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut written = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    written.push((path.clone(), fs::read(&path).expect("a file")));
                }
            }
        }
        written
    }
}

/// A running `rouse serve`. Dropping it kills the process.
pub(crate) struct EngineProcess<'h> {
    pub(crate) home: &'h TestHome,
    /// `127.0.0.1:…`
    pub(crate) address: String,
    pub(crate) client: Client,
    process: ServeProcess,
}

impl EngineProcess<'_> {
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        self.client.call(method, params).await.unwrap_or_else(|error| panic!("{method}: {error:?}"))
    }

    /// Adds a job through the gateway and returns the id.
    pub(crate) async fn add_job(&self, job: Value) -> String {
        let view = self.call("cron.add", job).await;
        view["job"]["id"].as_str().expect("an id").to_owned()
    }

    /// Adds a job that may be refused.
    pub(crate) async fn try_add_job(&self, job: Value) -> Result<String, ClientError> {
        let view = self.client.call("cron.add", job).await?;
        Ok(view["job"]["id"].as_str().expect("an id").to_owned())
    }

    /// Starts a run of job `id` and returns the run id.
    pub(crate) async fn start_run(&self, id: &str) -> String {
        let started = self.call("cron.run", json!({ "id": id, "mode": "force" })).await;
        started["runId"].as_str().expect("a run").to_owned()
    }

    /// Evaluates `condition` at every event until there is a value.
    pub(crate) async fn wait_until<T>(
        &self,
        mut condition: impl AsyncFnMut(&Self) -> Option<T>,
    ) -> T {
        let mut events = self.client.events(Some(0)).await.expect("a stream");
        loop {
            if let Some(value) = condition(self).await {
                return value;
            }
            events.next().await.expect("the engine goes on");
        }
    }

    /// Waits until job `id` has exactly `count` finished runs. Returns the newest first.
    pub(crate) async fn finished_runs(&self, id: &str, count: usize) -> Vec<Value> {
        self.wait_until(async |engine| {
            let runs = engine.runs(id).await;
            assert!(runs.len() <= count, "a run too many: {runs:#?}");
            (runs.len() == count && runs.iter().all(is_finished)).then_some(runs)
        })
        .await
    }

    /// The runs of job `id`, newest first.
    pub(crate) async fn runs(&self, id: &str) -> Vec<Value> {
        let answer = self.call("cron.runs", json!({ "id": id, "limit": 500 })).await;
        answer["entries"].as_array().cloned().unwrap_or_default()
    }

    /// Returns the next pending approval.
    pub(crate) async fn pending_approval(&self) -> Value {
        self.wait_until(async |engine| {
            let pending = engine.call("approvals.list", json!({})).await;
            pending["approvals"].as_array()?.first().cloned()
        })
        .await
    }

    /// The gateway token.
    pub(crate) fn token(&self) -> String {
        let path = Client::token_path(&self.home.data());
        fs::read_to_string(path).expect("a token").trim().to_owned()
    }

    /// Kills the process with SIGKILL.
    pub(crate) fn kill(self) {
        drop(self);
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) fn stop(self) -> ExitStatus {
        self.process.stop()
    }

    /// Stops the engine and returns its standard output after the ready line.
    pub(crate) fn stop_and_read(self) -> String {
        self.process.stop_and_read()
    }
}

/// Exit code and output of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().expect("an exit code"),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }
}

impl CommandOutput {
    /// Asserts success and returns standard output.
    #[track_caller]
    pub(crate) fn ok(&self) -> &str {
        assert_eq!(self.code, 0, "{self:#?}");
        &self.out
    }

    /// Asserts success and returns standard output with single spaces, because column widths depend on the longest
    /// text.
    #[track_caller]
    pub(crate) fn single_spaced(&self) -> String {
        let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        self.ok().lines().map(|text| line(text) + "\n").collect()
    }

    /// Asserts success and parses standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.ok()).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Asserts a failure with `code` and `text` on standard error, and an empty standard output.
    #[track_caller]
    pub(crate) fn assert_error(&self, code: i32, text: &str) {
        assert_eq!(self.code, code, "{self:#?}");
        assert!(self.err.contains(text), "no `{text}` in {self:#?}");
        assert_eq!(self.out, "", "{self:#?}");
    }
}
