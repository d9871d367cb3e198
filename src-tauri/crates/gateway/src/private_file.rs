//! Atomic writes of private files in the data directory.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Replaces `path` atomically by `text`, with mode 0600. Leaves no temporary file after a failure.
///
/// # Errors
/// The system error.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let temporary = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    drop(file);
    written.and_then(|()| fs::rename(&temporary, path)).inspect_err(|_| {
        // The first error is reported, not one of the cleanup.
        drop(fs::remove_file(&temporary));
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn full_disk_keeps_old_content_without_temporary_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, temporary) =
            (folder.path().join("config.toml"), folder.path().join("config.new"));
        write_private(&path, "old").expect("written");
        std::os::unix::fs::symlink("/dev/full", &temporary).expect("a link");
        let error = write_private(&path, "new").expect_err("no room");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(fs::symlink_metadata(&temporary).is_err(), "a temporary file remains");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "old");
        write_private(&path, "new").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "new");
    }
}
