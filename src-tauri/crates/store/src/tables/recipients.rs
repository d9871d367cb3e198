//! The tables `recipients` and `received_offsets`: paired places on channels, how far their messages are handled, and the
//! answers to them.
//!
//! A recipient that the settings name is no row here: only a paired one can decide approvals and write to the main session.
//! Never stores a pairing code. Pitfall: an offset by the name of a channel; another bot counts its messages anew.

use rouse_core::UnixMs;
use rouse_core::channel::{ChannelName, Recipient};
use rouse_core::delivery::NewDelivery;
use rouse_core::event::EventKind;
use serde_json::json;

use super::outbox::enqueue_once;
use crate::sql::{Durability, FromColumns, RowReader, Store, StoreError, Transaction};

const ALL: &str = "SELECT channel, address, label FROM recipients ORDER BY channel, paired_at";
const PAIR: &str =
    "INSERT INTO recipients (channel, address, label, paired_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (channel, address) DO UPDATE SET label = $3, paired_at = $4";
const UNPAIR: &str = "DELETE FROM recipients WHERE channel = $1 AND address = $2";
const UNPAIR_ALL: &str = "DELETE FROM recipients";
const OFFSET: &str = "SELECT next_update FROM received_offsets WHERE source = $1";
const PUT_OFFSET: &str = "INSERT INTO received_offsets (source, next_update) VALUES ($1, $2)
    ON CONFLICT (source) DO UPDATE SET next_update = $2";

/// Three columns: channel, address and label. Only private places are paired.
impl FromColumns<'_> for Recipient {
    fn from_columns(row: &mut RowReader<'_>) -> sqlx::Result<Self> {
        Ok(Self {
            channel: row.read()?,
            address: row.read()?,
            label: row.read()?,
            is_private: true,
            is_paired: true,
        })
    }
}

impl Store {
    /// The paired recipients of all channels, the oldest of a channel first.
    pub async fn recipients(&self) -> Result<Vec<Recipient>, StoreError> {
        self.fetch_all("read the recipients", sqlx::query(ALL)).await
    }

    /// Stores a paired recipient. Event `config`.
    pub async fn pair_recipient(
        &self,
        recipient: &Recipient,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin("save the recipient", Durability::Full, now).await?;
        let query = sqlx::query(PAIR)
            .bind(recipient.channel.as_str())
            .bind(recipient.address.as_str())
            .bind(recipient.label.as_str())
            .bind(now.0);
        tx.execute(query).await?;
        tx.emit(EventKind::Config, json!({ "recipients": recipient.channel.as_str() }));
        tx.commit().await
    }

    /// Removes a paired recipient. Returns false without one. Event `config`.
    pub async fn unpair_recipient(
        &self,
        channel: &ChannelName,
        address: &str,
        now: UnixMs,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin("remove the recipient", Durability::Full, now).await?;
        let query = sqlx::query(UNPAIR).bind(channel.as_str()).bind(address);
        if tx.execute(query).await? == 0 {
            return tx.roll_back().await.map(|()| false);
        }
        tx.emit(EventKind::Config, json!({ "recipients": channel.as_str() }));
        tx.commit().await.map(|()| true)
    }

    /// Inserts an answer to a received message, unless the id is in the outbox. Event `delivery`.
    pub async fn enqueue_answer(
        &self,
        answer: &NewDelivery,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin("put an answer into the outbox", Durability::Full, now).await?;
        enqueue_once(&mut tx, None, answer).await?;
        tx.commit().await
    }

    /// The first update of `source` that was not handled; none before the first one.
    pub async fn received_offset(&self, source: &str) -> Result<Option<i64>, StoreError> {
        self.fetch_optional("read the received messages", sqlx::query(OFFSET).bind(source)).await
    }

    /// Records that all updates of `source` before `next_update` are handled.
    pub async fn put_received_offset(
        &self,
        source: &str,
        next_update: i64,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin("save the received messages", Durability::Full, now).await?;
        tx.execute(sqlx::query(PUT_OFFSET).bind(source).bind(next_update)).await?;
        tx.commit().await
    }
}

/// Removes all paired recipients.
pub(crate) async fn unpair_all(tx: &mut Transaction) -> Result<(), StoreError> {
    tx.execute(sqlx::query(UNPAIR_ALL)).await.map(drop)
}
