//! What the machine itself takes: a transaction of plain SQLite, and a wake-up by the kernel's timer.

use std::sync::Arc;

use rouse_core::UnixMs;
use rouse_store::Store;
use rusqlite::Connection;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};

use super::stage::{own_timer, wall_us};
use crate::report::quantile;

/// The payload of a small run.
pub(crate) const PAYLOAD: &str = r#"{"kind":"toolCall","tool":"echo","arguments":{"text":"x"}}"#;
/// As long as the definition of a small job, or as its event.
pub(crate) const DEFINITION: &str = r#"{"schedule":{"kind":"at","atMs":1},"payload":{"kind":"toolCall","tool":"echo","arguments":{"text":"x"}}}"#;

/// A file of the store, with its tables and indexes, for plain SQLite.
pub(crate) async fn own_tables(folder: &std::path::Path) -> anyhow::Result<Connection> {
    let file = folder.join("rouse.db");
    Store::open(&file, Arc::new(|_: &[_]| {})).await?.close().await;
    let connection = Connection::open(&file)?;
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA cache_size = -16384")?;
    Ok(connection)
}

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

/// Milliseconds from an instant to the wake-up for it, at the median.
pub(crate) async fn wake_ms() -> anyhow::Result<f64> {
    Ok(woken_ms(async || Ok(())).await?.p50)
}

/// The same and one durable transaction of a small row, of plain SQLite and through the driver of the store.
pub(crate) async fn wake_and_commit_ms() -> anyhow::Result<(Woken, Woken)> {
    let folder = tempfile::tempdir()?;
    let connection = plain_sqlite(folder.path())?;
    let plain = woken_ms(async || {
        connection.prepare_cached("INSERT INTO events (data) VALUES (?1)")?.execute(["x"])?;
        Ok(())
    });
    let plain = plain.await?;
    let options = SqliteConnectOptions::new().filename(folder.path().join("plain.db"));
    let mut driver = options.synchronous(SqliteSynchronous::Full).connect().await?;
    let through_driver = woken_ms(async || {
        sqlx::query("INSERT INTO events (data) VALUES ('x')").execute(&mut driver).await?;
        Ok(())
    });
    Ok((plain, through_driver.await?))
}

/// What a minute of it comes to, in milliseconds.
pub(crate) struct Woken {
    pub(crate) p50: f64,
    /// Of sixty, the worst.
    pub(crate) p99: f64,
}

/// Milliseconds from an instant, for which everything has been at rest for a while, to the end of some work.
async fn woken_ms(mut work: impl AsyncFnMut() -> anyhow::Result<()>) -> anyhow::Result<Woken> {
    let mut timer = own_timer()?;
    let mut samples = Vec::new();
    for _ in 0..60 {
        let at = wall_us() / 1_000 + 100;
        timer.arm(Some(UnixMs(at)));
        timer.wait().await;
        work().await?;
        #[expect(clippy::cast_precision_loss, reason = "a duration")]
        samples.push((wall_us() - at * 1_000) as f64 / 1_000.0);
    }
    Ok(Woken { p50: quantile(&mut samples, 0.5), p99: quantile(&mut samples, 0.99) })
}
