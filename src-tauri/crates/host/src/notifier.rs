//! The port to native notifications. The shell implements the port; an engine without a desktop uses an attached app.

use rouse_core::DeliveryId;
use rouse_core::delivery::Delivery;
use rouse_core::tool::BoxFuture;
use rouse_gateway::wire::NotificationStatus;
use rouse_gateway::{DesktopApps, ShowError};

/// A notification could not be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotifyError {
    /// A temporary failure: no notification server yet, a broken connection.
    #[error("{0}")]
    Later(String),
    /// A permanent failure on this machine.
    #[error("{0}")]
    Never(String),
}

/// Shows native notifications. The implementation routes clicks: the delivery's id leads to the run.
pub trait Notifier: Send + Sync {
    /// Shows `delivery`, replacing an earlier notification with the same id.
    fn show<'a>(&'a self, delivery: &'a Delivery) -> BoxFuture<'a, Result<(), NotifyError>>;
    /// Removes the notification of a settled delivery.
    fn withdraw(&self, id: &DeliveryId);
}

/// The notifications of an engine without a desktop, shown by attached apps.
pub(crate) struct AttachedNotifier(pub(crate) DesktopApps);

impl AttachedNotifier {
    /// The reason while no app is attached.
    pub(crate) const REASON: &'static str =
        "No desktop session: notifications are not shown. See \"rouse runs list\".";
}

/// Whether this process shows notifications, and the reason if not.
pub(crate) fn status(available: bool) -> NotificationStatus {
    let reason = (!available).then(|| AttachedNotifier::REASON.to_owned());
    NotificationStatus { available, reason, failing: false }
}

impl Notifier for AttachedNotifier {
    fn show<'a>(&'a self, delivery: &'a Delivery) -> BoxFuture<'a, Result<(), NotifyError>> {
        Box::pin(async move {
            self.0.show(delivery).await.map_err(|error| match error {
                ShowError::NoApp => NotifyError::Never(Self::REASON.to_owned()),
                ShowError::Never(reason) => NotifyError::Never(reason),
                ShowError::NotNow(reason) => NotifyError::Later(reason),
                ShowError::Disconnected | ShowError::TimedOut => {
                    NotifyError::Later(error.to_string())
                }
            })
        })
    }

    /// Every app receives the event itself and removes its own notifications.
    fn withdraw(&self, _: &DeliveryId) {}
}
