//! Notifications on Linux: notify-rust shows them, a standing listener hears the clicks.
//!
//! What notify-rust 4.19 cannot do, and what is done about it here:
//! - It asks the bus for click signals only after the notification is on the screen, and listens anew after each signal
//!   of any app; a click in between is lost. So one connection of our own listens before the first notification is sent.
//! - Some servers (dunst) tell only the connection that sent the notification, so notify-rust's handle is waited on as
//!   well, from a few milliseconds after the notification is there. Waiting also keeps that connection open: some
//!   desktops (GNOME) take a notification away with its sender.
//! - It does not say whether the server reads markup in the body, so the server is asked here.
//! - Waiting panics when the bus breaks. It happens on a task of its own, where a panic ends only the waiting.
//!
//! It also ignores the server's `ActivationToken`; on Wayland the window may come up behind others and ask for attention.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt as _;
use notify_rust::{Hint, Notification, NotificationHandle, NotificationResponse, Urgency};
use rouse_host::NotifyError;
use tokio::sync::{OnceCell, oneshot};
use zbus::message::Type;
use zbus::{Connection, MatchRule, Message, MessageStream};

use super::ledger::{Heard, Ledger};
use super::{APP_NAME, Buttons, Clicks, Subject, Toast, Touch, write_picture};
use crate::place::Place;

/// The installed .desktop file and icon, by which a desktop knows whose notification it is.
const DESKTOP_ENTRY: &str = "rouse-desktop";
const SERVER: &str = "org.freedesktop.Notifications";
const SERVER_PATH: &str = "/org/freedesktop/Notifications";
/// What the bus calls a name that nobody has and that it can start nobody for.
const NOBODY: &str = "org.freedesktop.DBus.Error.ServiceUnknown";
/// The action that a click on the notification itself means.
const DEFAULT_ACTION: &str = "default";
/// Signals kept while one is handled; handling takes microseconds.
const QUEUE: Option<NonZeroUsize> = NonZeroUsize::new(256);

/// The notifications on this desktop.
pub(super) struct Notifications {
    desk: Arc<Desk>,
    server: OnceCell<Server>,
    home: PathBuf,
}

struct Desk {
    ledger: Mutex<Ledger>,
    clicks: Clicks,
}

/// What was found out before the first notification.
struct Server {
    reads_markup: bool,
    icon: String,
}

impl Notifications {
    pub(super) fn new(clicks: Clicks, home: &Path) -> Self {
        let desk = Arc::new(Desk { ledger: Mutex::default(), clicks });
        Self { desk, server: OnceCell::new(), home: home.to_owned() }
    }

    pub(super) async fn show(&self, toast: Toast) -> Result<(), NotifyError> {
        let server = self
            .server
            .get_or_try_init(|| listen(Arc::clone(&self.desk), &self.home))
            .await
            .map_err(|error| later(&error))?;
        let replaces = self.desk.ledger().sending(&toast.subject);
        let handle = match notification(&toast, server, replaces).show_async().await {
            Ok(handle) => handle,
            Err(error) => {
                self.desk.ledger().not_sent();
                return Err(later(&error));
            }
        };
        let (withdraw, withdrawn) = oneshot::channel();
        let opens = toast.opens.clone();
        let chosen = self.desk.ledger().sent(handle.id(), toast.subject, opens, withdraw);
        if let Some(action) = chosen {
            self.desk.touched(&action, toast.opens);
        }
        tokio::spawn(hold(handle, withdrawn, Arc::clone(&self.desk)));
        Ok(())
    }

    pub(super) fn withdraw(&self, subject: &Subject) {
        if let Some(withdraw) = self.desk.ledger().withdraw(subject) {
            // Nobody holds it any more when it was closed on the screen already.
            let _ = withdraw.send(());
        }
    }
}

impl Desk {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clicked(&self, id: u32, action: &str, heard: Heard) {
        let opens = self.ledger().clicked(id, action, heard);
        if let Some(opens) = opens {
            self.touched(action, opens);
        }
    }

    fn touched(&self, action: &str, opens: Place) {
        let touch = match action {
            DEFAULT_ACTION => Touch::Open(opens),
            word => Touch::Press(word.to_owned(), opens),
        };
        if self.clicks.send(touch).is_err() {
            tracing::debug!("a click came while the app was closing");
        }
    }

    fn hear(&self, signal: &Message) {
        let header = signal.header();
        match header.member().map(|member| member.as_str()) {
            Some("ActionInvoked") => {
                if let Ok((id, action)) = signal.body().deserialize::<(u32, String)>() {
                    self.clicked(id, &action, Heard::ByAll);
                }
            }
            Some("NameOwnerChanged") => {
                let had_owner = signal
                    .body()
                    .deserialize::<(String, String, String)>()
                    .is_ok_and(|(_, old, _)| !old.is_empty());
                if had_owner {
                    self.ledger().server_gone();
                }
            }
            _ => {}
        }
    }
}

