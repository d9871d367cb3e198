//! A turn of the main session that answers what a person has written.
//!
//! Owns what is different when the person is there: tools that only they may start are offered, an answer may be a
//! question, and a call that needs a yes parks the run like any other. What is said is stored step by step, so the turn
//! goes on where it was after an answer to a question, and after a break. The lines that were queued for the main session
//! are shown before the person's words.

use rouse_core::SessionKey;
use rouse_core::message::Message;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::ToolContext;
use tokio_util::sync::CancellationToken;

use super::context::{named_hosts, time_line};
use super::conversation::{End, Opening, ended_early, has_answer};
use super::main_session::{
    Begun, MOST_LINES, Manner, are_from_outside, bounded, knew_outside, lines, shown_before,
};
use super::resume::Journal;
use super::{AgentDriver, without_model};
use crate::models::Lineup;

const CHAT: &str = include_str!("../../prompts/chat.md");

impl AgentDriver {
    /// Answers `text`, which a person has written to the main session.
    pub async fn run_chat_turn(
        &self,
        run: &Run,
        text: &str,
        models: impl Into<Lineup>,
        cancel: &CancellationToken,
    ) -> Outcome {
        let models = models.into();
        let named_hosts = named_hosts(text);
        let context = ToolContext { named_hosts, ..self.tool_context(run, None, super::CONFINED) };
        let begun = match self.begin_chat(run, text, context, &models).await {
            Ok(begun) => begun,
            Err(end) => return ended_early(&end),
        };
        let manner = Manner { system: CHAT.to_owned(), is_attended: true };
        self.talk_in_main(run, &models, begun, manner, cancel).await
    }

    async fn begin_chat(
        &self,
        run: &Run,
        text: &str,
        context: ToolContext,
        models: &Lineup,
    ) -> Result<Begun, End> {
        let said = self.store.messages_of(&SessionKey::main(), &run.id).await?;
        if models.first().is_none() && !has_answer(&said) {
            return Err(End::NoModel(Box::new(without_model(models))));
        }
        let steps = self.store.whole_journal(&run.id).await?;
        let told = match self.told_of(&self.main_skills, &SessionKey::main(), &steps).await {
            Ok(told) => told,
            Err(outcome) => return Err(End::Untold(outcome.error.unwrap_or_default())),
        };
        let (opening, shown, knows_outside) = if said.is_empty() {
            let events = bounded(self.store.pending_system_events(MOST_LINES).await?);
            let shown: Vec<i64> = events.iter().map(|event| event.id).collect();
            self.note_shown(run, &events).await?;
            let lines = lines(self.gate.safety(), &events);
            // It may have been written before the secret in it was stored.
            let task = task(lines, &self.gate.safety().words(text), run, &context);
            (Opening::Fresh(task), shown, are_from_outside(&events))
        } else {
            (Opening::Again(said), shown_before(&steps), knew_outside(&steps))
        };
        let context = ToolContext { skills: told.in_run(), ..context };
        let journal = Journal::of(steps, run.attempt);
        Ok(Begun { opening, shown, knows_outside, told, journal, context })
    }
}

/// What happened, when it is, and what the person wrote, in this order.
fn task(mut parts: Vec<String>, text: &str, run: &Run, context: &ToolContext) -> Message {
    parts.extend([time_line(run, context), text.to_owned()]);
    Message::User { text: parts.join("\n\n") }
}
