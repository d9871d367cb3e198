//! Baselines of the machine: a transaction of plain SQLite, and a wake-up by the kernel's timer.

use rouse_core::UnixMs;
use rouse_tests::make_database;
use rusqlite::Connection;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};

use super::fixture::{new_timer, wall_us};
use crate::report::quantile;

/// The payload of a small run.
pub(crate) const PAYLOAD: &str = r#"{"kind":"toolCall","tool":"echo","arguments":{"text":"x"}}"#;
/// A text with the length of a small job's definition or event.
pub(crate) const DEFINITION: &str = r#"{"schedule":{"kind":"at","atMs":1},"payload":{"kind":"toolCall","tool":"echo","arguments":{"text":"x"}}}"#;

/// A store file with tables and indexes, for plain SQLite.
pub(crate) async fn store_tables(folder: &std::path::Path) -> anyhow::Result<Connection> {
    make_database(folder).await;
    let connection = Connection::open(folder.join("rouse.db"))?;
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA cache_size = -16384")?;
    Ok(connection)
}

/// A database with the store's settings and tables of its shape, without the columns that stay empty.
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

/// The median milliseconds from a timer instant to the wake-up.
pub(crate) async fn measure_wake_up() -> anyhow::Result<f64> {
    Ok(measure_latency(async || Ok(())).await?.p50)
}

/// The same with a durable transaction of a small row, by plain SQLite and through the store's driver.
pub(crate) async fn measure_wake_up_and_commit() -> anyhow::Result<(WakeLatency, WakeLatency)> {
    let folder = tempfile::tempdir()?;
    let connection = plain_sqlite(folder.path())?;
    let plain = measure_latency(async || {
        connection.prepare_cached("INSERT INTO events (data) VALUES (?1)")?.execute(["x"])?;
        Ok(())
    });
    let plain = plain.await?;
    let options = SqliteConnectOptions::new().filename(folder.path().join("plain.db"));
    let mut driver = options.synchronous(SqliteSynchronous::Full).connect().await?;
    let through_driver = measure_latency(async || {
        sqlx::query("INSERT INTO events (data) VALUES ('x')").execute(&mut driver).await?;
        Ok(())
    });
    Ok((plain, through_driver.await?))
}

/// The latency of sixty wake-ups in milliseconds.
pub(crate) struct WakeLatency {
    pub(crate) p50: f64,
    /// The worst of sixty.
    pub(crate) p99: f64,
}

/// The latency in milliseconds from a timer instant after an idle time to the end of `work`.
async fn measure_latency(
    mut work: impl AsyncFnMut() -> anyhow::Result<()>,
) -> anyhow::Result<WakeLatency> {
    let mut timer = new_timer()?;
    let mut samples = Vec::new();
    for _ in 0..60 {
        let at = wall_us() / 1_000 + 100;
        timer.arm(Some(UnixMs(at)));
        timer.wait().await;
        work().await?;
        #[expect(clippy::cast_precision_loss, reason = "a duration")]
        samples.push((wall_us() - at * 1_000) as f64 / 1_000.0);
    }
    Ok(WakeLatency { p50: quantile(&mut samples, 0.5), p99: quantile(&mut samples, 0.99) })
}
