//! The text of the settings file.
//!
//! Never reads a pipe or a device, which would block, nor more than a megabyte. Pitfall: writing a text that the next start
//! refuses; check the size before.

use std::path::Path;
use std::{fs, io};

use super::file::ConfigError;

const MAX_BYTES: u64 = 1 << 20;

/// The text of the file; empty if the file is missing.
///
/// # Errors
/// `Io`.
pub(super) fn read_text(path: &Path) -> Result<String, ConfigError> {
    let read = || {
        let metadata = fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        check_size(metadata.len())?;
        fs::read_to_string(path)
    };
    match read() {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(ConfigError::Io { path: path.to_owned(), source }),
    }
}

/// # Errors
/// A file of `bytes` is too large.
pub(super) fn check_size(bytes: u64) -> io::Result<()> {
    if bytes > MAX_BYTES {
        return Err(io::Error::other("it is larger than 1 MB"));
    }
    Ok(())
}
