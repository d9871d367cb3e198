//! Ten jobs a second for as long as one likes: memory, open files and the write-ahead log stay where they are.
//!
//! The short form is all warm-up, so it refuses only what grows by more than warming up does: some 20 kB a run. `cargo
//! xtask soak --for 1h` goes on, is strict, and prints a line for every few hundred runs. Judged is memory that is the
//! engine's alone: what it shares with another `rouse` counts for more once that one ends.

#![cfg(target_os = "linux")]
#![expect(clippy::print_stdout, reason = "whoever runs the long form reads how far it went")]

use std::fs;

use rouse_testkit::dice::{count_or, is_long};
use serde_json::{Value, json};

use crate::engine::{Engine, Home};

/// Jobs, each once a second.
const JOBS: usize = 10;
/// Runs of the short form.
const RUNS: usize = 80;
/// Lines that are printed, and measured.
const LINES: usize = 20;
/// What the first runs fill, caches and pools, is no growth.
const WARM_UP: usize = LINES / 4;
/// Growth of memory from the warm-up to the end.
const MOST_GROWTH_KB: u64 = 3_072;
/// The same of the short form, from its middle on; 40 runs grow by 50 kB.
const MOST_SHORT_GROWTH_KB: u64 = 1_024;
/// The log is cut to 16 MB; a checkpoint that waits for a reader may let it be some more for a moment.
const LARGEST_WAL: u64 = 32 * 1_048_576;

/// What an engine holds at one moment.
#[derive(Debug, Clone, Copy)]
struct Held {
    pss_kb: u64,
    /// What no other process shares.
    own_kb: u64,
    files: usize,
    wal: u64,
}

fn held(engine: &Engine<'_>) -> Held {
    let process = format!("/proc/{}", engine.pid());
    let rollup = fs::read_to_string(format!("{process}/smaps_rollup")).expect("it lives");
    let kb_of = |name: &str| -> u64 {
        let line = rollup.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
        line.split_whitespace().next().and_then(|kb| kb.parse().ok()).expect("kB")
    };
    let (pss_kb, own_kb) = (kb_of("Pss:"), kb_of("Pss_Anon:"));
    let files = fs::read_dir(format!("{process}/fd")).expect("it lives").count();
    let wal = fs::metadata(engine.home.data().join("rouse.db-wal")).map_or(0, |file| file.len());
    Held { pss_kb, own_kb, files, wal }
}

fn job(number: usize) -> Value {
    json!({
        "name": format!("Job {number}"),
        "schedule": { "kind": "every", "everyMs": 1_000, "anchorMs": number * 100 },
        "payload": { "kind": "toolCall", "tool": "echo", "arguments": { "text": "x" }, "notifyWhen": "failure" },
    })
}

#[tokio::test]
async fn ten_jobs_a_second_leave_nothing_behind() {
    let home = Home::new();
    let engine = home.serve().await;
    let mut events = engine.client.events(Some(0)).await.expect("a stream");
    for number in 0..JOBS {
        engine.add(job(number)).await;
    }
    let runs = count_or(RUNS).max(LINES);
    let mut lines: Vec<Held> = Vec::new();
    let mut ended = 0;
    while lines.len() < LINES {
        let event = events.next().await.expect("the engine goes on");
        let data = &event.data;
        if data["action"] != "finished" {
            continue;
        }
        assert_ne!(data["status"], "error", "{data}");
        ended += 1;
        if ended >= (lines.len() + 1) * runs / LINES {
            let line = held(&engine);
            println!(
                "{ended:>8} runs  {:>7} kB, {:>7} of them its own  {:>4} files  {:>9} bytes of log",
                line.pss_kb, line.own_kb, line.files, line.wal
            );
            lines.push(line);
        }
    }
    let (warm, last) = (lines[WARM_UP], lines[LINES - 1]);
    assert!(last.files <= warm.files + 1, "open files grew from {} to {}", warm.files, last.files);
    // The end may come right after a checkpoint.
    let wal = lines.iter().map(|line| line.wal).max().unwrap_or_default();
    assert!(wal <= LARGEST_WAL, "the log had {wal} bytes: {lines:?}");
    let (from, most) = match is_long() {
        true => (warm, MOST_GROWTH_KB),
        false => (lines[LINES / 2], MOST_SHORT_GROWTH_KB),
    };
    let grown = last.own_kb.saturating_sub(from.own_kb);
    assert!(grown <= most, "memory grew by {grown} kB: {lines:?}");
    assert!(engine.stop().success());
}
