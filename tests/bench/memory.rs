//! The costs of an idle Rouse: wake-ups and memory, from `/proc` (Linux only).

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::engine::{BenchEngine, Programs, future_job, wait};
use crate::report::Report;

pub(crate) async fn measure_engine(programs: &Programs, report: &mut Report) -> anyhow::Result<()> {
    const SECONDS: u64 = 600;
    if !cfg!(target_os = "linux") {
        report.note("idle wake-ups and memory", "not measured on this system".to_owned());
        return Ok(());
    }
    let home = tempfile::tempdir()?;
    let engine = BenchEngine::start(programs, home.path())?;
    engine.import((0..1_000).map(future_job).collect()).await?;
    // Lets the example job fire and the import settle.
    report_memory(&engine, "half a minute after 1,000 jobs were imported", report).await?;
    let before = context_switches(engine.pid())?;
    wait(Duration::from_secs(SECONDS)).await;
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let switches = (context_switches(engine.pid())? - before) as f64;
    report.at_most(
        "wake-ups in ten idle minutes with 1,000 future jobs",
        switches,
        0.0,
        "context switches",
    );
    list_all(&engine).await?;
    report_memory(&engine, "with 1,000 jobs, half a minute after a list of all of them", report)
        .await?;
    engine.stop();
    let engine = BenchEngine::start(programs, home.path())?;
    report_memory(&engine, "with 1,000 jobs, half a minute after a start", report).await?;
    engine.stop();
    Ok(())
}

/// Reports the memory of an engine after half a minute.
async fn report_memory(
    engine: &BenchEngine,
    when: &str,
    report: &mut Report,
) -> anyhow::Result<()> {
    wait(Duration::from_secs(30)).await;
    let label = format!("memory of rouse serve {when}");
    report.at_most(&label, proportional_mb(engine.pid())?, 12.0, "MB PSS");
    Ok(())
}

async fn list_all(engine: &BenchEngine) -> anyhow::Result<()> {
    let (mut count, mut cursor) = (0, Value::Null);
    loop {
        let page = engine.call("cron.list", json!({ "limit": 500, "cursor": cursor })).await?;
        count += page["jobs"].as_array().map_or(0, Vec::len);
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            anyhow::ensure!(count >= 1_000, "{count} jobs were listed");
            return Ok(());
        }
    }
}

/// Measures the app without a window, on a virtual screen with a private session bus.
pub(crate) fn measure_app(programs: &Programs, report: &mut Report) -> anyhow::Result<()> {
    let Some(desktop) = programs.desktop.as_ref().filter(|_| cfg!(target_os = "linux")) else {
        report.note(
            "resident memory of the app without a window",
            "not measured: the app is not built".to_owned(),
        );
        return Ok(());
    };
    let home = tempfile::tempdir()?;
    let script = r#""$0" --hidden >/dev/null 2>&1 & app=$!; sleep 6; grep VmRSS /proc/$app/status; kill $app; wait $app 2>/dev/null; true"#;
    let output = std::process::Command::new("xvfb-run")
        .args(["-a", "dbus-run-session", "--", "sh", "-c", script])
        .arg(desktop)
        .env("ROUSE_HOME", home.path())
        .env("ROUSE_LOCAL_MODELS", "0")
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let kilobytes = text.split_whitespace().find_map(|word| word.parse::<f64>().ok());
    match kilobytes {
        Some(kilobytes) => report.note(
            "resident memory of the app without a window",
            format!("{:.1} MB", kilobytes / 1_024.0),
        ),
        None => report.note(
            "resident memory of the app without a window",
            "not measured: the app did not start".to_owned(),
        ),
    }
    Ok(())
}

fn context_switches(pid: u32) -> anyhow::Result<u64> {
    let mut switches = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = fs::read_to_string(task?.path().join("status"))?;
        let counts = status.lines().filter(|line| line.contains("ctxt_switches"));
        switches += counts
            .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
            .sum::<u64>();
    }
    Ok(switches)
}

/// The proportional set size of a process (proc_pid_smaps(5)).
pub(crate) fn proportional_mb(pid: u32) -> anyhow::Result<f64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = rollup.lines().find(|line| line.starts_with("Pss:")).unwrap_or_default();
    let kilobytes: f64 = line.split_whitespace().nth(1).unwrap_or("0").parse()?;
    Ok(kilobytes / 1_024.0)
}
