//! A provider behind our port, spoken to through rig.
//!
//! Owns the request as rig wants it and the reading of its stream. It never sends a temperature: current models of
//! both formats refuse one, and no setting here asks for it. It opts out of rig's content telemetry by leaving the
//! request's switch at its default. What an answer says is bounded here and not by the bytes of its stream, of which most
//! are envelopes: all of it is looked through for secrets, and that takes a time that grows with it.

use std::collections::HashMap;

use futures_util::StreamExt as _;
use rig_core::DynModel;
use rig_core::ProviderError as RigError;
use rig_core::completion::{CompletionRequest, ToolDefinition};
use rig_core::message::{Message as RigMessage, ToolName};
use rig_core::operation::Completion;
use rig_core::streaming::{CompletionStream, Item, Part, PartKind, StreamEvent};
use rouse_core::message::ModelAnswer;
use rouse_core::model::{
    Billing, Delta, ModelProvider, ModelRequest, ProviderError, ProviderErrorKind,
};
use rouse_core::tool::{BoxFuture, ToolSpec};

use super::classify::{Place, Whom, classify, too_large};
use super::convert;
use super::transport::TransportError;
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

/// Makes rig's model of a name. rig binds a model's limits when it is made, so each request makes its own; it is a
/// handful of strings.
type MakeModel = Box<dyn Fn(&str) -> DynModel<Completion> + Send + Sync>;

/// A provider that rig speaks to.
pub(super) struct RigProvider {
    name: String,
    billing: Billing,
    place: Place,
    context_tokens: Option<u32>,
    safety: Safety,
    model: MakeModel,
}

impl RigProvider {
    pub(super) fn new(name: String, safety: Safety, model: MakeModel) -> Self {
        let (billing, place) = (Billing::ByPrice, Place::Elsewhere);
        Self { name, billing, place, context_tokens: None, safety, model }
    }

    /// The same in this place, paid for in this way.
    pub(super) fn standing(self, place: Place, billing: Billing) -> Self {
        Self { place, billing, ..self }
    }

    /// The same with what its model reads, as its person has written it down.
    pub(super) fn reading(self, context_tokens: Option<u32>) -> Self {
        Self { context_tokens, ..self }
    }

    /// What an error means of a question for `model`, after so many bytes of the answer.
    fn classify(&self, model: &str, said: usize, error: &RigError) -> ProviderError {
        let Self { name, place, safety, .. } = self;
        let (place, has_answered) = (*place, said > 0);
        classify(Whom { name, model, place, has_answered, safety }, error)
    }

    async fn ask(
        &self,
        request: ModelRequest,
        on_delta: &(dyn Fn(Delta) + Send + Sync),
    ) -> Result<ModelAnswer, ProviderError> {
        let (model, name) = ((self.model)(&request.model), request.model.clone());
        let request = self.request(request)?;
        let mut stream = model.stream(request).map_err(|error| self.classify(&name, 0, &error))?;
        let said = self.read(&name, &mut stream, on_delta).await?;
        let response = stream.finish().await.map_err(|error| self.classify(&name, said, &error))?;
        convert::from_rig(&self.name, &self.safety, &response)
    }

    fn request(&self, request: ModelRequest) -> Result<CompletionRequest, ProviderError> {
        let mut messages = convert::to_rig(&request.messages);
        let Some(prompt) = messages.pop() else {
            let text = format!("There is nothing to ask {}.", self.name);
            return Err(ProviderError::new(ProviderErrorKind::BadRequest, text));
        };
        let tools: Vec<ToolDefinition> = request.tools.iter().filter_map(definition).collect();
        messages.insert(0, RigMessage::system(request.system));
        Ok(CompletionRequest::new(prompt)
            .messages(messages)
            .tools(tools)
            .max_tokens(request.max_tokens.map(u64::from)))
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
            on_delta(delta);
        }
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

    fn context_tokens(&self) -> Option<u32> {
        self.context_tokens
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
