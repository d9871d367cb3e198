//! Notifications on macOS and Windows: notify-rust shows each from a thread of its own, which then waits for the answer.
//!
//! The limits of notify-rust 4.19 there, which nothing here goes around:
//! - It waits only by blocking, so every notification that was neither clicked nor closed keeps a thread, up to a bound.
//!   On macOS the notification is sent by the waiting itself, and answers come through the main run loop, which Tauri
//!   keeps going.
//! - A shown notification can be neither replaced nor withdrawn.
//! - On Windows only the first event counts: a toast that left the screen unanswered is silent when it is clicked in the
//!   Action Center later. Its sender is named by the app's identifier once an installer has put the app into the Start
//!   menu; a program run from a build folder has no name of its own there and borrows one.
//! - On macOS the program has to be in a signed bundle for its own name and icon.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use notify_rust::{Notification, NotificationResponse};
use rouse_host::NotifyError;
use tokio::sync::oneshot;

use super::{APP_NAME, Clicks, Subject, Toast};

/// Threads that wait at the same time. Beyond it a notification is shown without waiting for its click.
const MOST_WAITING: usize = 64;
/// The app's identifier, as in `tauri.conf.json`.
const APP_ID: &str = "app.rouse.desktop";

/// The notifications on this desktop.
pub(super) struct Notifications {
    clicks: Clicks,
    waiting: Arc<AtomicUsize>,
}

impl Notifications {
    pub(super) fn new(clicks: Clicks, _: &Path) -> Self {
        #[cfg(target_os = "macos")]
        name_the_sender();
        Self { clicks, waiting: Arc::default() }
    }

    pub(super) async fn show(&self, toast: Toast) -> Result<(), NotifyError> {
        let (shown, answer) = oneshot::channel();
        let (clicks, waiting) = (self.clicks.clone(), Arc::clone(&self.waiting));
        std::thread::Builder::new()
            .name("notification".to_owned())
            .spawn(move || show_and_wait(&toast, &clicks, &waiting, shown))
            .map_err(|error| {
                NotifyError::Later(format!("No thread for the notification: {error}"))
            })?;
        // A thread that ended without an answer has shown nothing.
        answer.await.unwrap_or_else(|_| {
            Err(NotifyError::Later("The notification was not shown.".to_owned()))
        })
    }

    pub(super) fn withdraw(&self, subject: &Subject) {
        tracing::debug!(?subject, "this system cannot take a notification back");
    }
}

fn show_and_wait(
    toast: &Toast,
    clicks: &Clicks,
    waiting: &AtomicUsize,
    shown: oneshot::Sender<Result<(), NotifyError>>,
) {
    let handle = notification(toast).show().map_err(|error| NotifyError::Later(error.to_string()));
    let (outcome, handle) = match handle {
        Ok(handle) => (Ok(()), Some(handle)),
        Err(error) => (Err(error), None),
    };
    // Nobody listens only when the app is closing.
    let _ = shown.send(outcome);
    let Some(handle) = handle else { return };
    if waiting.fetch_add(1, Ordering::Relaxed) < MOST_WAITING {
        let answered = handle.wait_for_response(|response: &NotificationResponse| {
            if matches!(response, NotificationResponse::Default)
                && clicks.send(toast.subject.clone()).is_err()
            {
                tracing::debug!("a click came while the app was closing");
            }
        });
        if let Err(error) = answered {
            tracing::warn!(%error, "a notification was not shown, or its answer was lost");
        }
    }
    waiting.fetch_sub(1, Ordering::Relaxed);
}

fn notification(toast: &Toast) -> Notification {
    let mut notification = Notification::new();
    notification.appname(APP_NAME).summary(&toast.title).body(&toast.body);
    #[cfg(windows)]
    if is_installed() {
        notification.app_id(APP_ID);
    }
    if toast.urgent {
        #[cfg(windows)]
        notification.urgency(notify_rust::Urgency::Critical);
        #[cfg(target_os = "macos")]
        notification.sound_name("Basso");
    }
    notification
}

/// Without it notifications come from the Finder. A program outside a bundle has no name that the system knows.
#[cfg(target_os = "macos")]
fn name_the_sender() {
    let bundled = std::env::current_exe()
        .is_ok_and(|program| program.ends_with("Contents/MacOS/rouse-desktop"));
    if bundled && let Err(error) = notify_rust::set_application(APP_ID) {
        tracing::warn!(%error, "notifications come under another name");
    }
}

/// Whether an installer has given the app its name; a name that Windows does not know shows nothing at all.
#[cfg(windows)]
fn is_installed() -> bool {
    std::env::current_exe()
        .is_ok_and(|program| !program.components().any(|part| part.as_os_str() == "target"))
}
