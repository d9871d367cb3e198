//! What every turn of the main session has in common, a person's and a heartbeat's.
//!
//! Owns the conversation of such a turn, and the lines that are queued for it: which of them a turn is shown is in the
//! journal before anything is said, and they leave the queue when that turn has come to its end. A turn that failed
//! leaves them for the next; one that waits for a person keeps them for itself, so that no other deals with them
//! meanwhile. One could get it wrong by taking them out as soon as they are shown: a provider that fails would lose them.

use std::time::Duration;

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
use super::compaction::SUMMARY_FOR;
use super::context::{environment, question_for};
use super::conversation::{Conversation, Opening, ended_early};
use super::resume::Journal;
use super::skilled::{self, Told};
use super::{AgentDriver, not_written};
use crate::gate::Terms;
use crate::models::Lineup;
use crate::safety::{Outside, Safety};

/// Lines and characters that one turn is shown. What is left waits for the next turn, which follows at once.
pub(super) const MOST_LINES: u32 = 100;
const MOST_CHARACTERS: usize = 40_000;

/// How a turn begins, and what of the queue it was shown.
pub(super) struct Begun {
    pub(super) opening: Opening,
    pub(super) shown: Vec<i64>,
    /// Whether anything of what it was told may be somebody else's words.
    pub(super) knows_outside: bool,
    pub(super) told: Told,
    pub(super) journal: Journal,
    pub(super) context: ToolContext,
}

/// Who a turn is for.
pub(super) struct Manner {
    pub(super) system: String,
    /// Whether the person is there: then tools that only they may start are offered, and nobody has to say that it is over.
    pub(super) is_attended: bool,
}

impl Manner {
    fn policy(&self) -> ToolPolicy {
        let policy = ToolPolicy::default();
        if self.is_attended { policy.attended() } else { policy }
    }
}

impl AgentDriver {
    /// Talks until the turn is over, waits or has failed.
    pub(super) async fn talk_in_main(
        &self,
        run: &Run,
        models: &Lineup,
        begun: Begun,
        manner: Manner,
        cancel: &CancellationToken,
    ) -> Outcome {
        let session = SessionKey::main();
        let Begun { opening, shown, knows_outside, told, journal, context } = begun;
        let policy = told.lower(manner.policy());
        let account = self.account(run, None);
        let offered = self.offered_in_main(&policy, manner.is_attended);
        let mut conversation = Conversation {
            driver: self,
            session: &session,
            asked: Asked::of(&journal, models),
            journal,
            models,
            account: account.clone(),
            system: manner.system
                + &environment(&context, &offered)
                + &told.instructions(&offered, self.gate.safety()),
            offered,
            terms: Terms {
                rate_limit_wait: Duration::ZERO,
                account: Some(account),
                policy,
                question_for: question_for(None),
                knows_outside: knows_outside || told.is_from_outside(),
            },
            limits: TurnLimits { max_steps: self.max_steps(None), is_attended: manner.is_attended },
            summary_for: SUMMARY_FOR,
            max_tokens: None,
            effort: None,
            quiet_hours: QuietPolicy::Respect,
            context: &context,
            cancel,
        };
        let opening = match opening {
            Opening::Fresh(task) => match conversation.read_skills(&told.skills).await {
                Ok(texts) => Opening::Fresh(skilled::with(task, &texts)),
                Err(end) => return ended_early(&end),
            },
            again @ Opening::Again(..) => again,
        };
        // A summary is paid for: only when the turn can begin.
        let recalled = match conversation.recall(matches!(opening, Opening::Fresh(..))).await {
            Ok(recalled) => recalled,
            Err(end) => return ended_early(&end),
        };
        let outcome = conversation.conduct(recalled, opening).await;
        self.drained(run, &shown, outcome).await
    }

