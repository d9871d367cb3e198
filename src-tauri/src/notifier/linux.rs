//! Linux notifications by notify-rust, with a permanent click listener.
//!
//! Workarounds for notify-rust 4.19:
//!
//! - It subscribes to click signals after showing, and again after each signal, so clicks in
//!   between are lost. One own connection listens before the first notification.
//!
//! - Some servers (dunst) signal only the sender's connection, so the handle is awaited too. This
//!   also keeps the connection open; GNOME removes notifications of closed connections.
//!
//! - It does not report whether the server parses markup, so the server is asked here.
//!
//! - Waiting panics when the bus breaks, so each wait runs in a task.
//!
//! It ignores the server's `ActivationToken`; on Wayland the window may stay behind others.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt as _;
use notify_rust::{Hint, Notification, NotificationHandle, NotificationResponse, Urgency};
use rouse_host::NotifyError;
use tokio::sync::{OnceCell, oneshot};
use zbus::message::Type;
use zbus::{Connection, MatchRule, Message, MessageStream};

use super::button_tokens::Buttons;
use super::ledger::{ClickSource, Ledger};
use super::toast::{APP_NAME, Clicks, Interaction, Subject, Toast, write_icon};
use crate::ui_route::UiRoute;

/// Installed .desktop file and icon, which identify the app.
const DESKTOP_ENTRY: &str = "rouse-desktop";
const SERVER: &str = "org.freedesktop.Notifications";
const SERVER_PATH: &str = "/org/freedesktop/Notifications";
/// D-Bus error for a name without owner or activation.
const SERVICE_UNKNOWN: &str = "org.freedesktop.DBus.Error.ServiceUnknown";
/// Action of a click on the notification itself.
const DEFAULT_ACTION: &str = "default";
/// Signal buffer.
const SIGNAL_BUFFER: Option<NonZeroUsize> = NonZeroUsize::new(256);

/// Notifications of this desktop.
pub(super) struct SystemNotifications {
    state: Arc<NotificationState>,
    server: OnceCell<ServerCapabilities>,
    home: PathBuf,
}

struct NotificationState {
    ledger: Mutex<Ledger>,
    clicks: Clicks,
}

/// Server capabilities.
struct ServerCapabilities {
    reads_markup: bool,
    icon: String,
}

impl SystemNotifications {
    pub(super) fn new(clicks: Clicks, home: &Path) -> Self {
        let state = Arc::new(NotificationState { ledger: Mutex::default(), clicks });
        Self { state, server: OnceCell::new(), home: home.to_owned() }
    }

    pub(super) async fn show(&self, toast: Toast) -> Result<(), NotifyError> {
        let server = self
            .server
            .get_or_try_init(|| listen(Arc::clone(&self.state), &self.home))
            .await
            .map_err(|error| transient_error(&error))?;
        let replaces = self.state.ledger().sending(&toast.subject);
        let handle = match notification(&toast, server, replaces).show_async().await {
            Ok(handle) => handle,
            Err(error) => {
                self.state.ledger().not_sent();
                return Err(transient_error(&error));
            }
        };
        let (withdraw, withdrawn) = oneshot::channel();
        let opens = toast.opens.clone();
        let chosen = self.state.ledger().sent(handle.id(), toast.subject, opens, withdraw);
        if let Some(action) = chosen {
            self.state.send_interaction(&action, toast.opens);
        }
        tokio::spawn(hold_open(handle, withdrawn, Arc::clone(&self.state)));
        Ok(())
    }

    pub(super) fn withdraw(&self, subject: &Subject) {
        if let Some(withdraw) = self.state.ledger().withdraw(subject) {
            // Fails if the notification was closed on screen.
            let _ = withdraw.send(());
        }
    }
}

impl NotificationState {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clicked(&self, id: u32, action: &str, source: ClickSource) {
        let opens = self.ledger().clicked(id, action, source);
        if let Some(opens) = opens {
            self.send_interaction(action, opens);
        }
    }

    fn send_interaction(&self, action: &str, opens: UiRoute) {
        let interaction = match action {
            DEFAULT_ACTION => Interaction::Open(opens),
            token => Interaction::Press(token.to_owned(), opens),
        };
        if self.clicks.send(interaction).is_err() {
            tracing::debug!("click ignored, the app is closing");
        }
    }

