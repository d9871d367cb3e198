//! The steps of README.md: suggested commands, waiting, and common mistakes.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use rouse_testkit::fake_model::{FakeModel, Reply, sse};
use rouse_tests::model_calling;
use serde_json::{Value, json};

use crate::engine::{CommandOutput, TestHome};
use crate::http::Request;
use crate::probes::echo;

#[tokio::test]
async fn config_set_keeps_manual_edits_of_the_file() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    home.write_config("# by hand\n[cron]\nmaxConcurrentRuns = 7\n");
    assert_eq!(
        home.rouse(["config", "set", "heartbeat.every", "45m"]).ok(),
        "heartbeat.every = 45 min\n"
    );
    let file = fs::read_to_string(home.data().join("config.toml")).expect("a file");
    assert!(file.contains("# by hand") && file.contains("= 7") && file.contains("45"), "{file}");
}

#[tokio::test]
async fn config_set_warns_only_of_remaining_problems() {
    let provider = "[providers.work]\nkind = \"openai\"\nbaseUrl = \"http://localhost:9/v1\"\nmodel = \"m\"\nkeyEnv = \"NOBODY_HAS_SET_IT\"\n";
    let home = TestHome::new().config(&format!("[model]\nprovider = \"wrok\"\n{provider}"));
    let _engine = home.serve().await;
    assert!(home.rouse(["config", "get", "model.provider"]).err.contains("wrok"));
    let changed = home.rouse(["config", "set", "model.provider", "work"]);
    assert!(changed.code == 0 && !changed.err.contains("wrok"), "{changed:#?}");
    assert_eq!(changed.err.matches("NOBODY_HAS_SET_IT is not set").count(), 1, "{changed:#?}");
}

#[tokio::test]
async fn show_prints_full_command_and_task() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let long = "x".repeat(100);
    let command = format!("echo {long}; rm -rf build");
    engine.add_job(json!({
        "name": "Cleans", "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": "run_command", "arguments": { "command": command } }
    })).await;
    let shown = home.rouse(["cron", "show", "Cleans"]);
    assert!(shown.ok().contains("rm -rf build"), "{shown:#?}");
    engine.add_job(json!({
        "name": "Asks", "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Look at the notes.\n\n  next   never\nThen delete them." }
    })).await;
    let shown = home.rouse(["cron", "show", "Asks"]);
    let does = "  Task      Look at the notes.\n\n              next   never\n            Then delete them.\n";
    assert!(shown.ok().contains(does), "{shown:#?}");
}

#[tokio::test]
async fn suggested_try_command_works_for_disabled_job() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    for flag in ["--disabled", "--delete-after-run"] {
        let added = home.rouse(["cron", "add", "--every", "1h", "--tool", "time", flag]);
        let suggestion =
            added.ok().lines().find_map(|line| line.strip_prefix("Try it now: rouse "));
        let suggestion = suggestion.unwrap_or_else(|| panic!("no way in {added:#?}"));
        home.rouse(suggestion.split(' ')).ok();
    }
}

#[tokio::test]
async fn frequent_agent_job_warns_of_runs_per_day() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    let add = |every: &str| home.rouse(["cron", "add", "--every", every, "--message", "hello"]);
    let often = add("1s");
    assert!(often.code == 0 && often.err.contains("86,400 times a day"), "{often:#?}");
    assert!(!add("1m").err.contains("a day"));
    let often = home.rouse(["cron", "add", "--cron", "*/30 * * * * *", "--message", "hello"]);
    assert!(often.err.contains("2,880 times a day"), "{often:#?}");
}

#[tokio::test]
async fn failing_command_is_retried_up_to_max_attempts() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let file = home.sibling("tries");
    let add = |name: &str, command: &str| {
        let arguments = json!({ "command": command }).to_string();
        let call = ["--tool", "run_command", "--arguments", &arguments];
        let more = ["--manual", "--max-attempts", "3", "--retry-backoff", "10ms"];
        let added = ["cron", "add", "--name", name].into_iter().chain(call).chain(more);
        home.rouse(added).ok();
    };
    add("Tries", &format!("echo x >> '{}'; exit 3", file.display()));
    let tried = home.rouse(["cron", "run", "Tries", "--wait", "--json"]);
    let tried: Value = serde_json::from_str(&tried.out).expect("JSON");
    assert_eq!((&tried["run"]["state"], &tried["run"]["attempt"]), (&json!("failed"), &json!(3)));
    assert_eq!(fs::read_to_string(&file).expect("a file"), "x\nx\nx\n");
    add("Nothing", "there-is-no-such-command");
    let nothing = home.rouse(["cron", "run", "Nothing", "--wait", "--json"]);
    let nothing: Value = serde_json::from_str(&nothing.out).expect("JSON");
    assert_eq!(nothing["run"]["attempt"], 1);
    engine.stop();
}

