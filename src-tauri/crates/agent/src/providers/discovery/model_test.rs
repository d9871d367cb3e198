//! The test of a model: a turn that must call a tool, and a turn that must not.
//!
//! Owns the two prompts and the verdict. Runs no tool and changes no job. Pitfall: a small model may write the call as
//! text, which looks like an answer; only a call on the wire counts.

use std::time::Duration;

use rouse_core::message::{Message, ModelAnswer, Part};
use rouse_core::model::{ModelProvider, ModelRequest, ProviderError, ProviderErrorKind};
use rouse_core::run::Usage;
use rouse_core::tool::{Annotations, ApprovalRule, RateLimit, ToolDomain, ToolSpec};
use serde_json::json;

/// The time limit of a turn. A local server loads its model first.
const TURN_FOR: Duration = Duration::from_secs(180);
/// The output limit: enough for a model that reasons first.
const MOST_TOKENS: u32 = 2_000;
const TOOL: &str = "add_numbers";
const SYSTEM: &str = "You are a careful assistant. Use the tool add_numbers for sums. Use no tool for anything else.";
const WITH_TOOL: &str = "What is 3174 plus 2689? Call the tool add_numbers to find out.";
const WITHOUT_TOOL: &str = "Answer with the single word: ready";

/// The result of a model test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelVerdict {
    /// The model calls a tool when required, and answers without a tool otherwise.
    Works,
    /// The model answers without the required tool call.
    NoToolCall,
    /// The model calls the tool without need.
    NeedlessToolCall,
    /// The model does not answer.
    Failed(ProviderError),
}

/// A model test and the usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTrial {
    /// The verdict.
    pub verdict: ModelVerdict,
    /// The usage of both turns.
    pub usage: Usage,
}

/// Tests `model` of `provider`.
pub async fn test_model(provider: &dyn ModelProvider, model: &str) -> ModelTrial {
    let mut usage = Usage::default();
    let verdict = verdict(provider, model, &mut usage).await.unwrap_or_else(ModelVerdict::Failed);
    ModelTrial { verdict, usage }
}

async fn verdict(
    provider: &dyn ModelProvider,
    model: &str,
    usage: &mut Usage,
) -> Result<ModelVerdict, ProviderError> {
    let answer = ask(provider, model, WITH_TOOL).await?;
    *usage = usage.plus(answer.usage);
    if !has_right_call(&answer) {
        return Ok(ModelVerdict::NoToolCall);
    }
    let answer = ask(provider, model, WITHOUT_TOOL).await?;
    *usage = usage.plus(answer.usage);
    let is_needless = calls(&answer).next().is_some();
    Ok(if is_needless { ModelVerdict::NeedlessToolCall } else { ModelVerdict::Works })
}

async fn ask(
    provider: &dyn ModelProvider,
    model: &str,
    question: &str,
) -> Result<ModelAnswer, ProviderError> {
    let request = ModelRequest {
        model: model.to_owned(),
        system: SYSTEM.to_owned(),
        messages: vec![Message::User { text: question.to_owned() }],
        tools: vec![tool()],
        max_tokens: Some(MOST_TOKENS),
        effort: None,
    };
    let asked = tokio::time::timeout(TURN_FOR, provider.stream(request, &|_| ())).await;
    asked.unwrap_or_else(|_| {
        let words = format!("{} did not answer within {} s.", provider.name(), TURN_FOR.as_secs());
        Err(ProviderError::new(ProviderErrorKind::Unanswered, words))
    })
}

fn has_right_call(answer: &ModelAnswer) -> bool {
    let has_sum = |arguments: &serde_json::Value| {
        let number = |key: &str| {
            let value = &arguments[key];
            value.as_f64().or_else(|| value.as_str()?.parse().ok())
        };
        number("a").zip(number("b")).is_some_and(|(a, b)| (a + b - 5863.0).abs() < 0.5)
    };
    calls(answer).any(|call| call.tool == TOOL && has_sum(&call.arguments))
}