    /// A person ends a conversation by themselves.
    fn offered_in_main(&self, policy: &ToolPolicy, is_attended: bool) -> Vec<ToolSpec> {
        let mut offered = self.gate.tools().offered(policy);
        offered.retain(|tool| !is_attended || tool.name != "complete_run");
        offered
    }

    /// Before anything is said, so that a turn which goes on later knows it.
    pub(super) async fn note_shown(
        &self,
        run: &Run,
        events: &[SystemEvent],
    ) -> Result<(), StoreError> {
        if events.is_empty() {
            return Ok(());
        }
        let shown: Vec<i64> = events.iter().map(|event| event.id).collect();
        let from_outside = are_from_outside(events);
        let note = Note {
            run_id: &run.id,
            name: QUEUED_LINES,
            input: json!({ "ids": shown, "fromOutside": from_outside }),
            output: None,
            is_error: false,
        };
        self.store.note(note, self.clock.now()).await
    }

    /// The outcome, after what a turn with an answer was shown has left the queue.
    async fn drained(&self, run: &Run, shown: &[i64], outcome: Outcome) -> Outcome {
        let has_answered = matches!(outcome.state, RunState::Succeeded | RunState::NothingToReport);
        if shown.is_empty() || !has_answered {
            return outcome;
        }
        match self.store.drain_system_events(&run.id, shown, self.clock.now()).await {
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

/// Whether somebody else than the person may have written one of these lines.
pub(super) fn are_from_outside(events: &[SystemEvent]) -> bool {
    events.iter().any(|event| event.from_outside)
}

/// Whether the turn was told before its break what somebody else may have written.
pub(super) fn knew_outside(steps: &[RunStep]) -> bool {
    let notes = steps.iter().filter(|step| step.kind == StepKind::Note);
    notes.filter_map(told_outside).any(|told| told)
}

/// What a note says of that. The lines of turns that began before notes said it were all from outside.
fn told_outside(note: &RunStep) -> Option<bool> {
    let said = note.input.get("fromOutside").and_then(serde_json::Value::as_bool);
    said.or_else(|| (note.name == QUEUED_LINES).then_some(true))
}

/// The oldest lines that fit into one turn; at least one.
pub(super) fn bounded(mut events: Vec<SystemEvent>) -> Vec<SystemEvent> {
    let mut left = MOST_CHARACTERS;
    let fitting = events.iter().take(MOST_LINES as usize).take_while(|event| {
        let before = left;
        left = left.saturating_sub(event.text.chars().count());
        before > 0
    });
    let count = fitting.count();
    events.truncate(count);
    events
}

/// What each of them begins with. None holds an empty line, which is what stands between them.
pub(super) const LEAD: &str = "System: ";

/// The queued lines, as a model is shown them: in their order, and what the person has not written between marks that say
/// where it comes from.
pub(super) fn lines(safety: &Safety, events: &[SystemEvent]) -> Vec<String> {
    let line = |event: &SystemEvent| {
        // A line break inside an event must not look like the beginning of another one.
        let text = event.text.trim().replace('\n', "\n  ");
        match event.from_outside {
            true => safety.incoming_line(Outside::Line(&event.source), LEAD, &text).told,
            false => format!("{LEAD}{}", safety.words(&text)),
        }
    };
    events.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use rouse_core::UnixMs;

    use super::*;

    #[test]
    fn a_turn_is_shown_the_oldest_lines_that_fit() {
        let events = |lengths: &[usize]| -> Vec<SystemEvent> {
            let event = |length: &usize| SystemEvent {
                id: 0,
                text: "x".repeat(*length),
                source: "wake".to_owned(),
                queued_at: UnixMs(0),
                from_outside: false,
            };
            lengths.iter().map(event).collect()
        };
        assert_eq!(bounded(events(&[1; 500])).len(), MOST_LINES as usize);
        assert_eq!(bounded(events(&[30_000, 9_999, 9_999, 9_999])).len(), 3);
        assert_eq!(bounded(events(&[90_000, 1])).len(), 1, "one line is always shown");
    }
}
