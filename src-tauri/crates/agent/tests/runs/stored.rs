//! Calls that write the value of a stored secret here: what hooks see of them, and what is made of them after a question.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use rouse_agent::{CallAnswer, CallSeen, ChosenModel, Hook, HookError, Secret, SecretValue};
use rouse_core::message::{Message, ModelAnswer, Part, StopReason, ToolCallRequest};
use rouse_core::model::{Delta, ModelProvider, ModelRequest, ProviderError};
use rouse_core::policy::ToolPolicy;
use rouse_core::run::{Outcome, Usage};
use rouse_core::tool::{Annotations, ApprovalRule, BoxFuture};
use rouse_core::{Job, Run, RunState, UnixMs};
use rouse_testkit::scripted_model::{Scripted, calls};
use serde_json::{Value, json};

use super::breaks::broken_off;
use super::guarded::{Guard, Keeper, Reached, VALUE, done, echoing, reached};
use super::house::{House, agent_job, tools, turn_of};

/// A house with two secrets and `keeper`, which writes here.
async fn house(script: Vec<Scripted>, hooks: Vec<Arc<dyn Hook>>) -> (House, Reached) {
    let made = Reached::default();
    let keeper = Keeper { inner: echoing("keeper", Annotations::OVERWRITES, &made) };
    let mut all = tools();
    all.push(Arc::new(keeper));
    let asker = echoing("asker", Annotations::OVERWRITES, &made);
    let inner = asker.with(|spec| spec.approval = ApprovalRule::UnlessGranted);
    all.push(Arc::new(Keeper { inner }));
    let runner = echoing("runner", Annotations::OVERWRITES, &made);
    all.push(Arc::new(runner.with(|spec| spec.approval = ApprovalRule::UnlessGranted)));
    let secrets = vec![secret("mail", VALUE, 1), secret("other", "harvest-17-Moon", 2)];
    (House::guarded(script, all, secrets, hooks).await, made)
}

fn secret(name: &str, value: &str, set_at: i64) -> Secret {
    let value = SecretValue::new(value).expect("a value");
    let secret = Secret::new(name, value, &["api.example.com".to_owned()]).expect("a secret");
    secret.set(UnixMs(set_at))
}

/// What the calls of `tool` were answered in this run.
async fn answers_of(house: &House, run: &Run, tool: &str) -> Vec<String> {
    let steps = house.steps(run).await;
    let of_tool = steps.into_iter().filter(|step| step.name == tool);
    of_tool.map(|step| step.output.expect("words").to_string()).collect()
}

const ANEW: &str = "another-value-43";

