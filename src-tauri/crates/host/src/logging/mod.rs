//! Logs: short lines on the terminal, JSON lines in files.
//!
//! Files rotate daily and at 8 MB; a week and at most 64 MB are kept. `ROUSE_LOG` sets the level in tracing's syntax.
//! Prompts and answers are logged only with `ROUSE_LOG_PAYLOADS=1` (target `rouse::payloads`); secrets never. Debug
//! lines of hyper and reqwest may contain headers, so those crates log warnings only, and rig logs nothing, because
//! it quotes providers that repeat prompts. A log that cannot be written is reported once on standard error and in
//! the status, and stops nothing. A blocked terminal stops nothing either: its lines are written by another thread
//! and dropped when the buffer is full.

mod file;
mod layer;
mod terminal;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use crate::clock::SystemClock;
use file::DailyFile;
use layer::{LineFormat, LogLines};
use terminal::TerminalFlush;
pub use terminal::print_error_line;

const CRATE_LEVELS: &str = "hyper=warn,reqwest=warn,rig=off,rig_core=off,rmcp=warn,h2=warn,rustls=warn,sqlx=warn,zbus=warn,tao=warn,wry=warn";

/// Buffered lines for the file. The buffer is allocated at once; the library's default of 128,000 lines takes 4 MB.
const WAITING_LINES: usize = 4_096;

/// The problem of this process's log. A process has one log, as it has one subscriber.
static LOG_PROBLEM: Mutex<Option<String>> = Mutex::new(None);

/// Keeps the writers alive. Dropping it flushes the file, then the terminal if that is being read.
pub struct Logging {
    _file: WorkerGuard,
    _terminal: TerminalFlush,
}

/// Starts logging for this process with files in `folder`. `verbose` puts info lines on standard output; otherwise
/// only warnings reach the terminal, on standard error.
#[must_use]
pub fn start(folder: &Path, env: &dyn Fn(&str) -> Option<String>, verbose: bool) -> Logging {
    let wanted = env("ROUSE_LOG");
    let level = wanted.as_deref().unwrap_or("info");
    let payloads = if env("ROUSE_LOG_PAYLOADS").as_deref() == Some("1") { "info" } else { "off" };
    let rules = format!("{CRATE_LEVELS},rouse::payloads={payloads}");
    let level_error = level_problem(level);
    let level = if level_error.is_some() { "info" } else { level };
    let filter = || EnvFilter::new(format!("{level},{rules}"));
    let terminal = if verbose { terminal::out() } else { terminal::err() };
    let terminal =
        LogLines { format: LineFormat::Text, writer: terminal, clock: SystemClock::default() };
    let terminal_filter = if verbose {
        filter()
    } else {
        EnvFilter::new("warn,rig=off,rig_core=off,rouse::payloads=off")
    };
    let mut file =
        DailyFile::new(folder.to_owned(), Arc::new(SystemClock::default()), report_problem);
    file.prepare();
    let (writer, guard) =
        NonBlockingBuilder::default().buffered_lines_limit(WAITING_LINES).finish(file);
    let file = LogLines { format: LineFormat::Json, writer, clock: SystemClock::default() };
    let started = tracing_subscriber::registry()
        .with(terminal.with_filter(terminal_filter))
        .with(file.with_filter(filter()))
        .try_init();
    if let Err(error) = started {
        // Only tests start several engines in one process.
        tracing::debug!(%error, "logging is already started");
    }
    if let Some(level_error) = level_error {
        tracing::warn!("ROUSE_LOG: {level_error}. Rouse logs at `info`.");
    }
    Logging { _file: guard, _terminal: TerminalFlush }
}

/// The problem of a log level; none for a valid level.
///
/// tracing takes an unknown bare word for a module name, which would silence everything else.
fn level_problem(level: &str) -> Option<String> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let words = || level.split(',').map(str::trim).filter(|word| !word.is_empty());
    let is_level = |word: &str| LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word));
    let is_bare = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric());
    if let Some(word) = words().find(|word| is_bare(word) && !is_level(word)) {
        return Some(format!("`{word}` is not a log level; the levels are {}", LEVELS.join(", ")));
    }
    let error = EnvFilter::try_new(level).err()?;
    Some(format!("`{level}` cannot be read ({error})"))
}

/// Why this process's log cannot be written; none if it can.
pub(crate) fn problem() -> Option<String> {
    LOG_PROBLEM.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Stores the problem for the status, and prints a new problem on standard error.
fn report_problem(problem_text: Option<String>) {
    if let Some(sentence) = &problem_text {
        print_error_line(sentence);
    }
    *LOG_PROBLEM.lock().unwrap_or_else(PoisonError::into_inner) = problem_text;
}

#[cfg(test)]
mod tests {
    use super::level_problem;

    #[test]
    fn unknown_level_is_named() {
        for level in
            ["info", "DEBUG", "", "rouse_scheduler=debug", "warn,rouse_host=trace", "rouse_host"]
        {
            assert_eq!(level_problem(level), None, "{level}");
        }
        let problem = level_problem("lowd").expect("wrong");
        assert_eq!(
            problem,
            "`lowd` is not a log level; the levels are off, error, warn, info, debug, trace"
        );
        assert!(
            level_problem("info,rouse_host=lowd").is_some_and(|problem| problem.contains("lowd"))
        );
    }
}
