//! `secrets.json` in the data directory: the names of the secrets, where each may be sent, and, where there is no keyring,
//! their values.
//!
//! The file is the person's alone and is written whole. What is in it that cannot be read is never written over.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use rouse_gateway::write_private;
use serde::{Deserialize, Serialize};

/// The file.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SecretsFile {
    /// Tells the entries of this data directory in the keyring from those of another.
    pub(super) keyring_id: String,
    /// By name.
    pub(super) secrets: BTreeMap<String, Line>,
}

/// A secret.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Line {
    /// Where it may be sent.
    pub(super) hosts: Vec<String>,
    /// When it was set.
    pub(super) set_at_ms: i64,
    /// The value, when it is not in the keyring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<String>,
}

impl SecretsFile {
    /// Reads the file; an empty one when there is none.
    ///
    /// # Errors
    /// Why it cannot be read, in words without anything of what is in it.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::empty()),
            Err(error) => return Err(format!("{} cannot be read: {error}.", path.display())),
        };
        serde_json::from_str(&text).map_err(|error| {
            format!(
                "{} is damaged at line {}. Mend it, or move it away and set the secrets again.",
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

    /// What the keyring calls the secret `name`.
    pub(super) fn account(&self, name: &str) -> String {
        format!("{name}@{}", self.keyring_id)
    }
}
