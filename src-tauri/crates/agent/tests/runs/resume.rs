//! Resume of a run after an interruption at any point.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use rouse_agent::ChosenModel;
use rouse_core::message::{Message, ModelAnswer, Part, StopReason, ToolCallRequest};
use rouse_core::model::{Delta, ModelProvider, ModelRequest, ProviderError};
use rouse_core::run::{Outcome, Usage};
use rouse_core::tool::{Annotations, BoxFuture, Tool, ToolOutput};
use rouse_core::{RunState, SessionKey};
use rouse_store::StepStatus;
use rouse_testkit::scripted_model::Scripted;
use serde_json::{Value, json};

use super::run_fixture::{RunFixture, TestTool, agent_job, tools, turn_of};

/// A model that answers by the state of the conversation.
struct ConversationModel;

impl ModelProvider for ConversationModel {
    fn name(&self) -> &str {
        "steady"
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelAnswer, ProviderError>> {
        let is_assistant = |message: &&Message| matches!(message, Message::Assistant { .. });
        // Every answer numbers calls anew, like some local models.
        let calls = match request.messages.iter().filter(is_assistant).count() {
            0 => vec![
                ("0", "echo", json!({})),
                ("1", "echo", json!({ "text": "beside it" })),
                ("2", "adds", json!({ "text": "one" })),
            ],
            1 => vec![
                ("0", "adds", json!({ "text": "two" })),
                ("1", "adds", json!({ "text": "three" })),
            ],
            _ => {
                vec![("0", "complete_run", json!({ "outcome": "report", "summary": "All added." }))]
            }
        };
        let part = |(id, tool, arguments): (&str, &str, Value)| {
            let (id, tool) = (id.to_owned(), tool.to_owned());
            Part::ToolCall(ToolCallRequest { id, tool, arguments })
        };
        let answer = ModelAnswer {
            parts: calls.into_iter().map(part).collect(),
            usage: Usage { input_tokens: 10, ..Usage::default() },
            model: "steady-1".to_owned(),
            stop: StopReason::ToolCalls,
        };
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(answer)
        })
    }
}

type Effects = Arc<Mutex<HashMap<String, u32>>>;

async fn fixture(effects: &Effects) -> RunFixture {
    let effects = Arc::clone(effects);
    let adds = TestTool::new("adds", move |call, _| {
        let (effects, text) = (Arc::clone(&effects), call.arguments()["text"].to_string());
        Box::pin(async move {
            tokio::task::yield_now().await;
            *effects.lock().expect("not poisoned").entry(text).or_default() += 1;
            tokio::task::yield_now().await;
            ToolOutput::ok("added")
        })
    });
    let mut all = tools();
    let adds: Arc<dyn Tool> = Arc::new(adds.with(|spec| spec.annotations = Annotations::ADDS));
    all.push(adds);
    RunFixture::with_tools([], all).await
}

/// Polls `work` so many times and drops it, like the end of the process. Writes are sequential, so each write is
/// complete or absent.
pub(crate) async fn broken_off<T>(
    fixture: &RunFixture,
    work: impl Future<Output = T>,
    polls: u32,
) -> Option<T> {
    let ended = {
        let mut work = pin!(work);
        let mut left = polls;
        poll_fn(move |cx| {
            if left == 0 {
                return Poll::Ready(None);
            }
            left -= 1;
            work.as_mut().poll(cx).map(Some)
        })
        .await
    };
    fixture.run_only(None).await;
    ended
}

async fn broken_after(polls: u32) -> (Option<Outcome>, Outcome, Effects, Vec<Message>) {
    let effects = Effects::default();
    let fixture = fixture(&effects).await;
    let job = agent_job(json!({ "message": "Add three things" }), json!({}));
    let run = fixture.run_of(Some(&job)).await;
    let model = || {
        Some(ChosenModel { provider: Arc::new(ConversationModel), model: "steady-1".to_owned() })
    };
    let driver = fixture.driver();
    let first = driver.run_turn(&run, &job, turn_of(&job), model(), &fixture.cancel);
    let first = broken_off(&fixture, first, polls).await;
    let driver = fixture.driver();
    let outcome = driver.run_turn(&run, &job, turn_of(&job), model(), &fixture.cancel).await;
    let transcript = fixture.transcript(&SessionKey::of_job(&job.id)).await;
    (first, outcome, effects, transcript)
}

/// Checks that every call has exactly one later result; providers refuse other conversations.
fn check(transcript: &[Message], context: &str) {
    let mut open: Vec<&str> = Vec::new();
    for message in transcript {
        match message {
            Message::Assistant { parts } => {
                assert!(open.is_empty(), "{context}: no result of {open:?}");
                open = parts
                    .iter()
                    .filter_map(|part| match part {
                        Part::ToolCall(call) => Some(call.id.as_str()),
                        _ => None,
                    })
                    .collect();
            }
            Message::ToolResult { call_id, .. } => {
                let at = open.iter().position(|id| id == call_id);
                open.remove(
                    at.unwrap_or_else(|| panic!("{context}: a result too many of {call_id}")),
                );
            }
            Message::User { .. } | Message::Attachments { .. } => {
                assert!(open.is_empty(), "{context}: a message between calls and results");
            }
        }
    }
}

#[tokio::test]
async fn interrupted_run_resumes_without_repeating_calls() {
    for polls in 0..400 {
        let (first, outcome, effects, transcript) = broken_after(polls).await;
        let context = format!("after {polls} polls");
        assert_eq!(outcome.state, RunState::Succeeded, "{context}: {outcome:?}");
        let effects = effects.lock().expect("not poisoned");
        assert!(effects.values().all(|times| *times == 1), "{context}: {effects:?}");
        check(&transcript, &context);
        if first.is_some() {
            assert_eq!(effects.len(), 3);
            assert!(polls > 20, "only {polls} breaks");
            return;
        }
    }
    panic!("the run never ended");
}

/// The provider charges for a call even if the process ends.
#[tokio::test]
async fn interrupted_model_call_is_counted() {
    let fixture = RunFixture::new([Scripted::Silence]).await;
    let job = agent_job(json!({ "message": "Think ".repeat(400) }), json!({}));
    let run = fixture.run_of(Some(&job)).await;
    let driver = fixture.driver();
    let mut asking =
        pin!(driver.run_turn(&run, &job, turn_of(&job), fixture.chosen(), &fixture.cancel));
    while fixture.model.requests().is_empty() {
        tokio::select! {
            outcome = &mut asking => panic!("ended: {outcome:?}"),
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!(fixture.store.spent_by_run(&run.id).await.expect("read").tokens, 0);
    let back = fixture.store.requeue_run(&run.id, fixture.now()).await.expect("written");
    let spent = fixture.store.spent_by_run(&run.id).await.expect("read");
    assert!(spent.tokens >= 600, "{spent:?}");
    let step = &fixture.steps(&run).await[0];
    assert_eq!(step.status, StepStatus::Unknown);
    assert_eq!(step.output, Some(json!({ "usageIsEstimated": true })));
    assert_eq!(step.usage.tokens(), spent.tokens, "the journal has all costs");
    assert_eq!(back.expect("an active run").usage.tokens(), spent.tokens);
    fixture.store.requeue_run(&run.id, fixture.now()).await.expect("written");
    assert_eq!(fixture.store.spent_by_run(&run.id).await.expect("read"), spent, "once");
}
