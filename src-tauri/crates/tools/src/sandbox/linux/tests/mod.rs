//! Real commands in real sandboxes, each trying one way out. Where this computer lacks a layer, the same tests hold that
//! nothing is run and that the error says why: `Room::run` answers `None` only after having seen that.

mod attacker;
mod bounds;
mod escapes;
mod folders;
mod proxy;

use std::time::Duration;

use super::super::{SandboxError, available};
use super::*;
use crate::child::{Child, End, Finished};
use crate::http::{Fetcher, HttpConfig};

/// A workspace with a sandbox around it.
struct Room {
    folder: tempfile::TempDir,
    sandbox: Sandbox,
    limit: Duration,
}

impl Room {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let sandbox = Sandbox::new(folder.path(), &[], None).expect("a room");
        Self { folder, sandbox, limit: Duration::from_secs(60) }
    }

    fn mark(&self) -> String {
        format!("sandbox-tests:{}", self.folder.path().display())
    }

    /// Starts `line`; `None` where a layer is missing, having seen that nothing was run.
    fn start(&self, line: &str) -> Option<Child> {
        self.start_with(line, Fetcher::new(&HttpConfig::default()))
    }

    fn start_with(&self, line: &str, fetcher: Fetcher) -> Option<Child> {
        let traced = format!("touch .ran; {line}");
        let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
        match self.sandbox.spawn(&traced, path, &self.mark(), fetcher) {
            Ok(child) => Some(child),
            Err(SandboxError::Missing(missing)) => {
                let probed = available().expect_err("the probe knows it too").to_string();
                assert!(probed.contains("Nothing was run"), "{probed}");
                assert!(!missing.why.is_empty() && !missing.mend.is_empty(), "{missing}");
                assert!(!self.sandbox.workspace.join(".ran").exists(), "something was run");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// How `line` ends.
    async fn run(&self, line: &str) -> Option<Finished> {
        Some(self.start(line)?.finish(self.limit).await.expect("an end"))
    }

    /// What `line` writes; it must succeed.
    async fn says(&self, line: &str) -> Option<String> {
        let finished = self.run(line).await?;
        let succeeded = matches!(&finished.end, End::Exited(status) if status.success());
        assert!(succeeded, "{line}: {finished:?}");
        Some(finished.stdout.text().trim_end().to_owned())
    }

    /// What `line` complains of; it must fail.
    async fn fails(&self, line: &str) -> Option<String> {
        let finished = self.run(line).await?;
        let failed = matches!(&finished.end, End::Exited(status) if !status.success());
        assert!(failed, "{line}: {finished:?}");
        Some(format!("{}{}", finished.stdout.text(), finished.stderr.text()))
    }
}

/// Whether a process anywhere on this computer was started with these words.
fn is_running(words: &str) -> bool {
    let wanted = words.replace(' ', "\0");
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    processes
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).trim_end_matches('\0').ends_with(&wanted))
}
