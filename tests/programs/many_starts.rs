//! Many starts at one moment: one owner, and every other one says so.

use std::io::Read as _;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::engine::Home;

const STARTS: usize = 50;

fn start(home: &Home) -> Child {
    home.command(["serve", "--port", "0", "--ready-json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("rouse starts")
}

/// How one start went: the line of a start that is ready, or none of one that gave up.
fn said(process: &mut Child) -> Option<Value> {
    let mut out = String::new();
    let mut byte = [0];
    let pipe = process.stdout.as_mut().expect("a pipe");
    while pipe.read(&mut byte).expect("text") == 1 && byte[0] != b'\n' {
        out.push(char::from(byte[0]));
    }
    serde_json::from_str(&out).ok()
}

#[tokio::test]
async fn of_fifty_starts_one_owns_the_home() {
    let home = Home::new();
    let mut processes: Vec<Child> = (0..STARTS).map(|_| start(&home)).collect();
    let lines: Vec<Option<Value>> = processes.iter_mut().map(said).collect();
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
        let status = process.wait().expect("it ends");
        assert_eq!(status.success(), lines[n].is_some(), "{:?}", lines[n]);
    }
    let client = rouse_gateway::Client::find(&home.data()).expect("the owner says where it is");
    let status = client.call("system.status", json!({})).await.expect("it answers");
    assert!(status["startedAtMs"].is_i64(), "{status}");
    processes[owner].kill().expect("it lives");
    processes[owner].wait().expect("it ends");
}

/// An owner that has died but not yet let go: its address answers nobody, and its lock is gone a moment later.
#[tokio::test]
async fn a_start_beside_an_owner_that_is_dying_waits_for_it_to_let_go() {
    let home = Home::new();
    home.serve().await.kill();
    let lock = std::fs::File::open(home.data().join("owner.lock")).expect("it is left behind");
    lock.try_lock().expect("nobody owns it");
    let door = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let file = home.data().join("gateway.json");
    let left = std::fs::read_to_string(&file).expect("it is left behind");
    let mut left: Value = serde_json::from_str(&left).expect("JSON");
    left["address"] = json!(door.local_addr().expect("an address").to_string());
    std::fs::write(&file, left.to_string()).expect("a file");

    let mut process = start(&home);
    let asks = door.accept().expect("it looks for the owner");
    lock.unlock().expect("it was locked");
    drop((asks, door));
    let line = said(&mut process).expect("it is ready");
    assert!(line["address"].is_string() && line["attachedTo"].is_null(), "{line}");
    process.kill().expect("it lives");
    process.wait().expect("it ends");
}
