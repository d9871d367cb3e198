//! The daily backup and the engine marker.
//!
//! Works after commits, never on a timer, so an idle engine stays asleep. Never backs up in the first minute, which
//! belongs to the start.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::Clock;
use rouse_core::event::EventKind;
use rouse_store::Store;
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::BackupFolder;
use crate::engine_marker::EngineMarker;

/// The earliest time of a backup after the start, and after a failure.
const FIRST_BACKUP_DELAY: Duration = Duration::from_secs(60);
const RETRY_DELAY: Duration = Duration::from_secs(3_600);
/// The setting with the time of the newest backup.
const NEWEST_BACKUP_SETTING: &str = "backup.newest";

/// The task for backups and the engine marker.
pub(crate) struct DailyBackup {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) folder: BackupFolder,
    pub(crate) marker: EngineMarker,
    /// Notified after each commit.
    pub(crate) committed: Arc<Notify>,
    pub(crate) closing: CancellationToken,
}

impl DailyBackup {
    /// Works until the engine closes.
    pub(crate) async fn run(mut self) {
        let mut not_before = self.clock.monotonic() + FIRST_BACKUP_DELAY;
        let closing = self.closing.clone();
        while closing.run_until_cancelled(self.committed.notified()).await.is_some() {
            self.marker.set();
            if self.clock.monotonic() < not_before || self.folder.has_backup_of_today() {
                continue;
            }
            not_before = self.clock.monotonic();
            let Some(made) = closing.run_until_cancelled(self.folder.create()).await else {
                return;
            };
            match made {
                Ok(backup) => {
                    tracing::info!(path = %backup.path.display(), bytes = backup.bytes, "made the daily backup");
                    let (value, data) =
                        (json!({ "atMs": backup.made_at.0 }), json!({ "backup": "made" }));
                    let event = Some((EventKind::Config, data));
                    let stored = self
                        .store
                        .put_setting(NEWEST_BACKUP_SETTING, &value, event, backup.made_at)
                        .await;
                    if let Err(error) = stored {
                        tracing::debug!(%error, "the time of the backup was not stored");
                    }
                }
                Err(error) => {
                    not_before += RETRY_DELAY;
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "the daily backup failed; Rouse retries in an hour"
                    );
                }
            }
        }
    }
}
