//! `models.*`: connection of a model.
//!
//! Owns the order of adding a provider: key, settings, detection. If the settings refuse the provider, the key is removed again.
//! Never returns a key.

use rouse_agent::{PresetKey, ProviderKind, SUGGESTED_MODELS, presets};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{
    ChangeResult, EmptyObject, ModelTestVerdict, ModelTestView, ModelsAddParams, ModelsListParams,
    ModelsListResult, ModelsProvidersResult, ModelsPullParams, ModelsPullStatusResult,
    ModelsTestParams, PresetView, ProviderState, ProvidersListResult, PullView, SecretSetParams,
    ServerDraft, SuggestedModelView,
};

/// Maximum length of a secret name, without a suffix `-key-<number>`.
const MAX_BASE_NAME_CHARS: usize = 56;

pub(crate) async fn providers(
    context: &Context,
    _: EmptyObject,
) -> Result<ModelsProvidersResult, RpcError> {
    let presets = presets().into_iter().map(|preset| PresetView {
        name: preset.name.to_owned(),
        title: preset.title.to_owned(),
        kind: api_format(preset.kind).to_owned(),
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

/// The API format for the settings. The URLs of OpenAI and OpenRouter imply their variants.
const fn api_format(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::Anthropic => "anthropic",
        _ => "openai",
    }
}

pub(crate) async fn list(
    context: &Context,
    params: ModelsListParams,
) -> Result<ModelsListResult, RpcError> {
    if let Some(server) = &params.server {
        server_host(server)?;
    }
    context.models.catalog(params).await
}

pub(crate) async fn add(
    context: &Context,
    params: ModelsAddParams,
) -> Result<ProvidersListResult, RpcError> {
    let ModelsAddParams { server, model, context_tokens } = params;
    if model.trim().is_empty() {
        return Err(RpcError::field("model", "must not be empty"));
    }
    let host = server_host(&server)?;
    let config = context.settings.clone().view().await;
    let existing = config.model.providers.into_iter().find(|entry| entry.name == server.name);
    let new_secret = store_key(context, &server, &host).await?;
    let secret = match (&new_secret, &server.key_env) {
        (Some(name), _) => Some(name.clone()),
        (None, Some(_)) => None,
        // The existing key is valid for the existing host only.
        (None, None) => existing
            .filter(|entry| secret_host(&entry.settings.base_url).as_ref() == Some(&host))
            .and_then(|entry| entry.settings.key_secret),
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
    // A working default stays the default until another provider passes its test.
    if !has_working_default(context).await {
        patch["model"] = default_patch(&server.name);
    }
    if let Err(error) = context.settings.clone().patch(patch, None).await {
        if let Some(name) = new_secret
            && let Err(error) = context.secrets.remove(&name).await
        {
            tracing::warn!(error = error.message, "failed to remove the key of a refused provider");
        }
        return Err(error);
    }
    Ok(context.models.list(true).await)
}

/// Stores the key of `server` for `host` under a free name, and returns the name. Never overwrites an existing key, because the
/// settings may refuse the provider.
async fn store_key(
    context: &Context,
    server: &ServerDraft,
    host: &str,
) -> Result<Option<String>, RpcError> {
    let Some(key) = server.key.as_deref().map(str::trim).filter(|key| !key.is_empty()) else {
        return Ok(None);
    };
    let secrets = context.secrets.list().await?.secrets;
    let names: Vec<&str> = secrets.iter().map(|secret| secret.name.as_str()).collect();
    let name = free_name(&server.name, &names);
    let (value, hosts) = (key.to_owned(), Some(vec![host.to_owned()]));
    let params = SecretSetParams { name: name.clone(), value, hosts, servers: None };
    context.secrets.set(params).await.map_err(|error| key_error(&error))?;
    Ok(Some(name))
}

/// Moves an error of the secret value to the field of the key.
fn key_error(error: &RpcError) -> RpcError {
    let fields = error.data.get("fields").and_then(Value::as_array);
    let value = fields.into_iter().flatten().find(|field| field["path"] == "value");
    match value.and_then(|field| field["message"].as_str()) {
        Some(message) => RpcError::field("server.key", message),
        None => error.clone(),
    }
}

/// The host of the server, in the format of secrets.
fn server_host(server: &ServerDraft) -> Result<String, RpcError> {
    secret_host(&server.base_url).ok_or_else(|| {
        let message = format!(
            "expected an address that begins with http:// or https://, found `{}`",
            server.base_url
        );
        RpcError::field("server.baseUrl", &message)
    })
}

/// The host of a URL, in the format of secrets: with `http://` for unencrypted requests.
fn secret_host(url: &str) -> Option<String> {
    let (scheme, rest) = url.trim().split_once("://")?;
    let host = rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty())?;
    match scheme.to_ascii_lowercase().as_str() {
        "https" => Some(host.to_owned()),
        "http" => Some(format!("http://{host}")),
        _ => None,
    }
}

/// A name that is not among `names`, based on that of the provider.
fn free_name(provider: &str, names: &[&str]) -> String {
    let replace = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
    let name: String =
        provider.to_ascii_lowercase().chars().take(MAX_BASE_NAME_CHARS).map(replace).collect();
    let candidates = [name.clone(), format!("{name}-key")].into_iter();
    let numbered = (2..).map(|number| format!("{name}-key-{number}"));
    let free = candidates.chain(numbered).find(|name| !names.contains(&name.as_str()));
    free.expect("BUG: the numbers never end")
}

pub(crate) async fn test(
    context: &Context,
    params: ModelsTestParams,
) -> Result<ModelTestView, RpcError> {
    let makes_default = params.make_default == Some(true);
    let result = context.models.test(params).await?;
    if makes_default && result.verdict != ModelTestVerdict::Failed {
        let patch = json!({ "model": default_patch(&result.provider) });
        context.settings.clone().patch(patch, None).await?;
        context.models.list(true).await;
    }
    Ok(result)
}

/// The settings that make a provider the default, with its default model.
fn default_patch(provider: &str) -> Value {
    json!({ "provider": provider, "name": null })
}

async fn has_working_default(context: &Context) -> bool {
    let list = context.models.list(false).await;
    let active = list.active.as_deref();
    let mut providers = list.providers.iter();
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
    _: EmptyObject,
) -> Result<ModelsPullStatusResult, RpcError> {
    Ok(ModelsPullStatusResult { pull: context.models.pull_view() })
}

pub(crate) async fn cancel_pull(
    context: &Context,
    _: EmptyObject,
) -> Result<ChangeResult, RpcError> {
    Ok(ChangeResult { changed: context.models.cancel_pull() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_bound_to_the_host_of_the_address() {
        for (url, host) in [
            ("https://api.openai.com/v1", Some("api.openai.com")),
            (" https://gateway.example:8443/x?y ", Some("gateway.example:8443")),
            ("http://192.168.1.2:8080/v1", Some("http://192.168.1.2:8080")),
            ("api.openai.com/v1", None),
            ("ftp://x", None),
            ("https://", None),
        ] {
            assert_eq!(secret_host(url).as_deref(), host, "{url}");
        }
    }

    #[test]
    fn secret_of_a_provider_gets_a_free_name() {
        assert_eq!(free_name("Work", &[]), "work");
        assert_eq!(free_name("work", &["work"]), "work-key");
        assert_eq!(free_name("work", &["work", "work-key"]), "work-key-2");
    }
}
