//! The journal of a run.

use rouse_core::SessionKey;
use rouse_core::approval::{GateDecision, Refusal};
use rouse_core::message::Message;

use super::*;
use crate::{NewStep, RunStep, StepEnd, StepKind, StepStatus, StoreError};

pub(super) fn step(run_id: &RunId, kind: StepKind, repeatable: bool) -> NewStep {
    NewStep {
        gate: None,
        call_id: None,
        run_id: run_id.clone(),
        kind,
        name: "http".to_owned(),
        repeatable,
        input: json!({ "url": "x" }),
    }
}

#[tokio::test]
async fn step_is_journalled_before_and_after() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let first = fixture.store.begin_step(&step(&id, StepKind::ModelTurn, true), NOW).await.unwrap();
    let second = fixture.store.begin_step(&step(&id, StepKind::ToolCall, true), NOW).await.unwrap();
    assert_eq!((first, second), (1, 2));
    let begun = fixture.store.steps(&id).await.unwrap();
    let wanted = RunStep {
        gate: None,
        call_id: None,
        run_id: id.clone(),
        seq: 2,
        kind: StepKind::ToolCall,
        name: "http".to_owned(),
        status: StepStatus::Started,
        repeatable: true,
        input: json!({ "url": "x" }),
        output: None,
        is_error: false,
        usage: Usage::default(),
        started_at: NOW,
        finished_at: None,
        duration_ms: None,
    };
    assert_eq!(begun[1], wanted);
    let usage = Usage {
        input_tokens: 1,
        cached_input_tokens: 2,
        output_tokens: 3,
        cost_micro_usd: Some(4),
        ..Usage::NONE
    };
    let end = StepEnd {
        status: StepStatus::Failed,
        output: Some(json!("no such host")),
        is_error: true,
        usage,
        duration_ms: Some(12),
    };
    fixture.store.end_step(&id, 2, &end, NOW.plus_ms(20)).await.unwrap();
    let ended = RunStep {
        call_id: None,
        status: StepStatus::Failed,
        output: end.output.clone(),
        is_error: true,
        usage,
        finished_at: Some(NOW.plus_ms(20)),
        duration_ms: Some(12),
        ..wanted
    };
    assert_eq!(fixture.store.steps(&id).await.unwrap(), [begun[0].clone(), ended]);
    let event = |step| {
        (
            EventKind::Run,
            json!({ "runId": id.as_str(), "state": "running", "jobId": "a", "step": step }),
        )
    };
    assert_eq!(fixture.take_events(), [event(1), event(2), event(2)]);
}

#[tokio::test]
async fn step_without_run_is_refused() {
    let fixture = Fixture::new().await;
    let lost = fixture.store.begin_step(&step(&RunId::new("x"), StepKind::Note, true), NOW).await;
    assert!(matches!(lost, Err(StoreError::NotFound { what: "run", .. })), "{lost:?}");
    let id = fixture.running("a").await;
    let end = StepEnd {
        status: StepStatus::Finished,
        output: None,
        is_error: false,
        usage: Usage::default(),
        duration_ms: None,
    };
    let lost = fixture.store.end_step(&id, 1, &end, NOW).await;
    assert!(matches!(lost, Err(StoreError::NotFound { what: "step", .. })), "{lost:?}");
}

#[tokio::test]
async fn unrepeatable_call_is_known_after_its_end() {
    let fixture = Fixture::new().await;
    let (a, b) = (fixture.running("a").await, fixture.running("b").await);
    fixture.store.begin_step(&step(&a, StepKind::ToolCall, true), NOW).await.unwrap();
    fixture.store.begin_step(&step(&a, StepKind::ModelTurn, false), NOW).await.unwrap();
    assert!(!fixture.store.has_unrepeatable_step(&a).await.unwrap());
    fixture.store.begin_step(&step(&b, StepKind::ToolCall, false), NOW).await.unwrap();
    assert!(fixture.store.has_unrepeatable_step(&b).await.unwrap());
    let end = StepEnd {
        status: StepStatus::Finished,
        output: None,
        is_error: false,
        usage: Usage::default(),
        duration_ms: None,
    };
    fixture.store.end_step(&b, 1, &end, NOW).await.unwrap();
    assert!(fixture.store.has_unrepeatable_step(&b).await.unwrap());
}

