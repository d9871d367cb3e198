//! Hooks that are told of runs: each run begins once and ends once, whoever ends it.

#![cfg(unix)]

use std::fs;
use std::path::Path;

use rouse_testkit::scripted_model::{Scripted, calls, says};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::unix::pipe;

use crate::house::{HOUR, House, MINUTE, Plan, ask, echo};

/// What hooks of a settings file in this folder were told.
struct Told {
    lines: Lines<BufReader<pipe::Receiver>>,
    /// So that it does not end with the first hook.
    _open: pipe::Sender,
}

impl Told {
    fn of_hooks_in(folder: &Path) -> Self {
        let pipe = folder.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
        assert!(made.success());
        let hook = |on| {
            format!("[[hooks]]\non = \"{on}\"\ncommand = [\"/bin/sh\", \"-c\", 'cat >pipe']\n")
        };
        let config = ["run_started", "run_finished"].map(hook).concat();
        fs::write(folder.join("config.toml"), config).expect("a file");
        let told = pipe::OpenOptions::new().open_receiver(&pipe).expect("a pipe");
        let open = pipe::OpenOptions::new().open_sender(&pipe).expect("a pipe");
        Self { lines: BufReader::new(told).lines(), _open: open }
    }

    async fn next(&mut self) -> Value {
        let line = self.lines.next_line().await.expect("read").expect("it never ends");
        serde_json::from_str(&line).expect("JSON")
    }

    /// The next `count` tellings, in the order of their words: the run's job, the hook, and how the run ended.
    async fn words(&mut self, count: usize) -> Vec<String> {
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            let told = self.next().await;
            let text = |key: &str| told[key].as_str().unwrap_or_default().to_owned();
            let words = [text("jobName"), text("hook"), text("state")].join(" ");
            all.push(words.trim().to_owned());
        }
        all.sort();
        all
    }

    /// Stops the house; nothing else was told than what was read.
    async fn are_all(mut self, house: House) {
        house.host.stop().await;
        let rest = self.lines.get_mut();
        assert_eq!(String::from_utf8_lossy(rest.buffer()), "");
        let mut more = [0; 4_096];
        let nothing = rest
            .get_mut()
            .try_read(&mut more)
            .map(|len| String::from_utf8_lossy(&more[..len]).into_owned());
        assert_eq!(nothing.map_err(|error| error.kind()), Err(std::io::ErrorKind::WouldBlock));
    }
}

async fn forced(house: &House, job: Value) -> String {
    let id = house.add(job).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    id
}

fn write_note() -> Scripted {
    calls([("c1", "write_file", json!({ "path": "note.md", "content": "Tea at four." }))])
}

/// A run that waits for a yes to a write; its job and its question.
async fn parked(house: &House) -> (String, Value) {
    let id = forced(house, ask("Write it down")).await;
    let run = house.run_in(&id, "awaitingApproval").await;
    (id, house.detail(&run).await["approvals"][0]["id"].clone())
}

async fn cancel(house: &House, id: &str) {
    let run = house.runs(id).await.remove(0);
    assert_eq!(house.call("runs.cancel", json!({ "id": run["id"] })).await["changed"], true);
}

#[tokio::test]
async fn a_run_is_told_with_what_it_says_of_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut told = Told::of_hooks_in(folder.path());
    let house = Plan::new(folder.path()).model([says("Tea at four.")]).build().await;
    let id = forced(&house, ask("When is tea?")).await;
    let run = house.ended(&id, 1).await.remove(0);
    let mut both = [told.next().await, told.next().await];
    both.sort_by_key(|told| told["hook"].to_string());
    let [ended, began] = both;
    let context = json!({
        "agentId": id, "sessionKey": format!("cron:{id}"), "sessionId": format!("cron:{id}"), "runId": run["id"],
        "workspaceDir": folder.path().join("workspace"),
    });
    assert_eq!(
        began,
        json!({ "hook": "run_started", "runId": run["id"], "jobId": id, "jobName": "Ask", "trigger": "manual", "context": context })
    );
    assert_eq!(
        ended,
        json!({
            "hook": "run_finished", "runId": run["id"], "jobId": id, "jobName": "Ask", "trigger": "manual", "context": context,
            "state": "succeeded", "attempts": 1, "summary": "Tea at four.", "error": null, "reason": null
        })
    );
    told.are_all(house).await;
}

#[tokio::test]
async fn a_run_that_is_ended_is_told_with_what_ended_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut told = Told::of_hooks_in(folder.path());
    let script = [Scripted::Silence, Scripted::Silence];
    let house = Plan::new(folder.path()).model(script).build().await;
    let mut slow = ask("Think for ever");
    slow["policies"] = json!({ "timeoutSeconds": 60 });
    forced(&house, slow.clone()).await;
    house.model.asked(1).await;
    house.clock.advance(MINUTE);
    assert_eq!(told.words(2).await, ["Ask run_finished timedOut", "Ask run_started"]);
    let id = forced(&house, slow).await;
    house.model.asked(2).await;
    cancel(&house, &id).await;
    assert_eq!(told.words(2).await, ["Ask run_finished cancelled", "Ask run_started"]);
    told.are_all(house).await;
}

