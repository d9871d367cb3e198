//! Other computers of the settings: their connections, their notifications, and the computer whose
//! pages the window shows.
//!
//! Owns one connection per computer, which is made again after a loss with a growing pause. The
//! engine of this computer is never affected: the window only looks at another one. Notifications
//! of all connected computers are shown here.
//! Pitfall: a call of the page for each connection attempt; calls fail until the connection stands.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rouse_core::settings::{ComputerSection, SshAddress};
use rouse_gateway::wire::{EventKindView, EventView};
use rouse_gateway::{
    Client, ClientError, DesktopAppMessage, DesktopAppStream, ErrorCode, RemoteComputer, RpcError,
};
use serde::Serialize;
use serde_json::Value;
use tauri::async_runtime::JoinHandle;
use tauri::{AppHandle, Manager as _};

use crate::backend::{Backend, error_chain, report_notification};
use crate::notifier::DesktopNotifier;
use crate::shell::Shell;

/// First pause after a failed or lost connection.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Time limit of the first answer.
const STATUS_TIMEOUT: Duration = Duration::from_secs(15);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Other computers, and the one on show.
pub(crate) struct Computers {
    app: AppHandle,
    notifier: Arc<DesktopNotifier>,
    ssh: Option<OsString>,
    state: Mutex<ComputersState>,
}

#[derive(Default)]
struct ComputersState {
    computers: BTreeMap<String, LinkedComputer>,
    /// Computer whose pages are shown; none for this computer.
    shown: Option<String>,
}

/// Computer with its connection, which ends when this is dropped.
struct LinkedComputer {
    section: ComputerSection,
    client: Client,
    link: LinkState,
    task: JoinHandle<()>,
}

/// State of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "problem", rename_all = "camelCase")]
pub(crate) enum LinkState {
    Connecting,
    Connected,
    /// Failed and retrying, with the reason.
    Failed(String),
}

/// Computer for the page.
#[derive(Debug, Serialize)]
pub(crate) struct ComputerInfo {
    name: String,
    address: String,
    #[serde(flatten)]
    link: LinkState,
}

impl Computers {
    pub(crate) fn new(app: AppHandle, notifier: Arc<DesktopNotifier>) -> Self {
        let ssh = std::env::var_os("ROUSE_SSH");
        Self { app, notifier, ssh, state: Mutex::default() }
    }

    /// Connects new and changed computers of `sections`, and disconnects the others.
    pub(crate) fn apply(&self, sections: BTreeMap<String, ComputerSection>) {
        let mut state = self.lock();
        let is_kept = |name: &String, linked: &mut LinkedComputer| {
            sections.get(name).is_some_and(|section| *section == linked.section)
        };
        state.computers.retain(is_kept);
        for (name, section) in sections {
            if state.computers.contains_key(&name) {
                continue;
            }
            // Invalid addresses do not pass the settings.
            let Ok(address) = SshAddress::parse(&section.address) else { continue };
            let computer = RemoteComputer::new(address, section.program.clone(), self.ssh.clone());
            let client = Client::over_ssh(computer);
            let (app, notifier) = (self.app.clone(), Arc::clone(&self.notifier));
            let connection = keep_connected(app, notifier, name.clone(), client.clone());
            let task = tauri::async_runtime::spawn(connection);
            let link = LinkState::Connecting;
            state.computers.insert(name, LinkedComputer { section, client, link, task });
        }
    }

    /// Shows the pages of a computer, or of this one. True if that is a change.
    pub(crate) fn show(&self, name: Option<String>) -> bool {
        self.lock().show(name)
    }

    /// True if the pages of this computer (none) or of another one are shown.
    pub(crate) fn is_shown(&self, name: Option<&str>) -> bool {
        self.lock().shown.as_deref() == name
    }

    /// Engine of a connected computer.
    ///
    /// # Errors
    /// The reason while the computer is not connected.
    pub(crate) fn backend(&self, name: &str) -> Result<Backend, RpcError> {
        let client = self.lock().client(name);
        let backend = client.map(Backend::Remote);
        backend.map_err(|problem| RpcError::new(ErrorCode::Internal, problem))
    }

    /// Engine of the pages; none for the engine of this computer.
    ///
    /// # Errors
    /// The reason while the computer on show is not connected.
    pub(crate) fn shown_backend(&self) -> Result<Option<Backend>, RpcError> {
        let shown = self.lock().shown.clone();
        shown.map(|name| self.backend(&name)).transpose()
    }

    /// State of the connection on show; none for this computer.
    pub(crate) fn shown_link(&self) -> Option<(String, LinkState)> {
        let state = self.lock();
        let name = state.shown.clone()?;
        let link = state.computers.get(&name).map(|linked| linked.link.clone());
        Some((name, link.unwrap_or(LinkState::Connecting)))
    }

    /// All computers for the page.
    pub(crate) fn list(&self) -> Vec<ComputerInfo> {
        let state = self.lock();
        let info = |(name, linked): (&String, &LinkedComputer)| ComputerInfo {
            name: name.clone(),
            address: linked.section.address.clone(),
            link: linked.link.clone(),
        };
        state.computers.iter().map(info).collect()
    }

    /// Records the state of a connection. True if that is a change.
    fn set_link(&self, name: &str, link: LinkState) -> bool {
        self.lock().set_link(name, link)
    }

