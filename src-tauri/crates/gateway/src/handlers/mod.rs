//! Handlers, a file a subsystem: parse → one verb → convert. Who may call is decided before a request gets here.

pub(crate) mod approvals;
pub(crate) mod backup;
pub(crate) mod chat;
pub(crate) mod config;
pub(crate) mod cron;
pub(crate) mod deliveries;
pub(crate) mod grants;
pub(crate) mod heartbeat;
pub(crate) mod hooks;
pub(crate) mod models;
pub(crate) mod providers;
pub(crate) mod runs;
pub(crate) mod secrets;
pub(crate) mod sessions;
pub(crate) mod skills;
pub(crate) mod spending;
pub(crate) mod system;
pub(crate) mod tools;

use serde_json::Value;

use crate::context::Context;
use crate::error::RpcError;

/// The longest search: more than anybody types, and far below what the database refuses.
const MOST_SEARCHED: usize = 200;

/// Refuses what is kept as it is written, and stands at `path`, when it holds the value of a stored secret. The answer does
/// not repeat it.
async fn check_secrets(context: &Context, path: &str, kept: &Value) -> Result<(), RpcError> {
    let (path, kept) = (path.to_owned(), kept.clone());
    match context.gate.safety().apart(move |safety| safety.held_in(&path, &kept)).await {
        None => Ok(()),
        Some(held) => Err(RpcError::field(&held.path, &held.to_string())),
    }
}

/// The words of a search; none when they are blank.
fn words_of(search: Option<String>) -> Result<Option<String>, RpcError> {
    let words = search.filter(|words| !words.trim().is_empty());
    match words.as_ref().map_or(0, |words| words.chars().count()) {
        0..=MOST_SEARCHED => Ok(words),
        count => {
            let message = format!("must be at most {MOST_SEARCHED} characters, found {count}");
            Err(RpcError::field("search", &message))
        }
    }
}
