//! Many jobs whose zone gets new rules.

use anyhow::Context as _;
use rouse_core::schedule::{ZoneFiles, ZoneSource, ZoneVersion, Zones};
use rusqlite::Connection;
use serde_json::json;

use super::baselines;
use super::fixture::{SchedulerFixture, timed, timed_async};
use crate::report::{Report, quantile};

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let fixture = SchedulerFixture::new(std::sync::Arc::new(|_| {})).await?;
    let jobs = report.job_count();
    let pattern = |number: usize| {
        let (minute, hour) = (number % 60, number / 60 % 24);
        format!("{minute} {hour} {} * *", 1 + number / 1_440)
    };
    let schedules = (0..jobs)
        .map(|number| json!({ "kind": "cron", "expr": pattern(number), "tz": "Europe/Berlin" }));
    fixture.store_jobs(schedules).await?;
    let engine = fixture.start(1).await?;
    let replan = async |newer_zones: Zones| -> anyhow::Result<f64> {
        let mut samples = Vec::new();
        for round in 0..11 {
            let built_in = || Zones::built_in(chrono_tz::UTC);
            fixture.set_zones(if round % 2 == 0 { newer_zones.clone() } else { built_in() });
            // The engine answers the status after it has handled the clock change.
            let replanned = async {
                engine.clock_changed().await?;
                engine.status().await
            };
            let (status, elapsed) = timed_async(replanned).await;
            status?;
            samples.push(elapsed.as_secs_f64() * 1_000.0);
        }
        Ok(quantile(&mut samples, 0.5))
    };
    let goal = report.goal_for_jobs(15.0, 100.0);
    let label = format!("{jobs} patterns checked against new zone data with the same times, p50");
    report.at_most(&label, replan(newer_zones("Europe/Berlin")?).await?, goal, "ms");
    let baseline = measure_plain_sqlite(&fixture).await?;
    report.info("baseline: plain SQLite reads the rows and updates each slot", baseline, "ms");
    let label = format!("{jobs} patterns replanned by new zone data with other times, p50");
    report.at_most(&label, replan(newer_zones("Europe/London")?).await?, goal, "ms");
    Ok(())
}

/// The median milliseconds of plain SQLite in a copy of the same file.
async fn measure_plain_sqlite(fixture: &SchedulerFixture) -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let mut connection = baselines::store_tables(folder.path()).await?;
    connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -4096")?;
    connection.execute("ATTACH ?1 AS stage", [fixture.database_path().to_string_lossy()])?;
    connection.execute_batch("INSERT INTO jobs SELECT * FROM stage.jobs; DETACH stage")?;
    let mut samples = Vec::new();
    for _ in 0..11 {
        let (result, elapsed) = timed(|| replan_in_plain_sqlite(&mut connection));
        result?;
        samples.push(elapsed.as_secs_f64() * 1_000.0);
    }
    Ok(quantile(&mut samples, 0.5))
}

fn replan_in_plain_sqlite(connection: &mut Connection) -> rusqlite::Result<()> {
    let write = connection.transaction()?;
    {
        let mut read =
            write.prepare("SELECT id, next_run_at, definition FROM jobs WHERE enabled = 1")?;
        let read = read.query_map([], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?))
        });
        let jobs = read?.collect::<rusqlite::Result<Vec<_>>>()?;
        let mut update = write.prepare(
            "UPDATE jobs SET next_run_at = ?2, decided_until = ?2, settled_until = ?2 WHERE id = ?1",
        )?;
        for (id, at, _) in &jobs {
            update.execute(rusqlite::params![id, at + 3_600_000])?;
        }
    }
    write.commit()
}

/// Zone files newer than the built-in tables, with `city`'s rules for every zone.
fn newer_zones(city: &'static str) -> anyhow::Result<Zones> {
    struct FixedZoneFiles(&'static str);
    impl ZoneFiles for FixedZoneFiles {
        fn read(&self, _: &str) -> Option<Vec<u8>> {
            // A zone without a file has the built-in rules.
            std::fs::read(std::path::Path::new("/usr/share/zoneinfo").join(self.0)).ok()
        }
    }
    let version = ZoneVersion::parse("9999z").context("no version")?;
    Ok(Zones::newest(
        ZoneSource { version, folder: Some("files".to_owned()) },
        Box::new(FixedZoneFiles(city)),
    ))
}
