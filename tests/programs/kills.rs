//! `kill -9` before any call that changes a file: no slot is lost, none starts twice, nobody is left behind.
//!
//! The real `rouse serve` runs under a tracer that counts its writes, syncs, renames and removals and kills it before the
//! n-th (`tracer`). What its jobs did is on record where no kill reaches (`jobs`). The commands of a killed life go on
//! until the next one ends them. What the next life says is compared with that record and with the arithmetic of the
//! schedules (`books`), which a test of its own feeds with what they must refuse; who is left behind says the kernel
//! (`orphans`).

#![cfg(target_os = "linux")]
#![expect(clippy::print_stdout, reason = "whoever runs the long form reads how far it went")]

mod tracer;
mod agent;
mod effects;
mod books;
mod limits;
mod jobs;
mod orphans;
mod woken;

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use nix::sys::signal::Signal;
use rouse_core::Clock as _;
use rouse_gateway::{Client, ClientError};
use rouse_host::SystemClock;
use rouse_testkit::Dice;
use rouse_testkit::dice::{count_or, first_number, first_seed, is_long};
use serde_json::{Value, json};

use self::books::Books;
use self::jobs::{MarkServer, after, command, job, of_load, reminder};
use self::orphans::{Orphan, left_behind};
use self::tracer::{Before, Life, Watched};
use crate::engine::{Engine, Home};
use crate::http::Request;

/// The jobs of a load.
const LOAD: usize = 200;

/// A job of which somebody was told that it is saved.
#[derive(Debug)]
struct Promised {
    /// As it was sent.
    job: Value,
    /// When they had been told: every slot after it is one that they count on.
    by_ms: i64,
}

impl Promised {
    fn now(job: Value) -> Self {
        Self { job, by_ms: SystemClock::default().now().0 }
    }
}

/// What somebody was told, and what was asked without an answer.
#[derive(Debug, Default)]
struct Told {
    saved: Vec<Promised>,
    /// Runs that were promised.
    started: Vec<String>,
    /// Calls of webhooks, by job and key: all of them, and those that were taken.
    sent: Vec<(String, String)>,
    taken: Vec<(String, String)>,
}

/// What a call has brought; none when nobody is there to answer. One who lives must not refuse it.
async fn ask(client: &Client, method: &str, params: Value) -> Option<Value> {
    match client.call(method, params).await {
        Ok(answer) => Some(answer),
        Err(ClientError::Rpc(refused)) => panic!("{method}: {refused:?}"),
        Err(_) => None,
    }
}

/// An engine that dies before one of its calls.
struct Doomed {
    process: Watched,
    /// Its client and its address; none when it died before it was ready.
    door: Option<(Client, String)>,
}

