//! Questions that are put to somebody at a terminal, while the same questions can be answered elsewhere.

use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};

use nix::pty::openpty;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::asks::{calling, home_with, question};
use crate::engine::{Engine, Home};

/// A command whose keyboard is a terminal.
struct AtTerminal {
    process: Child,
    keyboard: std::fs::File,
    shown: String,
    told: mpsc::UnboundedReceiver<Vec<u8>>,
}

impl AtTerminal {
    fn start(home: &Home, args: &[&str]) -> Self {
        let terminal = openpty(None, None).expect("a terminal");
        let mut process = home
            .command(args)
            .stdin(terminal.slave)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("rouse starts");
        let mut stderr = process.stderr.take().expect("a pipe");
        let (send, told) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4_096];
            while let Ok(length @ 1..) = stderr.read(&mut piece) {
                if send.send(piece[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { process, keyboard: terminal.master.into(), shown: String::new(), told }
    }

    /// Waits until it has said `words`; answers all that it said since the last time.
    async fn until(&mut self, words: &str) -> String {
        while !self.shown.contains(words) {
            let piece = self.told.recv().await;
            let piece = piece.unwrap_or_else(|| panic!("no `{words}` in: {}", self.shown));
            self.shown.push_str(&String::from_utf8_lossy(&piece));
        }
        std::mem::take(&mut self.shown)
    }

    fn types(&mut self, line: &str) {
        writeln!(self.keyboard, "{line}").expect("typed");
    }

    fn ends(mut self) -> i32 {
        self.process.wait().expect("it ends").code().expect("not killed")
    }
}

fn write(text: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": "report.md", "content": text }))
}

fn writer() -> Value {
    json!({
        "id": "writer", "name": "writer", "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Do it." },
    })
}

async fn says_elsewhere(engine: &Engine<'_>, kind: &str) {
    let asked = question(engine).await;
    let answer = json!({ "id": asked["id"], "answer": { "kind": kind }, "from": "page" });
    engine.call("approvals.decide", answer).await;
}

#[tokio::test]
async fn a_question_that_is_answered_elsewhere_leaves_the_terminal_and_a_late_line_answers_no_other()
 {
    let server = calling(vec![write("one\n"), write("two\n")]);
    let home = home_with(&server);
    let engine = home.serve().await;
    engine.add(writer()).await;
    let mut terminal = AtTerminal::start(&home, &["cron", "run", "writer", "--wait"]);
    terminal.until("[y]es once / [r]un / [n]o: ").await;
    says_elsewhere(&engine, "once").await;
    let said = terminal.until("Press Enter to answer this one: ").await;
    assert!(said.contains("the question was allowed once in a window"), "{said}");

    // Meant for the one that has gone.
    terminal.types("n");
    terminal.until("[y]es once / [r]un / [n]o: ").await;
    terminal.types("y");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(engine.ended("writer", 1).await[0]["state"], "succeeded");
    let report = home.data().join("workspace").join("report.md");
    assert_eq!(std::fs::read_to_string(report).expect("written"), "two\n");
}

#[tokio::test]
async fn a_run_whose_question_is_refused_elsewhere_is_looked_on_at_to_its_end() {
    let server = calling(vec![write("one\n")]);
    let home = home_with(&server);
    let engine = home.serve().await;
    engine.add(writer()).await;
    let mut terminal = AtTerminal::start(&home, &["cron", "run", "writer", "--wait"]);
    terminal.until("[n]o: ").await;
    says_elsewhere(&engine, "deny").await;
    terminal.until("the question was refused in a window").await;
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test]
async fn a_call_of_the_highest_class_is_offered_no_yes_for_the_run() {
    let server = calling(vec![("run_command", json!({ "command": "true" }))]);
    let home = home_with(&server);
    let engine = home.serve().await;
    let mut job = writer();
    job["policies"] = json!({ "sandbox": "open" });
    engine.add(job).await;
    let mut terminal = AtTerminal::start(&home, &["cron", "run", "writer", "--wait"]);
    terminal.until("\n[y]es once / [n]o: ").await;
    terminal.types("r");
    terminal.until("yes once, or no.").await;
    terminal.types("y");
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test]
async fn allow_without_id_shows_call_and_wants_yes() {
    let server = calling(vec![write("one\n")]);
    let home = home_with(&server);
    let engine = home.serve().await;
    let id = engine.add(writer()).await;
    engine.run_now(&id).await;
    question(&engine).await;
    let mut terminal = AtTerminal::start(&home, &["approvals", "allow"]);
    let said = terminal.until("Allow it? [y/N] ").await;
    assert!(said.contains("write_file") && said.contains("report.md"), "{said}");
    terminal.types("");
    terminal.until("Nothing was allowed").await;
    assert_eq!(terminal.ends(), 5);
    let mut terminal = AtTerminal::start(&home, &["approvals", "allow"]);
    terminal.until("Allow it? [y/N] ").await;
    terminal.types("y");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(engine.ended("writer", 1).await[0]["state"], "succeeded");
}
