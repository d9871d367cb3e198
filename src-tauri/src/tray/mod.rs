//! Tray icon.
//!
//! Owns the icon and redraws it after events: one snapshot at a time, events during it cause
//! exactly one more, and an unchanged state is not drawn. Never polls. Without a tray host the page
//! is informed (`shell_info`), and the icon appears once a host does (`watcher`).
//!
//! Pitfall: the toolkit must be called on the main thread, which must never wait.

mod icon;
mod menu;
mod snapshot;
mod command;
mod state;
#[cfg(target_os = "linux")]
mod watcher;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tauri::tray::{MouseButton, MouseButtonState, TrayIcon, TrayIconBuilder, TrayIconEvent};
use tauri::{AppHandle, Manager as _};
use tokio::sync::Notify;

pub(crate) use command::{PauseFor, TrayCommand};
pub(crate) use snapshot::{Stale, zone_of};

use crate::Shell;
use snapshot::SnapshotReader;
use state::{Snapshot, TrayState};

/// Minimum time between two snapshots.
const MIN_INTERVAL: Duration = Duration::from_millis(150);

/// Icon, if shown, and drawn state.
pub(crate) struct Tray {
    drawn: Mutex<Drawn>,
    stale: Notify,
    jobs_are_stale: AtomicBool,
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
    fn create_icon(&self, app: &AppHandle) {
        let mut drawn = self.lock();
        if drawn.icon.is_some() {
            return;
        }
        match build(app, &drawn.state) {
            Ok(icon) => drawn.icon = Some(icon),
            Err(error) => tracing::info!(%error, "no tray host available"),
        }
    }

    fn show(&self, app: &AppHandle, state: TrayState) {
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

/// Shows and updates the icon.
pub(crate) fn start(app: &AppHandle) {
    app.on_menu_event(|app, event| {
        if let Some(command) = TrayCommand::from_id(event.id().as_ref()) {
            app.state::<Shell>().execute(command);
        }
    });
    app.state::<Shell>().tray.create_icon(app);
    tauri::async_runtime::spawn(redraw_on_change(app.clone()));
    #[cfg(target_os = "linux")]
    tauri::async_runtime::spawn(watcher::create_icon_when_possible(app.clone()));
}

/// Tries to show the icon; returns true if shown.
#[cfg(target_os = "linux")]
async fn retry_icon(app: &AppHandle) -> tauri::Result<bool> {
    let (tried, outcome) = tokio::sync::oneshot::channel();
    let handle = app.clone();
    app.run_on_main_thread(move || {
        let tray = &handle.state::<Shell>().tray;
        tray.create_icon(&handle);
        // The receiver waits below and is dropped only with the app.
        let _ = tried.send(tray.is_shown());
    })?;
    let is_shown = outcome.await.unwrap_or(false);
    if is_shown {
        app.state::<Shell>().shell_changed();
    }
    Ok(is_shown)
}

async fn redraw_on_change(app: AppHandle) {
    let mut reader = SnapshotReader::default();
    let mut engine = app.state::<Shell>().engine.clone();
    loop {
        let shell = app.state::<Shell>();
        tokio::select! {
            () = shell.tray.stale.notified() => {}
            () = engine.changed() => {
                reader.forget_jobs();
                shell.shell_changed();
            }
        }
        if shell.tray.jobs_are_stale.swap(false, Ordering::Relaxed) {
            reader.forget_jobs();
        }
        let state = TrayState::of(&reader.read(&shell.engine).await);
        let handle = app.clone();
        if app
            .run_on_main_thread(move || handle.state::<Shell>().tray.show(&handle, state))
            .is_err()
        {
            return;
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "a bound on how often it is drawn, not a wait for something"
        )]
        tokio::time::sleep(MIN_INTERVAL).await;
    }
}

fn build(app: &AppHandle, state: &TrayState) -> tauri::Result<TrayIcon> {
    let builder = TrayIconBuilder::with_id("rouse")
        .icon(icon::picture(state.icon))
        .icon_as_template(icon::IS_TEMPLATE)
        .tooltip(&state.tooltip)
        .menu(&menu::build(app, &state.menu)?)
        .show_menu_on_left_click(cfg!(target_os = "macos"))
        .on_tray_icon_event(|tray, event| {
            if is_left_click(&event) {
                tray.app_handle().state::<Shell>().execute(TrayCommand::Show);
            }
        });
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

/// On macOS a left click opens the menu.
fn is_left_click(event: &TrayIconEvent) -> bool {
    let left_up = matches!(
        event,
        TrayIconEvent::Click { button: MouseButton::Left, button_state: MouseButtonState::Up, .. }
    );
    left_up && !cfg!(target_os = "macos")
}
