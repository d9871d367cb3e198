//! `config.*`: the settings.
//!
//! Owns the unmet settings that only the engine can detect: missing models and missing skills. Never refuses either, because both
//! may appear later.
//! Pitfall: reporting a missing model when no model is set up at all, which the status reports.

use std::sync::Arc;

use super::input::check_secrets;
use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{ConfigPatchParams, ConfigView, EmptyObject, UnmetSetting};

pub(crate) async fn get(context: &Context, _: EmptyObject) -> Result<ConfigView, RpcError> {
    let view = Arc::clone(&context.settings).view().await;
    with_unmet_settings(context, view).await
}

pub(crate) async fn patch(
    context: &Context,
    params: ConfigPatchParams,
) -> Result<ConfigView, RpcError> {
    check_secrets(context, "", &params.patch).await?;
    let patched = Arc::clone(&context.settings).patch(params.patch, params.expected_revision);
    let view = patched.await?;
    let names_model = view.model.choice.name.is_some() || view.heartbeat.model.is_some();
    let lacks_model = || {
        context.models.model_warning(None).is_some() || !missing_models(context, &view).is_empty()
    };
    if names_model && lacks_model() {
        // The model may have been started or pulled since the last detection.
        context.models.list(true).await;
    }
    with_unmet_settings(context, view).await
}

async fn with_unmet_settings(
    context: &Context,
    mut view: ConfigView,
) -> Result<ConfigView, RpcError> {
    let models = missing_models(context, &view);
    view.unmet_settings.extend(models);
    for (index, name) in view.heartbeat.skills.iter().enumerate() {
        if let Err(problem) = context.skills.load_named(std::slice::from_ref(name)).await? {
            view.unmet_settings
                .push(unmet_setting(&format!("heartbeat.skills[{index}]"), &problem));
        }
    }
    Ok(view)
}

/// The named models that no provider has.
fn missing_models(context: &Context, view: &ConfigView) -> Vec<UnmetSetting> {
    if context.models.model_warning(None).is_some() {
        return Vec::new();
    }
    let named =
        [("model.name", &view.model.choice.name), ("heartbeat.model", &view.heartbeat.model)];
    let unmet = |(key, name): (&str, &Option<String>)| {
        Some(unmet_setting(key, &context.models.model_warning(Some(name.as_deref()?))?))
    };
    named.into_iter().filter_map(unmet).collect()
}

fn unmet_setting(key: &str, problem: &str) -> UnmetSetting {
    let text = format!("{key}: {}", problem.trim_end_matches('.'));
    UnmetSetting { key: key.to_owned(), line: None, text }
}
