//! The verdict of a job's notify condition on the result of the tool call.
//!
//! Evaluated in the run itself, after the call, so that a slow condition delays no other run. A note in the journal
//! explains the verdict. Never decides what is announced (`core::decide`).

use rouse_core::condition::ConditionVerdict;
use rouse_core::decide::incident_step;
use rouse_core::incident::IncidentStep;
use rouse_core::job::{Notify, NotifyWhen, ToolCall, to_json};
use rouse_core::run::{Outcome, Run};
use rouse_core::{Job, RunState};
use rouse_store::{JournalNote, StoreError};
use serde_json::{Value, json};

use super::AgentDriver;
use crate::condition::{ConditionInput, event_variable};
use crate::context::prompt::instant_text;

impl AgentDriver {
    /// The outcome with the verdict, if the job has a condition and the call has succeeded.
    pub(super) async fn with_verdict(
        &self,
        run: &Run,
        job: &Job,
        call: &ToolCall,
        outcome: Outcome,
    ) -> Result<Outcome, StoreError> {
        let (NotifyWhen::Condition(condition), Some(result)) = (&call.notify_when, &outcome.result)
        else {
            return Ok(outcome);
        };
        if outcome.state != RunState::Succeeded {
            return Ok(outcome);
        }
        let store = &self.runtime.store;
        let subject = ConditionInput {
            result: result.clone(),
            previous: store.last_result(&job.id).await?.unwrap_or_default(),
            state: to_json(&job.state),
            event: store.cause(&run.id).await?.as_ref().map(event_variable).unwrap_or_default(),
        };
        let verdict = self.runtime.gate.conditions().evaluate(&condition.cel, subject).await;
        let outcome = Outcome { verdict: Some(verdict), ..outcome };
        self.note_verdict(run, job, &condition.cel, &outcome).await?;
        Ok(outcome)
    }

    async fn note_verdict(
        &self,
        run: &Run,
        job: &Job,
        source: &str,
        outcome: &Outcome,
    ) -> Result<(), StoreError> {
        let text = match &outcome.verdict {
            None => return Ok(()),
            Some(ConditionVerdict::Met) => {
                "The condition is met: the result is announced.".to_owned()
            }
            Some(ConditionVerdict::NotMet) => "The condition is false: no notification.".to_owned(),
            Some(ConditionVerdict::Broken(reason)) => {
                let announcement = self.error_announcement(job, outcome).await?;
                format!("The condition could not be checked{announcement}: {reason}")
            }
        };
        let note = JournalNote {
            run_id: &run.id,
            name: "Tell me when",
            input: json!({ "cel": source }),
            output: Some(Value::String(text)),
            is_error: matches!(outcome.verdict, Some(ConditionVerdict::Broken(_))),
        };
        self.runtime.store.add_note(note, self.runtime.now()).await
    }

    /// The announcement of a condition error: an incident, once when opened, unless the job notifies always or never.
    async fn error_announcement(&self, job: &Job, outcome: &Outcome) -> Result<String, StoreError> {
        let notify = job.policies.notify.unwrap_or_default();
        if matches!(notify, Notify::Never | Notify::Failure) {
            return Ok(
                ". The error counts as an incident, muted by the job's notify policy".to_owned()
            );
        }
        let open = self.runtime.store.open_incidents(Some(&job.id)).await?;
        let recurring = match incident_step(Some(job), outcome, &open, self.runtime.now()) {
            IncidentStep::Recurred { id } if notify != Notify::Always => {
                open.iter().find(|incident| incident.id == id)
            }
            _ => None,
        };
        Ok(recurring.map_or_else(
            || ", so the run notifies".to_owned(),
            |incident| {
                let opened_at = instant_text(incident.opened_at, self.zone_of(Some(job)));
                format!(". The error counts as an incident, notified on {opened_at}")
            },
        ))
    }
}
