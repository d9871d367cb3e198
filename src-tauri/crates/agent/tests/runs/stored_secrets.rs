//! Calls with the value of a stored secret in the arguments: refused, and never made from the redacted form.

use std::sync::Arc;

use rouse_agent::{ChosenModel, Hook, HookDecision, Secret, SecretValue};
use rouse_core::job::Payload;
use rouse_core::message::{Message, ModelAnswer, Part, StopReason, ToolCallRequest};
use rouse_core::model::{Delta, ModelProvider, ModelRequest, ProviderError};
use rouse_core::policy::ToolPolicy;
use rouse_core::run::{Outcome, Usage};
use rouse_core::tool::{Annotations, ApprovalRule, BoxFuture};
use rouse_core::{Job, Run, RunState};
use rouse_testkit::scripted_model::{Scripted, calls};
use serde_json::{Value, json};

use super::fixtures::{
    CallLog, ScriptedHook, VALUE, done, key_shaped, logged, logging_tool, secret,
};
use super::resume::broken_off;
use super::run_fixture::{RunFixture, agent_job, call_of, job, tools, turn_of};

const BASE64: &str = "c3VuZmxvd2VyLTQyLVRhbmdv";

/// A fixture with the secret `mail`, bound to a host, and `provider`, bound to none; `asker` needs an approval.
async fn fixture(script: Vec<Scripted>, hooks: Vec<Arc<dyn Hook>>) -> (RunFixture, CallLog) {
    let made = CallLog::default();
    let mut all = tools();
    all.push(Arc::new(logging_tool("writer", Annotations::OVERWRITES, &made)));
    let asker = logging_tool("asker", Annotations::OVERWRITES, &made);
    all.push(Arc::new(asker.with(|spec| spec.approval = ApprovalRule::UnlessGranted)));
    let provider_key = SecretValue::new("sk-marigold-0123").expect("a value");
    let secrets = vec![secret("mail", VALUE), Secret::redacted_only("provider", provider_key)];
    (RunFixture::guarded(script, all, secrets, hooks).await, made)
}

fn any_job() -> Job {
    agent_job(json!({ "message": "Do it." }), json!({}))
}

#[tokio::test]
async fn local_write_with_a_stored_value_is_refused() {
    let (fixture, made) = fixture(Vec::new(), Vec::new()).await;
    for tool in ["writer", "asker"] {
        for text in [VALUE.to_owned(), VALUE.to_uppercase(), format!("key: {BASE64}\n")] {
            let arguments = json!({ "text": text });
            let (run, called) = fixture.pass(&ToolPolicy::default(), tool, arguments).await;
            let words = called.model_output.text();
            assert!(words.contains("(mail). Write {{secret:mail}} instead"), "{words}");
            let step = &fixture.steps(&run).await[0];
            let why = json!({ "kind": "storedSecret", "names": ["mail"] });
            assert_eq!(json!(step.gate)["refusal"], why);
            assert!(!format!("{step:?}").contains(&text), "{step:?}");
        }
    }
    let arguments = json!({ "text": "sk-marigold-0123" });
    let (_, called) = fixture.pass(&ToolPolicy::default(), "writer", arguments).await;
    assert!(called.model_output.text().ends_with("(provider). Remove the value."), "{called:?}");
    assert!(logged(&made).is_empty());
}

#[tokio::test]
async fn tool_call_job_older_than_its_secret_is_refused() {
    let (fixture, made) = fixture(Vec::new(), Vec::new()).await;
    let job = job(
        json!({ "kind": "toolCall", "tool": "writer", "arguments": { "text": VALUE } }),
        json!({}),
    );
    assert!(matches!(job.payload, Payload::ToolCall(_)));
    let run = fixture.run_of(Some(&job)).await;
    let outcome = fixture.driver().run_tool_call(&run, &job, call_of(&job), &fixture.cancel).await;
    assert_eq!(outcome.state, RunState::Failed, "{outcome:?}");
    assert!(outcome.error.expect("an error").contains("{{secret:mail}}"));
    assert!(logged(&made).is_empty());
}

#[tokio::test]
async fn hook_that_rewrites_a_value_into_a_call_is_refused() {
    let (guard, mut heard) =
        ScriptedHook::with(vec![HookDecision::Rewrite(json!({ "text": VALUE }))]);
    let (fixture, made) = fixture(Vec::new(), vec![guard]).await;
    let arguments = json!({ "text": "{{secret:mail}}" });
    let (_, called) = fixture.pass(&ToolPolicy::default(), "writer", arguments.clone()).await;
    assert!(!called.reached_tool && called.model_output.text().contains("stored secret (mail)"));
    assert_eq!(heard.recv().await.expect("asked")["before"], arguments);
    assert!(logged(&made).is_empty());
}

