//! Doubles of model vendors: servers that refuse what the vendor refuses and count tokens as the vendor counts them.
//!
//! Owns the script and the refusals. The vendors are data (`table`); `rules` checks requests, `answers` encodes answers, and
//! `prompt_cache` counts cached tokens. Pitfall: a double that accepts a bad request proves nothing, so a request after the end of the
//! script is refused too.

mod answers;
mod prompt_cache;
mod rules;
mod table;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::fake_model::{FakeModel, Recorded, Reply};

pub use prompt_cache::PromptUsage;
pub use table::{
    ANTHROPIC, CLAUDE_AT_WORK, LM_STUDIO, OLLAMA, OPENAI, OPENROUTER, STRICT_TEXT,
    UNPARSED_REASONER, VENDORS,
};

use prompt_cache::PrefixCache;
use rules::VendorRules;

/// The key that every vendor with keys accepts.
pub const VENDOR_KEY: &str = "sk-test-0123456789abcdefghijklmnop";

/// The wire format of a vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VendorWire {
    /// Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
}

/// Facts about one vendor.
#[derive(Debug)]
pub struct ModelVendor {
    /// The name of the provider in the settings.
    pub name: &'static str,
    /// The kind of the provider in the settings.
    pub kind: &'static str,
    /// The path of the base URL.
    pub base: &'static str,
    /// The model in the settings.
    pub model: &'static str,
    /// Whether a person runs the server without a key.
    pub is_local: bool,
    wire: VendorWire,
    /// Reasoning before the text of every answer.
    reasoning: &'static str,
    /// Whether the usage contains the cost.
    reports_cost: bool,
    rules: VendorRules,
}

/// One answer of the script.
#[derive(Debug, Clone)]
pub enum VendorTurn {
    /// Text.
    Says(String),
    /// A call of one tool.
    Calls(&'static str, Value),
}

impl VendorTurn {
    /// An answer of text.
    #[must_use]
    pub fn says(text: &str) -> Self {
        Self::Says(text.to_owned())
    }
}

/// A running double.
pub struct VendorDouble {
    vendor: &'static ModelVendor,
    server: FakeModel,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    script: VecDeque<VendorTurn>,
    cache: PrefixCache,
    refusals: Vec<String>,
    usage: Vec<PromptUsage>,
}

impl ModelVendor {
    /// Starts a double of this vendor on loopback.
    #[must_use]
    pub fn start(&'static self) -> VendorDouble {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let server = FakeModel::start(move |request| self.answer(request, &mut lock(&shared)));
        VendorDouble { vendor: self, server, state }
    }

    fn answer(&self, request: &Recorded, state: &mut State) -> Reply {
        let body = request.json();
        let rejection = rules::rejection_of(self, request, &body);
        let turn = if rejection.is_none() { state.script.pop_front() } else { None };
        let Some(turn) = turn else {
            let (status, message) = rejection.unwrap_or((500, "The script has ended.".to_owned()));
            state.refusals.push(format!("HTTP {status}: {message} {}", request.body));
            return answers::refusal(self.wire, status, &message);
        };
        let usage = state.cache.charge(&body, answers::output_tokens(&turn));
        state.usage.push(usage);
        answers::stream(self, state.usage.len(), &turn, usage)
    }
}

impl VendorDouble {
    /// The settings for this server as the model provider.
    #[must_use]
    pub fn settings(&self) -> String {
        let ModelVendor { name, kind, base, model, is_local, .. } = self.vendor;
        let key = if *is_local { "" } else { "keyEnv = \"VENDOR_KEY\"\n" };
        let url = self.server.url();
        format!(
            "[providers.{name}]\nkind = \"{kind}\"\nbaseUrl = \"{url}{base}\"\nmodel = \"{model}\"\n{key}"
        )
    }

    /// Adds answers to the script.
    pub fn will(&self, turns: impl IntoIterator<Item = VendorTurn>) {
        lock(&self.state).script.extend(turns);
    }

    /// The bodies of the requests so far.
    #[must_use]
    pub fn bodies(&self) -> Vec<Value> {
        self.server.bodies()
    }

    /// The refused requests, each with the reason.
    #[must_use]
    pub fn refusals(&self) -> Vec<String> {
        lock(&self.state).refusals.clone()
    }

    /// The usage of all answers so far.
    #[must_use]
    pub fn usage(&self) -> PromptUsage {
        lock(&self.state).usage.iter().fold(PromptUsage::default(), |sum, one| sum.plus(*one))
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
