//! Ten thousand jobs whose zone gets other rules.

use anyhow::Context as _;
use rouse_core::schedule::{ZoneFiles, ZoneSource, ZoneVersion, Zones};
use serde_json::json;

use super::stage::{Stage, timed_async};
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
    let mut samples = Vec::new();
    for round in 0..11 {
        stage.follow_zones(if round % 2 == 0 { newer()? } else { Zones::built_in(chrono_tz::UTC) });
        // The engine answers for its status when it has caught up with what came before.
        let both = async {
            engine.clock_changed().await?;
            engine.status().await
        };
        let (planned, took) = timed_async(both).await;
        planned?;
        samples.push(took.as_secs_f64() * 1_000.0);
    }
    let what = "10,000 jobs of 10,000 patterns planned anew by other rules of their zone, p50";
    report.at_most(what, quantile(&mut samples, 0.5), 100.0, "ms");
    Ok(())
}

/// The files of the system, taken for newer than the built-in tables.
fn newer() -> anyhow::Result<Zones> {
    struct Folder;
    impl ZoneFiles for Folder {
        fn read(&self, name: &str) -> Option<Vec<u8>> {
            // A zone without a file has the built-in rules.
            std::fs::read(std::path::Path::new("/usr/share/zoneinfo").join(name)).ok()
        }
    }
    let version = ZoneVersion::parse("9999z").context("no version")?;
    Ok(Zones::newest(ZoneSource { version, folder: Some("files".to_owned()) }, Box::new(Folder)))
}
