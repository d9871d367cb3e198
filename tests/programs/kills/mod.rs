//! `kill -9` before any call that changes a file: no slot is lost or started twice, and no process is left behind.
//!
//! A tracer (`tracer`) counts the writes, syncs, renames and removals of a real `rouse serve` and kills it before the
//! n-th. The jobs leave records that no kill reaches (`jobs`). The next life ends the commands of the killed one, and
//! its database is compared with these records and with slot arithmetic (`records`). A unit test feeds `records` with
//! defects. The kernel reports remaining processes (`orphans`).

#![cfg(target_os = "linux")]
#![expect(clippy::print_stdout, reason = "the long form prints progress")]

mod tracer;
mod agent;
mod effects;
mod records;
mod limits;
mod jobs;
mod orphans;
mod reminder;

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use nix::sys::signal::Signal;
use rouse_core::Clock as _;
use rouse_gateway::{Client, ClientError};
use rouse_host::SystemClock;
use rouse_testkit::Dice;
use rouse_testkit::dice::{count_or, first_number, first_seed, is_long};
use rouse_tests::SERVE;
use serde_json::{Value, json};

use self::jobs::{MarkServer, after, command, job, load_job, reminder};
use self::orphans::{Orphan, orphans_of};
use self::records::RunRecords;
use self::tracer::{KillPoint, TracedExit, TracedProcess};
use crate::engine::{EngineProcess, TestHome};
use crate::http::Request;

/// The jobs of a load.
const LOAD: usize = 200;

/// A job with an acknowledged save.
#[derive(Debug)]
struct AcknowledgedJob {
    /// The job as sent.
    job: Value,
    /// The time of the acknowledgement. Every later slot is guaranteed.
    acknowledged_ms: i64,
}

impl AcknowledgedJob {
    fn now(job: Value) -> Self {
        Self { job, acknowledged_ms: SystemClock::default().now().0 }
    }
}

/// The acknowledged and the unanswered requests.
#[derive(Debug, Default)]
struct Acknowledgements {
    jobs: Vec<AcknowledgedJob>,
    /// The ids of acknowledged runs.
    run_ids: Vec<String>,
    /// Webhook calls by job and key: all, and the accepted ones.
    sent_calls: Vec<(String, String)>,
    accepted_calls: Vec<(String, String)>,
}

/// The result of a call. None if the engine is dead. A live engine must not refuse the call.
async fn call_if_alive(client: &Client, method: &str, params: Value) -> Option<Value> {
    match client.call(method, params).await {
        Ok(answer) => Some(answer),
        Err(ClientError::Rpc(refused)) => panic!("{method}: {refused:?}"),
        Err(_) => None,
    }
}

/// An engine with a kill point.
struct TracedEngine {
    process: TracedProcess,
    /// Client and address. None if the engine died before the ready line.
    connection: Option<(Client, String)>,
}

impl TracedEngine {
    fn start(home: &TestHome, before: KillPoint) -> Self {
        let mut command = home.command(SERVE);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let (process, out) = TracedProcess::start(command, before);
        let mut line = String::new();
        // A dead engine prints no line.
        BufReader::new(out).read_line(&mut line).expect("text");
        let ready: Option<Value> = serde_json::from_str(&line).ok();
        let address = ready.and_then(|ready| Some(ready["address"].as_str()?.to_owned()));
        let connection =
            address.and_then(|address| Some((Client::find(&home.data()).ok()?, address)));
        Self { process, connection }
    }

    async fn call(&self, method: &str, params: Value) -> Option<Value> {
        call_if_alive(&self.connection.as_ref()?.0, method, params).await
    }

    async fn add_job(&self, job: Value, acknowledged: &mut Acknowledgements) {
        if self.call("cron.add", job.clone()).await.is_some() {
            acknowledged.jobs.push(AcknowledgedJob::now(job));
        }
    }

    async fn start_run(&self, id: &str, acknowledged: &mut Acknowledgements) {
        let answer = self.call("cron.run", json!({ "id": id, "mode": "force" })).await;
        acknowledged.run_ids.extend(answer.and_then(|run| Some(run["runId"].as_str()?.to_owned())));
    }

