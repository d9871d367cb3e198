//! Arguments and environment that are unusual: not UTF-8, values that begin with `-`, and the help.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::json;

use crate::engine::{Home, Said};
use crate::probes::echo;

const LATIN_1: &[u8] = b"caf\xe9";

#[test]
fn argument_not_utf8_is_refused_with_its_place() {
    let home = Home::new();
    let wake = [OsStr::new("wake"), OsStr::from_bytes(LATIN_1)];
    home.rouse(wake).refused(2, "Argument 2 is not UTF-8 text: `caf\u{fffd}`.");
    let with_json = home.rouse([wake[0], wake[1], OsStr::new("--json")]);
    assert_eq!(with_json.code, 2, "{with_json:#?}");
    let error: serde_json::Value = serde_json::from_str(&with_json.err).expect("JSON");
    assert_eq!(error["error"]["exitCode"], 2);
}

#[test]
fn variable_not_utf8_is_refused_by_name() {
    let home = Home::new();
    for (name, command) in
        [("ROUSE_HOME", "status"), ("HEARTBEAT_ENABLED", "serve"), ("ROUSE_LOG", "doctor")]
    {
        let output = home.command([command]).env(name, OsStr::from_bytes(LATIN_1)).output();
        let words = format!("The environment variable {name} is not UTF-8 text: `caf\u{fffd}`.");
        Said::from(output.expect("it ends")).refused(2, &words);
    }
    let mut other = home.command(["completions", "bash"]);
    let output = other.env("SOME_OTHER", OsStr::from_bytes(LATIN_1)).output();
    Said::from(output.expect("it ends")).ok();
}

#[tokio::test]
async fn value_that_begins_with_hyphen_is_saved() {
    let home = Home::new();
    let _engine = home.serve().await;
    let message = "- milk\n- eggs";
    home.rouse(["cron", "add", "--manual", "--name", "-x", "--message", message]).ok();
    let shown = home.rouse(["cron", "show", "--json", "--", "-x"]).json();
    assert_eq!(shown["job"]["payload"]["message"], message);
}

#[tokio::test]
async fn call_that_can_never_be_made_is_refused_when_saved() {
    let home = Home::new();
    let engine = home.serve().await;
    for (tool, arguments, words) in [
        ("http", r#"{"url":"example.org/prices"}"#, "begin with http:// or https://"),
        ("run_command", r#"{"command":" \n"}"#, "/command: must not be empty"),
    ] {
        let add = ["cron", "add", "--manual", "--tool", tool, "--arguments", arguments];
        let refused = home.rouse(add);
        refused.refused(2, words);
        assert!(refused.err.contains("--arguments"), "{refused:#?}");
    }
    let id = engine.add(echo("Probe")).await;
    let payload = json!({ "kind": "toolCall", "tool": "http", "arguments": { "url": "nas" } });
    let patch = json!({ "id": id, "patch": { "payload": payload } });
    let refused = engine.client.call("cron.update", patch).await.expect_err("no scheme");
    assert!(refused.to_string().contains("arguments"), "{refused}");
}

#[tokio::test]
async fn runs_are_listed_since_a_time_and_by_text() {
    let home = Home::new();
    let engine = home.serve().await;
    for name in ["Tea", "Coffee"] {
        let id = engine.add(echo(name)).await;
        engine.run_now(&id).await;
        engine.ended(&id, 1).await;
    }
    let listed = |flags: &[&str]| {
        let said = home.rouse([&["runs", "list", "--json"], flags].concat()).json();
        let runs = said["runs"].as_array().expect("runs").iter();
        runs.map(|run| run["jobName"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&["--search", "tea"]), ["Tea"]);
    assert_eq!(listed(&["--since", "1h"]), ["Coffee", "Tea"]);
    assert_eq!(listed(&["--since", "2h ago", "--search", "COFFEE"]), ["Coffee"]);
    let none = home.rouse(["runs", "list", "--since", "2100-01-01"]);
    assert_eq!(none.ok(), "No run matches.\n");
    home.rouse(["runs", "list", "--since", "lately"])
        .refused(2, "--since: expected a time such as");
    let long = "x".repeat(300);
    home.rouse(["runs", "list", "--search", &long]).refused(2, "--search: must be at most");
}

#[test]
fn help_of_cron_add_begins_with_examples() {
    let help = Home::new().rouse(["cron", "add", "--help"]);
    assert!(help.ok().starts_with("Examples:\n  rouse cron add --cron"), "{help:#?}");
}

/// What a command prints on a terminal that reports 0 columns.
#[cfg(target_os = "linux")]
fn on_terminal_without_width(home: &Home, args: &[&str]) -> String {
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
    // The end of the last program at a terminal is an error of the read.
    while let Ok(length @ 1..) = screen.read(&mut piece) {
        shown.extend_from_slice(&piece[..length]);
    }
    assert!(process.wait().expect("it ends").success());
    String::from_utf8(shown).expect("text")
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn terminal_of_0_columns_gets_whole_lines() {
    let home = Home::new();
    let engine = home.serve().await;
    let id = engine.add(echo("A job with a long name of its own")).await;
    engine.run_now(&id).await;
    engine.ended(&id, 1).await;
    let table = on_terminal_without_width(&home, &["runs", "list"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 2, "a head and a run: {table}");
    assert!(lines[1].contains("A job with a long name"), "{table}");
    let help = on_terminal_without_width(&home, &["runs", "list", "--help"]);
    let longest = help.lines().map(|line| line.chars().count()).max();
    assert!(longest > Some(60), "{help}");
}
