//! `channels.*`: the channels of the settings, the test of a channel, and the pairing of chats.
//!
//! Never changes the settings; `config.patch` does. Only `channels.check` asks the services, so the list stays quick.
//! Pitfall: calling a channel ready after the check of its set-up alone; the newest failure stands beside the check.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::join_all;
use rouse_core::DeliveryId;
use rouse_core::channel::{
    ChannelDirectory, ChannelEntry, ChannelName, DeliverTo, MessageKind, Recipient, RouteProblem,
};
use rouse_core::delivery::{DeliveryState, NewDelivery};
use rouse_core::time::QuietPolicy;
use rouse_store::ChannelOutcome;

use super::deliveries;
use super::route_labels::RouteLabels;
use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{
    ChangeResult, ChannelFailure, ChannelPairingParams, ChannelPairingResult, ChannelRef,
    ChannelUnpairParams, ChannelView, ChannelsListResult, ChannelsTestParams, ConfirmPairingParams,
    DeliveryRef, DeliveryView, EmptyObject, PairingView, RecipientView, WrittenDefaults,
};

/// The newest outcome of each channel and state.
type Outcomes = HashMap<(ChannelName, &'static str), ChannelOutcome>;

pub(crate) async fn list(
    context: &Context,
    _: EmptyObject,
) -> Result<ChannelsListResult, RpcError> {
    list_with(context, Depth::SetUp).await
}

/// As `channels.list`; also asks each service whether messages would be taken.
pub(crate) async fn check(
    context: &Context,
    _: EmptyObject,
) -> Result<ChannelsListResult, RpcError> {
    list_with(context, Depth::Service).await
}

/// How deep the check of a channel goes.
#[derive(Clone, Copy)]
enum Depth {
    /// Settings, secrets and recipients.
    SetUp,
    /// Also the service.
    Service,
}

async fn list_with(context: &Context, depth: Depth) -> Result<ChannelsListResult, RpcError> {
    let directory = context.channels.now();
    let outcomes = context.store.channel_outcomes().await?.into_iter();
    let mut outcomes: Outcomes = outcomes
        .map(|outcome| ((outcome.channel.clone(), outcome.state.name()), outcome))
        .collect();
    let names = directory.channels.keys();
    let problems = join_all(names.map(|name| problem(context, &directory, name, depth))).await;
    let channels = directory.channels.iter().zip(problems);
    let channels = channels
        .map(|((name, entry), problem)| channel_view(context, name, entry, problem, &mut outcomes));
    let channels = channels.collect();
    let labels = RouteLabels::of(Arc::clone(&directory));
    Ok(ChannelsListResult {
        channels,
        deliver_to: labels.message_routes(None),
        written: written_defaults(&directory.deliver_to),
        last: labels.last(),
        is_headless: directory.is_headless,
    })
}

/// Why the channel cannot send.
async fn problem(
    context: &Context,
    directory: &ChannelDirectory,
    name: &ChannelName,
    depth: Depth,
) -> Option<String> {
    let problem = match depth {
        Depth::SetUp => context.channel_access.problem(name).await,
        Depth::Service => context.channel_access.check(name).await,
    };
    problem.or_else(|| missing_recipient(directory, name))
}

fn missing_recipient(directory: &ChannelDirectory, name: &ChannelName) -> Option<String> {
    match directory.resolve(name.as_str(), None) {
        Err(problem @ RouteProblem::NoRecipient { .. }) => Some(format!("{problem}.")),
        Ok(_) | Err(_) => None,
    }
}

fn channel_view(
    context: &Context,
    name: &ChannelName,
    entry: &ChannelEntry,
    problem: Option<String>,
    outcomes: &mut Outcomes,
) -> ChannelView {
    let mut newest = |state: DeliveryState| outcomes.remove(&(name.clone(), state.name()));
    let failure = newest(DeliveryState::Failed);
    let delivered = newest(DeliveryState::Delivered);
    let recipients = entry.recipients.iter().map(|recipient| RecipientView {
        address: recipient.address.clone(),
        label: recipient.label.clone(),
        is_private: recipient.is_private,
        is_paired: recipient.is_paired,
    });
    ChannelView {
        name: name.to_string(),
        kind: entry.kind,
        label: entry.kind.label().to_owned(),
        details: entry.details,
        recipients: recipients.collect(),
        problem,
        receiving: context.channel_access.receiving(name),
        newest_failure: failure.map(|failure| ChannelFailure {
            at_ms: failure.at.0,
            reason: failure.reason.unwrap_or_default(),
        }),
        last_delivered_at_ms: delivered.map(|delivered| delivered.at.0),
    }
}

fn written_defaults(deliver_to: &DeliverTo) -> WrittenDefaults {
    WrittenDefaults {
        deliver_to: deliver_to.reports.clone(),
        deliver_failures_to: deliver_to.failures.clone(),
        deliver_approvals_to: deliver_to.approvals.clone(),
    }
}

/// Sends a test message, also in quiet hours.
pub(crate) async fn test(
    context: &Context,
    params: ChannelsTestParams,
) -> Result<DeliveryView, RpcError> {
    let route = context.channels.now().resolve(&params.name, params.to.as_deref());
    let route = route.map_err(|problem| route_error(&problem))?;
    let now = context.clock.now();
    let id = DeliveryId::generate(now);
    let delivery = NewDelivery {
        id: id.clone(),
        kind: MessageKind::Report,
        approval: None,
        title: "Rouse".to_owned(),
        body: format!("Messages arrive. This is a test of the channel {}.", route.channel),
        route,
        text: None,
        quiet_hours: QuietPolicy::IGNORE,
    };
    context.store.enqueue_delivery(None, &delivery, now).await?;
    context.outbox.notify_one();
    deliveries::get(context, DeliveryRef { id: id.to_string() }).await
}

/// Starts a pairing.
pub(crate) async fn pair(context: &Context, params: ChannelRef) -> Result<PairingView, RpcError> {
    let name = find(context, &params.name)?;
    context.channel_access.pair(&name).await
}

pub(crate) async fn pairing(
    context: &Context,
    params: ChannelPairingParams,
) -> Result<ChannelPairingResult, RpcError> {
    let name = find(context, &params.name)?;
    let pairing = context.channel_access.pairing(&name, params.known).await;
    Ok(ChannelPairingResult { pairing })
}

/// Accepts or refuses the person who opened the link.
pub(crate) async fn confirm_pairing(
    context: &Context,
    params: ConfirmPairingParams,
) -> Result<PairingView, RpcError> {
    let name = find(context, &params.name)?;
    context.channel_access.confirm_pairing(&name, params.accept).await
}

/// Removes a paired recipient, also of a channel that the settings no longer have.
pub(crate) async fn unpair(
    context: &Context,
    params: ChannelUnpairParams,
) -> Result<ChangeResult, RpcError> {
    let name = ChannelName::new(params.name);
    let address = match params.address {
        Some(address) => address,
        None => only_paired_address(context, &name)?,
    };
    let changed = context.channel_access.unpair(&name, &address).await?;
    Ok(ChangeResult { changed })
}

fn only_paired_address(context: &Context, name: &ChannelName) -> Result<String, RpcError> {
    let directory = context.channels.now();
    let entry = directory.channels.get(name);
    let recipients = entry.map(|entry| entry.recipients.as_slice()).unwrap_or_default();
    let paired: Vec<&Recipient> =
        recipients.iter().filter(|recipient| recipient.is_paired).collect();
    match paired.as_slice() {
        [only] => Ok(only.address.clone()),
        [] => Err(RpcError::field("name", &format!("{name} has no paired recipient"))),
        several => {
            let addresses: Vec<&str> =
                several.iter().map(|recipient| recipient.address.as_str()).collect();
            let message = format!("{name} has several; name one of {}", addresses.join(", "));
            Err(RpcError::field("address", &message))
        }
    }
}

fn find(context: &Context, name: &str) -> Result<ChannelName, RpcError> {
    let name = ChannelName::new(name);
    if context.channels.now().channels.contains_key(&name) {
        return Ok(name);
    }
    let message = format!("there is no channel `{name}`. Set it up with `rouse channels add`");
    Err(RpcError::field("name", &message))
}

fn route_error(problem: &RouteProblem) -> RpcError {
    let field = match problem {
        RouteProblem::NoChannel { .. }
        | RouteProblem::SeveralChannels { .. }
        | RouteProblem::NoRecipient { .. }
        | RouteProblem::NoChannelNamed => "name",
        RouteProblem::UnknownRecipient { .. } | RouteProblem::NoChoice { .. } => "to",
    };
    RpcError::field(field, &problem.to_string())
}

#[cfg(test)]
mod tests {
    use rouse_core::channel::{ChannelDetails, ChannelKind};

    use super::*;

    #[test]
    fn only_a_missing_recipient_is_a_problem() {
        let recipient = |address: &str| Recipient {
            channel: ChannelName::new("phone"),
            address: address.to_owned(),
            label: address.to_owned(),
            is_private: true,
            is_paired: false,
        };
        let problem = |kind, addresses: &[&str]| {
            let recipients = addresses.iter().map(|address| recipient(address)).collect();
            let entry = ChannelEntry { kind, details: ChannelDetails::Full, recipients };
            let name = ChannelName::new("phone");
            let channels = [(name.clone(), entry)].into();
            let directory = ChannelDirectory { channels, ..ChannelDirectory::default() };
            missing_recipient(&directory, &name)
        };
        let pair = "phone has no recipient. Pair your chat with `rouse channels pair phone`.";
        assert_eq!(problem(ChannelKind::Telegram, &[]).as_deref(), Some(pair));
        let set = "phone has no recipient. Write one into `to` of `[channels.phone]` in the settings file.";
        assert_eq!(problem(ChannelKind::Whatsapp, &[]).as_deref(), Some(set));
        assert_eq!(problem(ChannelKind::Email, &[]).as_deref(), Some(set));
        assert_eq!(problem(ChannelKind::Telegram, &["7", "8"]), None);
        assert_eq!(problem(ChannelKind::Slack, &[]), None);
    }

    #[test]
    fn route_error_names_the_field() {
        let channel = ChannelName::new("mail");
        let (to, addresses) = ("x".to_owned(), vec!["a@example.org".to_owned()]);
        let recipient = RouteProblem::UnknownRecipient { channel, to, addresses };
        let message = route_error(&recipient).message;
        assert_eq!(message, "to: `x` is no recipient of mail; its recipients are `a@example.org`");
        let none = RouteProblem::NoChannel { name: "mali".to_owned(), known: Vec::new() };
        assert!(route_error(&none).message.starts_with("name: there is no channel `mali`"));
    }
}
