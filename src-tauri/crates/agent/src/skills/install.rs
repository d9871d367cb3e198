//! Installation and removal of skills of other authors.
//!
//! Owns the order: read, compare with the page, write, swap, trust. The replaced skill returns after a failure. The
//! trust is bound to the hash of the page. Never installs without a page, and never replaces the person's own skill.
//! One installation runs at a time. Pitfall: trusting before the swap; a crash would leave another content.

use std::path::Path;
use std::sync::Arc;

use rouse_core::UnixMs;
use rouse_core::skills::{Skill, SkillArchives, SkillFileView, SkillPage};
use rouse_store::StoreError;
use tokio::sync::Mutex;

use super::folder::Folder;
use super::places::{INSTALLED, MAX_FOLDERS, exists, folder_names};
use super::source::SkillSource;
use super::staging::SkillStaging;
use super::{SkillLibrary, TrustError};

/// The text for the hash of a folder that is no skill.
const UNREADABLE: &str = "unreadable";

/// Installs and removes skills of other authors.
#[derive(Clone)]
pub struct SkillInstaller {
    library: SkillLibrary,
    archives: Arc<dyn SkillArchives>,
    /// Held during a change.
    change: Arc<Mutex<()>>,
}

/// Why a skill was not shown, installed or removed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum SkillInstallError {
    /// The source holds no skill that Rouse installs.
    #[error("{0}")]
    Source(String),
    /// One of the person's own skills has this name.
    #[error("One of your own skills has the name {0}. Rename or remove it, then install again.")]
    OwnName(String),
    /// The person's own skill is not removed.
    #[error("{name} is your own skill. Delete its folder {folder} yourself.")]
    OwnSkill {
        /// The name.
        name: String,
        /// The path of the folder.
        folder: String,
    },
    /// The content differs from the page.
    #[error("The files have changed since you read their page. Read the page again.")]
    Changed,
    /// No more skills fit into the list.
    #[error("{} skills are installed. Remove one first.", MAX_FOLDERS)]
    Full,
    /// There is no such skill.
    #[error("There is no installed skill {0}.")]
    NotInstalled(String),
    /// The folder cannot be written.
    #[error("The folder of installed skills cannot be written: {0}. Check the disk.")]
    Unwritable(std::io::Error),
    /// The trust was not stored.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

impl SkillInstaller {
    /// Installs into `library`.
    #[must_use]
    pub fn new(library: SkillLibrary, archives: Arc<dyn SkillArchives>) -> Self {
        Self { library, archives, change: Arc::default() }
    }

    /// The skills.
    #[must_use]
    pub const fn library(&self) -> &SkillLibrary {
        &self.library
    }

    /// Restores a skill of an interrupted installation. Blocks.
    ///
    /// # Errors
    /// When the folder of installed skills cannot be written.
    pub fn recover(&self) -> std::io::Result<()> {
        self.staging().recover()
    }

    /// The page of a folder or zip archive. Changes nothing.
    ///
    /// # Errors
    /// When the source holds no skill that Rouse installs.
    pub async fn preview(&self, path: &Path) -> Result<SkillPage, SkillInstallError> {
        let (installer, path) = (self.clone(), path.to_owned());
        blocking(move || {
            let source = installer.read(&path)?;
            Ok(installer.page(&path, source))
        })
        .await
    }

    /// Installs the skill of a page, and trusts exactly its content. Only on a person's request.
    ///
    /// # Errors
    /// When the content is not that of `hash`, or cannot be installed.
    pub async fn install(
        &self,
        path: &Path,
        hash: &str,
        now: UnixMs,
    ) -> Result<Skill, SkillInstallError> {
        let _change = self.change.lock().await;
        let (installer, path, wanted) = (self.clone(), path.to_owned(), hash.to_owned());
        let name = blocking(move || installer.place(&path, &wanted)).await?;
        let trusted = self.library.trust(&name, hash, now).await;
        let (staging, is_trusted) = (self.staging(), trusted.is_ok());
        let finished = blocking(move || {
            let finished = if is_trusted { staging.recover() } else { staging.undo_swap(&name) };
            finished.map_err(SkillInstallError::Unwritable)
        });
        if let Err(error) = finished.await {
            tracing::warn!(%error, "the folder of an installation remains");
        }
        Ok(trusted?)
    }

