//! `sign-ins.json` in the data directory: the sealed sign-ins, or the plain ones if there is no keyring.
//!
//! Owns the version of the format. The file is private to the user and written whole. Never overwrites a file that it
//! cannot read.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use rouse_core::extension::{ExtensionName, SignInRecord};
use rouse_gateway::write_private;
use serde::{Deserialize, Serialize};

use super::sealing::SealedText;

/// The version of the format.
const FORMAT: u32 = 1;

/// Sign-ins by server.
pub(super) type SignInRecords = BTreeMap<ExtensionName, SignInRecord>;

/// The file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SignInFile {
    version: u32,
    /// Distinguishes the data key of this data directory from those of others.
    pub(super) keyring_id: String,
    /// The sign-ins, sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sealed: Option<SealedText>,
    /// The sign-ins, if there is no keyring.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) records: SignInRecords,
}

impl SignInFile {
    pub(super) fn new(keyring_id: String) -> Self {
        Self { version: FORMAT, keyring_id, sealed: None, records: BTreeMap::new() }
    }

    /// Reads the file; none if missing.
    ///
    /// # Errors
    /// Why the file cannot be read, and the remedy, as sentences without its content.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, String> {
        let shown = path.display();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(format!("{shown} cannot be read: {error}. Make the file readable."));
            }
        };
        let damaged = |error: serde_json::Error| {
            format!(
                "{shown} is damaged at line {}. Move the file away, restart Rouse and sign in again.",
                error.line()
            )
        };
        let file: Self = serde_json::from_str(&text).map_err(damaged)?;
        if file.version > FORMAT {
            return Err(format!(
                "{shown} was written by a newer Rouse. Install the newer Rouse, or move the file away and sign in again."
            ));
        }
        Ok(Some(file))
    }

    /// Writes the file.
    pub(super) fn write(&self, path: &Path) -> std::io::Result<()> {
        let mut text = serde_json::to_string_pretty(self).expect("BUG: sign-ins are JSON");
        text.push('\n');
        write_private(path, &text)
    }
}
