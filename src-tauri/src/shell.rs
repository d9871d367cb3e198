//! What the parts of the shell share, and what they do on a person's word.
//!
//! Holds handles, never facts: everything that is shown comes from the engine each time, so window and tray can be thrown
//! away at any moment.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rouse_core::{ApprovalId, Clock as _, DeliveryId, UnixMs};
use rouse_gateway::RpcError;
use rouse_gateway::wire::{
    Answer, AnsweredFrom, ApprovalsDecideParams, ApprovalsDecideResult, CronPauseParams,
    CronRunParams, CronStatus, Done, Empty, EventKind, EventView, RunDetail, RunMode, RunRef,
    StartedRun, SystemStatus,
};
use rouse_host::{Notifier as _, SystemClock};
use serde_json::Value;
use tauri::{AppHandle, Emitter as _};
use tokio::sync::mpsc;

use crate::backend::EngineDoor;
use crate::link::Link;
use crate::notifier::{DesktopNotifier, Meaning, Subject, Toast, Touch};
use crate::place::Place;
use crate::tray::{Command, PauseFor, Stale, Tray, zone_of};
use crate::window::{MAIN, Wish};

/// The event by which the page hears of the engine's events.
const EVENT: &str = "rouse://event";
/// The event by which the page hears that `shell_info` has changed.
const SHELL_CHANGED: &str = "rouse://shell";

/// The shell. Tauri hands it to everyone as its state.
pub(crate) struct Shell {
    pub(crate) app: AppHandle,
    pub(crate) engine: EngineDoor,
    pub(crate) tray: Tray,
    pub(crate) notifier: Arc<DesktopNotifier>,
    pub(crate) windows: mpsc::UnboundedSender<Wish>,
    /// Whether the page follows where it is led.
    pub(crate) page_is_there: AtomicBool,
    pub(crate) quitting: AtomicBool,
    /// Exists once people were told what closing the window means.
    pub(crate) closing_explained: PathBuf,
}

impl Shell {
    /// Does what was chosen in the tray, or in its place.
    pub(crate) fn obey(&self, command: Command) {
        match command {
            Command::Show => self.show(None),
            Command::Open(place) => self.show(Some(place)),
            Command::Quit => self.quit(),
            Command::Pause(length) => {
                self.tell_engine("pause", move |engine| async move { pause(&engine, length).await })
            }
            Command::Resume => self.tell_engine("resume", |engine| async move {
                engine.ask::<CronStatus>("cron.resume", &Empty {}).await.map(drop)
            }),
            Command::Run(job) => self.tell_engine("run", move |engine| async move {
                let now = CronRunParams {
                    id: job.to_string(),
                    mode: Some(RunMode::Force),
                    awaited_by: None,
                };
                engine.ask::<StartedRun>("cron.run", &now).await.map(drop)
            }),
            Command::Answer(question, yes) => {
                let place = Place::approval(&question);
                self.answer(&question, yes, AnsweredFrom::Tray, place);
            }
            Command::Stop(run) => self.tell_engine("stop", move |engine| async move {
                engine.ask::<Done>("runs.cancel", &RunRef { id: run.to_string() }).await.map(drop)
            }),
        }
    }

    /// Does what a link asks for, wherever it came from.
    pub(crate) fn follow_link(&self, link: Link) {
        match link {
            Link::Show(place) => self.show(Some(place)),
            Link::Press(word) => self.follow(Touch::Press(word, Place::fixed("/approvals"))),
        }
    }

    /// Shows the window, at `place` or as it was left.
    pub(crate) fn show(&self, place: Option<Place>) {
        if self.windows.send(place).is_err() {
            tracing::debug!("a wish for the window came while the app was closing");
        }
    }

    /// Ends the app; the engine is closed on the way out.
    pub(crate) fn quit(&self) {
        self.quitting.store(true, Ordering::Release);
        self.app.exit(0);
    }

    /// Hands an event of the engine to the page and to the tray.
    pub(crate) fn hand_on(&self, event: &EventView) {
        if let Some(stale) = Stale::by(event) {
            self.tray.refresh(stale);
        }
        if let (EventKind::Seen, Some(run)) =
            (event.kind, event.data.get("runId").and_then(Value::as_str))
        {
            self.settle(run.to_owned(), i64::MAX);
        }
        // A question that has its answer, wherever that was given, needs nobody any more.
        if let (EventKind::Approval, Some(run)) =
            (event.kind, event.data.get("runId").and_then(Value::as_str))
            && event.data.get("state").is_some_and(|state| state != "pending")
        {
            // What the run has told since is for somebody to see.
            self.settle(run.to_owned(), event.at_ms);
        }
        if let Err(error) = self.app.emit_to(MAIN, EVENT, event) {
            tracing::warn!(%error, "the page missed an event");
        }
    }