/// Earlier versions wrote no reason, and a newer version may write an unknown reason.
#[tokio::test]
async fn refusal_of_any_version_reads_and_counts_as_no_call() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let call = |gate| NewStep { gate: Some(gate), ..step(&id, StepKind::ToolCall, true) };
    let refused = |refusal, hook: Option<&str>| GateDecision::Refused {
        refusal,
        rewritten_by: hook.map(str::to_owned),
    };
    let decisions = [
        refused(Some(Refusal::RateLimited { wait_ms: 40_000 }), None),
        refused(Some(Refusal::Denied { reason: Some("Not that.".to_owned()) }), Some("guard")),
    ];
    for gate in &decisions {
        fixture.store.begin_step(&call(gate.clone()), NOW.plus_ms(1)).await.unwrap();
    }
    let gates = async || {
        let steps = fixture.store.steps(&id).await.unwrap().into_iter();
        steps.map(|step| step.gate).collect::<Vec<_>>()
    };
    assert_eq!(gates().await, decisions.map(Some));
    let called = async || fixture.store.tool_calls_since(NOW).await.unwrap().len();
    assert_eq!(called().await, 0);
    for stored in [
        r#"UPDATE run_steps SET gate = '{"decision":"refused"}' WHERE run_id = $1 AND seq = 1"#,
        r#"UPDATE run_steps SET gate = '{"decision":"refused","refusal":{"kind":"later","more":1}}' WHERE run_id = $1 AND seq = 1"#,
    ] {
        fixture.garble(stored, id.as_str()).await;
        assert_eq!(gates().await[0], Some(refused(None, None)));
        assert_eq!(called().await, 0);
    }
    let made = GateDecision::Rewritten { rewritten_by: "guard".to_owned() };
    fixture.store.begin_step(&call(made), NOW.plus_ms(1)).await.unwrap();
    assert_eq!(called().await, 1, "a rewritten call counts");
}

#[tokio::test]
async fn call_of_a_run_created_days_ago_counts() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let call = step(&id, StepKind::ToolCall, true);
    fixture.store.begin_step(&call, NOW.plus_ms(1)).await.unwrap();
    let ended = "UPDATE runs SET created_at = created_at - 7 * 86400000, finished_at = created_at + 2, state = 'succeeded' WHERE id = $1";
    fixture.garble(ended, id.as_str()).await;
    assert_eq!(
        fixture.store.tool_calls_since(NOW).await.unwrap().len(),
        1,
        "the approval was pending"
    );
    assert_eq!(fixture.store.tool_calls_since(NOW.plus_ms(2)).await.unwrap().len(), 0);
}

#[tokio::test]
async fn call_counts_after_a_clock_rollback() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let call = step(&id, StepKind::ToolCall, true);
    fixture.store.begin_step(&call, NOW.plus_ms(1)).await.unwrap();
    let ended = "UPDATE runs SET finished_at = created_at + 2, state = 'succeeded' WHERE id = $1";
    fixture.garble(ended, id.as_str()).await;
    let early = NOW.plus_ms(-10 * 86_400_000);
    assert!(fixture.store.adjust_after_clock_rollback(60_000, early).await.unwrap());
    assert_eq!(fixture.store.tool_calls_since(early).await.unwrap().len(), 1);
    assert_eq!(
        fixture.store.tool_calls_since(NOW).await.unwrap().len(),
        1,
        "and the clock is right again"
    );
    assert_eq!(fixture.store.tool_calls_since(NOW.plus_ms(1)).await.unwrap().len(), 0);
}

#[tokio::test]
async fn refused_call_does_not_taint() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let id = fixture.running("a").await;
    let session = SessionKey::of_job(&JobId::new("a"));
    let message = Message::User { text: "x".to_owned() };
    store.append_messages(&session, Some(&id), &[message], NOW).await.unwrap();
    let end = StepEnd {
        status: StepStatus::Failed,
        output: Some(json!("no")),
        is_error: true,
        usage: Usage::default(),
        duration_ms: None,
    };
    let call = async |gate| {
        let call = NewStep { gate: Some(gate), ..step(&id, StepKind::ToolCall, true) };
        let seq = store.begin_step(&call, NOW).await.unwrap();
        store.end_step(&id, seq, &end, NOW).await.unwrap();
    };
    let tainted = async || {
        let tools = ["echo"];
        let of_run = store.has_read_untrusted(&id, &tools).await.unwrap();
        let of_session = store.is_session_tainted(&session, &tools).await.unwrap();
        let of_any = store.is_any_run_tainted(std::slice::from_ref(&id), &tools).await.unwrap();
        [of_run, of_session, of_any]
    };
    let refusal = Some(Refusal::RateLimited { wait_ms: 1 });
    call(GateDecision::Refused { refusal, rewritten_by: None }).await;
    assert_eq!(tainted().await, [false; 3]);
    // A failed call may have returned content before.
    call(GateDecision::Rewritten { rewritten_by: "guard".to_owned() }).await;
    assert_eq!(tainted().await, [true; 3]);
}
