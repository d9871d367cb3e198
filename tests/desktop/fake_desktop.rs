//! The desktop services: the notification server, and the watcher for tray items.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{mpsc, watch};
use zbus::message::Header;
use zbus::object_server::SignalEmitter;
use zbus::{Connection, OwnedVariant, connection, interface};

use crate::session::{DesktopSession, with_timeout};
use crate::tray::TrayItem;

const NOTIFICATIONS: (&str, &str) =
    ("org.freedesktop.Notifications", "/org/freedesktop/Notifications");
const WATCHER: (&str, &str) = ("org.kde.StatusNotifierWatcher", "/StatusNotifierWatcher");

/// The desktop services with their received calls.
pub(crate) struct FakeDesktop {
    bus: Connection,
    notifications: mpsc::UnboundedReceiver<ReceivedNotification>,
    closed: mpsc::UnboundedReceiver<u32>,
    click_at_once: Arc<AtomicBool>,
    answers: watch::Sender<bool>,
    items: mpsc::UnboundedReceiver<String>,
}

/// A received notification.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedNotification {
    pub(crate) id: u32,
    pub(crate) app_name: String,
    pub(crate) summary: String,
    pub(crate) body: String,
    pub(crate) actions: Vec<String>,
    pub(crate) desktop_entry: Option<String>,
    pub(crate) urgent: bool,
    sender: String,
}

impl FakeDesktop {
    /// Starts the services without a tray.
    pub(crate) async fn start(session: &DesktopSession) -> Self {
        let (shown, notifications) = mpsc::unbounded_channel();
        let (close, closed) = mpsc::unbounded_channel();
        let (registered, items) = mpsc::unbounded_channel();
        let click_at_once = Arc::new(AtomicBool::new(false));
        let (answers, may_answer) = watch::channel(true);
        let server = NotificationServer {
            shown,
            close,
            click_at_once: Arc::clone(&click_at_once),
            may_answer,
            last_id: 0,
        };
        let bus = connection::Builder::address(session.bus_address.as_str())
            .serve_at(NOTIFICATIONS.1, server)
            .serve_at(WATCHER.1, Watcher { registered })
            .name(NOTIFICATIONS.0)
            .build()
            .await
            .expect("the desktop is on the bus");
        Self { bus, notifications, closed, click_at_once, answers, items }
    }

    /// Shows a tray.
    pub(crate) async fn show_tray(&self) {
        self.bus.request_name(WATCHER.0).await.expect("the watcher's name");
    }

    pub(crate) async fn next_notification(&mut self) -> ReceivedNotification {
        with_timeout("a notification", self.notifications.recv()).await.expect("the server lives")
    }

    /// Waits for the next withdrawn notification.
    pub(crate) async fn next_withdrawn_id(&mut self) -> u32 {
        with_timeout("a notification to be withdrawn", self.closed.recv())
            .await
            .expect("the server lives")
    }

    pub(crate) async fn next_tray_item(&mut self) -> TrayItem {
        let service =
            with_timeout("a tray item", self.items.recv()).await.expect("the watcher lives");
        TrayItem::at(&self.bus, service).await
    }

    /// Clicks the notification itself.
    pub(crate) async fn click(&self, shown: &ReceivedNotification) {
        self.send_click(shown, None).await;
    }

    /// Clicks with a signal to the sender only, as some servers do. The app subscribes a moment after the
    /// notification, so the click repeats until the sender disconnects.
    pub(crate) async fn click_by_unicast(&self, shown: &ReceivedNotification) {
        let daemon = zbus::fdo::DBusProxy::new(&self.bus).await.expect("the bus itself");
        let sender = zbus::names::BusName::try_from(shown.sender.as_str()).expect("a name");
        let handled = async {
            while daemon.name_has_owner(sender.clone()).await.expect("an answer") {
                self.send_click(shown, Some(shown.sender.as_str())).await;
            }
        };
        with_timeout("the click to be handled", handled).await;
    }

