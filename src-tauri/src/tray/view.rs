//! The tray icon and its drawn state.
//!
//! Owns the icon and the requests for a redraw. Never reads the engine and never executes a command.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tauri::AppHandle;
use tauri::tray::{TrayIcon, TrayIconBuilder};
use tokio::sync::Notify;

use super::snapshot::Stale;
use super::state::{Snapshot, TrayState};
use super::{icon, menu};

/// Icon, if shown, and drawn state.
pub(crate) struct Tray {
    drawn: Mutex<Drawn>,
    pub(super) stale: Notify,
    pub(super) jobs_are_stale: AtomicBool,
}

struct Drawn {
    icon: Option<TrayIcon>,
    state: TrayState,
}

impl Tray {
    /// Creates a tray without an icon.
    pub(crate) fn new() -> Self {
        let state = TrayState::of(&Snapshot::Starting);
        Self {
            drawn: Mutex::new(Drawn { icon: None, state }),
            stale: Notify::new(),
            jobs_are_stale: AtomicBool::new(true),
        }
    }

    /// Requests a redraw.
    pub(crate) fn refresh(&self, stale: Stale) {
        if stale == Stale::Jobs {
            self.jobs_are_stale.store(true, Ordering::Relaxed);
        }
        self.stale.notify_one();
    }

    /// True if the icon is shown.
    pub(crate) fn is_shown(&self) -> bool {
        self.lock().icon.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Drawn> {
        self.drawn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the icon, on the main thread. A missing tray host is no error.
    pub(super) fn create_icon(&self, app: &AppHandle) {
        let mut drawn = self.lock();
        if drawn.icon.is_some() {
            return;
        }
        match build(app, &drawn.state) {
            Ok(icon) => drawn.icon = Some(icon),
            Err(error) => tracing::info!(%error, "no tray host available"),
        }
    }

    pub(super) fn show(&self, app: &AppHandle, state: TrayState) {
        let mut drawn = self.lock();
        if drawn.state == state {
            return;
        }
        if let Some(icon) = &drawn.icon
            && let Err(error) = redraw(app, icon, &drawn.state, &state)
        {
            tracing::warn!(%error, "failed to redraw the tray");
        }
        drawn.state = state;
    }
}

fn build(app: &AppHandle, state: &TrayState) -> tauri::Result<TrayIcon> {
    let builder = TrayIconBuilder::with_id("rouse")
        .icon(icon::picture(state.icon))
        .icon_as_template(icon::IS_TEMPLATE)
        .tooltip(&state.tooltip)
        .menu(&menu::build(app, &state.menu)?)
        .show_menu_on_left_click(cfg!(target_os = "macos"));
    // On macOS a title is shown beside the icon; on Linux the title names the item.
    let builder = if cfg!(target_os = "linux") { builder.title("Rouse") } else { builder };
    builder.build(app)
}

fn redraw(app: &AppHandle, tray: &TrayIcon, old: &TrayState, new: &TrayState) -> tauri::Result<()> {
    if old.icon != new.icon {
        tray.set_icon_with_as_template(Some(icon::picture(new.icon)), icon::IS_TEMPLATE)?;
    }
    if old.tooltip != new.tooltip {
        tray.set_tooltip(Some(&new.tooltip))?;
    }
    if old.menu != new.menu {
        tray.set_menu(Some(menu::build(app, &new.menu)?))?;
    }
    Ok(())
}