/// What can happen to a secret while a call waits, and what is said of the call then.
fn mishaps() -> [(Vec<Secret>, BTreeMap<String, String>, &'static str); 4] {
    let locked = BTreeMap::from([("mail".to_owned(), "the keyring is locked".to_owned())]);
    let none = BTreeMap::new;
    [
        (Vec::new(), none(), "the stored secret mail, which has been deleted since. So it was not"),
        (vec![secret("mail", ANEW, 3)], none(), "mail had, which has been set anew since. So it"),
        // Nobody can tell that it is the same value.
        (vec![secret("mail", VALUE, 3)], none(), "mail had, which has been set anew since. So it"),
        (Vec::new(), locked, "mail, which is not at hand, because the keyring is locked. So it"),
    ]
}

#[tokio::test]
async fn a_hook_sees_handles_and_what_it_makes_of_them_is_written_with_the_values() {
    let says = |text: &str| vec![CallAnswer::Rewrite(json!({ "text": text }))];
    for (made_of_it, written) in [
        ("key: {{secret:mail}}\n", format!("key: {VALUE}\n")),
        // It was not shown that one, so these are words.
        ("{{secret:mail}} {{secret:other}}", format!("{VALUE} {{{{secret:other}}}}")),
        ("nothing", "nothing".to_owned()),
    ] {
        let (guard, mut heard) = Guard::saying(says(made_of_it));
        let (house, made) = house(Vec::new(), vec![guard]).await;
        let arguments = json!({ "text": format!("key {VALUE}") });
        let (run, called) = house.pass(&ToolPolicy::default(), "keeper", arguments).await;
        assert!(called.reached_tool, "{called:?}");
        assert_eq!(reached(&made), [json!({ "text": written })]);
        let seen = heard.recv().await.expect("asked");
        assert_eq!(seen["before"], json!({ "text": "key {{secret:mail}}" }));
        let again = heard.recv().await.expect("asked about what it has made");
        assert!(!again.to_string().contains(VALUE), "{again}");
        assert!(!format!("{:?}", house.steps(&run).await).contains(VALUE));
    }
}

#[tokio::test]
async fn a_hook_sees_no_value_where_no_handle_can_stand_for_it() {
    let (guard, mut heard) = Guard::saying(Vec::new());
    let (house, made) = house(Vec::new(), vec![guard]).await;
    // A value beside the words of its handle, and one in another spelling.
    for text in [format!("{VALUE} {{{{secret:mail}}}}"), "c3VuZmxvd2VyLTQyLVRhbmdv".to_owned()] {
        let arguments = json!({ "text": text });
        let (_, called) = house.pass(&ToolPolicy::default(), "keeper", arguments.clone()).await;
        assert!(called.reached_tool, "{called:?}");
        assert_eq!(reached(&made).pop(), Some(arguments));
        let seen = heard.recv().await.expect("asked")["before"].to_string();
        assert!(seen.contains("[redacted: secret:mail]") && !seen.contains(&text), "{seen}");
        heard.recv().await.expect("told");
    }
}

#[tokio::test]
async fn a_write_that_waits_behind_another_call_s_question_is_made_as_it_was_written() {
    let held = json!({ "text": format!("key {VALUE}\n") });
    // What a model has written itself stands for nothing.
    let mark = json!({ "text": "key [redacted: secret:mail]" });
    let script = vec![
        calls([
            ("c0", "asks", json!({})),
            ("c1", "keeper", held.clone()),
            ("c2", "keeper", mark.clone()),
        ]),
        done(),
    ];
    let (house, made) = house(script, Vec::new()).await;
    let job = agent_job(json!({ "message": "Do it." }), json!({}));
    let run = house.run_of(Some(&job)).await;
    let outcome = house.go(&run, &job).await;
    assert_eq!(outcome.asks.len(), 1, "{outcome:?}");
    house.say_yes(&run, &outcome).await;
    assert_eq!(house.go(&run, &job).await.state, RunState::Succeeded);
    assert_eq!(reached(&made), [held, mark]);
    assert!(!format!("{:?}", house.steps(&run).await).contains(VALUE));
}

/// The second park keeps what the first has kept.
#[tokio::test]
async fn nor_does_it_matter_how_often_its_run_has_waited() {
    let held = json!({ "text": format!("key {VALUE}") });
    let script = vec![
        calls([
            ("c0", "asks", json!({})),
            ("c1", "keeper", held.clone()),
            // The same question, which is asked when its turn comes.
            ("c2", "asks", json!({})),
            ("c3", "keeper", held.clone()),
        ]),
        done(),
    ];
    let (house, made) = house(script, Vec::new()).await;
    let job = agent_job(json!({ "message": "Do it." }), json!({}));
    let run = house.run_of(Some(&job)).await;
    for _ in 0..2 {
        let outcome = house.go(&run, &job).await;
        assert_eq!(outcome.asks.len(), 1, "{outcome:?}");
        house.say_yes(&run, &outcome).await;
    }
    assert_eq!(house.go(&run, &job).await.state, RunState::Succeeded);
    assert_eq!(reached(&made), [held.clone(), held]);
}

/// Alone it would be refused, because the question would be written down; what waits is no other call.
#[tokio::test]
async fn a_call_that_cannot_be_kept_by_handles_is_refused_when_its_run_goes_on_and_never_made_with_a_mark()
 {
    let held = json!({ "text": format!("echo {VALUE} > .env") });
    let alone = vec![calls([("c0", "runner", held.clone())]), done()];
    let behind = vec![
        calls([
            ("c0", "asks", json!({})),
            ("c1", "runner", held.clone()),
            // The same question, behind which it is not asked about either.
            ("c2", "asks", json!({})),
            ("c3", "runner", held),
        ]),
        done(),
    ];
    let job = agent_job(json!({ "message": "Do it." }), json!({}));
    let (single, made) = house(alone, Vec::new()).await;
    let run = single.run_of(Some(&job)).await;
    assert_eq!(single.go(&run, &job).await.state, RunState::Succeeded);
    let words = answers_of(&single, &run, "runner").await;
    assert!(words[0].contains("the value of a stored secret"), "{words:?}");
    assert!(reached(&made).is_empty());

    let (house, made) = house(behind, Vec::new()).await;
    let run = house.run_of(Some(&job)).await;
    for _ in 0..2 {
        let outcome = house.go(&run, &job).await;
        let asked: Vec<&str> = outcome.asks.iter().map(|asked| asked.tool.as_str()).collect();
        assert_eq!(asked, ["asks"], "{outcome:?}");
        house.say_yes(&run, &outcome).await;
    }
    assert_eq!(house.go(&run, &job).await.state, RunState::Succeeded);
    assert!(reached(&made).is_empty(), "{:?}", reached(&made));
    let refused = answers_of(&house, &run, "runner").await;
    assert_eq!(refused, [words[0].clone(), words[0].clone()]);
}

#[tokio::test]
async fn a_call_whose_secret_goes_while_it_waits_behind_a_question_is_refused_and_never_made_with_another_value()
 {
    let held = json!({ "text": format!("key {VALUE}") });
    for (secrets, absent, why) in mishaps() {
        let script =
            vec![calls([("c0", "asks", json!({})), ("c1", "keeper", held.clone())]), done()];
        let (house, made) = house(script, Vec::new()).await;
        let job = agent_job(json!({ "message": "Do it." }), json!({}));
        let run = house.run_of(Some(&job)).await;
        let outcome = house.go(&run, &job).await;
        house.say_yes(&run, &outcome).await;
        house.secrets.hold(secrets, absent);
        assert_eq!(house.go(&run, &job).await.state, RunState::Succeeded);
        let said = answers_of(&house, &run, "keeper").await;
        assert!(said.len() == 1 && said[0].contains(why), "{why}: {said:?}");
        assert!(reached(&made).is_empty(), "{:?}", reached(&made));
    }
}

#[tokio::test]
async fn a_yes_is_to_the_value_that_was_asked_about_and_to_none_that_was_set_since() {
    let held = |value: &str| json!({ "text": format!("key {value}") });
    for (secrets, absent, why) in mishaps() {
        let is_there = !secrets.is_empty();
        let value = if secrets.contains(&secret("mail", ANEW, 3)) { ANEW } else { VALUE };
        let script = vec![
            calls([("c0", "asker", held(VALUE))]),
            calls([("c1", "asker", held(value))]),
            done(),
        ];
        let (house, made) = house(script, Vec::new()).await;
        let job = agent_job(json!({ "message": "Do it." }), json!({}));
        let run = house.run_of(Some(&job)).await;
        let outcome = house.go(&run, &job).await;
        assert_eq!(outcome.asks[0].arguments, json!({ "text": "key {{secret:mail}}" }));
        house.say_yes(&run, &outcome).await;
        house.secrets.hold(secrets, absent);
        let outcome = house.go(&run, &job).await;
        let said = answers_of(&house, &run, "asker").await;
        assert!(said.len() == 1 && said[0].contains(why), "{why}: {said:?}");
        assert!(reached(&made).is_empty(), "{:?}", reached(&made));
        // The model has written the same call again, by now with what is stored now: that is another question.
        assert_eq!(outcome.state, RunState::AwaitingApproval, "{outcome:?}");
        if is_there {
            assert_eq!(outcome.asks[0].arguments, json!({ "text": "key {{secret:mail}}" }));
            house.say_yes(&run, &outcome).await;
            assert_eq!(house.go(&run, &job).await.state, RunState::Succeeded);
            assert_eq!(reached(&made), [held(value)]);
        }
    }
}

/// A model that makes these calls, and then ends its run.
struct Settled(Vec<(&'static str, &'static str, Value)>);

impl ModelProvider for Settled {
    fn name(&self) -> &str {
        "settled"
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelAnswer, ProviderError>> {
        let is_said = |message: &Message| matches!(message, Message::Assistant { .. });
        let end = json!({ "outcome": "report", "summary": "Done." });
        let calls = match request.messages.iter().any(is_said) {
            false => self.0.clone(),
            true => vec![("c9", "complete_run", end)],
        };
        let part = |(id, tool, arguments): (&str, &str, Value)| {
            let (id, tool) = (id.to_owned(), tool.to_owned());
            Part::ToolCall(ToolCallRequest { id, tool, arguments })
        };
        let answer = ModelAnswer {
            parts: calls.into_iter().map(part).collect(),
            usage: Usage::default(),
            model: "settled-1".to_owned(),
            stop: StopReason::ToolCalls,
        };
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(answer)
        })
    }
}

