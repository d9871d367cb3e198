//! The vendors, as data: accepted and refused fields. As of 2026-11-28, from the vendors' references and error texts.

use super::definition::{ModelVendor, VendorWire};
use super::rules::{ContentShape, VendorRules};

/// Fields of every Chat Completions server.
const CHAT_FIELDS: &[&str] = &[
    "model",
    "messages",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "max_tokens",
    "temperature",
];
const GATEWAY_FIELDS: &[&str] = &[
    "model",
    "messages",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "reasoning_effort",
    "parallel_tool_calls",
];
const OPENROUTER_FIELDS: &[&str] = &[
    "model",
    "messages",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "max_tokens",
    "temperature",
    "reasoning",
    "usage",
    "cache_control",
    "provider",
    "models",
    "plugins",
    "parallel_tool_calls",
];
const RESPONSES_FIELDS: &[&str] = &[
    "model",
    "input",
    "instructions",
    "stream",
    "tools",
    "tool_choice",
    "max_output_tokens",
    "store",
    "include",
    "reasoning",
    "parallel_tool_calls",
    "prompt_cache_key",
    "text",
    "truncation",
    "metadata",
];
const MESSAGES_FIELDS: &[&str] = &[
    "model",
    "messages",
    "system",
    "max_tokens",
    "stream",
    "tools",
    "tool_choice",
    "temperature",
    "thinking",
    "output_config",
    "cache_control",
    "metadata",
    "stop_sequences",
    "top_k",
    "top_p",
    "service_tier",
];

/// A local Chat Completions server.
const LOCAL: ModelVendor = ModelVendor {
    name: "local",
    kind: "openai",
    base: "/v1",
    model: "qwen3:4b",
    is_local: true,
    wire: VendorWire::Chat,
    reasoning: "",
    reports_cost: false,
    rules: VendorRules {
        path: "/v1/chat/completions",
        fields: CHAT_FIELDS,
        required: &["model", "messages"],
        unknown_field_status: 400,
        content: ContentShape::Parts,
        max_output: None,
    },
};

/// OpenAI's Responses API.
pub static OPENAI: ModelVendor = ModelVendor {
    name: "openai",
    kind: "openai-responses",
    model: "gpt-5.6-terra",
    is_local: false,
    wire: VendorWire::Responses,
    rules: VendorRules {
        path: "/v1/responses",
        fields: RESPONSES_FIELDS,
        required: &["model", "input"],
        max_output: Some(("max_output_tokens", 128_000)),
        ..LOCAL.rules
    },
    ..LOCAL
};

/// A compatible server that accepts text only.
pub static STRICT_TEXT: ModelVendor = ModelVendor {
    name: "strict",
    model: "mistral-7b-instruct",
    rules: VendorRules { content: ContentShape::TextOnly, ..LOCAL.rules },
    ..LOCAL
};

/// Claude behind a gateway. Without `max_tokens` the gateway truncates answers at 4,096 tokens, so the field is required here.
pub static CLAUDE_AT_WORK: ModelVendor = ModelVendor {
    name: "work",
    model: "claude-sonnet-5-5",
    is_local: false,
    rules: VendorRules {
        fields: GATEWAY_FIELDS,
        required: &["model", "messages", "max_tokens"],
        max_output: Some(("max_tokens", 128_000)),
        ..LOCAL.rules
    },
    ..LOCAL
};

/// Anthropic's Messages API.
pub static ANTHROPIC: ModelVendor = ModelVendor {
    name: "anthropic",
    kind: "anthropic",
    base: "",
    model: "claude-sonnet-5-5",
    is_local: false,
    wire: VendorWire::Messages,
    rules: VendorRules {
        path: "/v1/messages",
        fields: MESSAGES_FIELDS,
        required: &["model", "messages", "max_tokens"],
        max_output: Some(("max_tokens", 128_000)),
        ..LOCAL.rules
    },
    ..LOCAL
};

/// OpenRouter, serving Claude.
pub static OPENROUTER: ModelVendor = ModelVendor {
    name: "openrouter",
    kind: "openrouter",
    base: "/api/v1",
    model: "anthropic/claude-sonnet-5.5",
    is_local: false,
    reports_cost: true,
    rules: VendorRules {
        path: "/api/v1/chat/completions",
        fields: OPENROUTER_FIELDS,
        max_output: Some(("max_tokens", 128_000)),
        ..LOCAL.rules
    },
    ..LOCAL
};

/// Ollama.
pub static OLLAMA: ModelVendor = ModelVendor { name: "ollama", ..LOCAL };

/// LM Studio.
pub static LM_STUDIO: ModelVendor =
    ModelVendor { name: "lmstudio", model: "openai/gpt-oss-20b", ..LOCAL };

/// A reasoning model on a server without a parser for reasoning.
pub static UNPARSED_REASONER: ModelVendor = ModelVendor {
    name: "llamacpp",
    model: "deepseek-r1-8b",
    reasoning: "<think>\nThe person asks. HEARTBEAT_OK may fit.\n</think>\n\n",
    ..LOCAL
};

/// All vendors.
pub static VENDORS: [&ModelVendor; 8] = [
    &OPENAI,
    &STRICT_TEXT,
    &CLAUDE_AT_WORK,
    &ANTHROPIC,
    &OPENROUTER,
    &OLLAMA,
    &LM_STUDIO,
    &UNPARSED_REASONER,
];
