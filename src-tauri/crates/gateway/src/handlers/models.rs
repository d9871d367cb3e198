//! `models.*`: connecting a model.
//!
//! Owns the order in which a provider is added: key, settings, look. A key that the settings then refuse is forgotten again.
//! Never answers with a key.

use rouse_agent::{PresetKey, ProviderKind, SUGGESTED_MODELS, presets};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{
    Done, Empty, ModelTestVerdict, ModelTestView, ModelsAddParams, ModelsListParams,
    ModelsListResult, ModelsProvidersResult, ModelsPullParams, ModelsPullStatusResult,
    ModelsTestParams, PresetView, ProviderState, ProvidersListResult, PullView, SecretSetParams,
    ServerDraft, SuggestedModelView,
};

/// Longest name of a secret, less the room for `-key-` and a number.
const NAME_LETTERS: usize = 56;

pub(crate) async fn providers(
    context: &Context,
    _: Empty,
) -> Result<ModelsProvidersResult, RpcError> {
    let presets = presets().into_iter().map(|preset| PresetView {
        name: preset.name.to_owned(),
        title: preset.title.to_owned(),
        kind: wire_name(preset.kind).to_owned(),
        base_url: preset.base_url.to_owned(),
        key_page: match preset.key {
            PresetKey::Required { page } => Some(page.to_owned()),
            PresetKey::None => None,
        },
        model: preset.model.map(str::to_owned),
    });
    let suggested = SUGGESTED_MODELS.iter().map(|model| SuggestedModelView {
        name: model.name.to_owned(),
        bytes: model.bytes,
        licence: model.licence.to_owned(),
        memory_gb: model.memory_gb.into(),
    });
    Ok(ModelsProvidersResult {
        presets: presets.collect(),
        ollama_needs_model: context.models.ollama_needs_model().await,
        suggested: suggested.collect(),
    })
}

/// The wire in the words of the settings. OpenAI's and OpenRouter's own addresses imply the rest.
const fn wire_name(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::Anthropic => "anthropic",
        _ => "openai",
    }
}

pub(crate) async fn list(
    context: &Context,
    params: ModelsListParams,
) -> Result<ModelsListResult, RpcError> {
    context.models.catalog(params).await
}

pub(crate) async fn add(
    context: &Context,
    params: ModelsAddParams,
) -> Result<ProvidersListResult, RpcError> {
    let ModelsAddParams { server, model, context_tokens } = params;
    if model.trim().is_empty() {
        return Err(RpcError::field("model", "must name a model"));
    }
    let config = context.settings.clone().view().await;
    let present = config.model.providers.into_iter().find(|known| known.name == server.name);
    let kept = keep_key(context, &server).await?;
    let secret = match (&kept, &server.key_env) {
        (Some(kept), _) => Some(kept.clone()),
        (None, Some(_)) => None,
        // The present key stays only with the present address: another host has not been given it.
        (None, None) => present
            .filter(|known| host_of(&known.base_url) == host_of(&server.base_url))
            .and_then(|known| known.key_secret),
    };
    let entry = json!({
        "kind": server.kind,
        "baseUrl": server.base_url.trim(),
        "model": model.trim(),
        "keySecret": secret,
        "keyEnv": server.key_env,
        "contextTokens": context_tokens,
    });
    let mut patch = json!({ "providers": { &server.name: entry } });
    // A provider that answers stays the default until another one has passed its test.
    if !has_working_default(context).await {
        patch["model"] = default_of(&server.name);
    }
    if let Err(error) = context.settings.clone().patch(patch, None).await {
        if let Some(kept) = kept
            && let Err(error) = context.secrets.remove(&kept).await
        {
            tracing::warn!(error = error.message, "a key without a provider stays stored");
        }
        return Err(error);
    }
    Ok(context.models.list(true).await)
}

/// Stores the key of `server` for its host alone, under a name that no other secret has; answers the name. A key that is
/// present stays as it is, for the settings may refuse the provider.
async fn keep_key(context: &Context, server: &ServerDraft) -> Result<Option<String>, RpcError> {
    let Some(key) = server.key.as_deref().map(str::trim).filter(|key| !key.is_empty()) else {
        return Ok(None);
    };
    let host = host_of(&server.base_url).ok_or_else(|| {
        RpcError::field("server.baseUrl", "must be an address that begins with http:// or https://")
    })?;
    let known = context.secrets.list().await?.secrets;
    let taken: Vec<&str> = known.iter().map(|secret| secret.name.as_str()).collect();
    let name = free_name(&server.name, &taken);
    let (value, hosts) = (key.to_owned(), Some(vec![host]));
    let params = SecretSetParams { name: name.clone(), value, hosts };
    context.secrets.set(params).await.map_err(|error| of_key(&error))?;
    Ok(Some(name))
}

