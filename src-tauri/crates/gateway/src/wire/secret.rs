//! `secrets.*`: names and hosts of stored secrets. No shape here carries a value out.

use std::fmt;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A stored secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SecretView {
    /// Its name; a call names it as `{{secret:name}}`.
    pub name: String,
    /// The only hosts that it is sent to.
    pub hosts: Vec<String>,
    /// When it was set.
    pub set_at_ms: i64,
    /// Where its value is kept.
    pub kept_in: SecretKeeper,
    /// Why its value is not at hand, or not in the keyring.
    pub problem: Option<String>,
    /// What a person should know of how well it can be watched for.
    #[serde(default)]
    pub warning: Option<String>,
}

/// Where a value is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum SecretKeeper {
    /// In the system's keyring.
    Keyring,
    /// In a file that only the person can read.
    File,
}

/// `secrets.list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SecretsListResult {
    /// By name.
    pub secrets: Vec<SecretView>,
    /// What a person should know about where they are kept.
    pub warning: Option<String>,
}

/// `secrets.set`: stores a secret, or changes it.
#[derive(Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct SecretSetParams {
    /// 1 to 64 small letters, digits, `_` and `-`.
    pub name: String,
    /// The value: one line.
    pub value: String,
    /// The only hosts that it may be sent to; the present ones when absent.
    pub hosts: Option<Vec<String>>,
}

impl fmt::Debug for SecretSetParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretSetParams").field("name", &self.name).finish_non_exhaustive()
    }
}

/// `secrets.remove`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SecretRemoved {
    /// Whether it was there.
    pub changed: bool,
    /// What of it may be left, and where: its name is gone, and nobody but the person can look after its value now.
    pub remains: Option<String>,
}

/// `secrets.remove`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
pub struct SecretRef {
    /// Its name.
    pub name: String,
}
