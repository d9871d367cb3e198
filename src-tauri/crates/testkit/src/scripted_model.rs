//! A model that says what its script says.
//!
//! Owns the answers of one test, in order, and the record of what was asked. It refuses to invent anything: when the
//! script is over it fails, so that a turn too many is seen.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::sync::{Mutex, MutexGuard};
use std::task::{Poll, Waker};

use rouse_core::message::{ModelAnswer, Part, StopReason, ToolCallRequest};
use rouse_core::model::{
    Billing, Delta, ModelProvider, ModelRequest, ProviderError, ProviderErrorKind,
};
use rouse_core::run::Usage;
use rouse_core::tool::BoxFuture;
use serde_json::Value;

/// One line of a script.
#[derive(Debug, Clone)]
pub enum Scripted {
    /// An answer; its words come as deltas first.
    Answer(ModelAnswer),
    /// A failure, after the words that were already shown.
    Failure(Vec<Delta>, ProviderError),
    /// Never anything, until the future is dropped.
    Silence,
}

/// A model that says what its script says.
pub struct ScriptedModel {
    name: &'static str,
    billing: Billing,
    context_tokens: Option<u32>,
    state: Mutex<State>,
}

impl Default for ScriptedModel {
    fn default() -> Self {
        let (billing, context_tokens) = (Billing::ByPrice, None);
        Self { name: "scripted", billing, context_tokens, state: Mutex::default() }
    }
}

#[derive(Default)]
struct State {
    script: VecDeque<Scripted>,
    requests: Vec<ModelRequest>,
    waiting: Vec<Waker>,
}

impl ScriptedModel {
    /// A model with this script.
    #[must_use]
    pub fn new(script: impl IntoIterator<Item = Scripted>) -> Self {
        let state = State { script: script.into_iter().collect(), ..State::default() };
        Self { state: Mutex::new(state), ..Self::default() }
    }

    /// The same under another name.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// The same, paid for in this way.
    #[must_use]
    pub fn paid(self, billing: Billing) -> Self {
        Self { billing, ..self }
    }

    /// The same, which reads at most so many tokens at once.
    #[must_use]
    pub fn reading(self, context_tokens: u32) -> Self {
        Self { context_tokens: Some(context_tokens), ..self }
    }

    /// Adds lines to the script.
    pub fn extend(&self, script: impl IntoIterator<Item = Scripted>) {
        self.lock().script.extend(script);
    }

    /// What was asked so far.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.lock().requests.clone()
    }

    /// Waits until the model was asked `times` times.
    pub fn asked(&self, times: usize) -> impl Future<Output = ()> + '_ {
        poll_fn(move |cx| {
            let mut state = self.lock();
            if state.requests.len() >= times {
                return Poll::Ready(());
            }
            state.waiting.push(cx.waker().clone());
            Poll::Pending
        })
    }

    fn next(&self, request: ModelRequest) -> Scripted {
        let mut state = self.lock();
        state.requests.push(request);
        state.waiting.drain(..).for_each(Waker::wake);
        state
            .script
            .pop_front()
            .unwrap_or_else(|| fails(ProviderErrorKind::BadRequest, "the script is over"))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("BUG: a test panicked while it held the script")
    }
}

impl ModelProvider for ScriptedModel {
    fn name(&self) -> &str {
        self.name
    }

    fn billing(&self) -> Billing {
        self.billing
    }

    fn context_tokens(&self, _model: &str) -> Option<u32> {
        self.context_tokens
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest,
        on_delta: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelAnswer, ProviderError>> {
        Box::pin(async move {
            match self.next(request) {
                Scripted::Answer(answer) => {
                    answer.parts.iter().filter_map(delta_of).for_each(on_delta);
                    Ok(answer)
                }
                Scripted::Failure(shown, error) => {
                    shown.into_iter().for_each(on_delta);
                    Err(error)
                }
                Scripted::Silence => std::future::pending().await,
            }
        })
    }
}

/// Ends with these words.
#[must_use]
pub fn says(text: &str) -> Scripted {
    Scripted::Answer(answer(vec![Part::Text { text: text.to_owned() }], StopReason::End))
}

/// Asks for these tools: `(call id, tool, arguments)`.
#[must_use]
pub fn calls(wanted: impl IntoIterator<Item = (&'static str, &'static str, Value)>) -> Scripted {
    let parts = wanted.into_iter().map(|(id, tool, arguments)| {
        Part::ToolCall(ToolCallRequest { id: id.to_owned(), tool: tool.to_owned(), arguments })
    });
    Scripted::Answer(answer(parts.collect(), StopReason::ToolCalls))
}

/// Fails before the first word.
#[must_use]
pub fn fails(kind: ProviderErrorKind, message: &str) -> Scripted {
    Scripted::Failure(Vec::new(), ProviderError::new(kind, message))
}

/// An answer of ten tokens sent and five received.
#[must_use]
pub fn answer(parts: Vec<Part>, stop: StopReason) -> ModelAnswer {
    let usage =
        Usage { input_tokens: 10, output_tokens: 5, cost_micro_usd: Some(1), ..Usage::NONE };
    ModelAnswer { parts, usage, model: "scripted-1".to_owned(), stop }
}

/// The same, whose tokens are a hundred times as many: as many as a real question takes.
#[must_use]
pub fn large(scripted: Scripted) -> Scripted {
    let Scripted::Answer(mut answer) = scripted else { return scripted };
    answer.usage.input_tokens *= 100;
    answer.usage.output_tokens *= 100;
    Scripted::Answer(answer)
}

fn delta_of(part: &Part) -> Option<Delta> {
    match part {
        Part::Text { text } => Some(Delta::Text(text.clone())),
        Part::ToolCall(call) => Some(Delta::ToolCall(call.tool.clone())),
        Part::Opaque { .. } => None,
    }
}
