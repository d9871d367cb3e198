//! Backups: a daily file of everything that cannot be recreated.
//!
//! Owns the folder `backups`, its limits, and `restore`. A backup holds database, settings, extensions,
//! skills and workspace text, and no secret. Never deletes the newest backup. Pitfall: copying the database file instead of using SQLite's
//! backup misses the write-ahead log.

mod archive;
mod daily_backup;
mod restore;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rouse_core::tool::BoxFuture;
use rouse_core::{Clock, UnixMs};
use rouse_gateway::wire::{BackupView, BackupsView};
use rouse_gateway::{Backups, RpcError};
use rouse_store::StoreError;

use crate::clock::SystemClock;
use crate::config::{ConfigError, ConfigFile, MachineFacts};
use crate::home::{Home, make_private_dir};
use archive::{BackupSources, Manifest};
pub(crate) use daily_backup::DailyBackup;
pub use restore::{RestoreError, RestoreReport, restore};

/// The number of kept backups.
const KEPT_BACKUPS: usize = 7;
/// The maximum size of all backups; the newest is always kept.
const MAX_TOTAL_BYTES: u64 = 1024 * 1024 * 1024;
const PREFIX: &str = "rouse-";
const SUFFIX: &str = ".tar.gz";

/// A backup could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The database could not be copied.
    #[error("the database could not be copied")]
    Database(#[source] StoreError),
    /// The file could not be written.
    #[error("{path} could not be written")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system error.
        #[source]
        source: io::Error,
    },
}

/// A backup in the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// The file.
    pub path: PathBuf,
    /// The creation time.
    pub made_at: UnixMs,
    /// The size.
    pub bytes: u64,
    /// The number of skill and workspace files that exceed the size limits.
    pub omitted_files: u64,
}

/// The backup folder of a data directory.
#[derive(Clone)]
pub struct BackupFolder {
    home: Home,
    workspace: PathBuf,
    clock: Arc<dyn Clock>,
}

impl BackupFolder {
    /// The backups of `home` with the file tools' `workspace`.
    #[must_use]
    pub fn of(home: Home, workspace: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self { home, workspace, clock }
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.home.backups()
    }

    /// The readable backups, newest first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn list(&self) -> io::Result<Vec<Backup>> {
        list(&self.path())
    }

    /// Creates today's backup, replacing an earlier backup of today, and deletes old backups.
    ///
    /// # Errors
    /// The database cannot be copied, or the file cannot be written. Earlier backups stay.
    pub async fn create(&self) -> Result<Backup, BackupError> {
        let (folder, now) = (self.path(), self.clock.now());
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| BackupError::Write { path, source }
        };
        make_private_dir(&folder).map_err(failed(&folder))?;
        let copy = folder.join(format!("copy-{}.db", std::process::id()));
        // Left by a killed process with the same id.
        drop(std::fs::remove_file(&copy));
        rouse_store::copy_database(&self.home.database(), &copy)
            .await
            .map_err(BackupError::Database)?;
        let to = folder.join(file_name(now));
        let (this, path, database) = (self.clone(), to.clone(), copy.clone());
        let written = tokio::task::spawn_blocking(move || {
            let sources = BackupSources {
                database: &database,
                config: &this.home.config(),
                extensions: &this.home.extensions_lock(),
                skills: &this.home.skills(),
                workspace: &this.workspace,
            };
            let written = archive::write(&path, Manifest::new(now.0), &sources);
            drop(std::fs::remove_file(&database));
            let omitted_files = written?.omitted_files;
            prune(&this.path());
            let bytes = std::fs::metadata(&path)?.len();
            Ok(Backup { path, made_at: now, bytes, omitted_files })
        });
        written.await.map_err(io::Error::other).flatten().map_err(failed(&to))
    }

    fn has_backup_of_today(&self) -> bool {
        self.path().join(file_name(self.clock.now())).exists()
    }
}

/// The workspace of `home`, read from its settings file.
///
/// # Errors
/// The settings file cannot be read.
pub fn workspace_of(home: &Home) -> Result<PathBuf, ConfigError> {
    let zones = SystemClock::default().zones();
    let machine = MachineFacts {
        env: &|name| std::env::var(name).ok(),
        zones: &zones,
        secrets: None,
        recipients: None,
    };
    let file = ConfigFile::open(&home.config(), &home.workspace(), machine)?;
    Ok(file.config().workspace.clone())
}

/// The name of a day's backup. The day is in UTC, as in log names.
fn file_name(now: UnixMs) -> String {
    format!("{PREFIX}{}{SUFFIX}", now.to_utc().format("%Y-%m-%d"))
}

fn list(folder: &Path) -> io::Result<Vec<Backup>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with(PREFIX) || !name.ends_with(SUFFIX) {
            continue;
        }
        match archive::manifest(&path).and_then(|manifest| Ok((manifest, path.metadata()?))) {
            Ok((manifest, data)) => {
                let Manifest { made_at_ms, omitted_files, .. } = manifest;
                let (made_at, bytes) = (UnixMs(made_at_ms), data.len());
                found.push(Backup { path, made_at, bytes, omitted_files });
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a backup cannot be read");
            }
        }
    }
    found.sort_by_key(|backup| std::cmp::Reverse(backup.made_at));
    Ok(found)
}

/// Deletes backups beyond the number and the total size.
fn prune(folder: &Path) {
    let Ok(all) = list(folder) else { return };
    let mut bytes = 0;
    for (position, backup) in all.iter().enumerate() {
        bytes += backup.bytes;
        if position > 0
            && (position >= KEPT_BACKUPS || bytes > MAX_TOTAL_BYTES)
            && let Err(error) = std::fs::remove_file(&backup.path)
        {
            tracing::warn!(path = %backup.path.display(), %error, "an old backup could not be deleted");
        }
    }
}

impl Backups for BackupFolder {
    fn list(&self) -> BoxFuture<'_, Result<BackupsView, RpcError>> {
        Box::pin(async move {
            let (folder, shown) = (self.path(), self.path().display().to_string());
            let found = tokio::task::spawn_blocking(move || list(&folder));
            let found = found.await.map_err(io::Error::other).flatten();
            let found = found.map_err(|error| RpcError::internal(&error))?;
            Ok(BackupsView { folder: shown, backups: found.into_iter().map(view).collect() })
        })
    }

    fn create(&self) -> BoxFuture<'_, Result<BackupView, RpcError>> {
        Box::pin(async move {
            let made = Self::create(self).await;
            made.map(view).map_err(|error| RpcError::internal(&error))
        })
    }
}

fn view(backup: Backup) -> BackupView {
    BackupView {
        path: backup.path.display().to_string(),
        made_at_ms: backup.made_at.0,
        bytes: backup.bytes,
        omitted_files: backup.omitted_files,
    }
}
