//! `extensions.lock` in the data directory, as JSON.
//!
//! Owns the version of the format. The file is private to the user and written whole. Never overwrites a file that it
//! cannot read.

use std::io::ErrorKind;
use std::path::Path;

use rouse_core::extension::ExtensionLock;
use rouse_gateway::write_private;
use serde::Deserialize;

/// The version of the format.
const FORMAT: u32 = 1;

/// The part of the file that every version has.
#[derive(Deserialize)]
struct FormatVersion {
    version: u32,
}

/// Reads the file; without extensions if missing.
///
/// # Errors
/// Why the file cannot be read, and the remedy, as sentences.
pub(super) fn read(path: &Path) -> Result<ExtensionLock, String> {
    let shown = path.display();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(ExtensionLock { version: FORMAT, ..ExtensionLock::default() });
        }
        Err(error) => {
            return Err(format!(
                "{shown} cannot be read: {error}. MCP servers are off. Make the file readable and restart Rouse."
            ));
        }
    };
    let damaged = |error: serde_json::Error| {
        format!(
            "{shown} is damaged at line {}. MCP servers are off. Fix the file and restart Rouse, or move the file away and add the servers again.",
            error.line()
        )
    };
    let FormatVersion { version } = serde_json::from_str(&text).map_err(damaged)?;
    if version > FORMAT {
        return Err(format!(
            "{shown} was written by a newer Rouse (format {version}, this Rouse reads {FORMAT}). MCP servers are off. Install the newer Rouse, or move the file away and add the servers again."
        ));
    }
    let mut lock: ExtensionLock = serde_json::from_str(&text).map_err(damaged)?;
    // A pin that was edited by hand is not what the person accepted.
    for extension in lock.extensions.values_mut() {
        extension.tools.retain(|pin| pin.hash == pin.definition.hash());
    }
    Ok(lock)
}

/// Writes the file.
pub(super) fn write(path: &Path, lock: &ExtensionLock) -> std::io::Result<()> {
    let mut text = serde_json::to_string_pretty(lock).expect("BUG: extensions are JSON");
    text.push('\n');
    write_private(path, &text)
}
