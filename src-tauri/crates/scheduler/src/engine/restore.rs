//! The first start after a restored backup.
//!
//! Whether a slot between backup and restore has run is unknown, so each becomes missed and none fires; the person
//! repeats the needed runs. Open approvals are kept.
//! Pitfall: settle the restore before recovery, which would otherwise resume runs that have ended since.

use rouse_core::decide::Firing;
use rouse_core::schedule::instant_words;
use rouse_store::StoreError;

use super::Engine;
use crate::status::TickReport;

impl Engine {
    /// Settles a restored database. May be cut off and start over.
    pub(super) async fn settle_restore(&mut self) -> Result<(), StoreError> {
        let Some(restored) = self.store.restore_mark().await? else { return Ok(()) };
        let now = self.clock.now();
        let backup = instant_words(restored.backup_at.0, self.zones.zones.local());
        let reason = format!("Restored: the database is the backup of {backup}");
        self.store.end_restored_work(&reason, now).await?;
        let until = restored.restored_at.min(now);
        let mut report = TickReport::default();
        self.claim_due(until, &Firing::Restored(reason), &mut report).await?;
        let (slots, backup_at) = (report.quiet.len(), restored.backup_at.0);
        tracing::warn!(
            slots,
            backup_at,
            "a backup was restored; slots since the backup are missed"
        );
        self.store.clear_restore_mark(now).await
    }
}