fn calls(answer: &ModelAnswer) -> impl Iterator<Item = &rouse_core::message::ToolCallRequest> {
    answer.parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(call),
        Part::Text { .. } | Part::Opaque { .. } => None,
    })
}

fn tool() -> ToolSpec {
    let number = json!({ "type": "integer" });
    ToolSpec {
        name: TOOL.to_owned(),
        label: None,
        description: "Adds two whole numbers and returns their sum.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": { "a": number, "b": number },
            "required": ["a", "b"],
            "additionalProperties": false,
        }),
        annotations: Annotations::READS,
        approval: ApprovalRule::Never,
        domain: ToolDomain::InProcess,
        rate: RateLimit::USUAL,
        call_for: Duration::from_secs(1),
        untrusted_output: false,
        sensitive: Vec::new(),
        shell_text: Vec::new(),
        attended_only: false,
        listed_only: false,
        origin: None,
    }
}

#[cfg(test)]
mod tests {
    use rouse_testkit::fake_model::{FakeModel, Reply, sse};
    use serde_json::{Value, json};

    use super::*;
    use crate::providers::{ProviderConfig, ProviderKind, connect};
    use crate::safety::Safety;

    async fn verdict_of(replies: impl IntoIterator<Item = Reply>) -> (ModelTrial, usize) {
        let server = FakeModel::replying(replies);
        let provider = ProviderConfig {
            name: "mine".to_owned(),
            kind: ProviderKind::OpenAiChat,
            base_url: server.url() + "/v1",
            model: "m".to_owned(),
            context_tokens: None,
            effort: None,
            api_key: None,
        };
        let provider =
            connect(&provider, &Safety::new(std::sync::Arc::default())).expect("connected");
        let trial = test_model(provider.as_ref(), "m").await;
        for body in server.bodies() {
            assert_eq!(body["tools"][0]["function"]["name"], TOOL, "{body}");
        }
        (trial, server.requests().len())
    }

    fn sum(a: Value, b: Value) -> Reply {
        Reply::events(sse::chat_calls("1", TOOL, &json!({ "a": a, "b": b })))
    }

    fn text_answer(text: &str) -> Reply {
        Reply::events(sse::chat_says(text))
    }

    #[tokio::test]
    async fn model_that_calls_tools_works() {
        let (trial, asked) =
            verdict_of([sum(json!(3174), json!(2689)), text_answer("ready")]).await;
        assert_eq!((&trial.verdict, asked), (&ModelVerdict::Works, 2));
        assert_eq!(trial.usage.output_tokens, 40);
        let (trial, _) =
            verdict_of([sum(json!("2689"), json!("3174")), text_answer("ready")]).await;
        assert_eq!(trial.verdict, ModelVerdict::Works, "numbers as text are read by every tool");
    }

    #[tokio::test]
    async fn model_without_tool_call_is_named() {
        let text = r#"{"name":"add_numbers","parameters":{"a":3174,"b":2689}}"#;
        for first in [text_answer("5863"), text_answer(text), sum(json!(1), json!(2))] {
            let (trial, asked) = verdict_of([first]).await;
            assert_eq!((trial.verdict, asked), (ModelVerdict::NoToolCall, 1));
        }
    }

    #[tokio::test]
    async fn needless_tool_call_is_named() {
        let call = || sum(json!(3174), json!(2689));
        let (trial, _) = verdict_of([call(), call()]).await;
        assert_eq!(trial.verdict, ModelVerdict::NeedlessToolCall);
    }

    #[tokio::test]
    async fn error_of_the_provider_is_the_verdict() {
        let error = r#"{"error":{"message":"m does not support tools"}}"#;
        let (trial, _) = verdict_of([Reply::json(400, error)]).await;
        let ModelVerdict::Failed(error) = trial.verdict else { panic!("{trial:?}") };
        assert!(error.message.contains("does not support tools"), "{error}");
    }
}
