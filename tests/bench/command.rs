//! The `rouse` command as a whole process, from start to exit.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::engine::{BenchEngine, Programs};
use crate::report::{Report, millis_of, quantile};

pub(crate) async fn measure(programs: &Programs, report: &mut Report) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let engine = BenchEngine::start(programs, home.path())?;
    let baseline = empty_process_ms(programs, &engine.home)?;
    report.note("baseline: rouse --version (an empty process), p50", format!("{baseline:.2} ms"));
    let add =
        &["cron", "add", "--every", "1h", "--tool", "echo", "--arguments", r#"{"text":"x"}"#][..];
    report.millis("rouse cron add, p50", measure_command(programs, &engine.home, add, 20)?, 15.0);
    report.millis(
        "rouse cron list, p50",
        measure_command(programs, &engine.home, &["cron", "list"], 20)?,
        15.0,
    );
    engine.stop();
    Ok(())
}

/// The median milliseconds of an otherwise empty process.
pub(crate) fn empty_process_ms(programs: &Programs, home: &Path) -> anyhow::Result<f64> {
    measure_command(programs, home, &["--version"], 20)
}

fn measure_command(
    programs: &Programs,
    home: &Path,
    arguments: &[&str],
    times: usize,
) -> anyhow::Result<f64> {
    let mut elapsed = Vec::new();
    for _ in 0..times {
        #[expect(clippy::disallowed_methods, reason = "a bench measures")]
        let started = Instant::now();
        let status = Command::new(&programs.rouse)
            .args(arguments)
            .env("ROUSE_HOME", home)
            .stdout(Stdio::null())
            .status()?;
        elapsed.push(millis_of(started.elapsed()));
        anyhow::ensure!(status.success(), "rouse {arguments:?} failed");
    }
    Ok(quantile(&mut elapsed, 0.5))
}
