//! Paths below a workspace, the home folder in written paths, and private folders.
//!
//! Never parses a written path: `Workspace::parse_path` in `root` does.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rouse_core::text::escape_path;

/// A path of plain components below a workspace. Empty means the workspace itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RelativePath(pub(super) PathBuf);

impl RelativePath {
    /// Appends the entry `name`, which comes from the folder's listing.
    pub(crate) fn child(&self, name: &OsStr) -> Self {
        Self(self.0.join(name))
    }

    pub(crate) fn as_path(&self) -> &Path {
        &self.0
    }

    /// Splits into parent folder and name; `None` for the workspace itself.
    pub(crate) fn split(&self) -> Option<(Self, &OsStr)> {
        Some((Self(self.0.parent()?.to_owned()), self.0.file_name()?))
    }
}

/// Slashes on every system, and `.` for the workspace itself. Invisible characters are escaped: an approval shows this path, and no
/// other path may look the same.
impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(|name| name.to_string_lossy()).collect();
        let joined = escape_path(&names.join("/"));
        f.write_str(if joined.is_empty() { "." } else { &joined })
    }
}

/// The person's home folder.
pub(crate) fn home_folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    set("HOME").or_else(|| set("USERPROFILE")).map(PathBuf::from)
}

/// Creates a folder and its parents, accessible to the owner alone. An existing folder stays as it is.
pub(crate) fn create_private_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut folder = std::fs::DirBuilder::new();
    folder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder.create(path)
}

/// Expands `~` and `~/…`; `None` for every other path.
pub(crate) fn expand_home(text: &str) -> Option<PathBuf> {
    let rest = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
    Some(home_folder()?.join(rest.trim_start_matches('/')))
}
