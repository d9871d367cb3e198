//! A provider behind the port of `core`, called through rig.
//!
//! Owns the request for rig and the reading of the stream. Never sends a temperature: current models refuse the field,
//! and no setting has it. rig's content telemetry stays off (the default). Pitfall: the size limit counts the content
//! and not the bytes of the stream, which are mostly envelopes; the scan for secrets takes time in proportion to the
//! content.

use std::collections::HashMap;

use futures_util::StreamExt as _;
use reqwest::Url;
use rig_core::DynModel;
use rig_core::ProviderError as RigError;
use rig_core::completion::{CompletionRequest, ToolDefinition};
use rig_core::message::{Message as RigMessage, ToolName};
use rig_core::operation::Completion;
use rig_core::streaming::{CompletionStream, Item, Part, PartKind, StreamEvent};
use rouse_core::message::ModelAnswer;
use rouse_core::model::{
    Billing, Delta, Effort, ModelProvider, ModelRequest, ProviderError, ProviderErrorKind,
};
use rouse_core::tool::{BoxFuture, ToolSpec};

use serde_json::Value;

use super::address::is_loopback;
use super::config::{ProviderConfig, ProviderKind};
use super::dialect::{RequestFields, media_of};
use super::error_classification::{ProviderContext, classify, too_large};
use super::message_conversion;
use super::model_families::{context_tokens_of, relayed_context_tokens_of};
use super::reasoning_text::ReasoningSplitter;
use super::transport::TransportError;
use crate::safety::Safety;

/// The context window of a local model without a setting. Local servers load models with small windows, and some
/// silently cut off the beginning of a longer prompt: the instructions.
const LOCAL_CONTEXT: u32 = 16_000;

/// The most bytes of an answer with the arguments of the calls: several times the longest answer of today's models.
const MAX_ANSWER_BYTES: usize = 2_000_000;

/// The deepest nesting of arguments that is read. The gate refuses less already; beyond this limit the answer is
/// dropped.
const MAX_DEPTH: usize = 64;

/// The nesting of the arguments of a call so far.
#[derive(Default)]
struct ArgumentNesting {
    depth: usize,
    is_in_text: bool,
    is_escaped: bool,
}

impl ArgumentNesting {
    /// Adds a piece; whether the nesting exceeds [`MAX_DEPTH`].
    fn exceeds_limit(&mut self, piece: &str) -> bool {
        for byte in piece.bytes() {
            match byte {
                _ if std::mem::take(&mut self.is_escaped) => {}
                b'\\' if self.is_in_text => self.is_escaped = true,
                b'"' => self.is_in_text = !self.is_in_text,
                _ if self.is_in_text => {}
                b'[' | b'{' => self.depth += 1,
                b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if self.depth > MAX_DEPTH {
                return true;
            }
        }
        false
    }
}

/// Host and port of an address.
fn address_of(base_url: &str) -> Option<String> {
    let url = Url::parse(base_url).ok()?;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{}{port}", url.host_str()?))
}

/// Makes rig's model by name, for each request anew: rig fixes a model's limits at creation.
pub(super) type MakeModel = Box<dyn Fn(&str) -> DynModel<Completion> + Send + Sync>;

/// A provider that is called through rig.
pub(super) struct RigProvider {
    name: String,
    wire: ProviderKind,
    billing: Billing,
    /// Host and port of a local server. Other addresses stay out of messages, because they may hold a key.
    address: Option<String>,
    is_local: bool,
    context_tokens: Option<u32>,
    effort: Option<Effort>,
    safety: Safety,
    make_model: MakeModel,
}

impl RigProvider {
    pub(super) fn new(
        config: &ProviderConfig,
        wire: ProviderKind,
        safety: Safety,
        make_model: MakeModel,
    ) -> Self {
        let is_local = is_loopback(&config.base_url);
        Self {
            name: config.name.clone(),
            wire,
            billing: billing_of(wire, &config.base_url),
            address: if is_local { address_of(&config.base_url) } else { None },
            is_local,
            context_tokens: config.context_tokens,
            effort: config.effort,
            safety,
            make_model,
        }
    }

    /// A call to `model` after `received` bytes of the answer.
    fn context<'c>(&'c self, model: &'c str, received: usize) -> ProviderContext<'c> {
        ProviderContext {
            name: &self.name,
            model,
            address: self.address.as_deref(),
            is_local: self.is_local,
            has_answered: received > 0,
            safety: &self.safety,
        }
    }

    fn classify(&self, model: &str, received: usize, error: &RigError) -> ProviderError {
        classify(self.context(model, received), error)
    }

