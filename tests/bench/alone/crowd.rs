//! Ten thousand jobs due at one instant: when the last of them is claimed on the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use rouse_core::event::EventKind;
use rusqlite::Connection;
use serde_json::json;
use tokio::sync::Notify;

use super::floor::{self, DEFINITION, PAYLOAD};
use super::stage::{Stage, timed, wall_us};
use crate::report::Report;

const JOBS: usize = 10_000;

/// How many slots are claimed, and when the last one was.
#[derive(Default)]
struct Claimed {
    count: AtomicUsize,
    last_at: AtomicI64,
    all: Notify,
}

impl Claimed {
    fn add(&self, runs: usize) {
        let before = self.count.fetch_add(runs, Ordering::SeqCst);
        if before < JOBS && before + runs >= JOBS {
            self.last_at.store(wall_us(), Ordering::SeqCst);
            self.all.notify_one();
        }
    }
}

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    report.known(
        "floor: the same 10,000 runs, events and moves by plain SQLite in one durable transaction",
        plain().await?,
        "ms",
    );
    let claimed = Arc::new(Claimed::default());
    let told = claimed.clone();
    // Each claim tells of its run once, after the commit.
    let stage = Stage::new(Arc::new(move |events| {
        let runs = events.iter().filter(|event| event.kind == EventKind::Run).count();
        told.add(runs);
    }))
    .await?;
    let at = wall_us() / 1_000_000 * 1_000 + 30_000;
    stage.store_jobs((0..JOBS).map(|_| json!({ "kind": "at", "atMs": at }))).await?;
    let left = at - wall_us() / 1_000;
    assert!(left > 1_000, "the jobs were not stored in time");
    let _engine = stage.start(4).await?;
    claimed.all.notified().await;
    #[expect(clippy::cast_precision_loss, reason = "a duration")]
    let after = (claimed.last_at.load(Ordering::SeqCst) - at * 1_000) as f64 / 1_000.0;
    report.at_most(
        "10,000 jobs due at one instant: all claimed on the disk after",
        after,
        25.0,
        "ms",
    );
    Ok(())
}

/// Milliseconds for a run, an event and a move of each job, prepared and in one transaction of plain SQLite: what the
/// tables and indexes of the store cost by themselves.
async fn plain() -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let mut connection = floor::own_tables(folder.path()).await?;
    let ids: Vec<String> = (0..JOBS).map(|number| format!("job-{number:032}")).collect();
    let stored = connection.transaction()?;
    for id in &ids {
        stored.execute(
            "INSERT INTO jobs (id, name, enabled, revision, next_run_at, consecutive_failures, definition)
             VALUES (?1, ?1, 1, 1, 1, 0, ?2)",
            [id, DEFINITION],
        )?;
    }
    stored.commit()?;
    let (done, took) = timed(|| claim_plainly(&mut connection, &ids));
    done?;
    Ok(took.as_secs_f64() * 1_000.0)
}

fn claim_plainly(connection: &mut Connection, ids: &[String]) -> rusqlite::Result<()> {
    let write = connection.transaction()?;
    {
        let mut step = write.prepare("UPDATE jobs SET next_run_at = NULL WHERE id = ?1")?;
        let mut insert = write.prepare(
            "INSERT INTO runs (id, job_id, job_name, slot_at, trigger, state, stands_for, created_at, attempt,
                 input_tokens, cached_input_tokens, output_tokens, payload)
             VALUES (?1, ?1, ?1, 1, 'schedule', 'queued', 1, 1, 0, 0, 0, 0, ?2)",
        )?;
        let mut tell =
            write.prepare("INSERT INTO events (at, kind, data) VALUES (1, 'run', ?1)")?;
        for id in ids {
            step.execute([id])?;
            insert.execute([id.as_str(), PAYLOAD])?;
            tell.execute([DEFINITION])?;
        }
    }
    write.commit()
}
