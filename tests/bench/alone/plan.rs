//! Ten thousand jobs whose zone gets other rules.

use anyhow::Context as _;
use rouse_core::schedule::{ZoneFiles, ZoneSource, ZoneVersion, Zones};
use rusqlite::Connection;
use serde_json::json;

use super::floor;
use super::stage::{Stage, timed, timed_async};
use crate::report::{Report, quantile};

const JOBS: u32 = 10_000;

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let stage = Stage::new(std::sync::Arc::new(|_| {})).await?;
    let pattern = |number: u32| {
        let (minute, hour) = (number % 60, number / 60 % 24);
        format!("{minute} {hour} {} * *", 1 + number / 1_440)
    };
    let schedules = (0..JOBS)
        .map(|number| json!({ "kind": "cron", "expr": pattern(number), "tz": "Europe/Berlin" }));
    stage.store_jobs(schedules).await?;
    let engine = stage.start(1).await?;
    let replan = async |newer: Zones| -> anyhow::Result<f64> {
        let mut samples = Vec::new();
        for round in 0..11 {
            let built_in = || Zones::built_in(chrono_tz::UTC);
            stage.follow_zones(if round % 2 == 0 { newer.clone() } else { built_in() });
            // The engine answers for its status when it has caught up with what came before.
            let both = async {
                engine.clock_changed().await?;
                engine.status().await
            };
            let (planned, took) = timed_async(both).await;
            planned?;
            samples.push(took.as_secs_f64() * 1_000.0);
        }
        Ok(quantile(&mut samples, 0.5))
    };
    let what = "10,000 jobs of 10,000 patterns looked at by new data of their zone, which keeps its times, p50";
    report.at_most(what, replan(newer("Europe/Berlin")?).await?, 100.0, "ms");
    let floor = plain(&stage).await?;
    report.known(
        "floor: plain SQLite reads the same rows and gives each another slot",
        floor,
        "ms",
    );
    let what = "10,000 jobs of 10,000 patterns planned anew by rules that move each of them, p50";
    report.at_most(what, replan(newer("Europe/London")?).await?, 100.0, "ms");
    Ok(())
}

/// Milliseconds for it in a copy of the same file, at the median.
async fn plain(stage: &Stage) -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let mut connection = floor::own_tables(folder.path()).await?;
    connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -4096")?;
    connection.execute("ATTACH ?1 AS stage", [stage.file().to_string_lossy()])?;
    connection.execute_batch("INSERT INTO jobs SELECT * FROM stage.jobs; DETACH stage")?;
    let mut samples = Vec::new();
    for _ in 0..11 {
        let (done, took) = timed(|| move_plainly(&mut connection));
        done?;
        samples.push(took.as_secs_f64() * 1_000.0);
    }
    Ok(quantile(&mut samples, 0.5))
}

fn move_plainly(connection: &mut Connection) -> rusqlite::Result<()> {
    let write = connection.transaction()?;
    {
        let mut read =
            write.prepare("SELECT id, next_run_at, definition FROM jobs WHERE enabled = 1")?;
        let read = read.query_map([], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?))
        });
        let jobs = read?.collect::<rusqlite::Result<Vec<_>>>()?;
        let mut step = write.prepare(
            "UPDATE jobs SET next_run_at = ?2, decided_until = ?2, settled_until = ?2 WHERE id = ?1",
        )?;
        for (id, at, _) in &jobs {
            step.execute(rusqlite::params![id, at + 3_600_000])?;
        }
    }
    write.commit()
}

/// Files that are newer than the built-in tables, in which the zone of the jobs goes by the clock of `city`.
fn newer(city: &'static str) -> anyhow::Result<Zones> {
    struct Folder(&'static str);
    impl ZoneFiles for Folder {
        fn read(&self, _: &str) -> Option<Vec<u8>> {
            // A zone without a file has the built-in rules.
            std::fs::read(std::path::Path::new("/usr/share/zoneinfo").join(self.0)).ok()
        }
    }
    let version = ZoneVersion::parse("9999z").context("no version")?;
    Ok(Zones::newest(
        ZoneSource { version, folder: Some("files".to_owned()) },
        Box::new(Folder(city)),
    ))
}
