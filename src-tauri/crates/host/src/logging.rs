//! Logs: concise lines on standard error, JSON lines in files that are rotated daily and kept for a week.
//!
//! `ROUSE_LOG` sets the level in tracing's own syntax. Payload texts and secrets are never logged; libraries that see
//! requests (hyper, reqwest, rig) are held at warnings because their debug lines may carry headers.

use std::path::Path;

use tracing_appender::non_blocking::WorkerGuard;
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

const QUIET: &str =
    "hyper=warn,reqwest=warn,rig=warn,h2=warn,rustls=warn,sqlx=warn,zbus=warn,tao=warn,wry=warn";
const FILES_KEPT: usize = 7;

/// Keeps the log file's writer alive; dropping it flushes.
pub struct Logging {
    _file: Option<WorkerGuard>,
}

/// Starts logging for this process; `folder` is where the files go, `verbose` says whether info lines reach the terminal.
#[must_use]
pub fn start(folder: &Path, wanted: Option<&str>, verbose: bool) -> Logging {
    let level = wanted.unwrap_or("info");
    let filter = || {
        EnvFilter::try_new(format!("{level},{QUIET}"))
            .unwrap_or_else(|_| EnvFilter::new(format!("info,{QUIET}")))
    };
    let terminal =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false).compact();
    let terminal_filter = if verbose { filter() } else { EnvFilter::new("warn") };
    let (file, guard) = match file_writer(folder) {
        Some((writer, guard)) => {
            let layer =
                tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(writer);
            (Some(layer.with_filter(filter())), Some(guard))
        }
        None => (None, None),
    };
    let started = tracing_subscriber::registry()
        .with(terminal.with_filter(terminal_filter))
        .with(file)
        .try_init();
    if let Err(error) = started {
        // Only in tests that start several engines in one process.
        tracing::debug!(%error, "logging was started before");
    }
    Logging { _file: guard }
}

/// A data directory that cannot take a log file must not keep the engine from starting.
fn file_writer(
    folder: &Path,
) -> Option<(tracing_appender::non_blocking::NonBlocking, WorkerGuard)> {
    crate::home::make_private_dir(folder).ok()?;
    let appender = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("rouse")
        .filename_suffix("jsonl")
        .max_log_files(FILES_KEPT)
        .build(folder)
        .ok()?;
    Some(tracing_appender::non_blocking(appender))
}