#[tokio::test]
async fn a_run_that_is_tried_again_begins_once_and_ends_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut told = Told::of_hooks_in(folder.path());
    let house = Plan::new(folder.path()).build().await;
    let mut job = echo(&json!({ "kind": "manual" }));
    job["payload"]["tool"] = json!("read_file");
    job["payload"]["arguments"] = json!({ "path": "nowhere.md" });
    job["runtime"] = json!({ "maxAttempts": 2, "retryBackoffMs": 1_000 });
    job["policies"] = json!({ "timeoutSeconds": 86_400 });
    let id = forced(&house, job).await;
    // The wait between the attempts begins at an instant that nobody outside sees.
    while house.runs(&id).await.remove(0)["state"] != "failed" {
        house.clock.advance(1_000);
    }
    let mut both = [told.next().await, told.next().await];
    both.sort_by_key(|told| told["hook"].to_string());
    let [ended, began] = both;
    assert_eq!((&ended["state"], &ended["attempts"]), (&json!("failed"), &json!(2)), "{ended}");
    assert_eq!(began["hook"], "run_started");
    told.are_all(house).await;
}

#[tokio::test]
async fn a_run_that_waits_for_a_person_goes_on_untold_and_ends_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut told = Told::of_hooks_in(folder.path());
    let script =
        [write_note(), says("Written."), write_note(), write_note(), says("Nobody said yes.")];
    let house =
        Plan::new(folder.path()).env("HEARTBEAT_ENABLED", "false").model(script).build().await;
    let (_, question) = parked(&house).await;
    house.answer(&json!({ "id": question }), "once").await;
    assert_eq!(told.words(2).await, ["Ask run_finished succeeded", "Ask run_started"]);

    let (id, _) = parked(&house).await;
    assert_eq!(told.words(1).await, ["Ask run_started"]);
    cancel(&house, &id).await;
    assert_eq!(told.words(1).await, ["Ask run_finished cancelled"]);

    parked(&house).await;
    house.clock.advance(31 * MINUTE);
    assert_eq!(told.words(2).await, ["Ask run_finished succeeded", "Ask run_started"]);

    told.are_all(house).await;
}

#[tokio::test]
async fn a_run_that_a_stop_of_rouse_cuts_off_is_told_by_the_next_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut told = Told::of_hooks_in(folder.path());
    let script = [Scripted::Silence];
    let house = Plan::new(folder.path()).model(script).build().await;
    forced(&house, ask("Think for ever")).await;
    house.model.asked(1).await;
    let clock = house.clock.clone();
    house.host.stop().await;
    assert_eq!(told.words(1).await, ["Ask run_started"]);
    // What is off takes nothing up again.
    let house = Plan::new(folder.path()).clock(&clock).env("ROUSE_SKIP_CRON", "1").build().await;
    assert_eq!(told.words(1).await, ["Ask run_finished interrupted"]);
    told.are_all(house).await;
}

#[tokio::test]
async fn a_parked_run_whose_job_is_removed_is_told_and_so_is_one_that_goes_on_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut told = Told::of_hooks_in(folder.path());
    let house = Plan::new(folder.path()).model([write_note(), write_note()]).build().await;
    let (removed, _) = parked(&house).await;
    house.call("cron.remove", json!({ "id": removed })).await;
    assert_eq!(told.words(2).await, ["Ask run_finished cancelled", "Ask run_started"]);
    let (_, question) = parked(&house).await;
    assert_eq!(told.words(1).await, ["Ask run_started"]);
    let clock = house.clock.clone();
    house.host.stop().await;
    let house = Plan::new(folder.path()).clock(&clock).model([says("Written.")]).build().await;
    house.answer(&json!({ "id": question }), "once").await;
    assert_eq!(told.words(1).await, ["Ask run_finished succeeded"]);
    told.are_all(house).await;
}

#[tokio::test]
async fn what_never_began_is_not_told_and_what_needs_no_model_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut told = Told::of_hooks_in(folder.path());
    let house = Plan::new(folder.path()).build().await;
    let id = house.add(echo(&json!({ "kind": "every", "everyMs": HOUR }))).await;
    house.call("cron.pause", json!({})).await;
    house.clock.advance(HOUR);
    assert_eq!(house.ended(&id, 1).await[0]["state"], "skipped");
    house.call("cron.resume", json!({})).await;
    house.clock.advance(HOUR);
    assert_eq!(told.words(2).await, ["Echo run_finished succeeded", "Echo run_started"]);
    house.call("tools.try", json!({ "tool": "echo", "arguments": { "text": "x" } })).await;
    assert_eq!(
        told.words(2).await,
        ["Trial of echo run_finished succeeded", "Trial of echo run_started"]
    );
    told.are_all(house).await;
}
