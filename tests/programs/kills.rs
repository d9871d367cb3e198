//! `kill -9` before any call that changes a file: no slot is lost, none starts twice, nobody is left behind.
//!
//! The real `rouse serve` runs with a small library that counts its writes, syncs, renames and removals and kills it
//! before the n-th. The jobs ask a server of this test, so that what they did is on record where no kill reaches. What
//! the next life says is compared with that record and with the arithmetic of the schedules.

#![cfg(target_os = "linux")]
#![expect(clippy::print_stdout, reason = "whoever runs the long form reads how far it went")]

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use rouse_gateway::Client;
use rouse_testkit::Dice;
use rouse_testkit::dice::{count_or, first_seed, is_long};
use serde_json::{Value, json};

use crate::engine::{Engine, Home};

/// How often each path was asked for.
type Marks = Arc<Mutex<HashMap<String, usize>>>;

/// A server that answers everything and remembers what was asked.
struct MarkServer {
    address: String,
    marks: Marks,
}

impl MarkServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let marks = Marks::default();
        let known = Arc::clone(&marks);
        // It ends with the process; nothing waits for it.
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let known = Arc::clone(&known);
                thread::spawn(move || {
                    let mut bytes = [0; 4_096];
                    let length = stream.read(&mut bytes).unwrap_or(0);
                    let text = String::from_utf8_lossy(&bytes[..length]);
                    let Some(path) = text.split(' ').nth(1) else { return };
                    *known.lock().expect("whole").entry(path.to_owned()).or_default() += 1;
                    let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
                    drop(stream.write_all(answer.as_bytes()));
                });
            }
        });
        Self { address, marks }
    }

    fn count(&self, name: &str) -> usize {
        self.marks.lock().expect("whole").get(&format!("/{name}")).copied().unwrap_or(0)
    }

    fn home(&self) -> Home {
        Home::new().config(&format!("[tools]\nallowPrivateHosts = [\"{}\"]\n", self.address))
    }

    fn job(&self, name: &str, schedule: Value, more: Value) -> Value {
        let mut job = json!({
            "id": name,
            "name": name,
            "schedule": schedule,
            "payload": {
                "kind": "toolCall",
                "tool": "http",
                "arguments": { "url": format!("http://{}/{name}", self.address) },
                "notifyWhen": "failure",
            },
        });
        let more = more.as_object().expect("an object").clone();
        job.as_object_mut().expect("an object").extend(more);
        job
    }
}

/// The library that kills, built once.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder =
            tempfile::Builder::new().prefix("rouse-kill-").tempdir().expect("a folder").keep();
        let (library, source) = (folder.join("kill_at.so"), folder.join("kill_at.c"));
        fs::write(&source, include_str!("kill_at.c")).expect("a file");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &source])
            .arg("-ldl")
            .status();
        assert!(built.expect("cc starts").success(), "the library that kills was not built");
        library
    })
}

/// An engine that dies before its n-th call; none when it died before it was ready.
struct Doomed {
    process: Child,
    client: Option<Client>,
}

