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

pub(crate) use self::button_tokens::{ButtonTokens, Buttons, TokenResolution};
use self::pending_sends::PendingSends;
pub(crate) use self::toast::{Clicks, Interaction, Subject, Toast};
use crate::backend::EngineHandle;
use crate::ui_route::UiRoute;

/// Notifications of this desktop.
pub(crate) struct DesktopNotifier {
    system: SystemNotifications,
    engine: EngineHandle,
    button_tokens: ButtonTokens,
    pending_sends: PendingSends,
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

    /// Shows a notification for a remote engine.
    pub(crate) async fn show_for(&self, request: &NotificationRequest) -> Result<(), NotifyError> {
        let id = DeliveryId::new(request.delivery_id.as_str());
        let run = request.run_id.as_deref().map(RunId::new);
        self.show_delivery(&id, run.as_ref(), &request.title, &request.body).await
    }

    /// Shows a notification of another computer. Without buttons: a click shows the page there.
    pub(crate) async fn show_from(
        &self,
        computer: &str,
        request: &NotificationRequest,
    ) -> Result<(), NotifyError> {
        let id = DeliveryId::new(request.delivery_id.as_str());
        let run = request.run_id.as_deref().map(RunId::new);
        let toast = Toast {
            opens: delivery_page(&id, run.as_ref()).on_computer(computer),
            subject: Subject::Delivery(id),
            title: format!("{computer}: {}", request.title),
            body: request.body.clone(),
            urgent: false,
            buttons: None,
        };
        self.toast(toast).await
    }

    async fn show_delivery(
        &self,
        id: &DeliveryId,
        run: Option<&RunId>,
        title: &str,
        body: &str,
    ) -> Result<(), NotifyError> {
        self.pending_sends.start(id);
        let detail = self.load_run(run).await;
        let toast = Toast {
            subject: Subject::Delivery(id.clone()),
            opens: delivery_page(id, run),
            title: title.to_owned(),
            body: body.to_owned(),
            urgent: detail.as_ref().is_some_and(is_urgent),
            buttons: detail.as_ref().and_then(|run| self.buttons(run)),
        };
        let shown = self.toast(toast).await;
        if self.pending_sends.finish(id) {
            self.system.withdraw(&Subject::Delivery(id.clone()));
        }
        shown
    }

    /// Run of a notification; optional.
    async fn load_run(&self, run: Option<&RunId>) -> Option<RunDetail> {
        let run = run?;
        match self.engine.ask::<RunDetail>("runs.get", &RunRef { id: run.to_string() }).await {
            Ok(detail) => Some(detail),
            Err(error) => {
                tracing::warn!(%error, run_id = %run, "showing a notification without its run's state");
                None
            }
        }
    }

    /// Buttons for a single pending approval without a required review.
    fn buttons(&self, run: &RunDetail) -> Option<Buttons> {
        let open = |approval: &&ApprovalView| approval.state == ApprovalStateKind::Pending;
        let mut open = run.approvals.iter().filter(open);
        match (open.next(), open.next()) {
            (Some(approval), None) if !approval.is_highest => {
                Some(self.button_tokens.issue(&ApprovalId::new(approval.id.as_str())))
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
        Box::pin(self.show_delivery(id, run_id.as_ref(), title, body))
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
