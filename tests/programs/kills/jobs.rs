//! The jobs that are killed in the middle of their work, and where they leave their marks.
//!
//! A call asks a server of this test, a command writes its run into a file, a reminder becomes a line for the main
//! session, an agent keeps a line in the memory of its job: what a job did is on record where no kill of the engine reaches.

use std::collections::HashMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use rouse_testkit::fake_model::{FakeModel, Recorded, Reply, sse};
use serde_json::{Value, json};

use crate::asks::settings_of;
use crate::engine::Home;

/// How often each path was asked for.
type Marks = Arc<Mutex<HashMap<String, usize>>>;

/// What the server answers to a job whose name begins with this: that it has trouble.
const FAILS: &str = "fails";

/// What an agent says when it was told that its line is kept.
pub(super) const ALL_DONE: &str = "All done.";

/// A server that remembers what was asked, and a model.
pub(super) struct MarkServer {
    address: String,
    marks: Marks,
    model: FakeModel,
}

impl MarkServer {
    pub(super) fn start() -> Self {
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
                    let name = path.trim_start_matches('/').to_owned();
                    let status = if name.starts_with(FAILS) { "503 Busy" } else { "200 OK" };
                    *known.lock().expect("whole").entry(name).or_default() += 1;
                    let answer = format!(
                        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
                    );
                    drop(stream.write_all(answer.as_bytes()));
                });
            }
        });
        Self { address, marks, model: FakeModel::start(one_line) }
    }

    /// How often each job asked.
    pub(super) fn counts(&self) -> HashMap<String, usize> {
        self.marks.lock().expect("whole").clone()
    }

    /// A home whose jobs may ask this server.
    pub(super) fn home(&self) -> Home {
        let address = &self.address;
        let text = format!(
            "[cron]\nmaxConcurrentRuns = 12\n[tools]\nallowPrivateHosts = [\"{address}\"]\n"
        );
        Home::new().config(&format!("{text}{}", settings_of(&self.model)))
    }

    /// Asks the server once.
    pub(super) fn call(&self, id: &str) -> Value {
        let url = format!("http://{}/{id}", self.address);
        json!({ "kind": "toolCall", "tool": "http", "arguments": { "url": url }, "notifyWhen": "failure" })
    }
}

/// The model has one line written into the memory of the job that asks it, and says what it was told of that.
fn one_line(request: &Recorded) -> Reply {
    let body = request.json();
    let messages = body["messages"].as_array().expect("messages");
    let task = messages.iter().rposition(|message| message["role"] == "user").expect("a task");
    let words = messages[task]["content"].to_string();
    let of_job = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let told = messages[task..].iter().rfind(|message| message["role"] == "tool");
    match told.map(|told| told["content"].to_string()) {
        None => {
            let (_, name) = words.split_once(ASKS).expect("a job's task");
            let name = name.split(|letter| !of_job(letter)).next().unwrap_or_default();
            let path = format!("memory/{name}.md");
            let line = json!({ "path": path, "content": "one line\n", "append": true });
            Reply::events(sse::chat_calls("call_1", "memory_write", &line))
        }
        Some(told) if told.contains("New file") || told.contains("Added to") => {
            Reply::events(sse::chat_says(ALL_DONE))
        }
        Some(told) => Reply::events(sse::chat_says(&format!("I was told: {told}"))),
    }
}

/// Before the job's name in the task of an agent.
const ASKS: &str = "Keep a line for ";

/// An agent that keeps one line for its job.
fn agent(id: &str) -> Value {
    json!({ "kind": "agentTurn", "message": format!("{ASKS}{id}") })
}

/// How many lines are kept for each job.
pub(super) fn notes(home: &Home) -> HashMap<String, usize> {
    let Ok(folder) = fs::read_dir(home.data().join("workspace/memory")) else {
        return HashMap::new();
    };
    let files = folder.map(|file| file.expect("a file").path());
    let of_jobs = files.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let lines = |path: &Path| fs::read_to_string(path).expect("text").lines().count();
    let name = |path: &Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
    of_jobs.map(|path| (name(&path), lines(&path))).collect()
}

/// Where commands write which run they belong to.
pub(super) fn ledger(home: &Home) -> PathBuf {
    home.beside("ledger")
}

/// The marks in the ledger, `<instance>:<run>:<call>`, as runs.
pub(super) fn runs_in(ledger: &Path) -> Vec<String> {
    let text = fs::read_to_string(ledger).unwrap_or_default();
    let run_of = |line: &str| line.split(':').nth(1).unwrap_or(line).to_owned();
    text.lines().map(run_of).collect()
}

/// Writes its mark, and then does `work`.
pub(super) fn command(home: &Home, work: &str) -> Value {
    let line = format!("echo \"$ROUSE_RUN\" >> '{}'; {work}", ledger(home).display());
    json!({ "kind": "toolCall", "tool": "run_command", "arguments": { "command": line }, "notifyWhen": "failure" })
}