    /// Removes an installed skill and its trust.
    ///
    /// # Errors
    /// When the skill is the person's own or not installed, or cannot be deleted.
    pub async fn remove(&self, name: &str, now: UnixMs) -> Result<(), SkillInstallError> {
        let _change = self.change.lock().await;
        let (staging, folder) = (self.staging(), name.to_owned());
        let is_deleted =
            blocking(move || staging.delete(&folder).map_err(SkillInstallError::Unwritable))
                .await?;
        let mut trusted = self.library.trusted_digests().await.map_err(unstored)?;
        let was_trusted = trusted.remove(name).is_some();
        if !is_deleted && !was_trusted {
            return Err(self.not_installed(name));
        }
        // The event of the stored setting tells clients about the removal.
        self.library.store_trusted_digests(&trusted, now).await.map_err(unstored)
    }

    fn not_installed(&self, name: &str) -> SkillInstallError {
        let own = folder_names(self.library.root()).into_iter().find(|own| own == name);
        match own.filter(|own| own != INSTALLED) {
            Some(name) => {
                let folder = self.library.root().join(&name).display().to_string();
                SkillInstallError::OwnSkill { name, folder }
            }
            None => SkillInstallError::NotInstalled(name.to_owned()),
        }
    }

    fn staging(&self) -> SkillStaging {
        SkillStaging::new(self.library.installed())
    }

    fn read(&self, path: &Path) -> Result<SkillSource, SkillInstallError> {
        SkillSource::read(path, self.archives.as_ref()).map_err(SkillInstallError::Source)
    }

    fn is_own(&self, name: &str) -> bool {
        exists(&self.library.root().join(name))
    }

    fn page(&self, path: &Path, source: SkillSource) -> SkillPage {
        let SkillSource { folder, front_matter, requires, text } = source;
        let name = front_matter.name;
        let present = self.library.installed().join(&name);
        let replaces = exists(&present).then(|| {
            Folder::read(&present).map_or_else(|_| UNREADABLE.to_owned(), |read| read.digest)
        });
        let files = folder.files().iter();
        let files = files
            .map(|(path, bytes)| SkillFileView { path: path.clone(), bytes: bytes.len() as u64 });
        SkillPage {
            path: path.display().to_string(),
            description: front_matter.description,
            requires,
            text,
            files: files.collect(),
            replaces,
            is_own: self.is_own(&name),
            name,
            hash: folder.digest,
        }
    }

    /// Puts the skill with this hash into its place, and returns its name. The replaced skill stays in the staging
    /// folder.
    fn place(&self, path: &Path, hash: &str) -> Result<String, SkillInstallError> {
        let SkillSource { folder, front_matter, .. } = self.read(path)?;
        let name = front_matter.name;
        if self.is_own(&name) {
            return Err(SkillInstallError::OwnName(name));
        }
        if folder.digest != hash {
            return Err(SkillInstallError::Changed);
        }
        let installed = self.library.installed();
        if !exists(&installed.join(&name)) && folder_names(&installed).len() >= MAX_FOLDERS {
            return Err(SkillInstallError::Full);
        }
        let staging = self.staging();
        let swapped = staging.write(folder.files()).and_then(|new| staging.swap(&new, &name));
        if let Err(error) = swapped {
            if let Err(error) = staging.recover() {
                tracing::warn!(%error, "the folder of a failed installation remains");
            }
            return Err(SkillInstallError::Unwritable(error));
        }
        Ok(name)
    }
}

fn unstored(error: StoreError) -> SkillInstallError {
    SkillInstallError::Trust(TrustError::Store(error))
}

/// Runs `work` on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SkillInstallError> + Send + 'static,
) -> Result<T, SkillInstallError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.expect("BUG: the installation of a skill does not panic")
}
