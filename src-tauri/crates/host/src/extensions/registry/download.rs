//! Downloaded skills: one private file per slug, replaced as a whole.
//!
//! Owns the folder and the names of its files. A file is complete or absent. Never reads a file. Pitfall: two slugs with
//! the same start; the `@` after the slug, which no slug has, separates them.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tokio::fs::{self, File, OpenOptions};
use tokio::sync::Mutex;

use super::connection::RegistryConnection;
use super::error::RegistryError;
use crate::home::make_private_dir;

/// The file of a download under way; no skill has this name.
const TEMPORARY: &str = "@download";

/// A skill's archive at the registry. Slug and version are checked.
#[derive(Debug)]
pub(super) struct SkillArchive<'a> {
    pub(super) slug: &'a str,
    pub(super) version: Option<&'a str>,
    /// The path of the download at the registry.
    pub(super) path: &'a str,
}

/// The folder of downloaded skills.
pub(super) struct DownloadFolder {
    folder: PathBuf,
    /// Held during a download: there is one temporary file.
    busy: Mutex<()>,
}

impl DownloadFolder {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, busy: Mutex::default() }
    }

    /// Downloads an archive and deletes the earlier one of its slug. Returns the path of the file.
    pub(super) async fn save(
        &self,
        registry: &RegistryConnection,
        archive: &SkillArchive<'_>,
    ) -> Result<String, RegistryError> {
        let _busy = self.busy.lock().await;
        let folder = self.folder.clone();
        let made = tokio::task::spawn_blocking(move || make_private_dir(&folder)).await;
        made.map_err(io::Error::other)??;
        let temporary = self.folder.join(TEMPORARY);
        let name = format!("{}@{}.zip", archive.slug, archive.version.unwrap_or("latest"));
        let path = self.folder.join(&name);
        let saved = self.fill(&temporary, registry, archive).await;
        let saved = match saved {
            Ok(()) => fs::rename(&temporary, &path).await.map_err(RegistryError::from),
            Err(error) => Err(error),
        };
        if saved.is_err() {
            // The first error is reported, not one of the cleanup.
            drop(fs::remove_file(&temporary).await);
        }
        saved?;
        self.delete_others(archive.slug, &name).await?;
        let path = path.to_str().map(str::to_owned);
        path.ok_or_else(|| {
            io::Error::other("the data directory has a name that is not UTF-8").into()
        })
    }

    /// Downloads into a new file.
    async fn fill(
        &self,
        temporary: &Path,
        registry: &RegistryConnection,
        archive: &SkillArchive<'_>,
    ) -> Result<(), RegistryError> {
        // A crash leaves the file of a download.
        match fs::remove_file(temporary).await {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let mut file = new_private_file(temporary).await?;
        registry.save_zip(archive.path, &mut file).await
    }

    /// Deletes the files of `slug` other than `kept`.
    async fn delete_others(&self, slug: &str, kept: &str) -> io::Result<()> {
        let prefix = format!("{slug}@");
        let mut entries = fs::read_dir(&self.folder).await?;
        while let Some(entry) = entries.next_entry().await? {
            let name = entry.file_name();
            // Some file systems ignore the case of a version.
            let is_other =
                |name: &str| name.starts_with(&prefix) && !name.eq_ignore_ascii_case(kept);
            if name.to_str().is_some_and(is_other) {
                fs::remove_file(entry.path()).await?;
            }
        }
        Ok(())
    }
}

async fn new_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600);
    options.open(path).await
}