    /// Calls a webhook. A call without a reply may have been accepted.
    async fn call_webhook(
        &self,
        id: &str,
        secret: &str,
        key: &str,
        acknowledged: &mut Acknowledgements,
    ) {
        let Some((_, address)) = &self.connection else { return };
        let call = Request::new(address, "POST", &format!("/hooks/jobs/{id}"))
            .with("Authorization", &format!("Bearer {secret}"))
            .with("Idempotency-Key", key)
            .body("Now");
        let sent = (id.to_owned(), key.to_owned());
        if !acknowledged.sent_calls.contains(&sent) {
            acknowledged.sent_calls.push(sent.clone());
        }
        let reply = tokio::task::spawn_blocking(move || call.try_send()).await.expect("sent");
        if reply.is_ok_and(|reply| reply.status / 100 == 2)
            && !acknowledged.accepted_calls.contains(&sent)
        {
            acknowledged.accepted_calls.push(sent);
        }
    }

    /// Sends SIGTERM and waits for the end.
    fn stop(self) -> TracedExit {
        self.process.signal(Signal::SIGTERM);
        self.process.end()
    }

    /// Evaluates `condition` at every event until true.
    async fn wait_until(&self, mut condition: impl AsyncFnMut(&Self) -> bool) {
        let (client, _) = self.connection.as_ref().expect("a live process");
        let mut events = client.events(Some(0)).await.expect("a stream");
        while !condition(self).await {
            events.next().await.expect("the engine goes on");
        }
    }
}

/// A typical minute of a user, and a few slots.
async fn play_scenario(
    traced: &TracedEngine,
    server: &MarkServer,
    home: &TestHome,
) -> Acknowledgements {
    let mut acknowledged = Acknowledgements::default();
    let every = || json!({ "kind": "every", "everyMs": 1_000 });
    let (manual, hook) = (json!({ "kind": "manual" }), json!({ "kind": "webhook" }));
    let queue = json!({ "policies": { "overlap": "queue", "misfire": { "mode": "runAll" } } });
    let none = || json!({});
    for job in [
        job("each-second", every(), server.call("each-second"), none()),
        job("queued", every(), server.call("queued"), queue),
        job("chained", after("by-hand"), reminder("chained"), none()),
        job("by-hand", manual, command(home, "sleep 0.1"), none()),
        job("called", hook, command(home, "setsid sleep 60 & sleep 0.1"), none()),
    ] {
        traced.add_job(job, &mut acknowledged).await;
    }
    traced.start_run("by-hand", &mut acknowledged).await;
    let webhook = traced.call("cron.webhook", json!({ "id": "called", "rotate": true })).await;
    if let Some(secret) = webhook.as_ref().and_then(|webhook| webhook["secret"].as_str()) {
        traced.call_webhook("called", secret, "once", &mut acknowledged).await;
        traced.call_webhook("called", secret, "once", &mut acknowledged).await;
    }
    for (method, params) in [
        ("cron.update", json!({ "id": "queued", "patch": { "name": "Renamed" } })),
        ("cron.add", job("gone", every(), server.call("gone"), none())),
        ("cron.remove", json!({ "id": "gone" })),
    ] {
        traced.call(method, params).await;
    }
    // Until a slot has fired, if a job can fire.
    if acknowledged.jobs.iter().any(|saved| saved.job["id"] == "queued")
        && let Some((client, _)) = &traced.connection
        && let Ok(mut events) = client.events(Some(0)).await
    {
        let fired = |data: &Value| data["status"] == "ok" && data["jobId"] == "queued";
        while let Some(event) = events.next().await {
            if fired(&event.data) {
                break;
            }
        }
    }
    acknowledged
}

/// Verifies the life after a kill: all jobs exist, all runs end, and the database is intact. Returns the number of
/// orphans and the records.
async fn verify_recovery(
    home: &TestHome,
    server: &MarkServer,
    acknowledged: &Acknowledgements,
    context: &str,
) -> (usize, RunRecords) {
    let orphans = orphans_of(home);
    let engine = home.serve_plain();
    engine.call("cron.pause", json!({})).await;
    let open_runs = json!({ "states": ["queued", "running"], "limit": 1 });
    engine
        .wait_until(async |engine| {
            let open_runs = engine.call("runs.list", open_runs.clone()).await;
            open_runs["runs"].as_array().is_some_and(Vec::is_empty).then_some(())
        })
        .await;
    let jobs = engine.call("cron.list", json!({ "includeDisabled": true, "limit": 500 })).await;
    let jobs = jobs["jobs"].as_array().expect("jobs");
    let listed = |AcknowledgedJob { job, .. }: &AcknowledgedJob| {
        limits::is_deleted_after_run(job) || jobs.iter().any(|view| view["job"]["id"] == job["id"])
    };
    assert!(
        acknowledged.jobs.iter().all(listed),
        "{context}: not all of {:?} are listed",
        acknowledged.jobs
    );
    assert_eq!(orphans::surviving(&orphans), Vec::<&Orphan>::new(), "{context}: surviving orphans");
    assert!(engine.stop().success(), "{context}");
    let left = orphans_of(home);
    assert_eq!(
        orphans::surviving(&left),
        Vec::<&Orphan>::new(),
        "{context}: surviving orphans of the last life"
    );
    let records = RunRecords::of(home, server, context).await;
    records.check(acknowledged).unwrap_or_else(|error| panic!("{context}: {error}"));
    (orphans.len(), records)
}

