//! What keeps the data safe while an engine works: the daily backup, and the mark of an engine that runs.
//!
//! Works after commits, never on a timer: an idle engine has nothing new to keep. Never backs up in the first minute,
//! which belongs to the start.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::Clock;
use rouse_core::event::EventKind;
use rouse_store::Store;
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::BackupFolder;
use crate::running_mark::RunningMark;

/// How long after the start the first backup may be made, and after a failure the next.
const AFTER_START: Duration = Duration::from_secs(60);
const AFTER_FAILURE: Duration = Duration::from_secs(3_600);
/// The setting that holds when the newest backup was made.
const NEWEST: &str = "backup.newest";

/// Keeps the data of one engine safe.
pub(crate) struct Safekeeping {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) folder: BackupFolder,
    pub(crate) mark: RunningMark,
    /// Told of each commit.
    pub(crate) committed: Arc<Notify>,
    pub(crate) closing: CancellationToken,
}

impl Safekeeping {
    /// Works until the engine closes.
    pub(crate) async fn run(mut self) {
        let mut not_before = self.clock.monotonic() + AFTER_START;
        let closing = self.closing.clone();
        while closing.run_until_cancelled(self.committed.notified()).await.is_some() {
            self.mark.set();
            if self.clock.monotonic() < not_before || self.folder.has_one_of_today() {
                continue;
            }
            not_before = self.clock.monotonic();
            let Some(made) = closing.run_until_cancelled(self.folder.create()).await else {
                return;
            };
            match made {
                Ok(backup) => {
                    tracing::info!(path = %backup.path.display(), bytes = backup.bytes, "made the backup of the day");
                    let (value, told) =
                        (json!({ "atMs": backup.made_at.0 }), json!({ "backup": "made" }));
                    let event = Some((EventKind::Config, told));
                    let noted = self.store.put_setting(NEWEST, &value, event, backup.made_at).await;
                    if let Err(error) = noted {
                        tracing::debug!(%error, "clients do not hear of the backup");
                    }
                }
                Err(error) => {
                    not_before += AFTER_FAILURE;
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "the backup of the day was not made; tried again in an hour"
                    );
                }
            }
        }
    }
}