    fn lock(&self) -> MutexGuard<'_, ComputersState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ComputersState {
    /// An unknown computer counts as this one.
    fn show(&mut self, name: Option<String>) -> bool {
        let name = name.filter(|name| self.computers.contains_key(name));
        let before = std::mem::replace(&mut self.shown, name);
        before != self.shown
    }

    /// Client of a computer, or why it is not connected.
    fn client(&self, name: &str) -> Result<Client, String> {
        let Some(linked) = self.computers.get(name) else {
            return Err(format!("{name} is no longer in the settings. Choose another computer."));
        };
        match &linked.link {
            LinkState::Connected => Ok(linked.client.clone()),
            LinkState::Connecting => Err(format!("Connecting to {name} …")),
            LinkState::Failed(reason) => Err(reason.clone()),
        }
    }

    fn set_link(&mut self, name: &str, link: LinkState) -> bool {
        let Some(linked) = self.computers.get_mut(name) else { return false };
        let before = std::mem::replace(&mut linked.link, link);
        before != linked.link
    }
}

impl Drop for LinkedComputer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Connects a computer, again after each loss.
async fn keep_connected(
    app: AppHandle,
    notifier: Arc<DesktopNotifier>,
    name: String,
    client: Client,
) {
    let mut pause = FIRST_PAUSE;
    loop {
        match attach(&client).await {
            Ok(messages) => {
                pause = FIRST_PAUSE;
                report_link(&app, &name, LinkState::Connected);
                // Pages read earlier may be stale.
                let reset =
                    EventView { seq: 0, at_ms: 0, kind: EventKindView::Reset, data: Value::Null };
                app.state::<Shell>().forward_from(&name, &reset);
                forward_messages(&app, &notifier, &name, &client, messages).await;
                report_link(&app, &name, LinkState::Connecting);
            }
            Err(error) => {
                let reason = error_chain(&error);
                tracing::info!(computer = name, reason, "another computer is not connected");
                report_link(&app, &name, LinkState::Failed(reason));
            }
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "no event reports when another computer is reachable"
        )]
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}

async fn attach(client: &Client) -> Result<DesktopAppStream, ClientError> {
    let timely = client.clone().with_response_timeout(STATUS_TIMEOUT);
    let status = timely.call("system.status", Value::Null).await?;
    let seq = status.get("seq").and_then(Value::as_i64).unwrap_or_default();
    client.attach_desktop_app(seq).await
}

fn report_link(app: &AppHandle, name: &str, link: LinkState) {
    let shell = app.state::<Shell>();
    if shell.computers.set_link(name, link) {
        shell.shell_changed();
    }
}

/// Forwards events and notifications until the connection ends.
async fn forward_messages(
    app: &AppHandle,
    notifier: &Arc<DesktopNotifier>,
    name: &str,
    client: &Client,
    mut messages: DesktopAppStream,
) {
    while let Some(message) = messages.next().await {
        match message {
            DesktopAppMessage::Event(event) => app.state::<Shell>().forward_from(name, &event),
            // Spawned, so that a slow desktop does not delay events.
            DesktopAppMessage::Show(request) => {
                let (backend, notifier) = (Backend::Remote(client.clone()), Arc::clone(notifier));
                let name = name.to_owned();
                tokio::spawn(async move {
                    let shown = notifier.show_from(&name, &backend, &request).await;
                    report_notification(&backend, request, shown).await;
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state_with(name: &str) -> ComputersState {
        let section = ComputerSection { address: "anna@box".to_owned(), program: None };
        let address = SshAddress::parse(&section.address).expect("an address");
        let client = Client::over_ssh(RemoteComputer::new(address, None, None));
        let task = tauri::async_runtime::spawn(async {});
        let linked = LinkedComputer { section, client, link: LinkState::Connecting, task };
        ComputersState { computers: BTreeMap::from([(name.to_owned(), linked)]), shown: None }
    }

    #[test]
    fn pages_follow_the_computer_on_show() {
        let mut state = state_with("box");
        assert!(state.show(Some("box".to_owned())));
        assert!(!state.show(Some("box".to_owned())), "no change");
        assert!(state.show(None));
        assert!(!state.show(Some("absent".to_owned())), "an unknown computer is this one");
    }

    #[test]
    fn calls_fail_with_the_reason_until_connected() {
        let mut state = state_with("box");
        let problem = |state: &ComputersState| state.client("box").expect_err("not connected");
        assert_eq!(problem(&state), "Connecting to box …");
        assert!(state.set_link("box", LinkState::Failed("No route.".to_owned())));
        assert_eq!(problem(&state), "No route.");
        assert!(state.set_link("box", LinkState::Connected));
        assert!(!state.set_link("box", LinkState::Connected), "no change");
        assert!(state.client("box").is_ok());
        state.computers.clear();
        assert!(problem(&state).contains("no longer in the settings"));
        assert!(!state.set_link("box", LinkState::Connecting));
    }

    #[test]
    fn connection_is_flattened_for_the_page() {
        let info = |link| {
            let (name, address) = ("box".to_owned(), "anna@box".to_owned());
            serde_json::to_value(ComputerInfo { name, address, link }).expect("JSON")
        };
        let connected =
            serde_json::json!({ "name": "box", "address": "anna@box", "state": "connected" });
        assert_eq!(info(LinkState::Connected), connected);
        let failed = info(LinkState::Failed("No route.".to_owned()));
        assert_eq!((&failed["state"], &failed["problem"]), (&"failed".into(), &"No route.".into()));
    }
}
