//! Embedded UI files for the engine's server.

use std::borrow::Cow;
use std::collections::HashSet;

use rouse_gateway::{UiFile, UiFiles};
use tauri::AppHandle;

/// Files embedded in this binary.
pub(crate) struct Pages {
    app: AppHandle,
    names: HashSet<String>,
}

impl Pages {
    /// Files of `app`.
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
        // The resolver returns the first page for unknown names; the server decides about unknown names.
        if !self.names.contains(path) {
            return None;
        }
        let asset = self.app.asset_resolver().get(path.to_owned())?;
        Some(UiFile { bytes: Cow::Owned(asset.bytes), media_type: asset.mime_type })
    }
}
