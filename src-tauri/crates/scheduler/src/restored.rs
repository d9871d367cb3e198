//! The first start after a restore.
//!
//! Owns what becomes of everything between the backup and its restore. Nobody knows whether a slot of that time ran, so each
//! becomes missed and nothing fires by itself: the person runs again what is still wanted. Never ends an open approval,
//! which waits for the person anyway. Pitfall: recovery must come after this, or it resumes runs that have ended since.

use rouse_core::decide::Firing;
use rouse_core::schedule::instant_words;
use rouse_store::StoreError;

use crate::TickReport;
use crate::engine::Engine;

impl Engine {
    /// Settles a restored database. May be cut off and begin again.
    pub(crate) async fn settle_restored(&mut self) -> Result<(), StoreError> {
        let Some(restored) = self.store.restored().await? else { return Ok(()) };
        let now = self.clock.now();
        let backup = instant_words(restored.backup_at.0, self.zones.local());
        let reason = format!("Restored: the database is the backup of {backup}");
        self.store.end_restored(&reason, now).await?;
        let until = restored.restored_at.min(now);
        let mut report = TickReport::default();
        self.claim_due(until, &Firing::Restored(reason), &mut report).await?;
        let (slots, backup_at) = (report.quiet.len(), restored.backup_at.0);
        tracing::warn!(
            slots,
            backup_at,
            "the database was restored; slots since the backup are missed"
        );
        self.store.restored_is_settled(now).await
    }
}