impl Doomed {
    fn start(home: &Home, at: u32) -> Self {
        fs::write(home.beside("calls"), [0; 4]).expect("a file");
        let mut process = home
            .command(["serve", "--port", "0", "--ready-json"])
            .env("LD_PRELOAD", library())
            .env("KILL_AT", at.to_string())
            .env("KILL_COUNT", home.beside("calls"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("rouse starts");
        let mut line = String::new();
        let mut out = BufReader::new(process.stdout.take().expect("a pipe"));
        drop(out.read_line(&mut line));
        let client = (!line.is_empty()).then(|| Client::find(&home.data()).ok()).flatten();
        Self { process, client }
    }

    async fn call(&self, method: &str, params: Value) -> Option<Value> {
        self.client.as_ref()?.call(method, params).await.ok()
    }

    /// Waits until it is dead; true when it was killed.
    fn is_killed(&mut self) -> bool {
        let status = self.process.wait().expect("it ends");
        status.signal() == Some(9)
    }

    fn stop(&self) {
        let pid = self.process.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().expect("kill");
    }
}

fn calls(home: &Home) -> u32 {
    let bytes = fs::read(home.beside("calls")).expect("a file");
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

/// Everything a person does in a minute, and a few slots. Answers the ids that were said to be saved.
async fn scenario(doomed: &Doomed, server: &MarkServer) -> Vec<String> {
    let mut saved = Vec::new();
    let every = json!({ "kind": "every", "everyMs": 1_000 });
    let manual = json!({ "kind": "manual" });
    let queue = json!({ "policies": { "overlap": "queue", "misfire": { "mode": "runAll" } } });
    for job in [
        server.job("each-second", every.clone(), json!({})),
        server.job("queued", every.clone(), queue),
        server.job("by-hand", manual, json!({})),
    ] {
        let id = job["id"].as_str().expect("an id").to_owned();
        if doomed.call("cron.add", job).await.is_some() {
            saved.push(id);
        }
    }
    drop(doomed.call("cron.run", json!({ "id": "by-hand", "mode": "force" })).await);
    drop(
        doomed.call("cron.update", json!({ "id": "queued", "patch": { "name": "Renamed" } })).await,
    );
    drop(doomed.call("cron.add", server.job("gone", every, json!({}))).await);
    drop(doomed.call("cron.remove", json!({ "id": "gone" })).await);
    // Until a slot has fired, if there is a job that can.
    if saved.iter().any(|id| id == "queued")
        && let Some(client) = &doomed.client
        && let Ok(mut events) = client.events(Some(0)).await
    {
        let fired = |data: &Value| data["status"] == "ok" && data["jobId"] == "queued";
        while let Some(event) = events.next().await {
            if fired(&event.data) {
                break;
            }
        }
    }
    saved
}

/// A job and all of its runs, as they were at one moment.
async fn books(engine: &Engine<'_>, id: &str) -> (Value, Vec<Value>) {
    let job = async || engine.call("cron.get", json!({ "id": id })).await["job"].clone();
    loop {
        let (before, mut runs, mut cursor) = (job().await, Vec::new(), Value::Null);
        loop {
            let query = json!({ "jobId": id, "limit": 500, "cursor": cursor });
            let mut page = engine.call("runs.list", query).await;
            runs.extend(page["runs"].as_array().cloned().unwrap_or_default());
            cursor = page["nextCursor"].take();
            if cursor.is_null() {
                break;
            }
        }
        if job().await["state"]["nextRunAtMs"] == before["state"]["nextRunAtMs"] {
            return (before, runs);
        }
    }
}

/// What the next life says about a job, against what it did and what its schedule says.
async fn compare(engine: &Engine<'_>, server: &MarkServer, id: &str, place: &str) {
    let (job, runs) = books(engine, id).await;
    let mut slots: Vec<i64> = runs.iter().filter_map(|run| run["slotAtMs"].as_i64()).collect();
    let rows = slots.len();
    slots.sort_unstable();
    slots.dedup();
    assert_eq!(slots.len(), rows, "{place}: a slot of {id} has two rows");
    if let Some(every) = job["schedule"]["everyMs"].as_i64() {
        let anchor = job["schedule"]["anchorMs"].as_i64().expect("an anchor");
        let next = job["state"]["nextRunAtMs"].as_i64().expect("an interval goes on");
        let passed = (next - anchor) / every - 1;
        let of_slots = runs.iter().filter(|run| run["slotAtMs"].is_i64());
        let stand_for: i64 = of_slots.map(|run| run["standsFor"].as_i64().unwrap_or(1)).sum();
        assert_eq!(stand_for, passed, "{place}: slots of {id} and the rows for them: {runs:#?}");
    }
    let has_state =
        |run: &&Value, states: &[&str]| states.contains(&run["state"].as_str().unwrap_or_default());
    let quiet = ["skipped", "missed", "queued"];
    let started = runs.iter().filter(|run| !has_state(run, &quiet)).count();
    let worked =
        runs.iter().filter(|run| has_state(run, &["succeeded", "nothingToReport"])).count();
    let marks = server.count(id);
    assert!(
        (worked..=started).contains(&marks),
        "{place}: {id} asked {marks} times, {worked} runs worked, {started} started: {runs:#?}"
    );
}

/// The life after a kill: everything is there, everything comes to an end, and the file is whole.
async fn judge(home: &Home, server: &MarkServer, saved: &[String], place: &str) {
    assert_eq!(left_behind(home), Vec::<String>::new(), "{place}");
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
    let ids: Vec<String> = jobs["jobs"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|view| Some(view["job"]["id"].as_str()?.to_owned()))
        .collect();
    for id in saved {
        assert!(ids.contains(id), "{place}: {id} was saved and is gone: {ids:?}");
        compare(&engine, server, id, place).await;
    }
    assert!(engine.stop().success(), "{place}");
    assert_eq!(integrity(home).await, "ok", "{place}");
}

async fn integrity(home: &Home) -> String {
    let url = format!("sqlite:{}?mode=ro", home.data().join("rouse.db").display());
    let file = sqlx::SqlitePool::connect(&url).await.expect("opened");
    sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&file).await.expect("an answer")
}

/// Processes that still belong to this home.
fn left_behind(home: &Home) -> Vec<String> {
    let sign = format!("ROUSE_HOME={}", home.data().display());
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let belongs = |path: &Path| {
        let env = fs::read(path.join("environ")).unwrap_or_default();
        env.split(|byte| *byte == 0).any(|entry| entry == sign.as_bytes())
    };
    processes
        .map(|entry| entry.path())
        .filter(|path| belongs(path))
        .map(|path| path.display().to_string())
        .collect()
}

#[tokio::test]
async fn a_kill_before_any_change_of_a_file_loses_nothing() {
    let server = MarkServer::start();
    let whole = server.home();
    let mut doomed = Doomed::start(&whole, 0);
    scenario(&doomed, &server).await;
    doomed.stop();
    assert!(!doomed.is_killed());
    let all = calls(&whole);
    assert!(all > 50, "only {all} calls were counted");

    // Every so many-th call in the short form, beginning elsewhere with every seed; every call in the long one.
    let stride = if is_long() { 1 } else { all / u32::try_from(count_or(10)).expect("few") };
    let mut at = 1 + u32::try_from(first_seed()).expect("small") * 7 % stride;
    let mut kills = 0;
    while at <= all {
        let server = MarkServer::start();
        let home = server.home();
        let mut doomed = Doomed::start(&home, at);
        let saved = scenario(&doomed, &server).await;
        doomed.stop();
        kills += u32::from(doomed.is_killed());
        judge(&home, &server, &saved, &format!("killed before call {at} of {all}")).await;
        at += stride;
    }
    println!("{kills} kills in a scenario of {all} calls");
}

/// Two hundred jobs of all kinds and policies, killed again and again in the middle of it.
#[tokio::test]
async fn kills_at_random_under_load_lose_nothing() {
    let server = MarkServer::start();
    let home = server.home();
    let mut dice = Dice::new(first_seed());
    let engine = home.serve().await;
    let saved = load(&engine, &server).await;
    engine.kill();
    let mut kills = 0;
    for _ in 0..count_or(4) {
        let at = u32::try_from(dice.between(20, 1_500)).expect("small");
        let mut doomed = Doomed::start(&home, at);
        kills += u32::from(doomed.is_killed());
        assert_eq!(left_behind(&home), Vec::<String>::new(), "killed before call {at}");
    }
    judge(&home, &server, &saved, &format!("ROUSE_SEED={}, {kills} kills", first_seed())).await;
    println!("{kills} kills under the load of {} jobs", saved.len());
}

async fn load(engine: &Engine<'_>, server: &MarkServer) -> Vec<String> {
    let mut saved = Vec::new();
    for number in 0..200 {
        let overlap = ["skip", "queue", "parallel", "cancelOther"][number % 4];
        let misfire = ["runOnce", "runAll", "skip"][number % 3];
        let schedule = match number % 10 {
            0 => json!({ "kind": "cron", "expr": "*/2 * * * * *", "tz": "Europe/Berlin" }),
            1 => json!({ "kind": "manual" }),
            _ => json!({ "kind": "every", "everyMs": 1_000 + number % 7 * 500 }),
        };
        let policies = json!({ "overlap": overlap, "misfire": { "mode": misfire } });
        let job = server.job(&format!("job-{number}"), schedule, json!({ "policies": policies }));
        saved.push(engine.add(job).await);
    }
    saved
}