impl Doomed {
    fn start(home: &Home, before: Before) -> Self {
        let mut command = home.command(["serve", "--port", "0", "--ready-json"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let (process, out) = Watched::start(command, before);
        let mut line = String::new();
        // Nobody says anything in the place of one that is dead.
        BufReader::new(out).read_line(&mut line).expect("text");
        let ready: Option<Value> = serde_json::from_str(&line).ok();
        let address = ready.and_then(|ready| Some(ready["address"].as_str()?.to_owned()));
        let door = address.and_then(|address| Some((Client::find(&home.data()).ok()?, address)));
        Self { process, door }
    }

    async fn call(&self, method: &str, params: Value) -> Option<Value> {
        ask(&self.door.as_ref()?.0, method, params).await
    }

    async fn add(&self, job: Value, told: &mut Told) {
        if self.call("cron.add", job.clone()).await.is_some() {
            told.saved.push(Promised::now(job));
        }
    }

    async fn run_now(&self, id: &str, told: &mut Told) {
        let answer = self.call("cron.run", json!({ "id": id, "mode": "force" })).await;
        told.started.extend(answer.and_then(|run| Some(run["runId"].as_str()?.to_owned())));
    }

    /// Calls a webhook; a call that got no answer may have been taken.
    async fn call_webhook(&self, id: &str, secret: &str, key: &str, told: &mut Told) {
        let Some((_, address)) = &self.door else { return };
        let call = Request::new(address, "POST", &format!("/hooks/jobs/{id}"))
            .with("Authorization", &format!("Bearer {secret}"))
            .with("Idempotency-Key", key)
            .body("Now");
        let sent = (id.to_owned(), key.to_owned());
        if !told.sent.contains(&sent) {
            told.sent.push(sent.clone());
        }
        let reply = tokio::task::spawn_blocking(move || call.try_send()).await.expect("sent");
        if reply.is_ok_and(|reply| reply.status / 100 == 2) && !told.taken.contains(&sent) {
            told.taken.push(sent);
        }
    }

    /// Asks it to end, if it lives, and waits for that.
    fn stop(self) -> Life {
        self.process.signal(Signal::SIGTERM);
        self.process.end()
    }

    /// Waits until `look` finds what it looks for; looks again at every event.
    async fn until(&self, mut look: impl AsyncFnMut(&Self) -> bool) {
        let (client, _) = self.door.as_ref().expect("it lives");
        let mut events = client.events(Some(0)).await.expect("a stream");
        while !look(self).await {
            events.next().await.expect("the engine goes on");
        }
    }
}

/// Everything a person does in a minute, and a few slots.
async fn scenario(doomed: &Doomed, server: &MarkServer, home: &Home) -> Told {
    let mut told = Told::default();
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
        doomed.add(job, &mut told).await;
    }
    doomed.run_now("by-hand", &mut told).await;
    let webhook = doomed.call("cron.webhook", json!({ "id": "called", "rotate": true })).await;
    if let Some(secret) = webhook.as_ref().and_then(|webhook| webhook["secret"].as_str()) {
        doomed.call_webhook("called", secret, "once", &mut told).await;
        doomed.call_webhook("called", secret, "once", &mut told).await;
    }
    for (method, params) in [
        ("cron.update", json!({ "id": "queued", "patch": { "name": "Renamed" } })),
        ("cron.add", job("gone", every(), server.call("gone"), none())),
        ("cron.remove", json!({ "id": "gone" })),
    ] {
        doomed.call(method, params).await;
    }
    // Until a slot has fired, if there is a job that can.
    if told.saved.iter().any(|saved| saved.job["id"] == "queued")
        && let Some((client, _)) = &doomed.door
        && let Ok(mut events) = client.events(Some(0)).await
    {
        let fired = |data: &Value| data["status"] == "ok" && data["jobId"] == "queued";
        while let Some(event) = events.next().await {
            if fired(&event.data) {
                break;
            }
        }
    }
    told
}

/// The life after a kill: everything is there, everything comes to an end, and the file is whole. Answers how many
/// processes it had to end, and the books.
async fn judge(home: &Home, server: &MarkServer, told: &Told, place: &str) -> (usize, Books) {
    let orphans = left_behind(home);
    let engine = home.serve_as_it_is();
    engine.call("cron.pause", json!({})).await;
    let going = json!({ "states": ["queued", "running"], "limit": 1 });
    engine
        .until(async |engine| {
            let going = engine.call("runs.list", going.clone()).await;
            going["runs"].as_array().is_some_and(Vec::is_empty).then_some(())
        })
        .await;
    let jobs = engine.call("cron.list", json!({ "includeDisabled": true, "limit": 500 })).await;
    let jobs = jobs["jobs"].as_array().expect("jobs");
    let listed = |Promised { job, .. }: &Promised| {
        limits::goes(job) || jobs.iter().any(|view| view["job"]["id"] == job["id"])
    };
    assert!(told.saved.iter().all(listed), "{place}: not all of {:?} are listed", told.saved);
    assert_eq!(orphans::live_on(&orphans), Vec::<&Orphan>::new(), "{place}: they live on");
    assert!(engine.stop().success(), "{place}");
    let left = left_behind(home);
    assert_eq!(orphans::live_on(&left), Vec::<&Orphan>::new(), "{place}: left at its end");
    let books = Books::of(home, server, place).await;
    books.check(told).unwrap_or_else(|why| panic!("{place}: {why}"));
    (orphans.len(), books)
}

/// How many lives are begun, in the long form, until one is killed before a certain call.
const LIVES: usize = 30;

/// Begins a life, which answers whether it was killed before its call. No life makes exactly as many calls as another, so
/// one may be over before that call: the long form begins another then.
async fn until_killed(mut life: impl AsyncFnMut() -> bool) -> bool {
    for _ in 0..if is_long() { LIVES } else { 1 } {
        if life().await {
            return true;
        }
    }
    false
}

/// Before which of `all` calls lives are killed: before every so many-th in the short form, beginning elsewhere with every
/// seed; in the long one before each, or before `--count` of them from `--from` on.
fn to_kill_before(all: u32) -> Vec<u32> {
    if is_long() {
        return (first_number()..=all).take(count_or(1)).collect();
    }
    let stride = all / u32::try_from(count_or(10)).expect("few");
    let first = 1 + u32::try_from(first_seed()).expect("small") * 7 % stride;
    (first..=all).step_by(usize::try_from(stride).expect("small")).collect()
}

fn assert_shown(kills: u32, calls: u32) {
    assert!(
        is_shown(kills, calls, is_long()),
        "a life was killed before {kills} of {calls} calls: nothing is shown of the others"
    );
}

/// Whether something is shown: of every call in the long form, of most that were picked in the short one.
const fn is_shown(kills: u32, calls: u32, is_long: bool) -> bool {
    let least = if is_long { calls } else { (calls * 9).div_ceil(10) };
    calls > 0 && kills >= least
}

#[test]
fn no_kill_shows_nothing() {
    for is_long in [true, false] {
        assert!(!is_shown(0, 0, is_long) && is_shown(20, 20, is_long));
        assert_eq!(is_shown(18, 20, is_long), !is_long);
        assert!(!is_shown(17, 20, is_long));
    }
}

#[tokio::test]
async fn a_kill_before_any_change_of_a_file_loses_nothing() {
    orphans::adopt();
    let server = MarkServer::start();
    let whole = server.home();
    let doomed = Doomed::start(&whole, Before::None);
    scenario(&doomed, &server, &whole).await;
    let Life { is_killed, calls: all } = doomed.stop();
    assert!(!is_killed);
    assert!(all > 50, "only {all} calls were counted");

    let (mut kills, mut calls, mut orphans) = (0, 0, 0);
    for at in to_kill_before(all) {
        let killed = until_killed(async || {
            let server = MarkServer::start();
            let home = server.home();
            let doomed = Doomed::start(&home, Before::Call(at));
            let told = scenario(&doomed, &server, &home).await;
            let Life { is_killed, calls: made } = doomed.stop();
            assert!(
                is_killed == (made >= at),
                "call {at} of {all}: {made} were made, killed: {is_killed}"
            );
            let place = format!("killed before call {at} of {all}");
            orphans += judge(&home, &server, &told, &place).await.0;
            is_killed
        });
        (kills, calls) = (kills + u32::from(killed.await), calls + 1);
    }
    println!("{kills} kills in a scenario of {all} calls, which left {orphans} processes");
    assert_shown(kills, calls);
}

/// Two hundred jobs of all kinds and policies, killed again and again in the middle of it. Which run a kill meets depends
/// on the speed of the machine, so only `cargo xtask torture load` plays it.
#[tokio::test]
async fn kills_at_random_under_load_lose_nothing() {
    if !is_long() {
        return;
    }
    orphans::adopt();
    let server = MarkServer::start();
    let home = server.home();
    let mut dice = Dice::new(first_seed());
    let engine = home.serve().await;
    let (mut told, secrets) = load(&engine, &server).await;
    engine.kill();
    let (mut kills, mut lives, mut orphans) = (0, 0, 0);
    for life in 0..count_or(4) {
        let at = u32::try_from(dice.between(20, 4_000)).expect("small");
        let before = left_behind(&home);
        orphans += before.len();
        let doomed = Doomed::start(&home, Before::Call(at));
        let got_ready = doomed.door.is_some();
        for number in 0..4 {
            let (id, secret) = dice.pick(&secrets);
            doomed.call_webhook(id, secret, &format!("{life}-{number}"), &mut told).await;
            let manual = jobs::name(dice.below(LOAD / 10) * 10 + 1);
            doomed.run_now(&manual, &mut told).await;
        }
        (kills, lives) = (kills + u32::from(doomed.process.end().is_killed), lives + 1);
        let still = if got_ready { orphans::live_on(&before) } else { Vec::new() };
        assert_eq!(still, Vec::<&Orphan>::new(), "killed before call {at}: of {before:?}");
    }
    live_on(&home, &secrets, &mut told).await;
    let place = format!("ROUSE_SEED={}, {kills} kills", first_seed());
    let (last, books) = judge(&home, &server, &told, &place).await;
    orphans += last;
    println!("{kills} kills under the load of {LOAD} jobs, which left {orphans} processes");
    println!("{}", books.in_words());
    assert_eq!(kills, lives, "every life under load makes more calls than it is given");
    // A guard ends most of them with the engine.
    assert!(orphans > 0, "no life left a process behind: nothing is shown of those");
    assert_eq!(books.missing(&told), Vec::<&str>::new(), "nothing is shown of these");
}

/// A life in which all comes that the others were too short for: a call, a run by hand, every instant and a time limit.
/// It ends like the others.
async fn live_on(home: &Home, secrets: &[(String, String)], told: &mut Told) {
    let doomed = Doomed::start(home, Before::None);
    for (id, secret) in secrets {
        doomed.call_webhook(id, secret, "last", told).await;
    }
    doomed.run_now(&jobs::name(1), told).await;
    let called = json!({ "jobId": jobs::name(jobs::CALLED), "states": ["succeeded"], "limit": 1 });
    for awaited in [called, json!({ "states": ["timedOut"], "limit": 1 })] {
        doomed
            .until(async |doomed| {
                let found = doomed.call("runs.list", awaited.clone()).await.expect("an engine");
                !found["runs"].as_array().expect("runs").is_empty()
            })
            .await;
    }
    doomed
        .until(async |doomed| {
            let all = json!({ "includeDisabled": true, "limit": 500 });
            let jobs = doomed.call("cron.list", all).await.expect("an engine");
            let waits = |view: &Value| {
                let job = &view["job"];
                job["schedule"]["kind"] == "at" && job["state"]["nextRunAtMs"].is_i64()
            };
            !jobs["jobs"].as_array().expect("jobs").iter().any(waits)
        })
        .await;
    doomed.process.signal(Signal::SIGKILL);
    doomed.process.end();
}

/// Adds the job with this number; once more where its time has passed before the engine took it, which is at work by now.
async fn added(number: usize, engine: &Engine<'_>, server: &MarkServer) -> (String, Value) {
    for _ in 0..10 {
        let status = engine.call("system.status", json!({})).await;
        let now = status["nowMs"].as_i64().expect("a time");
        let soon = now + 60_000;
        let job = of_load(number, server, engine.home, soon);
        match engine.try_add(job.clone()).await {
            Ok(id) => return (id, job),
            Err(refused) if format!("{refused:?}").contains("has passed") => {}
            Err(refused) => panic!("{job}: {refused:?}"),
        }
    }
    panic!("the engine takes longer for each job than its time is away")
}

/// Adds the jobs; answers the secrets of the webhooks among them.
async fn load(engine: &Engine<'_>, server: &MarkServer) -> (Told, Vec<(String, String)>) {
    let (mut told, mut secrets) = (Told::default(), Vec::new());
    // Who waits for another one is there before that can have worked.
    let waits = |number: &usize| number % 10 == 3;
    let numbers = (0..LOAD).filter(waits).chain((0..LOAD).filter(|number| !waits(number)));
    for number in numbers {
        let (id, job) = added(number, engine, server).await;
        if number % 10 == 4 {
            let webhook = engine.call("cron.webhook", json!({ "id": id, "rotate": true })).await;
            let secret = webhook["secret"].as_str().expect("a secret").to_owned();
            secrets.push((id.clone(), secret));
        }
        told.saved.push(Promised::now(job));
    }
    (told, secrets)
}
