//! The texts of notifications, pinned by a snapshot.
//!
//! Owns one scenario: report, approval request, failure, the same failure again, the end of an incident, a pause. Pitfall: a failure that is told once shows up
//! by its absence, so each step takes out what came and names what it did.

use std::fmt::Write as _;

use rouse_testkit::scripted_model::{calls, says};
use serde_json::{Value, json};

use crate::house::{House, Plan, ask};

/// A job by hand that reads a file.
fn reading(name: &str, path: &str) -> Value {
    json!({
        "name": name,
        "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": "read_file", "arguments": { "path": path } },
    })
}

/// Runs the job to its end, and writes down what came of it.
async fn run(house: &House, id: &str, what: &str, told: &mut String) {
    let so_far = house.runs(id).await.len();
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    let run = house.ended(id, so_far + 1).await.swap_remove(0);
    house
        .until(async |house| {
            let detail = house.detail(&run).await;
            let settled = |delivery: &Value| delivery["state"] != "pending";
            detail["deliveries"].as_array()?.iter().all(settled).then_some(())
        })
        .await;
    note(house, what, told);
}

fn note(house: &House, what: &str, told: &mut String) {
    writeln!(told, "{what}:").expect("a text takes all");
    for delivery in house.notifier.shown.take_all() {
        writeln!(told, "  [{}] {}", delivery.title, delivery.body).expect("a text takes all");
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
    let house = Plan::new(folder.path()).model(script).build().await;
    let mut told = String::new();

    let mail = house.add(ask("Look at the mail.")).await;
    run(&house, &mail, "report of an agent", &mut told).await;
    let list = house.add(ask("Write the list.")).await;
    house.call("cron.run", json!({ "id": list, "mode": "force" })).await;
    house.run_in(&list, "awaitingApproval").await;
    let request = house.notifier.shown.next().await;
    writeln!(told, "approval request:\n  [{}] {}", request.title, request.body).expect("a text");
    house.answer(&house.question().await, "once").await;
    house.ended(&list, 1).await;
    let report = house.notifier.shown.next().await;
    writeln!(told, "its report:\n  [{}] {}", report.title, report.body).expect("a text");

    let notes = house.add(reading("Notes", "notes.md")).await;
    run(&house, &notes, "failure", &mut told).await;
    run(&house, &notes, "the same failure again", &mut told).await;
    let workspace = folder.path().join("workspace");
    std::fs::write(workspace.join("notes.md"), "Tea").expect("written");
    run(&house, &notes, "success after failures", &mut told).await;
    let mut guarded = reading("Guarded", "gone.md");
    guarded["policies"] = json!({ "pauseAfterFailures": 1 });
    let guarded = house.add(guarded).await;
    run(&house, &guarded, "failure that pauses the job", &mut told).await;
    house.host.stop().await;
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("notification_texts", told);
    });
}
