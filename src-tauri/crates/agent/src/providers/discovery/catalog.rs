//! The model list of a provider: `GET /models` of each wire, `/api/tags` of Ollama.
//!
//! Owns the selection of chat models and their order. Sends the key to the provider's own address only and follows no
//! redirect. Never logs or quotes the key. Pitfall: vendors list embedding, speech and image models beside chat models;
//! such a model would fail at the first run.

use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::Value;

use super::local_servers::{OLLAMA_NAME, can_chat};
use crate::providers::address::is_loopback;
use crate::providers::config::{ProviderConfig, ProviderKind};
use crate::secrets::{ApiKey, ProviderKey};

/// The time limit of a list.
const LIST_TIME_LIMIT: Duration = Duration::from_secs(15);
/// The most bytes of a list. OpenRouter's is about 1 MB.
const LIST_BYTES: usize = 8 << 20;
/// The version of Anthropic's API.
const ANTHROPIC_VERSION: &str = "2023-06-01";
/// Parts of the names of models without chat.
const NO_CHAT: [&str; 12] = [
    "whisper",
    "tts",
    "dall-e",
    "image",
    "moderation",
    "realtime",
    "audio",
    "transcribe",
    "sora",
    "davinci",
    "babbage",
    "veo",
];

/// A model in a provider's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    /// The name on the wire.
    pub id: String,
    /// The name for people, if listed.
    pub title: Option<String>,
    /// The context window in tokens, if listed.
    pub context_tokens: Option<u64>,
    /// The size on this computer in bytes, if listed.
    pub bytes: Option<u64>,
    /// Whether the model can call tools, if listed.
    pub calls_tools: Option<bool>,
}

/// Why there is no list. Names no address, which may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// The key is missing or wrong.
    #[error("the provider refuses the key: {0}")]
    Key(String),
    /// The stored key is not available.
    #[error("the stored key is not available: {0}")]
    NoKey(String),
    /// Nothing answers at the address.
    #[error("no answer from the address: {0}")]
    NoAnswer(String),
    /// The provider answers with an error.
    #[error("the provider answers with status {status}: {words}")]
    Status {
        /// The HTTP status.
        status: u16,
        /// The provider's words.
        words: String,
    },
    /// The answer is not a list of models.
    #[error("the address answers, but not with a list of models")]
    NoList,
}

/// Requests a provider's models: models with tool calls first, then the newest.
///
/// # Errors
/// When the provider does not answer with a list.
pub async fn listed_models(provider: &ProviderConfig) -> Result<Vec<ListedModel>, CatalogError> {
    let key = match &provider.api_key {
        None => None,
        Some(ProviderKey::Given(key)) => Some(key.clone()),
        Some(ProviderKey::Stored(key)) => {
            key.reload().await;
            let now = key.current(&provider.base_url);
            Some(now.map_err(|error| CatalogError::NoKey(error.to_string()))?)
        }
    };
    let http = client(&provider.base_url)?;
    let base = provider.base_url.trim_end_matches('/');
    if provider.name == OLLAMA_NAME {
        let root = base.strip_suffix("/v1").unwrap_or(base);
        let list = json(http.get(format!("{root}/api/tags")), None).await?;
        return Ok(ollama(
            list.get("models").and_then(Value::as_array).ok_or(CatalogError::NoList)?,
        ));
    }
    let request = match provider.kind {
        ProviderKind::Anthropic => {
            let root = base.strip_suffix("/v1").unwrap_or(base);
            let request = http.get(format!("{root}/v1/models?limit=1000"));
            let request = request.header("anthropic-version", ANTHROPIC_VERSION);
            match &key {
                Some(key) => request.header("x-api-key", key.expose()),
                None => request,
            }
        }
        _ => {
            let request = http.get(format!("{base}/models"));
            match &key {
                Some(key) => request.bearer_auth(key.expose()),
                None => request,
            }
        }
    };
    let list = json(request, key.as_ref()).await?;
    let models = list.get("data").or_else(|| list.get("models")).and_then(Value::as_array);
    Ok(openai(models.ok_or(CatalogError::NoList)?))
}

