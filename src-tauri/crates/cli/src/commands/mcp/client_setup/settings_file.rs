//! Reading and atomic writing of a client's settings file.
//!
//! Keeps the permissions and the target of a link. Refuses to write over a change that happened after the reading.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use crate::resolve::error::CliError;

/// The text of a file; none if there is no file.
pub(super) fn read_settings(path: &Path) -> Result<Option<String>, CliError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(file_error("read", path, error)),
    }
}

/// Replaces the text `before` of a file by `text`.
pub(super) fn write_settings(
    path: &Path,
    before: Option<&str>,
    text: &str,
) -> Result<(), CliError> {
    if read_settings(path)?.as_deref() != before {
        return Err(CliError::Refused(format!(
            "Nothing was written, because {} has just changed. Run the command again.",
            path.display()
        )));
    }
    // A link keeps its target; a missing file has none.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    replace(&real, text).map_err(|error| file_error("write", path, error))
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".rouse-new");
    let temporary = path.with_file_name(name);
    let written = write_temporary(&temporary, path, text);
    written.and_then(|()| fs::rename(&temporary, path)).inspect_err(|_| {
        // The first error is reported, not one of the cleanup.
        drop(fs::remove_file(&temporary));
    })
}

fn write_temporary(temporary: &Path, path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(temporary)?;
    match fs::metadata(path) {
        Ok(old) => file.set_permissions(old.permissions())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn file_error(verb: &str, path: &Path, error: io::Error) -> CliError {
    anyhow::Error::from(error).context(format!("cannot {verb} {}", path.display())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_created_with_its_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a/b.json");
        assert_eq!(read_settings(&path).expect("readable"), None);
        write_settings(&path, None, "{}").expect("written");
        assert_eq!(read_settings(&path).expect("readable").as_deref(), Some("{}"));
        let entries = fs::read_dir(folder.path().join("a")).expect("a folder");
        assert_eq!(entries.count(), 1, "a temporary file remains");
    }

    #[test]
    fn changed_file_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.json");
        fs::write(&path, "of the client").expect("written");
        for before in [None, Some("older")] {
            assert!(write_settings(&path, before, "{}").is_err());
        }
        assert_eq!(fs::read_to_string(&path).expect("a file"), "of the client");
    }

    #[cfg(unix)]
    #[test]
    fn link_and_permissions_stay() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
        fs::write(&real, "old").expect("written");
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).expect("our own file");
        std::os::unix::fs::symlink(&real, &link).expect("a link");
        write_settings(&link, Some("old"), "new").expect("written");
        assert_eq!(fs::read_to_string(&real).expect("a file"), "new");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::metadata(&real).expect("a file").permissions().mode() & 0o777, 0o600);
    }
}
