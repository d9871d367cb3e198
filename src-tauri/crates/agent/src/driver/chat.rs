//! A turn of the main session that answers what a person has written.
//!
//! Owns what is different when the person is there: tools that only they may start are offered, an answer may be a
//! question, and a call that needs a yes parks the run like any other. What is said is stored step by step, so the turn
//! goes on where it was after an answer to a question, and after a break. The lines that were queued for the main session
//! are shown before the person's words; which ones is in the journal, and they leave the queue when the answer has come
//! to its end. One could get it wrong by taking them out as soon as they are shown: a provider that fails would lose them.

use rouse_core::message::Message;
use rouse_core::policy::ToolPolicy;
use rouse_core::quiet::QuietPolicy;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::{ToolContext, ToolSpec};
use rouse_core::turn::TurnLimits;
use rouse_core::{RunState, SessionKey};
use rouse_store::{Note, QUEUED_LINES, RunStep, StepKind, StoreError, SystemEvent};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::asking::Asked;
use super::context::{named_hosts, question_for, time_line};
use super::conversation::{Conversation, End, Opening, ended_early};
use super::main_turn::{bounded, lines};
use super::resume::Journal;
use super::skilled::{self, Told};
use super::{AgentDriver, history, not_written, without_model};
use crate::gate::Terms;
use crate::models::Lineup;

const CHAT: &str = include_str!("../../prompts/chat.md");

/// How a turn begins, and what of the queue it was shown.
struct Begun {
    opening: Opening,
    history: Vec<Message>,
    shown: Vec<i64>,
    knows_outside: bool,
    told: Told,
    journal: Journal,
}

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
        if models.first().is_none() {
            return without_model(&models);
        }
        let named_hosts = named_hosts(text);
        let context = ToolContext { named_hosts, ..self.tool_context(run, None, super::CONFINED) };
        let session = SessionKey::main();
        let begun = match self.begin_chat(run, text, &context).await {
            Ok(begun) => begun,
            Err(end) => return ended_early(&end),
        };
        let context = ToolContext { skills: begun.told.in_run(), ..context };
        let policy = begun.told.lower(ToolPolicy::default().attended());
        let account = self.account(run, None);
        let conversation = Conversation {
            driver: self,
            session: &session,
            journal: begun.journal,
            models: &models,
            asked: Asked::default(),
            account: account.clone(),
            system: CHAT.to_owned() + &begun.told.instructions(self.gate.safety()),
            offered: self.offered_in_chat(&policy),
            terms: Terms {
                account: Some(account),
                policy,
                question_for: question_for(None),
                knows_outside: begun.knows_outside,
            },
            limits: TurnLimits { max_steps: self.max_steps(None), is_attended: true },
            max_tokens: None,
            quiet_hours: QuietPolicy::Respect,
            context: &context,
            cancel,
        };
        let opening = match begun.opening {
            Opening::Fresh(task) => match conversation.read_skills(&begun.told.skills).await {
                Ok(texts) => Opening::Fresh(skilled::with(task, &texts)),
                Err(end) => return ended_early(&end),
            },
            again @ Opening::Again(..) => again,
        };
        let outcome = conversation.conduct(begun.history, opening).await;
        match outcome.state {
            RunState::Succeeded | RunState::NothingToReport => {
                self.drained(run, &begun.shown, outcome).await
            }
            _ => outcome,
        }
    }

    /// A person ends a conversation by themselves.
    fn offered_in_chat(&self, policy: &ToolPolicy) -> Vec<ToolSpec> {
        let mut offered = self.gate.tools().offered(policy);
        offered.retain(|tool| tool.name != "complete_run");
        offered
    }

    async fn begin_chat(&self, run: &Run, text: &str, context: &ToolContext) -> Result<Begun, End> {
        let session = SessionKey::main();
        let steps = self.store.steps(&run.id).await?;
        let told = match self.told_of(&self.main_skills, &steps).await {
            Ok(told) => told,
            Err(outcome) => return Err(End::Skill(outcome.error.unwrap_or_default())),
        };
        let history = history::of_session(&self.store, &session, &run.id).await?;
        let remembers = self.remembers_outside(&session).await?;
        let said = self.store.messages_of(&session, &run.id).await?;
        let (opening, shown) = if said.is_empty() {
            let events = bounded(self.store.pending_system_events().await?);
            let shown: Vec<i64> = events.iter().map(|event| event.id).collect();
            self.note_shown(run, &shown).await?;
            (Opening::Fresh(task(&events, text, run, context)), shown)
        } else {
            (Opening::Again(said), shown_before(&steps))
        };
        let knows_outside = remembers || !shown.is_empty() || told.is_from_outside();
        let journal = Journal::of(steps, run.attempt);
        Ok(Begun { opening, history, shown, knows_outside, told, journal })
    }

    /// Before anything is said, so that a turn which goes on later knows it.
    pub(super) async fn note_shown(&self, run: &Run, shown: &[i64]) -> Result<(), StoreError> {
        if shown.is_empty() {
            return Ok(());
        }
        let note = Note {
            run_id: &run.id,
            name: QUEUED_LINES,
            input: json!({ "ids": shown }),
            output: None,
            is_error: false,
        };
        self.store.note(note, self.clock.now()).await
    }

    pub(super) async fn drained(&self, run: &Run, shown: &[i64], outcome: Outcome) -> Outcome {
        if shown.is_empty() {
            return outcome;
        }
        match self.store.store_main_turn(&run.id, &[], shown, self.clock.now()).await {
            Ok(()) => outcome,
            Err(error) => {
                let Outcome { usage, model, .. } = outcome;
                Outcome { usage, model, may_pass: false, ..not_written(&error) }
            }
        }
    }
}

/// The lines that the turn was shown before its break.
pub(super) fn shown_before(steps: &[RunStep]) -> Vec<i64> {
    let notes =
        steps.iter().filter(|step| step.kind == StepKind::Note && step.name == QUEUED_LINES);
    let ids = notes.filter_map(|step| step.input.get("ids")?.as_array());
    ids.flatten().filter_map(serde_json::Value::as_i64).collect()
}

/// What happened, when it is, and what the person wrote, in this order.
fn task(events: &[SystemEvent], text: &str, run: &Run, context: &ToolContext) -> Message {
    let parts: Vec<String> =
        lines(events).chain([time_line(run, context), text.to_owned()]).collect();
    Message::User { text: parts.join("\n\n") }
}
