//! How much of its conversation a run sends to its model.
//!
//! Owns the sum: what the model reads, less the instructions, the tools and room for its answer; and the smaller one
//! after a model has said that this was too much, which is how a window is found that nobody has written down. What gives
//! way is decided in `core::turn::window`. One could get it wrong by storing what is sent: the transcript stays whole.

use rouse_core::message::Message;
use rouse_core::tool::ToolSpec;
use rouse_core::turn::Turn;
use rouse_core::turn::window::Window;

/// What a model is taken to read when nobody has said it.
const USUAL_CONTEXT: u32 = 100_000;

/// Room for an answer when the job sets no bound.
const USUAL_ANSWER: u32 = 4_096;

/// The least that is sent: less is no conversation.
const LEAST: usize = 1_500;

/// What is sent of one conversation.
pub(super) struct Sent {
    window: Window,
    most: usize,
    is_shortened: bool,
}

impl Sent {
    /// Of a conversation whose task is the message at `task`, to a model that reads `context` tokens.
    pub(super) fn new(
        task: usize,
        context: Option<u32>,
        (system, tools): (&str, &[ToolSpec]),
        max_tokens: Option<u32>,
    ) -> Self {
        let context = context_of(context);
        let answer = max_tokens.unwrap_or(USUAL_ANSWER).min(context / 4);
        let fixed = system.len() / 3 + tools.iter().map(tokens).sum::<usize>();
        let most = usize::try_from(context - answer).unwrap_or(usize::MAX).saturating_sub(fixed);
        Self { window: Window::new(task), most: most.max(LEAST), is_shortened: false }
    }

    /// The messages that are sent now.
    pub(super) fn messages(&mut self, turn: &Turn) -> Vec<Message> {
        let said = turn.messages();
        let sent = self.window.within(said, self.most).to_vec();
        self.is_shortened = sent != said;
        sent
    }

    /// Whether what was sent last was less than what was said.
    pub(super) const fn is_shortened(&self) -> bool {
        self.is_shortened
    }

    /// Sends half of it from now on; false when that would be too little.
    pub(super) fn halve(&mut self, turn: &Turn) -> bool {
        let sent = self.messages(turn).iter().map(rouse_core::turn::window::tokens).sum::<usize>();
        let half = sent.min(self.most) / 2;
        if half < LEAST {
            return false;
        }
        self.most = half;
        true
    }
}

/// What a model is taken to read that says this of itself.
pub(super) fn context_of(said: Option<u32>) -> u32 {
    said.unwrap_or(USUAL_CONTEXT)
}

/// What a tool costs in each request; schemas are sent without much of what they say.
fn tokens(tool: &ToolSpec) -> usize {
    (tool.name.len() + tool.description.len() + tool.parameters.to_string().len()) / 4
}
