//! Model servers on this computer.
//!
//! Requests the model list of each server at its default port, in parallel and with a short time limit: a slower server
//! is not ready to work either. The port of Foundry Local comes from its command line. Models with tool calls go first
//! where the server lists that capability.

use std::ffi::OsString;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::found_model::{FoundIn, FoundModel};
use super::foundry;
use crate::providers::config::{ProviderConfig, ProviderKind};

/// The time limit of a request.
const REQUEST_TIME_LIMIT: Duration = Duration::from_millis(800);

/// The most Ollama models with single requests for capabilities.
const MAX_CAPABILITY_REQUESTS: usize = 12;

/// The most bytes of a model list.
const LIST_BYTES: usize = 4 << 20;

/// The addresses of local servers; `None` skips a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalAddresses {
    /// Ollama.
    pub ollama: Option<String>,
    /// LM Studio.
    pub lm_studio: Option<String>,
    /// llama.cpp's `llama-server`.
    pub llama_cpp: Option<String>,
    /// The command of Foundry Local, which reports the port.
    pub foundry_command: Option<OsString>,
}

impl Default for LocalAddresses {
    /// The default ports.
    fn default() -> Self {
        Self {
            ollama: Some("http://127.0.0.1:11434".to_owned()),
            lm_studio: Some("http://127.0.0.1:1234".to_owned()),
            llama_cpp: Some("http://127.0.0.1:8080".to_owned()),
            foundry_command: Some("foundry".into()),
        }
    }
}

impl LocalAddresses {
    /// No server.
    #[must_use]
    pub const fn nowhere() -> Self {
        Self { ollama: None, lm_studio: None, llama_cpp: None, foundry_command: None }
    }
}

/// A kind of server and the shape of the model list. A list of another shape belongs to another program.
struct LocalServer {
    name: &'static str,
    title: &'static str,
    list_path: &'static str,
    read: fn(&Value) -> Option<Vec<String>>,
}

/// The provider name of Ollama.
pub(super) const OLLAMA_NAME: &str = "ollama";

const OLLAMA: LocalServer =
    LocalServer { name: OLLAMA_NAME, title: "Ollama", list_path: "/api/tags", read: read_ollama };
const LM_STUDIO: LocalServer = LocalServer {
    name: "lmstudio",
    title: "LM Studio",
    list_path: "/api/v0/models",
    read: read_lm_studio,
};
const LLAMA_CPP: LocalServer = LocalServer {
    name: "llamacpp",
    title: "llama.cpp",
    list_path: "/v1/models",
    read: read_llama_cpp,
};
const FOUNDRY: LocalServer = LocalServer {
    name: "foundry",
    title: "Foundry Local",
    list_path: "/v1/models",
    read: read_foundry,
};

/// The title of the local server of this provider name; none for other providers.
#[must_use]
pub fn local_server_title(name: &str) -> Option<&'static str> {
    let servers = [OLLAMA, LM_STUDIO, LLAMA_CPP, FOUNDRY];
    servers.iter().find(|server| server.name == name).map(|server| server.title)
}

/// The servers that answer, in the order of preference.
pub(super) async fn find(addresses: &LocalAddresses) -> Vec<FoundModel> {
    // Plain HTTP to this computer: no proxy, no redirect, no certificates.
    let http = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .tls_certs_only([])
        .timeout(REQUEST_TIME_LIMIT)
        .build();
    let Ok(http) = http else {
        tracing::warn!("no HTTP client could be made; local model servers are not looked for");
        return Vec::new();
    };
    let (ollama, lm_studio, llama_cpp, foundry) = tokio::join!(
        OLLAMA.find(&http, addresses.ollama.as_deref()),
        LM_STUDIO.find(&http, addresses.lm_studio.as_deref()),
        LLAMA_CPP.find(&http, addresses.llama_cpp.as_deref()),
        async {
            let address = foundry::address(addresses.foundry_command.as_deref()?).await;
            FOUNDRY.find(&http, address.as_deref()).await
        },
    );
    [ollama, lm_studio, llama_cpp, foundry].into_iter().flatten().collect()
}

/// Whether the Ollama at `root` answers without a model that can chat.
pub(super) async fn is_ollama_empty(root: &str) -> bool {
    let http = reqwest::Client::builder().no_proxy().timeout(REQUEST_TIME_LIMIT).build();
    let Ok(http) = http else { return false };
    let list = get_json(http.get(format!("{}{}", root.trim_end_matches('/'), OLLAMA.list_path)));
    list.await.as_ref().and_then(read_ollama).is_some_and(|models| models.is_empty())
}

