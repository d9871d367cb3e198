//! The log: every line about a run has the field names of the cron RFC (`runId`, `jobId`). Payloads are absent unless
//! enabled, and keys are always absent.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::engine::{EngineProcess, TestHome};
use crate::probes::echo;

const PAYLOAD: &str = "PAYLOAD-canary-5d1e";

/// The records of all log files.
pub(crate) fn log_records(home: &TestHome) -> Vec<Value> {
    let files = home.written_files();
    let logs = files.iter().filter(|(path, _)| path.parent().is_some_and(|p| p.ends_with("logs")));
    let text: String = logs.map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect();
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// Hooks run before, after and outside of the run.
#[tokio::test]
async fn failed_hook_is_logged_with_its_run() {
    let home = TestHome::new();
    let points = ["run_started", "run_finished", "before_delivery"];
    let hook = |on: &str| format!("[[hooks]]\non = \"{on}\"\ncommand = [\"false\"]\n");
    home.write_config(&points.map(hook).concat());
    let engine = home.serve().await;
    let id = engine.add_job(echo("Brew")).await;
    let run = engine.start_run(&id).await;
    for point in points {
        let of_point = async |_: &EngineProcess<'_>| {
            let failed =
                |line: &Value| line["message"] == "a hook failed" && line["point"] == point;
            log_records(&home).into_iter().find(failed)
        };
        let line = engine.wait_until(of_point).await;
        let about = (&line["jobId"], &line["runId"], &line["name"]);
        assert_eq!(about, (&json!(id), &json!(run), &json!("Brew")), "{line}");
    }
    assert!(engine.stop().success());
}

async fn engine_with_one_run(home: &TestHome) -> (String, String) {
    let engine = home.serve().await;
    let mut job = echo("Brew");
    job["payload"]["arguments"]["text"] = json!(PAYLOAD);
    let id = engine.add_job(job).await;
    let run = engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await;
    assert!(engine.stop().success());
    (id, run)
}

#[tokio::test]
async fn log_lines_of_run_name_the_run_without_its_texts() {
    let home = TestHome::new().env("ROUSE_LOG", "debug");
    let (id, run) = engine_with_one_run(&home).await;
    let written = log_records(&home);
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
    assert!(!written.iter().any(|line| line.to_string().contains(PAYLOAD)));

    let output = home.rouse(["logs", "--run", &run]);
    assert!(
        output.ok().contains("cron: job finished") && !output.out.contains("the engine"),
        "{output:#?}"
    );
    home.rouse(["logs", "--job", "nobody"]).assert_error(4, "The log has no job nobody");
    home.rouse(["logs", "--run", "nope"]).assert_error(4, "The log has no run nope");
    let last = home.rouse(["logs", "-n", "1", "--json"]);
    assert_eq!(last.ok().lines().count(), 1);
}

#[tokio::test]
async fn logs_filter_accepts_job_and_run_references() {
    let home = TestHome::new();
    let (id, run) = engine_with_one_run(&home).await;
    let references = [
        ["--job", "Brew"],
        ["--job", &id],
        ["--job", &id[..8]],
        ["--run", "last"],
        ["--run", &run],
        ["--run", &run[24..]],
    ];
    let logs = |[flag, word]: [&str; 2]| home.rouse(["logs", flag, word]);
    for reference in references {
        assert!(logs(reference).ok().contains("cron: job finished"), "{reference:?}");
    }
    let engine = home.serve_plain();
    for reference in references {
        assert!(logs(reference).ok().contains("cron: job finished"), "{reference:?}");
    }
    logs(["--job", "nope"]).assert_error(4, "There is no job nope");
    logs(["--run", "nope"]).assert_error(4, "There is no run nope");
    let full_id = "00000000-0000-7000-8000-000000000000";
    logs(["--run", full_id]).assert_error(4, "There is no run");
    logs(["--job", full_id]).assert_error(4, "There is no job");
    engine.call("cron.remove", json!({ "id": id })).await;
    assert!(logs(["--job", "Brew"]).ok().contains("cron: job finished"));
    assert!(engine.stop().success());
    logs(["--run", full_id]).assert_error(4, "no line about run");
}

#[tokio::test]
async fn payloads_are_logged_when_enabled() {
    let home = TestHome::new().env("ROUSE_LOG_PAYLOADS", "1");
    let (_, run) = engine_with_one_run(&home).await;
    let written = log_records(&home);
    for message in ["cron: job payload", "cron: job outcome"] {
        let line = written.iter().find(|line| line["message"] == message).expect(message);
        assert!(line["runId"] == run.as_str() && line.to_string().contains(PAYLOAD), "{line}");
    }
}

/// The record with this message about the job `name`.
#[track_caller]
fn find_record<'l>(written: &'l [Value], message: &str, name: &str) -> &'l Value {
    let is_it = |line: &&Value| line["message"] == message && line["name"] == name;
    written.iter().find(is_it).unwrap_or_else(|| panic!("no `{message}` of {name}: {written:#?}"))
}

