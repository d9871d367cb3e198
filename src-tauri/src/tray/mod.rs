//! The tray icon: what people see of Rouse while its window is closed.
//!
//! Owns the icon and redraws it after events: readings are taken one at a time, whatever happens during one causes
//! exactly one more, and a reading that looks the same is not drawn. It never polls. A desktop without a tray is no
//! error: the page is told (`shell_info`), and the icon appears as soon as a tray host does (`watcher`).
//!
//! One could get it wrong by calling the toolkit outside the main thread, or by waiting for the main thread there.

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

pub(crate) use command::{Command, PauseFor};
pub(crate) use snapshot::{Stale, zone_of};

use crate::Shell;
use snapshot::Reader;
use state::{Snapshot, TrayState};

/// The least time between two readings, so that a burst of events costs a few readings and not hundreds.
const BREATH: Duration = Duration::from_millis(150);

/// The icon, if the desktop has a place for it, and what it shows.
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
    /// A tray that was not put up yet.
    pub(crate) fn new() -> Self {
        let state = TrayState::of(&Snapshot::Starting);
        Self {
            drawn: Mutex::new(Drawn { icon: None, state }),
            stale: Notify::new(),
            jobs_are_stale: AtomicBool::new(true),
        }
    }

    /// Something changed that the tray shows.
    pub(crate) fn refresh(&self, stale: Stale) {
        if stale == Stale::Jobs {
            self.jobs_are_stale.store(true, Ordering::Relaxed);
        }
        self.stale.notify_one();
    }

    /// Whether people can see the icon.
    pub(crate) fn is_up(&self) -> bool {
        self.lock().icon.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Drawn> {
        self.drawn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the icon up, on the main thread. Without a tray host there is none, and that is all right.
    fn put_up(&self, app: &AppHandle) {
        let mut drawn = self.lock();
        if drawn.icon.is_some() {
            return;
        }
        match build(app, &drawn.state) {
            Ok(icon) => drawn.icon = Some(icon),
            Err(error) => tracing::info!(%error, "no tray here for now"),
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
            tracing::warn!(%error, "the tray could not be redrawn");
        }
        drawn.state = state;
    }
}

/// Puts the icon up and keeps it true from then on.
pub(crate) fn start(app: &AppHandle) {
    app.on_menu_event(|app, event| {
        if let Some(command) = Command::from_id(event.id().as_ref()) {
            app.state::<Shell>().obey(command);
        }
    });
    app.state::<Shell>().tray.put_up(app);
    tauri::async_runtime::spawn(keep_true(app.clone()));
    #[cfg(target_os = "linux")]
    tauri::async_runtime::spawn(watcher::put_up_when_possible(app.clone()));
}

/// Tries to put the icon up again; answers whether it is up.
#[cfg(target_os = "linux")]
async fn try_again(app: &AppHandle) -> tauri::Result<bool> {
    let (tried, outcome) = tokio::sync::oneshot::channel();
    let handle = app.clone();
    app.run_on_main_thread(move || {
        let tray = &handle.state::<Shell>().tray;
        tray.put_up(&handle);
        // The other end waits below; it is gone only when the app is.
        let _ = tried.send(tray.is_up());
    })?;
    let is_up = outcome.await.unwrap_or(false);
    if is_up {
        app.state::<Shell>().shell_changed();
    }
    Ok(is_up)
}

async fn keep_true(app: AppHandle) {
    let mut reader = Reader::default();
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
        tokio::time::sleep(BREATH).await;
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
                tray.app_handle().state::<Shell>().obey(Command::Show);
            }
        });
    // On macOS a title would stand as text beside the icon; on Linux it is the item's name.
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

/// On macOS a left click opens the menu by itself.
fn is_left_click(event: &TrayIconEvent) -> bool {
    let left_up = matches!(
        event,
        TrayIconEvent::Click { button: MouseButton::Left, button_state: MouseButtonState::Up, .. }
    );
    left_up && !cfg!(target_os = "macos")
}
