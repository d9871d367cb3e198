//! The request of a call for input by the person.
//!
//! Owns the approval with the request, and its limits: a run requests input only where it may request approvals, and at
//! most [`MAX_INPUT_REQUESTS`] times. A request beyond fails the call. The tool never gets an answer that no person gave.
//! Pitfall: a request in an earlier step of the same call; the answer belongs to the newest one, which is unused.

use rouse_core::approval::Approval;
use rouse_core::input_request::{InputBody, InputExchange, InputPrompt, InputRequest};
use rouse_core::job::Approvals;
use rouse_core::message::ToolCallRequest;
use rouse_core::tool::{Fault, Tool, ToolContext, ToolEffect, ToolOutput};
use rouse_store::StoreError;

use super::approval_check::ApprovalCheck;
use super::approval_reason::ApprovalReason;
use super::call_end::CallEnd;
use super::types::{Gate, RunPolicy};
use crate::safety::Safety;

/// The most input requests of a run.
const MAX_INPUT_REQUESTS: usize = 10;

impl Gate {
    /// The end of a call, and the approval with the input that the call requests. The call fails if the request may not
    /// be made.
    pub(super) async fn take_input_request(
        &self,
        end: CallEnd,
        policy: &RunPolicy,
        request: &ToolCallRequest,
        tool: &dyn Tool,
        context: &ToolContext,
    ) -> Result<(CallEnd, Option<Box<Approval>>), StoreError> {
        let input = match &end {
            CallEnd::Returned(ToolOutput {
                effect: Some(ToolEffect::RequestInput(input)), ..
            }) => (**input).clone(),
            _ => return Ok((end, None)),
        };
        let input = redact_prompt(&self.safety, input);
        let reason = format!("The server {} asks for input.", input.prompt.server);
        let reason = ApprovalReason::Input(&reason);
        let check = ApprovalCheck { gate: self, policy, request, context, reason, suspicion: None };
        match self.input_approval(&check, tool, input).await? {
            Ok(approval) => Ok((end, Some(Box::new(approval)))),
            Err(failure) => Ok((CallEnd::Returned(failure), None)),
        }
    }

    /// The approval with the input request, or the failure of the call.
    async fn input_approval(
        &self,
        check: &ApprovalCheck<'_>,
        tool: &dyn Tool,
        input: InputRequest,
    ) -> Result<Result<Approval, ToolOutput>, StoreError> {
        let (server, name) = (&input.prompt.server, &check.request.tool);
        let approvals = check.policy.tools.approvals();
        if approvals != Approvals::Ask {
            let setting = approvals.name();
            return Ok(Err(failed(format!(
                "The server {server} asks for input, but this job's approval policy is `{setting}`, so {name} did not finish. Set it to `ask` to be prompted."
            ))));
        }
        let earlier = self.store.approvals_of_run(&check.context.run_id).await?;
        if earlier.iter().filter(|one| one.input.is_some()).count() >= MAX_INPUT_REQUESTS {
            return Ok(Err(failed(format!(
                "The server {server} asks for input again, but a run asks for input at most {MAX_INPUT_REQUESTS} times, so {name} did not finish."
            ))));
        }
        let now = self.clock.now();
        let surroundings = match check.surroundings(tool, now).await {
            Ok(surroundings) => surroundings,
            Err(refusal) => return Ok(Err(refusal.output)),
        };
        if let Err(refusal) = check.check_request(&surroundings).await? {
            return Ok(Err(refusal.output));
        }
        // The highest rule: no grant answers, and no surface that cannot show the form.
        let approval = check.approval(tool, surroundings, true, &[], now).await;
        let input = Some(InputExchange { request: input, answer: None });
        Ok(Ok(Approval { input, ..approval }))
    }
}

fn failed(message: String) -> ToolOutput {
    ToolOutput::faulty(Fault::NotAuthorised, message)
}

/// The request with redacted texts for people. Names and values go back to the server and stay.
fn redact_prompt(safety: &Safety, request: InputRequest) -> InputRequest {
    let redact = |text: String| safety.redact_stored(&text);
    let InputPrompt { server, message, mut body } = request.prompt;
    if let InputBody::Form { fields } = &mut body {
        for field in fields {
            field.label = field.label.take().map(redact);
            field.description = field.description.take().map(redact);
        }
    }
    InputRequest { prompt: InputPrompt { server, message: redact(message), body }, ..request }
}
