//! `config.*`.
//!
//! Owns what only the engine knows of the settings: a model that nobody at hand has and a skill that is not there. It refuses
//! neither, because both may come later. One could get it wrong by telling of a model while there is none at all, which has
//! its own place.

use std::sync::Arc;

use super::check_secrets;
use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{ConfigPatchParams, ConfigTrouble, ConfigView, Empty};

pub(crate) async fn get(context: &Context, _: Empty) -> Result<ConfigView, RpcError> {
    let view = Arc::clone(&context.settings).view().await;
    with_what_turns_lack(context, view).await
}

pub(crate) async fn patch(
    context: &Context,
    params: ConfigPatchParams,
) -> Result<ConfigView, RpcError> {
    check_secrets(context, "", &params.patch).await?;
    let patched = Arc::clone(&context.settings).patch(params.patch, params.expected_revision);
    let view = patched.await?;
    let is_named = view.model.name.is_some() || view.heartbeat.model.is_some();
    if is_named && (context.models.doubt(None).is_some() || !models(context, &view).is_empty()) {
        // It may have been started, or fetched, a moment ago.
        context.models.list(true).await;
    }
    with_what_turns_lack(context, view).await
}

async fn with_what_turns_lack(
    context: &Context,
    mut view: ConfigView,
) -> Result<ConfigView, RpcError> {
    let models = models(context, &view);
    view.troubles.extend(models);
    for (place, name) in view.heartbeat.skills.iter().enumerate() {
        if let Err(problem) = context.skills.named(std::slice::from_ref(name)).await? {
            view.troubles.push(trouble(&format!("heartbeat.skills[{place}]"), &problem));
        }
    }
    Ok(view)
}

/// The models that are named and that nobody at hand has.
fn models(context: &Context, view: &ConfigView) -> Vec<ConfigTrouble> {
    if context.models.doubt(None).is_some() {
        return Vec::new();
    }
    let named = [("model.name", &view.model.name), ("heartbeat.model", &view.heartbeat.model)];
    let doubt = |(key, name): (&str, &Option<String>)| {
        Some(trouble(key, &context.models.doubt(Some(name.as_deref()?))?))
    };
    named.into_iter().filter_map(doubt).collect()
}

fn trouble(key: &str, what: &str) -> ConfigTrouble {
    let text = format!("{key}: {}", what.trim_end_matches('.'));
    ConfigTrouble { key: key.to_owned(), line: None, text }
}
