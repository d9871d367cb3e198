//! The port to native notifications; the shell implements it, a headless engine has none.

use rouse_core::DeliveryId;
use rouse_core::delivery::Delivery;
use rouse_core::tool::BoxFuture;

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

/// The notifier of an engine without a screen.
pub struct NoScreen;

impl NoScreen {
    /// Why nothing is shown.
    pub const REASON: &'static str = "Rouse runs without a desktop here, so it shows no notifications. The run is in the list of runs.";
}

impl Notifier for NoScreen {
    fn show<'a>(&'a self, _: &'a Delivery) -> BoxFuture<'a, Result<(), NotifyError>> {
        Box::pin(async { Err(NotifyError::Never(Self::REASON.to_owned())) })
    }

    fn withdraw(&self, _: &DeliveryId) {}
}
