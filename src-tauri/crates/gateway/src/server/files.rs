//! The UI's files. They hold no data, so they are served without sign-in; unknown paths are the UI's routes.

use std::borrow::Cow;

use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};

use super::Shared;

/// One file of the UI.
#[derive(Debug, Clone)]
pub struct UiFile {
    /// Its content.
    pub bytes: Cow<'static, [u8]>,
    /// Its media type.
    pub media_type: String,
}

/// Where the UI's files come from: embedded in the command, or the app's own assets.
pub trait UiFiles: Send + Sync {
    /// The file at `path` (no leading slash), if there is one.
    fn get(&self, path: &str) -> Option<UiFile>;
}

pub(super) async fn serve(State(shared): State<Shared>, uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    let is_asset = path.starts_with("assets/");
    let file = shared.ui.get(path).filter(|_| !path.is_empty());
    // Hashed names never change their content; everything else is asked for again each time.
    let cache = if is_asset { "public, max-age=31536000, immutable" } else { "no-cache" };
    match file.or_else(|| if is_asset { None } else { shared.ui.get("index.html") }) {
        Some(file) => {
            let headers = [
                (header::CONTENT_TYPE, file.media_type),
                (header::CACHE_CONTROL, cache.to_owned()),
            ];
            (headers, file.bytes.into_owned()).into_response()
        }
        None if is_asset => StatusCode::NOT_FOUND.into_response(),
        None => (
            StatusCode::NOT_FOUND,
            "This build of Rouse has no UI. Build it with `cargo xtask run`.",
        )
            .into_response(),
    }
}
