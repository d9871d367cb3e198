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
    /// Path of the file.
    pub path: String,
    /// Creation time.
    pub made_at_ms: i64,
    /// Size in bytes.
    #[ts(type = "number")]
    pub bytes: u64,
    /// Files of skills and workspace omitted by the size limits.
    #[ts(type = "number")]
    pub omitted_files: u64,
}
