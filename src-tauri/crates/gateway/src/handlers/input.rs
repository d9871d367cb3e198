//! Checks of input that several handlers share.

use serde_json::Value;

use crate::context::Context;
use crate::error::RpcError;

/// Maximum length of a search, far below the limit of the database.
const MAX_SEARCH_CHARS: usize = 200;

/// Refuses the input field at `path` if it contains the value of a stored secret. The error does not repeat the value.
pub(super) async fn check_secrets(
    context: &Context,
    path: &str,
    input: &Value,
) -> Result<(), RpcError> {
    let (path, input) = (path.to_owned(), input.clone());
    let safety = context.gate.safety();
    let secret_field = safety.off_thread(move |safety| safety.stored_secret_field(&path, &input));
    match secret_field.await {
        None => Ok(()),
        Some(field) => Err(RpcError::field(&field.path, &field.to_string())),
    }
}

/// The search text; none if blank.
pub(super) fn parse_search(search: Option<String>) -> Result<Option<String>, RpcError> {
    let search = search.filter(|text| !text.trim().is_empty());
    match search.as_ref().map_or(0, |text| text.chars().count()) {
        0..=MAX_SEARCH_CHARS => Ok(search),
        count => {
            let message = format!("must be at most {MAX_SEARCH_CHARS} characters, found {count}");
            Err(RpcError::field("search", &message))
        }
    }
}
