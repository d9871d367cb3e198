//! Native notifications, behind the engine's port.
//!
//! notify-rust shows them; one file a system holds what it takes to never lose a click there, and names the limits of
//! that system. A notification is only a pointer: it carries the delivery's id, the store knows the run, so a click finds
//! its run whatever happened in between. Nothing here may block a thread of the runtime.

#[cfg(target_os = "linux")]
mod ledger;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod waiting_thread;

#[cfg(target_os = "linux")]
use linux::Notifications;
#[cfg(not(target_os = "linux"))]
use waiting_thread::Notifications;

use std::path::Path;

use rouse_core::DeliveryId;
use rouse_core::delivery::Delivery;
use rouse_core::tool::BoxFuture;
use rouse_gateway::wire::{RunDetail, RunRef, RunState};
use rouse_host::{Notifier, NotifyError};
use tokio::sync::mpsc;

use crate::backend::EngineDoor;
use crate::place::Place;

/// What people read as the sender.
const APP_NAME: &str = "Rouse";

/// What a notification is about, and so what a click on it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A run's outcome.
    Delivery(DeliveryId),
    /// A page.
    Place(Place),
}

/// A notification to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Toast {
    pub(crate) subject: Subject,
    pub(crate) title: String,
    pub(crate) body: String,
    /// Stays until it is seen, where the desktop can do that.
    pub(crate) urgent: bool,
}

/// Clicks on their way to the window.
pub(crate) type Clicks = mpsc::UnboundedSender<Subject>;

/// The notifications of this desktop.
pub(crate) struct DesktopNotifier {
    system: Notifications,
    engine: EngineDoor,
}

impl DesktopNotifier {
    /// Notifications whose clicks go to `clicks`; `engine` is asked how urgent a delivery is.
    pub(crate) fn new(clicks: Clicks, engine: EngineDoor, home: &Path) -> Self {
        Self { system: Notifications::new(clicks, home), engine }
    }

    /// Shows `toast`, in place of an earlier one on the same subject.
    pub(crate) async fn toast(&self, toast: Toast) -> Result<(), NotifyError> {
        self.system.show(toast).await
    }

    /// Failures are urgent. When the run cannot be asked for, its notification is shown all the same.
    async fn is_urgent(&self, delivery: &Delivery) -> bool {
        let Some(run) = &delivery.run_id else { return false };
        match self.engine.ask::<RunDetail>("runs.get", &RunRef { id: run.to_string() }).await {
            Ok(detail) => matches!(detail.run.state, RunState::Failed | RunState::TimedOut),
            Err(error) => {
                tracing::warn!(%error, run_id = %run, "a notification is shown without its run's state");
                false
            }
        }
    }
}

impl Notifier for DesktopNotifier {
    fn show<'a>(&'a self, delivery: &'a Delivery) -> BoxFuture<'a, Result<(), NotifyError>> {
        Box::pin(async move {
            let toast = Toast {
                subject: Subject::Delivery(delivery.id.clone()),
                title: delivery.title.clone(),
                body: delivery.body.clone(),
                urgent: self.is_urgent(delivery).await,
            };
            self.toast(toast).await
        })
    }

    fn withdraw(&self, id: &DeliveryId) {
        self.system.withdraw(&Subject::Delivery(id.clone()));
    }
}