/// The refusal of a secret's value as one of the field that a person has filled in.
fn of_key(error: &RpcError) -> RpcError {
    let fields = error.data.get("fields").and_then(Value::as_array);
    let value = fields.into_iter().flatten().find(|field| field["path"] == "value");
    match value.and_then(|field| field["message"].as_str()) {
        Some(message) => RpcError::field("server.key", message),
        None => error.clone(),
    }
}

/// The host that a key is for, as secrets are bound: in the open only where the address says `http`.
fn host_of(address: &str) -> Option<String> {
    let (scheme, rest) = address.trim().split_once("://")?;
    let host = rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty())?;
    match scheme.to_ascii_lowercase().as_str() {
        "https" => Some(host.to_owned()),
        "http" => Some(format!("http://{host}")),
        _ => None,
    }
}

/// A name for a secret that no other secret has.
fn free_name(provider: &str, taken: &[&str]) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
    let name: String =
        provider.to_ascii_lowercase().chars().take(NAME_LETTERS).map(letter).collect();
    let names = [name.clone(), format!("{name}-key")].into_iter();
    let numbered = (2..).map(|number| format!("{name}-key-{number}"));
    let free = names.chain(numbered).find(|name| !taken.contains(&name.as_str()));
    free.expect("BUG: numbers do not end")
}

pub(crate) async fn test(
    context: &Context,
    params: ModelsTestParams,
) -> Result<ModelTestView, RpcError> {
    let makes_default = params.make_default == Some(true);
    let tested = context.models.test(params).await?;
    if makes_default && tested.verdict != ModelTestVerdict::Failed {
        let patch = json!({ "model": default_of(&tested.provider) });
        context.settings.clone().patch(patch, None).await?;
        context.models.list(true).await;
    }
    Ok(tested)
}

/// The setting by which a provider is the default, with its own model.
fn default_of(provider: &str) -> Value {
    json!({ "provider": provider, "name": null })
}

async fn has_working_default(context: &Context) -> bool {
    let known = context.models.list(false).await;
    let active = known.active.as_deref();
    let mut providers = known.providers.iter();
    providers.any(|provider| {
        Some(provider.name.as_str()) == active && provider.state == ProviderState::Answered
    })
}

pub(crate) async fn pull(
    context: &Context,
    params: ModelsPullParams,
) -> Result<PullView, RpcError> {
    let model = params.model.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._:/-".contains(c);
    if model.is_empty() || model.len() > 200 || !model.chars().all(is_name) {
        let message = "must be the name of a model in Ollama's library, such as qwen3.5:4b";
        return Err(RpcError::field("model", message));
    }
    context.models.clone().pull(model.to_owned())
}

pub(crate) async fn pull_status(
    context: &Context,
    _: Empty,
) -> Result<ModelsPullStatusResult, RpcError> {
    Ok(ModelsPullStatusResult { pull: context.models.pull_view() })
}

pub(crate) async fn cancel_pull(context: &Context, _: Empty) -> Result<Done, RpcError> {
    Ok(Done { changed: context.models.cancel_pull() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_bound_to_the_host_of_the_address() {
        for (address, host) in [
            ("https://api.openai.com/v1", Some("api.openai.com")),
            (" https://gateway.example:8443/x?y ", Some("gateway.example:8443")),
            ("http://192.168.1.2:8080/v1", Some("http://192.168.1.2:8080")),
            ("api.openai.com/v1", None),
            ("ftp://x", None),
            ("https://", None),
        ] {
            assert_eq!(host_of(address).as_deref(), host, "{address}");
        }
    }

    #[test]
    fn secret_of_a_provider_gets_a_free_name() {
        assert_eq!(free_name("Work", &[]), "work");
        assert_eq!(free_name("work", &["work"]), "work-key");
        assert_eq!(free_name("work", &["work", "work-key"]), "work-key-2");
    }
}
