//! Concurrent starts: one owner, and every other start attaches or gives up.

use std::io::Read as _;
use std::process::{Child, Stdio};

use rouse_tests::SERVE;
use serde_json::{Value, json};

use crate::engine::TestHome;

const STARTS: usize = 50;

fn start(home: &TestHome) -> Child {
    home.command(SERVE)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("rouse starts")
}

/// The ready line of a start. None if the start gave up.
fn ready_line(process: &mut Child) -> Option<Value> {
    let mut out = String::new();
    let mut byte = [0];
    let pipe = process.stdout.as_mut().expect("a pipe");
    while pipe.read(&mut byte).expect("text") == 1 && byte[0] != b'\n' {
        out.push(char::from(byte[0]));
    }
    serde_json::from_str(&out).ok()
}

#[tokio::test]
async fn fifty_concurrent_starts_have_one_owner() {
    let home = TestHome::new();
    let mut processes: Vec<Child> = (0..STARTS).map(|_| start(&home)).collect();
    let lines: Vec<Option<Value>> = processes.iter_mut().map(ready_line).collect();
    let is_owner = |line: &Option<Value>| {
        line.as_ref()
            .is_some_and(|line| line["address"].is_string() && line["attachedTo"].is_null())
    };
    let owners: Vec<usize> = (0..STARTS).filter(|n| is_owner(&lines[*n])).collect();
    assert_eq!(owners.len(), 1, "{lines:?}");
    let owner = owners[0];
    let pid = processes[owner].id();
    for line in lines.iter().flatten().filter(|line| !line["attachedTo"].is_null()) {
        assert_eq!(line["attachedTo"], pid, "{line}");
    }
    for (n, process) in processes.iter_mut().enumerate().filter(|(n, _)| *n != owner) {
        let status = process.wait().expect("an exit status");
        assert_eq!(status.success(), lines[n].is_some(), "{:?}", lines[n]);
    }
    let client = rouse_gateway::Client::find(&home.data()).expect("a running owner");
    let status = client.call("system.status", json!({})).await.expect("an answer");
    assert!(status["startedAtMs"].is_i64(), "{status}");
    processes[owner].kill().expect("a live process");
    processes[owner].wait().expect("an exit status");
}

/// The owner is dead, the lock is still held for a moment, and the address does not answer.
#[tokio::test]
async fn start_waits_for_lock_of_dying_owner() {
    let home = TestHome::new();
    home.serve().await.kill();
    let lock =
        std::fs::File::open(home.data().join("owner.lock")).expect("a file of the dead owner");
    lock.try_lock().expect("a free lock");
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let file = home.data().join("gateway.json");
    let endpoint = std::fs::read_to_string(&file).expect("a file of the dead owner");
    let mut endpoint: Value = serde_json::from_str(&endpoint).expect("JSON");
    endpoint["address"] = json!(listener.local_addr().expect("an address").to_string());
    std::fs::write(&file, endpoint.to_string()).expect("a file");

    let mut process = start(&home);
    let connection = listener.accept().expect("a connection");
    lock.unlock().expect("a held lock");
    drop((connection, listener));
    let line = ready_line(&mut process).expect("a ready line");
    assert!(line["address"].is_string() && line["attachedTo"].is_null(), "{line}");
    process.kill().expect("a live process");
    process.wait().expect("an exit status");
}
