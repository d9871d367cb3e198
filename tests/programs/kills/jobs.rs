//! The jobs of the kill tests and their records.
//!
//! A call asks a server of this test, a command writes its run into a file, a reminder becomes a system event, and an
//! agent writes a line of memory. No kill of the engine reaches these records.

use std::collections::HashMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use rouse_testkit::fake_model::{FakeModel, Recorded, Reply, sse};
use rouse_tests::model_settings;
use serde_json::{Value, json};

use crate::engine::TestHome;

/// The number of requests by path.
type Marks = Arc<Mutex<HashMap<String, usize>>>;

/// The server answers 503 to jobs with this name prefix.
const FAILS: &str = "fails";

/// The summary of an agent whose line is written.
pub(super) const ALL_DONE: &str = "All done.";

/// A server that counts requests, and a model.
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
        let counts = Arc::clone(&marks);
        // The thread ends with the process.
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let counts = Arc::clone(&counts);
                thread::spawn(move || {
                    let mut bytes = [0; 4_096];
                    let length = stream.read(&mut bytes).unwrap_or(0);
                    let text = String::from_utf8_lossy(&bytes[..length]);
                    let Some(path) = text.split(' ').nth(1) else { return };
                    let name = path.trim_start_matches('/').to_owned();
                    let status = if name.starts_with(FAILS) { "503 Busy" } else { "200 OK" };
                    *counts.lock().expect("whole").entry(name).or_default() += 1;
                    let answer = format!(
                        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
                    );
                    drop(stream.write_all(answer.as_bytes()));
                });
            }
        });
        Self { address, marks, model: FakeModel::start(note_model) }
    }

    /// The number of requests by job.
    pub(super) fn counts(&self) -> HashMap<String, usize> {
        self.marks.lock().expect("whole").clone()
    }

    /// A home with access to this server.
    pub(super) fn home(&self) -> TestHome {
        let address = &self.address;
        let text = format!(
            "[cron]\nmaxConcurrentRuns = 12\n[tools]\nallowPrivateHosts = [\"{address}\"]\n"
        );
        TestHome::new().config(&format!("{text}{}", model_settings(&self.model)))
    }

    /// The payload of a request to this server.
    pub(super) fn call(&self, id: &str) -> Value {
        let url = format!("http://{}/{id}", self.address);
        json!({ "kind": "toolCall", "tool": "http", "arguments": { "url": url }, "notifyWhen": "failure" })
    }
}

/// A model that writes a line into the memory of the job and reports the result.
fn note_model(request: &Recorded) -> Reply {
    let body = request.json();
    let messages = body["messages"].as_array().expect("messages");
    let task = messages.iter().rposition(|message| message["role"] == "user").expect("a task");
    let text = messages[task]["content"].to_string();
    let of_job = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let result = messages[task..].iter().rfind(|message| message["role"] == "tool");
    match result.map(|result| result["content"].to_string()) {
        None => {
            let (_, name) = text.split_once(TASK_PREFIX).expect("a job's task");
            let name = name.split(|letter| !of_job(letter)).next().unwrap_or_default();
            let path = format!("memory/{name}.md");
            let line = json!({ "path": path, "content": "one line\n", "append": true });
            Reply::events(sse::chat_calls("call_1", "memory_write", &line))
        }
        Some(result) if result.contains("New file") || result.contains("Added to") => {
            Reply::events(sse::chat_says(ALL_DONE))
        }
        Some(result) => Reply::events(sse::chat_says(&format!("Unexpected result: {result}"))),
    }
}

/// The prefix of the job name in the task of an agent.
const TASK_PREFIX: &str = "Keep a line for ";

/// An agent that writes a line for the job.
fn agent(id: &str) -> Value {
    json!({ "kind": "agentTurn", "message": format!("{TASK_PREFIX}{id}") })
}

/// The number of memory lines by job.
pub(super) fn notes(home: &TestHome) -> HashMap<String, usize> {
    let Ok(folder) = fs::read_dir(home.data().join("workspace/memory")) else {
        return HashMap::new();
    };
    let files = folder.map(|file| file.expect("a file").path());
    let of_jobs = files.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let lines = |path: &Path| fs::read_to_string(path).expect("text").lines().count();
    let name = |path: &Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
    of_jobs.map(|path| (name(&path), lines(&path))).collect()
}

/// The file in which commands record their runs.
pub(super) fn ledger(home: &TestHome) -> PathBuf {
    home.sibling("ledger")
}

