//! The log: every line about a run says which, in the RFC's words; what a job says is there only when asked for, and a key
//! never.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::engine::Home;
use crate::probes::echo;

const SAID: &str = "PAYLOAD-canary-5d1e";

/// Everything in the log files.
fn lines(home: &Home) -> Vec<Value> {
    let files = home.everything_written();
    let logs = files.iter().filter(|(path, _)| path.parent().is_some_and(|p| p.ends_with("logs")));
    let text: String = logs.map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect();
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

async fn one_run(home: &Home) -> (String, String) {
    let engine = home.serve().await;
    let mut job = echo("Brew");
    job["payload"]["arguments"]["text"] = json!(SAID);
    let id = engine.add(job).await;
    let run = engine.run_now(&id).await;
    engine.ended(&id, 1).await;
    assert!(engine.stop().success());
    (id, run)
}

#[tokio::test]
async fn every_line_about_a_run_says_which_and_none_what_it_says() {
    let home = Home::new().env("ROUSE_LOG", "debug");
    let (id, run) = one_run(&home).await;
    let written = lines(&home);
    let of_run: Vec<&Value> = written.iter().filter(|line| line["runId"] == run.as_str()).collect();
    let messages: Vec<&str> = of_run.iter().filter_map(|line| line["message"].as_str()).collect();
    assert!(
        messages.contains(&"cron: job started") && messages.contains(&"cron: job finished"),
        "{messages:?}"
    );
    for line in of_run {
        let about = (&line["module"], &line["jobId"], &line["name"]);
        assert_eq!(about, (&json!("cron"), &json!(id), &json!("Brew")), "{line}");
    }
    let end = written.iter().find(|line| line["message"] == "cron: job finished").expect("an end");
    assert!(end["status"] == "ok" && end["durationMs"].is_i64() && end["level"] == "info", "{end}");
    assert!(!written.iter().any(|line| line.to_string().contains(SAID)));

    let said = home.rouse(["logs", "--run", &run]);
    assert!(
        said.ok().contains("cron: job finished") && !said.out.contains("the engine"),
        "{said:#?}"
    );
    let none = home.rouse(["logs", "--job", "nobody"]);
    assert_eq!(none.ok(), "");
    let last = home.rouse(["logs", "-n", "1", "--json"]);
    assert_eq!(last.ok().lines().count(), 1);
}

#[tokio::test]
async fn payloads_are_logged_when_asked() {
    let home = Home::new().env("ROUSE_LOG_PAYLOADS", "1");
    let (_, run) = one_run(&home).await;
    let written = lines(&home);
    for message in ["cron: job payload", "cron: job outcome"] {
        let line = written.iter().find(|line| line["message"] == message).expect(message);
        assert!(line["runId"] == run.as_str() && line.to_string().contains(SAID), "{line}");
    }
}

/// `rouse logs --follow --json` with its lines; it has read what was there when the first one comes.
fn following(home: &Home, args: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut command = home.command(["logs", "--follow", "--json", "-n", "1"]);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut process = command.spawn().expect("rouse starts");
    let out = BufReader::new(process.stdout.take().expect("a pipe"));
    (process, out)
}

fn next(out: &mut BufReader<ChildStdout>) -> Value {
    let mut line = String::new();
    out.read_line(&mut line).expect("text");
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
}

#[tokio::test]
async fn who_follows_sees_what_comes_and_ends_with_its_reader() {
    let home = Home::new();
    let engine = home.serve().await;
    let id = engine.add(echo("Brew")).await;
    let run = engine.run_now(&id).await;
    engine.ended(&id, 1).await;
    let (mut process, mut out) = following(&home, &["--job", &id]);
    let first = next(&mut out);
    assert_eq!((&first["runId"], &first["jobId"]), (&json!(run), &json!(id)), "{first}");
    // It waits at the end of the file now.
    let run = engine.run_now(&id).await;
    let mut line = first;
    while (&line["runId"], &line["message"]) != (&json!(run), &json!("cron: job finished")) {
        line = next(&mut out);
        assert_eq!(line["jobId"], json!(id), "only what was asked for: {line}");
    }
    drop(out);
    engine.run_now(&id).await;
    assert!(process.wait().expect("it ends").success());
}

#[test]
fn who_follows_over_midnight_misses_nothing() {
    let home = Home::new();
    let logs = home.data().join("logs");
    fs::create_dir(&logs).expect("a folder");
    let line = |word: &str| format!("{}\n", json!({ "level": "info", "message": word }));
    let [old, between, new] =
        ["2026-11-21", "2026-11-22", "2026-11-23"].map(|day| logs.join(format!("{day}.jsonl")));
    fs::write(&old, line("one")).expect("a file");
    let (mut process, mut out) = following(&home, &[]);
    assert_eq!(next(&mut out)["message"], "one");
    // All at once, as they are for somebody who has slept.
    let mut writer = OpenOptions::new().append(true).open(&old).expect("a file");
    writer.write_all(line("two").as_bytes()).expect("written");
    fs::write(&between, line("three")).expect("a file");
    fs::write(&new, line("four")).expect("a file");
    for word in ["two", "three", "four"] {
        assert_eq!(next(&mut out)["message"], word);
    }
    process.kill().expect("it lives");
    process.wait().expect("it ends");
}

#[test]
fn no_log_is_no_lines() {
    let home = Home::new();
    assert_eq!(home.rouse(["logs"]).ok(), "");
}
