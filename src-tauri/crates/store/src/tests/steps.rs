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
async fn a_step_is_journalled_before_and_after() {
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
    assert_eq!(fixture.told(), [event(1), event(2), event(2)]);
}

#[tokio::test]
async fn there_is_no_step_without_its_run() {
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
async fn an_unrepeatable_call_is_known_whatever_became_of_it() {
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

/// Earlier versions have written no kind, and a newer one may write one that this does not know.
#[tokio::test]
async fn a_refusal_reads_whatever_version_has_written_it_and_is_never_a_call() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let call = |gate| NewStep { gate: Some(gate), ..step(&id, StepKind::ToolCall, true) };
    let refused =
        |why, by: Option<&str>| GateDecision::Refused { why, rewritten_by: by.map(str::to_owned) };
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
    let called = async || fixture.store.called_since(NOW).await.unwrap().len();
    assert_eq!(called().await, 0);
    for stored in [
        r#"UPDATE run_steps SET gate = '{"decision":"refused"}' WHERE run_id = ?1 AND seq = 1"#,
        r#"UPDATE run_steps SET gate = '{"decision":"refused","why":{"kind":"later","more":1}}' WHERE run_id = ?1 AND seq = 1"#,
    ] {
        fixture.garble(stored, id.as_str()).await;
        assert_eq!(gates().await[0], Some(refused(None, None)));
        assert_eq!(called().await, 0);
    }
    let made = GateDecision::Rewritten { rewritten_by: "guard".to_owned() };
    fixture.store.begin_step(&call(made), NOW.plus_ms(1)).await.unwrap();
    assert_eq!(called().await, 1, "a call that a hook has rewritten is one");
}

#[tokio::test]
async fn a_call_counts_also_of_a_run_that_was_made_days_ago() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let call = step(&id, StepKind::ToolCall, true);
    fixture.store.begin_step(&call, NOW.plus_ms(1)).await.unwrap();
    let ended = "UPDATE runs SET created_at = created_at - 7 * 86400000, finished_at = created_at + 2, state = 'succeeded' WHERE id = ?1";
    fixture.garble(ended, id.as_str()).await;
    assert_eq!(fixture.store.called_since(NOW).await.unwrap().len(), 1, "its question waited");
    assert_eq!(fixture.store.called_since(NOW.plus_ms(2)).await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_call_counts_also_when_a_clock_was_early_in_between() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let call = step(&id, StepKind::ToolCall, true);
    fixture.store.begin_step(&call, NOW.plus_ms(1)).await.unwrap();
    let ended = "UPDATE runs SET finished_at = created_at + 2, state = 'succeeded' WHERE id = ?1";
    fixture.garble(ended, id.as_str()).await;
    let early = NOW.plus_ms(-10 * 86_400_000);
    assert!(fixture.store.take_nearer(60_000, early).await.unwrap());
    assert_eq!(fixture.store.called_since(early).await.unwrap().len(), 1);
    assert_eq!(fixture.store.called_since(NOW).await.unwrap().len(), 1, "and it is right again");
    assert_eq!(fixture.store.called_since(NOW.plus_ms(1)).await.unwrap().len(), 0);
}

#[tokio::test]
async fn what_was_refused_has_told_nobody_anything_from_outside() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let id = fixture.running("a").await;
    let session = SessionKey::of_job(&JobId::new("a"));
    let told = Message::User { text: "x".to_owned() };
    store.append_messages(&session, Some(&id), &[told], NOW).await.unwrap();
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
    let knows = async || {
        let tools = ["http"];
        let of_run = store.has_called(&id, &tools).await.unwrap();
        let of_session = store.session_knows_outside(&session, &tools).await.unwrap();
        let of_any = store.any_has_called(std::slice::from_ref(&id), &tools).await.unwrap();
        [of_run, of_session, of_any]
    };
    let why = Some(Refusal::RateLimited { wait_ms: 1 });
    call(GateDecision::Refused { why, rewritten_by: None }).await;
    assert_eq!(knows().await, [false; 3]);
    // One that failed may have been answered before it did.
    call(GateDecision::Rewritten { rewritten_by: "guard".to_owned() }).await;
    assert_eq!(knows().await, [true; 3]);
}
