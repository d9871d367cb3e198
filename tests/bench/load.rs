//! Ten thousand jobs: adding one more, listing them, starting over them.

use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;
use serde_json::json;

use crate::alone::{floor, timed};
use crate::engine::{Engine, Programs, future_job};
use crate::report::{Report, millis_of, quantile};
use crate::round_trip;

const JOBS: usize = 10_000;

pub(crate) async fn with_many_jobs(programs: &Programs, report: &mut Report) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let engine = Engine::start(programs, home.path())?;
    engine.import((0..JOBS).map(future_job).collect()).await?;
    let mut adds = Vec::new();
    for number in 0..200 {
        adds.push(asked(&engine, "cron.add", future_job(JOBS + number)).await?);
    }
    report.millis("RPC cron.add with 10,000 jobs, p50", quantile(&mut adds, 0.5), 2.0);
    report
        .note("RPC cron.add with 10,000 jobs, p99", format!("{:.2} ms", quantile(&mut adds, 0.99)));
    let mut lists = Vec::new();
    for _ in 0..5 {
        lists.push(asked(&engine, "cron.list", json!({})).await?);
    }
    report
        .note("RPC cron.list of 10,000 jobs, p50", format!("{:.0} ms", quantile(&mut lists, 0.5)));
    engine.stop()?;
    let plain = added_plainly()?;
    report.known(
        "floor of it: plain SQLite writes such a job and its event durably, p50",
        plain,
        "ms",
    );

    let mut starts = Vec::new();
    for _ in 0..7 {
        let engine = Engine::start(programs, home.path())?;
        starts.push(millis_of(engine.ready_after));
        engine.stop()?;
    }
    report.millis(
        "start of the process to armed with 10,000 jobs, p50",
        quantile(&mut starts, 0.5),
        25.0,
    );
    let nothing = round_trip::of_nothing(programs, home.path())?;
    let plain = read_plainly(home.path())?;
    let what = "floor of it: a process and nothing else, and plain SQLite opens the file and reads the jobs, p50";
    report.known(what, nothing + plain, "ms");
    Ok(())
}

/// Milliseconds in which plain SQLite makes a job and its event durable, at the median.
fn added_plainly() -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let mut connection = floor::plain_sqlite(folder.path())?;
    let mut samples = Vec::new();
    for number in 0..200 {
        let (done, took) = timed(|| -> rusqlite::Result<()> {
            let write = connection.transaction()?;
            write.execute(
                "INSERT INTO jobs (id, next_run_at, last_state) VALUES (?1, ?2, ?3)",
                rusqlite::params![format!("job {number}"), number, floor::DEFINITION],
            )?;
            write.execute("INSERT INTO events (data) VALUES (?1)", [floor::DEFINITION])?;
            write.commit()
        });
        done?;
        samples.push(millis_of(took));
    }
    Ok(quantile(&mut samples, 0.5))
}

/// Milliseconds in which plain SQLite opens the file of `home` and reads its jobs, at the median.
fn read_plainly(home: &Path) -> anyhow::Result<f64> {
    let mut samples = Vec::new();
    for _ in 0..7 {
        let (read, took) = timed(|| -> rusqlite::Result<usize> {
            let connection = Connection::open(home.join("rouse.db"))?;
            let mut query = connection.prepare("SELECT id, next_run_at, definition FROM jobs")?;
            let rows = query.query_map([], |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, Option<i64>>(1)?,
                    row.get::<_, String>(2)?,
                ))
            });
            Ok(rows?.collect::<rusqlite::Result<Vec<_>>>()?.len())
        });
        anyhow::ensure!(read? >= JOBS, "the jobs are there");
        samples.push(millis_of(took));
    }
    Ok(quantile(&mut samples, 0.5))
}

async fn asked(engine: &Engine, method: &str, params: serde_json::Value) -> anyhow::Result<f64> {
    #[expect(clippy::disallowed_methods, reason = "a bench measures")]
    let began = Instant::now();
    engine.call(method, params).await?;
    Ok(millis_of(began.elapsed()))
}
