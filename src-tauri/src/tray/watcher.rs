//! Waits for a tray host on Linux.
//!
//! Without `org.kde.StatusNotifierWatcher` on the bus the toolkit gives up for good, so this module
//! listens until the name appears and a host shows icons. Afterwards the toolkit follows the
//! watcher itself. Uses one bus connection while waiting.

use futures_util::StreamExt as _;
use tauri::{AppHandle, Manager as _};
use zbus::message::Type;
use zbus::{Connection, MatchRule, MessageStream};

use crate::shell::Shell;

const WATCHER: &str = "org.kde.StatusNotifierWatcher";
/// Buffered signals; each only means "try again".
const SIGNAL_BUFFER: Option<std::num::NonZeroUsize> = std::num::NonZeroUsize::new(16);

/// Returns when the icon is shown, or without a bus.
pub(super) async fn create_icon_when_possible(app: AppHandle) {
    if let Err(error) = wait(&app).await {
        tracing::info!(%error, "no session bus, so no tray");
    }
}

async fn wait(app: &AppHandle) -> Result<(), WaitError> {
    if app.state::<Shell>().tray.is_shown() {
        return Ok(());
    }
    let bus = Connection::session().await?;
    let owners = MessageStream::for_match_rule(owner_rule()?, &bus, SIGNAL_BUFFER).await?;
    let hosts = MessageStream::for_match_rule(host_rule()?, &bus, SIGNAL_BUFFER).await?;
    let mut chances = futures_util::stream::select(owners, hosts);
    // The host may have appeared before listening began.
    while !super::retry_icon(app).await? {
        if chances.next().await.is_none() {
            return Ok(());
        }
    }
    Ok(())
}

fn owner_rule() -> zbus::Result<MatchRule<'static>> {
    MatchRule::builder()
        .msg_type(Type::Signal)
        .sender("org.freedesktop.DBus")
        .member("NameOwnerChanged")
        .arg(0, WATCHER)
        .build()
}

fn host_rule() -> zbus::Result<MatchRule<'static>> {
    MatchRule::builder()
        .msg_type(Type::Signal)
        .interface(WATCHER)
        .member("StatusNotifierHostRegistered")
        .build()
}

#[derive(Debug, thiserror::Error)]
enum WaitError {
    #[error("listening on the session bus failed")]
    Bus(#[from] zbus::Error),
    #[error("reaching the main thread failed")]
    MainThread(#[from] tauri::Error),
}
