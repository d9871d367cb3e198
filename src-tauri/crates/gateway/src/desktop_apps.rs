//! Attached desktop apps, which show the notifications of this engine.
//!
//! A client attaches by a parameter of its WebSocket, until the socket closes. One app shows a notification, which counts as
//! shown only after the app's report under a key that only this app knows. Never stores notifications: after a failure the
//! caller retries.
//! Pitfall: waiting for an unresponsive app without a timeout.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rouse_core::delivery::Delivery;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::events::EventBus;
use crate::wire::{NotificationOutcome, NotificationReport, NotificationRequest};

/// Maximum time until the report, since a desktop may first have to start its notification server.
const REPORT_TIMEOUT: Duration = Duration::from_secs(20);

/// Why a notification was not shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShowError {
    /// No app is attached.
    #[error("No desktop app is attached.")]
    NoApp,
    /// The app or its connection ended before the report.
    #[error("The desktop app disconnected before it showed the notification.")]
    Disconnected,
    /// The app did not report in time.
    #[error("The desktop app does not respond.")]
    TimedOut,
    /// The app could not show the notification now.
    #[error("{0}")]
    NotNow(String),
    /// The app can never show notifications.
    #[error("{0}")]
    Never(String),
}

/// The attached desktop apps. Cheap to clone.
#[derive(Clone)]
pub struct DesktopApps {
    registry: Arc<Mutex<AppRegistry>>,
    events: EventBus,
    report_timeout: Duration,
}

#[derive(Default)]
struct AppRegistry {
    /// The next notification goes to the last one.
    apps: Vec<AppChannel>,
    /// Requests without a report, by key.
    pending: HashMap<String, PendingReport>,
    last_id: u64,
}

struct AppChannel {
    id: u64,
    requests: mpsc::Sender<NotificationRequest>,
}

struct PendingReport {
    app_id: u64,
    outcome: oneshot::Sender<Result<(), ShowError>>,
}

/// A request that was sent to an app.
struct SentRequest {
    key: String,
    app_id: u64,
    outcome: oneshot::Receiver<Result<(), ShowError>>,
}

/// The receiving end of an app, which stays attached until this is dropped.
pub(crate) struct AttachedApp {
    id: u64,
    requests: mpsc::Receiver<NotificationRequest>,
    apps: DesktopApps,
}

impl DesktopApps {
    /// Starts without apps; publishes their number to `events` on each change.
    #[must_use]
    pub fn new(events: EventBus) -> Self {
        Self { registry: Arc::default(), events, report_timeout: REPORT_TIMEOUT }
    }

