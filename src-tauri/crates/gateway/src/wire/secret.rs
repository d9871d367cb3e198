//! `secrets.*`: names, hosts and MCP servers of stored secrets. Never returns a value.

use std::fmt;

use rouse_core::extension::ExtensionName;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A stored secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SecretView {
    /// Name; the handle is `{{secret:name}}`.
    pub name: String,
    /// Allowed hosts.
    pub hosts: Vec<String>,
    /// Allowed MCP servers.
    pub servers: Vec<ExtensionName>,
    /// Time of the last change.
    pub set_at_ms: i64,
    /// Storage of the value.
    pub stored_in: SecretStorage,
    /// Why the value is unavailable, or outside the keyring.
    pub problem: Option<String>,
    /// Limit of redaction for this value.
    #[serde(default)]
    pub warning: Option<String>,
}

/// Storage of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum SecretStorage {
    /// The system keyring.
    Keyring,
    /// A file with permissions for the owner only.
    File,
}

/// `secrets.list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SecretsListResult {
    /// The secrets, by name.
    pub secrets: Vec<SecretView>,
    /// Warning about the storage.
    pub warning: Option<String>,
}

/// `secrets.set`: adds or updates a secret.
#[derive(Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct SecretSetParams {
    /// Name: 1 to 64 lowercase letters, digits, `_` and `-`.
    pub name: String,
    /// Value, one line.
    pub value: String,
    /// Allowed hosts. Default: unchanged.
    pub hosts: Option<Vec<String>>,
    /// Allowed MCP servers. Default: unchanged.
    pub servers: Option<Vec<ExtensionName>>,
}

impl fmt::Debug for SecretSetParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretSetParams").field("name", &self.name).finish_non_exhaustive()
    }
}

/// `secrets.remove`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SecretRemoved {
    /// Whether the secret existed.
    pub changed: bool,
    /// Remaining copies that the person must delete, as a sentence.
    pub manual_cleanup: Option<String>,
}

/// `secrets.remove`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
pub struct SecretRef {
    /// Name of the secret.
    pub name: String,
}
