//! The data directory: where everything lives, and who owns it.
//!
//! One process owns a data directory, by a lock that the kernel takes back when the process dies, however it dies. A
//! second process becomes a client of the first.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The data directory could not be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// Another process owns it.
    #[error("another Rouse owns {0}")]
    Owned(PathBuf),
    /// It could not be made or locked.
    #[error("cannot use the data directory {path}")]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// No place for it is known.
    #[error("no home directory is known; set ROUSE_HOME to a folder")]
    Unknown,
}

/// The paths inside a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// `ROUSE_HOME`, else the system's place for application data: `~/.local/share/rouse`,
    /// `~/Library/Application Support/Rouse`, `%LOCALAPPDATA%\Rouse`.
    ///
    /// # Errors
    /// `Unknown` without any of them.
    pub fn find(env: &dyn Fn(&str) -> Option<String>) -> Result<Self, HomeError> {
        let set =
            |name: &str| env(name).filter(|value| !value.trim().is_empty()).map(PathBuf::from);
        if let Some(root) = set("ROUSE_HOME") {
            return Ok(Self { root: std::path::absolute(&root).unwrap_or(root) });
        }
        let root = if cfg!(windows) {
            set("LOCALAPPDATA").map(|data| data.join("Rouse"))
        } else if cfg!(target_os = "macos") {
            set("HOME").map(|home| home.join("Library/Application Support/Rouse"))
        } else {
            set("XDG_DATA_HOME")
                .filter(|data| data.is_absolute())
                .or_else(|| set("HOME").map(|home| home.join(".local/share")))
                .map(|data| data.join("rouse"))
        };
        root.map(|root| Self { root }).ok_or(HomeError::Unknown)
    }

    /// A data directory at `root`.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.root.join("rouse.db")
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// The folder that file tools may see unless configured otherwise.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.root.join("workspace")
    }

    /// The folder of log files.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// Makes the directory (mode 0700) and takes its lock.
    ///
    /// # Errors
    /// `Owned` when another process has it.
    pub fn own(&self) -> Result<Owner, HomeError> {
        let unusable = |source| HomeError::Unusable { path: self.root.clone(), source };
        make_private_dir(&self.root).map_err(unusable)?;
        let path = self.root.join("owner.lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => Ok(Owner { _lock: file }),
            Err(TryLockError::WouldBlock) => Err(HomeError::Owned(self.root.clone())),
            Err(TryLockError::Error(source)) => Err(unusable(source)),
        }
    }
}

/// Ownership of a data directory, for as long as it lives.
#[derive(Debug)]
pub struct Owner {
    _lock: File,
}

/// Makes `path` with all its parents, readable by the user alone.
pub(crate) fn make_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_owner_at_a_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path().join("data"));
        let owner = home.own().expect("the first owner");
        assert!(matches!(home.own(), Err(HomeError::Owned(_))));
        drop(owner);
        home.own().expect("free again");
    }

    #[test]
    fn the_environment_names_the_place() {
        let only = |name: &'static str, value: &'static str| {
            move |asked: &str| (asked == name).then(|| value.to_owned())
        };
        let home = Home::find(&only("ROUSE_HOME", "/data/rouse")).expect("a home");
        // On Windows a path from the root is on some drive.
        assert_eq!(home.root(), std::path::absolute("/data/rouse").expect("a path"));
        assert!(matches!(Home::find(&|_| None), Err(HomeError::Unknown)));
    }
}
