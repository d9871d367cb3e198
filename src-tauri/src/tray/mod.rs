//! Tray loop: start, redraw, clicks.
//!
//! Redraws the icon (`view`) after events: one snapshot at a time, events during it cause exactly
//! one more, and an unchanged state is not drawn. Never polls. Without a tray host the page
//! is informed (`shell_info`), and the icon appears once a host does (`watcher`).
//!
//! Pitfall: the toolkit must be called on the main thread, which must never wait.

mod icon;
mod menu;
pub(crate) mod snapshot;
pub(crate) mod command;
mod state;
pub(crate) mod view;
#[cfg(target_os = "linux")]
mod watcher;

use std::sync::atomic::Ordering;
use std::time::Duration;

use tauri::tray::{MouseButton, MouseButtonState, TrayIconEvent};
use tauri::{AppHandle, Manager as _};

use crate::shell::Shell;
use command::TrayCommand;
use snapshot::SnapshotReader;
use state::TrayState;

/// Minimum time between two snapshots.
const MIN_INTERVAL: Duration = Duration::from_millis(150);

/// Shows and updates the icon.
pub(crate) fn start(app: &AppHandle) {
    app.on_menu_event(|app, event| {
        if let Some(command) = TrayCommand::from_id(event.id().as_ref()) {
            app.state::<Shell>().execute(command);
        }
    });
    app.on_tray_icon_event(|app, event| {
        if is_left_click(&event) {
            app.state::<Shell>().execute(TrayCommand::Show);
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

/// On macOS a left click opens the menu.
fn is_left_click(event: &TrayIconEvent) -> bool {
    let left_up = matches!(
        event,
        TrayIconEvent::Click { button: MouseButton::Left, button_state: MouseButtonState::Up, .. }
    );
    left_up && !cfg!(target_os = "macos")
}