impl LocalServer {
    async fn find(&self, http: &reqwest::Client, address: Option<&str>) -> Option<FoundModel> {
        let address = address?.trim_end_matches('/');
        let list = get_json(http.get(format!("{address}{}", self.list_path))).await?;
        let mut offers = (self.read)(&list)?;
        if self.name == OLLAMA.name {
            offers = tools_first(http, address, offers).await;
        }
        let model = offers.first()?.clone();
        Some(FoundModel {
            label: format!("{} on this computer ({model})", self.title),
            source: FoundIn::ThisComputer,
            provider: ProviderConfig {
                context_tokens: None,
                effort: None,
                name: self.name.to_owned(),
                kind: ProviderKind::OpenAiChat,
                base_url: format!("{address}/v1"),
                model,
                api_key: None,
            },
            offers,
        })
    }
}

/// The JSON answer; none without a server, which is the usual case.
async fn get_json(request: reqwest::RequestBuilder) -> Option<Value> {
    let response = request.send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        body.extend_from_slice(&piece.ok()?);
        if body.len() > LIST_BYTES {
            return None;
        }
    }
    serde_json::from_slice(&body).ok()
}

/// Moves models with tool calls to the front. Ollama reports capabilities per model.
async fn tools_first(http: &reqwest::Client, address: &str, offers: Vec<String>) -> Vec<String> {
    let url = format!("{address}/api/show");
    let requests = offers.iter().take(MAX_CAPABILITY_REQUESTS).map(|model| {
        let request = http.post(&url).json(&json!({ "model": model }));
        async move {
            get_json(request).await.is_some_and(|model| lists(&model, "capabilities", "tools"))
        }
    });
    let able = join_all(requests).await;
    let mut ranked: Vec<(bool, String)> = offers
        .into_iter()
        .enumerate()
        .map(|(at, model)| (able.get(at) == Some(&true), model))
        .collect();
    ranked.sort_by_key(|(able, _)| !able);
    ranked.into_iter().map(|(_, model)| model).collect()
}

/// Ollama: the newest first, without embedding models.
fn read_ollama(list: &Value) -> Option<Vec<String>> {
    let models = list.get("models")?.as_array()?;
    Some(
        models
            .iter()
            .filter_map(|model| text(model, "name"))
            .filter(|name| can_chat(name))
            .collect(),
    )
}

/// LM Studio: loaded models first, because loading takes a while.
fn read_lm_studio(list: &Value) -> Option<Vec<String>> {
    let models = list.get("data")?.as_array()?;
    // LM Studio's own API lists the type of a model; the OpenAI format does not.
    let mut chatting: Vec<((bool, bool), String)> = Vec::new();
    for model in models {
        let kind = text(model, "type")?;
        if matches!(kind.as_str(), "llm" | "vlm") {
            let loaded = text(model, "state").as_deref() == Some("loaded");
            let calls_tools = lists(model, "capabilities", "tool_use");
            chatting.push(((loaded, calls_tools), text(model, "id")?));
        }
    }
    chatting.sort_by_key(|((loaded, calls_tools), _)| (!loaded, !calls_tools));
    Some(chatting.into_iter().map(|(_, id)| id).collect())
}

/// llama.cpp: a private mark in each entry, because many programs use port 8080.
fn read_llama_cpp(list: &Value) -> Option<Vec<String>> {
    let models = list.get("data")?.as_array()?;
    let own = models.iter().all(|model| text(model, "owned_by").as_deref() == Some("llamacpp"));
    own.then(|| {
        models.iter().filter_map(|model| text(model, "id")).filter(|name| can_chat(name)).collect()
    })
}

/// Foundry Local: any list, because the address comes from Foundry's command. Models with tool calls first.
fn read_foundry(list: &Value) -> Option<Vec<String>> {
    let models = list.get("data")?.as_array()?;
    let mut chatting: Vec<(bool, String)> = models
        .iter()
        .filter_map(|model| {
            let calls_tools = ["toolCalling", "supportsToolCalling"];
            let calls_tools = calls_tools.iter().any(|key| model.get(key) == Some(&true.into()));
            Some((calls_tools, text(model, "id")?))
        })
        .filter(|(_, name)| can_chat(name))
        .collect();
    chatting.sort_by_key(|(calls_tools, _)| !calls_tools);
    Some(chatting.into_iter().map(|(_, name)| name).collect())
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

fn lists(value: &Value, key: &str, word: &str) -> bool {
    let words = value.get(key).and_then(Value::as_array);
    words.is_some_and(|words| words.iter().any(|listed| listed == word))
}

/// Whether a model of this name can chat.
pub(super) fn can_chat(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    !["embed", "minilm", "rerank", "bge-"].iter().any(|word| model.contains(word))
}
