//! A data directory of its own, the engine over it, and the command.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use rouse_gateway::{Client, ClientError};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A person's folder: what an engine writes, and the environment it is started in.
pub(crate) struct Home {
    folder: TempDir,
    env: Vec<(String, String)>,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder =
            tempfile::Builder::new().prefix("rouse-programs-").tempdir().expect("a folder");
        let mut private = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
        private.create(folder.path().join("data")).expect("a folder");
        Self { folder, env: Vec::new() }
    }

    /// With one more environment variable, for the engine and for the command.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With these settings.
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

    /// A place beside the data.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `rouse` in this environment and no other: no key, no proxy and no zone of the machine gets in by accident.
    pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(binary());
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("ROUSE_HOME", self.data())
            .env("ROUSE_LOCAL_MODELS", "0")
            .env("ROUSE_KEYRING", "0")
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs `rouse` to its end.
    pub(crate) fn rouse<S: AsRef<std::ffi::OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Said {
        Said::from(self.command(args).stdin(Stdio::null()).output().expect("rouse starts"))
    }

    /// Runs `rouse` to its end and hands it `input`.
    pub(crate) fn rouse_reading<S: AsRef<std::ffi::OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &str,
    ) -> Said {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().expect("rouse starts");
        process.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
        Said::from(process.wait_with_output().expect("it ends"))
    }

    /// Starts the engine and takes the example of the first start away: it would fire into every test.
    pub(crate) async fn serve(&self) -> Engine<'_> {
        let engine = self.serve_as_it_is();
        let status = engine.call("system.status", json!({})).await;
        if let Some(id) = status["firstStart"]["exampleJobId"].as_str() {
            engine.call("cron.remove", json!({ "id": id })).await;
        }
        engine
    }

    /// Starts the engine.
    pub(crate) fn serve_as_it_is(&self) -> Engine<'_> {
        let complaints = File::create(self.beside("stderr")).expect("a file");
        let mut process = self
            .command(["serve", "--port", "0", "--ready-json"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(complaints)
            .spawn()
            .expect("rouse starts");
        let mut line = String::new();
        let mut out = BufReader::new(process.stdout.take().expect("a pipe"));
        out.read_line(&mut line).expect("text");
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|_| {
            let said = fs::read_to_string(self.beside("stderr")).unwrap_or_default();
            panic!("rouse serve did not become ready: {line}{said}")
        });
        let address = ready["address"].as_str().expect("an address").to_owned();
        let client = Client::find(&self.data()).expect("the engine says where it is");
        Engine { home: self, process, address, client, out }
    }

    /// Starts the engine with both its streams in one pipe of 4 kB, as a person does whose terminal stands still after the
    /// words of the start.
    #[cfg(target_os = "linux")]
    pub(crate) fn serve_unread(&self) -> Engine<'_> {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        rustix::pipe::fcntl_setpipe_size(&writer, 4_096).expect("a small one");
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
        let client = Client::find(&self.data()).expect("the engine says where it is");
        let address = client.endpoint().address.to_string();
        Engine { home: self, process, address, client, out }
    }

    /// Everything the engine wrote: database, logs, settings, what it said on standard error.
    pub(crate) fn everything_written(&self) -> Vec<(PathBuf, Vec<u8>)> {
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

fn binary() -> PathBuf {
    let beside = || {
        let exe = std::env::current_exe().expect("this program");
        exe.parent().and_then(Path::parent).expect("target/PROFILE/deps").join("rouse")
    };
    let path = std::env::var_os("ROUSE_BIN").map_or_else(beside, PathBuf::from);
    assert!(
        path.exists(),
        "{} is missing; build it with `cargo build -p rouse-cli`",
        path.display()
    );
    path
}

/// `rouse serve` at work. It is killed when it is dropped.
pub(crate) struct Engine<'h> {
    pub(crate) home: &'h Home,
    /// `127.0.0.1:…`
    pub(crate) address: String,
    pub(crate) client: Client,
    process: Child,
    /// Kept open: an engine must not care whether anybody reads on.
    out: BufReader<std::process::ChildStdout>,
}