async fn go(house: &House, run: &Run, job: &Job, model: &Arc<Settled>) -> Outcome {
    let chosen = ChosenModel { provider: model.clone(), model: "settled-1".to_owned() };
    house.driver().run_turn(run, job, turn_of(job), Some(chosen), &house.cancel).await
}

/// A hook that is waited for, and says so: a run can be broken off there, between the answer of the model and the end of its
/// call.
#[derive(Default)]
struct Slow {
    is_asked: AtomicBool,
}

impl Hook for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn before_tool_call<'h>(
        &'h self,
        _: &'h CallSeen,
    ) -> BoxFuture<'h, Result<CallAnswer, HookError>> {
        Box::pin(async {
            self.is_asked.store(true, Ordering::SeqCst);
            tokio::task::yield_now().await;
            Ok(CallAnswer::Allow)
        })
    }
}

/// Where a run is broken off.
#[derive(Debug, Clone, Copy)]
enum Break {
    AtTheHook,
    After(u32),
}

/// Breaks a run off; false when it came to its end before.
async fn is_broken_off(
    house: &House,
    hook: &Slow,
    work: impl Future<Output = Outcome>,
    at: Break,
) -> bool {
    let polls = match at {
        Break::After(polls) => polls,
        Break::AtTheHook => {
            let mut work = pin!(work);
            let ended = poll_fn(|cx| match work.as_mut().poll(cx) {
                Poll::Pending if hook.is_asked.load(Ordering::SeqCst) => Poll::Ready(None),
                polled => polled.map(Some),
            });
            let is_broken = ended.await.is_none();
            house.run_only(None).await;
            return is_broken;
        }
    };
    broken_off(house, work, polls).await.is_none()
}

