//! `deliveries.*`.

use rouse_core::DeliveryId;
use rouse_core::delivery::{Channel, NewDelivery};
use rouse_core::quiet::QuietPolicy;

use crate::context::Context;
use crate::convert::delivery_view;
use crate::error::{ErrorCode, RpcError};
use crate::wire::{DeliveryRef, DeliveryView, Done, Empty, ShowAnswer};

pub(crate) async fn get(context: &Context, params: DeliveryRef) -> Result<DeliveryView, RpcError> {
    let found = context.store.delivery(&DeliveryId::new(params.id.as_str())).await?;
    found.as_ref().map(delivery_view).ok_or_else(|| {
        RpcError::new(ErrorCode::NotFound, format!("There is no delivery {}.", params.id))
    })
}

/// Sends a notification whose click leads to the settings, so that a person can see the way works.
pub(crate) async fn test(context: &Context, _: Empty) -> Result<DeliveryView, RpcError> {
    let now = context.clock.now();
    let id = DeliveryId::generate(now);
    let delivery = NewDelivery {
        id: id.clone(),
        channel: Channel::Notification,
        to: None,
        title: "Rouse".to_owned(),
        body: "Notifications work. Click to come back to Rouse.".to_owned(),
        quiet_hours: QuietPolicy::Ignore,
    };
    context.store.enqueue_delivery(None, &delivery, now).await?;
    context.outbox.notify_one();
    get(context, DeliveryRef { id: id.to_string() }).await
}

/// A screen says what became of what it was asked to show. The key is the right to say it: only that screen was told.
pub(crate) async fn answer(context: &Context, params: ShowAnswer) -> Result<Done, RpcError> {
    Ok(Done { changed: context.screens.answer(params) })
}
