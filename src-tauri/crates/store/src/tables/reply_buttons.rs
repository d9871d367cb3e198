//! The table `reply_buttons`: the buttons of sent approval requests.
//!
//! Stores only the hash of the text that the service returns for a button. A button is valid until its approval ends; the rows
//! stay until the sent message shows the end. Never decides: the caller checks the sender.

use rouse_core::channel::Route;
use rouse_core::text::sha256_hex;
use rouse_core::{ApprovalId, DeliveryId, UnixMs};

use crate::sql::{Durability, Store, StoreError, from_columns};

/// A button of a sent approval request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReplyButton {
    /// The random text that the service returns.
    pub data: String,
    /// Whether the button allows the call once; otherwise it denies the call.
    pub is_allow: bool,
}

/// A pressed button, with the place of its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PressedButton {
    /// The approval; none if the message was pruned.
    pub approval_id: Option<ApprovalId>,
    /// Whether the button allows the call once; otherwise it denies the call.
    pub is_allow: bool,
    /// The channel and recipient of the message.
    pub route: Route,
}

/// A sent message whose approval is no longer pending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutdatedButtons {
    /// The delivery.
    pub delivery_id: DeliveryId,
    /// The service's ids of the sent messages, as a JSON array; none if no message was accepted.
    pub message_ids: Option<String>,
    /// When the approval ended.
    pub ended_at: Option<UnixMs>,
}

const ADD: &str = "INSERT INTO reply_buttons (hash, delivery_id, decision) VALUES ($1, $2, $3)";
const PRESSED: &str = "SELECT approval_id, decision = 'once', channel, recipient, thread
    FROM reply_buttons JOIN outbox ON outbox.id = delivery_id WHERE hash = $1";
pub(crate) const OUTDATED: &str = "SELECT DISTINCT delivery_id, message_ids, decided_at
    FROM reply_buttons
        LEFT JOIN outbox ON outbox.id = delivery_id
        LEFT JOIN approvals ON approvals.id = approval_id
    WHERE approvals.state IS NULL OR approvals.state <> 'pending'";
const DELETE: &str = "DELETE FROM reply_buttons WHERE delivery_id = $1";

from_columns!(PressedButton: approval_id, is_allow, route);
from_columns!(OutdatedButtons: delivery_id, message_ids, ended_at);

impl Store {
    /// Adds the buttons of a delivery, before its message is sent. Earlier buttons stay valid: their message may have arrived.
    pub async fn add_reply_buttons(
        &self,
        delivery: &DeliveryId,
        buttons: &[NewReplyButton],
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin("save the buttons", Durability::Full, now).await?;
        for button in buttons {
            let query = sqlx::query(ADD)
                .bind(sha256_hex(&button.data))
                .bind(delivery.as_str())
                .bind(if button.is_allow { "once" } else { "deny" });
            tx.execute(query).await?;
        }
        tx.commit().await
    }

    /// The button with this data.
    pub async fn pressed_button(&self, data: &str) -> Result<Option<PressedButton>, StoreError> {
        self.fetch_optional("read the button", sqlx::query(PRESSED).bind(sha256_hex(data))).await
    }

    /// The messages with buttons of approvals that are no longer pending.
    pub async fn outdated_buttons(&self) -> Result<Vec<OutdatedButtons>, StoreError> {
        self.fetch_all("read the buttons", sqlx::query(OUTDATED)).await
    }

    /// Removes the buttons of a delivery.
    pub async fn remove_reply_buttons(
        &self,
        delivery: &DeliveryId,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin("remove the buttons", Durability::Normal, now).await?;
        tx.execute(sqlx::query(DELETE).bind(delivery.as_str())).await?;
        tx.commit().await
    }
}
