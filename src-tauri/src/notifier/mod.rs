//! Native notifications, implementing the engine's `Notifier` port.
//!
//! Uses notify-rust where it can replace, withdraw and report every click; each system's file names
//! its limits. A notification carries only the page that a click opens. Never blocks a runtime
//! thread.

mod button_tokens;
#[cfg(target_os = "linux")]
mod ledger;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod pending_sends;
mod toast;
#[cfg(any(windows, test))]
mod toast_xml;
#[cfg(target_os = "macos")]
mod waiting_thread;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use self::linux::SystemNotifications;
#[cfg(target_os = "macos")]
use self::macos::SystemNotifications;
#[cfg(windows)]
use self::windows::SystemNotifications;

use std::path::Path;

use rouse_core::delivery::Delivery;
use rouse_core::tool::BoxFuture;
use rouse_core::{ApprovalId, DeliveryId, RunId};
use rouse_gateway::wire::{
    ApprovalStateKind, ApprovalView, NotificationRequest, RunDetail, RunRef, RunState,
};
use rouse_host::{Notifier, NotifyError};

pub(crate) use self::button_tokens::{ButtonTokens, Buttons, PressedDecision, TokenResolution};
use self::pending_sends::PendingSends;
pub(crate) use self::toast::{Clicks, Interaction, Subject, Toast};
use crate::backend::{Backend, EngineHandle};
use crate::ui_route::UiRoute;

/// Notifications of this desktop.
pub(crate) struct DesktopNotifier {
    system: SystemNotifications,
    engine: EngineHandle,
    button_tokens: ButtonTokens,
    pending_sends: PendingSends,
}

/// Delivery of an engine, as shown.
struct ShownDelivery<'a> {
    id: &'a DeliveryId,
    run: Option<&'a RunId>,
    title: &'a str,
    body: &'a str,
    /// Name and engine of another computer.
    computer: Option<(&'a str, &'a Backend)>,
}

impl DesktopNotifier {
    /// Creates the notifier. `engine` provides the run of a delivery.
    pub(crate) fn new(clicks: Clicks, engine: EngineHandle, home: &Path) -> Self {
        Self {
            system: SystemNotifications::new(clicks, home),
            engine,
            button_tokens: ButtonTokens::default(),
            pending_sends: PendingSends::default(),
        }
    }

    /// Shows a notification, replacing an older one of the same subject.
    pub(crate) async fn toast(&self, toast: Toast) -> Result<(), NotifyError> {
        self.system.show(toast).await
    }

    /// Shows a notification for a remote engine of this computer.
    pub(crate) async fn show_for(&self, request: &NotificationRequest) -> Result<(), NotifyError> {
        self.show_request(request, None).await
    }

    /// Shows a notification of another computer. A click shows the page there.
    pub(crate) async fn show_from(
        &self,
        computer: &str,
        engine: &Backend,
        request: &NotificationRequest,
    ) -> Result<(), NotifyError> {
        self.show_request(request, Some((computer, engine))).await
    }

    async fn show_request(
        &self,
        request: &NotificationRequest,
        computer: Option<(&str, &Backend)>,
    ) -> Result<(), NotifyError> {
        let id = DeliveryId::new(request.delivery_id.as_str());
        let run = request.run_id.as_deref().map(RunId::new);
        let (run, title, body) = (run.as_ref(), &request.title, &request.body);
        self.show_delivery(ShownDelivery { id: &id, run, title, body, computer }).await
    }

    async fn show_delivery(&self, delivery: ShownDelivery<'_>) -> Result<(), NotifyError> {
        let ShownDelivery { id, run, title, body, computer } = delivery;
        self.pending_sends.start(id);
        let detail = self.load_run(run, computer.map(|(_, engine)| engine)).await;
        let (name, page) = (computer.map(|(name, _)| name), delivery_page(id, run));
        let toast = Toast {
            subject: Subject::Delivery(id.clone()),
            opens: name.map_or(page.clone(), |name| page.on_computer(name)),
            title: name.map_or(title.to_owned(), |name| format!("{name}: {title}")),
            body: body.to_owned(),
            urgent: detail.as_ref().is_some_and(is_urgent),
            buttons: detail.as_ref().and_then(|run| self.buttons(run, name)),
        };
        let shown = self.toast(toast).await;
        if self.pending_sends.finish(id) {
            self.system.withdraw(&Subject::Delivery(id.clone()));
        }
        shown
    }

    /// Run of a notification; optional. `engine` is that of another computer.
    async fn load_run(&self, run: Option<&RunId>, engine: Option<&Backend>) -> Option<RunDetail> {
        let params = RunRef { id: run?.to_string() };
        let detail = match engine {
            Some(engine) => engine.ask::<RunDetail>("runs.get", &params).await,
            None => self.engine.ask::<RunDetail>("runs.get", &params).await,
        };
        match detail {
            Ok(detail) => Some(detail),
            Err(error) => {
                let run_id = &params.id;
                tracing::warn!(%error, run_id, "showing a notification without its run's state");
                None
            }
        }
    }

    /// Buttons for a single pending approval without a required review.
    fn buttons(&self, run: &RunDetail, computer: Option<&str>) -> Option<Buttons> {
        let open = |approval: &&ApprovalView| approval.state == ApprovalStateKind::Pending;
        let mut open = run.approvals.iter().filter(open);
        match (open.next(), open.next()) {
            (Some(approval), None) if !approval.is_highest => {
                let id = ApprovalId::new(approval.id.as_str());
                Some(self.button_tokens.issue(&id, computer))
            }
            _ => None,
        }
    }

    /// Resolves a button token, once.
    pub(crate) fn resolve_button(&self, token: &str) -> TokenResolution {
        self.button_tokens.take(token)
    }
}

/// True for failures and pending approvals.
fn is_urgent(run: &RunDetail) -> bool {
    matches!(run.run.state, RunState::Failed | RunState::TimedOut | RunState::AwaitingApproval)
}

impl Notifier for DesktopNotifier {
    fn show<'a>(&'a self, delivery: &'a Delivery) -> BoxFuture<'a, Result<(), NotifyError>> {
        let Delivery { id, run_id, title, body, .. } = delivery;
        let run = run_id.as_ref();
        Box::pin(self.show_delivery(ShownDelivery { id, run, title, body, computer: None }))
    }

    fn withdraw(&self, id: &DeliveryId) {
        self.pending_sends.withdraw(id);
        self.system.withdraw(&Subject::Delivery(id.clone()));
    }
}

/// Page of a delivery: run, digest, or Settings for a test.
fn delivery_page(delivery: &DeliveryId, run: Option<&RunId>) -> UiRoute {
    match run {
        Some(run) => UiRoute::run(run),
        None if delivery.is_digest() => UiRoute::digest(delivery),
        None => UiRoute::fixed("/settings"),
    }
}
