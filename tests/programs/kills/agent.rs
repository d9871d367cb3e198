//! Kills during agent runs with effects that must not repeat: job runs and chat turns.
//!
//! The model makes calls that are unsafe to repeat, some of them with an approval. The person allows each approval
//! once, before or after the kill. The effects are compared with the results that the model received (`effects`).
//! Pitfall: killing only at writes, because a parked run does not write.

use std::fs;

use rouse_gateway::Client;
use rouse_testkit::dice::is_long;
use rouse_testkit::fake_model::{FakeModel, Reply};
use rouse_tests::{is_finished, model_calling, model_settings};
use serde_json::{Value, json};

use super::effects::{self, LINE, NOTE, RENAMED, REPORT, ROUTINE, RunEffects};
use super::tracer::{KillPoint, TracedExit};
use super::{TracedEngine, assert_coverage, call_if_alive, kill_points, repeat_until_killed};
use crate::engine::{EngineProcess, TestHome};

/// The kind of the killed run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunKind {
    /// A job run.
    Job,
    /// A job run with egress, which no rule makes safe to repeat.
    Egress,
    /// A chat turn, which alone may create jobs.
    Chat,
    /// A chat turn that changes, starts and deletes jobs.
    Routines,
}

/// The model and the target of egress.
struct RunServers {
    model: FakeModel,
    sink: FakeModel,
}

impl RunServers {
    fn home(&self) -> TestHome {
        let sink = self.sink.url().replace("http://", "");
        let tools = format!("[tools]\nallowPrivateHosts = [\"{sink}\"]\n");
        TestHome::new().config(&format!("{tools}{}", model_settings(&self.model)))
    }
}

impl RunKind {
    fn servers(self) -> RunServers {
        let sink = FakeModel::start(|_| Reply::json(200, "{}"));
        let post = json!({ "url": format!("{}/take", sink.url()), "method": "POST", "body": NOTE });
        let shared = [
            ("memory_write", json!({ "path": "memory/log.md", "content": LINE, "append": true })),
            ("notify", json!({ "body": NOTE })),
            ("run_command", json!({ "command": effects::COMMAND })),
        ];
        let reminder =
            json!({ "name": ROUTINE, "schedule": { "kind": "manual" }, "reminder": "Tea" });
        let calls: Vec<(&str, Value)> = match self {
            Self::Job => {
                let report = json!({ "path": "report.md", "content": REPORT });
                shared.into_iter().chain([("write_file", report)]).collect()
            }
            Self::Egress => vec![shared[0].clone(), ("http", post), shared[1].clone()],
            Self::Chat => shared.into_iter().chain([("routine_create", reminder)]).collect(),
            Self::Routines => vec![
                ("routine_update", json!({ "id": "changed", "revision": 1, "name": RENAMED })),
                ("routine_fire", json!({ "id": "fired" })),
                ("routine_delete", json!({ "id": "gone" })),
            ],
        };
        RunServers { model: model_calling(calls), sink }
    }

    /// Starts the run. Returns whether the engine acknowledged the start.
    async fn begin(self, client: &Client) -> bool {
        let (method, params) = match self {
            Self::Job | Self::Egress => {
                let payload = json!({ "kind": "agentTurn", "message": "Do it." });
                let job = json!({ "id": "agent", "name": "Agent", "schedule": { "kind": "manual" }, "payload": payload });
                call_if_alive(client, "cron.add", job).await;
                ("cron.run", json!({ "id": "agent", "mode": "force" }))
            }
            Self::Chat => ("chat.send", json!({ "text": "Do it." })),
            Self::Routines => {
                for id in ["changed", "fired", "gone"] {
                    let payload = json!({ "kind": "systemEvent", "text": "Tea" });
                    let job = json!({ "id": id, "name": id, "schedule": { "kind": "manual" }, "payload": payload, "wakeMode": "next-heartbeat" });
                    call_if_alive(client, "cron.add", job).await;
                }
                ("chat.send", json!({ "text": "Do it." }))
            }
        };
        call_if_alive(client, method, params).await.is_some()
    }
}

