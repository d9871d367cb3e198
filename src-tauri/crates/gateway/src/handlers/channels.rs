//! `channels.*`: the channels of the settings, and the test of a channel.
//!
//! Changes nothing; `config.patch` changes the settings. Pitfall: calling a channel ready after the check of its
//! set-up alone; the newest failure stands beside the check.

use std::collections::HashMap;
use std::sync::Arc;

use rouse_core::DeliveryId;
use rouse_core::channel::{ChannelEntry, ChannelName, DeliverTo, MessageKind, RouteProblem};
use rouse_core::delivery::{DeliveryState, NewDelivery};
use rouse_core::time::QuietPolicy;
use rouse_store::ChannelOutcome;

use super::deliveries;
use super::route_labels::RouteLabels;
use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{
    ChannelFailure, ChannelView, ChannelsListResult, ChannelsTestParams, DeliveryRef, DeliveryView,
    EmptyObject, RecipientView, WrittenDefaults,
};

/// The newest outcome of each channel and state.
type Outcomes = HashMap<(ChannelName, &'static str), ChannelOutcome>;

pub(crate) async fn list(
    context: &Context,
    _: EmptyObject,
) -> Result<ChannelsListResult, RpcError> {
    let directory = context.channels.now();
    let outcomes = context.store.channel_outcomes().await?.into_iter();
    let mut outcomes: Outcomes = outcomes
        .map(|outcome| ((outcome.channel.clone(), outcome.state.name()), outcome))
        .collect();
    let mut channels = Vec::with_capacity(directory.channels.len());
    for (name, entry) in &directory.channels {
        channels.push(channel_view(context, name, entry, &mut outcomes).await);
    }
    let labels = RouteLabels::of(Arc::clone(&directory));
    Ok(ChannelsListResult {
        channels,
        deliver_to: labels.default_routes(),
        written: written_defaults(&directory.deliver_to),
        last: labels.last(),
        is_headless: directory.is_headless,
    })
}

async fn channel_view(
    context: &Context,
    name: &ChannelName,
    entry: &ChannelEntry,
    outcomes: &mut Outcomes,
) -> ChannelView {
    let mut newest = |state: DeliveryState| outcomes.remove(&(name.clone(), state.name()));
    let failure = newest(DeliveryState::Failed);
    let delivered = newest(DeliveryState::Delivered);
    let recipients = entry.recipients.iter().map(|recipient| RecipientView {
        address: recipient.address.clone(),
        label: recipient.label.clone(),
        is_private: recipient.is_private,
    });
    ChannelView {
        name: name.to_string(),
        kind: entry.kind,
        label: entry.kind.label().to_owned(),
        details: entry.details,
        recipients: recipients.collect(),
        problem: context.channel_checks.problem(name).await,
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

fn route_error(problem: &RouteProblem) -> RpcError {
    let field = match problem {
        RouteProblem::NoChannel { .. }
        | RouteProblem::SeveralChannels { .. }
        | RouteProblem::NoRecipient { .. }
        | RouteProblem::NoChannelNamed => "name",
        RouteProblem::SeveralRecipients { .. }
        | RouteProblem::UnknownRecipient { .. }
        | RouteProblem::NoChoice { .. } => "to",
    };
    RpcError::field(field, &problem.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

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
