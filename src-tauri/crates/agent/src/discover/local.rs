//! Model servers on this computer.
//!
//! Each is asked for its list of models at its usual port, all at once and for a moment only: a server on this
//! computer that needs longer than that to list its models is not ready to work either. Foundry Local has no usual port and
//! is asked for its own first. Models that can call tools go
//! first where the server tells, because a job without tools can do little.

use std::ffi::OsString;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{FoundIn, FoundModel, foundry};
use crate::provider::{ProviderConfig, ProviderKind};

/// How long all of this may take.
const ANSWER_FOR: Duration = Duration::from_millis(800);

/// The most models that are asked one by one what they can do.
const MOST_ASKED: usize = 12;

/// The most bytes of a list of models.
const LIST_BYTES: usize = 4 << 20;

/// Where to look on this computer; `None` looks nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalAddresses {
    /// Ollama.
    pub ollama: Option<String>,
    /// LM Studio.
    pub lm_studio: Option<String>,
    /// llama.cpp's `llama-server`.
    pub llama_cpp: Option<String>,
    /// The command of Foundry Local, which knows the port of its server.
    pub foundry_command: Option<OsString>,
}

impl Default for LocalAddresses {
    /// The ports that these servers use when nobody says otherwise.
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
    /// Nowhere.
    #[must_use]
    pub const fn nowhere() -> Self {
        Self { ollama: None, lm_studio: None, llama_cpp: None, foundry_command: None }
    }
}

/// A kind of server: how it lists its models, and how to read that list. A list in another shape is another program.
struct Server {
    name: &'static str,
    title: &'static str,
    list_path: &'static str,
    read: fn(&Value) -> Option<Vec<String>>,
}

/// The name of the provider that Ollama on this computer is.
pub(super) const OLLAMA_NAME: &str = "ollama";

const OLLAMA: Server =
    Server { name: OLLAMA_NAME, title: "Ollama", list_path: "/api/tags", read: read_ollama };
const LM_STUDIO: Server = Server {
    name: "lmstudio",
    title: "LM Studio",
    list_path: "/api/v0/models",
    read: read_lm_studio,
};
const LLAMA_CPP: Server =
    Server { name: "llamacpp", title: "llama.cpp", list_path: "/v1/models", read: read_llama_cpp };
const FOUNDRY: Server =
    Server { name: "foundry", title: "Foundry Local", list_path: "/v1/models", read: read_foundry };

/// What people call the server on this computer that a provider of this name is; none for any other.
#[must_use]
pub fn title_of_local(name: &str) -> Option<&'static str> {
    let servers = [OLLAMA, LM_STUDIO, LLAMA_CPP, FOUNDRY];
    servers.iter().find(|server| server.name == name).map(|server| server.title)
}

/// The servers that answer, in the order of preference.
pub(super) async fn find(addresses: &LocalAddresses) -> Vec<FoundModel> {
    // Plain HTTP to this computer: no proxy sees it, no answer leads elsewhere, and no certificates need to be read.
    let http = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .tls_certs_only([])
        .timeout(ANSWER_FOR)
        .build();
    let Ok(http) = http else {
        tracing::warn!("no HTTP client could be made; local model servers are not looked for");
        return Vec::new();
    };
    let (ollama, lm_studio, llama_cpp, foundry) = tokio::join!(
        OLLAMA.ask(&http, addresses.ollama.as_deref()),
        LM_STUDIO.ask(&http, addresses.lm_studio.as_deref()),
        LLAMA_CPP.ask(&http, addresses.llama_cpp.as_deref()),
        async {
            let address = foundry::address(addresses.foundry_command.as_deref()?).await;
            FOUNDRY.ask(&http, address.as_deref()).await
        },
    );
    [ollama, lm_studio, llama_cpp, foundry].into_iter().flatten().collect()
}

/// Whether the Ollama at `root` answers without a model that can chat.
pub(super) async fn is_ollama_empty(root: &str) -> bool {
    let http = reqwest::Client::builder().no_proxy().timeout(ANSWER_FOR).build();
    let Ok(http) = http else { return false };
    let list = get_json(http.get(format!("{}{}", root.trim_end_matches('/'), OLLAMA.list_path)));
    list.await.as_ref().and_then(read_ollama).is_some_and(|models| models.is_empty())
}

impl Server {
    async fn ask(&self, http: &reqwest::Client, address: Option<&str>) -> Option<FoundModel> {
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

/// The document that answers; none when nobody does, which is the usual case.
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

/// Ollama's models with those that can call tools in front; it tells that only of one model at a time.
async fn tools_first(http: &reqwest::Client, address: &str, offers: Vec<String>) -> Vec<String> {
    let url = format!("{address}/api/show");
    let asked = offers.iter().take(MOST_ASKED).map(|model| {
        let request = http.post(&url).json(&json!({ "model": model }));
        async move {
            get_json(request).await.is_some_and(|model| lists(&model, "capabilities", "tools"))
        }
    });
    let able = join_all(asked).await;
    let mut ranked: Vec<(bool, String)> = offers
        .into_iter()
        .enumerate()
        .map(|(at, model)| (able.get(at) == Some(&true), model))
        .collect();
    ranked.sort_by_key(|(able, _)| !able);
    ranked.into_iter().map(|(_, model)| model).collect()
}

/// Ollama: the newest first. A model that only makes embeddings cannot chat.
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

/// LM Studio: the models that are loaded first, because loading one takes a while.
fn read_lm_studio(list: &Value) -> Option<Vec<String>> {
    let models = list.get("data")?.as_array()?;
    // Its own API tells what each model is for; the OpenAI format, which many programs serve, does not.
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

/// llama.cpp signs its models; port 8080 belongs to many programs.
fn read_llama_cpp(list: &Value) -> Option<Vec<String>> {
    let models = list.get("data")?.as_array()?;
    let own = models.iter().all(|model| text(model, "owned_by").as_deref() == Some("llamacpp"));
    own.then(|| {
        models.iter().filter_map(|model| text(model, "id")).filter(|name| can_chat(name)).collect()
    })
}

/// Foundry Local: the address comes from its own command, so any list is its list. Models that call tools go first.
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

/// Whether a model of this name holds conversations.
pub(super) fn can_chat(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    !["embed", "minilm", "rerank", "bge-"].iter().any(|word| model.contains(word))
}
