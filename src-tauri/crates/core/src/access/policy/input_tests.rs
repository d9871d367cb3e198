//! Calls that repeat with the answer to their input request.

use serde_json::json;

use super::*;
use crate::approval::DecisionSurface;
use crate::input_request::{
    InputAnswer, InputBody, InputExchange, InputPrompt, InputReply, InputRequest, PermissionPrompt,
    RequestSubject,
};
use crate::tool::{Annotations, RateLimit, ToolDomain};
use crate::{ApprovalId, RunId};

const AT: UnixMs = UnixMs(10);

fn tool() -> ToolSpec {
    ToolSpec {
        name: "order".to_owned(),
        label: None,
        description: String::new(),
        parameters: json!({}),
        annotations: Annotations::ANYTHING,
        approval: ApprovalRule::UnlessGranted,
        domain: ToolDomain::InProcess,
        rate: RateLimit::USUAL,
        call_for: std::time::Duration::from_secs(1),
        untrusted_output: false,
        sensitive: Vec::new(),
        shell_text: Vec::new(),
        attended_only: false,
        listed_only: false,
        origin: None,
    }
}

/// A decided input request of the call.
fn decided(state: ApprovalState, answer: Option<InputAnswer>) -> Approval {
    let (arguments, surroundings) = (json!({ "cups": 2 }), Surroundings::default());
    let body = InputBody::Form { fields: Vec::new() };
    let prompt = InputPrompt { server: "shop".to_owned(), message: "Who?".to_owned(), body };
    let subject = RequestSubject::Input(prompt);
    let request =
        InputRequest { subject, key: "q".to_owned(), request_state: Some("s".to_owned()) };
    Approval {
        id: ApprovalId::new("form"),
        run_id: RunId::new("r1"),
        job_id: None,
        job_name: "Job".to_owned(),
        call_id: "c1".to_owned(),
        tool: "order".to_owned(),
        fingerprint: Fingerprint::of("order", &arguments, &surroundings),
        arguments,
        surroundings,
        preview: String::new(),
        reason: String::new(),
        is_highest: true,
        requested_at: UnixMs(0),
        expires_at: UnixMs(2_000),
        state,
        decided_from: Some(DecisionSurface::Page.into()),
        used_at: None,
        input: Some(InputExchange { request, answer }),
    }
}

fn ruling(approval: Approval) -> CallRuling {
    let verdict = ToolPolicy::for_tools(None).judge(&tool(), json!({ "cups": 2 }));
    let PolicyVerdict::NeedsApproval(needed) = verdict else { panic!("{verdict:?}") };
    let prior = PriorDecisions { approvals: &[approval], grants: &[], now: AT };
    needed.evaluate(prior, &Surroundings::default())
}

#[test]
fn any_decision_about_input_permits_one_call_with_it() {
    let content = json!({ "name": "Ada" }).as_object().cloned();
    let accepted = InputAnswer::Accept { content };
    let approved = ApprovalState::Approved { scope: ApprovalScope::Once, at: AT };
    let denied = || ApprovalState::Denied { reason: None, at: AT };
    for (state, answer, expected) in [
        (approved, Some(accepted.clone()), accepted),
        (denied(), Some(InputAnswer::Decline), InputAnswer::Decline),
        (denied(), Some(InputAnswer::Cancel), InputAnswer::Cancel),
        (ApprovalState::Expired { at: AT }, None, InputAnswer::Cancel),
    ] {
        let approval = decided(state, answer);
        let CallRuling::Permitted(call, authorization) = ruling(approval.clone()) else {
            panic!("not permitted: {approval:?}")
        };
        assert_eq!(authorization, Authorization::Approval(ApprovalId::new("form")));
        let (key, request_state) = ("q".to_owned(), Some("s".to_owned()));
        assert_eq!(
            call.input(),
            Some(&InputReply { key, request_state, answer: expected, is_for_run: false })
        );
        let used = Approval { used_at: Some(AT), ..approval };
        assert_eq!(ruling(used), CallRuling::Ask, "an answer is for one call");
    }
}

#[test]
fn answer_is_void_after_a_change_of_the_surroundings() {
    let approved = ApprovalState::Approved { scope: ApprovalScope::Once, at: AT };
    let approval = decided(approved, Some(InputAnswer::Accept { content: None }));
    let surroundings = Surroundings { directory: Some("/w".to_owned()), ..Surroundings::default() };
    let fingerprint = Fingerprint::of("order", &approval.arguments, &surroundings);
    let moved = Approval { surroundings, fingerprint, ..approval };
    assert_eq!(ruling(moved), CallRuling::Ask);
}

#[test]
fn pending_input_request_permits_nothing() {
    assert_eq!(ruling(decided(ApprovalState::Pending, None)), CallRuling::Ask);
}

#[test]
fn permission_is_decided_by_the_approval() {
    let permission = PermissionPrompt { agent: "coder".into(), details: "Edit a.rs".into() };
    let subject = RequestSubject::Permission(permission);
    let request = InputRequest { subject, key: "k".into(), request_state: None };
    let exchange = InputExchange { request, answer: None };
    let stored: InputExchange = serde_json::from_value(json!(exchange)).expect("an exchange");
    assert_eq!(stored, exchange);
    let accepted = InputAnswer::Accept { content: None };
    for (state, answer, is_for_run) in [
        (ApprovalState::Approved { scope: ApprovalScope::Run, at: AT }, accepted.clone(), true),
        (ApprovalState::Approved { scope: ApprovalScope::Once, at: AT }, accepted, false),
        (ApprovalState::Denied { reason: None, at: AT }, InputAnswer::Decline, false),
        (ApprovalState::Expired { at: AT }, InputAnswer::Cancel, false),
    ] {
        let approval = Approval { input: Some(stored.clone()), ..decided(state, None) };
        let CallRuling::Permitted(call, _) = ruling(approval) else { panic!("not permitted") };
        let reply = call.input().expect("a reply");
        assert_eq!((&reply.answer, reply.is_for_run), (&answer, is_for_run));
    }
}
