//! The spelling of a request for an endpoint and a model.
//!
//! Owns the choice of the wire by the address, and the fields that differ by model family: output limit, effort, prompt
//! caching. Never reads the name of a provider: `work` may serve Claude. Pitfall: a field that one server needs is an
//! error at the next, so an unknown model gets no such field.

use reqwest::Url;
use rig_core::completion::{CacheRetention, GenerationOptions};
use rouse_core::model::{Effort, ModelRequest};
use serde_json::{Map, Value, json};

use super::config::ProviderKind;
use super::model_families::{
    LimitField, Media, ModelFamily, PromptCache, family_of, output_tokens_of, reads,
};

/// The output limit of an unknown model on a wire that requires a limit.
const UNKNOWN_OUTPUT_TOKENS: u32 = 8_192;

/// Reasoning tokens of families with a reasoning budget.
const fn thinking_budget(effort: Effort) -> u32 {
    match effort {
        Effort::Low => 2_048,
        Effort::Medium => 8_192,
        Effort::High => 16_384,
        Effort::Max => 30_000,
    }
}

/// The wire of a provider: the configured wire, or at a vendor's own address the vendor's wire.
pub(super) fn wire_at(kind: ProviderKind, base_url: &str) -> ProviderKind {
    match (kind, host_of(base_url).as_deref()) {
        (ProviderKind::OpenAiChat, Some(host)) if is_openai(host) => ProviderKind::OpenAiResponses,
        (ProviderKind::OpenAiChat, Some("openrouter.ai")) => ProviderKind::OpenRouter,
        _ => kind,
    }
}

/// Whether requests to `base_url` go to Anthropic itself.
pub(super) fn is_anthropic(base_url: &str) -> bool {
    host_of(base_url).as_deref() == Some("api.anthropic.com")
}

fn is_openai(host: &str) -> bool {
    host == "api.openai.com" || host.ends_with(".api.openai.com")
}

fn host_of(base_url: &str) -> Option<String> {
    Url::parse(base_url).ok()?.host_str().map(str::to_owned)
}

/// The attachments that `model` reads on a wire. Only some servers of Chat Completions take a PDF.
pub(super) fn media_of(wire: ProviderKind, model: &str) -> Vec<Media> {
    let media: &[Media] = match wire {
        ProviderKind::OpenAiChat => &[Media::Image],
        ProviderKind::OpenAiResponses | ProviderKind::OpenRouter | ProviderKind::Anthropic => {
            &[Media::Image, Media::Pdf]
        }
    };
    media.iter().copied().filter(|media| reads(model, *media)).collect()
}

/// The fields of a request that depend on wire and model.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RequestFields {
    /// The output limit, in the wire's usual field.
    pub(super) max_tokens: Option<u32>,
    /// Fields that rig merges into the body unchanged.
    pub(super) parameters: Map<String, Value>,
    /// Fields that rig spells by itself.
    pub(super) options: GenerationOptions,
}

impl RequestFields {
    /// The fields of `request` on `wire`; `default_effort` is the provider's setting.
    pub(super) fn of(
        wire: ProviderKind,
        request: &ModelRequest,
        default_effort: Option<Effort>,
    ) -> Self {
        let family = family_of(&request.model);
        let effort = request.effort.or(default_effort);
        let fields = Self { max_tokens: request.max_tokens, ..Self::default() };
        match wire {
            ProviderKind::OpenAiChat => fields.for_chat(request, family, effort),
            ProviderKind::OpenAiResponses => fields.for_responses(family, effort),
            ProviderKind::OpenRouter => fields.for_openrouter(request, family, effort),
            ProviderKind::Anthropic => fields.for_messages(request, family, effort),
        }
    }

    fn for_chat(
        mut self,
        request: &ModelRequest,
        family: Option<&ModelFamily>,
        effort: Option<Effort>,
    ) -> Self {
        self.max_tokens = self.max_tokens.or_else(|| marked_output(request, family));
        if family.is_some_and(|family| family.limit == LimitField::MaxCompletionTokens) {
            let limit = self.max_tokens.take();
            self.insert("max_completion_tokens", limit.map(Value::from));
        }
        let needs_no_effort = family.is_some_and(|family| family.chat_tools_need_no_effort);
        let word = match effort {
            _ if needs_no_effort && !request.tools.is_empty() => Some("none"),
            Some(effort) => chat_word(family, effort),
            None => None,
        };
        self.insert("reasoning_effort", word.map(Value::from));
        self
    }

    /// The vendor stores nothing, so the conversation carries the encrypted reasoning.
    fn for_responses(mut self, family: Option<&ModelFamily>, effort: Option<Effort>) -> Self {
        self.insert("store", Some(Value::Bool(false)));
        self.insert("include", Some(json!(["reasoning.encrypted_content"])));
        let word = effort.and_then(|effort| chat_word(family, effort));
        self.insert("reasoning", word.map(|word| json!({ "effort": word })));
        self
    }

    fn for_openrouter(
        mut self,
        request: &ModelRequest,
        family: Option<&ModelFamily>,
        effort: Option<Effort>,
    ) -> Self {
        self.max_tokens = self.max_tokens.or_else(|| marked_output(request, family));
        if is_marked(family) {
            self.options = self.options.cache(CacheRetention::Short);
        }
        let word = effort.and_then(|effort| chat_word(family, effort));
        self.insert("reasoning", word.map(|word| json!({ "effort": word })));
        self
    }

