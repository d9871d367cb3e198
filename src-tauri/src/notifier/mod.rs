//! Native notifications, behind the engine's port.
//!
//! notify-rust shows them wherever it can replace, withdraw and hear every click; one file a system holds what it takes
//! where it cannot, and names the limits of both. A notification is only a pointer: it carries the page that a click
//! opens, and everything on that page comes from the engine. Nothing here may block a thread of the runtime.

mod answers;
#[cfg(target_os = "linux")]
mod ledger;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod on_the_way;
#[cfg(any(windows, test))]
mod toast_xml;
#[cfg(target_os = "macos")]
mod waiting_thread;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use self::linux::Notifications;
#[cfg(target_os = "macos")]
use self::macos::Notifications;
#[cfg(windows)]
use self::windows::Notifications;

use std::path::Path;
#[cfg(not(target_os = "macos"))]
use std::path::PathBuf;

use rouse_core::delivery::Delivery;
use rouse_core::tool::BoxFuture;
use rouse_core::{ApprovalId, DeliveryId, RunId};
use rouse_gateway::wire::{ApprovalState, ApprovalView, RunDetail, RunRef, RunState, ShowRequest};
use rouse_host::{Notifier, NotifyError};
use tokio::sync::mpsc;

pub(crate) use self::answers::{AnswerBook, Buttons, Meaning};
use self::on_the_way::OnTheWay;
use crate::backend::EngineDoor;
use crate::place::Place;

/// What people read as the sender.
const APP_NAME: &str = "Rouse";

/// The picture for a desktop that does not know the app.
#[cfg(not(target_os = "macos"))]
const PICTURE: &[u8] = include_bytes!("../../../icons/128x128.png");

/// What a notification is about: a later one on the same subject takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A delivery of the engine: a run's outcome, or a test.
    Delivery(DeliveryId),
    /// What the shell itself has to say.
    Notice,
}

#[cfg(not(target_os = "linux"))]
impl Subject {
    /// The name by which the system knows it, in this life of the app and the next.
    fn name(&self) -> &str {
        match self {
            Self::Delivery(id) => id.as_str(),
            Self::Notice => "notice",
        }
    }
}

/// A notification to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Toast {
    pub(crate) subject: Subject,
    /// What a click shows.
    pub(crate) opens: Place,
    pub(crate) title: String,
    pub(crate) body: String,
    /// Stays until it is seen, where the desktop can do that.
    pub(crate) urgent: bool,
    /// The question that it can be answered by.
    pub(crate) buttons: Option<Buttons>,
}

/// What somebody did with a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Touch {
    /// Clicked on it.
    #[cfg_attr(windows, expect(dead_code, reason = "a click on a toast comes back as a link"))]
    Open(Place),
    /// Pressed the button behind this word; where nobody knows the word any more, the page is shown.
    Press(String, Place),
}

/// Touches on their way to the shell.
pub(crate) type Clicks = mpsc::UnboundedSender<Touch>;

/// The notifications of this desktop.
pub(crate) struct DesktopNotifier {
    system: Notifications,
    engine: EngineDoor,
    answers: AnswerBook,
    on_the_way: OnTheWay,
}

impl DesktopNotifier {
    /// Notifications whose clicks go to `clicks`; `engine` is asked how urgent a delivery is.
    pub(crate) fn new(clicks: Clicks, engine: EngineDoor, home: &Path) -> Self {
        Self {
            system: Notifications::new(clicks, home),
            engine,
            answers: AnswerBook::default(),
            on_the_way: OnTheWay::default(),
        }
    }

    /// Shows `toast`, in place of an earlier one on the same subject.
    pub(crate) async fn toast(&self, toast: Toast) -> Result<(), NotifyError> {
        self.system.show(toast).await
    }

    /// Shows what an engine in another process asked for.
    pub(crate) async fn show_for(&self, request: &ShowRequest) -> Result<(), NotifyError> {
        let id = DeliveryId::new(request.delivery_id.as_str());
        let run = request.run_id.as_deref().map(RunId::new);
        self.show_delivery(&id, run.as_ref(), &request.title, &request.body).await
    }

    async fn show_delivery(
        &self,
        id: &DeliveryId,
        run: Option<&RunId>,
        title: &str,
        body: &str,
    ) -> Result<(), NotifyError> {
        self.on_the_way.set_out(id);
        let detail = self.look(run).await;
        let toast = Toast {
            subject: Subject::Delivery(id.clone()),
            opens: page_of(id, run),
            title: title.to_owned(),
            body: body.to_owned(),
            urgent: detail.as_ref().is_some_and(is_urgent),
            buttons: detail.as_ref().and_then(|run| self.buttons(run)),
        };
        let shown = self.toast(toast).await;
        if self.on_the_way.arrived(id) {
            self.system.withdraw(&Subject::Delivery(id.clone()));
        }
        shown
    }

    /// The run that a notification is about. When it cannot be asked for, the notification is shown all the same.
    async fn look(&self, run: Option<&RunId>) -> Option<RunDetail> {
        let run = run?;
        match self.engine.ask::<RunDetail>("runs.get", &RunRef { id: run.to_string() }).await {
            Ok(detail) => Some(detail),
            Err(error) => {
                tracing::warn!(%error, run_id = %run, "a notification is shown without its run's state");
                None
            }
        }
    }

    /// One question can be answered on the notification, unless it is of the highest class: that one is looked at first.
    fn buttons(&self, run: &RunDetail) -> Option<Buttons> {
        let open = |one: &&ApprovalView| one.state == ApprovalState::Pending;
        let mut open = run.approvals.iter().filter(open);
        match (open.next(), open.next()) {
            (Some(one), None) if !one.is_highest => {
                Some(self.answers.issue(&ApprovalId::new(one.id.as_str())))
            }
            _ => None,
        }
    }

    /// What the button behind a word means; once.
    pub(crate) fn answer(&self, word: &str) -> Meaning {
        self.answers.take(word)
    }
}

/// Failures and questions are urgent.
fn is_urgent(run: &RunDetail) -> bool {
    matches!(run.run.state, RunState::Failed | RunState::TimedOut | RunState::AwaitingApproval)
}

impl Notifier for DesktopNotifier {
    fn show<'a>(&'a self, delivery: &'a Delivery) -> BoxFuture<'a, Result<(), NotifyError>> {
        let Delivery { id, run_id, title, body, .. } = delivery;
        Box::pin(self.show_delivery(id, run_id.as_ref(), title, body))
    }

    fn withdraw(&self, id: &DeliveryId) {
        self.on_the_way.withdraw(id);
        self.system.withdraw(&Subject::Delivery(id.clone()));
    }
}

/// A digest leads to the runs that it tells of. A test notification has no run; its click comes back to where it was
/// sent from.
fn page_of(delivery: &DeliveryId, run: Option<&RunId>) -> Place {
    match run {
        Some(run) => Place::run(run),
        None if delivery.is_digest() => Place::digest(delivery),
        None => Place::fixed("/settings"),
    }
}

/// Puts the picture where the desktop can read it.
#[cfg(not(target_os = "macos"))]
fn write_picture(home: &Path) -> std::io::Result<PathBuf> {
    let path = home.join("icon.png");
    std::fs::write(&path, PICTURE)?;
    Ok(path)
}
