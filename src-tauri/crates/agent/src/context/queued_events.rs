//! The queued system events that a turn of the main session receives.
//!
//! Owns the batch of a turn and its text. A note in the journal names the batch before the first model call; the events
//! leave the queue only when the turn has succeeded. A failed turn leaves the events for the next turn; a turn that
//! waits for an approval keeps the events, so that no other turn handles them meanwhile. Pitfall: events that leave the
//! queue earlier are lost with a failing provider.

use rouse_core::run::{Outcome, Run};
use rouse_core::{RunState, UnixMs};
use rouse_store::{
    JournalNote, OLD_QUEUED_EVENTS_NOTE, QUEUED_EVENTS_NOTE, RunStep, StepKind, Store, StoreError,
    SystemEvent,
};
use serde_json::{Value, json};

use crate::safety::{Safety, UntrustedSource};

/// The most events of a turn. The next turn follows at once with the rest.
const MAX_EVENTS: u32 = 100;

/// The most characters of a turn's events.
const MAX_CHARACTERS: usize = 40_000;

/// The prefix of each event. No event holds an empty line, which is the separator.
pub(crate) const EVENT_PREFIX: &str = "System: ";

/// The events of a turn.
#[derive(Debug, Default)]
pub(crate) struct EventBatch {
    ids: Vec<i64>,
    /// The text of each event, untrusted input fenced.
    pub(crate) texts: Vec<String>,
    pub(crate) is_tainted: bool,
}

impl EventBatch {
    /// The oldest queued events, at least 1, and as many as fit.
    pub(crate) async fn next(store: &Store, safety: &Safety) -> Result<Self, StoreError> {
        let events = fitting(store.pending_system_events(MAX_EVENTS).await?);
        Ok(Self {
            ids: events.iter().map(|event| event.id).collect(),
            texts: events.iter().map(|event| event_text(safety, event)).collect(),
            is_tainted: events.iter().any(|event| event.is_tainted),
        })
    }

    /// The batch of the run before a break, without texts.
    pub(crate) fn of_journal(steps: &[RunStep]) -> Self {
        let notes = || steps.iter().filter(|step| step.kind == StepKind::Note);
        let batches = notes().filter(|note| is_events_note(note));
        let ids = batches.filter_map(|note| note.input.get("ids")?.as_array());
        Self {
            ids: ids.flatten().filter_map(Value::as_i64).collect(),
            texts: Vec::new(),
            is_tainted: notes().any(is_tainted_note),
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Notes the batch in the journal, so that the run knows the batch after a break.
    pub(crate) async fn note(
        &self,
        store: &Store,
        run: &Run,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        if self.is_empty() {
            return Ok(());
        }
        let note = JournalNote {
            run_id: &run.id,
            name: QUEUED_EVENTS_NOTE,
            input: json!({ "ids": self.ids, "fromOutside": self.is_tainted }),
            output: None,
            is_error: false,
        };
        store.add_note(note, now).await
    }

    /// Removes the batch from the queue after a successful turn.
    pub(crate) async fn drain(
        &self,
        store: &Store,
        run: &Run,
        outcome: &Outcome,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let has_succeeded =
            matches!(outcome.state, RunState::Succeeded | RunState::NothingToReport);
        if self.is_empty() || !has_succeeded {
            return Ok(());
        }
        store.drain_system_events(&run.id, &self.ids, now).await
    }
}

/// Whether a note of the journal marks untrusted input. Old notes of events have no mark; their events were all
/// untrusted.
fn is_tainted_note(note: &RunStep) -> bool {
    let mark = note.input.get("fromOutside").and_then(Value::as_bool);
    mark.unwrap_or_else(|| is_events_note(note))
}

fn is_events_note(note: &RunStep) -> bool {
    [QUEUED_EVENTS_NOTE, OLD_QUEUED_EVENTS_NOTE].contains(&note.name.as_str())
}

fn fitting(mut events: Vec<SystemEvent>) -> Vec<SystemEvent> {
    let mut left = MAX_CHARACTERS;
    let fits = |event: &&SystemEvent| {
        let has_room = left > 0;
        left = left.saturating_sub(event.text.chars().count());
        has_room
    };
    let count = events.iter().take(MAX_EVENTS as usize).take_while(fits).count();
    events.truncate(count);
    events
}

fn event_text(safety: &Safety, event: &SystemEvent) -> String {
    // A line break inside an event must not look like the beginning of another event.
    let text = event.text.trim().replace('\n', "\n  ");
    if event.is_tainted {
        safety.fence_text_with_lead(
            UntrustedSource::SystemEvent(&event.source),
            EVENT_PREFIX,
            &text,
        )
    } else {
        format!("{EVENT_PREFIX}{}", safety.redact_stored(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turn_receives_the_oldest_events_that_fit() {
        let events = |lengths: &[usize]| -> Vec<SystemEvent> {
            let event = |length: &usize| SystemEvent {
                id: 0,
                text: "x".repeat(*length),
                source: "wake".to_owned(),
                queued_at: UnixMs(0),
                is_tainted: false,
            };
            lengths.iter().map(event).collect()
        };
        assert_eq!(fitting(events(&[1; 500])).len(), MAX_EVENTS as usize);
        assert_eq!(fitting(events(&[30_000, 9_999, 9_999, 9_999])).len(), 3);
        assert_eq!(fitting(events(&[90_000, 1])).len(), 1, "a single event always fits");
    }
}
