//! What the machine itself takes: a transaction of plain SQLite, and a wake-up by the kernel's timer.

use rouse_core::UnixMs;
use rusqlite::Connection;

use super::stage::{own_timer, timed, wall_us};
use crate::report::quantile;

/// A file with the settings of the store and two tables of its shape, without its columns that stay empty.
pub(crate) fn plain_sqlite(folder: &std::path::Path) -> anyhow::Result<Connection> {
    let connection = Connection::open(folder.join("plain.db"))?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE jobs (id TEXT PRIMARY KEY, next_run_at INTEGER, last_state TEXT) STRICT;
         CREATE INDEX due ON jobs (next_run_at);
         CREATE TABLE runs (id TEXT PRIMARY KEY, job_id TEXT NOT NULL, slot_at INTEGER, state TEXT NOT NULL,
             started_at INTEGER, finished_at INTEGER, payload TEXT NOT NULL, UNIQUE (job_id, slot_at)) STRICT;
         CREATE TABLE events (seq INTEGER PRIMARY KEY, data TEXT NOT NULL) STRICT;",
    )?;
    Ok(connection)
}

/// Milliseconds of one durable transaction with one small row, at the median.
pub(crate) fn commit_ms() -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let connection = plain_sqlite(folder.path())?;
    let mut insert = connection.prepare("INSERT INTO events (data) VALUES (?1)")?;
    let mut samples = Vec::new();
    for _ in 0..500 {
        let (done, took) = timed(|| insert.execute(["x"]));
        done?;
        samples.push(took.as_secs_f64() * 1_000.0);
    }
    Ok(quantile(&mut samples, 0.5))
}

/// Microseconds from an instant to the wake-up for it, at the median.
pub(crate) async fn wake_us() -> anyhow::Result<f64> {
    let mut timer = own_timer()?;
    let mut samples = Vec::new();
    for _ in 0..50 {
        let at = wall_us() / 1_000 + 20;
        timer.arm(Some(UnixMs(at)));
        timer.wait().await;
        #[expect(clippy::cast_precision_loss, reason = "a duration")]
        samples.push((wall_us() - at * 1_000) as f64);
    }
    Ok(quantile(&mut samples, 0.5))
}