/// Starts to listen, then asks the server what it can do.
async fn listen(desk: Arc<Desk>, home: &Path) -> zbus::Result<Server> {
    let bus = Connection::session().await?;
    let owners = MatchRule::builder()
        .msg_type(Type::Signal)
        .sender("org.freedesktop.DBus")
        .member("NameOwnerChanged")
        .arg(0, SERVER)
        .build()?;
    let clicks = MatchRule::builder()
        .msg_type(Type::Signal)
        .interface(SERVER)
        .member("ActionInvoked")
        .path(SERVER_PATH)
        .build()?;
    let owners = MessageStream::for_match_rule(owners, &bus, QUEUE).await?;
    let clicks = MessageStream::for_match_rule(clicks, &bus, QUEUE).await?;
    let answer =
        bus.call_method(Some(SERVER), SERVER_PATH, Some(SERVER), "GetCapabilities", &()).await?;
    let capabilities: Vec<String> = answer.body().deserialize()?;
    tokio::spawn(async move {
        let mut signals = futures_util::stream::select(clicks, owners);
        while let Some(Ok(signal)) = signals.next().await {
            desk.hear(&signal);
        }
        tracing::warn!("the session bus has gone; clicks on notifications are not heard any more");
    });
    let reads_markup = capabilities.iter().any(|capability| capability == "body-markup");
    Ok(Server { reads_markup, icon: icon(home) })
}

/// Keeps a notification's connection until it leaves the screen, and takes it away when its matter is settled.
async fn hold(handle: NotificationHandle, withdrawn: oneshot::Receiver<()>, desk: Arc<Desk>) {
    let id = handle.id();
    let answered = handle.wait_for_action_async(|response| match response {
        NotificationResponse::Default => desk.clicked(id, DEFAULT_ACTION, Heard::BySender),
        NotificationResponse::Action(word) => desk.clicked(id, word, Heard::BySender),
        _ => {}
    });
    tokio::select! {
        () = answered => {}
        Ok(()) = withdrawn => handle.close_async().await,
    }
}

fn notification(toast: &Toast, server: &Server, replaces: Option<u32>) -> Notification {
    let body = if server.reads_markup { escape(&toast.body) } else { toast.body.clone() };
    let mut notification = Notification::new();
    notification
        .appname(APP_NAME)
        .icon(&server.icon)
        .summary(&toast.title)
        .body(&body)
        .action(DEFAULT_ACTION, "Open")
        .hint(Hint::DesktopEntry(DESKTOP_ENTRY.to_owned()))
        .urgency(if toast.urgent { Urgency::Critical } else { Urgency::Normal });
    if let Some(Buttons { allow, deny }) = &toast.buttons {
        notification.action(allow, "Allow once").action(deny, "Deny");
    }
    if let Some(id) = replaces {
        notification.id(id);
    }
    notification
}

/// The installed icon's name; of an app that was not installed, a picture in its data directory.
fn icon(home: &Path) -> String {
    if is_installed() {
        return DESKTOP_ENTRY.to_owned();
    }
    match write_picture(home) {
        Ok(path) => path.display().to_string(),
        Err(error) => {
            tracing::debug!(%error, "notifications have no picture");
            DESKTOP_ENTRY.to_owned()
        }
    }
}

fn is_installed() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let system = set("XDG_DATA_DIRS").unwrap_or_else(|| "/usr/local/share:/usr/share".into());
    let own = set("XDG_DATA_HOME").map(PathBuf::from);
    let entry = format!("applications/{DESKTOP_ENTRY}.desktop");
    own.into_iter().chain(std::env::split_paths(&system)).any(|folder| folder.join(&entry).exists())
}

/// The body with nothing that a server could take for markup.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Every failure here can pass: a desktop that is still starting, a server that is being replaced. That there is none at
/// all is known by the bus's own word for it, which zbus and notify-rust hand on in their texts.
fn later(error: &dyn std::error::Error) -> NotifyError {
    let words = error.to_string();
    NotifyError::Later(match words.contains(NOBODY) {
        true => "No notification service runs here: start one, such as dunst.".to_owned(),
        false => format!("This desktop did not take the notification: {words}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;

    fn toast() -> Toast {
        Toast {
            subject: Subject::Notice,
            opens: Place::home(),
            title: "Backup".to_owned(),
            body: "2 < 3 & <b>done</b>".to_owned(),
            urgent: false,
            buttons: None,
        }
    }

    fn server(reads_markup: bool) -> Server {
        Server { reads_markup, icon: "icon".to_owned() }
    }

    #[test]
    fn a_body_is_text_whatever_the_server_reads() {
        let plain = notification(&toast(), &server(false), None);
        let markup = notification(&toast(), &server(true), None);
        assert_eq!(plain.body, "2 < 3 & <b>done</b>");
        assert_eq!(markup.body, "2 &lt; 3 &amp; &lt;b&gt;done&lt;/b&gt;");
    }

    #[test]
    fn a_desktop_without_a_notification_service_is_told_what_to_start() {
        let said = |error: zbus::fdo::Error| later(&zbus::Error::from(error)).to_string();
        let nobody = zbus::fdo::Error::ServiceUnknown("The name is not activatable".to_owned());
        let words = "No notification service runs here: start one, such as dunst.";
        assert_eq!(later(&nobody).to_string(), words);
        assert_eq!(said(nobody), words);
        let other = said(zbus::fdo::Error::NoReply("It is busy".to_owned()));
        assert!(other.starts_with("This desktop did not take the notification: "), "{other}");
    }

    #[test]
    fn a_question_has_its_buttons() {
        let buttons = Some(Buttons { allow: "1f".to_owned(), deny: "2e".to_owned() });
        let shown = notification(&Toast { buttons, ..toast() }, &server(false), None);
        assert_eq!(shown.actions, ["default", "Open", "1f", "Allow once", "2e", "Deny"]);
    }

    #[test]
    fn a_click_on_the_notification_itself_is_asked_for() {
        let shown = notification(&toast(), &server(false), None);
        assert_eq!(shown.actions, ["default", "Open"]);
        assert_eq!((shown.appname.as_str(), shown.icon.as_str()), ("Rouse", "icon"));
    }
}