#[tokio::test]
async fn every_rfc_event_is_in_the_log() {
    let home = TestHome::new().env("ROUSE_LOG", "debug");
    let engine = home.serve().await;
    let mut hourly = echo("Hourly");
    hourly["schedule"] = json!({ "kind": "every", "everyMs": 3_600_000 });
    let hourly = engine.add_job(hourly).await;
    let next = engine.call("cron.get", json!({ "id": hourly })).await;
    let next = next["job"]["state"]["nextRunAtMs"].as_i64().expect("an instant");
    let mut broken = echo("Broken");
    broken["payload"] = json!({
        "kind": "toolCall", "tool": "read_file", "arguments": { "path": "nowhere.txt" }
    });
    let broken = engine.add_job(broken).await;
    let mut after = echo("After");
    after["schedule"] = json!({ "kind": "event", "source": "job", "filters": { "jobId": hourly } });
    after["policies"] = json!({ "cooldownSeconds": 3_600 });
    let after = engine.add_job(after).await;
    engine.start_run(&broken).await;
    let failed = engine.finished_runs(&broken, 1).await.remove(0);
    for count in [1, 2] {
        engine.start_run(&hourly).await;
        engine.finished_runs(&hourly, count).await;
        engine.finished_runs(&after, count).await;
    }
    assert!(engine.stop().success());
    let home = home.env("ROUSE_SKIP_CRON", "1");
    assert!(home.serve_plain().stop().success());
    let written = log_records(&home);

    let starts: Vec<&Value> =
        written.iter().filter(|line| line["message"] == "cron: scheduler started").collect();
    let seen: Vec<_> = starts.iter().map(|line| (&line["level"], &line["module"])).collect();
    assert_eq!(seen, [(&json!("info"), &json!("cron")); 2]);
    assert_eq!((&starts[1]["jobCount"], &starts[1]["nextWakeAt"]), (&json!(3), &json!(next)));
    let disabled: Vec<&Value> =
        written.iter().filter(|line| line["message"] == "cron: disabled").collect();
    assert!(disabled.len() == 1 && disabled[0]["level"] == "warn", "{disabled:#?}");

    let saved = find_record(&written, "cron: job saved", "Hourly");
    assert_eq!((&saved["level"], &saved["nextRunAtMs"]), (&json!("debug"), &json!(next)));
    let started = find_record(&written, "cron: job started", "Hourly");
    assert_eq!(
        ["level", "scheduleKind", "sessionTarget", "wakeMode"].map(|key| started[key].as_str()),
        ["info", "every", "isolated", "now"].map(Some)
    );
    let finished = find_record(&written, "cron: job finished", "Hourly");
    assert!(finished["durationMs"].is_i64() && finished["level"] == "info", "{finished}");
    assert_eq!((&finished["status"], &finished["nextRunAtMs"]), (&json!("ok"), &json!(next)));
    let skipped = find_record(&written, "cron: job skipped", "After");
    assert!(skipped["level"] == "info" && skipped["reason"].is_string(), "{skipped}");
    let error = find_record(&written, "cron: job finished", "Broken");
    assert_eq!((&error["level"], &error["status"]), (&json!("warn"), &json!("error")));
    assert!(
        failed["error"].as_str().is_some_and(|message| message.contains("nowhere.txt")),
        "{failed}"
    );
    assert_eq!(error["error"], "The call failed", "{error}");
}

#[tokio::test]
async fn generated_job_name_is_logged_only_with_payloads() {
    for (payloads, is_logged) in [("0", false), ("1", true)] {
        let home = TestHome::new().env("ROUSE_LOG", "debug").env("ROUSE_LOG_PAYLOADS", payloads);
        let engine = home.serve().await;
        let text = format!("take {PAYLOAD}");
        home.rouse(["cron", "add", "--manual", "--system-event", &text]).ok();
        let command = json!({ "command": format!("echo {PAYLOAD}; exit 3") }).to_string();
        let tool = ["cron", "add", "--manual", "--tool", "run_command", "--arguments", &command];
        home.rouse(tool).ok();
        let list = engine.call("cron.list", json!({})).await;
        let mut names = Vec::new();
        for view in list["jobs"].as_array().expect("jobs") {
            let job = view.get("job").unwrap_or(view);
            assert!(job["name"].as_str().is_some_and(|name| name.contains(PAYLOAD)), "{job}");
            let id = job["id"].as_str().expect("an id");
            engine.start_run(id).await;
            engine.finished_runs(id, 1).await;
            let kind = job["payload"]["tool"].as_str().unwrap_or("reminder");
            names.push(format!("{kind} {}", &id[..8]));
        }
        assert!(engine.stop().success());
        let written = log_records(&home);
        for name in &names {
            for message in ["cron: job saved", "cron: job started", "cron: job finished"] {
                find_record(&written, message, name);
            }
        }
        let all = written.iter().map(ToString::to_string).collect::<String>();
        assert_eq!(all.contains(PAYLOAD), is_logged, "{written:#?}");
    }
}

