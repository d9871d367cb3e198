//! The table `settings`: small facts that outlive a start, as JSON by key.
//!
//! Owns nothing about their meaning: the rooms that use a key know what it holds. It is not for
//! what a person configures (that is the config file) and never for secrets.

use rouse_core::UnixMs;
use rouse_core::event::EventKind;
use serde_json::Value;

use crate::row::{Columns, is_news};
use crate::write::{Durability, Write};
use crate::{Store, StoreError};

const GET: &str = "SELECT value FROM settings WHERE key = ?1";
const PUT: &str = "INSERT INTO settings (key, value) VALUES (?1, ?2)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value";

/// Why the main session is to get a turn that it has not got yet; null when nobody asks for one.
pub const PENDING_TURN: &str = "heartbeat.pending";

/// What is stored under a key.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// It was never written.
    Absent,
    /// This.
    Is(Value),
    /// Something that cannot be read. It was logged.
    Unreadable,
}

impl Store {
    /// The value of `key`; none when it was never written, or cannot be read.
    ///
    /// # Errors
    /// `Read`.
    pub async fn setting(&self, key: &str) -> Result<Option<Value>, StoreError> {
        match self.stored_setting(key).await? {
            Setting::Is(value) => Ok(Some(value)),
            Setting::Absent | Setting::Unreadable => Ok(None),
        }
    }

    /// The same, for who must not take an unreadable value for an absent one.
    ///
    /// # Errors
    /// `Read`.
    pub async fn stored_setting(&self, key: &str) -> Result<Setting, StoreError> {
        let query = sqlx::query(GET).bind(key);
        let read = self.one("read a setting", query, |row| Ok(Columns::of(row).json())).await?;
        Ok(match read {
            None => Setting::Absent,
            Some(Ok(value)) => Setting::Is(value),
            Some(Err(error)) => {
                if is_news(&format!("setting {key}")) {
                    tracing::error!(key, %error, "a setting of the database cannot be read");
                }
                Setting::Unreadable
            }
        })
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
        put(&mut write, key, value).await?;
        if let Some((kind, data)) = event {
            write.event(kind, data);
        }
        write.commit().await
    }
}

/// Writes the value of `key` as part of a write.
pub(crate) async fn put(write: &mut Write, key: &str, value: &Value) -> Result<(), StoreError> {
    write.run(sqlx::query(PUT).bind(key).bind(value.to_string())).await?;
    Ok(())
}
