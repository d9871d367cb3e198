//! The output of the main commands over a scripted scenario, as text and as JSON.

use std::fmt::Write as _;

use rouse_tests::{model_calling, model_settings};
use serde_json::json;

use super::{assert_scenario, shown};
use crate::engine::TestHome;

/// The commands that create the jobs. The job with a time of day is disabled, because its position in the list would
/// vary.
const SETUP_COMMANDS: [&[&str]; 4] = [
    &[
        "cron",
        "add",
        "--cron",
        "30 7 * * 1-5",
        "--tz",
        "Europe/Berlin",
        "--disabled",
        "--name",
        "Morning",
        "--message",
        "Write the list into a.md.",
        "--cooldown",
        "10m",
        "--timeout",
        "5m",
        "--max-steps",
        "8",
    ],
    &["cron", "add", "--manual", "--name", "Stretch", "--system-event", "Stand up."],
    &[
        "cron",
        "add",
        "--every",
        "2h",
        "--name",
        "Disk",
        "--tool",
        "echo",
        "--arguments",
        "{\"text\": \"full\"}",
    ],
    &[
        "cron",
        "add",
        "--after",
        "Disk",
        "--on",
        "failure",
        "--name",
        "Reason",
        "--message",
        "Find out why.",
    ],
];

/// The commands that print the result.
const VIEW_COMMANDS: [&[&str]; 20] = [
    &["status"],
    &["cron", "list"],
    &["cron", "list", "--all"],
    &["cron", "status"],
    &["cron", "show", "Morning"],
    &["cron", "show", "Disk"],
    &["cron", "show", "Reason"],
    &["cron", "runs", "Morning"],
    &["runs", "list"],
    &["approvals", "list"],
    &["grants"],
    &["heartbeat"],
    &["sessions", "list"],
    &["tools"],
    &["models"],
    &["secrets"],
    &["skills"],
    &["hooks"],
    &["config"],
    &["backup", "--list"],
];

#[tokio::test]
async fn output_of_the_main_commands_is_pinned() {
    let model = model_calling(vec![("write_file", json!({ "path": "a.md", "content": "Tea" }))]);
    let home = TestHome::new().env("TZ", "UTC").config(&model_settings(&model));
    let engine = home.serve().await;
    let (mut text, mut document) = (String::new(), String::new());
    let run = |args: &[&str], text: &mut String| {
        let output = home.rouse(args);
        writeln!(
            text,
            "$ rouse {}\n[exit {}]\n{}{}",
            args.join(" "),
            output.code,
            output.out,
            output.err
        )
        .expect("a text takes all");
        output
    };
    for command in SETUP_COMMANDS {
        run(command, &mut text);
    }
    run(&["cron", "run", "Disk", "--force", "--wait"], &mut text);
    let parked = home.rouse(["cron", "run", "Morning", "--force", "--json"]).json();
    let approval = engine.pending_approval().await;
    let id = approval["id"].as_str().expect("an id");
    run(&["approvals", "show", id], &mut text);
    run(&["approvals", "deny", id], &mut text);
    let run_id = parked["runId"].as_str().expect("an id").to_owned();
    engine
        .wait_until(async |engine| {
            let detail = engine.call("runs.get", json!({ "id": run_id })).await;
            detail["run"]["finishedAtMs"].is_number().then_some(())
        })
        .await;
    run(&["runs", "show", &run_id], &mut text);
    for command in VIEW_COMMANDS {
        run(command, &mut text);
        let answer = home.rouse(command.iter().copied().chain(["--json"]));
        let answer = serde_json::from_str(&answer.out).map_or(answer.out, |json| shown(&json));
        writeln!(document, "$ rouse {} --json\n{answer}\n", command.join(" "))
            .expect("a text takes all");
    }
    assert_scenario("commands", &text);
    assert_scenario("commands_json", &document);
}
