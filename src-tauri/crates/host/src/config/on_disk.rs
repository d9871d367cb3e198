//! The settings file as it lies on the disk.
//!
//! It refuses what is no file of settings: a pipe would be waited for, a device has no end, and nobody writes a megabyte of
//! settings. One could get it wrong by writing what is then refused, so whoever writes asks the same.

use std::path::Path;
use std::{fs, io};

use super::file::ConfigError;

/// The largest file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// The text of the file; a missing one is empty.
///
/// # Errors
/// `Io`.
pub(super) fn on_disk(path: &Path) -> Result<String, ConfigError> {
    let read = || {
        let about = fs::metadata(path)?;
        if !about.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        check_size(about.len())?;
        fs::read_to_string(path)
    };
    match read() {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(ConfigError::Io { path: path.to_owned(), source }),
    }
}

/// # Errors
/// When a file of so many bytes is larger than any that is read.
pub(super) fn check_size(bytes: u64) -> io::Result<()> {
    if bytes > MOST_BYTES {
        return Err(io::Error::other("it is larger than 1 MB"));
    }
    Ok(())
}