fn client(base_url: &str) -> Result<reqwest::Client, CatalogError> {
    let builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(LIST_TIME_LIMIT);
    let builder = if is_loopback(base_url) { builder.no_proxy() } else { builder };
    builder.build().map_err(|_| CatalogError::NoAnswer("no HTTP client could be made".to_owned()))
}

async fn json(request: RequestBuilder, key: Option<&ApiKey>) -> Result<Value, CatalogError> {
    let response = request.send().await.map_err(|error| no_answer(&error))?;
    let status = response.status();
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        body.extend_from_slice(&piece.map_err(|error| no_answer(&error))?);
        if body.len() > LIST_BYTES {
            return Err(CatalogError::NoList);
        }
    }
    let body = key.map_or(body.clone(), |key| key.scrub(body));
    if !status.is_success() {
        return Err(refusal(status, &body));
    }
    serde_json::from_slice(&body).map_err(|_| CatalogError::NoList)
}

fn no_answer(error: &reqwest::Error) -> CatalogError {
    let words = match () {
        () if error.is_timeout() => "timed out after 15 seconds",
        () if error.is_connect() => "no connection",
        () if error.is_builder() => "the address is not a web address",
        () => "the connection broke",
    };
    CatalogError::NoAnswer(words.to_owned())
}

/// The provider's error, quoted if possible.
fn refusal(status: StatusCode, body: &[u8]) -> CatalogError {
    let document: Value = serde_json::from_slice(body).unwrap_or_default();
    let words = ["/error/message", "/error", "/message", "/detail"];
    let words = words.iter().find_map(|path| document.pointer(path)?.as_str());
    let reason = status.canonical_reason().unwrap_or("no reason given");
    let words: String = words.unwrap_or(reason).chars().take(300).collect();
    match status.as_u16() {
        401 | 403 => CatalogError::Key(words),
        300..=399 => CatalogError::NoList,
        status => CatalogError::Status { status, words },
    }
}

/// The list of OpenAI, OpenRouter, Anthropic, LM Studio, llama.cpp, vLLM: `{"data": [{"id": …}]}`.
fn openai(models: &[Value]) -> Vec<ListedModel> {
    let mut listed: Vec<(i64, ListedModel)> = models.iter().filter_map(of_openai).collect();
    listed.sort_by_key(|(created, model)| (model.calls_tools == Some(false), -created));
    listed.into_iter().map(|(_, model)| model).collect()
}

fn of_openai(model: &Value) -> Option<(i64, ListedModel)> {
    let text = |key: &str| model.get(key).and_then(Value::as_str).map(str::to_owned);
    let id = text("id")?;
    let lower = id.to_ascii_lowercase();
    if !can_chat(&lower) || NO_CHAT.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let parameters = model.get("supported_parameters").and_then(Value::as_array);
    let calls_tools = parameters.map(|known| known.iter().any(|parameter| parameter == "tools"));
    let context = ["context_length", "max_model_len", "max_input_tokens"];
    let listed = ListedModel {
        title: text("display_name").or_else(|| text("name")).filter(|title| *title != id),
        context_tokens: context.iter().find_map(|key| model.get(key)?.as_u64()),
        bytes: None,
        calls_tools,
        id,
    };
    Some((model.get("created").and_then(Value::as_i64).unwrap_or(0), listed))
}

/// The list of Ollama, already the newest first.
fn ollama(models: &[Value]) -> Vec<ListedModel> {
    let listed = models.iter().filter_map(|model| {
        let id = model.get("name")?.as_str()?.to_owned();
        let bytes = model.get("size").and_then(Value::as_u64);
        Some(ListedModel { id, title: None, context_tokens: None, bytes, calls_tools: None })
    });
    listed.filter(|model| can_chat(&model.id)).collect()
}

#[cfg(test)]
mod tests {
    use rouse_testkit::fake_model::{FakeModel, Recorded, Reply};
    use serde_json::json;

    use super::*;

    fn provider(name: &str, kind: ProviderKind, base_url: String, key: &str) -> ProviderConfig {
        ProviderConfig {
            name: name.to_owned(),
            kind,
            base_url,
            model: String::new(),
            context_tokens: None,
            effort: None,
            api_key: ApiKey::new(key).map(ProviderKey::Given),
        }
    }

