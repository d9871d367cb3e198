//! The log: every line about a run says which, in the RFC's words; what a job says is there only when asked for, and a key
//! never.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::engine::{Engine, Home};
use crate::probes::echo;

const SAID: &str = "PAYLOAD-canary-5d1e";

/// Everything in the log files.
pub(crate) fn lines(home: &Home) -> Vec<Value> {
    let files = home.everything_written();
    let logs = files.iter().filter(|(path, _)| path.parent().is_some_and(|p| p.ends_with("logs")));
    let text: String = logs.map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect();
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// Also outside of the run: when it has begun, when it is over, and when its notification goes out.
#[tokio::test]
async fn a_hook_that_fails_is_told_with_its_run() {
    let home = Home::new();
    let points = ["run_started", "run_finished", "before_delivery"];
    let hook = |on: &str| format!("[[hooks]]\non = \"{on}\"\ncommand = [\"false\"]\n");
    home.write_config(&points.map(hook).concat());
    let engine = home.serve().await;
    let id = engine.add(echo("Brew")).await;
    let run = engine.run_now(&id).await;
    for point in points {
        let of_point = async |_: &Engine<'_>| {
            let failed =
                |line: &Value| line["message"] == "a hook failed" && line["point"] == point;
            lines(&home).into_iter().find(failed)
        };
        let line = engine.until(of_point).await;
        let about = (&line["jobId"], &line["runId"], &line["name"]);
        assert_eq!(about, (&json!(id), &json!(run), &json!("Brew")), "{line}");
    }
    assert!(engine.stop().success());
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
    home.rouse(["logs", "--job", "nobody"]).refused(4, "The log knows no job nobody");
    home.rouse(["logs", "--run", "nope"]).refused(4, "The log knows no run nope");
    let last = home.rouse(["logs", "-n", "1", "--json"]);
    assert_eq!(last.ok().lines().count(), 1);
}

#[tokio::test]
async fn lines_are_asked_for_as_jobs_and_runs_are_named_elsewhere() {
    let home = Home::new();
    let (id, run) = one_run(&home).await;
    let words = [
        ["--job", "Brew"],
        ["--job", &id],
        ["--job", &id[..8]],
        ["--run", "last"],
        ["--run", &run],
        ["--run", &run[24..]],
    ];
    let said = |[flag, word]: [&str; 2]| home.rouse(["logs", flag, word]);
    for asked in words {
        assert!(said(asked).ok().contains("cron: job finished"), "{asked:?}");
    }
    let engine = home.serve_as_it_is();
    for asked in words {
        assert!(said(asked).ok().contains("cron: job finished"), "{asked:?}");
    }
    said(["--job", "nope"]).refused(4, "There is no job nope");
    said(["--run", "nope"]).refused(4, "There is no run nope");
    let whole = "00000000-0000-7000-8000-000000000000";
    said(["--run", whole]).refused(4, "There is no run");
    said(["--job", whole]).refused(4, "There is no job");
    engine.call("cron.remove", json!({ "id": id })).await;
    assert!(said(["--job", "Brew"]).ok().contains("cron: job finished"));
    assert!(engine.stop().success());
    said(["--run", whole]).refused(4, "no line about run");
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

/// The line with this message about the job called `name`.
#[track_caller]
fn said<'l>(written: &'l [Value], message: &str, name: &str) -> &'l Value {
    let is_it = |line: &&Value| line["message"] == message && line["name"] == name;
    written.iter().find(is_it).unwrap_or_else(|| panic!("no `{message}` of {name}: {written:#?}"))
}

#[tokio::test]
async fn every_event_that_the_rfc_names_is_in_the_log() {
    let home = Home::new().env("ROUSE_LOG", "debug");
    let engine = home.serve().await;
    let mut hourly = echo("Hourly");
    hourly["schedule"] = json!({ "kind": "every", "everyMs": 3_600_000 });
    let hourly = engine.add(hourly).await;
    let next = engine.call("cron.get", json!({ "id": hourly })).await;
    let next = next["job"]["state"]["nextRunAtMs"].as_i64().expect("an instant");
    let mut broken = echo("Broken");
    broken["payload"] = json!({
        "kind": "toolCall", "tool": "read_file", "arguments": { "path": "nowhere.txt" }
    });
    let broken = engine.add(broken).await;
    let mut after = echo("After");
    after["schedule"] = json!({ "kind": "event", "source": "job", "filters": { "jobId": hourly } });
    after["policies"] = json!({ "cooldownSeconds": 3_600 });
    let after = engine.add(after).await;
    engine.run_now(&broken).await;
    let failed = engine.ended(&broken, 1).await.remove(0);
    for count in [1, 2] {
        engine.run_now(&hourly).await;
        engine.ended(&hourly, count).await;
        engine.ended(&after, count).await;
    }
    assert!(engine.stop().success());
    let home = home.env("ROUSE_SKIP_CRON", "1");
    assert!(home.serve_as_it_is().stop().success());
    let written = lines(&home);

    let starts: Vec<&Value> =
        written.iter().filter(|line| line["message"] == "cron: scheduler started").collect();
    let seen: Vec<_> = starts.iter().map(|line| (&line["level"], &line["module"])).collect();
    assert_eq!(seen, [(&json!("info"), &json!("cron")); 2]);
    assert_eq!((&starts[1]["jobCount"], &starts[1]["nextWakeAt"]), (&json!(3), &json!(next)));
    let disabled: Vec<&Value> =
        written.iter().filter(|line| line["message"] == "cron: disabled").collect();
    assert!(disabled.len() == 1 && disabled[0]["level"] == "warn", "{disabled:#?}");

    let saved = said(&written, "cron: job saved", "Hourly");
    assert_eq!((&saved["level"], &saved["nextRunAtMs"]), (&json!("debug"), &json!(next)));
    let started = said(&written, "cron: job started", "Hourly");
    assert_eq!(
        ["level", "scheduleKind", "sessionTarget", "wakeMode"].map(|key| started[key].as_str()),
        ["info", "every", "isolated", "now"].map(Some)
    );
    let finished = said(&written, "cron: job finished", "Hourly");
    assert!(finished["durationMs"].is_i64() && finished["level"] == "info", "{finished}");
    assert_eq!((&finished["status"], &finished["nextRunAtMs"]), (&json!("ok"), &json!(next)));
    let skipped = said(&written, "cron: job skipped", "After");
    assert!(skipped["level"] == "info" && skipped["reason"].is_string(), "{skipped}");
    let error = said(&written, "cron: job finished", "Broken");
    assert_eq!((&error["level"], &error["status"]), (&json!("warn"), &json!("error")));
    assert!(failed["error"].as_str().is_some_and(|told| told.contains("nowhere.txt")), "{failed}");
    assert_eq!(error["error"], "The call failed", "{error}");
}

