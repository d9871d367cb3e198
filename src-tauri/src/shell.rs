//! Shared state of the shell, and its actions.
//!
//! Owns handles, never data: everything shown comes from the engine, so window and tray can be
//! recreated at any time.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rouse_core::{Clock as _, DeliveryId, UnixMs};
use rouse_gateway::RpcError;
use rouse_gateway::wire::{
    ApprovalsDecideParams, ApprovalsDecideResult, ChangeResult, ConfigView, CronPauseParams,
    CronRunParams, CronStatus, DecisionDraft, DecisionSurface, EmptyObject, EventKindView,
    EventView, ManualRunMode, RunDetail, RunRef, StartedRun, SystemStatus,
};
use rouse_host::{Notifier as _, SystemClock};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tauri::{AppHandle, Emitter as _};
use tokio::sync::mpsc;

use crate::backend::EngineHandle;
use crate::computers::Computers;
use crate::link::Link;
use crate::notifier::{
    DesktopNotifier, Interaction, PressedDecision, Subject, Toast, TokenResolution,
};
use crate::tray::command::{PauseFor, TrayCommand};
use crate::tray::snapshot::{Stale, zone_of};
use crate::tray::view::Tray;
use crate::ui_route::UiRoute;
use crate::window::{self, MAIN, WindowRequest};

/// Tauri event that carries an engine event to the page.
const EVENT: &str = "rouse://event";
/// Tauri event for a change of `shell_info`.
const SHELL_CHANGED: &str = "rouse://shell";

/// State of the shell, managed by Tauri.
pub(crate) struct Shell {
    pub(crate) app: AppHandle,
    pub(crate) engine: EngineHandle,
    pub(crate) computers: Computers,
    pub(crate) tray: Tray,
    pub(crate) notifier: Arc<DesktopNotifier>,
    pub(crate) windows: mpsc::UnboundedSender<WindowRequest>,
    pub(crate) quitting: AtomicBool,
    /// Marker file: the user was informed that closing keeps Rouse running.
    pub(crate) close_notice_marker: PathBuf,
}

impl Shell {
    /// Executes a tray command.
    pub(crate) fn execute(&self, command: TrayCommand) {
        match command {
            TrayCommand::Show => self.show(None),
            TrayCommand::Open(route) => self.show(Some(route)),
            TrayCommand::Quit => self.quit(),
            TrayCommand::Pause(length) => {
                self.call_engine("pause", move |engine| async move { pause(&engine, length).await })
            }
            TrayCommand::Resume => self.call_engine("resume", |engine| async move {
                engine.ask::<CronStatus>("cron.resume", &EmptyObject {}).await.map(drop)
            }),
            TrayCommand::Run(job) => self.call_engine("run", move |engine| async move {
                let now = CronRunParams {
                    id: job.to_string(),
                    mode: Some(ManualRunMode::Force),
                    awaited_by: None,
                };
                engine.ask::<StartedRun>("cron.run", &now).await.map(drop)
            }),
            TrayCommand::DecideApproval { id, is_allowed } => {
                let route = UiRoute::approval(&id);
                let decision = PressedDecision { approval: id, computer: None, is_allowed };
                self.decide(decision, DecisionSurface::Tray, route);
            }
            TrayCommand::Stop(run) => self.call_engine("stop", move |engine| async move {
                engine
                    .ask::<ChangeResult>("runs.cancel", &RunRef { id: run.to_string() })
                    .await
                    .map(drop)
            }),
        }
    }

    /// Executes a `rouse://` link.
    pub(crate) fn follow_link(&self, link: Link) {
        match link {
            Link::Show(route) => self.show(Some(route)),
            Link::Press(token) => {
                self.follow(Interaction::Press(token, UiRoute::fixed("/approvals")))
            }
        }
    }

    /// Shows the window, at `route` or unchanged. A route names the computer of its page; none is
    /// this one.
    pub(crate) fn show(&self, route: Option<UiRoute>) {
        match route.map(UiRoute::split_computer) {
            Some((computer, route)) => self.show_on(computer, route),
            None => self.show_window(None),
        }
    }

