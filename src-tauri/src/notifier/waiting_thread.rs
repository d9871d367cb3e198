//! Notifications of a program outside a macOS bundle: notify-rust shows each from a thread, which waits for its click.
//!
//! The limits of notify-rust 4.19 there, which are accepted for programs run from a build folder:
//! - It waits only by blocking, and sends by waiting, so every notification that was neither clicked nor closed keeps a
//!   thread, up to a bound. Answers come through the main run loop, which Tauri keeps going.
//! - A shown notification can be neither replaced nor withdrawn.
//! - A program outside a bundle has no name that the system knows; its notifications come from the Finder.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use notify_rust::{Notification, NotificationHandle, NotificationResponse};
use rouse_host::NotifyError;

use super::{APP_NAME, Clicks, Toast, Touch};

/// Threads that wait at the same time. Beyond it a notification is shown without waiting for its click.
const MOST_WAITING: usize = 64;

/// A thread for each notification that waits for its click.
pub(super) struct WaitingThreads {
    clicks: Clicks,
    waiting: Arc<AtomicUsize>,
}

impl WaitingThreads {
    pub(super) fn new(clicks: Clicks) -> Self {
        Self { clicks, waiting: Arc::default() }
    }

    /// Done once a thread has it; whether macOS showed it comes out only when its waiting ends.
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
        // Dropped unwaited, a handle sends its notification all the same.
        Ok(handle) => {
            if waiting.fetch_add(1, Ordering::Relaxed) < MOST_WAITING {
                wait(handle, toast, clicks);
            }
            waiting.fetch_sub(1, Ordering::Relaxed);
        }
        Err(error) => tracing::warn!(%error, "a notification was not shown"),
    }
}

fn wait(handle: NotificationHandle, toast: &Toast, clicks: &Clicks) {
    let answered = handle.wait_for_response(|response: &NotificationResponse| {
        if matches!(response, NotificationResponse::Default)
            && clicks.send(Touch::Open(toast.opens.clone())).is_err()
        {
            tracing::debug!("a click came while the app was closing");
        }
    });
    if let Err(error) = answered {
        tracing::warn!(%error, "a notification was not shown, or its answer was lost");
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
