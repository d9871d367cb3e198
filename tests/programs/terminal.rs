//! Commands that prompt a person: `rouse` with a terminal as standard input.

use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};

use nix::pty::openpty;
use tokio::sync::mpsc;

use crate::engine::TestHome;

/// A command with a terminal as standard input.
pub(crate) struct TerminalCommand {
    process: Child,
    keyboard: std::fs::File,
    shown: String,
    output: mpsc::UnboundedReceiver<Vec<u8>>,
}

impl TerminalCommand {
    pub(crate) fn start(home: &TestHome, args: &[&str]) -> Self {
        let terminal = openpty(None, None).expect("a terminal");
        let mut process = home
            .command(args)
            .stdin(terminal.slave)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("rouse starts");
        let mut stderr = process.stderr.take().expect("a pipe");
        let (send, output) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4_096];
            while let Ok(length @ 1..) = stderr.read(&mut piece) {
                if send.send(piece[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { process, keyboard: terminal.master.into(), shown: String::new(), output }
    }

    /// Waits for `text` and returns the output since the last call.
    pub(crate) async fn wait_until(&mut self, text: &str) -> String {
        while !self.shown.contains(text) {
            let piece = self.output.recv().await;
            let piece = piece.unwrap_or_else(|| panic!("no `{text}` in: {}", self.shown));
            self.shown.push_str(&String::from_utf8_lossy(&piece));
        }
        std::mem::take(&mut self.shown)
    }

    pub(crate) fn type_line(&mut self, line: &str) {
        writeln!(self.keyboard, "{line}").expect("typed");
    }

    pub(crate) fn exit_code(mut self) -> i32 {
        self.process.wait().expect("an exit status").code().expect("not killed")
    }
}
