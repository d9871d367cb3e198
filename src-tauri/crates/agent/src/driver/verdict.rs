//! What a job's condition says of the result of its tool call.
//!
//! Owns the moment: after the tool has answered, in the run itself, so that a slow condition holds up nobody else. The
//! verdict stands in the journal, and whoever wonders why nothing was told finds the reason there. It refuses to decide
//! what is told (`core::decide`).

use rouse_core::condition::Verdict;
use rouse_core::job::{NotifyWhen, ToolCall, state_to_json};
use rouse_core::run::{Outcome, Run};
use rouse_core::{Job, RunState};
use rouse_store::{Note, StoreError};
use serde_json::{Value, json};

use super::{AgentDriver, not_written};
use crate::condition::{Subject, event_of};

impl AgentDriver {
    /// The outcome with the verdict, if the job has a condition and the call went well.
    pub(super) async fn judged(
        &self,
        run: &Run,
        job: &Job,
        call: &ToolCall,
        outcome: Outcome,
    ) -> Outcome {
        let (NotifyWhen::Cel { source, .. }, Some(result)) = (&call.notify_when, &outcome.result)
        else {
            return outcome;
        };
        if outcome.state != RunState::Succeeded {
            return outcome;
        }
        let previous = match self.store.last_result(&job.id).await {
            Ok(previous) => previous.unwrap_or_default(),
            Err(error) => return not_written(&error),
        };
        let event = match self.store.cause(&run.id).await {
            Ok(cause) => cause.as_ref().map(event_of).unwrap_or_default(),
            Err(error) => return not_written(&error),
        };
        let state = state_to_json(&job.state);
        let subject = Subject { result: result.clone(), previous, state, event };
        let verdict = self.gate.conditions().judge(source, subject).await;
        match self.note_verdict(run, source, &verdict).await {
            Ok(()) => Outcome { verdict: Some(verdict), ..outcome },
            Err(error) => not_written(&error),
        }
    }

    async fn note_verdict(
        &self,
        run: &Run,
        source: &str,
        verdict: &Verdict,
    ) -> Result<(), StoreError> {
        let note = Note {
            run_id: &run.id,
            name: "Tell me when",
            input: json!({ "cel": source }),
            output: Some(Value::String(in_words(verdict))),
            is_error: matches!(verdict, Verdict::Broken(_)),
        };
        self.store.note(note, self.clock.now()).await
    }
}

fn in_words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Met => "The condition holds, so the result is told.".to_owned(),
        Verdict::NotMet => "The condition does not hold, so nobody is told.".to_owned(),
        Verdict::Broken(reason) => {
            format!("The condition could not be checked, so this is told: {reason}")
        }
    }
}