/// With one permit, a command that waits for another job would block that job forever.
#[tokio::test]
async fn command_of_run_can_wait_for_another_job() {
    let home = TestHome::new().config("[cron]\nmaxConcurrentRuns = 2\n");
    let engine = home.serve().await;
    engine.add_job(echo("Inner")).await;
    let outer = json!({
        "name": "Outer", "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": "run_command", "arguments": { "command": "sleep 600" } }
    });
    let outer = engine.add_job(outer).await;
    let run = engine.start_run(&outer).await;
    let inside = |name: &str| {
        let mut command = home.command(["cron", "run", name, "--wait"]);
        CommandOutput::from(command.env("ROUSE_RUN_ID", &run).output().expect("rouse starts"))
    };
    assert!(inside("Inner").ok().starts_with("Inner  succeeded\n"));
    inside("Outer").assert_error(5, "could never start");
    let state = engine.call("runs.get", json!({ "id": run })).await["run"]["state"].clone();
    assert_eq!(state, "running");
    engine.call("runs.cancel", json!({ "id": run })).await;
}

#[tokio::test]
async fn cron_run_wait_reports_outcome_of_run() {
    let home = TestHome::new();
    let engine = home.serve().await;
    engine.add_job(echo("Good")).await;
    let bad = json!({
        "name": "Bad", "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": "run_command", "arguments": { "command": "exit 3" } }
    });
    engine.add_job(bad).await;
    let good = home.rouse(["cron", "run", "Good", "--wait"]);
    assert!(good.ok().starts_with("Good  succeeded\n"), "{good:#?}");
    let answer = home.rouse(["cron", "run", "Good", "--wait", "--json"]).json();
    assert_eq!(answer["run"]["state"], "succeeded");
    let bad = home.rouse(["cron", "run", "Bad", "--wait"]);
    assert!(bad.code == 1 && bad.out.starts_with("Bad  failed\n"), "{bad:#?}");
    engine.call("config.patch", json!({ "patch": { "cron": { "enabled": false } } })).await;
    let skipped = home.rouse(["cron", "run", "Good", "--wait"]);
    assert_ne!(skipped.code, 1, "{skipped:#?}");

    let failed = home.rouse(["runs", "list", "--failed", "--json"]).json();
    let names = |runs: &Value| {
        let runs = runs["runs"].as_array().expect("runs").iter();
        runs.map(|run| run["jobName"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&failed), ["Bad"]);
    let good = home.rouse(["runs", "list", "--state", "succeeded,nothing-to-report", "--json"]);
    assert!(names(&good.json()).iter().all(|name| name == "Good"), "{good:#?}");
    home.rouse(["runs", "list", "--state", "done"]).assert_error(2, "succeeded");
    assert_eq!(home.rouse(["runs", "list", "--state", "missed"]).ok(), "No run matches.\n");
}

#[tokio::test]
async fn queued_chat_message_prints_that_it_waits() {
    let server = FakeModel::start(|_| Reply::events(sse::chat_says("Half")).held_after("\n\n"));
    let home = TestHome::with_model(&server);
    let engine = home.serve().await;
    let first = home.rouse(["chat", "--no-wait", "One"]).ok().trim().to_owned();
    engine
        .wait_until(async |engine| {
            let run = engine.call("runs.get", json!({ "id": first })).await;
            run["liveText"].is_string().then_some(())
        })
        .await;
    let mut second = home
        .command(["chat", "Two"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("rouse");
    let mut line = String::new();
    BufReader::new(second.stderr.take().expect("a pipe")).read_line(&mut line).expect("text");
    second.kill().expect("a live process");
    second.wait().expect("an exit status");
    assert!(line.starts_with("Your message is queued behind another turn"), "{line}");
}

#[tokio::test]
async fn pause_accepts_duration_as_flag() {
    let home = TestHome::new();
    let engine = home.serve().await;
    home.rouse(["cron", "pause", "--for", "1h"]).ok();
    let status = engine.call("cron.status", json!({})).await;
    assert!(status["pause"]["untilMs"].is_i64(), "{status:#}");
    home.rouse(["cron", "pause", "1h", "--for", "1h"]).assert_error(2, "--for");
}

#[tokio::test]
async fn common_mistakes_get_specific_errors() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    let file = home.sibling("trunc.json");
    fs::write(&file, "{\"jobs\": [{\"na").expect("a file");
    let path = file.to_str().expect("a path");
    home.rouse(["cron", "import", path]).assert_error(2, &format!("{path}: "));
    let loose = ["cron", "add", "--message", "x", "--cron", "0", "3", "*", "*", "*"];
    home.rouse(loose).assert_error(2, "--cron \"0 3 * * *\"");
    home.rouse(["cron", "preview", "--at", "tomorrow 9"]).ok();
    home.rouse(["config", "set", "heartbeat.every", "45"]).assert_error(2, "`45m`");
}

#[tokio::test]
async fn full_output_device_fails_with_one_line() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    let full = File::options().write(true).open("/dev/full").expect("a full device");
    let output = home.command(["cron", "list"]).stdout(full).output().expect("rouse starts");
    let err = String::from_utf8(output.stderr).expect("text");
    assert_eq!((output.status.code(), err.lines().count()), (Some(1), 1), "{err}");
    assert!(err.starts_with("Cannot print the answer: ") && err.contains("No space left"), "{err}");
}