/// The runs of the marks in the ledger, `<instance>:<run>:<call>`.
pub(super) fn ledger_runs(ledger: &Path) -> Vec<String> {
    let text = fs::read_to_string(ledger).unwrap_or_default();
    let run_of = |line: &str| line.split(':').nth(1).unwrap_or(line).to_owned();
    text.lines().map(run_of).collect()
}

/// Writes the mark and runs `work`.
pub(super) fn command(home: &TestHome, work: &str) -> Value {
    let line = format!("echo \"$ROUSE_RUN\" >> '{}'; {work}", ledger(home).display());
    json!({ "kind": "toolCall", "tool": "run_command", "arguments": { "command": line }, "notifyWhen": "failure" })
}

/// A system event with the job id as the text.
pub(super) fn reminder(id: &str) -> Value {
    json!({ "kind": "systemEvent", "text": id })
}

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

/// Fires after the other job succeeds.
pub(super) fn after(id: &str) -> Value {
    json!({ "kind": "event", "source": "job", "filters": { "jobId": id, "status": "ok" } })
}

/// The load job with two parallel runs.
const CROWD: usize = 8;
/// The webhook job without a lateness limit.
pub(super) const CALLED: usize = 14;

/// The name of the load job with this number.
pub(super) fn name(number: usize) -> String {
    // Jobs that get an error from the server and retry.
    let fails = number.is_multiple_of(21);
    if fails { format!("{FAILS}-{number}") } else { format!("job-{number}") }
}

/// A load job. The number determines kind, payload and policies. `soon` is an instant shortly after the save.
pub(super) fn load_job(number: usize, server: &MarkServer, home: &TestHome, soon: i64) -> Value {
    let id = name(number);
    let (group, step) = (number / 10, i64::try_from(number).expect("few"));
    // Some jobs run longer than the interval, some catch up a single slot of many.
    let (is_crowd, is_stampede) = (number == CROWD, number % 10 == 9 && group % 5 == 0);
    let schedule = match number % 10 {
        0 => json!({ "kind": "cron", "expr": "*/2 * * * * *", "tz": "Europe/Berlin" }),
        1 => json!({ "kind": "manual" }),
        2 => json!({ "kind": "at", "atMs": soon + step * 20 }),
        // After a manual or a frequent job.
        3 if group % 2 == 0 => after(&name(number - 2)),
        3 => after(&name(number + 3)),
        4 => json!({ "kind": "webhook" }),
        5 => json!({ "kind": "every", "everyMs": 2_000, "anchorMs": soon, "jitterMs": 1_500 }),
        _ if is_crowd || is_stampede => json!({ "kind": "every", "everyMs": 1_000 }),
        _ => json!({ "kind": "every", "everyMs": 1_000 + number % 7 * 500 }),
    };
    let payload = match (number % 3, group % 4) {
        _ if is_crowd => command(home, "sleep 5"),
        (0, _) => server.call(&id),
        (1, 0) => command(home, "sleep 0.3"),
        // One command never ends, one leaves a process outside the group.
        (1, 1) => command(home, "sleep 60"),
        (1, 2) => command(home, "setsid sleep 60 & sleep 0.1"),
        (1, _) => command(home, "exit 3"),
        (_, 0 | 1) => reminder(&id),
        (_, 2) => agent(&id),
        _ => server.call(&id),
    };
    // Each combination has several jobs.
    let overlap = ["skip", "queue", "parallel", "cancelOther"][(group + number) % 4];
    let misfire = ["runOnce", "runAll", "skip"][group % 3];
    let mut policies = json!({ "overlap": overlap, "misfire": { "mode": misfire } });
    match misfire {
        "runAll" => policies["misfire"]["limit"] = json!(1 + number % 3),
        "runOnce" if group % 2 == 0 => policies["misfire"]["maxLatenessSeconds"] = json!(1),
        _ => {}
    }
    if overlap == "parallel" {
        policies["maxConcurrent"] = json!(1 + group % 3);
    }
    if group % 4 == 3 {
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
    if group % 5 == 4 {
        policies["cooldownSeconds"] = json!(2);
    }
    let runtime = json!({ "maxAttempts": 3, "retryBackoffMs": 100 });
    let is_deleted_after_run = number % 10 == 2 && group % 2 == 0;
    let more =
        json!({ "policies": policies, "runtime": runtime, "deleteAfterRun": is_deleted_after_run });
    job(&id, schedule, payload, more)
}
