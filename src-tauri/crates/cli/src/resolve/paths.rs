//! Paths of a command line, for an engine with another working directory.
//!
//! Owns the error of a missing file. Never reads a content.

use std::path::Path;

use rouse_core::text::escape_line;

use super::error::CliError;

/// The real path of a file or folder that is given for `flag`.
pub(crate) fn absolute_path(flag: &str, path: &str) -> Result<String, CliError> {
    let found = Path::new(path).canonicalize();
    let shown = escape_line(path);
    let found = found
        .map_err(|error| CliError::input(format!("{flag}: {shown} cannot be read: {error}")))?;
    let text = found.to_str().map(str::to_owned);
    text.ok_or_else(|| CliError::input(format!("{flag}: {shown} is not valid UTF-8")))
}
