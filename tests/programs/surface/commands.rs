//! The output of the main commands over one scripted scenario, as text and as JSON.

use std::fmt::Write as _;

use serde_json::json;

use super::{assert_scenario, shown};
use crate::asks::{calling, question, settings_of};
use crate::engine::Home;

/// The commands that make the jobs of the scenario. The one with a time of day is off, or it would be next at some times.
const MAKING: [&[&str]; 4] = [
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

/// The commands that look at what came of them.
const LOOKING: [&[&str]; 20] = [
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
    let model = calling(vec![("write_file", json!({ "path": "a.md", "content": "Tea" }))]);
    let home = Home::new().env("TZ", "UTC").config(&settings_of(&model));
    let engine = home.serve().await;
    let (mut text, mut document) = (String::new(), String::new());
    let run = |args: &[&str], text: &mut String| {
        let said = home.rouse(args);
        writeln!(
            text,
            "$ rouse {}\n[exit {}]\n{}{}",
            args.join(" "),
            said.code,
            said.out,
            said.err
        )
        .expect("a text takes all");
        said
    };
    for command in MAKING {
        run(command, &mut text);
    }
    run(&["cron", "run", "Disk", "--force", "--wait"], &mut text);
    let parked = home.rouse(["cron", "run", "Morning", "--force", "--json"]).json();
    let asked = question(&engine).await;
    let id = asked["id"].as_str().expect("an id");
    run(&["approvals", "show", id], &mut text);
    run(&["approvals", "deny", id], &mut text);
    let run_id = parked["runId"].as_str().expect("an id").to_owned();
    engine
        .until(async |engine| {
            let detail = engine.call("runs.get", json!({ "id": run_id })).await;
            detail["run"]["finishedAtMs"].is_number().then_some(())
        })
        .await;
    run(&["runs", "show", &run_id], &mut text);
    for command in LOOKING {
        run(command, &mut text);
        let answer = home.rouse(command.iter().copied().chain(["--json"]));
        let answer = serde_json::from_str(&answer.out).map_or(answer.out, |json| shown(&json));
        writeln!(document, "$ rouse {} --json\n{answer}\n", command.join(" "))
            .expect("a text takes all");
    }
    assert_scenario("commands", &text);
    assert_scenario("commands_json", &document);
}
