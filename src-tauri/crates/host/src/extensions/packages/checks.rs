//! The comparison of installed files with the accepted files before a start.
//!
//! Owns the record of the last full comparison, in memory: sizes and times are enough until something differs, a day is
//! over, or the engine restarts. Never repairs a file. Pitfall: a list beside the files; its own hash is in
//! `extensions.lock`, so a changed list is a difference too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rouse_core::Clock;
use rouse_core::extension::ExtensionName;
use rouse_core::extension::package::{ExtensionSource, FileChange, FileList, InstalledPackage};
use rouse_core::text::escape_line;

use super::files::{FileStamps, hash_files, stamp_files};
use super::site::PackageSite;

/// The time after which all files are hashed again.
const FULL_PERIOD: Duration = Duration::from_hours(24);

/// The comparisons of all packages.
pub(in crate::extensions) struct PackageChecks {
    folders: PathBuf,
    clock: Arc<dyn Clock>,
    passed: Mutex<BTreeMap<ExtensionName, PassedCheck>>,
}

/// A full comparison without a difference.
struct PassedCheck {
    /// The hash of the accepted list.
    sha256: String,
    stamps: FileStamps,
    /// The monotonic time of the comparison.
    at: Duration,
}

/// The files of a package, compared with the accepted files.
struct ComparedFiles {
    changes: Vec<FileChange>,
    stamps: FileStamps,
}

impl PackageChecks {
    /// Packages below the private `folders` of all servers.
    pub(in crate::extensions) fn new(folders: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self { folders, clock, passed: Mutex::default() }
    }

    /// Compares the files before a start.
    ///
    /// # Errors
    /// A file differs or cannot be read: the difference as a sentence.
    pub(in crate::extensions) async fn check(
        &self,
        name: &ExtensionName,
        package: &InstalledPackage,
    ) -> Result<(), String> {
        let now = self.clock.monotonic();
        let passed = self.passed().remove(name).filter(|passed| {
            passed.sha256 == package.files.sha256 && now.saturating_sub(passed.at) < FULL_PERIOD
        });
        if let Some(passed) = passed {
            let folder = self.folder_of(name, package);
            let stamps = off_thread(move || stamp_files(&folder)).await?;
            if stamps == passed.stamps {
                self.passed().insert(name.clone(), passed);
                return Ok(());
            }
        }
        let ComparedFiles { changes, stamps } = self.compare(name, package).await?;
        if let Some(difference) = difference_text(&changes) {
            return Err(difference);
        }
        let sha256 = package.files.sha256.clone();
        self.passed().insert(name.clone(), PassedCheck { sha256, stamps, at: now });
        Ok(())
    }

    /// All differences of the files.
    ///
    /// # Errors
    /// The files or their list cannot be read: cause and remedy as sentences.
    pub(in crate::extensions) async fn changes(
        &self,
        name: &ExtensionName,
        package: &InstalledPackage,
    ) -> Result<Vec<FileChange>, String> {
        Ok(self.compare(name, package).await?.changes)
    }

    async fn compare(
        &self,
        name: &ExtensionName,
        package: &InstalledPackage,
    ) -> Result<ComparedFiles, String> {
        let folder = self.folder_of(name, package);
        let list = PackageSite::new(&self.folders, name).list;
        let sha256 = package.files.sha256.clone();
        let missing = missing_files(name, &package.source);
        off_thread(move || {
            // A restored backup has neither.
            if !list.exists() || !folder.is_dir() {
                return Err(missing);
            }
            let accepted = accepted_files(&list, &sha256)?;
            let found = hash_files(&folder)?;
            let changes = accepted.changes(&found.list);
            Ok(ComparedFiles { changes, stamps: found.stamps })
        })
        .await
    }

    fn folder_of(&self, name: &ExtensionName, package: &InstalledPackage) -> PathBuf {
        match &package.source {
            ExtensionSource::Folder { path, .. } => PathBuf::from(path),
            _ => PackageSite::new(&self.folders, name).folder,
        }
    }

    fn passed(&self) -> MutexGuard<'_, BTreeMap<ExtensionName, PassedCheck>> {
        self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sentence about a package without files, with the command that installs them.
fn missing_files(name: &ExtensionName, source: &ExtensionSource) -> String {
    let version = match source {
        ExtensionSource::Npm { version, .. } | ExtensionSource::Pypi { version, .. } => {
            format!(" --version {version}")
        }
        ExtensionSource::Mcpb { .. }
        | ExtensionSource::Folder { .. }
        | ExtensionSource::Tool { .. } => String::new(),
    };
    format!(
        "Its files are not on this computer. Install them with `rouse extensions update {name}{version}`."
    )
}

/// The accepted list with this hash.
pub(super) fn accepted_files(list: &Path, sha256: &str) -> Result<FileList, String> {
    let shown = list.display();
    let text = std::fs::read_to_string(list)
        .map_err(|error| format!("The list of its files {shown} cannot be read: {error}."))?;
    FileList::parse(&text)
        .filter(|accepted| accepted.sha256() == sha256)
        .ok_or_else(|| format!("The list of its files {shown} is not the accepted list."))
}

/// The first difference, and the number of the others; none without a difference.
fn difference_text(changes: &[FileChange]) -> Option<String> {
    let first = changes.first()?;
    let (path, change) = (escape_line(&first.path), first.change.label());
    Some(match changes.len() - 1 {
        0 => format!("Its file {path} is {change}."),
        1 => format!("Its file {path} is {change}, and 1 more file differs."),
        others => format!("Its file {path} is {change}, and {others} more files differ."),
    })
}

/// Runs `work` on a thread that may block.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(format!("The files were not compared: {error}.")))
}
