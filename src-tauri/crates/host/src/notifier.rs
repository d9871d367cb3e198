//! The port to native notifications: the shell implements it, and an engine without a desktop borrows the one of an app
//! that is attached to it.

use rouse_core::DeliveryId;
use rouse_core::delivery::Delivery;
use rouse_core::tool::BoxFuture;
use rouse_gateway::wire::NotificationStatus;
use rouse_gateway::{NotShown, Screens};

use crate::options::HostOptions;

/// A notification could not be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotifyError {
    /// It may work later: no notification server yet, a broken connection.
    #[error("{0}")]
    Later(String),
    /// It cannot work on this machine.
    #[error("{0}")]
    Never(String),
}

/// Shows native notifications. A click is the implementer's to route: it looks the run up by the delivery's id.
pub trait Notifier: Send + Sync {
    /// Shows `delivery`, in place of an earlier notification with the same id.
    fn show<'a>(&'a self, delivery: &'a Delivery) -> BoxFuture<'a, Result<(), NotifyError>>;
    /// Takes a notification away whose matter is settled.
    fn withdraw(&self, id: &DeliveryId);
}

/// The notifications of an engine without a desktop.
pub(crate) struct Borrowed(pub(crate) Screens);

impl Borrowed {
    /// Why nothing is shown while no app is attached.
    pub(crate) const REASON: &'static str = "Rouse runs without a desktop here, so it shows no notifications: look into the list of runs.";
}

/// Whether this process shows notifications itself, and why not.
pub(crate) fn status(options: &HostOptions) -> NotificationStatus {
    let available = options.notifier.is_some();
    let reason = (!available).then(|| Borrowed::REASON.to_owned());
    NotificationStatus { available, reason, failing: false }
}

impl Notifier for Borrowed {
    fn show<'a>(&'a self, delivery: &'a Delivery) -> BoxFuture<'a, Result<(), NotifyError>> {
        Box::pin(async move {
            self.0.show(delivery).await.map_err(|error| match error {
                NotShown::NoScreen => NotifyError::Never(Self::REASON.to_owned()),
                NotShown::Never(reason) => NotifyError::Never(reason),
                NotShown::NotNow(reason) => NotifyError::Later(reason),
                NotShown::Gone | NotShown::Silent => NotifyError::Later(error.to_string()),
            })
        })
    }

    /// Every app hears itself that a run was looked at, and takes its own notifications away.
    fn withdraw(&self, _: &DeliveryId) {}
}