    /// Shows a page of a computer. Another computer than before gets a new page.
    pub(crate) fn show_on(&self, computer: Option<String>, route: UiRoute) {
        if self.computers.show(computer) {
            window::load_next_page(&self.app);
            self.shell_changed();
        }
        self.show_window(Some(route));
    }

    fn show_window(&self, route: Option<UiRoute>) {
        if self.windows.send(route).is_err() {
            tracing::debug!("window request ignored, the app is closing");
        }
    }

    /// Quits the app, which closes the engine.
    pub(crate) fn quit(&self) {
        self.quitting.store(true, Ordering::Release);
        self.app.exit(0);
    }

    /// Forwards an engine event to page and tray.
    pub(crate) fn forward(&self, event: &EventView) {
        if let Some(stale) = Stale::by(event) {
            self.tray.refresh(stale);
        }
        self.withdraw_settled(None, event);
        if matches!(event.kind, EventKindView::Reset | EventKindView::Config) {
            self.apply_computers();
        }
        if self.computers.is_shown(None) {
            self.send_to_page(event);
        }
    }

    /// Forwards an event of another computer to its page and its notifications.
    pub(crate) fn forward_from(&self, computer: &str, event: &EventView) {
        self.withdraw_settled(Some(computer), event);
        if self.computers.is_shown(Some(computer)) {
            self.send_to_page(event);
        }
    }

    fn send_to_page(&self, event: &EventView) {
        if let Err(error) = self.app.emit_to(MAIN, EVENT, event) {
            tracing::warn!(%error, "failed to send an event to the page");
        }
    }

    /// Connects the computers of the settings.
    fn apply_computers(&self) {
        let (app, engine) = (self.app.clone(), self.engine.clone());
        tauri::async_runtime::spawn(async move {
            match engine.ask::<ConfigView>("config.get", &EmptyObject {}).await {
                Ok(config) => {
                    let shell = tauri::Manager::state::<Self>(&app);
                    shell.computers.apply(config.computers);
                    shell.shell_changed();
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to read the computers of the settings")
                }
            }
        });
    }

    /// Notifies the page of a changed tray or engine.
    pub(crate) fn shell_changed(&self) {
        if let Err(error) = self.app.emit_to(MAIN, SHELL_CHANGED, ()) {
            tracing::warn!(%error, "failed to send the shell state to the page");
        }
    }

    /// Withdraws the notifications of a run that was seen, or whose approval is decided.
    fn withdraw_settled(&self, computer: Option<&str>, event: &EventView) {
        let before = match event.kind {
            EventKindView::Seen => i64::MAX,
            // Keeps notifications that are newer than the decision.
            EventKindView::Approval
                if event.data.get("state").is_some_and(|state| state != "pending") =>
            {
                event.at_ms
            }
            _ => return,
        };
        if let Some(run) = event.data.get("runId").and_then(Value::as_str) {
            self.withdraw_notifications(computer.map(str::to_owned), run.to_owned(), before);
        }
    }

