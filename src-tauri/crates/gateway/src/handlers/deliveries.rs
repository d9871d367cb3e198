//! `deliveries.*`: deliveries, the test notification and reports of desktop apps.

use rouse_core::DeliveryId;
use rouse_core::channel::{MessageKind, Route};
use rouse_core::delivery::NewDelivery;
use rouse_core::time::QuietPolicy;

use crate::context::Context;
use crate::convert::delivery_view;
use crate::error::{ErrorCode, RpcError};
use crate::wire::{ChangeResult, DeliveryRef, DeliveryView, EmptyObject, NotificationReport};

pub(crate) async fn get(context: &Context, params: DeliveryRef) -> Result<DeliveryView, RpcError> {
    let delivery = context.store.delivery(&DeliveryId::new(params.id.as_str())).await?;
    let delivery = delivery.ok_or_else(|| {
        RpcError::new(ErrorCode::NotFound, format!("There is no delivery {}.", params.id))
    })?;
    Ok(delivery_view(&context.channels.now(), &delivery))
}

/// Sends a test notification.
pub(crate) async fn test(context: &Context, _: EmptyObject) -> Result<DeliveryView, RpcError> {
    let now = context.clock.now();
    let id = DeliveryId::generate(now);
    let delivery = NewDelivery {
        id: id.clone(),
        kind: MessageKind::Report,
        approval: None,
        route: Route::notification(),
        title: "Rouse".to_owned(),
        body: "Notifications work. Click to open Rouse.".to_owned(),
        text: None,
        quiet_hours: QuietPolicy::IGNORE,
    };
    context.store.enqueue_delivery(None, &delivery, now).await?;
    context.outbox.notify_one();
    get(context, DeliveryRef { id: id.to_string() }).await
}

/// Accepts the report of a desktop app. Only the app that got the request knows its key.
pub(crate) async fn report(
    context: &Context,
    params: NotificationReport,
) -> Result<ChangeResult, RpcError> {
    Ok(ChangeResult { changed: context.desktop_apps.report(params) })
}
