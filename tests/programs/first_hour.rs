//! What somebody meets who does what README.md says: what a command prints next, waits for, and says of a small mistake.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use rouse_testkit::fake_model::{FakeModel, Reply, sse};
use serde_json::{Value, json};

use crate::asks::{home_with, settings_of};
use crate::engine::{Home, Said};
use crate::http::Request;
use crate::probes::echo;

#[tokio::test]
async fn a_setting_is_changed_after_the_file_was_changed_by_hand() {
    let home = Home::new();
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
async fn a_change_warns_only_of_what_is_still_wrong() {
    let provider = "[providers.work]\nkind = \"openai\"\nbaseUrl = \"http://localhost:9/v1\"\nmodel = \"m\"\nkeyEnv = \"NOBODY_HAS_SET_IT\"\n";
    let home = Home::new().config(&format!("[model]\nprovider = \"wrok\"\n{provider}"));
    let _engine = home.serve().await;
    assert!(home.rouse(["config", "get", "model.provider"]).err.contains("wrok"));
    let set = home.rouse(["config", "set", "model.provider", "work"]);
    assert!(set.code == 0 && !set.err.contains("wrok"), "{set:#?}");
    assert_eq!(set.err.matches("NOBODY_HAS_SET_IT is not set").count(), 1, "{set:#?}");
}

#[tokio::test]
async fn all_that_a_job_does_is_shown() {
    let home = Home::new();
    let engine = home.serve().await;
    let long = "x".repeat(100);
    let command = format!("echo {long}; rm -rf build");
    engine.add(json!({
        "name": "Cleans", "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": "run_command", "arguments": { "command": command } }
    })).await;
    let shown = home.rouse(["cron", "show", "Cleans"]);
    assert!(shown.ok().contains("rm -rf build"), "{shown:#?}");
    engine.add(json!({
        "name": "Asks", "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Look at the notes.\n\n  next   never\nThen delete them." }
    })).await;
    let shown = home.rouse(["cron", "show", "Asks"]);
    let does = "  does   asks the agent: Look at the notes.\n\n           next   never\n         Then delete them.\n";
    assert!(shown.ok().contains(does), "{shown:#?}");
}

#[tokio::test]
async fn the_way_to_try_a_new_job_works_whether_it_is_on_or_off() {
    let home = Home::new();
    let _engine = home.serve().await;
    for flag in ["--disabled", "--delete-after-run"] {
        let added = home.rouse(["cron", "add", "--every", "1h", "--tool", "time", flag]);
        let way = added.ok().lines().find_map(|line| line.strip_prefix("Try it now: rouse "));
        let way = way.unwrap_or_else(|| panic!("no way in {added:#?}"));
        home.rouse(way.split(' ')).ok();
    }
}

#[tokio::test]
async fn a_job_that_asks_a_model_every_second_is_told_how_often() {
    let home = Home::new();
    let _engine = home.serve().await;
    let add = |every: &str| home.rouse(["cron", "add", "--every", every, "--message", "hello"]);
    let often = add("1s");
    assert!(often.code == 0 && often.err.contains("86,400 times a day"), "{often:#?}");
    assert!(!add("1m").err.contains("a day"));
    let often = home.rouse(["cron", "add", "--cron", "*/30 * * * * *", "--message", "hello"]);
    assert!(often.err.contains("2,880 times a day"), "{often:#?}");
}

#[tokio::test]
async fn a_command_that_ends_with_a_failure_is_tried_again_as_often_as_it_may_be() {
    let home = Home::new();
    let engine = home.serve().await;
    let file = home.beside("tries");
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

/// With one place for all runs, a command that waits for another job would keep that from beginning.
#[tokio::test]
async fn a_command_of_a_run_can_wait_for_another_run() {
    let home = Home::new().config("[cron]\nmaxConcurrentRuns = 1\n");
    let engine = home.serve().await;
    engine.add(echo("Inner")).await;
    let outer = json!({
        "name": "Outer", "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": "run_command", "arguments": { "command": "sleep 600" } }
    });
    let outer = engine.add(outer).await;
    let run = engine.run_now(&outer).await;
    let inside = |name: &str| {
        let mut command = home.command(["cron", "run", name, "--wait"]);
        Said::from(command.env("ROUSE_RUN_ID", &run).output().expect("rouse starts"))
    };
    assert!(inside("Inner").ok().starts_with("Inner  succeeded\n"));
    inside("Outer").refused(5, "would wait for itself");
    let state = engine.call("runs.get", json!({ "id": run })).await["run"]["state"].clone();
    assert_eq!(state, "running", "the one that waited is still at it");
    engine.call("runs.cancel", json!({ "id": run })).await;
}

#[tokio::test]
async fn a_command_can_wait_for_the_end_of_a_run_and_tell_how_it_was() {
    let home = Home::new();
    let engine = home.serve().await;
    engine.add(echo("Good")).await;
    let bad = json!({
        "name": "Bad", "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": "run_command", "arguments": { "command": "exit 3" } }
    });
    engine.add(bad).await;
    let good = home.rouse(["cron", "run", "Good", "--wait"]);
    assert!(good.ok().starts_with("Good  succeeded\n"), "{good:#?}");
    let whole = home.rouse(["cron", "run", "Good", "--wait", "--json"]).json();
    assert_eq!(whole["run"]["state"], "succeeded");
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
    home.rouse(["runs", "list", "--state", "done"]).refused(2, "succeeded");
    assert_eq!(home.rouse(["runs", "list", "--state", "missed"]).ok(), "No run matches.\n");
}