#[tokio::test]
async fn error_of_failed_run_is_one_short_line() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let mut broken = echo("Broken");
    broken["payload"] = json!({
        "kind": "toolCall", "tool": "run_command",
        "arguments": { "command": format!("echo {PAYLOAD} >&2; echo last >&2; exit 3") }
    });
    let broken = engine.add_job(broken).await;
    engine.start_run(&broken).await;
    let failed = engine.finished_runs(&broken, 1).await.remove(0);
    let error_text = failed["error"].as_str().expect("why");
    assert!(error_text.lines().count() > 1 && error_text.contains(PAYLOAD), "{error_text}");
    assert!(engine.stop().success());
    let written = log_records(&home);
    let error = find_record(&written, "cron: job finished", "Broken");
    assert_eq!(error["error"], "Exit code 3", "{error}");
    assert!(!written.iter().any(|line| line.to_string().contains(PAYLOAD)), "{written:#?}");
}

/// `rouse logs --follow --json` and the output. The first line shows that the existing records were read.
fn follow(home: &TestHome, args: &[&str]) -> (Child, BufReader<ChildStdout>) {
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
async fn follow_prints_new_lines_and_ends_when_pipe_closes() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let id = engine.add_job(echo("Brew")).await;
    let run = engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await;
    let (mut process, mut out) = follow(&home, &["--job", &id]);
    let first = next(&mut out);
    assert_eq!((&first["runId"], &first["jobId"]), (&json!(run), &json!(id)), "{first}");
    // The command now waits at the end of the file.
    let run = engine.start_run(&id).await;
    let mut line = first;
    while (&line["runId"], &line["message"]) != (&json!(run), &json!("cron: job finished")) {
        line = next(&mut out);
        assert_eq!(line["jobId"], json!(id), "{line}");
    }
    drop(out);
    engine.start_run(&id).await;
    assert!(process.wait().expect("an exit status").success());
}

#[test]
fn follow_over_midnight_misses_nothing() {
    let home = TestHome::new();
    let logs = home.data().join("logs");
    fs::create_dir(&logs).expect("a folder");
    let line = |word: &str| format!("{}\n", json!({ "level": "info", "message": word }));
    let [old, between, new] =
        ["2026-11-21", "2026-11-22", "2026-11-23"].map(|day| logs.join(format!("{day}.jsonl")));
    fs::write(&old, line("one")).expect("a file");
    let (mut process, mut out) = follow(&home, &[]);
    assert_eq!(next(&mut out)["message"], "one");
    // All files appear at once, as after a suspend.
    let mut writer = OpenOptions::new().append(true).open(&old).expect("a file");
    writer.write_all(line("two").as_bytes()).expect("written");
    fs::write(&between, line("three")).expect("a file");
    fs::write(&new, line("four")).expect("a file");
    for word in ["two", "three", "four"] {
        assert_eq!(next(&mut out)["message"], word);
    }
    process.kill().expect("a live process");
    process.wait().expect("an exit status");
}

#[test]
fn missing_log_prints_no_lines() {
    let home = TestHome::new();
    assert_eq!(home.rouse(["logs"]).ok(), "");
}

#[test]
fn invalid_bytes_and_special_files_hide_no_lines() {
    let home = TestHome::new();
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
    let output = home.rouse(["logs", "--json"]);
    let text: Vec<Value> = output
        .ok()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["message"].clone())
        .collect();
    assert_eq!(text, [json!("one"), json!("tw\u{fffd}o"), json!("three")]);
}

#[test]
fn follow_continues_after_truncation_and_replacement() {
    let home = TestHome::new();
    let logs = home.data().join("logs");
    fs::create_dir(&logs).expect("a folder");
    let line = |word: &str| format!("{}\n", json!({ "level": "info", "message": word }));
    let path = logs.join("rouse.2026-11-21.jsonl");
    fs::write(&path, line("one") + &line("a longer second line")).expect("a file");
    let (mut process, mut out) = follow(&home, &[]);
    assert_eq!(next(&mut out)["message"], "a longer second line");
    // Truncated and shorter than before.
    fs::write(&path, line("two")).expect("a file");
    assert_eq!(next(&mut out)["message"], "two");
    let other = logs.join("other");
    fs::write(&other, line("of a new file, which is longer than the old one was")).expect("a file");
    fs::rename(&other, &path).expect("our own file");
    assert_eq!(next(&mut out)["message"], "of a new file, which is longer than the old one was");
    process.kill().expect("a live process");
    process.wait().expect("an exit status");
}