/// The started runs, at most one. None if the engine is dead.
async fn started_runs(client: &Client) -> Option<Vec<Value>> {
    let found =
        call_if_alive(client, "runs.list", json!({ "triggers": ["manual", "chat"] })).await?;
    let mut runs = found["runs"].as_array().expect("runs").clone();
    // A run that the agent fired is an effect.
    runs.retain(|run| run["jobId"] != "fired");
    assert!(runs.len() <= 1, "{runs:#?}");
    Some(runs)
}

/// The pending approvals. Empty if the engine is dead.
async fn pending_approvals(client: &Client) -> Vec<Value> {
    let Some(open) = call_if_alive(client, "approvals.list", json!({})).await else {
        return Vec::new();
    };
    open["approvals"].as_array().expect("approvals").clone()
}

/// Allows all pending approvals once.
async fn allow_pending(client: &Client) {
    allow(client, pending_approvals(client).await).await;
}

async fn allow(client: &Client, pending: Vec<Value>) {
    for approval in pending {
        let decision =
            json!({ "id": approval["id"], "decision": { "kind": "once" }, "from": "cli" });
        let decided = call_if_alive(client, "approvals.decide", decision).await;
        assert!(decided.is_none_or(|decided| decided["applied"] == true), "{approval}");
    }
}

/// Starts the run and allows approvals up to the end of the run or the engine. Returns whether the run was
/// acknowledged.
async fn play_scenario(traced: &TracedEngine, kind: RunKind) -> bool {
    let Some((client, _)) = &traced.connection else { return false };
    if !kind.begin(client).await {
        return false;
    }
    let Ok(mut events) = client.events(Some(0)).await else { return true };
    while events.next().await.is_some() {
        allow_pending(client).await;
        if started_runs(client).await.is_none_or(|runs| runs.iter().all(is_finished)) {
            break;
        }
    }
    true
}

/// Verifies the life after the kill, in which the run ends, and returns the effects.
async fn verify_recovery(
    home: &TestHome,
    servers: &RunServers,
    is_acknowledged: bool,
    context: &str,
) -> RunEffects {
    let engine = home.serve_plain();
    let run = engine
        .wait_until(async |engine| {
            allow_pending(&engine.client).await;
            let runs = started_runs(&engine.client).await.expect("an engine");
            runs.iter().all(is_finished).then(|| runs.into_iter().next())
        })
        .await;
    assert!(!is_acknowledged || run.is_some(), "{context}: the run was acknowledged and is gone");
    let found = RunEffects::collect(&engine, (&servers.model, &servers.sink), run).await;
    assert!(engine.stop().success(), "{context}");
    found.check().unwrap_or_else(|error| panic!("{context}: {error}\n{found:#?}"));
    found
}

/// Kills at the kill points of a run of this kind.
async fn kill_at_points(kind: RunKind) {
    let servers = kind.servers();
    let whole_home = servers.home();
    let traced = TracedEngine::start(&whole_home, KillPoint::None);
    let before = traced.process.calls();
    let is_acknowledged = play_scenario(&traced, kind).await;
    let TracedExit { is_killed, calls: all } = traced.stop();
    assert!(!is_killed && is_acknowledged);
    let effects = verify_recovery(&whole_home, &servers, is_acknowledged, "not killed").await;
    assert!(effects.is_complete(), "{effects:#?}");

    let (mut kills, mut calls, mut continued, mut unknown) = (0, 0, 0, 0);
    for at in kill_points(all) {
        let killed = repeat_until_killed(async || {
            let servers = kind.servers();
            let home = servers.home();
            let traced = TracedEngine::start(&home, KillPoint::Call(at));
            let is_acknowledged = play_scenario(&traced, kind).await;
            let is_killed = traced.stop().is_killed;
            let context = format!("killed before call {at} of {all}");
            let found = verify_recovery(&home, &servers, is_acknowledged, &context).await;
            continued += u32::from(is_killed && found.was_retried());
            unknown += u32::from(found.has_unknown_outcome());
            is_killed
        });
        (kills, calls) = (kills + u32::from(killed.await), calls + 1);
    }
    println!(
        "{kills} kills of {kind:?} in {all} calls, {before} before the start; {continued} continued, {unknown} reported an unknown outcome"
    );
    assert_coverage(kills, calls);
    // A part of the points may lie before the run.
    let is_part = is_long() && calls < all;
    assert!(is_part || continued > 0, "no kill during the agent run");
}