/// The maximum number of lives until a kill happens before a given call.
const MAX_LIVES: usize = 30;

/// Starts lives until one is killed before its call. The number of calls varies, so a life may end before that call;
/// the long form then starts another.
async fn repeat_until_killed(mut life: impl AsyncFnMut() -> bool) -> bool {
    for _ in 0..if is_long() { MAX_LIVES } else { 1 } {
        if life().await {
            return true;
        }
    }
    false
}

/// The kill points among `all` calls. The short form takes every n-th, offset by the seed. The long form takes each,
/// or `--count` of them from `--from` on.
fn kill_points(all: u32) -> Vec<u32> {
    if is_long() {
        return (first_number()..=all).take(count_or(1)).collect();
    }
    let stride = all / u32::try_from(count_or(10)).expect("few");
    let first = 1 + u32::try_from(first_seed()).expect("small") * 7 % stride;
    (first..=all).step_by(usize::try_from(stride).expect("small")).collect()
}

fn assert_coverage(kills: u32, calls: u32) {
    assert!(
        is_sufficient(kills, calls, is_long()),
        "a life was killed before {kills} of {calls} calls: nothing is shown of the others"
    );
}

/// Whether enough kills happened: all in the long form, nine of ten in the short form.
const fn is_sufficient(kills: u32, calls: u32, is_long: bool) -> bool {
    let least = if is_long { calls } else { (calls * 9).div_ceil(10) };
    calls > 0 && kills >= least
}

#[test]
fn proof_without_kills_is_rejected() {
    for is_long in [true, false] {
        assert!(!is_sufficient(0, 0, is_long) && is_sufficient(20, 20, is_long));
        assert_eq!(is_sufficient(18, 20, is_long), !is_long);
        assert!(!is_sufficient(17, 20, is_long));
    }
}

#[tokio::test]
async fn kill_before_any_file_change_loses_nothing() {
    orphans::become_subreaper();
    let server = MarkServer::start();
    let full_home = server.home();
    let traced = TracedEngine::start(&full_home, KillPoint::None);
    play_scenario(&traced, &server, &full_home).await;
    let TracedExit { is_killed, calls: all } = traced.stop();
    assert!(!is_killed);
    assert!(all > 50, "only {all} calls were counted");

    let (mut kills, mut calls, mut orphans) = (0, 0, 0);
    for at in kill_points(all) {
        let killed = repeat_until_killed(async || {
            let server = MarkServer::start();
            let home = server.home();
            let traced = TracedEngine::start(&home, KillPoint::Call(at));
            let acknowledged = play_scenario(&traced, &server, &home).await;
            let TracedExit { is_killed, calls: made } = traced.stop();
            assert!(
                is_killed == (made >= at),
                "call {at} of {all}: {made} were made, killed: {is_killed}"
            );
            let context = format!("killed before call {at} of {all}");
            orphans += verify_recovery(&home, &server, &acknowledged, &context).await.0;
            is_killed
        });
        (kills, calls) = (kills + u32::from(killed.await), calls + 1);
    }
    println!("{kills} kills in a scenario of {all} calls, which left {orphans} processes");
    assert_coverage(kills, calls);
}

