//! The table `settings`: small facts that survive a restart, as JSON by key.
//!
//! Never knows their meaning: the rooms that use a key do. Not for configuration (the config file) and never for secrets.

use rouse_core::UnixMs;
use rouse_core::event::EventKind;
use serde_json::Value;

use crate::sql::{Durability, Store, StoreError, Transaction, is_first_report};

const GET: &str = "SELECT value FROM settings WHERE key = $1";
const PUT: &str = "INSERT INTO settings (key, value) VALUES ($1, $2)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value";

/// The key of the reason why the main session is to get a turn; null without a request.
pub const PENDING_MAIN_TURN: &str = "heartbeat.pending";

/// The stored value of a key.
#[derive(Debug, Clone, PartialEq)]
pub enum StoredSetting {
    /// It was never written.
    Absent,
    /// A value.
    Value(Value),
    /// The value cannot be read; the log says why.
    Unreadable,
}

impl Store {
    /// The value of `key`; none if absent or unreadable.
    pub async fn setting(&self, key: &str) -> Result<Option<Value>, StoreError> {
        match self.stored_setting(key).await? {
            StoredSetting::Value(value) => Ok(Some(value)),
            StoredSetting::Absent | StoredSetting::Unreadable => Ok(None),
        }
    }

    /// The value of `key`, for callers that must distinguish unreadable from absent.
    pub async fn stored_setting(&self, key: &str) -> Result<StoredSetting, StoreError> {
        let query = sqlx::query(GET).bind(key);
        let Some(text) = self.fetch_optional::<String>("read a setting", query).await? else {
            return Ok(StoredSetting::Absent);
        };
        Ok(serde_json::from_str(&text).map_or_else(
            |error| {
                if is_first_report(&format!("setting {key}")) {
                    tracing::error!(key, %error, "a setting of the database cannot be read");
                }
                StoredSetting::Unreadable
            },
            StoredSetting::Value,
        ))
    }

    /// Writes the value of `key` and emits `event`.
    pub async fn put_setting(
        &self,
        key: &str,
        value: &Value,
        event: Option<(EventKind, Value)>,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin("save a setting", Durability::Full, now).await?;
        put_setting(&mut tx, key, value).await?;
        if let Some((kind, data)) = event {
            tx.emit(kind, data);
        }
        tx.commit().await
    }
}

/// Writes the value of `key`.
pub(crate) async fn put_setting(
    tx: &mut Transaction,
    key: &str,
    value: &Value,
) -> Result<(), StoreError> {
    tx.execute(sqlx::query(PUT).bind(key).bind(value.to_string())).await.map(drop)
}
