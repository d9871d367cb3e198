//! Start at login, stored by the system.
//!
//! The system entry is read each time, because users change it there too. On macOS, System Settings
//! can block the entry without removing it. Apps started at login start hidden.

use tauri::plugin::TauriPlugin;
use tauri::{AppHandle, Wry};
use tauri_plugin_autostart::ManagerExt as _;

/// Plugin that writes the desktop file, launch agent or `Run` key.
pub(crate) fn plugin() -> TauriPlugin<Wry> {
    tauri_plugin_autostart::Builder::new().app_name("Rouse").arg("--hidden").build()
}

/// True if Rouse starts at login.
#[tauri::command]
pub(crate) async fn autostart_get(app: AppHandle) -> Result<bool, String> {
    app.autolaunch().is_enabled().map_err(|error| error_text(&error))
}

/// Enables or disables start at login.
#[tauri::command]
pub(crate) async fn autostart_set(app: AppHandle, on: bool) -> Result<(), String> {
    let entry = app.autolaunch();
    let changed = if on { entry.enable() } else { entry.disable() };
    changed.map_err(|error| error_text(&error))
}

fn error_text(error: &tauri_plugin_autostart::Error) -> String {
    tracing::warn!(%error, "the start-up entry could not be used");
    "The system blocked the change of login items.".to_owned()
}
