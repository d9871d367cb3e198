//! A server that is killed at random points of a hundred slots: no slot is lost or doubled, and no process stays.

use std::path::Path;

use rouse_testkit::dice::{Dice, first_seed};
use rouse_tests::mcp::install_and_accept;
use rouse_tests::{EngineBuilder, MINUTE};
use serde_json::json;

use super::fixture::double;

const SLOTS: usize = 100;

/// The ids of the processes with `word` in their command line.
fn processes_with(word: &str) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").expect("a list of processes").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let has_word = |pid: &i32| {
        std::fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(word))
    };
    pids.filter(has_word).collect()
}

fn kill_server(notes: &Path) {
    for pid in processes_with(&notes.display().to_string()) {
        let pid = rustix::process::Pid::from_raw(pid).expect("an id");
        let killed = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        // The process may have ended by itself.
        assert!(matches!(killed, Ok(()) | Err(rustix::io::Errno::SRCH)), "{killed:?}");
    }
}

#[tokio::test]
async fn killed_server_loses_and_doubles_no_slot() {
    let seed = first_seed();
    let mut dice = Dice::new(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let notes = folder.path().join("notes.txt");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let server = double(&["--notes", notes.to_str().expect("text")]);
    install_and_accept(&engine, "cal", server).await;
    let call = json!({ "kind": "toolCall", "tool": "cal_add", "arguments": { "a": 1, "b": 2 } });
    let every = json!({ "kind": "every", "everyMs": MINUTE });
    let job = json!({
        "name": "Add", "schedule": every, "payload": call, "runtime": { "maxAttempts": 1 },
    });
    let id = engine.add_job(job).await;
    for done in 1..=SLOTS {
        engine.clock.advance(MINUTE);
        if dice.once_in(3) {
            kill_server(&notes);
        }
        engine.finished_runs(&id, done).await;
        if dice.once_in(3) {
            kill_server(&notes);
        }
    }
    let runs = engine.runs(&id).await;
    let mut slots: Vec<_> =
        runs.iter().map(|run| run["slotAtMs"].as_i64().expect("a slot")).collect();
    slots.sort_unstable();
    slots.dedup();
    assert_eq!((slots.len(), runs.len()), (SLOTS, SLOTS), "seed {seed}");
    for run in &runs {
        let is_known = run["state"] == "succeeded" && run["summary"] == "3"
            || run["state"] == "failed" && run["error"].is_string();
        assert!(is_known, "seed {seed}: {run}");
    }
    assert!(runs.iter().filter(|run| run["state"] == "succeeded").count() > SLOTS / 2);
    engine.host.stop().await;
    assert!(processes_with(&notes.display().to_string()).is_empty(), "seed {seed}");
}
