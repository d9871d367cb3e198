//! Input requests: storage, answers, expiry, and the use of a decision.

use rouse_core::ApprovalId;
use rouse_core::approval::{
    Approval, ApprovalDecision, ApprovalState, Authorization, DecisionSurface,
};
use rouse_core::input_request::{
    InputAnswer, InputBody, InputExchange, InputField, InputPrompt, InputRequest, InputValueKind,
    RequestSubject,
};

use super::approvals::{approval, parked};
use super::*;
use crate::{DecisionResult, NewStep, StepKind};

fn request() -> InputRequest {
    let value = InputValueKind::Number {
        is_whole: true,
        minimum: Some(1.0),
        maximum: None,
        default: Some(2.5),
    };
    let field = InputField {
        name: "count".to_owned(),
        label: Some("Cups".to_owned()),
        description: None,
        is_required: true,
        value,
    };
    let body = InputBody::Form { fields: vec![field] };
    let prompt =
        InputPrompt { server: "shop".to_owned(), message: "“How” many?".to_owned(), body };
    let subject = RequestSubject::Input(prompt);
    InputRequest { subject, key: "q".to_owned(), request_state: Some("st.ate \"1\"".to_owned()) }
}

fn form() -> Approval {
    let input = Some(InputExchange { request: request(), answer: None });
    Approval { is_highest: true, input, ..approval("a", "ls") }
}

async fn decide(fixture: &Fixture, answer: InputAnswer) -> Approval {
    let (id, answer) = (ApprovalId::new("a"), ApprovalDecision::Answer(answer));
    let decided = fixture.store.decide_approval(&id, &answer, DecisionSurface::Cli, NOW).await;
    match decided.unwrap() {
        DecisionResult::Counts { approval, resumed } => {
            assert_eq!(resumed.len(), 1);
            *approval
        }
        late => panic!("{late:?}"),
    }
}

/// Begins a call with the decision; false if the decision is used.
async fn begin_call(fixture: &Fixture) -> bool {
    let step = NewStep {
        run_id: RunId::new("run"),
        kind: StepKind::ToolCall,
        name: "run_command".to_owned(),
        call_id: Some("call-a".to_owned()),
        repeatable: false,
        input: json!({}),
        gate: None,
    };
    let permit = Authorization::Approval(ApprovalId::new("a"));
    fixture.store.begin_permitted_step(&step, &permit, NOW).await.unwrap().is_some()
}

#[tokio::test]
async fn input_request_is_stored_with_its_answer() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![form()]).await;
    assert_eq!(fixture.store.pending_approvals().await.unwrap(), [form()]);
    let content = json!({ "count": 3 }).as_object().cloned();
    let answer = InputAnswer::Accept { content };
    let decided = decide(&fixture, answer.clone()).await;
    assert!(matches!(decided.state, ApprovalState::Approved { .. }), "{decided:?}");
    let stored = fixture.store.approval(&ApprovalId::new("a")).await.unwrap().unwrap();
    let expected = InputExchange { request: request(), answer: Some(answer) };
    assert_eq!(
        (stored.input, stored.decided_from),
        (Some(expected), Some(DecisionSurface::Cli.into()))
    );
}

#[tokio::test]
async fn declined_input_request_permits_one_call() {
    for answer in [InputAnswer::Decline, InputAnswer::Cancel] {
        let fixture = Fixture::new().await;
        parked(&fixture, vec![form()]).await;
        let decided = decide(&fixture, answer.clone()).await;
        assert_eq!(decided.state, ApprovalState::Denied { reason: None, at: NOW });
        assert_eq!(decided.input.and_then(|input| input.answer), Some(answer));
        assert!(begin_call(&fixture).await);
        assert!(!begin_call(&fixture).await, "used");
    }
}

#[tokio::test]
async fn expired_input_request_permits_one_call_without_answer() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![form()]).await;
    let end = NOW.plus_ms(30 * 60_000);
    assert_eq!(fixture.store.expire_approvals(end).await.unwrap().len(), 1);
    let stored = fixture.store.approval(&ApprovalId::new("a")).await.unwrap().unwrap();
    assert_eq!(stored.state, ApprovalState::Expired { at: end });
    assert_eq!(stored.input.and_then(|input| input.answer), None);
    assert!(begin_call(&fixture).await);
    assert!(!begin_call(&fixture).await, "used");
}

#[tokio::test]
async fn denied_approval_of_a_call_permits_nothing() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![approval("a", "ls")]).await;
    let no = ApprovalDecision::Deny { reason: None };
    let id = ApprovalId::new("a");
    fixture.store.decide_approval(&id, &no, DecisionSurface::Page, NOW).await.unwrap();
    assert!(!begin_call(&fixture).await);
}