    /// Shows `delivery` on one app.
    ///
    /// # Errors
    /// If the app did not report the notification as shown.
    pub async fn show(&self, delivery: &Delivery) -> Result<(), ShowError> {
        let SentRequest { key, app_id, outcome } = self.lock().send(delivery)?;
        let outcome = match tokio::time::timeout(self.report_timeout, outcome).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(ShowError::Disconnected),
            Err(_) => Err(ShowError::TimedOut),
        };
        if outcome.is_err() {
            let mut registry = self.lock();
            registry.pending.remove(&key);
            registry.move_to_end(app_id);
        }
        outcome
    }

    /// Whether an app is attached.
    pub(crate) fn is_any_attached(&self) -> bool {
        !self.lock().apps.is_empty()
    }

    /// Attaches an app, which gets the next notification.
    pub(crate) fn attach(&self) -> AttachedApp {
        // Capacity 1: requests do not pile up for an app that has stopped reading.
        let (sender, requests) = mpsc::channel(1);
        let id = self.lock().add(sender);
        self.publish_count();
        AttachedApp { id, requests, apps: self.clone() }
    }

    /// Accepts the report of an app. Returns false if the request is no longer pending.
    pub(crate) fn report(&self, report: NotificationReport) -> bool {
        let Some(pending) = self.lock().pending.remove(&report.key) else { return false };
        let reason = report.reason.unwrap_or_default();
        let outcome = match report.outcome {
            NotificationOutcome::Shown => Ok(()),
            NotificationOutcome::NotNow => Err(ShowError::NotNow(reason)),
            NotificationOutcome::Never => Err(ShowError::Never(reason)),
        };
        pending.outcome.send(outcome).is_ok()
    }

    fn publish_count(&self) {
        let count = self.lock().apps.len();
        self.events.publish_app_count(count);
    }

    fn lock(&self) -> MutexGuard<'_, AppRegistry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AppRegistry {
    fn add(&mut self, requests: mpsc::Sender<NotificationRequest>) -> u64 {
        self.last_id += 1;
        self.apps.push(AppChannel { id: self.last_id, requests });
        self.last_id
    }

    fn send(&mut self, delivery: &Delivery) -> Result<SentRequest, ShowError> {
        let AppChannel { id: app_id, requests } = self.apps.last().ok_or(ShowError::NoApp)?;
        let (app_id, key) = (*app_id, Uuid::new_v4().simple().to_string());
        if requests.try_send(notification_request(&key, delivery)).is_err() {
            // The app has not read the request before.
            self.move_to_end(app_id);
            return Err(ShowError::TimedOut);
        }
        let (sender, outcome) = oneshot::channel();
        self.pending.insert(key.clone(), PendingReport { app_id, outcome: sender });
        Ok(SentRequest { key, app_id, outcome })
    }

    /// Moves a failed app to the end of the order, which is the start of the list.
    fn move_to_end(&mut self, app_id: u64) {
        if let Some(index) = self.apps.iter().position(|app| app.id == app_id) {
            self.apps[..=index].rotate_right(1);
        }
    }

    /// Detaches an app. Its pending requests fail as disconnected.
    fn remove(&mut self, app_id: u64) {
        self.apps.retain(|app| app.id != app_id);
        self.pending.retain(|_, pending| pending.app_id != app_id);
    }
}

fn notification_request(key: &str, delivery: &Delivery) -> NotificationRequest {
    NotificationRequest {
        key: key.to_owned(),
        delivery_id: delivery.id.to_string(),
        run_id: delivery.run_id.as_ref().map(ToString::to_string),
        title: delivery.title.clone(),
        body: delivery.body.clone(),
    }
}

impl AttachedApp {
    /// The next notification request that is still pending.
    pub(crate) async fn next(&mut self) -> Option<NotificationRequest> {
        loop {
            let request = self.requests.recv().await?;
            if self.apps.lock().pending.contains_key(&request.key) {
                return Some(request);
            }
        }
    }
}

impl Drop for AttachedApp {
    fn drop(&mut self) {
        self.apps.lock().remove(self.id);
        self.apps.publish_count();
    }
}

#[cfg(test)]
mod tests {
    use rouse_core::channel::{MessageKind, Route};
    use rouse_core::delivery::DeliveryState;
    use rouse_core::{DeliveryId, RunId, UnixMs};
    use tokio::task::JoinHandle;

    use super::*;

    fn desktop_apps() -> DesktopApps {
        DesktopApps::new(EventBus::default())
    }

    fn delivery() -> Delivery {
        Delivery {
            id: DeliveryId::new("d1"),
            run_id: Some(RunId::new("r1")),
            kind: MessageKind::Report,
            approval: None,
            route: Route::notification(),
            title: "Backup".to_owned(),
            body: "Done.".to_owned(),
            text: None,
            state: DeliveryState::Pending,
            attempts: 0,
            sent_parts: 0,
            unconfirmed: 0,
            reason: None,
            created_at: UnixMs(0),
            first_attempt_at: None,
            next_attempt_at: None,
            settled_at: None,
            quiet_hours: rouse_core::time::QuietPolicy::RESPECT,
            held_until: None,
            digest: None,
        }
    }

    fn report(key: &str, outcome: NotificationOutcome) -> NotificationReport {
        let reason = (outcome != NotificationOutcome::Shown).then(|| "No server.".to_owned());
        NotificationReport { key: key.to_owned(), outcome, reason }
    }