/// The calls of an answer stand in the transcript with marks before any of them is kept or made.
#[tokio::test]
async fn a_run_that_is_broken_off_between_an_answer_and_its_end_makes_no_call_with_a_mark() {
    let held = json!({ "text": format!("key {VALUE}") });
    let alone = vec![("c0", "keeper", held.clone())];
    let behind = vec![("c0", "asks", json!({})), ("c1", "keeper", held.clone())];
    let asked = vec![("c0", "asker", held.clone())];
    for script in [alone, behind, asked] {
        let model = Arc::new(Settled(script));
        let mut at = Break::AtTheHook;
        loop {
            let hook = Arc::new(Slow::default());
            let (house, made) = house(Vec::new(), vec![hook.clone()]).await;
            let job = agent_job(json!({ "message": "Do it." }), json!({}));
            let run = house.run_of(Some(&job)).await;
            let is_broken = is_broken_off(&house, &hook, go(&house, &run, &job, &model), at).await;
            let mut outcome = go(&house, &run, &job, &model).await;
            if outcome.state == RunState::AwaitingApproval {
                house.say_yes(&run, &outcome).await;
                outcome = go(&house, &run, &job, &model).await;
            }
            assert_eq!(outcome.state, RunState::Succeeded, "{at:?}: {outcome:?}");
            let made = reached(&made);
            assert!(made.iter().all(|call| *call == held), "{at:?}: {made:?}");
            let steps = format!("{:?}", house.steps(&run).await);
            let is_cut_off = steps.contains("Rouse was stopped before the call had an end");
            assert!(is_cut_off || !made.is_empty(), "{at:?}: {steps}");
            assert!(!steps.contains(VALUE), "{at:?}: {steps}");
            at = match at {
                Break::AtTheHook => {
                    // A call that is asked about waits before any hook hears of it.
                    let is_alone = model.0.len() == 1 && model.0[0].1 == "keeper";
                    assert_eq!((is_broken, is_cut_off), (is_alone, is_alone), "{steps}");
                    Break::After(0)
                }
                Break::After(polls) if is_broken => Break::After(polls + 1),
                Break::After(_) => break,
            };
        }
    }
}
