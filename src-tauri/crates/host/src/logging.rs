//! Logs: concise lines on the terminal, JSON lines in files: a new one each day and every 8 MB, kept for a week and up
//! to 64 MB in all.
//!
//! `ROUSE_LOG` sets the level in tracing's own syntax. What a job is told and what it answers is logged only with
//! `ROUSE_LOG_PAYLOADS=1`, which opens the target `rouse::payloads`; secrets are never logged. Libraries that see
//! requests (hyper, reqwest) are held at warnings because their debug lines may carry headers, and rig at nothing: it warns in
//! the words of providers, who repeat what they were told. A log that cannot be
//! written is said once, on standard error and to whoever asks for the status, and keeps nothing from running. Nor does a
//! terminal that nobody reads: its lines are written aside, and those that find no room there are only in the file.

mod file;
mod lines;
mod terminal;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use crate::clock::SystemClock;
use file::DailyFile;
use lines::{Lines, Look};
use terminal::LastLines;
pub use terminal::say_aside;

const QUIET: &str = "hyper=warn,reqwest=warn,rig=off,rig_core=off,h2=warn,rustls=warn,sqlx=warn,zbus=warn,tao=warn,wry=warn";

/// Lines that may wait for the file. Their places are memory from the start; the library's own 128,000 are 4 MB of it.
const WAITING_LINES: usize = 4_096;

/// The trouble of this process's log. There is one log a process, as there is one subscriber.
static TROUBLE: Mutex<Option<String>> = Mutex::new(None);

/// Keeps the writers alive; dropping it flushes the file, then the terminal as far as somebody reads it.
pub struct Logging {
    _file: WorkerGuard,
    _terminal: LastLines,
}

/// Starts logging for this process; `folder` is where the files go. `verbose` puts info lines on standard output;
/// without it only warnings reach the terminal, on standard error.
#[must_use]
pub fn start(folder: &Path, env: &dyn Fn(&str) -> Option<String>, verbose: bool) -> Logging {
    let wanted = env("ROUSE_LOG");
    let level = wanted.as_deref().unwrap_or("info");
    let payloads = if env("ROUSE_LOG_PAYLOADS").as_deref() == Some("1") { "info" } else { "off" };
    let rules = format!("{QUIET},rouse::payloads={payloads}");
    let wrong = wrong_level(level);
    let level = if wrong.is_some() { "info" } else { level };
    let filter = || EnvFilter::new(format!("{level},{rules}"));
    let terminal = if verbose { terminal::out() } else { terminal::err() };
    let terminal = Lines { look: Look::Words, writer: terminal, clock: SystemClock::default() };
    let terminal_filter = if verbose {
        filter()
    } else {
        EnvFilter::new("warn,rig=off,rig_core=off,rouse::payloads=off")
    };
    let mut file = DailyFile::new(folder.to_owned(), Arc::new(SystemClock::default()), tell);
    file.prepare();
    let (writer, guard) =
        NonBlockingBuilder::default().buffered_lines_limit(WAITING_LINES).finish(file);
    let file = Lines { look: Look::Json, writer, clock: SystemClock::default() };
    let started = tracing_subscriber::registry()
        .with(terminal.with_filter(terminal_filter))
        .with(file.with_filter(filter()))
        .try_init();
    if let Err(error) = started {
        // Only in tests that start several engines in one process.
        tracing::debug!(%error, "logging was started before");
    }
    if let Some(wrong) = wrong {
        tracing::warn!("ROUSE_LOG: {wrong}. The log is kept at `info`.");
    }
    Logging { _file: guard, _terminal: LastLines }
}

/// What is wrong with a level of the log; none when it is one. A bare word that is no level would be taken for the name of a
/// part of the program, and everything else would be silent.
fn wrong_level(level: &str) -> Option<String> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let words = || level.split(',').map(str::trim).filter(|word| !word.is_empty());
    let is_level = |word: &str| LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word));
    let is_bare = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric());
    if let Some(word) = words().find(|word| is_bare(word) && !is_level(word)) {
        return Some(format!("`{word}` is no level; levels are {}", LEVELS.join(", ")));
    }
    let error = EnvFilter::try_new(level).err()?;
    Some(format!("`{level}` cannot be read ({error})"))
}

/// Why this process's log cannot be written, in words; none while it can.
pub(crate) fn problem() -> Option<String> {
    TROUBLE.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Keeps the trouble for the status and says a new one on standard error, because the log cannot.
fn tell(trouble: Option<String>) {
    if let Some(sentence) = &trouble {
        say_aside(sentence);
    }
    *TROUBLE.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
}

#[cfg(test)]
mod tests {
    use super::wrong_level;

    #[test]
    fn a_word_that_is_no_level_is_named() {
        for good in
            ["info", "DEBUG", "", "rouse_scheduler=debug", "warn,rouse_host=trace", "rouse_host"]
        {
            assert_eq!(wrong_level(good), None, "{good}");
        }
        let said = wrong_level("lowd").expect("wrong");
        assert_eq!(said, "`lowd` is no level; levels are off, error, warn, info, debug, trace");
        assert!(wrong_level("info,rouse_host=lowd").is_some_and(|said| said.contains("lowd")));
    }
}