    fn handle_signal(&self, signal: &Message) {
        let header = signal.header();
        match header.member().map(|member| member.as_str()) {
            Some("ActionInvoked") => {
                if let Ok((id, action)) = signal.body().deserialize::<(u32, String)>() {
                    self.clicked(id, &action, ClickSource::Broadcast);
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

/// Subscribes to signals, then reads the server's capabilities.
async fn listen(state: Arc<NotificationState>, home: &Path) -> zbus::Result<ServerCapabilities> {
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
    let owners = MessageStream::for_match_rule(owners, &bus, SIGNAL_BUFFER).await?;
    let clicks = MessageStream::for_match_rule(clicks, &bus, SIGNAL_BUFFER).await?;
    let answer =
        bus.call_method(Some(SERVER), SERVER_PATH, Some(SERVER), "GetCapabilities", &()).await?;
    let capabilities: Vec<String> = answer.body().deserialize()?;
    tokio::spawn(async move {
        let mut signals = futures_util::stream::select(clicks, owners);
        while let Some(Ok(signal)) = signals.next().await {
            state.handle_signal(&signal);
        }
        tracing::warn!("session bus lost, notification clicks are not received");
    });
    let reads_markup = capabilities.iter().any(|capability| capability == "body-markup");
    Ok(ServerCapabilities { reads_markup, icon: icon(home) })
}

/// Holds the connection of a notification until closed or withdrawn.
async fn hold_open(
    handle: NotificationHandle,
    withdrawn: oneshot::Receiver<()>,
    state: Arc<NotificationState>,
) {
    let id = handle.id();
    let action = handle.wait_for_action_async(|response| match response {
        NotificationResponse::Default => state.clicked(id, DEFAULT_ACTION, ClickSource::Sender),
        NotificationResponse::Action(token) => state.clicked(id, token, ClickSource::Sender),
        _ => {}
    });
    tokio::select! {
        () = action => {}
        Ok(()) = withdrawn => handle.close_async().await,
    }
}

fn notification(toast: &Toast, server: &ServerCapabilities, replaces: Option<u32>) -> Notification {
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

/// Icon name, or a file for an uninstalled app.
fn icon(home: &Path) -> String {
    if is_installed() {
        return DESKTOP_ENTRY.to_owned();
    }
    match write_icon(home) {
        Ok(path) => path.display().to_string(),
        Err(error) => {
            tracing::debug!(%error, "failed to write the notification icon");
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

/// Escapes markup.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Transient error. A missing service is recognized by the D-Bus error name in the text.
fn transient_error(error: &dyn std::error::Error) -> NotifyError {
    let text = error.to_string();
    NotifyError::Later(if text.contains(SERVICE_UNKNOWN) {
        "No notification service is running. Start one, such as dunst.".to_owned()
    } else {
        format!("The desktop rejected the notification: {text}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui_route::UiRoute;

    fn toast() -> Toast {
        Toast {
            subject: Subject::Notice,
            opens: UiRoute::home(),
            title: "Backup".to_owned(),
            body: "2 < 3 & <b>done</b>".to_owned(),
            urgent: false,
            buttons: None,
        }
    }

    fn server(reads_markup: bool) -> ServerCapabilities {
        ServerCapabilities { reads_markup, icon: "icon".to_owned() }
    }

    #[test]
    fn body_is_escaped_only_for_markup_servers() {
        let plain = notification(&toast(), &server(false), None);
        let markup = notification(&toast(), &server(true), None);
        assert_eq!(plain.body, "2 < 3 & <b>done</b>");
        assert_eq!(markup.body, "2 &lt; 3 &amp; &lt;b&gt;done&lt;/b&gt;");
    }

    #[test]
    fn missing_service_error_names_remedy() {
        let error_text =
            |error: zbus::fdo::Error| transient_error(&zbus::Error::from(error)).to_string();
        let missing = zbus::fdo::Error::ServiceUnknown("The name is not activatable".to_owned());
        let text = "No notification service is running. Start one, such as dunst.";
        assert_eq!(transient_error(&missing).to_string(), text);
        assert_eq!(error_text(missing), text);
        let other = error_text(zbus::fdo::Error::NoReply("It is busy".to_owned()));
        assert!(other.starts_with("The desktop rejected the notification: "), "{other}");
    }

    #[test]
    fn approval_has_allow_and_deny_buttons() {
        let buttons = Some(Buttons { allow: "1f".to_owned(), deny: "2e".to_owned() });
        let shown = notification(&Toast { buttons, ..toast() }, &server(false), None);
        assert_eq!(shown.actions, ["default", "Open", "1f", "Allow once", "2e", "Deny"]);
    }

    #[test]
    fn notification_has_default_action() {
        let shown = notification(&toast(), &server(false), None);
        assert_eq!(shown.actions, ["default", "Open"]);
        assert_eq!((shown.appname.as_str(), shown.icon.as_str()), ("Rouse", "icon"));
    }
}
