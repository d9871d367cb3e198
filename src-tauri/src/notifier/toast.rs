//! Notification to show, and the interactions of the user with notifications.

#[cfg(not(target_os = "macos"))]
use std::path::{Path, PathBuf};

use rouse_core::DeliveryId;
use tokio::sync::mpsc;

use super::button_tokens::Buttons;
use crate::ui_route::UiRoute;

/// Sender name.
pub(super) const APP_NAME: &str = "Rouse";

/// Icon for desktops that do not know the app.
#[cfg(not(target_os = "macos"))]
const ICON: &[u8] = include_bytes!("../../../icons/128x128.png");

/// Subject; a newer notification replaces the older.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Delivery of the engine.
    Delivery(DeliveryId),
    /// Notice of the shell.
    Notice,
}

#[cfg(not(target_os = "linux"))]
impl Subject {
    /// System identifier, stable across restarts.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Delivery(id) => id.as_str(),
            Self::Notice => "notice",
        }
    }
}

/// Notification to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Toast {
    pub(crate) subject: Subject,
    /// Page opened by a click.
    pub(crate) opens: UiRoute,
    pub(crate) title: String,
    pub(crate) body: String,
    /// Stays until seen, if the desktop supports it.
    pub(crate) urgent: bool,
    /// Approval buttons.
    pub(crate) buttons: Option<Buttons>,
}

/// Interaction with a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Interaction {
    /// Click.
    #[cfg_attr(windows, expect(dead_code, reason = "a click on a toast comes back as a link"))]
    Open(UiRoute),
    /// Press of the button with this token; shows the page if the token is unknown.
    Press(String, UiRoute),
}

/// Channel of interactions to the shell.
pub(crate) type Clicks = mpsc::UnboundedSender<Interaction>;

/// Writes the icon to a file for the desktop.
#[cfg(not(target_os = "macos"))]
pub(super) fn write_icon(home: &Path) -> std::io::Result<PathBuf> {
    let path = home.join("icon.png");
    std::fs::write(&path, ICON)?;
    Ok(path)
}