    /// Tells the page that a tray or an engine came or went.
    pub(crate) fn shell_changed(&self) {
        if let Err(error) = self.app.emit_to(MAIN, SHELL_CHANGED, ()) {
            tracing::warn!(%error, "the page does not know how the shell is");
        }
    }

    /// Takes the notifications of a run away that were made before an instant, in milliseconds since 1970: somebody has
    /// looked at it or answered it, wherever that was.
    fn settle(&self, run: String, before: i64) {
        let (engine, notifier) = (self.engine.clone(), Arc::clone(&self.notifier));
        tauri::async_runtime::spawn(async move {
            match engine.ask::<RunDetail>("runs.get", &RunRef { id: run }).await {
                Ok(detail) => {
                    let settled = detail.deliveries.into_iter();
                    for delivery in settled.filter(|delivery| delivery.created_at_ms < before) {
                        notifier.withdraw(&DeliveryId::new(delivery.id));
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "the notifications of a run that was seen stay")
                }
            }
        });
    }

    /// Does what was done with a notification.
    pub(crate) fn follow(&self, touch: Touch) {
        match touch {
            Touch::Open(place) => {
                tracing::info!(%place, "a notification was clicked");
                self.show(Some(place));
            }
            Touch::Press(word, place) => match self.notifier.answer(&word) {
                Meaning::Answers(id, yes) => {
                    self.answer(&id, yes, AnsweredFrom::Notification, place)
                }
                Meaning::Used => tracing::debug!(%place, "a button was pressed twice"),
                Meaning::Unknown => {
                    tracing::info!(%place, "a button of a notification means nothing any more");
                    self.show(Some(place));
                }
            },
        }
    }

    /// Answers a question; where the answer does not count, the page says why.
    fn answer(&self, id: &ApprovalId, yes: bool, from: AnsweredFrom, place: Place) {
        let answer = if yes { Answer::Once } else { Answer::Deny { reason: None } };
        let params = ApprovalsDecideParams { id: id.to_string(), answer, from };
        let (app, engine) = (self.app.clone(), self.engine.clone());
        tauri::async_runtime::spawn(async move {
            let decided: Result<ApprovalsDecideResult, _> =
                engine.ask("approvals.decide", &params).await;
            let shell = tauri::Manager::state::<Self>(&app);
            match decided {
                // The event that tells everybody takes the notification away.
                Ok(decided) if decided.counts => {}
                Ok(_) => shell.show(Some(place)),
                Err(error) => {
                    tracing::warn!(%error, "an answer was not taken");
                    shell.show(Some(place));
                }
            }
        });
    }

    /// Says, once for ever, that closing the window does not end Rouse.
    pub(crate) fn explain_closing(&self) {
        if self.quitting.load(Ordering::Acquire) || !self.is_first_closing() {
            return;
        }
        let body = if self.tray.is_up() {
            "Your jobs go on. Open or quit Rouse from its icon in the tray."
        } else {
            "Your jobs go on. Start Rouse again to see its window; quit it there, on the home page."
        };
        self.notice("Rouse keeps running", body.to_owned());
    }

    fn is_first_closing(&self) -> bool {
        match OpenOptions::new().write(true).create_new(true).open(&self.closing_explained) {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            Err(error) => {
                // Better silent than saying it after every closing.
                tracing::warn!(%error, "cannot remember that closing was explained");
                false
            }
        }
    }

    fn tell_engine<F, W>(&self, what: &'static str, work: W)
    where
        W: FnOnce(EngineDoor) -> F + Send + 'static,
        F: Future<Output = Result<(), RpcError>> + Send + 'static,
    {
        let (app, engine) = (self.app.clone(), self.engine.clone());
        tauri::async_runtime::spawn(async move {
            if let Err(error) = work(engine).await {
                tracing::warn!(%error, what, "a choice in the tray was not carried out");
                tauri::Manager::state::<Self>(&app).notice("Rouse", error.message);
            }
        });
    }

    /// Shows a notification of the shell's own; its click opens the window.
    fn notice(&self, title: &str, body: String) {
        let toast = Toast {
            subject: Subject::Notice,
            opens: Place::home(),
            title: title.to_owned(),
            body,
            urgent: false,
            buttons: None,
        };
        let notifier = Arc::clone(&self.notifier);
        tauri::async_runtime::spawn(async move {
            if let Err(error) = notifier.toast(toast).await {
                tracing::info!(%error, "a notice was not shown");
            }
        });
    }
}

async fn pause(engine: &EngineDoor, length: PauseFor) -> Result<(), RpcError> {
    let status: SystemStatus = engine.ask("system.status", &Empty {}).await?;
    let zone = zone_of(&status.zone, &SystemClock::default().zones());
    let until_ms = length.until(UnixMs(status.now_ms), zone).map(|until| until.0);
    engine.ask::<CronStatus>("cron.pause", &CronPauseParams { until_ms }).await.map(drop)
}