/// A line for the main session that is the job's id.
pub(super) fn reminder(id: &str) -> Value {
    json!({ "kind": "systemEvent", "text": id })
}

/// A job with these parts.
pub(super) fn job(id: &str, schedule: Value, payload: Value, more: Value) -> Value {
    let mut job = json!({
        "id": id,
        "name": id,
        "schedule": schedule,
        "payload": payload,
        "wakeMode": "next-heartbeat",
    });
    let more = more.as_object().expect("an object").clone();
    job.as_object_mut().expect("an object").extend(more);
    job
}

/// What fires when another job has worked.
pub(super) fn after(id: &str) -> Value {
    json!({ "kind": "event", "source": "job", "filters": { "jobId": id, "status": "ok" } })
}

/// The job in a load that has two runs at once whenever there is room.
const CROWD: usize = 8;
/// A webhook whose calls all begin, however late.
pub(super) const CALLED: usize = 14;

/// The name of the job with this number in a load.
pub(super) fn name(number: usize) -> String {
    // Those that ask the server and are told of its trouble, so that they try again.
    let fails = number.is_multiple_of(21);
    if fails { format!("{FAILS}-{number}") } else { format!("job-{number}") }
}

/// One of a load of jobs of all kinds, payloads and policies. `soon` is an instant when it is there.
pub(super) fn of_load(number: usize, server: &MarkServer, home: &Home, soon: i64) -> Value {
    let id = name(number);
    let (place, step) = (number / 10, i64::try_from(number).expect("few"));
    // One whose runs last longer than the time between its slots, and some that make up for one slot of many.
    let (is_crowd, is_stampede) = (number == CROWD, number % 10 == 9 && place % 5 == 0);
    let schedule = match number % 10 {
        0 => json!({ "kind": "cron", "expr": "*/2 * * * * *", "tz": "Europe/Berlin" }),
        1 => json!({ "kind": "manual" }),
        2 => json!({ "kind": "at", "atMs": soon + step * 20 }),
        // After one that is run by hand, or after one that comes all the time.
        3 if place % 2 == 0 => after(&name(number - 2)),
        3 => after(&name(number + 3)),
        4 => json!({ "kind": "webhook" }),
        5 => json!({ "kind": "every", "everyMs": 2_000, "anchorMs": soon, "jitterMs": 1_500 }),
        _ if is_crowd || is_stampede => json!({ "kind": "every", "everyMs": 1_000 }),
        _ => json!({ "kind": "every", "everyMs": 1_000 + number % 7 * 500 }),
    };
    let payload = match (number % 3, place % 4) {
        _ if is_crowd => command(home, "sleep 5"),
        (0, _) => server.call(&id),
        (1, 0) => command(home, "sleep 0.3"),
        // One that does not end by itself, and one that leaves somebody behind who has left its group.
        (1, 1) => command(home, "sleep 60"),
        (1, 2) => command(home, "setsid sleep 60 & sleep 0.1"),
        (1, _) => command(home, "exit 3"),
        (_, 0 | 1) => reminder(&id),
        (_, 2) => agent(&id),
        _ => server.call(&id),
    };
    // Of each kind some jobs have each of them.
    let overlap = ["skip", "queue", "parallel", "cancelOther"][(place + number) % 4];
    let misfire = ["runOnce", "runAll", "skip"][place % 3];
    let mut policies = json!({ "overlap": overlap, "misfire": { "mode": misfire } });
    match misfire {
        "runAll" => policies["misfire"]["limit"] = json!(1 + number % 3),
        "runOnce" if place % 2 == 0 => policies["misfire"]["maxLatenessSeconds"] = json!(1),
        _ => {}
    }
    if overlap == "parallel" {
        policies["maxConcurrent"] = json!(1 + place % 3);
    }
    if place % 4 == 3 {
        policies["pauseAfterFailures"] = json!(2);
    }
    if number % 3 == 1 {
        policies["timeoutSeconds"] = json!(1);
    }
    if is_crowd {
        policies["overlap"] = json!("parallel");
        policies["maxConcurrent"] = json!(2);
        policies["timeoutSeconds"] = json!(60);
    }
    if is_stampede {
        policies["misfire"] = json!({ "mode": "runAll", "limit": 1 });
    }
    if place % 5 == 4 {
        policies["cooldownSeconds"] = json!(2);
    }
    let runtime = json!({ "maxAttempts": 3, "retryBackoffMs": 100 });
    let goes = number % 10 == 2 && place % 2 == 0;
    let more = json!({ "policies": policies, "runtime": runtime, "deleteAfterRun": goes });
    job(&id, schedule, payload, more)
}