    fn ids(models: &[ListedModel]) -> Vec<&str> {
        models.iter().map(|model| model.id.as_str()).collect()
    }

    #[tokio::test]
    async fn openai_list_has_chat_models_newest_first() {
        let list = json!({ "data": [
            { "id": "gpt-old", "created": 1 }, { "id": "gpt-new", "created": 2 },
            { "id": "text-embedding-3", "created": 3 }, { "id": "whisper-1", "created": 3 },
            { "id": "no-tools", "created": 9, "supported_parameters": ["temperature"] },
        ] });
        let server = FakeModel::replying([Reply::json(200, list.to_string())]);
        let openai =
            provider("x", ProviderKind::OpenAiChat, server.url() + "/v1/", "sk-1234567890");
        let models = listed_models(&openai).await.expect("a list");
        assert_eq!(ids(&models), ["gpt-new", "gpt-old", "no-tools"]);
        let asked = &server.requests()[0];
        assert_eq!(asked.path, "/v1/models");
        assert_eq!(asked.header("authorization"), Some("Bearer sk-1234567890"));
    }

    #[tokio::test]
    async fn anthropic_list_is_asked_with_its_headers() {
        let list = json!({ "data": [{ "id": "claude-a", "display_name": "Claude A" }] });
        let server = FakeModel::replying([Reply::json(200, list.to_string())]);
        let config = provider("x", ProviderKind::Anthropic, server.url(), "sk-ant-12345");
        let models = listed_models(&config).await.expect("a list");
        assert_eq!(models[0].title.as_deref(), Some("Claude A"));
        let asked = &server.requests()[0];
        assert_eq!(asked.path, "/v1/models?limit=1000");
        assert_eq!(asked.header("x-api-key"), Some("sk-ant-12345"));
        assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    }

    #[tokio::test]
    async fn ollama_list_comes_from_its_tags() {
        let list = json!({ "models": [
            { "name": "qwen3.5:4b", "size": 3_400_000_000_u64 }, { "name": "nomic-embed-text" },
        ] });
        let server = FakeModel::replying([Reply::json(200, list.to_string())]);
        let ollama = provider("ollama", ProviderKind::OpenAiChat, server.url() + "/v1", "");
        let models = listed_models(&ollama).await.expect("a list");
        assert_eq!((ids(&models), models[0].bytes), (vec!["qwen3.5:4b"], Some(3_400_000_000)));
        assert_eq!(server.requests()[0].path, "/api/tags");
    }

    #[tokio::test]
    async fn refused_key_is_not_quoted() {
        let key = "sk-canary-1234567890";
        let echo = |request: &Recorded| {
            let sent = request.header("authorization").unwrap_or_default().to_owned();
            let error = json!({ "error": { "message": format!("bad key: {sent}") } });
            Reply::json(401, error.to_string())
        };
        let server = FakeModel::start(echo);
        let config = provider("x", ProviderKind::OpenAiChat, server.url(), key);
        let refused = listed_models(&config).await.expect_err("refused");
        assert_eq!(refused, CatalogError::Key("bad key: Bearer [key]".to_owned()));
    }

    #[tokio::test]
    async fn address_without_list_is_named_as_such() {
        let server = FakeModel::replying([
            Reply::page(200, "<html>router</html>"),
            Reply::json(302, "{}").header("location", "https://example.org"),
            Reply::json(404, r#"{"detail":"Not Found"}"#),
        ]);
        let config = provider("x", ProviderKind::OpenAiChat, server.url(), "");
        assert_eq!(listed_models(&config).await, Err(CatalogError::NoList));
        assert_eq!(listed_models(&config).await, Err(CatalogError::NoList), "redirects end here");
        let words = "Not Found".to_owned();
        assert_eq!(listed_models(&config).await, Err(CatalogError::Status { status: 404, words }));
        drop(server);
        let nobody = listed_models(&config).await;
        let nowhere = provider("x", ProviderKind::OpenAiChat, "no address".to_owned(), "");
        for failed in [nobody, listed_models(&nowhere).await] {
            assert!(matches!(failed, Err(CatalogError::NoAnswer(_))), "{failed:?}");
        }
    }
}
