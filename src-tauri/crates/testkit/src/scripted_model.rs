//! A model provider that replays a script.
//!
//! Owns the script and the requests. Never invents an answer: a request after the end of the script fails.

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

/// One entry of a script.
#[derive(Debug, Clone)]
pub enum Scripted {
    /// An answer, preceded by its deltas.
    Answer(ModelAnswer),
    /// A failure after these deltas.
    Failure(Vec<Delta>, ProviderError),
    /// Pends until the future is dropped.
    Silence,
}

/// A model provider that replays a script.
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
    /// A model with a script.
    #[must_use]
    pub fn new(script: impl IntoIterator<Item = Scripted>) -> Self {
        let state = State { script: script.into_iter().collect(), ..State::default() };
        Self { state: Mutex::new(state), ..Self::default() }
    }

    /// Sets the name.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// Sets the billing.
    #[must_use]
    pub fn paid(self, billing: Billing) -> Self {
        Self { billing, ..self }
    }

    /// Sets the size of the context window.
    #[must_use]
    pub fn reading(self, context_tokens: u32) -> Self {
        Self { context_tokens: Some(context_tokens), ..self }
    }

    /// Appends to the script.
    pub fn extend(&self, script: impl IntoIterator<Item = Scripted>) {
        self.lock().script.extend(script);
    }

    /// The requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.lock().requests.clone()
    }

    /// Waits for `times` requests in total.
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
            .unwrap_or_else(|| fails(ProviderErrorKind::BadRequest, "the script has ended"))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("BUG: the script is poisoned")
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

/// A final answer.
#[must_use]
pub fn says(text: &str) -> Scripted {
    Scripted::Answer(answer(vec![Part::Text { text: text.to_owned() }], StopReason::End))
}

/// An answer with tool calls: `(call id, tool, arguments)`.
#[must_use]
pub fn calls(calls: impl IntoIterator<Item = (&'static str, &'static str, Value)>) -> Scripted {
    let parts = calls.into_iter().map(|(id, tool, arguments)| {
        Part::ToolCall(ToolCallRequest { id: id.to_owned(), tool: tool.to_owned(), arguments })
    });
    Scripted::Answer(answer(parts.collect(), StopReason::ToolCalls))
}

/// A failure without deltas.
#[must_use]
pub fn fails(kind: ProviderErrorKind, message: &str) -> Scripted {
    Scripted::Failure(Vec::new(), ProviderError::new(kind, message))
}

/// An answer with 10 input and 5 output tokens.
#[must_use]
pub fn answer(parts: Vec<Part>, stop: StopReason) -> ModelAnswer {
    let usage =
        Usage { input_tokens: 10, output_tokens: 5, cost_micro_usd: Some(1), ..Usage::NONE };
    ModelAnswer { parts, usage, model: "scripted-1".to_owned(), stop }
}

/// Multiplies the tokens of an answer by 100, to a realistic number.
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