#[tokio::test]
async fn error_with_json_flag_is_json() {
    let home = TestHome::new();
    let failure = |args: &[&str]| {
        let output = home.rouse(args.iter().chain(&["--json"]));
        assert_eq!(output.out, "", "{output:#?}");
        let error: Value =
            serde_json::from_str(&output.err).unwrap_or_else(|_| panic!("{output:#?}"));
        assert_eq!(error["error"]["exitCode"], output.code, "{output:#?}");
        error
    };
    let off = failure(&["cron", "list"]);
    assert_eq!(off["error"]["exitCode"], 3, "{off}");
    let _engine = home.serve().await;
    let wrong = failure(&["cron", "add", "--every", "1ms", "--system-event", "x"]);
    assert_eq!(wrong["error"]["fields"][0]["path"], "schedule.everyMs", "{wrong}");
    assert!(wrong["error"]["message"].as_str().expect("words").contains("--every"), "{wrong}");
    assert_eq!(failure(&["cron", "show", "nobody"])["error"]["exitCode"], 4);
    assert_eq!(failure(&["cron", "nonsense"])["error"]["exitCode"], 2);
}

#[tokio::test]
async fn serve_warns_of_ignored_options() {
    let home = TestHome::new().env("ROUSE_LOG", "lowd");
    let engine = home.serve().await;
    let stderr = fs::read_to_string(home.sibling("stderr")).expect("a file");
    assert!(stderr.contains("ROUSE_LOG") && stderr.contains("`lowd`"), "{stderr}");
    let second = home.rouse(["serve", "--port", "9999"]);
    assert!(second.ok().contains("Port 9999 is not in use"), "{second:#?}");
    assert!(second.out.contains("`lowd` is not a log level"), "{second:#?}");
    assert!(engine.stop().success());
    let logged = crate::logs::log_records(&home);
    let is_reported = |line: &Value| {
        line["level"] == "warn"
            && line["message"].as_str().is_some_and(|text| text.contains("`lowd`"))
    };
    assert!(logged.iter().any(is_reported), "{logged:#?}");
}

#[tokio::test]
async fn webhook_body_over_limit_is_refused_with_the_limit() {
    let home = TestHome::new();
    let engine = home.serve().await;
    home.rouse(["cron", "add", "--name", "Deploy", "--webhook", "--tool", "time"]).ok();
    let view = home.rouse(["--json", "cron", "webhook", "Deploy", "--rotate"]).json();
    let (url, secret) =
        (view["url"].as_str().expect("a URL"), view["secret"].as_str().expect("a secret"));
    let path = url.splitn(4, '/').nth(3).map(|path| format!("/{path}")).expect("a path");
    let call = Request::new(&engine.address, "POST", &path)
        .with("Authorization", &format!("Bearer {secret}"));
    let reply = call.clone().body("x".repeat(65_537)).send();
    assert_eq!(reply.status, 413, "{reply:?}");
    let error: Value = serde_json::from_str(&reply.body).expect("JSON");
    assert!(error["error"].as_str().is_some_and(|error| error.contains("64 KiB")), "{error}");
    assert_eq!(call.body("x".repeat(65_536)).send().status, 202);
}

#[tokio::test]
async fn approvals_list_shows_subject_of_call() {
    let call = json!({ "path": "report.md", "content": "one\n" });
    let server = model_calling(vec![("write_file", call)]);
    let home = TestHome::with_model(&server);
    let engine = home.serve().await;
    let job = json!({
        "name": "Writer", "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Do it." }
    });
    let id = engine.add_job(job).await;
    engine.start_run(&id).await;
    let approval = engine.pending_approval().await;
    let list = home.rouse(["approvals", "list"]);
    assert!(list.ok().contains("report.md"), "{list:#?}");
    assert!(list.out.contains(approval["id"].as_str().expect("an id")), "{list:#?}");
}
