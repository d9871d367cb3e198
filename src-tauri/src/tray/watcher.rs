//! Waits for a tray host on Linux.
//!
//! Without `org.kde.StatusNotifierWatcher` on the bus the icon cannot be put up and the toolkit gives up for good, so
//! this module listens until the name appears (a desktop that starts later, an extension that is switched on) and
//! until a host says that it shows icons. Once the icon is up the toolkit follows the watcher by itself. It holds one
//! connection to the bus while it waits and none afterwards.

use futures_util::StreamExt as _;
use tauri::{AppHandle, Manager as _};
use zbus::message::Type;
use zbus::{Connection, MatchRule, MessageStream};

use crate::Shell;

const WATCHER: &str = "org.kde.StatusNotifierWatcher";
/// Signals kept while one is looked at; each only means "try again".
const QUEUE: Option<std::num::NonZeroUsize> = std::num::NonZeroUsize::new(16);

/// Returns when the icon is up, or when there is no bus to wait on.
pub(super) async fn put_up_when_possible(app: AppHandle) {
    if let Err(error) = wait(&app).await {
        tracing::info!(%error, "no session bus, so no tray");
    }
}

async fn wait(app: &AppHandle) -> Result<(), WaitError> {
    if app.state::<Shell>().tray.is_up() {
        return Ok(());
    }
    let bus = Connection::session().await?;
    let owners = MessageStream::for_match_rule(owner_rule()?, &bus, QUEUE).await?;
    let hosts = MessageStream::for_match_rule(host_rule()?, &bus, QUEUE).await?;
    let mut chances = futures_util::stream::select(owners, hosts);
    // The host may have come between the first attempt and the listening.
    while !super::try_again(app).await? {
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
