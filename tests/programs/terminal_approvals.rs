//! Approvals at a terminal, which may be decided elsewhere meanwhile.

use rouse_tests::model_calling;
use serde_json::{Value, json};

use crate::engine::{EngineProcess, TestHome};
use crate::terminal::TerminalCommand;

fn write(text: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": "report.md", "content": text }))
}

fn writer() -> Value {
    json!({
        "id": "writer", "name": "writer", "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Do it." },
    })
}

async fn decide_in_page(engine: &EngineProcess<'_>, kind: &str) {
    let approval = engine.pending_approval().await;
    let decision = json!({ "id": approval["id"], "decision": { "kind": kind }, "from": "page" });
    engine.call("approvals.decide", decision).await;
}

#[tokio::test]
async fn late_terminal_input_does_not_decide_next_approval() {
    let server = model_calling(vec![write("one\n"), write("two\n")]);
    let home = TestHome::with_model(&server);
    let engine = home.serve().await;
    engine.add_job(writer()).await;
    let mut terminal = TerminalCommand::start(&home, &["cron", "run", "writer", "--wait"]);
    terminal.wait_until("allow once [y] / allow for run [r] / deny [n]: ").await;
    decide_in_page(&engine, "once").await;
    let shown = terminal.wait_until("Press Enter to decide this approval: ").await;
    assert!(shown.contains("the approval was allowed once in a window"), "{shown}");

    // Meant for the first approval.
    terminal.type_line("n");
    terminal.wait_until("allow once [y] / allow for run [r] / deny [n]: ").await;
    terminal.type_line("y");
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(engine.finished_runs("writer", 1).await[0]["state"], "succeeded");
    let report = home.data().join("workspace").join("report.md");
    assert_eq!(std::fs::read_to_string(report).expect("written"), "two\n");
}

#[tokio::test]
async fn terminal_follows_run_after_denial_in_window() {
    let server = model_calling(vec![write("one\n")]);
    let home = TestHome::with_model(&server);
    let engine = home.serve().await;
    engine.add_job(writer()).await;
    let mut terminal = TerminalCommand::start(&home, &["cron", "run", "writer", "--wait"]);
    terminal.wait_until("deny [n]: ").await;
    terminal.type_line("x");
    terminal.wait_until("Type y, r or n.").await;
    decide_in_page(&engine, "deny").await;
    terminal.wait_until("the approval was denied in a window").await;
    assert_eq!(terminal.exit_code(), 0);
}

#[tokio::test]
async fn highest_class_call_is_not_offered_allow_for_run() {
    let server = model_calling(vec![("run_command", json!({ "command": "true" }))]);
    let home = TestHome::with_model(&server);
    let engine = home.serve().await;
    let mut job = writer();
    job["policies"] = json!({ "sandbox": "open" });
    engine.add_job(job).await;
    let mut terminal = TerminalCommand::start(&home, &["cron", "run", "writer", "--wait"]);
    terminal.wait_until("\nallow once [y] / deny [n]: ").await;
    terminal.type_line("r");
    terminal.wait_until("each time: allow once or deny.").await;
    terminal.type_line("y");
    assert_eq!(terminal.exit_code(), 0);
}

#[tokio::test]
async fn allow_without_id_shows_call_and_needs_confirmation() {
    let server = model_calling(vec![write("one\n")]);
    let home = TestHome::with_model(&server);
    let engine = home.serve().await;
    let id = engine.add_job(writer()).await;
    engine.start_run(&id).await;
    engine.pending_approval().await;
    let mut terminal = TerminalCommand::start(&home, &["approvals", "allow"]);
    let shown = terminal.wait_until("Allow it? [y/N] ").await;
    assert!(shown.contains("write_file") && shown.contains("report.md"), "{shown}");
    terminal.type_line("");
    terminal.wait_until("Nothing was allowed").await;
    assert_eq!(terminal.exit_code(), 5);
    let mut terminal = TerminalCommand::start(&home, &["approvals", "allow"]);
    terminal.wait_until("Allow it? [y/N] ").await;
    terminal.type_line("y");
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(engine.finished_runs("writer", 1).await[0]["state"], "succeeded");
}
