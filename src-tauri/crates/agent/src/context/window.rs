//! The part of a conversation that fits a model's context window.
//!
//! Owns the budget of a request: the context window less the instructions, the tools and room for the answer. Halved
//! after an overlong request, which finds the unconfigured window of a model. `core::turn::window` decides which
//! messages are shortened. Pitfall: never store the shortened messages; the transcript stays whole.

use rouse_core::message::Message;
use rouse_core::turn::Turn;
use rouse_core::turn::window::{ContextWindow, estimate_tokens};

use super::prompt::ModelPrompt;
use crate::providers::model_choice::RunModels;

/// The context window of a model that reports none, in tokens.
const DEFAULT_CONTEXT: u32 = 100_000;

/// Room for an answer when the job sets no output limit.
const DEFAULT_ANSWER: u32 = 4_096;

/// The smallest useful conversation in tokens.
const MIN_TOKENS: usize = 1_500;

/// The messages of a conversation, as sent to a model.
pub(crate) struct RequestWindow {
    window: ContextWindow,
    max_tokens: usize,
    is_shortened: bool,
}

impl RequestWindow {
    /// `task_index` is the index of the task among the messages; `context` is the model's context window in tokens.
    pub(crate) fn new(task_index: usize, context: Option<u32>, prompt: &ModelPrompt) -> Self {
        let context = context_tokens(context);
        let answer = prompt.max_tokens.unwrap_or(DEFAULT_ANSWER).min(context / 4);
        let max_tokens = usize::try_from(context - answer).unwrap_or(usize::MAX);
        let max_tokens = max_tokens.saturating_sub(prompt.tokens()).max(MIN_TOKENS);
        Self { window: ContextWindow::new(task_index), max_tokens, is_shortened: false }
    }

    /// The messages to send now, beside found tools of `found_tokens` tokens.
    pub(crate) fn messages(&mut self, turn: &Turn, found_tokens: usize) -> Vec<Message> {
        let messages = turn.messages();
        let sent = self.window.fit(messages, self.room_beside(found_tokens)).to_vec();
        self.is_shortened = sent != messages;
        sent
    }

    /// Whether the last messages were shortened.
    pub(crate) const fn is_shortened(&self) -> bool {
        self.is_shortened
    }

    /// Halves the window; false when the rest would be too small.
    pub(crate) fn halve(&mut self, turn: &Turn, found_tokens: usize) -> bool {
        let sent = self.messages(turn, found_tokens).iter().map(estimate_tokens).sum::<usize>();
        let half = sent.min(self.room_beside(found_tokens)) / 2;
        if half < MIN_TOKENS {
            return false;
        }
        self.max_tokens = half + found_tokens;
        true
    }

    fn room_beside(&self, found_tokens: usize) -> usize {
        self.max_tokens.saturating_sub(found_tokens).max(MIN_TOKENS)
    }
}

/// The context window of a model that reports `reported` tokens.
#[must_use]
pub fn context_tokens(reported: Option<u32>) -> u32 {
    reported.unwrap_or(DEFAULT_CONTEXT)
}

/// The context window of the first model in tokens.
pub(crate) fn first_context_tokens(models: &RunModels) -> u32 {
    let first = models.first();
    context_tokens(first.and_then(|model| model.provider.context_tokens(&model.model)))
}
