//! `rouse channels pair` and `unpair`: a private chat as a recipient.
//!
//! Shows the one-time link with its QR code, waits for the person who opens the link, and asks whether it is the right one.
//! Pitfall: pairing without the question; somebody else may have seen the link.

use rouse_gateway::wire::{
    ChangeResult, ChannelPairingResult, ChannelUnpairParams, ChannelsListResult, PairingState,
    PairingView,
};
use serde_json::{Map, Value, json};

use super::default_channels::{lists_with, lists_without, print_default_commands};
use super::removal::{is_target_of, names_of};
use super::{find_channel, list_channels};
use crate::commands::extensions::{ask_line, is_interactive};
use crate::render::text::escape;
use crate::render::time::local_time;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::keyboard::is_confirmed;

/// Pairs the private chat of the person who opens the link.
pub(super) async fn pair(name: &str, engine: &EngineConnection) -> Result<(), CliError> {
    if !is_interactive(engine) {
        return Err(CliError::Refused(format!(
            "Pairing asks who opened the link. Run it in a terminal: rouse channels pair {name}"
        )));
    }
    let started: PairingView = engine.fetch("channels.pair", json!({ "name": name })).await?;
    let until = local_time(engine, started.expires_at_ms);
    anstream::println!("{}", started.qr_text);
    anstream::println!("Scan the code with the phone, or open {}", escape(&started.link));
    anstream::println!("Then press Start. The link works once, until {until}. Cancel: Ctrl+C");
    let opened = wait_for_change(name, started, engine).await?;
    if opened.state != PairingState::Confirming {
        return Err(CliError::Refused(end_text(name, &opened)));
    }
    let person = escape(opened.person.as_deref().unwrap_or_default());
    let answer = ask_line(&format!("{person} opened the link. Is this you? [y/N] ")).await?;
    let params = json!({ "name": name, "accept": is_confirmed(&answer) });
    let ended: PairingView = engine.fetch("channels.confirmPairing", params).await?;
    anstream::println!("{}", end_text(name, &ended));
    if ended.state == PairingState::Paired {
        print_default_commands(&missing_defaults(&list_channels(engine).await?, name)?);
    }
    Ok(())
}

/// The change of the default channels after which all messages go to the channel too.
fn missing_defaults(list: &ChannelsListResult, name: &str) -> Result<Map<String, Value>, CliError> {
    let names = names_of(list, find_channel(list, name)?);
    let present = lists_without(list, |target| is_target_of(target, &names));
    let mut missing = lists_with(list, &[name.to_owned()]);
    missing.retain(|key, _| !present.contains_key(key));
    Ok(missing)
}

/// The pairing after its next change of state.
async fn wait_for_change(
    name: &str,
    mut pairing: PairingView,
    engine: &EngineConnection,
) -> Result<PairingView, CliError> {
    while pairing.state == PairingState::Waiting {
        let params = json!({ "name": name, "known": pairing.state });
        let next: ChannelPairingResult = engine.fetch("channels.pairing", params).await?;
        pairing = next.pairing.ok_or_else(|| {
            CliError::Refused("Rouse was restarted meanwhile. Start the pairing again.".to_owned())
        })?;
    }
    Ok(pairing)
}

fn end_text(name: &str, pairing: &PairingView) -> String {
    let person = escape(pairing.person.as_deref().unwrap_or_default());
    match pairing.state {
        PairingState::Paired => format!("Paired with {person}."),
        PairingState::Refused => "Nothing was paired. The link no longer works.".to_owned(),
        PairingState::Expired => {
            format!("Nobody opened the link in time. Again: rouse channels pair {name}")
        }
        PairingState::Waiting | PairingState::Confirming => {
            format!("Another pairing of {name} began. Again: rouse channels pair {name}")
        }
    }
}

/// Removes a paired chat.
pub(super) async fn unpair(
    name: &str,
    address: Option<String>,
    engine: &EngineConnection,
) -> Result<(), CliError> {
    let params = json!(ChannelUnpairParams { name: name.to_owned(), address });
    let removed = engine.call("channels.unpair", params).await;
    let removed = removed
        .map_err(|error| error.with_field_names(&[("name", "NAME"), ("address", "ADDRESS")]))?;
    let removed: ChangeResult = serde_json::from_value(removed)?;
    if engine.json {
        anstream::println!("{}", serde_json::to_string_pretty(&removed)?);
    } else if removed.changed {
        anstream::println!(
            "Unpaired. {name} no longer sends messages there and no longer hears that chat."
        );
    } else {
        return Err(CliError::Refused(format!(
            "{name} has no such paired chat. See: rouse channels"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_channel_gets_no_hint() {
        let phone = json!({
            "name": "phone", "kind": "telegram", "label": "Telegram", "details": "full",
            "recipients": [], "problem": null, "receiving": null, "newestFailure": null,
            "lastDeliveredAtMs": null,
        });
        let missing = |deliver_to: Value, is_headless: bool| {
            let routes = json!({ "reports": [], "failures": [], "approvals": [] });
            let written = json!({
                "deliverTo": deliver_to, "deliverFailuresTo": null, "deliverApprovalsTo": null,
            });
            let list = serde_json::from_value(json!({
                "channels": [phone.clone()], "deliverTo": routes, "written": written,
                "last": "notification", "isHeadless": is_headless,
            }));
            Value::Object(missing_defaults(&list.expect("a list"), "phone").expect("a channel"))
        };
        for present in ["phone", "phone:7", "telegram"] {
            assert_eq!(missing(json!(["notification", present]), false), json!({}), "{present}");
        }
        assert_eq!(missing(Value::Null, true), json!({}));
        let added = json!({ "deliverTo": ["notification", "phone"] });
        assert_eq!(missing(Value::Null, false), added);
        assert_eq!(missing(json!(["notification"]), true), added);
    }
}
