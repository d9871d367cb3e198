//! `rouse restore`: the way back from a backup.
//!
//! Owns the order: take the data directory, unpack and check beside it, move what is there away, move the backup in, and
//! mark the database as restored. Nothing is deleted: the old database with its log and the old settings go into a folder
//! beside it, and files of the workspace and skills that differ stay as they are. Pitfall: moving the database in before it
//! is marked; an engine that starts in between would make up for every slot since the backup.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rouse_core::UnixMs;
use rouse_store::{Restored, StoreError, database_files};

use super::archive::{self, CONFIG, DATABASE, SKILLS, WORKSPACE};
use crate::home::{Home, HomeError, make_private_dir};

/// A backup could not be restored. The data is as it was, unless the message names a folder.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Somebody owns the data directory.
    #[error(
        "Rouse is running. Stop it (Ctrl+C where `rouse serve` runs, or Quit in the tray menu), then restore again."
    )]
    Running,
    /// The data directory cannot be used.
    #[error(transparent)]
    Home(HomeError),
    /// The backup cannot be read.
    #[error("{path} cannot be restored: {source}. Nothing was changed.")]
    Unreadable {
        /// The backup.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The database in it is damaged or cannot be used.
    #[error("the database in {path} cannot be used: {why}. Nothing was changed.")]
    Database {
        /// The backup.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A file could not be moved or written.
    #[error(
        "{path} could not be moved or written: {source}. What was there before is in {before}."
    )]
    Move {
        /// The file.
        path: PathBuf,
        /// Where the old files are.
        before: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreReport {
    /// When the backup was made.
    pub backup_at: UnixMs,
    /// Where the old database and settings are; none where there were none.
    pub before: Option<PathBuf>,
    /// Files of workspace and skills that came back.
    pub files: usize,
    /// Files that are there with another content and stay.
    pub differing: Vec<PathBuf>,
    /// How many grants of the backup count again.
    pub grants: usize,
}

/// Restores the backup `file` into `home`.
///
/// # Errors
/// As the variants say.
pub async fn restore(
    home: &Home,
    file: &Path,
    workspace: impl FnOnce(&Home) -> PathBuf,
    now: UnixMs,
) -> Result<RestoreReport, RestoreError> {
    let _owner = home.own().map_err(|error| match error {
        HomeError::Owned(_) => RestoreError::Running,
        other => RestoreError::Home(other),
    })?;
    let beside = home.root().join(format!("restore-{}", std::process::id()));
    let restored = restore_beside(home, file, &beside, workspace, now).await;
    drop(fs::remove_dir_all(&beside));
    restored
}

async fn restore_beside(
    home: &Home,
    file: &Path,
    beside: &Path,
    workspace: impl FnOnce(&Home) -> PathBuf,
    now: UnixMs,
) -> Result<RestoreReport, RestoreError> {
    let unreadable = |source| RestoreError::Unreadable { path: file.to_owned(), source };
    make_private_dir(beside).map_err(unreadable)?;
    let manifest = archive::unpack(file, beside).map_err(unreadable)?;
    let backup_at = UnixMs(manifest.made_at_ms);
    let database = beside.join(DATABASE);
    let grants = check(&database, Restored { backup_at, restored_at: now })
        .await
        .map_err(|why| RestoreError::Database { path: file.to_owned(), why })?;
    let before = home.root().join(format!("before-restore-{}", now.0));
    let moved = |path: &Path| {
        let (path, before) = (path.to_owned(), before.clone());
        move |source| RestoreError::Move { path, before, source }
    };
    let mut had_any = false;
    for old in database_files(&home.database()).iter().chain([&home.config(), &home.running_mark()])
    {
        had_any |= move_into(old, &before).map_err(moved(old))?;
    }
    fs::rename(&database, home.database()).map_err(moved(&home.database()))?;
    let config = beside.join(CONFIG);
    if config.exists() {
        fs::rename(&config, home.config()).map_err(moved(&home.config()))?;
    }
    let mut report = RestoreReport {
        backup_at,
        before: had_any.then(|| before.clone()),
        files: 0,
        differing: Vec::new(),
        grants,
    };
    let workspace = workspace(home);
    for (name, folder) in [(SKILLS, home.skills()), (WORKSPACE, workspace)] {
        bring_back(&beside.join(name), &folder, &mut report).map_err(moved(&folder))?;
    }
    Ok(report)
}

/// Whether the database is whole; then it is marked. Answers how many grants it holds.
async fn check(database: &Path, restored: Restored) -> Result<usize, String> {
    if !database.exists() {
        return Err("it is missing".to_owned());
    }
    let words = |error: StoreError| error.to_string();
    let complaints = rouse_store::damage(database).await.map_err(words)?;
    if !complaints.is_empty() {
        return Err(format!("it is damaged: {}", complaints.join("; ")));
    }
    rouse_store::mark_restored(database, restored).await.map_err(words)
}

/// Moves a file into a folder, which is made; whether there was one.
fn move_into(old: &Path, folder: &Path) -> io::Result<bool> {
    if !old.exists() {
        return Ok(false);
    }
    make_private_dir(folder)?;
    let name = old.file_name().unwrap_or_default();
    fs::rename(old, folder.join(name)).map(|()| true)
}

/// Copies the files below `from` that are missing below `to`.
fn bring_back(from: &Path, to: &Path, report: &mut RestoreReport) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(from) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        // A command may have put a link in the place of a folder: nothing is written through it.
        let present = target.symlink_metadata().ok();
        match present {
            None if entry.file_type()?.is_dir() => bring_back(&source, &target, report)?,
            None => {
                make_private_dir(to)?;
                fs::copy(&source, &target)?;
                report.files += 1;
            }
            Some(present) if present.is_dir() && entry.file_type()?.is_dir() => {
                bring_back(&source, &target, report)?;
            }
            Some(present)
                if present.is_file() && fs::read(&target).ok() == Some(fs::read(&source)?) => {}
            Some(_) => report.differing.push(target),
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn restore_writes_through_no_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["backup/notes", "backup/kept", "workspace/kept", "outside"] {
            fs::create_dir_all(at(name)).expect("made");
        }
        fs::write(at("backup/notes/evil.desktop"), "Exec=touch x").expect("written");
        fs::write(at("backup/kept/day.md"), "Tea").expect("written");
        std::os::unix::fs::symlink(at("outside"), at("workspace/notes")).expect("a link");
        let mut report = RestoreReport {
            backup_at: UnixMs(0),
            before: None,
            files: 0,
            differing: Vec::new(),
            grants: 0,
        };
        bring_back(&at("backup"), &at("workspace"), &mut report).expect("restored");
        assert!(!at("outside/evil.desktop").exists());
        assert_eq!(report.differing, [at("workspace/notes")]);
        assert_eq!(fs::read_to_string(at("workspace/kept/day.md")).expect("back"), "Tea");
        assert_eq!(report.files, 1);
    }
}