#[tokio::test]
async fn key_shaped_text_is_no_stored_secret() {
    let arguments = json!({ "text": format!("key {}", key_shaped()) });
    let script = vec![calls([("c0", "asker", arguments.clone())]), done()];
    let (fixture, made) = fixture(script, Vec::new()).await;
    let (job, run) = (any_job(), fixture.run_of(Some(&any_job())).await);
    let outcome = fixture.go(&run, &job).await;
    assert_eq!(outcome.approvals.len(), 1, "{outcome:?}");
    fixture.say_yes(&run, &outcome).await;
    assert_eq!(fixture.go(&run, &job).await.state, RunState::Succeeded);
    assert_eq!(logged(&made), [arguments]);
}

#[tokio::test]
async fn model_continues_with_the_handle() {
    let with_value = json!({ "text": format!("key {VALUE}") });
    let with_handle = json!({ "text": "key {{secret:mail}}" });
    let script = vec![
        calls([("c0", "writer", with_value)]),
        calls([("c1", "writer", with_handle.clone())]),
        done(),
    ];
    let (fixture, made) = fixture(script, Vec::new()).await;
    let (job, run) = (any_job(), fixture.run_of(Some(&any_job())).await);
    let outcome = fixture.go(&run, &job).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    assert_eq!(logged(&made), [with_handle]);
    let requests = format!("{:?}", fixture.model.requests());
    assert!(requests.contains("Write {{secret:mail}} instead"), "{requests}");
    assert!(!requests.contains(VALUE), "{requests}");
}

#[tokio::test]
async fn summary_with_a_stored_value_is_refused_once() {
    let leaky = json!({ "outcome": "report", "summary": format!("The key is {VALUE}.") });
    let script = vec![calls([("c0", "complete_run", leaky)]), done()];
    let (fixture, _) = fixture(script, Vec::new()).await;
    let (job, run) = (any_job(), fixture.run_of(Some(&any_job())).await);
    let outcome = fixture.go(&run, &job).await;
    assert_eq!(outcome.summary.as_deref(), Some("Done."), "{outcome:?}");
}

/// A model with the same calls in each first answer.
struct FixedModel(Vec<(&'static str, &'static str, Value)>);

impl ModelProvider for FixedModel {
    fn name(&self) -> &str {
        "fixed"
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelAnswer, ProviderError>> {
        let is_decided = |message: &Message| matches!(message, Message::Assistant { .. });
        let end = json!({ "outcome": "report", "summary": "Done." });
        let calls = if request.messages.iter().any(is_decided) {
            vec![("c9", "complete_run", end)]
        } else {
            self.0.clone()
        };
        let part = |(id, tool, arguments): (&str, &str, Value)| {
            let (id, tool) = (id.to_owned(), tool.to_owned());
            Part::ToolCall(ToolCallRequest { id, tool, arguments })
        };
        let answer = ModelAnswer {
            parts: calls.into_iter().map(part).collect(),
            usage: Usage::default(),
            model: "fixed-1".to_owned(),
            stop: StopReason::ToolCalls,
        };
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(answer)
        })
    }
}

async fn go(fixture: &RunFixture, run: &Run, job: &Job, model: &Arc<FixedModel>) -> Outcome {
    let chosen = ChosenModel { provider: model.clone(), model: "fixed-1".to_owned() };
    fixture.driver().run_turn(run, job, turn_of(job), Some(chosen), &fixture.cancel).await
}

/// The transcript holds the redacted call before the gate refuses the call.
#[tokio::test]
async fn broken_off_run_never_makes_a_redacted_call() {
    let leaky = json!({ "text": format!("key {VALUE}") });
    let alone = vec![("c0", "writer", leaky.clone())];
    let behind = vec![("c0", "asks", json!({})), ("c1", "writer", leaky.clone())];
    for script in [alone, behind] {
        let model = Arc::new(FixedModel(script));
        for polls in 0.. {
            let (fixture, made) = fixture(Vec::new(), Vec::new()).await;
            let (job, run) = (any_job(), fixture.run_of(Some(&any_job())).await);
            let broken = broken_off(&fixture, go(&fixture, &run, &job, &model), polls).await;
            let is_whole = broken.is_some();
            let mut outcome = go(&fixture, &run, &job, &model).await;
            if outcome.state == RunState::AwaitingApproval {
                fixture.say_yes(&run, &outcome).await;
                outcome = go(&fixture, &run, &job, &model).await;
            }
            assert_eq!(outcome.state, RunState::Succeeded, "{polls}: {outcome:?}");
            assert_eq!(logged(&made), Vec::<Value>::new(), "{polls}");
            let steps = format!("{:?}", fixture.steps(&run).await);
            assert!(steps.contains("Write {{secret:mail}}"), "{polls}: {steps}");
            assert!(!steps.contains(VALUE), "{polls}: {steps}");
            if is_whole {
                break;
            }
        }
    }
}
