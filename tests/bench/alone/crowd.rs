//! Ten thousand jobs due at one instant: when the last of them is claimed on the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use rouse_core::event::EventKind;
use serde_json::json;
use tokio::sync::Notify;

use super::floor;
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
    report.known("floor: 10,000 rows in one durable transaction of plain SQLite", plain()?, "ms");
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

/// Milliseconds for a row and a move for each job, prepared and in one transaction.
fn plain() -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let mut connection = floor::plain_sqlite(folder.path())?;
    let ids: Vec<String> = (0..JOBS).map(|number| format!("job-{number:032}")).collect();
    for id in &ids {
        connection.execute("INSERT INTO jobs VALUES (?1, 1, NULL)", [id])?;
    }
    let (done, took) = timed(|| -> rusqlite::Result<()> {
        let write = connection.transaction()?;
        {
            let mut insert = write.prepare(
                "INSERT INTO runs (id, job_id, slot_at, state, payload) VALUES (?1, ?2, 1, 'queued', ?3)",
            )?;
            let mut step = write.prepare("UPDATE jobs SET next_run_at = NULL WHERE id = ?1")?;
            for id in &ids {
                insert.execute([id, id, "{\"kind\":\"toolCall\",\"tool\":\"echo\"}"])?;
                step.execute([id])?;
            }
        }
        write.commit()
    });
    done?;
    Ok(took.as_secs_f64() * 1_000.0)
}