#[tokio::test]
async fn a_name_made_from_what_a_job_is_told_is_in_the_log_only_when_asked() {
    for (payloads, is_said) in [("0", false), ("1", true)] {
        let home = Home::new().env("ROUSE_LOG", "debug").env("ROUSE_LOG_PAYLOADS", payloads);
        let engine = home.serve().await;
        let text = format!("take {SAID}");
        home.rouse(["cron", "add", "--manual", "--system-event", &text]).ok();
        let command = json!({ "command": format!("echo {SAID}; exit 3") }).to_string();
        let tool = ["cron", "add", "--manual", "--tool", "run_command", "--arguments", &command];
        home.rouse(tool).ok();
        let list = engine.call("cron.list", json!({})).await;
        let mut names = Vec::new();
        for view in list["jobs"].as_array().expect("jobs") {
            let job = view.get("job").unwrap_or(view);
            assert!(job["name"].as_str().is_some_and(|name| name.contains(SAID)), "{job}");
            let id = job["id"].as_str().expect("an id");
            engine.run_now(id).await;
            engine.ended(id, 1).await;
            let kind = job["payload"]["tool"].as_str().unwrap_or("reminder");
            names.push(format!("{kind} {}", &id[..8]));
        }
        assert!(engine.stop().success());
        let written = lines(&home);
        for name in &names {
            for message in ["cron: job saved", "cron: job started", "cron: job finished"] {
                said(&written, message, name);
            }
        }
        let all = written.iter().map(ToString::to_string).collect::<String>();
        assert_eq!(all.contains(SAID), is_said, "{written:#?}");
    }
}

#[tokio::test]
async fn why_a_run_failed_is_one_short_line() {
    let home = Home::new();
    let engine = home.serve().await;
    let mut broken = echo("Broken");
    broken["payload"] = json!({
        "kind": "toolCall", "tool": "run_command",
        "arguments": { "command": format!("echo {SAID} >&2; echo last >&2; exit 3") }
    });
    let broken = engine.add(broken).await;
    engine.run_now(&broken).await;
    let failed = engine.ended(&broken, 1).await.remove(0);
    let told = failed["error"].as_str().expect("why");
    assert!(told.lines().count() > 1 && told.contains(SAID), "{told}");
    assert!(engine.stop().success());
    let written = lines(&home);
    let error = said(&written, "cron: job finished", "Broken");
    assert_eq!(error["error"], "Exit code 3", "{error}");
    assert!(!written.iter().any(|line| line.to_string().contains(SAID)), "{written:#?}");
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

#[test]
fn what_is_no_text_and_no_file_hides_nothing() {
    let home = Home::new();
    let logs = home.data().join("logs");
    fs::create_dir(&logs).expect("a folder");
    let line = |word: &str| format!("{}\n", json!({ "level": "info", "message": word }));
    let mut bytes = line("one").into_bytes();
    bytes.extend(b"\xff\xfe\n\0\0\n{\"level\":\"info\",\"message\":\"tw\xffo\"}\n");
    bytes.extend(line("three").into_bytes());
    fs::write(logs.join("rouse.2026-11-21.jsonl"), bytes).expect("a file");
    let pipe = std::process::Command::new("mkfifo").arg(logs.join("a.jsonl")).status();
    assert!(pipe.expect("mkfifo").success());
    fs::create_dir(logs.join("b.jsonl")).expect("a folder");
    let said = home.rouse(["logs", "--json"]);
    let words: Vec<Value> = said
        .ok()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["message"].clone())
        .collect();
    assert_eq!(words, [json!("one"), json!("tw\u{fffd}o"), json!("three")]);
}

#[test]
fn who_follows_a_file_that_is_emptied_or_made_anew_goes_on() {
    let home = Home::new();
    let logs = home.data().join("logs");
    fs::create_dir(&logs).expect("a folder");
    let line = |word: &str| format!("{}\n", json!({ "level": "info", "message": word }));
    let path = logs.join("rouse.2026-11-21.jsonl");
    fs::write(&path, line("one") + &line("a longer second line")).expect("a file");
    let (mut process, mut out) = following(&home, &[]);
    assert_eq!(next(&mut out)["message"], "a longer second line");
    // Emptied and shorter than before.
    fs::write(&path, line("two")).expect("a file");
    assert_eq!(next(&mut out)["message"], "two");
    let other = logs.join("other");
    fs::write(&other, line("of a new file, which is longer than the old one was")).expect("a file");
    fs::rename(&other, &path).expect("our own file");
    assert_eq!(next(&mut out)["message"], "of a new file, which is longer than the old one was");
    process.kill().expect("it lives");
    process.wait().expect("it ends");
}
