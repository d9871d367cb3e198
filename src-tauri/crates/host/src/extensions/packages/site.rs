//! The folders of a package: the installed files, their list, and the place of new files.
//!
//! Owns the places `.packages/NAME` and `.install/NAME` beside the private folders, outside of every folder that a
//! confined server can write, and the swap of new files for the installed ones. Pitfall: a crash between swap and record;
//! the next start brings the recorded files back.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rouse_core::extension::ExtensionName;

use crate::home::make_private_dir;

/// The folder of all packages; no extension has this name.
const PACKAGES: &str = ".packages";
/// The folder of new files; no extension has this name.
const STAGING: &str = ".install";

/// The folders of one package.
#[derive(Debug, Clone)]
pub(super) struct PackageSite {
    /// The folder of all packages.
    packages: PathBuf,
    /// The installed files.
    pub(super) folder: PathBuf,
    /// The list of the accepted files.
    pub(super) list: PathBuf,
    /// The place of an installation under way.
    pub(super) staging: PathBuf,
    /// The new files.
    pub(super) new: PathBuf,
    /// The caches of the installers.
    pub(super) cache: PathBuf,
}

/// Swapped files. `undo` brings the old ones back, `keep` deletes them.
#[must_use]
pub(super) struct SwappedFiles {
    site: PackageSite,
    had_files: bool,
}

impl PackageSite {
    /// The folders of the package `name` below the private folders of all servers.
    pub(super) fn new(folders: &Path, name: &ExtensionName) -> Self {
        let packages = packages_folder(folders);
        let staging = staging_folder(folders).join(name.as_str());
        Self {
            folder: packages.join(name.as_str()),
            list: packages.join(format!("{name}.sha256")),
            packages,
            new: staging.join("package"),
            cache: staging.join("cache"),
            staging,
        }
    }

    /// Creates the folders of an installation. Deletes what an earlier one left.
    pub(super) fn prepare(&self) -> io::Result<()> {
        self.clear()?;
        make_private_dir(&self.packages)?;
        make_private_dir(&self.cache)
    }

    /// Deletes the folders of an installation.
    pub(super) fn clear(&self) -> io::Result<()> {
        delete_folder(&self.staging)
    }

    /// Deletes the installed files and their list.
    pub(super) fn delete_package(&self) -> io::Result<()> {
        delete_folder(&self.folder)?;
        match std::fs::remove_file(&self.list) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Puts the new files into the place of the installed ones.
    pub(super) fn swap(&self) -> io::Result<SwappedFiles> {
        let old = self.old();
        delete_folder(&old)?;
        make_private(&self.new)?;
        let had_files = match std::fs::rename(&self.folder, &old) {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        let swapped = SwappedFiles { site: self.clone(), had_files };
        match std::fs::rename(&self.new, &self.folder) {
            Ok(()) => Ok(swapped),
            Err(error) => {
                swapped.undo();
                Err(error)
            }
        }
    }

    /// The replaced files during an installation.
    pub(super) fn old(&self) -> PathBuf {
        self.staging.join("old")
    }
}

impl SwappedFiles {
    /// Brings the old files back.
    pub(super) fn undo(self) {
        let restored = delete_folder(&self.site.folder).and_then(|()| {
            if self.had_files {
                std::fs::rename(self.site.old(), &self.site.folder)
            } else {
                Ok(())
            }
        });
        if let Err(error) = restored {
            let folder = self.site.folder.display();
            tracing::error!(%folder, %error, "the files of a package were not restored");
        }
    }

    /// Deletes the old files and the folders of the installation.
    pub(super) fn keep(self) {
        if let Err(error) = self.site.clear() {
            let folder = self.site.staging.display();
            tracing::warn!(%folder, %error, "the folder of an installation remains");
        }
    }
}

/// The folder of installations under way.
pub(super) fn staging_folder(folders: &Path) -> PathBuf {
    folders.join(STAGING)
}

/// The folder of all packages beside the private `folders` of all servers.
pub(crate) fn packages_folder(folders: &Path) -> PathBuf {
    folders.join(PACKAGES)
}

/// Closes a folder of an installer to other users.
#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn make_private(_: &Path) -> io::Result<()> {
    Ok(())
}

fn delete_folder(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The path as text, for commands and pages.
pub(super) fn path_text(path: &Path) -> Result<String, String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        format!("The path {} is not valid UTF-8. Move the folder to another path.", path.display())
    })
}