    async fn call(
        &self,
        request: ModelRequest,
        on_delta: &(dyn Fn(Delta) + Send + Sync),
    ) -> Result<ModelAnswer, ProviderError> {
        let (model, name) = ((self.make_model)(&request.model), request.model.clone());
        let request = self.request(request)?;
        let mut stream = model.stream(request).map_err(|error| self.classify(&name, 0, &error))?;
        let received = self.read(&name, &mut stream, on_delta).await?;
        let response =
            stream.finish().await.map_err(|error| self.classify(&name, received, &error))?;
        message_conversion::from_rig(self.context(&name, received), &response)
    }

    fn request(&self, request: ModelRequest) -> Result<CompletionRequest, ProviderError> {
        let fields = RequestFields::of(self.wire, &request, self.effort);
        let mut messages =
            message_conversion::to_rig(&request.messages, &media_of(self.wire, &request.model));
        let Some(prompt) = messages.pop() else {
            let text = format!("There is nothing to ask {}.", self.name);
            return Err(ProviderError::new(ProviderErrorKind::BadRequest, text));
        };
        let tools: Vec<ToolDefinition> = request.tools.iter().filter_map(definition).collect();
        messages.insert(0, RigMessage::system(request.system));
        let parameters = Some(fields.parameters).filter(|fields| !fields.is_empty());
        Ok(CompletionRequest::new(prompt)
            .messages(messages)
            .tools(tools)
            .max_tokens(fields.max_tokens.map(u64::from))
            .options(fields.options)
            .additional_params(parameters.map(Value::Object)))
    }

    /// The error of deeply nested arguments. rig would search invalid JSON for an object, with memory in proportion to
    /// the depth.
    fn too_deep(&self) -> ProviderError {
        let words = format!(
            "{} answered with a call whose arguments are nested more than {MAX_DEPTH} levels deep.",
            self.name
        );
        ProviderError::new(ProviderErrorKind::TooLarge, words)
    }

    /// Reports the pieces at arrival and returns the number of bytes.
    async fn read(
        &self,
        model: &str,
        stream: &mut CompletionStream,
        on_delta: &(dyn Fn(Delta) + Send + Sync),
    ) -> Result<usize, ProviderError> {
        let (mut received, mut nesting) = (0, HashMap::<Part, ArgumentNesting>::new());
        let mut splitter = ReasoningSplitter::default();
        while let Some(item) = stream.next().await {
            let item = item.map_err(|error| self.classify(model, received, &error))?;
            let Item::Event(event) = item else { continue };
            if let StreamEvent::Arguments { part, json } = &event
                && nesting.entry(*part).or_default().exceeds_limit(json)
            {
                return Err(self.too_deep());
            }
            let Some(delta) = delta_of(event) else { continue };
            received += delta.bytes();
            if received > MAX_ANSWER_BYTES {
                let cause = TransportError::AnswerTooLarge { most: MAX_ANSWER_BYTES };
                return Err(too_large(&self.name, &cause));
            }
            match delta {
                Delta::Text(text) => splitter.push(text).into_iter().for_each(on_delta),
                other => on_delta(other),
            }
        }
        splitter.finish().into_iter().for_each(on_delta);
        Ok(received)
    }
}

impl ModelProvider for RigProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn billing(&self) -> Billing {
        self.billing
    }

    fn context_tokens(&self, model: &str) -> Option<u32> {
        let known = || {
            if self.is_local {
                relayed_context_tokens_of(model).or(Some(LOCAL_CONTEXT))
            } else {
                context_tokens_of(model)
            }
        };
        self.context_tokens.or_else(known)
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest,
        on_delta: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelAnswer, ProviderError>> {
        Box::pin(self.call(request, on_delta))
    }
}

fn definition(spec: &ToolSpec) -> Option<ToolDefinition> {
    // The registry refuses a tool without a name.
    let name = ToolName::new(spec.name.clone()).ok()?;
    Some(ToolDefinition::new(
        name,
        spec.description.clone(),
        super::tool_schema::compact(&spec.parameters),
    ))
}

fn delta_of(event: StreamEvent) -> Option<Delta> {
    match event {
        StreamEvent::Text { text, .. } => Some(Delta::Text(text)),
        StreamEvent::Reasoning { text, .. } => Some(Delta::Reasoning(text)),
        StreamEvent::Start { kind: PartKind::ToolCall, name, .. } => {
            Some(Delta::ToolCall(name.map(String::from).unwrap_or_default()))
        }
        StreamEvent::Arguments { json, .. } => Some(Delta::Arguments(json.len())),
        StreamEvent::Start { .. } | StreamEvent::End { .. } => None,
    }
}

/// The billing of answers. A local server is free, except for a vendor's models behind a gateway, which have prices
/// (`money::prices`). OpenRouter reports the cost of each answer.
fn billing_of(wire: ProviderKind, base_url: &str) -> Billing {
    match wire {
        ProviderKind::OpenRouter => Billing::Reported,
        _ if is_loopback(base_url) => Billing::Free,
        _ => Billing::ByPrice,
    }
}
