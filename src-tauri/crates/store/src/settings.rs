//! The table `settings`: small facts that outlive a start, as JSON by key.
//!
//! Owns nothing about their meaning: the rooms that use a key know what it holds. It is not for
//! what a person configures (that is the config file) and never for secrets.

use rouse_core::UnixMs;
use rouse_core::event::EventKind;
use serde_json::Value;

use crate::row::Columns;
use crate::write::Durability;
use crate::{Store, StoreError};

const GET: &str = "SELECT value FROM settings WHERE key = ?1";
const PUT: &str = "INSERT INTO settings (key, value) VALUES (?1, ?2)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value";

impl Store {
    /// The value of `key`; none when it was never written.
    ///
    /// # Errors
    /// `Read`.
    pub async fn setting(&self, key: &str) -> Result<Option<Value>, StoreError> {
        let query = sqlx::query(GET).bind(key);
        self.one("read a setting", query, |row| Columns::of(row).json()).await
    }

    /// Writes the value of `key`, with the event that tells about it.
    ///
    /// # Errors
    /// `Write`.
    pub async fn put_setting(
        &self,
        key: &str,
        value: &Value,
        event: Option<(EventKind, Value)>,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut write = self.write("save a setting", Durability::Full, now).await?;
        write.run(sqlx::query(PUT).bind(key).bind(value.to_string())).await?;
        if let Some((kind, data)) = event {
            write.event(kind, data);
        }
        write.commit().await
    }
}