    /// Withdraws the notifications of a run created before `before` (ms since 1970).
    fn withdraw_notifications(&self, computer: Option<String>, run: String, before: i64) {
        let (app, notifier) = (self.app.clone(), Arc::clone(&self.notifier));
        tauri::async_runtime::spawn(async move {
            let shell = tauri::Manager::state::<Self>(&app);
            match shell.ask::<RunDetail>(computer, "runs.get", &RunRef { id: run }).await {
                Ok(detail) => {
                    let settled = detail.deliveries.into_iter();
                    for delivery in settled.filter(|delivery| delivery.created_at_ms < before) {
                        notifier.withdraw(&DeliveryId::new(delivery.id));
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to withdraw the notifications of a seen run")
                }
            }
        });
    }

    /// Handles a click on a notification.
    pub(crate) fn follow(&self, interaction: Interaction) {
        match interaction {
            Interaction::Open(route) => {
                tracing::info!(%route, "notification clicked");
                self.show(Some(route));
            }
            Interaction::Press(token, route) => match self.notifier.resolve_button(&token) {
                TokenResolution::Decision(decision) => {
                    self.decide(decision, DecisionSurface::Notification, route)
                }
                TokenResolution::Used => {
                    tracing::debug!(%route, "notification button pressed again")
                }
                TokenResolution::Unknown => {
                    tracing::info!(%route, "notification button has expired");
                    self.show(Some(route));
                }
            },
        }
    }

    /// Sends an approval decision; shows the page if it does not count.
    fn decide(&self, pressed: PressedDecision, from: DecisionSurface, route: UiRoute) {
        let PressedDecision { approval, computer, is_allowed } = pressed;
        let decision =
            if is_allowed { DecisionDraft::Once } else { DecisionDraft::Deny { reason: None } };
        let params = ApprovalsDecideParams { id: approval.to_string(), decision, from };
        let app = self.app.clone();
        tauri::async_runtime::spawn(async move {
            let shell = tauri::Manager::state::<Self>(&app);
            let decided: Result<ApprovalsDecideResult, _> =
                shell.ask(computer, "approvals.decide", &params).await;
            match decided {
                // The approval event withdraws the notification.
                Ok(decided) if decided.applied => {}
                Ok(_) => shell.show(Some(route)),
                Err(error) => {
                    tracing::warn!(%error, "failed to send an approval decision");
                    shell.show(Some(route));
                }
            }
        });
    }

    /// Calls a method of the engine of a computer; none is this one.
    async fn ask<R: DeserializeOwned>(
        &self,
        computer: Option<String>,
        method: &str,
        params: &impl Serialize,
    ) -> Result<R, RpcError> {
        match computer {
            Some(name) => self.computers.backend(&name)?.ask(method, params).await,
            None => self.engine.ask(method, params).await,
        }
    }

    /// Notifies once that closing the window keeps Rouse running.
    pub(crate) fn notify_first_close(&self) {
        if self.quitting.load(Ordering::Acquire) || !self.is_first_close() {
            return;
        }
        let body = if self.tray.is_shown() {
            "Your jobs keep running. Open or quit Rouse from its tray icon."
        } else {
            "Your jobs keep running. Start Rouse again to reopen it; quit it on its Home page."
        };
        self.notice("Rouse keeps running", body.to_owned());
    }

    fn is_first_close(&self) -> bool {
        match OpenOptions::new().write(true).create_new(true).open(&self.close_notice_marker) {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            Err(error) => {
                // Without the marker the notification would repeat.
                tracing::warn!(%error, "failed to write the closing notice marker");
                false
            }
        }
    }

    fn call_engine<F, W>(&self, command: &'static str, work: W)
    where
        W: FnOnce(EngineHandle) -> F + Send + 'static,
        F: Future<Output = Result<(), RpcError>> + Send + 'static,
    {
        let (app, engine) = (self.app.clone(), self.engine.clone());
        tauri::async_runtime::spawn(async move {
            if let Err(error) = work(engine).await {
                tracing::warn!(%error, command, "tray command failed");
                tauri::Manager::state::<Self>(&app).notice("Rouse", error.message);
            }
        });
    }

    /// Shows a notification of the shell; a click opens the window.
    fn notice(&self, title: &str, body: String) {
        let toast = Toast {
            subject: Subject::Notice,
            opens: UiRoute::home(),
            title: title.to_owned(),
            body,
            urgent: false,
            buttons: None,
        };
        let notifier = Arc::clone(&self.notifier);
        tauri::async_runtime::spawn(async move {
            if let Err(error) = notifier.toast(toast).await {
                tracing::info!(%error, "failed to show a notice");
            }
        });
    }
}

async fn pause(engine: &EngineHandle, length: PauseFor) -> Result<(), RpcError> {
    let status: SystemStatus = engine.ask("system.status", &EmptyObject {}).await?;
    let zone = zone_of(&status.zone, &SystemClock::default().zones());
    let until_ms = length.until(UnixMs(status.now_ms), zone).map(|until| until.0);
    engine.ask::<CronStatus>("cron.pause", &CronPauseParams { until_ms }).await.map(drop)
}
