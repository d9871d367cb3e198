//! The table `compiled_components`: the hashes of the files of compiled components.
//!
//! Owns the hash of each key and the limit of the rows. Never reads a file. A lost row costs a compilation only.
//! Pitfall: pruning by times that a clock rollback left in the future; each new row would be pruned at once.

use rouse_core::UnixMs;

use crate::sql::{Durability, Store, StoreError};

/// The most rows.
const MAX_COMPONENTS: u32 = 100;

const GET: &str = "SELECT hash FROM compiled_components WHERE key = $1";
const RECORD: &str = "INSERT INTO compiled_components (key, hash, recorded_at) VALUES ($1, $2, $3)
    ON CONFLICT (key) DO UPDATE SET hash = $2, recorded_at = $3";
const SHIFT: &str = "UPDATE compiled_components SET recorded_at = $1 WHERE recorded_at > $1";
const PRUNE: &str = "DELETE FROM compiled_components WHERE key NOT IN
    (SELECT key FROM compiled_components ORDER BY key = $1 DESC, recorded_at DESC, key LIMIT $2)";

impl Store {
    /// The hash of the file for `key`, in hexadecimal digits.
    pub async fn compiled_hash(&self, key: &str) -> Result<Option<String>, StoreError> {
        let query = sqlx::query(GET).bind(key);
        self.fetch_optional("read the hash of a compiled component", query).await
    }

    /// Records the hash of the file for `key`, and prunes all but the newest 100 rows. Replaces an earlier hash.
    pub async fn record_compiled_hash(
        &self,
        key: &str,
        hash: &str,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let action = "save the hash of a compiled component";
        let mut tx = self.begin(action, Durability::Normal, now).await?;
        tx.execute(sqlx::query(RECORD).bind(key).bind(hash).bind(now.0)).await?;
        tx.execute(sqlx::query(SHIFT).bind(now.0)).await?;
        tx.execute(sqlx::query(PRUNE).bind(key).bind(MAX_COMPONENTS)).await?;
        tx.commit().await
    }
}
