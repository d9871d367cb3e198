//! Many jobs: adding a job, listing the jobs, starting with the jobs.

use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;
use serde_json::json;

use crate::command;
use crate::engine::{BenchEngine, Programs, future_job};
use crate::report::{Report, millis_of, quantile};
use crate::scheduling::{baselines, timed};

pub(crate) async fn measure(programs: &Programs, report: &mut Report) -> anyhow::Result<()> {
    let jobs = report.job_count();
    let home = tempfile::tempdir()?;
    let engine = BenchEngine::start(programs, home.path())?;
    engine.import((0..jobs).map(future_job).collect()).await?;
    let mut adds = Vec::new();
    for number in 0..200 {
        adds.push(measure_call(&engine, "cron.add", future_job(jobs + number)).await?);
    }
    let label = |share: &str| format!("RPC cron.add with {jobs} jobs, {share}");
    report.millis(&label("p50"), quantile(&mut adds, 0.5), 2.0);
    report.note(&label("p99"), format!("{:.2} ms", quantile(&mut adds, 0.99)));
    let mut lists = Vec::new();
    for _ in 0..5 {
        lists.push(measure_call(&engine, "cron.list", json!({})).await?);
    }
    let label = format!("RPC cron.list of {jobs} jobs, p50");
    report.note(&label, format!("{:.0} ms", quantile(&mut lists, 0.5)));
    engine.stop();
    let plain = measure_plain_insert()?;
    report.info("baseline: plain SQLite stores a job and its event durably, p50", plain, "ms");

    let mut starts = Vec::new();
    for _ in 0..7 {
        let engine = BenchEngine::start(programs, home.path())?;
        starts.push(millis_of(engine.ready_after));
        engine.stop();
    }
    let label = format!("start of the process to ready with {jobs} jobs, p50");
    report.millis(&label, quantile(&mut starts, 0.5), 25.0);
    let empty_process = command::empty_process_ms(programs, home.path())?;
    let plain = measure_plain_read(home.path(), jobs)?;
    let label =
        "baseline: an empty process, and plain SQLite opens the file and reads the jobs, p50";
    report.info(label, empty_process + plain, "ms");
    Ok(())
}

/// The median milliseconds of plain SQLite to store a job and its event durably.
fn measure_plain_insert() -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let mut connection = baselines::plain_sqlite(folder.path())?;
    let mut samples = Vec::new();
    for number in 0..200 {
        let (result, elapsed) = timed(|| -> rusqlite::Result<()> {
            let write = connection.transaction()?;
            write.execute(
                "INSERT INTO jobs (id, next_run_at, last_state) VALUES (?1, ?2, ?3)",
                rusqlite::params![format!("job {number}"), number, baselines::DEFINITION],
            )?;
            write.execute("INSERT INTO events (data) VALUES (?1)", [baselines::DEFINITION])?;
            write.commit()
        });
        result?;
        samples.push(millis_of(elapsed));
    }
    Ok(quantile(&mut samples, 0.5))
}

/// The median milliseconds of plain SQLite to open the file in `home` and read its jobs.
fn measure_plain_read(home: &Path, jobs: usize) -> anyhow::Result<f64> {
    let mut samples = Vec::new();
    for _ in 0..7 {
        let (read, elapsed) = timed(|| -> rusqlite::Result<usize> {
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
        anyhow::ensure!(read? >= jobs, "the jobs are stored");
        samples.push(millis_of(elapsed));
    }
    Ok(quantile(&mut samples, 0.5))
}

async fn measure_call(
    engine: &BenchEngine,
    method: &str,
    params: serde_json::Value,
) -> anyhow::Result<f64> {
    #[expect(clippy::disallowed_methods, reason = "a bench measures")]
    let started = Instant::now();
    engine.call(method, params).await?;
    Ok(millis_of(started.elapsed()))
}
