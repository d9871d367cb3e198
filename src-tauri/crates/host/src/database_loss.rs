//! Detection of a lost database.
//!
//! Owns the difference between a first start and a loss. A first start finds at most a settings file and an empty
//! workspace. Never creates, opens or deletes a file: SQLite would delete the log of an empty database. Pitfall: the
//! log folder alone is no trace, because a failed start creates it too.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use rouse_gateway::Client;

use crate::home::Home;

/// The log line of a started engine.
pub(crate) const READY: &str = "the engine is ready";
/// The searched part of a log, which begins with the start.
const SEARCHED_LOG_BYTES: u64 = 256 * 1024;

/// Why the database counts as lost; none on a first start or with a database.
#[must_use]
pub fn database_loss(home: &Home) -> Option<String> {
    let [database, log, _] = rouse_store::database_files(&home.database());
    let length = |path: &Path| fs::metadata(path).ok().map(|found| found.len());
    if length(&database).is_some_and(|length| length > 0) {
        return None;
    }
    let has_log = length(&log).is_some_and(|length| length > 0);
    let traces: Vec<String> = [
        has_log.then(|| log.display().to_string()),
        existing(&Client::token_path(home.root())),
        existing(&home.secrets()),
        existing(&home.engine_marker()),
        has_files(&home.backups()).then(|| home.backups().display().to_string()),
        has_started_before(&home.logs()).then(|| home.logs().display().to_string()),
        has_files(&home.workspace()).then(|| home.workspace().display().to_string()),
    ]
    .into_iter()
    .flatten()
    .collect();
    if traces.is_empty() {
        return None;
    }
    let state = if database.exists() { "is empty" } else { "is missing" };
    let kept = if has_log { " Its log (rouse.db-wal) is kept as it is." } else { "" };
    Some(format!(
        "The database {} {state}, but Rouse has worked here before (found: {}).{kept} Nothing was changed. \
         To bring a backup back: rouse restore FILE (rouse backup --list shows those in {}). \
         To begin anew without the old jobs, move {} away.",
        database.display(),
        traces.join(", "),
        home.backups().display(),
        home.root().display()
    ))
}

fn existing(path: &Path) -> Option<String> {
    path.exists().then(|| path.display().to_string())
}

/// Whether a folder or a subfolder holds a file.
fn has_files(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => has_files(&entry.path()),
        _ => true,
    })
}

/// Whether a log holds the line of a started engine. The present start has not logged that line yet.
fn has_started_before(logs: &Path) -> bool {
    let Ok(entries) = fs::read_dir(logs) else { return false };
    entries.flatten().any(|entry| {
        let mut text = Vec::new();
        let read = fs::File::open(entry.path())
            .and_then(|file| file.take(SEARCHED_LOG_BYTES).read_to_end(&mut text));
        read.is_ok() && String::from_utf8_lossy(&text).contains(READY)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path());
        (folder, home)
    }

    #[test]
    fn first_start_has_no_traces() {
        let (_folder, home) = home();
        fs::create_dir_all(home.workspace()).expect("made");
        fs::create_dir_all(home.logs()).expect("made");
        fs::write(home.logs().join("rouse.jsonl"), "the settings are wrong").expect("written");
        fs::write(home.config(), "").expect("written");
        assert_eq!(database_loss(&home), None);
        fs::write(home.database(), "").expect("a start that was killed at once");
        assert_eq!(database_loss(&home), None);
    }

    #[test]
    fn trace_without_database_is_named() {
        let traces: [fn(&Home) -> std::path::PathBuf; 5] = [
            |home| Client::token_path(home.root()),
            |home| home.workspace().join("notes/day.md"),
            |home| home.root().join("rouse.db-wal"),
            |home| home.backups().join("rouse-2026-01-01.tar.gz"),
            |home| home.logs().join("rouse.jsonl"),
        ];
        for trace in traces {
            let (_folder, home) = home();
            let path = trace(&home);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(&path, format!("x {READY}")).expect("written");
            let reason = database_loss(&home).expect("refused");
            assert!(
                reason.contains("rouse.db is missing") && reason.contains("rouse restore"),
                "{reason}"
            );
            fs::write(home.database(), "").expect("emptied");
            let reason = database_loss(&home).expect("refused");
            assert!(reason.contains("rouse.db is empty"), "{reason}");
            fs::write(home.database(), "SQLite format 3").expect("there");
            assert_eq!(database_loss(&home), None);
        }
    }
}
