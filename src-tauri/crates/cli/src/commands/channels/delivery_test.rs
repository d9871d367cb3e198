//! `rouse channels test`: a test message and its outcome.
//!
//! Subscribes before the message is sent, so that no event is missed, and ends after the first attempt. Pitfall: exit
//! code 0 for a message that did not leave; a script would continue.

use std::time::Duration;

use rouse_gateway::EventStream;
use rouse_gateway::wire::{ChannelKind, DeliveryState, DeliveryView};
use serde_json::{Value, json};

use crate::commands::follow;
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

/// Time limit of the wait. A mail server answers within 60 seconds, any other service within 30.
const WAIT_LIMIT: Duration = Duration::from_secs(60);

/// Sends a test message and waits for its outcome.
pub(super) async fn test_channel(
    name: &str,
    to: Option<&str>,
    engine: &EngineConnection,
) -> Result<(), CliError> {
    let events = follow::subscribe(engine).await?;
    let params = json!({ "name": name, "to": to });
    let sent = engine.call("channels.test", params).await;
    let names = [("name", "NAME"), ("to", "--to")];
    let sent = sent.map_err(|error| error.with_field_names(&names))?;
    let sent: DeliveryView = serde_json::from_value(sent)?;
    let waited = tokio::time::timeout(WAIT_LIMIT, wait_for_outcome(events, &sent.id, engine));
    let delivery = match waited.await {
        Ok(delivery) => delivery?,
        Err(_) => fetch_delivery(&sent.id, engine).await?,
    };
    let outcome = outcome_text(&delivery);
    if engine.json {
        anstream::println!("{}", serde_json::to_string_pretty(&delivery)?);
    } else if let Ok(text) = &outcome {
        anstream::println!("{}", escape(text));
    }
    outcome.map(|_| ()).map_err(|reason| anyhow::anyhow!(reason).into())
}

/// The delivery after its first attempt.
async fn wait_for_outcome(
    mut events: EventStream,
    id: &str,
    engine: &EngineConnection,
) -> Result<DeliveryView, CliError> {
    loop {
        let delivery = fetch_delivery(id, engine).await?;
        if has_outcome(&delivery) {
            return Ok(delivery);
        }
        loop {
            let Some(event) = events.next().await else {
                return Err(CliError::Refused(
                    "Rouse has ended. It sends the message after its next start.".to_owned(),
                ));
            };
            if event.data.get("deliveryId").and_then(Value::as_str) == Some(id) {
                break;
            }
        }
    }
}

async fn fetch_delivery(id: &str, engine: &EngineConnection) -> Result<DeliveryView, CliError> {
    engine.fetch("deliveries.get", json!({ "id": id })).await
}

/// Whether an attempt has ended. A postponed delivery has a reason.
const fn has_outcome(delivery: &DeliveryView) -> bool {
    match delivery.state {
        DeliveryState::Delivered
        | DeliveryState::Failed
        | DeliveryState::Suppressed
        | DeliveryState::Unknown => true,
        DeliveryState::Pending => delivery.reason.is_some(),
        DeliveryState::Held | DeliveryState::Sending => false,
    }
}

/// The outcome as sentences; an error if the message did not arrive.
fn outcome_text(delivery: &DeliveryView) -> Result<String, String> {
    let channel = &delivery.channel;
    let reason = delivery.reason.as_deref().unwrap_or("The cause is unknown.");
    match delivery.state {
        DeliveryState::Delivered if delivery.channel_kind == Some(ChannelKind::Whatsapp) => {
            Ok("Accepted by WhatsApp, which does not tell Rouse whether the message arrives."
                .to_owned())
        }
        DeliveryState::Delivered => Ok(format!("Delivered: {channel} accepted the message.")),
        DeliveryState::Unknown => Ok(format!(
            "Unconfirmed: the message may have arrived. {reason} Rouse sends it once more, marked as a repeat."
        )),
        DeliveryState::Failed => Err(format!("Not delivered: {reason}")),
        DeliveryState::Suppressed => Err(format!("Not sent: {reason}")),
        DeliveryState::Pending | DeliveryState::Held | DeliveryState::Sending => {
            Err(match &delivery.reason {
                Some(reason) => format!("Not delivered yet: {reason} Rouse tries for 24 hours."),
                None => format!("{channel} has not answered yet. See the result: rouse channels"),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(state: DeliveryState, reason: Option<&str>) -> DeliveryView {
        DeliveryView {
            id: "d".to_owned(),
            run_id: None,
            channel: "phone".to_owned(),
            channel_kind: None,
            to: None,
            title: "Rouse".to_owned(),
            body: String::new(),
            state,
            attempts: 1,
            reason: reason.map(str::to_owned),
            created_at_ms: 0,
            next_attempt_at_ms: None,
            settled_at_ms: None,
            held_until_ms: None,
            digest_id: None,
        }
    }

    #[test]
    fn only_a_message_that_may_have_arrived_succeeds() {
        let text = |state, reason| outcome_text(&delivery(state, reason));
        let delivered = text(DeliveryState::Delivered, None);
        assert_eq!(delivered.as_deref(), Ok("Delivered: phone accepted the message."));
        let whatsapp = DeliveryView {
            channel_kind: Some(ChannelKind::Whatsapp),
            ..delivery(DeliveryState::Delivered, None)
        };
        assert!(outcome_text(&whatsapp).expect("a text").starts_with("Accepted by WhatsApp"));
        let unknown = text(DeliveryState::Unknown, Some("No answer.")).expect("unconfirmed");
        assert!(unknown.starts_with("Unconfirmed: the message may have arrived. No answer."));
        let failed = text(DeliveryState::Failed, Some("The bot is blocked."));
        assert_eq!(failed, Err("Not delivered: The bot is blocked.".to_owned()));
        assert!(text(DeliveryState::Suppressed, Some("No desktop.")).is_err());
        let pending = text(DeliveryState::Pending, Some("No network.")).expect_err("pending");
        assert_eq!(pending, "Not delivered yet: No network. Rouse tries for 24 hours.");
    }

    #[test]
    fn wait_ends_with_the_first_attempt() {
        let is_ended = |state, reason| has_outcome(&delivery(state, reason));
        assert!(
            is_ended(DeliveryState::Unknown, None) && is_ended(DeliveryState::Suppressed, None)
        );
        assert!(is_ended(DeliveryState::Pending, Some("Connection refused.")));
        assert!(!is_ended(DeliveryState::Pending, None) && !is_ended(DeliveryState::Sending, None));
    }
}
