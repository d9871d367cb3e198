//! Real commands in real sandboxes, each with an attempt to escape. On a computer without a layer, the same tests check
//! that nothing runs and that the error names the reason: `SandboxFixture::run` returns `None` only after these checks.

mod attacker;
mod limits;
mod escapes;
mod folders;
mod proxy;

use std::time::Duration;

use super::super::{SandboxError, probe_sandbox};
use super::*;
use crate::http_guard::{Fetcher, HttpConfig};
use crate::process::{ChildProcess, CompletedProcess, ExitCause};

/// A workspace with a sandbox.
struct SandboxFixture {
    folder: tempfile::TempDir,
    sandbox: Sandbox,
    limit: Duration,
}

impl SandboxFixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let sandbox = Sandbox::new(folder.path(), &[], None).expect("a fixture");
        Self { folder, sandbox, limit: Duration::from_secs(60) }
    }

    fn marker(&self) -> String {
        format!("sandbox-tests:{}", self.folder.path().display())
    }

    /// Starts `line`; `None` if a layer is missing, after checking that nothing ran.
    fn start(&self, line: &str) -> Option<ChildProcess> {
        self.start_with(line, Fetcher::new(&HttpConfig::default()))
    }

    fn start_with(&self, line: &str, fetcher: Fetcher) -> Option<ChildProcess> {
        let traced = format!("touch .ran; {line}");
        let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
        match self.sandbox.spawn(&traced, path, &self.marker(), fetcher) {
            Ok(child) => Some(child),
            Err(SandboxError::Missing(missing)) => {
                let probed = probe_sandbox().expect_err("the probe fails too").to_string();
                assert!(probed.contains("Nothing was run"), "{probed}");
                assert!(!missing.why.is_empty() && !missing.remedy.is_empty(), "{missing}");
                assert!(!self.sandbox.workspace.join(".ran").exists(), "something was run");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Runs `line` to the end.
    async fn run(&self, line: &str) -> Option<CompletedProcess> {
        Some(self.start(line)?.finish(self.limit).await.expect("an end"))
    }

    /// The output of `line`, which must succeed.
    async fn output_of(&self, line: &str) -> Option<String> {
        let completed = self.run(line).await?;
        let succeeded = matches!(&completed.exit, ExitCause::Exited(status) if status.success());
        assert!(succeeded, "{line}: {completed:?}");
        Some(completed.stdout.text().trim_end().to_owned())
    }

    /// The output of `line`, which must fail.
    async fn failure_of(&self, line: &str) -> Option<String> {
        let completed = self.run(line).await?;
        let failed = matches!(&completed.exit, ExitCause::Exited(status) if !status.success());
        assert!(failed, "{line}: {completed:?}");
        Some(format!("{}{}", completed.stdout.text(), completed.stderr.text()))
    }
}

/// Whether any process on this computer has this command line.
fn is_running(words: &str) -> bool {
    let wanted = words.replace(' ', "\0");
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    processes
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).trim_end_matches('\0').ends_with(&wanted))
}