    /// Clicks every later notification before the server has answered.
    pub(crate) fn click_immediately(&self) {
        self.click_at_once.store(true, Ordering::SeqCst);
    }

    /// Delays the server's answers with notification numbers until `answer` is true again.
    pub(crate) fn answer(&self, answer: bool) {
        self.answers.send_replace(answer);
    }

    /// Presses the button with this label.
    pub(crate) async fn press(&self, shown: &ReceivedNotification, label: &str) {
        let button = shown.actions.chunks(2).find(|button| button[1] == label);
        self.invoke(shown, &button.expect("such a button")[0], None).await;
    }

    async fn send_click(&self, shown: &ReceivedNotification, to: Option<&str>) {
        self.invoke(shown, "default", to).await;
    }

    async fn invoke(&self, shown: &ReceivedNotification, key: &str, to: Option<&str>) {
        let action = (shown.id, key);
        let emit =
            self.bus.emit_signal(to, NOTIFICATIONS.1, NOTIFICATIONS.0, "ActionInvoked", &action);
        emit.await.expect("the click is on the bus");
    }
}

struct NotificationServer {
    shown: mpsc::UnboundedSender<ReceivedNotification>,
    close: mpsc::UnboundedSender<u32>,
    click_at_once: Arc<AtomicBool>,
    may_answer: watch::Receiver<bool>,
    last_id: u32,
}

#[interface(name = "org.freedesktop.Notifications")]
impl NotificationServer {
    fn get_capabilities(&self) -> Vec<String> {
        ["actions", "body", "body-markup", "persistence"].map(str::to_owned).to_vec()
    }

    fn get_server_information(&self) -> (String, String, String, String) {
        ("Test desktop".to_owned(), "Rouse".to_owned(), "1".to_owned(), "1.2".to_owned())
    }

    #[expect(clippy::too_many_arguments, reason = "the interface has them")]
    async fn notify(
        &mut self,
        app_name: String,
        replaces_id: u32,
        _app_icon: String,
        summary: String,
        body: String,
        actions: Vec<String>,
        hints: HashMap<String, OwnedVariant>,
        _expire_timeout: i32,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> u32 {
        if replaces_id == 0 {
            self.last_id += 1;
        }
        let id = if replaces_id == 0 { self.last_id } else { replaces_id };
        let text =
            |key: &str| hints.get(key).and_then(|value| String::try_from(value.clone()).ok());
        let urgent = hints.get("urgency").and_then(|value| u8::try_from(value).ok()) == Some(2);
        let sender = header.sender().expect("a sender").to_string();
        let desktop_entry = text("desktop-entry");
        if self.click_at_once.load(Ordering::SeqCst) {
            Self::action_invoked(&emitter, id, "default").await.expect("the click is on the bus");
        }
        let shown = ReceivedNotification {
            id,
            app_name,
            summary,
            body,
            actions,
            desktop_entry,
            urgent,
            sender,
        };
        self.shown.send(shown).expect("the test listens");
        // The services may be gone by now.
        drop(self.may_answer.wait_for(|may| *may).await);
        id
    }

    #[zbus(signal)]
    async fn action_invoked(emitter: &SignalEmitter<'_>, id: u32, action: &str)
    -> zbus::Result<()>;

    fn close_notification(&self, id: u32) {
        self.close.send(id).expect("the test listens");
    }
}

struct Watcher {
    registered: mpsc::UnboundedSender<String>,
}

#[interface(name = "org.kde.StatusNotifierWatcher")]
impl Watcher {
    fn register_status_notifier_item(&self, service: String) {
        self.registered.send(service).expect("the test listens");
    }

    fn register_status_notifier_host(&self, _service: String) {}

    #[zbus(property)]
    fn registered_status_notifier_items(&self) -> Vec<String> {
        Vec::new()
    }

    #[zbus(property)]
    fn is_status_notifier_host_registered(&self) -> bool {
        true
    }

    #[zbus(property)]
    fn protocol_version(&self) -> i32 {
        0
    }
}