impl Engine<'_> {
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        self.client.call(method, params).await.unwrap_or_else(|error| panic!("{method}: {error:?}"))
    }

    /// Adds a job through the gateway; answers its id.
    pub(crate) async fn add(&self, job: Value) -> String {
        let view = self.call("cron.add", job).await;
        view["job"]["id"].as_str().expect("an id").to_owned()
    }

    /// The same, where it may be refused.
    pub(crate) async fn try_add(&self, job: Value) -> Result<String, ClientError> {
        let view = self.client.call("cron.add", job).await?;
        Ok(view["job"]["id"].as_str().expect("an id").to_owned())
    }

    /// Starts a run of job `id`; answers the run's id.
    pub(crate) async fn run_now(&self, id: &str) -> String {
        let started = self.call("cron.run", json!({ "id": id, "mode": "force" })).await;
        started["runId"].as_str().expect("a run").to_owned()
    }

    /// Waits until `look` finds what it looks for; looks again at every event.
    pub(crate) async fn until<T>(&self, mut look: impl AsyncFnMut(&Self) -> Option<T>) -> T {
        let mut events = self.client.events(Some(0)).await.expect("a stream");
        loop {
            if let Some(found) = look(self).await {
                return found;
            }
            events.next().await.expect("the engine goes on");
        }
    }

    /// Waits until job `id` has exactly `count` runs and all of them are over; answers them, newest first.
    pub(crate) async fn ended(&self, id: &str, count: usize) -> Vec<Value> {
        self.until(async |engine| {
            let runs = engine.runs(id).await;
            assert!(runs.len() <= count, "a run too many: {runs:#?}");
            (runs.len() == count && runs.iter().all(is_over)).then_some(runs)
        })
        .await
    }

    /// The runs of job `id`, newest first.
    pub(crate) async fn runs(&self, id: &str) -> Vec<Value> {
        let answer = self.call("cron.runs", json!({ "id": id, "limit": 500 })).await;
        answer["entries"].as_array().cloned().unwrap_or_default()
    }

    /// The token that programs show.
    pub(crate) fn token(&self) -> String {
        let path = Client::token_path(&self.home.data());
        fs::read_to_string(path).expect("a token").trim().to_owned()
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(mut self) {
        self.process.kill().expect("it lives");
        self.process.wait().expect("it ends");
    }

    /// Asks it to end and waits for that.
    pub(crate) fn stop(mut self) -> ExitStatus {
        let pid = self.pid().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().expect("kill");
        self.process.wait().expect("it ends")
    }

    /// What it wrote on standard output after the line that said it is ready, up to its end.
    pub(crate) fn stop_and_read(mut self) -> String {
        let pid = self.pid().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().expect("kill");
        let rest = std::io::read_to_string(&mut self.out).expect("text");
        self.process.wait().expect("it ends");
        rest
    }
}

impl Drop for Engine<'_> {
    fn drop(&mut self) {
        // It may be over already.
        if self.process.kill().is_ok() {
            self.process.wait().expect("it ends");
        }
    }
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().expect("it ended by itself"),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }
}

impl Said {
    /// That all went well; what it printed.
    #[track_caller]
    pub(crate) fn ok(&self) -> &str {
        assert_eq!(self.code, 0, "{self:#?}");
        &self.out
    }

    /// That all went well; what it printed, as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.ok()).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// That it failed with `code`, said `words` about it, and printed nothing for a program to take for an answer.
    #[track_caller]
    pub(crate) fn refused(&self, code: i32, words: &str) {
        assert_eq!(self.code, code, "{self:#?}");
        assert!(self.err.contains(words), "no `{words}` in {self:#?}");
        assert_eq!(self.out, "", "{self:#?}");
    }
}

/// Whether a run has its final state.
pub(crate) fn is_over(run: &Value) -> bool {
    !matches!(run["state"].as_str(), Some("queued" | "running" | "awaitingApproval"))
}