    /// Shows a delivery; returns the request that `app` received and the pending outcome.
    async fn send_request(
        apps: &DesktopApps,
        app: &mut AttachedApp,
    ) -> (NotificationRequest, JoinHandle<Result<(), ShowError>>) {
        let apps = apps.clone();
        let outcome = tokio::spawn(async move { apps.show(&delivery()).await });
        (app.next().await.expect("an attached app"), outcome)
    }

    #[tokio::test]
    async fn without_an_app_show_fails() {
        let apps = desktop_apps();
        assert_eq!(apps.show(&delivery()).await, Err(ShowError::NoApp));
        drop(apps.attach());
        assert_eq!(apps.show(&delivery()).await, Err(ShowError::NoApp));
        assert!(!apps.is_any_attached());
    }

    #[tokio::test]
    async fn notification_counts_as_shown_after_the_report() {
        let apps = desktop_apps();
        let mut app = apps.attach();
        let (request, outcome) = send_request(&apps, &mut app).await;
        assert_eq!((request.delivery_id.as_str(), request.run_id.as_deref()), ("d1", Some("r1")));
        assert!(!apps.report(report("d1", NotificationOutcome::Shown)), "an id is no key");
        assert!(!outcome.is_finished());
        assert!(apps.report(report(&request.key, NotificationOutcome::Shown)));
        assert_eq!(outcome.await.expect("no panic"), Ok(()));
        assert!(!apps.report(report(&request.key, NotificationOutcome::Shown)), "a used key");
    }

    #[tokio::test]
    async fn failed_app_is_followed_by_another() {
        let apps = desktop_apps();
        let (mut first, mut second) = (apps.attach(), apps.attach());
        for (outcome, error) in [
            (NotificationOutcome::NotNow, ShowError::NotNow("No server.".to_owned())),
            (NotificationOutcome::Never, ShowError::Never("No server.".to_owned())),
        ] {
            let (request, shown) = send_request(&apps, &mut second).await;
            assert!(first.requests.try_recv().is_err(), "one app per notification");
            apps.report(report(&request.key, outcome));
            assert_eq!(shown.await.expect("no panic"), Err(error));
            std::mem::swap(&mut first, &mut second);
        }
    }

    #[tokio::test]
    async fn disconnected_app_fails_its_request() {
        let apps = desktop_apps();
        let mut staying = apps.attach();
        let mut leaving = apps.attach();
        let (request, outcome) = send_request(&apps, &mut leaving).await;
        drop(leaving);
        assert_eq!(outcome.await.expect("no panic"), Err(ShowError::Disconnected));
        assert!(!apps.report(report(&request.key, NotificationOutcome::Shown)), "too late");
        let (request, outcome) = send_request(&apps, &mut staying).await;
        apps.report(report(&request.key, NotificationOutcome::Shown));
        assert_eq!(outcome.await.expect("no panic"), Ok(()));
    }

    #[tokio::test]
    async fn unresponsive_app_times_out_and_skips_old_requests() {
        let mut apps = desktop_apps();
        apps.report_timeout = Duration::ZERO;
        let mut hung = apps.attach();
        assert_eq!(apps.show(&delivery()).await, Err(ShowError::TimedOut));
        assert_eq!(apps.show(&delivery()).await, Err(ShowError::TimedOut), "still unread");
        let mut responsive = apps.attach();
        apps.report_timeout = REPORT_TIMEOUT;
        let (request, outcome) = send_request(&apps, &mut responsive).await;
        apps.report(report(&request.key, NotificationOutcome::Shown));
        assert_eq!(outcome.await.expect("no panic"), Ok(()));
        drop(responsive);
        let old_request = hung.requests.try_recv().expect("the first request");
        assert!(!apps.report(report(&old_request.key, NotificationOutcome::Shown)));
        let (request, outcome) = send_request(&apps, &mut hung).await;
        assert_ne!(request.key, old_request.key);
        apps.report(report(&request.key, NotificationOutcome::Shown));
        assert_eq!(outcome.await.expect("no panic"), Ok(()));
    }
}
