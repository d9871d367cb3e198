//! The memory of an idle engine with servers that do not run (Linux only).

use std::path::Path;
use std::time::Duration;

use rouse_tests::remove_example_job;

use super::http_double::HttpDouble;
use super::install;
use crate::engine::{BenchEngine, Programs, wait};
use crate::memory::proportional_mb;
use crate::report::Report;

const SERVERS: usize = 5;

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let label = format!("memory of rouse serve with {SERVERS} servers installed and none running");
    if !cfg!(target_os = "linux") {
        report.note(&label, "not measured on this system".to_owned());
        return Ok(());
    }
    let programs = Programs::find()?;
    let home = tempfile::tempdir()?;
    let engine = BenchEngine::start(&programs, home.path())?;
    remove_example_job(&engine.client).await;
    engine.stop();
    let before = memory_after_start(&programs, home.path()).await?;

    let server = HttpDouble::start()?;
    let engine = BenchEngine::start(&programs, home.path())?;
    for number in 0..SERVERS {
        install(&engine.client, &format!("server{number}"), server.definition()).await?;
    }
    engine.stop();
    let after = memory_after_start(&programs, home.path()).await?;
    report.info(
        "memory of rouse serve without servers, half a minute after a start",
        before,
        "MB PSS",
    );
    report.at_most(
        &format!("{label}, above the same without servers"),
        after - before,
        1.0,
        "MB PSS",
    );
    Ok(())
}

/// The memory half a minute after a start.
async fn memory_after_start(programs: &Programs, home: &Path) -> anyhow::Result<f64> {
    let engine = BenchEngine::start(programs, home)?;
    wait(Duration::from_secs(30)).await;
    let memory = proportional_mb(engine.pid())?;
    engine.stop();
    Ok(memory)
}
