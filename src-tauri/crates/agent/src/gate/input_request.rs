//! The request of a call to the person before its end: input for a server, or permission for a coding agent.
//!
//! Owns the approval with the request, and its limits: a run makes requests only where it may request approvals, and a
//! limited number of times. A request beyond fails the call. The tool never gets an answer that no person gave.
//! Pitfall: a request in an earlier step of the same call; the answer belongs to the newest one, which is unused.

use rouse_core::approval::Approval;
use rouse_core::input_request::{
    InputBody, InputExchange, InputPrompt, InputRequest, PermissionPrompt, RequestSubject,
};
use rouse_core::job::Approvals;
use rouse_core::message::ToolCallRequest;
use rouse_core::tool::{Fault, Tool, ToolContext, ToolEffect, ToolOutput};
use rouse_store::StoreError;

use super::approval_check::ApprovalCheck;
use super::approval_reason::ApprovalReason;
use super::call_end::CallEnd;
use super::types::{Gate, RunPolicy};
use crate::safety::Safety;

/// The most requests of a run for input.
const MAX_INPUT_REQUESTS: usize = 10;

/// The most permission requests of a run: a coding agent asks for each action.
const MAX_PERMISSION_REQUESTS: usize = 50;

const NO_GRANT_FOR_PERMISSION: &str =
    "A permission of a coding agent counts for its task only, so it cannot be granted.";

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
        let input = redact_request(&self.safety, input);
        let reason = format!("{}.", asks(&input));
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
        let (asks, name) = (asks(&input), &check.request.tool);
        let approvals = check.policy.tools.approvals();
        if approvals != Approvals::Ask {
            let setting = approvals.name();
            return Ok(Err(failed(format!(
                "{asks}, but this job's approval policy is `{setting}`, so {name} did not finish. Set it to `ask` to be prompted."
            ))));
        }
        let earlier = self.store.approvals_of_run(&check.context.run_id).await?;
        let most = match &input.subject {
            RequestSubject::Input(_) => MAX_INPUT_REQUESTS,
            RequestSubject::Permission(_) => MAX_PERMISSION_REQUESTS,
        };
        if earlier.iter().filter(|one| one.input.is_some()).count() >= most {
            return Ok(Err(failed(format!(
                "{asks} again, but a run asks at most {most} times, so {name} did not finish."
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
        // Input has the highest rule: no grant answers, and no surface that cannot show the form.
        let is_highest = input.prompt().is_some();
        let mut approval = check.approval(tool, surroundings, is_highest, &[], now).await;
        if let Some(PermissionPrompt { details, .. }) = input.permission() {
            approval.preview.clone_from(details);
            approval.surroundings.ungranted = Some(NO_GRANT_FOR_PERMISSION.to_owned());
        }
        let input = Some(InputExchange { request: input, answer: None });
        Ok(Ok(Approval { input, ..approval }))
    }
}

/// The request as a clause.
fn asks(input: &InputRequest) -> String {
    match &input.subject {
        RequestSubject::Input(prompt) => format!("The server {} asks for input", prompt.server),
        RequestSubject::Permission(permission) => {
            format!("The coding agent {} asks for your permission", permission.agent)
        }
    }
}

fn failed(message: String) -> ToolOutput {
    ToolOutput::faulty(Fault::NotAuthorised, message)
}

/// The request with redacted texts for people. Names and values go back to the server and stay.
fn redact_request(safety: &Safety, request: InputRequest) -> InputRequest {
    let redact = |text: String| safety.redact_stored(&text);
    let subject = match request.subject {
        RequestSubject::Input(InputPrompt { server, message, mut body }) => {
            if let InputBody::Form { fields } = &mut body {
                for field in fields {
                    field.label = field.label.take().map(redact);
                    field.description = field.description.take().map(redact);
                }
            }
            RequestSubject::Input(InputPrompt { server, message: redact(message), body })
        }
        RequestSubject::Permission(PermissionPrompt { agent, details }) => {
            RequestSubject::Permission(PermissionPrompt { agent, details: redact(details) })
        }
    };
    // The state of a task has titles of actions; the state of a server goes back unchanged.
    let request_state = match &subject {
        RequestSubject::Input(_) => request.request_state,
        RequestSubject::Permission(_) => request.request_state.map(redact),
    };
    InputRequest { subject, request_state, ..request }
}
