//! The chat turn: an attended turn of the main session that answers a person's message.
//!
//! The queued events stand before the message. A call that needs an approval parks the run, like in any other run.

use rouse_core::SessionKey;
use rouse_core::message::Message;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::ToolContext;
use tokio_util::sync::CancellationToken;

use super::main_session::{MainTurn, MainTurnKind};
use super::{AgentDriver, SANDBOXED, require_model};
use crate::context::prompt::{named_hosts, time_line};
use crate::context::queued_events::EventBatch;
use crate::providers::model_choice::RunModels;
use crate::turn::conversation::Opening;
use crate::turn::end::TurnEnd;
use crate::turn::journal::Journal;

const CHAT_PROMPT: &str = include_str!("../../prompts/chat.md");

impl AgentDriver {
    /// Answers `text`, a person's message to the main session.
    pub async fn run_chat_turn(
        &self,
        run: &Run,
        text: &str,
        models: impl Into<RunModels>,
        cancel: &CancellationToken,
    ) -> Outcome {
        let models = models.into();
        let driver = self.for_run();
        let turn = match driver.chat_turn(run, text, &models).await {
            Ok(turn) => turn,
            Err(end) => return end.into_outcome(),
        };
        let kind = MainTurnKind { instructions: CHAT_PROMPT.to_owned(), is_attended: true };
        driver.run_in_main(run, &models, turn, kind, cancel).await
    }

    async fn chat_turn(
        &self,
        run: &Run,
        text: &str,
        models: &RunModels,
    ) -> Result<MainTurn, TurnEnd> {
        let store = &self.runtime.store;
        let earlier = store.messages_of_run(&SessionKey::main(), &run.id).await?;
        require_model(models, &earlier)?;
        let steps = store.complete_journal(&run.id).await?;
        let skills = self.load_main_skills(&steps).await?;
        let tool_context = ToolContext {
            named_hosts: named_hosts(text),
            skills: skills.in_run(),
            ..self.tool_context(run, None, SANDBOXED)
        };
        let (opening, events) = if earlier.is_empty() {
            let safety = self.runtime.gate.safety();
            let events = EventBatch::next(store, safety).await?;
            events.note(store, run, self.runtime.now()).await?;
            let mut parts = events.texts.clone();
            // A secret may be newer than the message.
            parts.extend([time_line(run, &tool_context), safety.redact_stored(text)]);
            (Opening::Task(Message::User { text: parts.join("\n\n") }), events)
        } else {
            (Opening::Resumed(earlier), EventBatch::of_journal(&steps))
        };
        Ok(MainTurn {
            opening,
            is_tainted: events.is_tainted,
            events,
            skills,
            journal: Journal::new(steps, run.attempt),
            tool_context,
        })
    }
}
