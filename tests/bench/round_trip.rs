//! The `rouse` command as a whole process, from start to exit.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::engine::{Engine, Programs};
use crate::report::{Report, millis_of, quantile};

pub(crate) async fn of_the_command(programs: &Programs, report: &mut Report) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let engine = Engine::start(programs, home.path())?;
    let floor = of_nothing(programs, &engine.home)?;
    report.note("rouse --version (a process and nothing else), p50", format!("{floor:.2} ms"));
    let add =
        &["cron", "add", "--every", "1h", "--tool", "echo", "--arguments", r#"{"text":"x"}"#][..];
    report.millis("rouse cron add, p50", run(programs, &engine.home, add, 20)?, 15.0);
    report.millis(
        "rouse cron list, p50",
        run(programs, &engine.home, &["cron", "list"], 20)?,
        15.0,
    );
    engine.stop()
}

/// Milliseconds of a process and nothing else, at the median.
pub(crate) fn of_nothing(programs: &Programs, home: &Path) -> anyhow::Result<f64> {
    run(programs, home, &["--version"], 20)
}

fn run(programs: &Programs, home: &Path, arguments: &[&str], times: usize) -> anyhow::Result<f64> {
    let mut took = Vec::new();
    for _ in 0..times {
        #[expect(clippy::disallowed_methods, reason = "a bench measures")]
        let began = Instant::now();
        let status = Command::new(&programs.rouse)
            .args(arguments)
            .env("ROUSE_HOME", home)
            .stdout(Stdio::null())
            .status()?;
        took.push(millis_of(began.elapsed()));
        anyhow::ensure!(status.success(), "rouse {arguments:?} failed");
    }
    Ok(quantile(&mut took, 0.5))
}
