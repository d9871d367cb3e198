//! Starting with the computer: a wish that the system keeps, not Rouse.
//!
//! The system's own entry is the truth and is asked each time, because people change it there, too. What macOS allows at
//! login stands elsewhere (System Settings, Login Items) and leaves the entry as it is, so there the setting is what Rouse
//! asks for and no more. An app that starts with the computer starts hidden.

use tauri::plugin::TauriPlugin;
use tauri::{AppHandle, Wry};
use tauri_plugin_autostart::ManagerExt as _;

/// The plugin that writes the entry: a desktop file, a launch agent, or a key under `Run`.
pub(crate) fn plugin() -> TauriPlugin<Wry> {
    tauri_plugin_autostart::Builder::new().app_name("Rouse").arg("--hidden").build()
}

/// Whether Rouse starts with the computer.
#[tauri::command]
pub(crate) async fn autostart_get(app: AppHandle) -> Result<bool, String> {
    app.autolaunch().is_enabled().map_err(|error| in_words(&error))
}

/// Makes Rouse start with the computer, or not.
#[tauri::command]
pub(crate) async fn autostart_set(app: AppHandle, on: bool) -> Result<(), String> {
    let entry = app.autolaunch();
    let changed = if on { entry.enable() } else { entry.disable() };
    changed.map_err(|error| in_words(&error))
}

fn in_words(error: &tauri_plugin_autostart::Error) -> String {
    tracing::warn!(%error, "the start-up entry could not be used");
    "This system did not let Rouse change what starts with the computer.".to_owned()
}
