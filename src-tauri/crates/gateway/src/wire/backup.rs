//! `backup.*`: the backups of the data directory.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// `backup.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BackupsView {
    /// The folder of the backups.
    pub folder: String,
    /// The backups, newest first.
    pub backups: Vec<BackupView>,
}

/// A backup.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BackupView {
    /// Its file.
    pub path: String,
    /// When it was made.
    pub made_at_ms: i64,
    /// Its size.
    #[ts(type = "number")]
    pub bytes: u64,
    /// How many files of skills and workspace are too large or too many for it.
    #[ts(type = "number")]
    pub left_out: u64,
}
