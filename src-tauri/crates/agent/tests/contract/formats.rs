//! The three formats, and the request of every test.

use std::sync::{Arc, Mutex};

use rouse_agent::{ApiKey, ProviderConfig, ProviderKey, ProviderKind, Safety, connect};
use rouse_core::message::{Message, ModelAnswer};
use rouse_core::model::{Delta, ModelProvider, ModelRequest, ProviderError};
use rouse_core::tool::{Annotations, ApprovalRule, RateLimit, ToolDomain, ToolSpec};
use rouse_testkit::fake_model::{FakeModel, Reply};
use serde_json::json;

/// The API key of every test.
pub(crate) const KEY: &str = "sk-test-4f1b2c3d4e5f60718293";

/// A safety layer without secrets.
pub(crate) fn safety_without_secrets() -> Safety {
    Safety::new(Arc::default())
}

/// A wire format at a vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Chat,
    Responses,
    Messages,
}

pub(crate) const ALL: [Format; 3] = [Format::Chat, Format::Responses, Format::Messages];

impl Format {
    /// The transcript of that name.
    pub(crate) fn transcript(self, name: &str) -> String {
        let folder = match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
        };
        let path = format!("{}/tests/fixtures/{folder}/{name}.sse", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// The transcript of that name as a reply.
    pub(crate) fn reply(self, name: &str) -> Reply {
        Reply::events(self.transcript(name))
    }

    /// The vendor's own name, model and address, but on `server`.
    pub(crate) fn config(self, server: &FakeModel) -> ProviderConfig {
        let (name, kind, base_url, model) = match self {
            Self::Chat => (
                "openai",
                ProviderKind::OpenAiChat,
                format!("{}/v1", server.url()),
                "gpt-5.6-terra",
            ),
            Self::Responses => (
                "openai",
                ProviderKind::OpenAiResponses,
                format!("{}/v1", server.url()),
                "gpt-5.6-terra",
            ),
            Self::Messages => {
                ("anthropic", ProviderKind::Anthropic, server.url(), "claude-sonnet-5-5")
            }
        };
        ProviderConfig {
            context_tokens: None,
            effort: None,
            name: name.to_owned(),
            kind,
            base_url,
            model: model.to_owned(),
            api_key: ApiKey::new(KEY).map(ProviderKey::Given),
        }
    }

    /// The usual request.
    pub(crate) fn request(self, messages: Vec<Message>) -> ModelRequest {
        let model = match self {
            Self::Chat | Self::Responses => "gpt-5.6-terra",
            Self::Messages => "claude-sonnet-5-5",
        };
        ModelRequest {
            model: model.to_owned(),
            system: "You work unattended.".to_owned(),
            messages,
            tools: vec![read_file()],
            max_tokens: None,
            effort: None,
        }
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
        }
    }
}

/// An exchange: the server, the deltas and the result.
pub(crate) struct Exchange {
    pub(crate) server: FakeModel,
    pub(crate) shown: Vec<Delta>,
    pub(crate) ended: Result<ModelAnswer, ProviderError>,
}

impl Exchange {
    pub(crate) fn answer(&self) -> &ModelAnswer {
        self.ended.as_ref().unwrap_or_else(|error| panic!("expected an answer, found {error:?}"))
    }

    pub(crate) fn error(&self) -> &ProviderError {
        match &self.ended {
            Err(error) => error,
            Ok(answer) => panic!("expected an error, found {answer:?}"),
        }
    }

    /// The streamed text.
    pub(crate) fn words_shown(&self) -> String {
        let words = self.shown.iter().filter_map(|delta| match delta {
            Delta::Text(text) => Some(text.as_str()),
            _ => None,
        });
        words.collect()
    }
}

/// Sends the usual request and receives `reply`.
pub(crate) async fn exchange(format: Format, reply: Reply) -> Exchange {
    let server = FakeModel::replying([reply]);
    let provider = connect(&format.config(&server), &safety_without_secrets()).expect("an address");
    let (shown, ended) = ask(&provider, format.request(vec![task()])).await;
    Exchange { server, shown, ended }
}

/// Sends a request and keeps the deltas.
pub(crate) async fn ask(
    provider: &Arc<dyn ModelProvider>,
    request: ModelRequest,
) -> (Vec<Delta>, Result<ModelAnswer, ProviderError>) {
    let shown = Mutex::new(Vec::new());
    let keep = |delta: Delta| shown.lock().expect("not poisoned").push(delta);
    let ended = provider.stream(request, &keep).await;
    (shown.into_inner().expect("not poisoned"), ended)
}

pub(crate) fn task() -> Message {
    Message::User { text: "Look at both files.".to_owned() }
}

pub(crate) fn read_file() -> ToolSpec {
    ToolSpec {
        name: "read_file".to_owned(),
        description: "Reads a file.".to_owned(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
        annotations: Annotations::READS,
        approval: ApprovalRule::Never,
        domain: ToolDomain::InProcess,
        rate: RateLimit { per_minute: 60, per_hour: 1_000 },
        call_for: std::time::Duration::from_secs(1),
        untrusted_output: true,
        sensitive: Vec::new(),
        shell_text: Vec::new(),
        label: None,
        attended_only: false,
        listed_only: false,
        origin: None,
    }
}
