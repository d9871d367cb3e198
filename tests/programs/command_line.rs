//! Unusual arguments and environment: invalid UTF-8, values with a leading `-`, help and terminal width.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::json;

use crate::engine::{CommandOutput, TestHome};
use crate::probes::echo;

const LATIN_1: &[u8] = b"caf\xe9";

#[test]
fn argument_not_utf8_is_refused_with_its_position() {
    let home = TestHome::new();
    let wake = [OsStr::new("wake"), OsStr::from_bytes(LATIN_1)];
    home.rouse(wake).assert_error(2, "Argument 2 is not UTF-8 text: `caf\u{fffd}`.");
    let with_json = home.rouse([wake[0], wake[1], OsStr::new("--json")]);
    assert_eq!(with_json.code, 2, "{with_json:#?}");
    let error: serde_json::Value = serde_json::from_str(&with_json.err).expect("JSON");
    assert_eq!(error["error"]["exitCode"], 2);
}

#[test]
fn variable_not_utf8_is_refused_by_name() {
    let home = TestHome::new();
    for (name, command) in
        [("ROUSE_HOME", "status"), ("HEARTBEAT_ENABLED", "serve"), ("ROUSE_LOG", "doctor")]
    {
        let output = home.command([command]).env(name, OsStr::from_bytes(LATIN_1)).output();
        let text = format!("The environment variable {name} is not UTF-8 text: `caf\u{fffd}`.");
        CommandOutput::from(output.expect("an exit status")).assert_error(2, &text);
    }
    let mut other = home.command(["completions", "bash"]);
    let output = other.env("SOME_OTHER", OsStr::from_bytes(LATIN_1)).output();
    CommandOutput::from(output.expect("an exit status")).ok();
}

#[tokio::test]
async fn value_with_leading_hyphen_is_saved() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    let message = "- milk\n- eggs";
    home.rouse(["cron", "add", "--manual", "--name", "-x", "--message", message]).ok();
    let shown = home.rouse(["cron", "show", "--json", "--", "-x"]).json();
    assert_eq!(shown["job"]["payload"]["message"], message);
}

#[tokio::test]
async fn impossible_call_is_refused_when_saved() {
    let home = TestHome::new();
    let engine = home.serve().await;
    for (tool, arguments, text) in [
        ("http", r#"{"url":"example.org/prices"}"#, "begin with http:// or https://"),
        ("run_command", r#"{"command":" \n"}"#, "/command: must not be empty"),
    ] {
        let add = ["cron", "add", "--manual", "--tool", tool, "--arguments", arguments];
        let refused = home.rouse(add);
        refused.assert_error(2, text);
        assert!(refused.err.contains("--arguments"), "{refused:#?}");
    }
    let id = engine.add_job(echo("Probe")).await;
    let payload = json!({ "kind": "toolCall", "tool": "http", "arguments": { "url": "nas" } });
    let patch = json!({ "id": id, "patch": { "payload": payload } });
    let refused = engine.client.call("cron.update", patch).await.expect_err("no scheme");
    assert!(refused.to_string().contains("arguments"), "{refused}");
}

#[tokio::test]
async fn runs_are_filtered_by_time_and_text() {
    let home = TestHome::new();
    let engine = home.serve().await;
    for name in ["Tea", "Coffee"] {
        let id = engine.add_job(echo(name)).await;
        engine.start_run(&id).await;
        engine.finished_runs(&id, 1).await;
    }
    let listed = |flags: &[&str]| {
        let answer = home.rouse([&["runs", "list", "--json"], flags].concat()).json();
        let runs = answer["runs"].as_array().expect("runs").iter();
        runs.map(|run| run["jobName"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&["--search", "tea"]), ["Tea"]);
    assert_eq!(listed(&["--since", "1h"]), ["Coffee", "Tea"]);
    assert_eq!(listed(&["--since", "2h ago", "--search", "COFFEE"]), ["Coffee"]);
    let none = home.rouse(["runs", "list", "--since", "2100-01-01"]);
    assert_eq!(none.ok(), "No run matches.\n");
    home.rouse(["runs", "list", "--since", "lately"])
        .assert_error(2, "--since: expected a time such as");
    let long = "x".repeat(300);
    home.rouse(["runs", "list", "--search", &long]).assert_error(2, "--search: must be at most");
}

#[test]
fn cron_add_help_begins_with_examples() {
    let help = TestHome::new().rouse(["cron", "add", "--help"]);
    assert!(help.ok().starts_with("Examples:\n  rouse cron add --cron"), "{help:#?}");
}

/// The output of a command on a terminal that reports 0 columns.
#[cfg(target_os = "linux")]
fn on_terminal_without_width(home: &TestHome, args: &[&str]) -> String {
    use std::io::Read as _;
    use std::process::Stdio;

    let terminal = nix::pty::openpty(None, None).expect("a terminal");
    let mut command = home.command(args);
    command.stdin(Stdio::null()).stdout(terminal.slave).stderr(Stdio::null());
    let mut process = command.env_remove("COLUMNS").spawn().expect("rouse starts");
    drop(command);
    let mut shown = Vec::new();
    let mut screen = std::fs::File::from(terminal.master);
    let mut piece = [0; 4_096];
    // Reading fails after the last program has closed the terminal.
    while let Ok(length @ 1..) = screen.read(&mut piece) {
        shown.extend_from_slice(&piece[..length]);
    }
    assert!(process.wait().expect("an exit status").success());
    String::from_utf8(shown).expect("text")
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn terminal_of_zero_columns_gets_full_lines() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let id = engine.add_job(echo("A job with a long name of its own")).await;
    engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await;
    let table = on_terminal_without_width(&home, &["runs", "list"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 2, "a head and a run: {table}");
    assert!(lines[1].contains("A job with a long name"), "{table}");
    let help = on_terminal_without_width(&home, &["runs", "list", "--help"]);
    let longest = help.lines().map(|line| line.chars().count()).max();
    assert!(longest > Some(60), "{help}");
}
