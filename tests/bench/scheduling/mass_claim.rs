//! Many jobs due at one instant: the time of the last durable claim.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use rouse_core::event::EventKind;
use rusqlite::Connection;
use serde_json::json;
use tokio::sync::Notify;

use super::baselines::{self, DEFINITION, PAYLOAD};
use super::fixture::{SchedulerFixture, timed, wall_us};
use crate::report::Report;

/// The number of claimed slots of `jobs`, and the time of the last claim.
#[derive(Default)]
struct ClaimCounter {
    jobs: usize,
    count: AtomicUsize,
    last_at: AtomicI64,
    all: Notify,
}

impl ClaimCounter {
    fn add(&self, runs: usize) {
        let before = self.count.fetch_add(runs, Ordering::SeqCst);
        if before < self.jobs && before + runs >= self.jobs {
            self.last_at.store(wall_us(), Ordering::SeqCst);
            self.all.notify_one();
        }
    }
}

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let jobs = report.job_count();
    let label = format!(
        "baseline: {jobs} runs, events and updates of plain SQLite in one durable transaction"
    );
    report.info(&label, measure_plain_sqlite(jobs).await?, "ms");
    let claimed = Arc::new(ClaimCounter { jobs, ..ClaimCounter::default() });
    let counter = claimed.clone();
    // Each claim reports its run once, after the commit.
    let fixture = SchedulerFixture::new(Arc::new(move |events| {
        let runs = events.iter().filter(|event| event.kind == EventKind::Run).count();
        counter.add(runs);
    }))
    .await?;
    let at = wall_us() / 1_000_000 * 1_000 + 30_000;
    fixture.store_jobs((0..jobs).map(|_| json!({ "kind": "at", "atMs": at }))).await?;
    let remaining_ms = at - wall_us() / 1_000;
    assert!(remaining_ms > 1_000, "the jobs were not stored in time");
    let _engine = fixture.start(4).await?;
    claimed.all.notified().await;
    #[expect(clippy::cast_precision_loss, reason = "a duration")]
    let after = (claimed.last_at.load(Ordering::SeqCst) - at * 1_000) as f64 / 1_000.0;
    let label = format!("{jobs} jobs due at one instant, all claimed durably after");
    report.at_most(&label, after, report.goal_for_jobs(5.0, 25.0), "ms");
    Ok(())
}

/// The milliseconds of plain SQLite for a run, an event and an update per job, prepared and in one transaction: the
/// cost of the store's tables and indexes.
async fn measure_plain_sqlite(jobs: usize) -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let mut connection = baselines::store_tables(folder.path()).await?;
    let ids: Vec<String> = (0..jobs).map(|number| format!("job-{number:032}")).collect();
    let stored = connection.transaction()?;
    for id in &ids {
        stored.execute(
            "INSERT INTO jobs (id, name, enabled, revision, next_run_at, consecutive_failures, definition)
             VALUES (?1, ?1, 1, 1, 1, 0, ?2)",
            [id, DEFINITION],
        )?;
    }
    stored.commit()?;
    let (result, elapsed) = timed(|| claim_in_plain_sqlite(&mut connection, &ids));
    result?;
    Ok(elapsed.as_secs_f64() * 1_000.0)
}

fn claim_in_plain_sqlite(connection: &mut Connection, ids: &[String]) -> rusqlite::Result<()> {
    let write = connection.transaction()?;
    {
        let mut update = write.prepare("UPDATE jobs SET next_run_at = NULL WHERE id = ?1")?;
        let mut insert = write.prepare(
            "INSERT INTO runs (id, job_id, job_name, slot_at, trigger, state, stands_for, created_at, attempt,
                 input_tokens, cached_input_tokens, output_tokens, payload)
             VALUES (?1, ?1, ?1, 1, 'schedule', 'queued', 1, 1, 0, 0, 0, 0, ?2)",
        )?;
        let mut insert_event =
            write.prepare("INSERT INTO events (at, kind, data) VALUES (1, 'run', ?1)")?;
        for id in ids {
            update.execute([id])?;
            insert.execute([id.as_str(), PAYLOAD])?;
            insert_event.execute([DEFINITION])?;
        }
    }
    write.commit()
}