    /// The format requires a limit.
    fn for_messages(
        mut self,
        request: &ModelRequest,
        family: Option<&ModelFamily>,
        effort: Option<Effort>,
    ) -> Self {
        let own = || output_tokens_of(&request.model).unwrap_or(UNKNOWN_OUTPUT_TOKENS);
        let limit = self.max_tokens.unwrap_or_else(own);
        self.max_tokens = Some(limit);
        let Some((family, effort)) = family.zip(effort) else { return self };
        if let Some(word) = family.effort_word(effort) {
            self.insert("thinking", Some(json!({ "type": "adaptive" })));
            self.insert("output_config", Some(json!({ "effort": word })));
        } else if family.budget {
            let budget = thinking_budget(effort).min(limit / 2);
            let thinking = json!({ "type": "enabled", "budget_tokens": budget });
            self.insert("thinking", (budget >= 1_024).then_some(thinking));
        }
        self
    }

    fn insert(&mut self, name: &str, value: Option<Value>) {
        self.parameters.extend(value.map(|value| (name.to_owned(), value)));
    }
}

/// Whether the family caches prompts at marks in the request.
pub(super) fn is_marked(family: Option<&ModelFamily>) -> bool {
    family.is_some_and(|family| family.cache == PromptCache::Marked)
}

/// Gateways limit a Claude request without an output limit to 4,096 tokens, which cuts off a file of 15 kB.
fn marked_output(request: &ModelRequest, family: Option<&ModelFamily>) -> Option<u32> {
    is_marked(family).then(|| output_tokens_of(&request.model)).flatten()
}

/// The value for `effort` in an OpenAI field. A gateway turns the level into a budget for families with budgets; an
/// unknown model gets the chosen level, but never `max`, which few servers support.
fn chat_word(family: Option<&ModelFamily>, effort: Effort) -> Option<&str> {
    let usual = if effort == Effort::Max { Effort::High.name() } else { effort.name() };
    match family {
        None => Some(usual),
        Some(family) if family.budget => Some(usual),
        Some(family) => family.effort_word(effort),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rouse_core::message::Message;

    fn request(model: &str) -> ModelRequest {
        ModelRequest {
            model: model.to_owned(),
            system: String::new(),
            messages: vec![Message::User { text: "Hello.".to_owned() }],
            tools: Vec::new(),
            max_tokens: None,
            effort: None,
        }
    }

    fn parameters(wire: ProviderKind, request: &ModelRequest) -> Value {
        Value::Object(RequestFields::of(wire, request, None).parameters)
    }

    #[test]
    fn wire_follows_the_address_and_not_the_name() {
        let chat = ProviderKind::OpenAiChat;
        for (address, wire) in [
            ("https://api.openai.com/v1", ProviderKind::OpenAiResponses),
            ("https://eu.api.openai.com/v1", ProviderKind::OpenAiResponses),
            ("https://openrouter.ai/api/v1", ProviderKind::OpenRouter),
            ("https://api.openai.com.example/v1", chat),
            ("http://127.0.0.1:4000/v1", chat),
        ] {
            assert_eq!(wire_at(chat, address), wire, "{address}");
        }
        assert_eq!(
            wire_at(ProviderKind::OpenRouter, "http://127.0.0.1:1"),
            ProviderKind::OpenRouter
        );
    }

    #[test]
    fn effort_is_spelled_for_the_wire_and_the_family() {
        let with = |model: &str, effort| ModelRequest { effort: Some(effort), ..request(model) };
        let chat = ProviderKind::OpenAiChat;
        for (wire, request, expected) in [
            (chat, with("my-model", Effort::Max), json!({"reasoning_effort": "high"})),
            (chat, with("claude-haiku-4-5", Effort::Low), json!({"reasoning_effort": "low"})),
            (chat, with("gpt-4o", Effort::High), json!({})),
            (
                ProviderKind::OpenRouter,
                with("openai/gpt-5.5", Effort::Max),
                json!({"reasoning": {"effort": "xhigh"}}),
            ),
            (
                ProviderKind::Anthropic,
                with("claude-sonnet-5-5", Effort::Medium),
                json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}}),
            ),
            (
                ProviderKind::Anthropic,
                with("claude-haiku-4-5", Effort::High),
                json!({"thinking": {"type": "enabled", "budget_tokens": 16_384}}),
            ),
            (
                ProviderKind::Anthropic,
                with("claude-opus-4-5", Effort::Low),
                json!({"thinking": {"type": "enabled", "budget_tokens": 2_048}}),
            ),
            (ProviderKind::Anthropic, with("claude-3-5-haiku", Effort::High), json!({})),
        ] {
            assert_eq!(parameters(wire, &request), expected, "{wire:?} {}", request.model);
        }
    }

    #[test]
    fn effort_of_the_request_wins_over_the_provider() {
        let request = ModelRequest { effort: Some(Effort::Low), ..request("gpt-5.6-terra") };
        let fields = RequestFields::of(ProviderKind::OpenAiResponses, &request, Some(Effort::High));
        assert_eq!(fields.parameters["reasoning"], json!({"effort": "low"}));
    }

    #[test]
    fn claude_names_its_limit_on_every_wire() {
        for (wire, model) in [
            (ProviderKind::OpenAiChat, "claude-sonnet-5.5"),
            (ProviderKind::OpenRouter, "anthropic/claude-sonnet-5.5"),
            (ProviderKind::Anthropic, "claude-sonnet-5-5"),
        ] {
            let fields = RequestFields::of(wire, &request(model), None);
            assert_eq!(fields.max_tokens, Some(128_000), "{wire:?}");
        }
        let unknown = request("my-model");
        assert_eq!(RequestFields::of(ProviderKind::OpenAiChat, &unknown, None).max_tokens, None);
        assert_eq!(
            RequestFields::of(ProviderKind::Anthropic, &unknown, None).max_tokens,
            Some(8_192)
        );
    }
}
