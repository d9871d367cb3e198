//! The jobs that are killed in the middle of their work, and where they leave their marks.
//!
//! A call asks a server of this test, a command writes its run into a file, a reminder becomes a line for the main
//! session: what a job did is on record where no kill of the engine reaches.

use std::collections::HashMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::engine::Home;

/// How often each path was asked for.
type Marks = Arc<Mutex<HashMap<String, usize>>>;

/// What the server answers to a job whose name begins with this: that it has trouble.
const FAILS: &str = "fails";

/// A server that remembers what was asked.
pub(super) struct MarkServer {
    address: String,
    marks: Marks,
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
        Self { address, marks }
    }

    /// How often job `id` asked.
    pub(super) fn count(&self, id: &str) -> usize {
        self.marks.lock().expect("whole").get(id).copied().unwrap_or(0)
    }

    /// A home whose jobs may ask this server.
    pub(super) fn home(&self) -> Home {
        let address = &self.address;
        let text = format!(
            "[cron]\nmaxConcurrentRuns = 12\n[tools]\nallowPrivateHosts = [\"{address}\"]\n"
        );
        Home::new().config(&text)
    }

    /// Asks the server once.
    pub(super) fn call(&self, id: &str) -> Value {
        let url = format!("http://{}/{id}", self.address);
        json!({ "kind": "toolCall", "tool": "http", "arguments": { "url": url }, "notifyWhen": "failure" })
    }
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

/// The name of the job with this number in a load.
pub(super) fn name(number: usize) -> String {
    // Those that ask the server and are told of its trouble, so that they try again.
    let fails = number.is_multiple_of(21);
    if fails { format!("{FAILS}-{number}") } else { format!("job-{number}") }
}

/// One of a load of jobs of all kinds, payloads and policies. `soon` is an instant when all of them are there.
pub(super) fn of_load(number: usize, server: &MarkServer, home: &Home, soon: i64) -> Value {
    let id = name(number);
    let (place, step) = (number / 10, i64::try_from(number).expect("few"));
    let schedule = match number % 10 {
        0 => json!({ "kind": "cron", "expr": "*/2 * * * * *", "tz": "Europe/Berlin" }),
        1 => json!({ "kind": "manual" }),
        2 => json!({ "kind": "at", "atMs": soon + step * 20 }),
        // After one that is run by hand, or after one that comes all the time.
        3 if place % 2 == 0 => after(&name(number - 2)),
        3 => after(&name(number + 3)),
        4 => json!({ "kind": "webhook" }),
        5 => json!({ "kind": "every", "everyMs": 2_000, "anchorMs": soon, "jitterMs": 1_500 }),
        _ => json!({ "kind": "every", "everyMs": 1_000 + number % 7 * 500 }),
    };
    let payload = match (number % 3, place % 4) {
        (0, _) => server.call(&id),
        (1, 0) => command(home, "sleep 0.3"),
        // One that does not end by itself, and one that leaves somebody behind who has left its group.
        (1, 1) => command(home, "sleep 60"),
        (1, 2) => command(home, "setsid sleep 60 & sleep 0.1"),
        (1, _) => command(home, "exit 3"),
        (_, 0 | 1) => reminder(&id),
        _ => server.call(&id),
    };
    // Of each kind some jobs have each of them.
    let overlap = ["skip", "queue", "parallel", "cancelOther"][(place + number) % 4];
    let misfire = ["runOnce", "runAll", "skip"][place % 3];
    let mut policies = json!({ "overlap": overlap, "misfire": { "mode": misfire } });
    if number % 3 == 1 {
        policies["timeoutSeconds"] = json!(1);
    }
    if place % 5 == 4 {
        policies["cooldownSeconds"] = json!(2);
    }
    let runtime = json!({ "maxAttempts": 3, "retryBackoffMs": 100 });
    job(&id, schedule, payload, json!({ "policies": policies, "runtime": runtime }))
}
