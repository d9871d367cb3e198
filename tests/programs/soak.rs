//! Ten jobs a second for any time: memory, open files and the write-ahead log stay flat.
//!
//! The short form is all warm-up, so it allows some 20 kB of growth per run. `cargo xtask soak --for 1h` is strict
//! and prints a line every few hundred runs. The test measures private memory, because shared memory counts more once
//! another `rouse` ends.

#![cfg(target_os = "linux")]
#![expect(clippy::print_stdout, reason = "the long form prints progress")]

use std::fs;

use rouse_testkit::dice::{count_or, is_long};
use serde_json::{Value, json};

use crate::engine::{EngineProcess, TestHome};

/// Jobs that fire once a second.
const JOBS: usize = 10;
/// Runs of the short form.
const RUNS: usize = 80;
/// Printed samples.
const LINES: usize = 20;
/// Samples of the warm-up, which fills caches and pools.
const WARM_UP: usize = LINES / 4;
/// Maximum memory growth after the warm-up.
const MOST_GROWTH_KB: u64 = 3_072;
/// Maximum growth in the second half of the short form. 40 runs grow by 50 kB.
const MOST_SHORT_GROWTH_KB: u64 = 1_024;
/// The log is truncated to 16 MB. A checkpoint behind a reader may exceed that for a moment.
const LARGEST_WAL: u64 = 32 * 1_048_576;

/// The resources of an engine at one moment.
#[derive(Debug, Clone, Copy)]
struct ResourceSample {
    pss_kb: u64,
    /// Private memory.
    own_kb: u64,
    files: usize,
    wal: u64,
}

fn sample(engine: &EngineProcess<'_>) -> ResourceSample {
    let process = format!("/proc/{}", engine.pid());
    let rollup = fs::read_to_string(format!("{process}/smaps_rollup")).expect("a live process");
    let kb_of = |name: &str| -> u64 {
        let line = rollup.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
        line.split_whitespace().next().and_then(|kb| kb.parse().ok()).expect("kB")
    };
    let (pss_kb, own_kb) = (kb_of("Pss:"), kb_of("Pss_Anon:"));
    let files = fs::read_dir(format!("{process}/fd")).expect("a live process").count();
    let wal = fs::metadata(engine.home.data().join("rouse.db-wal")).map_or(0, |file| file.len());
    ResourceSample { pss_kb, own_kb, files, wal }
}

fn job(number: usize) -> Value {
    json!({
        "name": format!("Job {number}"),
        "schedule": { "kind": "every", "everyMs": 1_000, "anchorMs": number * 100 },
        "payload": { "kind": "toolCall", "tool": "echo", "arguments": { "text": "x" }, "notifyWhen": "failure" },
    })
}

#[tokio::test]
async fn ten_jobs_a_second_keep_memory_and_files_flat() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let mut events = engine.client.events(Some(0)).await.expect("a stream");
    for number in 0..JOBS {
        engine.add_job(job(number)).await;
    }
    let runs = count_or(RUNS).max(LINES);
    let mut lines: Vec<ResourceSample> = Vec::new();
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
            let line = sample(&engine);
            println!(
                "{ended:>8} runs  {:>7} kB, {:>7} of them private  {:>4} files  {:>9} bytes of log",
                line.pss_kb, line.own_kb, line.files, line.wal
            );
            lines.push(line);
        }
    }
    let (warm, last) = (lines[WARM_UP], lines[LINES - 1]);
    assert!(last.files <= warm.files + 1, "open files grew from {} to {}", warm.files, last.files);
    // The last sample may follow a checkpoint.
    let wal = lines.iter().map(|line| line.wal).max().unwrap_or_default();
    assert!(wal <= LARGEST_WAL, "the log had {wal} bytes: {lines:?}");
    let (from, most) =
        if is_long() { (warm, MOST_GROWTH_KB) } else { (lines[LINES / 2], MOST_SHORT_GROWTH_KB) };
    let grown = last.own_kb.saturating_sub(from.own_kb);
    assert!(grown <= most, "memory grew by {grown} kB: {lines:?}");
    assert!(engine.stop().success());
}
