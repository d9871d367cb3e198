//! `rouse restore`: restores a backup.
//!
//! Owns the order: lock the data directory, unpack and check beside it, move the present files away, mark the
//! database as restored, move the backup in. Deletes nothing: the old database with its log and the old settings move
//! to a folder beside it, and differing files of extensions, skills and workspace stay. Pitfall: moving the database in before
//! marking it; an engine that starts in between would catch up all slots since the backup.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rouse_core::UnixMs;
use rouse_store::{RestoreMark, RestoredPermissions, StoreError, database_files};

use super::archive::{self, CONFIG, DATABASE, EXTENSIONS, SKILLS, WORKSPACE};
use crate::home::{Home, HomeError, make_private_dir};

/// A backup could not be restored. The data is unchanged, unless the message names a folder.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The data directory is locked.
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
        /// The reason.
        source: io::Error,
    },
    /// The backup's database is damaged or unusable.
    #[error("the database in {path} cannot be used: {reason}. Nothing was changed.")]
    Database {
        /// The backup.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A file could not be moved or written.
    #[error("{path} could not be moved or written: {source}. The old files are in {before}.")]
    Move {
        /// The file.
        path: PathBuf,
        /// The folder of the old files.
        before: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// The result of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreReport {
    /// The creation time of the backup.
    pub backup_at: UnixMs,
    /// The folder of the old database and settings; none if there were none.
    pub before: Option<PathBuf>,
    /// The number of restored files of extensions, skills and workspace.
    pub files: usize,
    /// Existing files with other content, which stay.
    pub differing: Vec<PathBuf>,
    /// The grants and approvals of the backup.
    pub permissions: RestoredPermissions,
}

/// Restores the backup `file` into `home`.
///
/// # Errors
/// See the variants.
pub async fn restore(
    home: &Home,
    file: &Path,
    workspace: impl FnOnce(&Home) -> PathBuf,
    now: UnixMs,
) -> Result<RestoreReport, RestoreError> {
    let _owner = home.lock_directory().map_err(|error| match error {
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
    let permissions = check(&database, RestoreMark { backup_at, restored_at: now })
        .await
        .map_err(|reason| RestoreError::Database { path: file.to_owned(), reason })?;
    let before = home.root().join(format!("before-restore-{}", now.0));
    let move_error = |path: &Path| {
        let (path, before) = (path.to_owned(), before.clone());
        move |source| RestoreError::Move { path, before, source }
    };
    let mut has_old_files = false;
    for old in
        database_files(&home.database()).iter().chain([&home.config(), &home.engine_marker()])
    {
        has_old_files |= move_into(old, &before).map_err(move_error(old))?;
    }
    fs::rename(&database, home.database()).map_err(move_error(&home.database()))?;
    let config = beside.join(CONFIG);
    if config.exists() {
        fs::rename(&config, home.config()).map_err(move_error(&home.config()))?;
    }
    let mut report = RestoreReport {
        backup_at,
        before: has_old_files.then(|| before.clone()),
        files: 0,
        differing: Vec::new(),
        permissions,
    };
    let lock = home.extensions_lock();
    restore_missing_file(&beside.join(EXTENSIONS), &lock, &mut report)
        .map_err(move_error(&lock))?;
    let workspace = workspace(home);
    for (name, folder) in [(SKILLS, home.skills()), (WORKSPACE, workspace)] {
        restore_missing(&beside.join(name), &folder, &mut report).map_err(move_error(&folder))?;
    }
    Ok(report)
}

/// Checks the database and marks it as restored. Returns its permissions.
async fn check(database: &Path, restored: RestoreMark) -> Result<RestoredPermissions, String> {
    if !database.exists() {
        return Err("it is missing".to_owned());
    }
    let error_text = |error: StoreError| error.to_string();
    let complaints = rouse_store::integrity_problems(database).await.map_err(error_text)?;
    if !complaints.is_empty() {
        return Err(format!("it is damaged: {}", complaints.join("; ")));
    }
    rouse_store::mark_restored(database, restored).await.map_err(error_text)
}

/// Moves a file into a new folder. Returns whether the file existed.
fn move_into(old: &Path, folder: &Path) -> io::Result<bool> {
    if !old.exists() {
        return Ok(false);
    }
    make_private_dir(folder)?;
    let name = old.file_name().unwrap_or_default();
    fs::rename(old, folder.join(name)).map(|()| true)
}

/// Copies the files below `from` that are missing below `to`.
fn restore_missing(from: &Path, to: &Path, report: &mut RestoreReport) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(from) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if !entry.file_type()?.is_dir() {
            restore_missing_file(&source, &target, report)?;
            continue;
        }
        // A command may have replaced a folder by a link; nothing is written through links.
        match target.symlink_metadata() {
            Ok(present) if !present.is_dir() => report.differing.push(target),
            // A missing folder is created with its first file.
            _ => restore_missing(&source, &target, report)?,
        }
    }
    Ok(())
}

/// Copies the file `from`, if there is one, to `to`. An existing file or link stays.
fn restore_missing_file(from: &Path, to: &Path, report: &mut RestoreReport) -> io::Result<()> {
    if !from.exists() {
        return Ok(());
    }
    match to.symlink_metadata() {
        Ok(present) => {
            // A file that cannot be read differs.
            let is_same = present.is_file() && fs::read(to).ok() == Some(fs::read(from)?);
            if !is_same {
                report.differing.push(to.to_owned());
            }
        }
        Err(_) => {
            if let Some(folder) = to.parent() {
                make_private_dir(folder)?;
            }
            fs::copy(from, to)?;
            report.files += 1;
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn empty_report() -> RestoreReport {
        RestoreReport {
            backup_at: UnixMs(0),
            before: None,
            files: 0,
            differing: Vec::new(),
            permissions: RestoredPermissions { grants: 0, pending_approvals: 0 },
        }
    }

    #[test]
    fn missing_file_returns_and_other_file_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let mut report = empty_report();
        restore_missing_file(&at("backup"), &at("lock"), &mut report).expect("nothing to do");
        assert!(!at("lock").exists() && report == empty_report());
        fs::write(at("backup"), "old").expect("written");
        restore_missing_file(&at("backup"), &at("lock"), &mut report).expect("restored");
        assert_eq!(fs::read_to_string(at("lock")).expect("back"), "old");
        restore_missing_file(&at("backup"), &at("lock"), &mut report).expect("the same");
        assert_eq!((report.files, report.differing.len()), (1, 0));
        fs::write(at("lock"), "new").expect("written");
        restore_missing_file(&at("backup"), &at("lock"), &mut report).expect("stays");
        assert_eq!(fs::read_to_string(at("lock")).expect("there"), "new");
        assert_eq!(report.differing, [at("lock")]);
    }

    #[test]
    fn restore_does_not_follow_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["backup/notes", "backup/kept", "workspace/kept", "outside"] {
            fs::create_dir_all(at(name)).expect("made");
        }
        fs::write(at("backup/notes/evil.desktop"), "Exec=touch x").expect("written");
        fs::write(at("backup/kept/day.md"), "Tea").expect("written");
        std::os::unix::fs::symlink(at("outside"), at("workspace/notes")).expect("a link");
        let mut report = empty_report();
        restore_missing(&at("backup"), &at("workspace"), &mut report).expect("restored");
        assert!(!at("outside/evil.desktop").exists());
        assert_eq!(report.differing, [at("workspace/notes")]);
        assert_eq!(fs::read_to_string(at("workspace/kept/day.md")).expect("back"), "Tea");
        assert_eq!(report.files, 1);
    }
}