#[tokio::test]
async fn a_message_behind_another_turn_says_that_it_waits() {
    let server = FakeModel::start(|_| Reply::events(sse::chat_says("Half")).held_after("\n\n"));
    let home = Home::new().config(&settings_of(&server));
    let engine = home.serve().await;
    let first = home.rouse(["chat", "--no-wait", "One"]).ok().trim().to_owned();
    engine
        .until(async |engine| {
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
    second.kill().expect("it waits");
    second.wait().expect("it ends");
    assert!(line.starts_with("Your message is queued behind another turn"), "{line}");
}

#[tokio::test]
async fn a_pause_takes_its_length_as_a_flag_too() {
    let home = Home::new();
    let engine = home.serve().await;
    home.rouse(["cron", "pause", "--for", "1h"]).ok();
    let status = engine.call("cron.status", json!({})).await;
    assert!(status["pause"]["untilMs"].is_i64(), "{status:#}");
    home.rouse(["cron", "pause", "1h", "--for", "1h"]).refused(2, "--for");
}

#[tokio::test]
async fn small_mistakes_are_named() {
    let home = Home::new();
    let _engine = home.serve().await;
    let file = home.beside("trunc.json");
    fs::write(&file, "{\"jobs\": [{\"na").expect("a file");
    let path = file.to_str().expect("a path");
    home.rouse(["cron", "import", path]).refused(2, &format!("{path}: "));
    let loose = ["cron", "add", "--message", "x", "--cron", "0", "3", "*", "*", "*"];
    home.rouse(loose).refused(2, "--cron \"0 3 * * *\"");
    home.rouse(["cron", "preview", "--at", "tomorrow 9"]).ok();
    home.rouse(["config", "set", "heartbeat.every", "45"]).refused(2, "`45m`");
}

#[tokio::test]
async fn what_cannot_be_printed_is_one_line_and_a_failure() {
    let home = Home::new();
    let _engine = home.serve().await;
    let full = File::options().write(true).open("/dev/full").expect("a full device");
    let said = home.command(["cron", "list"]).stdout(full).output().expect("rouse starts");
    let err = String::from_utf8(said.stderr).expect("text");
    assert_eq!((said.status.code(), err.lines().count()), (Some(1), 1), "{err}");
    assert!(err.starts_with("Cannot print the answer: ") && err.contains("No space left"), "{err}");
}

#[tokio::test]
async fn a_failure_is_json_where_json_is_asked() {
    let home = Home::new();
    let failure = |args: &[&str]| {
        let said = home.rouse(args.iter().chain(&["--json"]));
        assert_eq!(said.out, "", "{said:#?}");
        let error: Value = serde_json::from_str(&said.err).unwrap_or_else(|_| panic!("{said:#?}"));
        assert_eq!(error["error"]["exitCode"], said.code, "{said:#?}");
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
async fn a_start_says_what_it_did_not_do_as_asked() {
    let home = Home::new().env("ROUSE_LOG", "lowd");
    let engine = home.serve().await;
    let said = fs::read_to_string(home.beside("stderr")).expect("a file");
    assert!(said.contains("ROUSE_LOG") && said.contains("`lowd`"), "{said}");
    let second = home.rouse(["serve", "--port", "9999"]);
    assert!(second.ok().contains("Port 9999 was not taken"), "{second:#?}");
    assert!(second.out.contains("`lowd` is no level"), "who watches it sees it: {second:#?}");
    assert!(engine.stop().success());
    let logged = crate::logs::lines(&home);
    let is_told = |line: &Value| {
        line["level"] == "warn" && line["message"].as_str().is_some_and(|it| it.contains("`lowd`"))
    };
    assert!(logged.iter().any(is_told), "{logged:#?}");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_with_the_limit() {
    let home = Home::new();
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
    let said: Value = serde_json::from_str(&reply.body).expect("JSON");
    assert!(said["error"].as_str().is_some_and(|said| said.contains("64 KiB")), "{said}");
    assert_eq!(call.body("x".repeat(65_536)).send().status, 202);
}

#[tokio::test]
async fn what_a_question_is_about_stands_in_the_list() {
    let call = json!({ "path": "report.md", "content": "one\n" });
    let server = crate::asks::calling(vec![("write_file", call)]);
    let home = home_with(&server);
    let engine = home.serve().await;
    let job = json!({
        "name": "Writer", "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Do it." }
    });
    let id = engine.add(job).await;
    engine.run_now(&id).await;
    let asked = crate::asks::question(&engine).await;
    let list = home.rouse(["approvals", "list"]);
    assert!(list.ok().contains("report.md"), "{list:#?}");
    assert!(list.out.contains(asked["id"].as_str().expect("an id")), "{list:#?}");
}
