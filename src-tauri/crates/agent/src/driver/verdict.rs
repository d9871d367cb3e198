//! What a job's condition says of the result of its tool call.
//!
//! Owns the moment: after the tool has answered, in the run itself, so that a slow condition holds up nobody else. The
//! verdict stands in the journal, and whoever wonders why nothing was told finds the reason there. It refuses to decide
//! what is told (`core::decide`).

use rouse_core::condition::Verdict;
use rouse_core::decide::incident_step;
use rouse_core::incident::IncidentStep;
use rouse_core::job::{Notify, NotifyWhen, ToolCall, state_to_json};
use rouse_core::run::{Outcome, Run};
use rouse_core::{Job, RunState};
use rouse_store::{Note, StoreError};
use serde_json::{Value, json};

use super::context::in_words;
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
        let outcome = Outcome { verdict: Some(verdict), ..outcome };
        match self.note_verdict(run, job, source, &outcome).await {
            Ok(()) => outcome,
            Err(error) => not_written(&error),
        }
    }

    async fn note_verdict(
        &self,
        run: &Run,
        job: &Job,
        source: &str,
        outcome: &Outcome,
    ) -> Result<(), StoreError> {
        let said = match &outcome.verdict {
            None => return Ok(()),
            Some(Verdict::Met) => "The condition holds, so the result is told.".to_owned(),
            Some(Verdict::NotMet) => "The condition does not hold, so nobody is told.".to_owned(),
            Some(Verdict::Broken(reason)) => {
                let follows = self.what_follows(job, outcome).await?;
                format!("The condition could not be checked{follows}: {reason}")
            }
        };
        let note = Note {
            run_id: &run.id,
            name: "Tell me when",
            input: json!({ "cel": source }),
            output: Some(Value::String(said)),
            is_error: matches!(outcome.verdict, Some(Verdict::Broken(_))),
        };
        self.store.note(note, self.clock.now()).await
    }

    /// What becomes of a result that could not be checked: an incident is told when it begins, unless its job tells of every
    /// run, or of none that went well.
    async fn what_follows(&self, job: &Job, outcome: &Outcome) -> Result<String, StoreError> {
        let notify = job.policies.notify.unwrap_or_default();
        if matches!(notify, Notify::Never | Notify::Failure) {
            return Ok(". It counts as an incident, and its job tells nobody of it".to_owned());
        }
        let open = self.store.open_incidents(Some(&job.id)).await?;
        let told = match incident_step(Some(job), outcome, &open, self.clock.now()) {
            IncidentStep::GoesOn { id } if notify != Notify::Always => {
                open.iter().find(|incident| incident.id == id)
            }
            _ => None,
        };
        Ok(told.map_or_else(
            || ", so this is told".to_owned(),
            |incident| {
                let at = in_words(incident.opened_at, self.zone_of(Some(job)));
                format!(". It counts as an incident that was told on {at}")
            },
        ))
    }
}