/// 200 jobs of all kinds and policies under repeated kills. The interrupted run depends on the speed of the machine,
/// so only `cargo xtask torture load` runs this test.
#[tokio::test]
async fn random_kills_under_load_lose_nothing() {
    if !is_long() {
        return;
    }
    orphans::become_subreaper();
    let server = MarkServer::start();
    let home = server.home();
    let mut dice = Dice::new(first_seed());
    let engine = home.serve().await;
    let (mut acknowledged, secrets) = add_load(&engine, &server).await;
    engine.kill();
    let (mut kills, mut lives, mut orphans) = (0, 0, 0);
    for life in 0..count_or(4) {
        let at = u32::try_from(dice.between(20, 4_000)).expect("small");
        let before = orphans_of(&home);
        orphans += before.len();
        let traced = TracedEngine::start(&home, KillPoint::Call(at));
        let got_ready = traced.connection.is_some();
        for number in 0..4 {
            let (id, secret) = dice.pick(&secrets);
            traced.call_webhook(id, secret, &format!("{life}-{number}"), &mut acknowledged).await;
            let manual = jobs::name(dice.below(LOAD / 10) * 10 + 1);
            traced.start_run(&manual, &mut acknowledged).await;
        }
        (kills, lives) = (kills + u32::from(traced.process.end().is_killed), lives + 1);
        let remaining = if got_ready { orphans::surviving(&before) } else { Vec::new() };
        assert_eq!(remaining, Vec::<&Orphan>::new(), "killed before call {at}: of {before:?}");
    }
    play_last_life(&home, &secrets, &mut acknowledged).await;
    let context = format!("ROUSE_SEED={}, {kills} kills", first_seed());
    let (last, records) = verify_recovery(&home, &server, &acknowledged, &context).await;
    orphans += last;
    println!("{kills} kills under the load of {LOAD} jobs, which left {orphans} processes");
    println!("{}", records.describe());
    assert_eq!(kills, lives, "every life under load must be killed");
    // A guard ends most commands with the engine.
    assert!(orphans > 0, "no life left an orphan");
    assert_eq!(
        records.missing_kinds(&acknowledged),
        Vec::<&str>::new(),
        "kinds without an occurrence"
    );
}

/// A last life that is long enough for a webhook call, a manual run, every instant and a time limit. It is killed
/// too.
async fn play_last_life(
    home: &TestHome,
    secrets: &[(String, String)],
    acknowledged: &mut Acknowledgements,
) {
    let traced = TracedEngine::start(home, KillPoint::None);
    for (id, secret) in secrets {
        traced.call_webhook(id, secret, "last", acknowledged).await;
    }
    traced.start_run(&jobs::name(1), acknowledged).await;
    let called = json!({ "jobId": jobs::name(jobs::CALLED), "states": ["succeeded"], "limit": 1 });
    for awaited in [called, json!({ "states": ["timedOut"], "limit": 1 })] {
        traced
            .wait_until(async |traced| {
                let found = traced.call("runs.list", awaited.clone()).await.expect("an engine");
                !found["runs"].as_array().expect("runs").is_empty()
            })
            .await;
    }
    traced
        .wait_until(async |traced| {
            let all = json!({ "includeDisabled": true, "limit": 500 });
            let jobs = traced.call("cron.list", all).await.expect("an engine");
            let is_waiting = |view: &Value| {
                let job = &view["job"];
                job["schedule"]["kind"] == "at" && job["state"]["nextRunAtMs"].is_i64()
            };
            !jobs["jobs"].as_array().expect("jobs").iter().any(is_waiting)
        })
        .await;
    traced.process.signal(Signal::SIGKILL);
    traced.process.end();
}

/// Adds the load job with this number. Retries with a later time if the time passed before the save.
async fn add_load_job(
    number: usize,
    engine: &EngineProcess<'_>,
    server: &MarkServer,
) -> (String, Value) {
    for _ in 0..10 {
        let status = engine.call("system.status", json!({})).await;
        let now = status["nowMs"].as_i64().expect("a time");
        let soon = now + 60_000;
        let job = load_job(number, server, engine.home, soon);
        match engine.try_add_job(job.clone()).await {
            Ok(id) => return (id, job),
            Err(refused) if format!("{refused:?}").contains("has passed") => {}
            Err(refused) => panic!("{job}: {refused:?}"),
        }
    }
    panic!("the engine takes too long per job")
}

/// Adds the load jobs and returns the acknowledgements and the webhook secrets.
async fn add_load(
    engine: &EngineProcess<'_>,
    server: &MarkServer,
) -> (Acknowledgements, Vec<(String, String)>) {
    let (mut acknowledged, mut secrets) = (Acknowledgements::default(), Vec::new());
    // Followers exist before their predecessors run.
    let is_follower = |number: &usize| number % 10 == 3;
    let numbers =
        (0..LOAD).filter(is_follower).chain((0..LOAD).filter(|number| !is_follower(number)));
    for number in numbers {
        let (id, job) = add_load_job(number, engine, server).await;
        if number % 10 == 4 {
            let webhook = engine.call("cron.webhook", json!({ "id": id, "rotate": true })).await;
            let secret = webhook["secret"].as_str().expect("a secret").to_owned();
            secrets.push((id.clone(), secret));
        }
        acknowledged.jobs.push(AcknowledgedJob::now(job));
    }
    (acknowledged, secrets)
}
