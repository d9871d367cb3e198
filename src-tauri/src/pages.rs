//! The UI's files as they are built into the app, for the engine's own server: a browser sees the same pages.

use std::borrow::Cow;
use std::collections::HashSet;

use rouse_gateway::{UiFile, UiFiles};
use tauri::AppHandle;

/// The files inside this program.
pub(crate) struct Pages {
    app: AppHandle,
    names: HashSet<String>,
}

impl Pages {
    /// The pages of `app`.
    pub(crate) fn new(app: &AppHandle) -> Self {
        let names = app
            .asset_resolver()
            .iter()
            .map(|(name, _)| name.trim_start_matches('/').to_owned())
            .collect();
        Self { app: app.clone(), names }
    }
}

impl UiFiles for Pages {
    fn get(&self, path: &str) -> Option<UiFile> {
        // The resolver answers unknown names with the first page; which names mean that is the server's decision.
        if !self.names.contains(path) {
            return None;
        }
        let asset = self.app.asset_resolver().get(path.to_owned())?;
        Some(UiFile { bytes: Cow::Owned(asset.bytes), media_type: asset.mime_type })
    }
}
