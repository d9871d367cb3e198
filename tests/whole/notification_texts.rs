//! The texts of notifications, pinned by snapshots.
//!
//! Owns two scenarios: report, approval request, failure, repeated failure, recovery and pause of a job; then a digest
//! after quiet hours and missed slots.
//! Pitfall: a muted notification is visible only by absence, so each step drains the notifier and writes its
//! name.

use std::fmt::Write as _;

use rouse_testkit::scripted_model::{calls, says};
use rouse_tests::{EngineBuilder, HOUR, MINUTE, TestEngine, agent_job};
use serde_json::{Value, json};

use crate::announcements::{hourly, set_quiet_hours, wait_for_deliveries};

/// A manual job that reads a file.
fn read_job(name: &str, path: &str) -> Value {
    json!({
        "name": name,
        "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": "read_file", "arguments": { "path": path } },
    })
}

/// Runs the job to the end and writes the notifications.
async fn run_and_note(engine: &TestEngine, id: &str, label: &str, text: &mut String) {
    let so_far = engine.runs(id).await.len();
    engine.start_run(id).await;
    let run = engine.finished_runs(id, so_far + 1).await.swap_remove(0);
    engine
        .wait_until(async |engine| {
            let detail = engine.run_detail(&run).await;
            let is_settled = |delivery: &Value| delivery["state"] != "pending";
            detail["deliveries"].as_array()?.iter().all(is_settled).then_some(())
        })
        .await;
    note(engine, label, text);
}

fn note(engine: &TestEngine, label: &str, text: &mut String) {
    writeln!(text, "{label}:").expect("a text takes all");
    for delivery in engine.notifier.shown.take_all() {
        writeln!(text, "  [{}] {}", delivery.title, delivery.body).expect("a text takes all");
    }
}

#[tokio::test]
async fn notification_texts_are_pinned() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [
        says("Three mails came. One is urgent."),
        calls([("c1", "write_file", json!({ "path": "a.md", "content": "Tea" }))]),
        says("Written."),
    ];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let mut text = String::new();

    let mail = engine.add_job(agent_job("Look at the mail.")).await;
    run_and_note(&engine, &mail, "report of an agent", &mut text).await;
    let list = engine.add_job(agent_job("Write the list.")).await;
    engine.start_run(&list).await;
    engine.wait_for_run(&list, "awaitingApproval").await;
    let request = engine.notifier.shown.next().await;
    writeln!(text, "approval request:\n  [{}] {}", request.title, request.body).expect("a text");
    engine.decide(&engine.pending_approval().await, "once").await;
    engine.finished_runs(&list, 1).await;
    let report = engine.notifier.shown.next().await;
    writeln!(text, "its report:\n  [{}] {}", report.title, report.body).expect("a text");

    let notes = engine.add_job(read_job("Notes", "notes.md")).await;
    run_and_note(&engine, &notes, "failure", &mut text).await;
    run_and_note(&engine, &notes, "the same failure again", &mut text).await;
    let workspace = folder.path().join("workspace");
    std::fs::write(workspace.join("notes.md"), "Tea").expect("written");
    run_and_note(&engine, &notes, "success after failures", &mut text).await;
    let mut guarded = read_job("Guarded", "gone.md");
    guarded["policies"] = json!({ "pauseAfterFailures": 1 });
    let guarded = engine.add_job(guarded).await;
    run_and_note(&engine, &guarded, "failure that pauses the job", &mut text).await;
    engine.host.stop().await;
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("notification_texts", text);
    });
}

#[tokio::test]
async fn texts_after_quiet_hours_and_missed_slots_are_pinned() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut text = String::new();
    set_quiet_hours(&engine, "14:30").await;
    let mail = engine.add_job(hourly("Mail", &json!("No mail"), &json!({}))).await;
    let notes = engine.add_job(read_job("Notes", "notes.md")).await;
    engine.start_run(&notes).await;
    engine.finished_runs(&notes, 1).await;
    engine.clock.advance(HOUR);
    engine.finished_runs(&mail, 1).await;
    wait_for_deliveries(&engine, &mail, &["held"]).await;
    engine.clock.advance(HOUR);
    engine.finished_runs(&mail, 2).await;
    wait_for_deliveries(&engine, &mail, &["held", "held"]).await;
    engine.clock.advance(30 * MINUTE);
    wait_for_deliveries(&engine, &mail, &["delivered", "delivered"]).await;
    note(&engine, "digest after quiet hours", &mut text);
    engine.call("cron.remove", json!({ "id": mail })).await;
    engine.call("config.patch", json!({ "patch": { "quietHours": null } })).await;

    let skip = json!({ "policies": { "misfire": { "mode": "skip" } } });
    let backup = engine.add_job(hourly("Backup", &json!(1), &skip)).await;
    engine.clock.advance(3 * HOUR + 10 * MINUTE);
    wait_for_deliveries(&engine, &backup, &["delivered"]).await;
    note(&engine, "missed slots of a job", &mut text);
    let mut jobs = Vec::new();
    for number in 1..=12 {
        jobs.push(engine.add_job(hourly(&format!("Report {number}"), &json!(1), &skip)).await);
    }
    engine.clock.advance(2 * HOUR + 10 * MINUTE);
    for job in &jobs {
        wait_for_deliveries(&engine, job, &["delivered"]).await;
    }
    note(&engine, "missed slots of many jobs", &mut text);
    engine.host.stop().await;
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("notification_texts_digests", text);
    });
}
