//! Doubles of model vendors: servers that refuse what the vendor refuses and count tokens as the vendor counts them.
//!
//! Owns the script and the refusals. The vendors are data (`table`); `rules` checks requests, `answers` encodes answers, and
//! `prompt_cache` counts cached tokens. Pitfall: a double that accepts a bad request proves nothing, so a request after the end of the
//! script is refused too.

mod answers;
mod definition;
mod prompt_cache;
mod rules;
mod table;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::fake_model::{FakeModel, Recorded, Reply};

pub use definition::{ModelVendor, VENDOR_KEY, VendorTurn, VendorWire};
pub use prompt_cache::PromptUsage;
pub use table::{
    ANTHROPIC, CLAUDE_AT_WORK, LM_STUDIO, OLLAMA, OPENAI, OPENROUTER, STRICT_TEXT,
    UNPARSED_REASONER, VENDORS,
};

use prompt_cache::PrefixCache;

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
