//! The database file on disk: creation, permissions, identity.
//!
//! Owns the file mode (this user alone) and the check that the path still names the file that is open. Deleting or
//! replacing the file of a running process removes only the name: on Unix SQLite keeps writing, and every change is lost
//! with the process ("How To Corrupt An SQLite Database File", 2.4). So nothing is written while the path names another
//! file. Pitfall: comparing paths only; a backup copied over the file is another file.

use std::path::{Path, PathBuf};

/// Copies the database into the file of the value, beside running writers. PostgreSQL: `pg_dump`.
pub(crate) const COPY_FILE: &str = "VACUUM INTO $1";

/// The files of a database: main file, write-ahead log, shared memory.
#[must_use]
pub fn database_files(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    })
}

/// Creates the folder (0700) and the file (0600) before SQLite does, because SQLite uses the umask. SQLite gives `-wal` and
/// `-shm` the mode of the file.
pub(crate) fn create_file(path: &Path) -> std::io::Result<()> {
    let mut folder = std::fs::DirBuilder::new();
    let mut file = std::fs::OpenOptions::new();
    folder.recursive(true);
    file.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        folder.create(parent)?;
    }
    file.open(path).map(drop)
}

/// Removes the access of other users, such as to a file restored from a backup.
#[cfg(unix)]
pub(super) fn restrict_access(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    for name in database_files(path) {
        let mode = match std::fs::metadata(&name) {
            Ok(found) => found.permissions().mode(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if mode & 0o077 != 0 {
            std::fs::set_permissions(&name, std::fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

/// Other systems separate the files of users by their folders.
#[cfg(not(unix))]
pub(super) fn restrict_access(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// The file that a path named at the time of opening.
#[derive(Debug)]
pub(super) struct FileIdentity {
    path: PathBuf,
    file: Option<FileNumber>,
}

/// Device and inode.
type FileNumber = (u64, u64);

impl FileIdentity {
    pub(super) fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), file: file_number(path) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the path still names this file.
    pub(super) fn is_current(&self) -> bool {
        file_number(&self.path) == self.file
    }
}

#[cfg(unix)]
fn file_number(path: &Path) -> Option<FileNumber> {
    use std::os::unix::fs::MetadataExt as _;
    // silent-ok: a file without metadata is not the opened file.
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// Windows does not let an open file be deleted or replaced.
#[cfg(not(unix))]
const fn file_number(_: &Path) -> Option<FileNumber> {
    None
}
