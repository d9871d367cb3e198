//! Static files of the UI. Without sign-in, because the files hold no data. Unknown paths are routes of the UI.

use std::borrow::Cow;

use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};

use super::state::RouterState;

/// A file of the UI.
#[derive(Debug, Clone)]
pub struct UiFile {
    /// The content.
    pub bytes: Cow<'static, [u8]>,
    /// The media type.
    pub media_type: String,
}

/// Source of the UI's files: embedded in the command, or the assets of the app.
pub trait UiFiles: Send + Sync {
    /// The file at `path` (without a leading slash), if it exists.
    fn get(&self, path: &str) -> Option<UiFile>;
}

pub(super) async fn serve(State(state): State<RouterState>, uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    let is_asset = path.starts_with("assets/");
    let file = state.ui.get(path).filter(|_| !path.is_empty());
    // The content of a hashed name never changes; all other files are revalidated.
    let cache = if is_asset { "public, max-age=31536000, immutable" } else { "no-cache" };
    match file.or_else(|| if is_asset { None } else { state.ui.get("index.html") }) {
        Some(file) => {
            let headers = [
                (header::CONTENT_TYPE, file.media_type),
                (header::CACHE_CONTROL, cache.to_owned()),
            ];
            (headers, file.bytes.into_owned()).into_response()
        }
        None if is_asset => StatusCode::NOT_FOUND.into_response(),
        None => {
            let message = "This build of Rouse has no UI. Build it with `cargo xtask run`.";
            (StatusCode::NOT_FOUND, message).into_response()
        }
    }
}
