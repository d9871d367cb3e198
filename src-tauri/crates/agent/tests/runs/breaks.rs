//! A run that is broken off anywhere goes on where it was, and does nothing twice.

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

use super::house::{House, TestTool, agent_job, tools, turn_of};

/// A model that says next what comes after what was said, as real ones do.
struct Steady;

impl ModelProvider for Steady {
    fn name(&self) -> &str {
        "steady"
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelAnswer, ProviderError>> {
        let said = |message: &&Message| matches!(message, Message::Assistant { .. });
        // The ids begin anew with every answer, as those of some local models do.
        let calls = match request.messages.iter().filter(said).count() {
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

async fn house(effects: &Effects) -> House {
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
    House::with_tools([], all).await
}

/// Drives `work` in this house for so many polls and then gives it up, as the end of the process would. A write that was on
/// its way then has landed, or never will: they go one after the other.
pub(crate) async fn broken_off<T>(
    house: &House,
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
    house.run_only(None).await;
    ended
}

async fn broken_after(polls: u32) -> (Option<Outcome>, Outcome, Effects, Vec<Message>) {
    let effects = Effects::default();
    let house = house(&effects).await;
    let job = agent_job(json!({ "message": "Add three things" }), json!({}));
    let run = house.run_of(Some(&job)).await;
    let model = || Some(ChosenModel { provider: Arc::new(Steady), model: "steady-1".to_owned() });
    let driver = house.driver();
    let first = driver.run_turn(&run, &job, turn_of(&job), model(), &house.cancel);
    let first = broken_off(&house, first, polls).await;
    let driver = house.driver();
    let outcome = driver.run_turn(&run, &job, turn_of(&job), model(), &house.cancel).await;
    let transcript = house.transcript(&SessionKey::of_job(&job.id)).await;
    (first, outcome, effects, transcript)
}

/// Every call has exactly one result, after it, or providers refuse the whole conversation.
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
async fn wherever_a_run_is_broken_off_it_goes_on_and_does_nothing_twice() {
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
    panic!("the run never came to its end by itself");
}

/// The provider is paid for a question, whatever becomes of who has asked it.
#[tokio::test]
async fn a_question_that_the_end_of_the_process_has_cut_off_is_spent() {
    let house = House::new([Scripted::Silence]).await;
    let job = agent_job(json!({ "message": "Think ".repeat(400) }), json!({}));
    let run = house.run_of(Some(&job)).await;
    let driver = house.driver();
    let mut asking =
        pin!(driver.run_turn(&run, &job, turn_of(&job), house.chosen(), &house.cancel));
    while house.model.requests().is_empty() {
        tokio::select! {
            outcome = &mut asking => panic!("it has ended: {outcome:?}"),
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!(house.store.spent_by_run(&run.id).await.expect("read").tokens, 0);
    let back = house.store.put_back(&run.id, house.now()).await.expect("written");
    let spent = house.store.spent_by_run(&run.id).await.expect("read");
    assert!(spent.tokens >= 600, "{spent:?}");
    let step = &house.steps(&run).await[0];
    assert_eq!(step.status, StepStatus::Unknown);
    assert_eq!(step.output, Some(json!({ "usageIsEstimated": true })));
    assert_eq!(step.usage.tokens(), spent.tokens, "the journal and its costs are one");
    assert_eq!(back.expect("it was at work").usage.tokens(), spent.tokens);
    house.store.put_back(&run.id, house.now()).await.expect("written");
    assert_eq!(house.store.spent_by_run(&run.id).await.expect("read"), spent, "once");
}
