//! Notifications outside a macOS bundle, by notify-rust on a thread each.
//!
//! Accepted limits of notify-rust 4.19 for unbundled programs:
//!
//! - Sending and waiting block, so each open notification holds a thread, up to a bound. Responses
//! need the main run loop, which Tauri runs.
//!
//! - Notifications can be neither replaced nor withdrawn.
//!
//! - An unbundled program has no registered name; its notifications show as the Finder's.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use notify_rust::{Notification, NotificationHandle, NotificationResponse};
use rouse_host::NotifyError;

use super::toast::{APP_NAME, Clicks, Interaction, Toast};

/// Maximum waiting threads; further notifications ignore clicks.
const MAX_WAITING: usize = 64;

/// A thread per waiting notification.
pub(super) struct WaitingThreads {
    clicks: Clicks,
    waiting: Arc<AtomicUsize>,
}

impl WaitingThreads {
    pub(super) fn new(clicks: Clicks) -> Self {
        Self { clicks, waiting: Arc::default() }
    }

    /// Returns once a thread has started; failures appear only at the end of the thread.
    pub(super) async fn show(&self, toast: Toast) -> Result<(), NotifyError> {
        let (clicks, waiting) = (self.clicks.clone(), Arc::clone(&self.waiting));
        std::thread::Builder::new()
            .name("notification".to_owned())
            .spawn(move || show_and_wait(&toast, &clicks, &waiting))
            .map_err(|error| {
                NotifyError::Later(format!("No thread for the notification: {error}"))
            })?;
        Ok(())
    }
}

fn show_and_wait(toast: &Toast, clicks: &Clicks, waiting: &AtomicUsize) {
    match notification(toast).show() {
        // A dropped handle still sends the notification.
        Ok(handle) => {
            if waiting.fetch_add(1, Ordering::Relaxed) < MAX_WAITING {
                wait(handle, toast, clicks);
            }
            waiting.fetch_sub(1, Ordering::Relaxed);
        }
        Err(error) => tracing::warn!(%error, "failed to show a notification"),
    }
}

fn wait(handle: NotificationHandle, toast: &Toast, clicks: &Clicks) {
    let response = handle.wait_for_response(|action: &NotificationResponse| {
        if matches!(action, NotificationResponse::Default)
            && clicks.send(Interaction::Open(toast.opens.clone())).is_err()
        {
            tracing::debug!("click ignored, the app is closing");
        }
    });
    if let Err(error) = response {
        tracing::warn!(%error, "a notification was not shown, or its response was lost");
    }
}

fn notification(toast: &Toast) -> Notification {
    let mut notification = Notification::new();
    notification.appname(APP_NAME).summary(&toast.title).body(&toast.body);
    if toast.urgent {
        notification.sound_name("Basso");
    }
    notification
}
