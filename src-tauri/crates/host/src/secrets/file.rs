//! `secrets.json` in the data directory: names, hosts and MCP servers of secrets, and their values if there is no keyring.
//!
//! The file is private to the user and written whole. An unreadable file is never overwritten.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use rouse_core::extension::ExtensionName;
use rouse_gateway::write_private;
use serde::{Deserialize, Serialize};

/// The file.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SecretsFile {
    /// Distinguishes this data directory's keyring entries from those of others.
    pub(super) keyring_id: String,
    /// Secrets by name.
    pub(super) secrets: BTreeMap<String, SecretEntry>,
}

/// A secret.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SecretEntry {
    /// The hosts that may receive the value.
    pub(super) hosts: Vec<String>,
    /// The MCP servers that may receive the value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) servers: Vec<ExtensionName>,
    /// The time of the last change.
    pub(super) set_at_ms: i64,
    /// The value, if it is not in the keyring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<String>,
}

impl SecretsFile {
    /// Reads the file; empty if missing.
    ///
    /// # Errors
    /// Why the file cannot be read, without quoting its content.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::empty()),
            Err(error) => return Err(format!("{} cannot be read: {error}.", path.display())),
        };
        serde_json::from_str(&text).map_err(|error| {
            format!(
                "{} is damaged at line {}. Fix the file, or move it away and set the secrets again.",
                path.display(),
                error.line()
            )
        })
    }

    fn empty() -> Self {
        Self { keyring_id: uuid::Uuid::new_v4().simple().to_string(), secrets: BTreeMap::new() }
    }

    /// Writes the file.
    pub(super) fn write(&self, path: &Path) -> std::io::Result<()> {
        let text = serde_json::to_string_pretty(self).expect("BUG: names and texts are JSON");
        write_private(path, &text)
    }

    /// The keyring account of the secret `name`.
    pub(super) fn account(&self, name: &str) -> String {
        format!("{name}@{}", self.keyring_id)
    }
}

/// Describes how many secrets are in the file; none if no secret is.
pub(super) fn describe_file_count(count: usize, of: usize) -> Option<String> {
    match (count, of) {
        (0, _) => None,
        (1, 1) => Some("The only secret is".to_owned()),
        (1, of) => Some(format!("1 of {of} secrets is")),
        (count, of) if count == of => Some(format!("All {of} secrets are")),
        (count, of) => Some(format!("{count} of {of} secrets are")),
    }
}
