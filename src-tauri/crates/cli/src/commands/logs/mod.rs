//! `rouse logs`: the engine's log.
//!
//! Reads the log files without the engine, so the log of an ended engine is available. Skips lines that are not JSON.
//! Pitfall: leaving the file of a day when the next file appears; the last lines may be unread.

mod line_filter;
mod log_file;

use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use self::line_filter::LogLineFilter;
use self::log_file::{LogFile, log_paths};
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

/// The polling interval of --follow.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run: id, start or end of the id, or `last` [default: all runs]
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Job: id, id prefix or exact name [default: all jobs]
    #[arg(long, value_name = "ID")]
    job: Option<String>,
    /// Number of newest lines
    #[arg(long, short = 'n', default_value_t = 50)]
    lines: usize,
    /// Print new lines
    #[arg(long, short)]
    follow: bool,
}

pub(crate) async fn run(args: &Args, engine: &EngineConnection) -> Result<(), CliError> {
    let folder = engine.home.logs();
    let filter =
        LogLineFilter::resolve(args.run.as_deref(), args.job.as_deref(), engine, &folder).await?;
    let mut newest = None;
    let mut lines = Vec::new();
    for path in log_paths(&folder)? {
        let mut file = LogFile::open(&path)?;
        while let Some(line) = file.next_line()? {
            lines.extend(Some(line).filter(|line| filter.is_match(line)));
        }
        lines.drain(..lines.len().saturating_sub(args.lines));
        newest = Some(file);
    }
    for line in &lines {
        print_line(engine, line)?;
    }
    if newest.is_none() {
        let folder = folder.display();
        anstream::eprintln!("No log yet: Rouse writes the log into {folder} after the start.");
    }
    match (args.follow, lines.is_empty()) {
        (true, _) => follow(&filter, engine, &folder, newest).await,
        (false, true) => filter.explain_no_lines(engine).await,
        (false, false) => Ok(()),
    }
}

/// Prints new lines until the command is interrupted or the pipe is closed.
async fn follow(
    filter: &LogLineFilter,
    engine: &EngineConnection,
    folder: &Path,
    mut newest: Option<LogFile>,
) -> Result<(), CliError> {
    while print_new_lines(filter, engine, newest.as_mut())? {
        #[expect(clippy::disallowed_methods, reason = "a growing file sends no event")]
        tokio::time::sleep(POLL_INTERVAL).await;
        if let Some(file) = &mut newest {
            file.reopen_if_replaced()?;
        }
        // With a file of a new day, the older file is complete.
        let mut later = log_paths(folder)?;
        later.retain(|path| newest.as_ref().is_none_or(|file| *path > file.path));
        for path in later {
            print_new_lines(filter, engine, newest.as_mut())?;
            newest = Some(LogFile::open(&path)?);
        }
    }
    Ok(())
}

/// Prints the unread lines. False if the pipe is closed.
fn print_new_lines(
    filter: &LogLineFilter,
    engine: &EngineConnection,
    file: Option<&mut LogFile>,
) -> Result<bool, CliError> {
    let Some(file) = file else { return Ok(true) };
    while let Some(line) = file.next_line()? {
        if filter.is_match(&line) && !print_line(engine, &line)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Prints a line. False if the pipe is closed.
fn print_line(engine: &EngineConnection, line: &Value) -> Result<bool, CliError> {
    let text = if engine.json { line.to_string() } else { escape(&line_text(line)) };
    match writeln!(anstream::stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        printed => Ok(printed.map(|()| true)?),
    }
}

/// Time, level and message, then the other fields.
fn line_text(line: &Value) -> String {
    let field = |key: &str| line[key].as_str().unwrap_or_default();
    let mut text = format!("{} {:5} {}", field("time"), field("level"), field("message"));
    for (key, value) in line.as_object().into_iter().flatten() {
        let is_default_name = key == "name" && value == "rouse";
        if !["time", "level", "message", "module"].contains(&key.as_str()) && !is_default_name {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            text += &format!("  {key}={value}");
        }
    }
    text
}
