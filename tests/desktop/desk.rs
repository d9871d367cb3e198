//! The other side of the desktop: the notification server, and the watcher that tray items register with.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{mpsc, watch};
use zbus::message::Header;
use zbus::object_server::SignalEmitter;
use zbus::{Connection, OwnedVariant, connection, interface};

use crate::session::{Session, soon};
use crate::tray::TrayItem;

const NOTIFICATIONS: (&str, &str) =
    ("org.freedesktop.Notifications", "/org/freedesktop/Notifications");
const WATCHER: (&str, &str) = ("org.kde.StatusNotifierWatcher", "/StatusNotifierWatcher");

/// The desktop, and what it was told.
pub(crate) struct Desk {
    bus: Connection,
    notifications: mpsc::UnboundedReceiver<Shown>,
    closed: mpsc::UnboundedReceiver<u32>,
    click_at_once: Arc<AtomicBool>,
    answers: watch::Sender<bool>,
    items: mpsc::UnboundedReceiver<String>,
}

/// A notification as the server got it.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) id: u32,
    pub(crate) app_name: String,
    pub(crate) summary: String,
    pub(crate) body: String,
    pub(crate) actions: Vec<String>,
    pub(crate) desktop_entry: Option<String>,
    pub(crate) urgent: bool,
    sender: String,
}

impl Desk {
    /// A desktop that shows notifications and has no tray yet.
    pub(crate) async fn set_up(session: &Session) -> Self {
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

    /// A tray appears.
    pub(crate) async fn host_trays(&self) {
        self.bus.request_name(WATCHER.0).await.expect("the watcher's name");
    }

    pub(crate) async fn next_notification(&mut self) -> Shown {
        soon("a notification", self.notifications.recv()).await.expect("the server lives")
    }

    /// The next notification that the app takes away.
    pub(crate) async fn next_withdrawn(&mut self) -> u32 {
        soon("a notification to be withdrawn", self.closed.recv()).await.expect("the server lives")
    }

    pub(crate) async fn next_tray_item(&mut self) -> TrayItem {
        let service = soon("a tray item", self.items.recv()).await.expect("the watcher lives");
        TrayItem::at(&self.bus, service).await
    }

    /// The person clicks on the notification itself.
    pub(crate) async fn click(&self, shown: &Shown) {
        self.tell_click(shown, None).await;
    }

    /// Clicks on a server that tells only the app that sent the notification, as some do. Such an app listens a moment
    /// later than the notification is there, so the person goes on clicking until its connection lets go.
    pub(crate) async fn click_told_to_sender(&self, shown: &Shown) {
        let daemon = zbus::fdo::DBusProxy::new(&self.bus).await.expect("the bus itself");
        let sender = zbus::names::BusName::try_from(shown.sender.as_str()).expect("a name");
        let heard = async {
            while daemon.name_has_owner(sender.clone()).await.expect("an answer") {
                self.tell_click(shown, Some(shown.sender.as_str())).await;
            }
        };
        soon("the click to be heard", heard).await;
    }

    /// From now on every notification is clicked before the server has even answered.
    pub(crate) fn click_everything_at_once(&self) {
        self.click_at_once.store(true, Ordering::SeqCst);
    }

    /// From now on notifications are on the screen before the app is told their numbers; until `answer` is true again.
    pub(crate) fn answer(&self, answer: bool) {
        self.answers.send_replace(answer);
    }

    /// The person presses the button of this label.
    pub(crate) async fn press(&self, shown: &Shown, label: &str) {
        let button = shown.actions.chunks(2).find(|button| button[1] == label);
        self.invoke(shown, &button.expect("such a button")[0], None).await;
    }

    async fn tell_click(&self, shown: &Shown, to: Option<&str>) {
        self.invoke(shown, "default", to).await;
    }

    async fn invoke(&self, shown: &Shown, key: &str, to: Option<&str>) {
        let action = (shown.id, key);
        let emit =
            self.bus.emit_signal(to, NOTIFICATIONS.1, NOTIFICATIONS.0, "ActionInvoked", &action);
        emit.await.expect("the click is on the bus");
    }
}

struct NotificationServer {
    shown: mpsc::UnboundedSender<Shown>,
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
        let shown = Shown { id, app_name, summary, body, actions, desktop_entry, urgent, sender };
        self.shown.send(shown).expect("the test listens");
        // The desk may be gone by now, and waits for nothing then.
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
