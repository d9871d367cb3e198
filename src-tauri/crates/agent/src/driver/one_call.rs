//! A run that makes one call: that of a job, and that of a person who tries a tool.
//!
//! Owns how such a run waits for a person and is taken up again. There is no transcript; what it has asked about stands
//! with its questions, and the newest of them says what the run is about now. A no, or nobody's answer, ends it. A yes
//! is to exactly the call of the question, so that is the call that is made, also when a hook would make another one of
//! the written call by now; a yes that is used up belongs to an attempt before. One could get it wrong by beginning with
//! the written call again: a hook that has changed its mind would let it through after the no.

use rouse_core::RunState;
use rouse_core::approval::{Approval, ApprovalState, Refusal};
use rouse_core::message::ToolCallRequest;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::ToolContext;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::AgentDriver;
use super::conversation::{End, MOST_QUESTIONS, ended_early};
use crate::gate::{Called, Lost, Passage, Refused, Terms};

/// What became of the call.
pub(super) enum OneCall {
    /// It was let through, or refused.
    Called(Box<Called>),
    /// The run is over, or waits for a person, without it.
    Ended(Box<Outcome>),
}

impl AgentDriver {
    /// Makes the one call of `run`: the written one, or the one that a person has said yes to.
    pub(super) async fn one_call(
        &self,
        run: &Run,
        terms: &Terms,
        (tool, arguments): (&str, &Value),
        context: &ToolContext,
        cancel: &CancellationToken,
    ) -> OneCall {
        let written = request(tool, arguments);
        let made = self.make(run, terms, written, context, cancel).await;
        made.unwrap_or_else(|end| OneCall::Ended(Box::new(ended_early(&end))))
    }

    async fn make(
        &self,
        run: &Run,
        terms: &Terms,
        written: ToolCallRequest,
        context: &ToolContext,
        cancel: &CancellationToken,
    ) -> Result<OneCall, End> {
        let asked = self.store.approvals_of(&run.id).await?.pop();
        if let Some(asked) = &asked
            && let Some((why, outcome)) = without_a_yes(run, asked)
        {
            let words = outcome.reason.as_ref().or(outcome.error.as_ref()).cloned();
            let refused = Refused::new(why, words.unwrap_or_default());
            let request = request(&asked.tool, &asked.arguments);
            self.gate.refuse(&request, context, refused).await?;
            return Ok(OneCall::Ended(Box::new(outcome)));
        }
        let request = match asked.filter(is_good) {
            None => written,
            Some(asked) => match self.gate.asked_call(&asked).await {
                Ok(arguments) => request(&asked.tool, &arguments),
                // The job has the call as it is: it is asked about anew.
                Err(Lost::Forgotten) => written,
                // The yes is to that call and to none that could be made now.
                Err(lost) => {
                    let request = request(&asked.tool, &asked.arguments);
                    let called = self.gate.refuse_lost(terms, &request, &lost, context).await?;
                    return Ok(OneCall::Called(Box::new(called)));
                }
            },
        };
        match self.gate.call(terms, &request, context, cancel).await? {
            Passage::Asks(question) if question.asked_before >= MOST_QUESTIONS => {
                Err(End::AskedTooOften(question))
            }
            Passage::Asks(question) => Err(End::Asks(vec![question.approval])),
            Passage::Called(called) if called.refusal == Some(Refusal::EarlierAsks) => {
                Ok(OneCall::Ended(Box::new(Outcome::skipped(called.output.text()))))
            }
            Passage::Called(called) => Ok(OneCall::Called(called)),
        }
    }
}

fn request(tool: &str, arguments: &Value) -> ToolCallRequest {
    let (tool, arguments) = (tool.to_owned(), arguments.clone());
    ToolCallRequest { id: "call".to_owned(), tool, arguments }
}

/// Whether a call can be made on the ground of it.
fn is_good(asked: &Approval) -> bool {
    matches!(asked.state, ApprovalState::Approved { .. }) && asked.used_at.is_none()
}

/// How the run ends when the person was asked and has not said yes. What the gate says is for a model. A slot that
/// nobody let go on has failed, and somebody hears of it; whoever tries a tool looks on.
fn without_a_yes(run: &Run, asked: &Approval) -> Option<(Refusal, Outcome)> {
    let tool = &asked.tool;
    match &asked.state {
        ApprovalState::Denied { reason, .. } => {
            let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let outcome = cancelled(format!("You said no, so {tool} was not called{why}"));
            Some((Refusal::Denied { reason: reason.clone() }, outcome))
        }
        ApprovalState::Expired { .. } => {
            let words = format!("Nobody said yes in time, so {tool} was not called");
            let outcome = if run.is_trial() { cancelled(words) } else { Outcome::failed(words) };
            Some((Refusal::Expired, outcome))
        }
        ApprovalState::Pending
        | ApprovalState::Approved { .. }
        | ApprovalState::Withdrawn { .. }
        | ApprovalState::Covered { .. } => None,
    }
}

fn cancelled(reason: String) -> Outcome {
    Outcome { reason: Some(reason), ..Outcome::of(RunState::Cancelled) }
}