#[tokio::test]
async fn killed_job_run_continues_without_duplicate_effects() {
    kill_at_points(RunKind::Job).await;
}

#[tokio::test]
async fn killed_run_with_egress_sends_nothing_twice() {
    kill_at_points(RunKind::Egress).await;
}

#[tokio::test]
async fn killed_chat_turn_continues_without_duplicate_effects() {
    kill_at_points(RunKind::Chat).await;
}

#[tokio::test]
async fn killed_turn_that_manages_jobs_changes_nothing_twice() {
    kill_at_points(RunKind::Routines).await;
}

/// The workspace renames files by a raw syscall.
#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn rename_by_raw_syscall_is_traced() {
    let servers = RunKind::Job.servers();
    let home = servers.home();
    let traced = TracedEngine::start(&home, KillPoint::First(libc::SYS_renameat));
    let is_acknowledged = play_scenario(&traced, RunKind::Job).await;
    assert!(traced.stop().is_killed, "the rename was not traced");
    let folder = home.data().join("workspace/memory");
    let files: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path()).collect();
    let [file] = files.as_slice() else { panic!("one temporary file: {files:?}") };
    assert_ne!(file.file_name(), Some("log.md".as_ref()));
    assert_eq!(fs::read_to_string(file).expect("text"), LINE);
    let found =
        verify_recovery(&home, &servers, is_acknowledged, "killed before the rename of a file")
            .await;
    assert!(found.was_retried() && found.has_unknown_outcome(), "{found:#?}");
}

/// An engine with a pending approval of `tool`.
async fn engine_with_approval<'h>(
    home: &'h TestHome,
    kind: RunKind,
    tool: &str,
) -> EngineProcess<'h> {
    let engine = home.serve_plain();
    assert!(kind.begin(&engine.client).await);
    engine
        .wait_until(async |engine| {
            let open = pending_approvals(&engine.client).await;
            if open.iter().any(|approval| approval["tool"] == tool) {
                return Some(());
            }
            // Allow only the listed approvals. The next approval is the awaited one.
            allow(&engine.client, open).await;
            None
        })
        .await;
    engine
}

#[tokio::test]
async fn killed_run_with_pending_approval_does_not_ask_twice() {
    for (kind, tool) in [
        (RunKind::Job, "run_command"),
        (RunKind::Job, "write_file"),
        (RunKind::Chat, "run_command"),
        (RunKind::Chat, "routine_create"),
    ] {
        for decides_first in [false, true] {
            let servers = kind.servers();
            let home = servers.home();
            let engine = engine_with_approval(&home, kind, tool).await;
            if decides_first {
                allow_pending(&engine.client).await;
            }
            engine.kill();
            let context = format!("{kind:?} killed with an approval of {tool}, {decides_first}");
            let found = verify_recovery(&home, &servers, true, &context).await;
            assert_eq!(found.approval_count(tool), 1, "{context}: {found:#?}");
            assert!(decides_first || found.is_complete(), "{context}: {found:#?}");
        }
    }
}

/// The command reports completion and waits, so the kill precedes the exit.
#[tokio::test]
async fn completed_command_is_not_repeated_after_kill() {
    for kind in [RunKind::Job, RunKind::Chat] {
        let servers = kind.servers();
        let home = servers.home();
        let workspace = home.data().join("workspace");
        rouse_tests::make_database(&home.data()).await;
        fs::create_dir(&workspace).expect("a folder");
        let pipe = workspace.join(effects::PIPE);
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo starts").success());
        let engine = engine_with_approval(&home, kind, "run_command").await;
        allow_pending(&engine.client).await;
        let completion = tokio::task::spawn_blocking({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe)
        });
        assert_eq!(completion.await.expect("read").expect("text").trim(), "done");
        engine.kill();
        fs::remove_file(&pipe).expect("removed");
        let context = format!("{kind:?} killed during the command");
        let found = verify_recovery(&home, &servers, true, &context).await;
        assert_eq!(
            (found.command_count(), found.has_unknown_outcome()),
            (1, true),
            "{context}: {found:#?}"
        );
    }
}
