//! A provider behind our port, spoken to through rig.
//!
//! Owns the request as rig takes it and the reading of its stream. Never sends a temperature: current models refuse one,
//! and no setting asks for it. rig's content telemetry stays off (its default). Pitfall: the bound of an answer counts its
//! words and not the bytes of the stream, which are mostly envelopes; the search for secrets takes time that grows with it.

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

use super::classify::{ProviderContext, classify, too_large};
use super::dialect::RequestFields;
use super::families::{context_tokens_of, relayed_context_tokens_of};
use super::reasoning_text::ReasoningSplitter;
use super::transport::{TransportError, is_this_computer};
use super::{LOCAL_CONTEXT, ProviderConfig, ProviderKind, billing_of, convert};
use crate::safety::Safety;

/// The most bytes that an answer says, arguments of calls included: several times what the longest answers that are sold
/// today hold.
const MOST_SAID: usize = 2_000_000;

/// The deepest arguments that are read at all. Those that are deeper than what is kept are told the model; beyond this an
/// answer is no honest one.
const DEEPEST: usize = 64;

/// How deep the arguments of a call are by now, as far as they have come.
#[derive(Default)]
struct Nesting {
    depth: usize,
    is_in_text: bool,
    is_escaped: bool,
}

impl Nesting {
    /// Whether they are too deep with this piece.
    fn goes_beyond(&mut self, piece: &str) -> bool {
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
            if self.depth > DEEPEST {
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

/// Makes rig's model of a name. rig binds a model's limits when the model is made, so each request makes its own; it is a
/// handful of strings.
pub(super) type MakeModel = Box<dyn Fn(&str) -> DynModel<Completion> + Send + Sync>;

/// A provider that rig speaks to.
pub(super) struct RigProvider {
    name: String,
    wire: ProviderKind,
    billing: Billing,
    /// Host and port of a server on this computer. Those of others stay untold: a person may have put a key into them.
    address: Option<String>,
    is_here: bool,
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
        let is_here = is_this_computer(&config.base_url);
        Self {
            name: config.name.clone(),
            wire,
            billing: billing_of(wire, &config.base_url),
            address: if is_here { address_of(&config.base_url) } else { None },
            is_here,
            context_tokens: config.context_tokens,
            effort: config.effort,
            safety,
            make_model,
        }
    }

    /// A call to `model`, of whose answer `received` bytes have come.
    fn context<'c>(&'c self, model: &'c str, received: usize) -> ProviderContext<'c> {
        let Self { name, address, is_here, safety, .. } = self;
        let (is_here, has_answered) = (*is_here, received > 0);
        let address = address.as_deref();
        ProviderContext { name, model, address, is_here, has_answered, safety }
    }

    fn classify(&self, model: &str, received: usize, error: &RigError) -> ProviderError {
        classify(self.context(model, received), error)
    }

    async fn ask(
        &self,
        request: ModelRequest,
        on_delta: &(dyn Fn(Delta) + Send + Sync),
    ) -> Result<ModelAnswer, ProviderError> {
        let (model, name) = ((self.make_model)(&request.model), request.model.clone());
        let request = self.request(request)?;
        let mut stream = model.stream(request).map_err(|error| self.classify(&name, 0, &error))?;
        let said = self.read(&name, &mut stream, on_delta).await?;
        let response = stream.finish().await.map_err(|error| self.classify(&name, said, &error))?;
        convert::from_rig(self.context(&name, said), &response)
    }

    fn request(&self, request: ModelRequest) -> Result<CompletionRequest, ProviderError> {
        let fields = RequestFields::of(self.wire, &request, self.effort);
        let mut messages = convert::to_rig(&request.messages, &self.wire.media_of(&request.model));
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

    /// Nothing takes such arguments. rig looks for the object in what is no JSON, and that takes memory with its depth.
    fn too_deep(&self) -> ProviderError {
        let words = format!(
            "{} answered with a call whose arguments are nested more than {DEEPEST} levels deep, which nothing takes.",
            self.name
        );
        ProviderError::new(ProviderErrorKind::TooLarge, words)
    }

    /// Reports the pieces as they come, and answers how many bytes they were.
    async fn read(
        &self,
        model: &str,
        stream: &mut CompletionStream,
        on_delta: &(dyn Fn(Delta) + Send + Sync),
    ) -> Result<usize, ProviderError> {
        let (mut said, mut nesting) = (0, HashMap::<Part, Nesting>::new());
        let mut splitter = ReasoningSplitter::default();
        while let Some(item) = stream.next().await {
            let item = item.map_err(|error| self.classify(model, said, &error))?;
            let Item::Event(event) = item else { continue };
            if let StreamEvent::Arguments { part, json } = &event
                && nesting.entry(*part).or_default().goes_beyond(json)
            {
                return Err(self.too_deep());
            }
            let Some(delta) = delta_of(event) else { continue };
            said += delta.bytes();
            if said > MOST_SAID {
                let cause = TransportError::AnswerTooLarge { most: MOST_SAID };
                return Err(too_large(&self.name, &cause));
            }
            match delta {
                Delta::Text(text) => splitter.push(text).into_iter().for_each(on_delta),
                other => on_delta(other),
            }
        }
        splitter.finish().into_iter().for_each(on_delta);
        Ok(said)
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
        let known = || match self.is_here {
            true => relayed_context_tokens_of(model).or(Some(LOCAL_CONTEXT)),
            false => context_tokens_of(model),
        };
        self.context_tokens.or_else(known)
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest,
        on_delta: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelAnswer, ProviderError>> {
        Box::pin(self.ask(request, on_delta))
    }
}

fn definition(spec: &ToolSpec) -> Option<ToolDefinition> {
    // The registry refuses a tool without a name.
    let name = ToolName::new(spec.name.clone()).ok()?;
    Some(ToolDefinition::new(
        name,
        spec.description.clone(),
        super::compact::compact(&spec.parameters),
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
