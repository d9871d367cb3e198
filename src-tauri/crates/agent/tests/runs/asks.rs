//! Runs that need a person's yes: asked, answered, and gone on; and every way in which a yes does not count.

use std::sync::{Arc, Mutex};

use rouse_agent::{ChosenModel, Lineup};
use rouse_core::approval::{Answer, Cover, GateDecision, NewGrant, Refusal, Rule, Surroundings};
use rouse_core::job::{Approvals, Payload};
use rouse_core::message::{Message, Part};
use rouse_core::model::ProviderErrorKind;
use rouse_core::policy::ApprovedCall;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec,
};
use rouse_core::{Job, RunState, SessionKey};
use rouse_store::StepStatus;
use rouse_testkit::ScriptedModel;
use rouse_testkit::scripted_model::{Scripted, calls, fails};
use serde_json::{Value, json};

use super::house::{House, TestTool, agent_job, tools, turn_of};

/// What the tools have done.
type Effects = Arc<Mutex<Vec<String>>>;

/// Asks for each call that no grant covers, and is bound to the content of a file.
struct Sender {
    inner: TestTool,
    file: Arc<Mutex<String>>,
}

impl Tool for Sender {
    fn spec(&self) -> &ToolSpec {
        self.inner.spec()
    }

    fn surroundings<'a>(
        &'a self,
        _: &'a Value,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        let content = self.file.lock().expect("not poisoned").clone();
        let files = [("script.sh".to_owned(), content)].into();
        Box::pin(std::future::ready(Ok(Surroundings { files, ..Surroundings::default() })))
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        self.inner.call(call, context)
    }
}

fn recording(name: &str, effects: &Effects) -> TestTool {
    let effects = Arc::clone(effects);
    TestTool::new(name, move |call, _| {
        let text = call.arguments()["text"].as_str().unwrap_or_default().to_owned();
        effects.lock().expect("not poisoned").push(text);
        Box::pin(std::future::ready(ToolOutput::ok("sent")))
    })
}

/// A house, what its tools have done, and the file that the calls of `send` are bound to.
async fn house(script: Vec<Scripted>) -> (House, Effects, Arc<Mutex<String>>) {
    let effects = Effects::default();
    let file = Arc::new(Mutex::new("one".to_owned()));
    let asks = |rule| {
        move |spec: &mut ToolSpec| {
            spec.approval = rule;
            spec.annotations = Annotations::ANYTHING;
        }
    };
    let sender = Sender {
        inner: recording("send", &effects).with(asks(ApprovalRule::UnlessGranted)),
        file: Arc::clone(&file),
    };
    let dangerous = recording("dangerous", &effects).with(asks(ApprovalRule::Always));
    let looks = recording("looks", &effects).with(|spec| spec.annotations.open_world = true);
    let mut all = tools();
    all.extend([Arc::new(sender) as Arc<dyn Tool>, Arc::new(dangerous), Arc::new(looks)]);
    (House::with_tools(script, all).await, effects, file)
}

fn done() -> Scripted {
    calls([("c0", "complete_run", json!({"outcome": "report", "summary": "Done."}))])
}

fn sends(texts: &[&str]) -> Scripted {
    calls(texts.iter().map(|text| ("c0", "send", json!({ "text": text }))))
}

/// A run of one job, again and again.
struct Runs<'h> {
    house: &'h House,
    job: Job,
}

impl<'h> Runs<'h> {
    fn of(house: &'h House, policies: Value) -> Self {
        Self { house, job: agent_job(json!({ "message": "Do it." }), policies) }
    }

    async fn begin(&self) -> (Run, Outcome) {
        let run = self.house.run_of(Some(&self.job)).await;
        let outcome = self.go_on(&run).await;
        (run, outcome)
    }

    async fn go_on(&self, run: &Run) -> Outcome {
        let (house, turn) = (self.house, turn_of(&self.job));
        house.driver().run_turn(run, &self.job, turn, house.chosen(), &house.cancel).await
    }

    /// Parks the run as the scheduler does and gives the answers, one to each question.
    async fn answered(&self, run: &Run, outcome: &Outcome, answers: &[Answer]) -> Outcome {
        assert_eq!(outcome.asks.len(), answers.len(), "{:?}", outcome.asks);
        self.house.park(run, outcome).await;
        for (asked, answer) in outcome.asks.iter().zip(answers) {
            self.house.decide(asked, answer).await;
        }
        self.house.start_again(run).await;
        self.go_on(run).await
    }
}

fn effects(effects: &Effects) -> Vec<String> {
    effects.lock().expect("not poisoned").clone()
}

#[tokio::test]
async fn a_call_that_needs_a_yes_waits_for_it_and_is_made_once() {
    let (house, done_by, _) = house(vec![sends(&["a"]), done()]).await;
    let runs = Runs::of(&house, json!({}));
    let (run, asked) = runs.begin().await;
    assert!(effects(&done_by).is_empty(), "nothing was done before the answer");
    let question = &asked.asks[0];
    assert_eq!((question.tool.as_str(), &question.arguments), ("send", &json!({ "text": "a" })));
    assert_eq!(question.expires_at.since(question.asked_at), 30 * 60_000);
    assert!(question.why.contains("nothing that you have granted"), "{}", question.why);

    let outcome = runs.answered(&run, &asked, &[Answer::Once]).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    assert_eq!(effects(&done_by), ["a"]);
    let steps = house.steps(&run).await;
    let sent = steps.iter().find(|step| step.name == "send").expect("journalled");
    let by = GateDecision::Answered { approval_id: question.id.clone(), rewritten_by: None };
    assert_eq!((sent.status, &sent.gate), (StepStatus::Finished, &Some(by)));
}

#[tokio::test]
async fn several_calls_are_asked_about_at_once_and_made_in_their_order() {
    let looks = ("c0", "echo", json!({ "text": "x" }));
    let send = |id, text: &str| (id, "send", json!({ "text": text }));
    let script = vec![calls([looks, send("c1", "a"), send("c2", "b")]), done()];
    let (house, done_by, _) = house(script).await;
    let runs = Runs::of(&house, json!({}));
    let (run, asked) = runs.begin().await;
    let no = Answer::Deny { reason: Some("Not that.".to_owned()) };
    let outcome = runs.answered(&run, &asked, &[Answer::Once, no]).await;
    assert_eq!((outcome.state, effects(&done_by)), (RunState::Succeeded, vec!["a".to_owned()]));
    let echoes = house.steps(&run).await;
    assert_eq!(echoes.iter().filter(|step| step.name == "echo").count(), 1, "made once");
    let told = house.transcript(&SessionKey::of_job(&runs.job.id)).await;
    let is_told = |message: &Message| matches!(message, Message::ToolResult { text, is_error: true, .. } if text.contains("The person said no to this call of send: Not that."));
    assert!(told.iter().any(is_told), "{told:?}");
}

#[tokio::test]
async fn a_yes_for_once_is_used_up_and_one_for_the_run_is_not() {
    for (answer, asks_again) in [(Answer::Once, true), (Answer::Run, false)] {
        let (house, done_by, _) = house(vec![sends(&["a"]), sends(&["a"]), done()]).await;
        let runs = Runs::of(&house, json!({}));
        let (run, asked) = runs.begin().await;
        let then = runs.answered(&run, &asked, &[answer]).await;
        assert_eq!(then.state == RunState::AwaitingApproval, asks_again, "{then:?}");
        assert_eq!(effects(&done_by).len(), if asks_again { 1 } else { 2 });
    }
}

#[tokio::test]
async fn a_run_whose_job_is_gone_asks_nobody_and_goes_on_to_its_end() {
    let (house, done_by, _) = house(vec![sends(&["a"]), sends(&["b"]), done()]).await;
    let runs = Runs::of(&house, json!({}));
    let (run, asked) = runs.begin().await;
    house.say_yes(&run, &asked).await;
    house
        .store
        .remove_job(&runs.job.id, house.now())
        .await
        .expect("written")
        .expect("it was there");
    let outcome = runs.go_on(&run).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    assert_eq!(effects(&done_by), ["a"], "what had its yes is made, and nothing else");
    let told = house.transcript(&SessionKey::of_job(&runs.job.id)).await;
    let is_told = |message: &Message| matches!(message, Message::ToolResult { text, is_error: true, .. } if text.contains("Its job was deleted, so nobody is asked."));
    assert!(told.iter().any(is_told), "{told:?}");
}

#[tokio::test]
async fn what_has_changed_since_the_yes_is_asked_about_again() {
    let (house, done_by, file) = house(vec![sends(&["a"]), done()]).await;
    let runs = Runs::of(&house, json!({}));
    let (run, asked) = runs.begin().await;
    *file.lock().expect("not poisoned") = "two".to_owned();
    let then = runs.answered(&run, &asked, &[Answer::Run]).await;
    assert_eq!(then.state, RunState::AwaitingApproval, "{then:?}");
    assert!(then.asks[0].why.contains("has changed since"), "{}", then.asks[0].why);
    assert!(effects(&done_by).is_empty());
    let outcome = runs.answered(&run, &then, &[Answer::Once]).await;
    assert_eq!((outcome.state, effects(&done_by).len()), (RunState::Succeeded, 1));
}

#[tokio::test]
async fn a_grant_covers_later_runs_until_it_is_taken_back() {
    let script = vec![sends(&["a"]), done(), sends(&["b"]), done(), sends(&["b"])];
    let (house, done_by, _) = house(script).await;
    let runs = Runs::of(&house, json!({}));
    let (run, asked) = runs.begin().await;
    let rules = [("text".to_owned(), Rule::OneOf(vec![json!("a"), json!("b")]))].into();
    let covers = Cover::like(&asked.asks[0], rules);
    let grant = NewGrant { covers, expires_at: None, uses: None };
    runs.answered(&run, &asked, &[Answer::Always(grant)]).await;
    let (later, outcome) = runs.begin().await;
    assert_eq!((outcome.state, effects(&done_by).len()), (RunState::Succeeded, 2));
    let granted = house.steps(&later).await;
    let by = granted.iter().find(|step| step.name == "send").and_then(|step| step.gate.clone());
    assert!(matches!(by, Some(GateDecision::Granted { .. })), "{by:?}");

    let grants = house.store.grants_of(&runs.job.id).await.expect("read");
    assert!(house.store.revoke_grant(&grants[0].id, house.now()).await.expect("revoked"));
    let (_, outcome) = runs.begin().await;
    assert_eq!(outcome.state, RunState::AwaitingApproval);
    assert_eq!(effects(&done_by).len(), 2);
}

#[tokio::test]
async fn a_grant_gives_no_tool_to_a_job_that_has_none() {
    let (house, done_by, _) = house(vec![sends(&["a"]), done(), sends(&["a"]), done()]).await;
    let runs = Runs::of(&house, json!({}));
    let (run, asked) = runs.begin().await;
    let covers = Cover::exactly(&asked.asks[0]);
    let grant = NewGrant { covers, expires_at: None, uses: None };
    runs.answered(&run, &asked, &[Answer::Always(grant)]).await;
    assert_eq!(effects(&done_by).len(), 1);
    let mut job = runs.job.clone();
    if let Payload::AgentTurn(turn) = &mut job.payload {
        turn.use_tools = Some(false);
    }
    let run = house.run_of(Some(&job)).await;
    house.go(&run, &job).await;
    assert_eq!(effects(&done_by).len(), 1, "{:?}", house.steps(&run).await);
}

#[tokio::test]
async fn a_granted_call_that_works_with_something_else_by_now_says_so() {
    let (house, _, file) = house(vec![sends(&["a"]), done(), sends(&["a"]), sends(&["b"])]).await;
    let runs = Runs::of(&house, json!({}));
    let (run, asked) = runs.begin().await;
    let covers = Cover::exactly(&asked.asks[0]);
    let grant = NewGrant { covers, expires_at: None, uses: None };
    runs.answered(&run, &asked, &[Answer::Always(grant)]).await;
    *file.lock().expect("not poisoned") = "two".to_owned();
    let why = async || runs.begin().await.1.asks.remove(0).why;
    let words = why().await;
    assert!(words.contains("granted exactly this call") && words.contains("PATH"), "{words}");
    let words = why().await;
    assert!(words.contains("nothing that you have granted"), "{words}");
}

#[tokio::test]
async fn the_highest_class_is_asked_for_each_time_whatever_was_granted() {
    let call = || calls([("c0", "dangerous", json!({ "text": "a" }))]);
    let (house, done_by, _) = house(vec![call(), done(), call()]).await;
    let runs = Runs::of(&house, json!({}));
    let (run, asked) = runs.begin().await;
    assert!(asked.asks[0].is_highest);
    let covers = Cover::exactly(&asked.asks[0]);
    // The gateway refuses such a grant; here it is in the store all the same.
    let grant = Answer::Always(NewGrant { covers, expires_at: None, uses: None });
    runs.answered(&run, &asked, &[grant]).await;
    let (_, later) = runs.begin().await;
    assert_eq!((later.state, effects(&done_by).len()), (RunState::AwaitingApproval, 1));
}

#[tokio::test]
async fn a_job_that_does_not_ask_tells_the_model_or_does_not_offer() {
    for (mode, approvals, offered) in
        [("deny", Approvals::Deny, true), ("skip", Approvals::Skip, false)]
    {
        let (house, done_by, _) = house(vec![sends(&["a"]), done()]).await;
        let (run, outcome) = Runs::of(&house, json!({ "approvals": mode })).begin().await;
        assert_eq!(outcome.state, RunState::Succeeded, "{mode}: {outcome:?}");
        assert!(effects(&done_by).is_empty());
        let requests = house.model.requests();
        assert_eq!(requests[0].tools.iter().any(|tool| tool.name == "send"), offered, "{mode}");
        let refused = &house.steps(&run).await[1];
        let why = Some(Refusal::Unasked { approvals });
        let gate = Some(GateDecision::Refused { why, rewritten_by: None });
        assert_eq!((&refused.gate, refused.is_error), (&gate, true));
    }
}

#[tokio::test]
async fn a_job_that_offers_nothing_that_asks_offers_what_a_grant_covers_and_makes_only_that() {
    let both = || sends(&["a", "b"]);
    let (house, done_by, _) =
        house(vec![sends(&["a"]), done(), both(), done(), both(), done()]).await;
    let asks = Runs::of(&house, json!({}));
    let (run, asked) = asks.begin().await;
    let covers = Cover::exactly(&asked.asks[0]);
    let grant = Answer::Always(NewGrant { covers, expires_at: None, uses: None });
    asks.answered(&run, &asked, &[grant]).await;
    let skips = Runs::of(&house, json!({ "approvals": "skip" }));
    let (later, outcome) = skips.begin().await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    assert_eq!(effects(&done_by), ["a", "a"], "the grant covers no other call");
    let is_offered = |request: usize| {
        house.model.requests()[request].tools.iter().any(|tool| tool.name == "send")
    };
    assert!(is_offered(2));
    let steps = house.steps(&later).await;
    let sent: Vec<_> = steps.iter().filter(|step| step.name == "send").collect();
    assert!(matches!(sent[0].gate, Some(GateDecision::Granted { .. })), "{sent:?}");
    let refusal = sent[1].output.as_ref().map(ToString::to_string).unwrap_or_default();
    assert!(refusal.contains("this job does not ask for it"), "{refusal}");

    let grants = house.store.grants_of(&skips.job.id).await.expect("read");
    assert!(house.store.revoke_grant(&grants[0].id, house.now()).await.expect("revoked"));
    skips.begin().await;
    assert!(!is_offered(4), "a grant that was taken back offers nothing");
    assert_eq!(effects(&done_by).len(), 2);
}

#[tokio::test]
async fn nobody_who_answers_is_a_no_that_is_not_asked_again() {
    let (house, done_by, _) = house(vec![sends(&["a"]), sends(&["a"]), done()]).await;
    let runs = Runs::of(&house, json!({ "approvalSeconds": 60 }));
    let (run, asked) = runs.begin().await;
    runs.house.park(&run, &asked).await;
    house.clock.advance(60_000);
    let goes_on = house.store.expire_approvals(house.now()).await.expect("expired");
    assert_eq!(goes_on.len(), 1);
    house.start_again(&run).await;
    let outcome = runs.go_on(&run).await;
    assert_eq!((outcome.state, effects(&done_by).len()), (RunState::Succeeded, 0), "{outcome:?}");
}

#[tokio::test]
async fn a_no_holds_whatever_the_call_works_with_by_then_and_so_does_nobodys_answer() {
    let no = Answer::Deny { reason: Some("Not that.".to_owned()) };
    for (answer, told) in [(Some(no), "no to this call of send: Not that."), (None, "in time")] {
        let (house, done_by, file) = house(vec![sends(&["a"]), sends(&["a"]), done()]).await;
        let runs = Runs::of(&house, json!({ "approvalSeconds": 60 }));
        let (run, asked) = runs.begin().await;
        house.park(&run, &asked).await;
        *file.lock().expect("not poisoned") = "two".to_owned();
        match &answer {
            Some(answer) => house.decide(&asked.asks[0], answer).await,
            None => {
                house.clock.advance(60_000);
                house.store.expire_approvals(house.now()).await.expect("expired");
            }
        }
        house.start_again(&run).await;
        let outcome = runs.go_on(&run).await;
        assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
        assert!(effects(&done_by).is_empty());
        let said = house.transcript(&SessionKey::of_job(&runs.job.id)).await;
        let is_told = |message: &&Message| matches!(message, Message::ToolResult { text, is_error: true, .. } if text.contains(told));
        assert_eq!(said.iter().filter(is_told).count(), 2, "{said:?}");
    }
}

#[tokio::test]
async fn a_run_that_asks_too_often_is_told_to_have_grants_only_where_they_would_help() {
    let no = || Answer::Deny { reason: None };
    for (answers, advice) in [
        ([Answer::Once, Answer::Once, Answer::Once], "Grant what it needs always"),
        ([Answer::Once, no(), Answer::Once], "Not all of that got a yes"),
    ] {
        let script = ["a", "b", "c", "d"].map(|text| sends(&[text])).to_vec();
        let (house, _, _) = house(script).await;
        let runs = Runs::of(&house, json!({}));
        let (run, mut outcome) = runs.begin().await;
        for answer in answers {
            outcome = runs.answered(&run, &outcome, &[answer]).await;
        }
        let error = outcome.error.expect("words");
        assert!(error.contains(advice), "{error}");
        assert_eq!(error.contains("Grant"), advice.contains("Grant"), "{error}");
    }
}

/// Some providers count the ids of calls anew with every answer.
#[tokio::test]
async fn the_same_call_under_the_same_id_is_another_question_once_it_was_made() {
    let (house, done_by, _) = house(vec![sends(&["a"]); 4]).await;
    let runs = Runs::of(&house, json!({}));
    let (run, mut outcome) = runs.begin().await;
    for _ in 0..3 {
        assert_eq!(outcome.state, RunState::AwaitingApproval, "{outcome:?}");
        outcome = runs.answered(&run, &outcome, &[Answer::Once]).await;
    }
    assert_eq!(outcome.state, RunState::Failed, "{outcome:?}");
    assert!(outcome.error.as_ref().is_some_and(|error| error.contains("asked 3 times")));
    assert_eq!(effects(&done_by), ["a", "a", "a"]);
}

#[tokio::test]
async fn a_run_that_asks_too_often_ends_and_pauses_its_job() {
    let script = ["a", "b", "c", "d"].map(|text| sends(&[text])).to_vec();
    let (house, done_by, _) = house(script).await;
    let runs = Runs::of(&house, json!({}));
    let (run, mut outcome) = runs.begin().await;
    for _ in 0..3 {
        outcome = runs.answered(&run, &outcome, &[Answer::Once]).await;
    }
    assert_eq!(outcome.state, RunState::Failed);
    assert!(outcome.error.as_ref().is_some_and(|error| error.contains("asked 3 times")));
    assert!(outcome.pauses.is_some(), "{outcome:?}");
    assert_eq!(effects(&done_by), ["a", "b", "c"]);
}

#[tokio::test]
async fn the_same_question_of_two_runs_is_asked_once_and_unanswered_ones_do_not_heap_up() {
    let script =
        [sends(&["a"]), sends(&["a"]), done(), sends(&["b"]), sends(&["c"]), sends(&["d"]), done()];
    let (house, done_by, _) = house(script.to_vec()).await;
    let runs = Runs::of(&house, json!({}));
    let (first, asked) = runs.begin().await;
    runs.house.park(&first, &asked).await;
    let (_, same) = runs.begin().await;
    assert_eq!(same.state, RunState::Succeeded, "told and ended: {same:?}");
    for _ in ["b", "c"] {
        let (run, asked) = runs.begin().await;
        runs.house.park(&run, &asked).await;
    }
    let (_, fourth) = runs.begin().await;
    assert_eq!(fourth.state, RunState::Succeeded, "told and ended: {fourth:?}");
    assert!(effects(&done_by).is_empty());
}

#[tokio::test]
async fn a_run_that_knows_text_from_outside_asks_before_it_tells_anybody() {
    let look = || calls([("c0", "looks", json!({ "text": "a" }))]);
    let read = || calls([("c0", "outside", json!({}))]);
    let (house, done_by, _) = house(vec![look(), read(), look(), done(), look()]).await;
    let runs = Runs::of(&house, json!({}));
    let (run, asked) = runs.begin().await;
    assert_eq!(effects(&done_by).len(), 1, "before it has read anything it may look");
    assert!(asked.asks[0].why.starts_with("The run has read text"), "{:?}", asked.asks);
    runs.answered(&run, &asked, &[Answer::Once]).await;
    // The next run remembers what this one said.
    let (_, later) = runs.begin().await;
    assert!(later.asks[0].why.contains("read earlier in its session"), "{:?}", later.asks);
    assert_eq!((later.state, effects(&done_by).len()), (RunState::AwaitingApproval, 2));
}

#[tokio::test]
async fn one_wrong_byte_anywhere_is_another_call() {
    use rouse_testkit::Dice;
    let (house, done_by, file) = house(vec![sends(&["pay 10 to anna"]), done()]).await;
    let runs = Runs::of(&house, json!({}));
    let (run, asked) = runs.begin().await;
    runs.house.park(&run, &asked).await;
    runs.house.decide(&asked.asks[0], &Answer::Run).await;
    house.start_again(&run).await;
    let mut dice = Dice::new(7);
    let good = ("pay 10 to anna".to_owned(), "one".to_owned());
    for _ in 0..rouse_testkit::dice::count_or(2_000) {
        let (mut text, mut script) = good.clone();
        let other = if dice.once_in(2) { &mut text } else { &mut script };
        let at = usize::try_from(dice.between(0, i64::try_from(other.len()).expect("short") - 1));
        let letter = char::from(b'a' + u8::try_from(dice.between(0, 25)).expect("a letter"));
        let at = at.expect("in it");
        other.replace_range(at..=at, &letter.to_string());
        if (&text, &script) == (&good.0, &good.1) {
            continue;
        }
        *file.lock().expect("not poisoned") = script;
        let question = house.question(&run, &runs.job, "send", json!({ "text": text })).await;
        assert!(question.is_some(), "{text}");
    }
    assert!(effects(&done_by).is_empty());
    *file.lock().expect("not poisoned") = "one".to_owned();
    assert_eq!(runs.go_on(&run).await.state, RunState::Succeeded);
    assert_eq!(effects(&done_by), ["pay 10 to anna"]);
}

/// An answer in words that asks for one call.
fn says_and_sends(words: &str, text: &str) -> Scripted {
    let Scripted::Answer(mut answer) = sends(&[text]) else { panic!("an answer") };
    answer.parts.insert(0, Part::Text { text: words.to_owned() });
    Scripted::Answer(answer)
}

/// Parks the run, says yes to its question, and goes on with these models.
async fn goes_on_with(runs: &Runs<'_>, run: &Run, asked: &Outcome, models: Lineup) -> Outcome {
    let house = runs.house;
    house.say_yes(run, asked).await;
    house.driver().run_turn(run, &runs.job, turn_of(&runs.job), models, &house.cancel).await
}

#[tokio::test]
async fn a_call_that_got_its_yes_is_made_though_the_model_has_gone() {
    let (house, done_by, _) = house(vec![says_and_sends("Three mails so far.", "a")]).await;
    let runs = Runs::of(&house, json!({}));
    let (run, asked) = runs.begin().await;
    let absent = Lineup::absent("Ollama is not running on this computer.");
    let outcome = goes_on_with(&runs, &run, &asked, absent).await;
    assert_eq!(effects(&done_by), ["a"]);
    assert_eq!((outcome.state, outcome.may_pass), (RunState::Failed, true), "{outcome:?}");
    assert_eq!(outcome.error.as_deref(), Some("Ollama is not running on this computer."));
    assert_eq!(outcome.summary.as_deref(), Some("Three mails so far."));
}

#[tokio::test]
async fn a_run_stays_with_its_other_model_over_a_question() {
    let (house, done_by, _) = house(vec![]).await;
    let first =
        ScriptedModel::new([fails(ProviderErrorKind::Auth, "no key"), done()]).named("first");
    let second = ScriptedModel::new([sends(&["a"]), done()]).named("second");
    let models = [Arc::new(first), Arc::new(second)];
    let lineup = || {
        let chosen = |model: &Arc<ScriptedModel>| ChosenModel {
            provider: Arc::clone(model) as _,
            model: "same".to_owned(),
        };
        Lineup::of(models.iter().map(chosen))
    };
    let runs = Runs::of(&house, json!({}));
    let run = house.run_of(Some(&runs.job)).await;
    let driver = house.driver();
    let asked = driver.run_turn(&run, &runs.job, turn_of(&runs.job), lineup(), &house.cancel).await;
    let outcome = goes_on_with(&runs, &run, &asked, lineup()).await;
    assert_eq!((outcome.state, effects(&done_by)), (RunState::Succeeded, vec!["a".to_owned()]));
    assert_eq!(outcome.fell_back.as_deref(), Some("no key."));
    let asked: Vec<usize> = models.iter().map(|model| model.requests().len()).collect();
    assert_eq!(asked, [1, 2], "the first is not asked again");
}

#[tokio::test]
async fn a_question_that_a_grant_has_answered_since_is_none_any_more() {
    let (house, done_by, _) = house(vec![sends(&["a", "b"]), done()]).await;
    let runs = Runs::of(&house, json!({}));
    let (run, asked) = runs.begin().await;
    house.park(&run, &asked).await;
    let rules = [("text".to_owned(), Rule::OneOf(vec![json!("a"), json!("b")]))].into();
    let covers = Cover::like(&asked.asks[0], rules);
    house
        .decide(&asked.asks[0], &Answer::Always(NewGrant { covers, expires_at: None, uses: None }))
        .await;
    house.start_again(&run).await;
    let outcome = runs.go_on(&run).await;
    assert_eq!(
        (outcome.state, effects(&done_by)),
        (RunState::Succeeded, vec!["a".to_owned(), "b".to_owned()])
    );
    let steps = house.steps(&run).await;
    let gates: Vec<_> =
        steps.iter().filter(|step| step.name == "send").map(|step| &step.gate).collect();
    assert!(
        matches!(
            gates[..],
            [Some(GateDecision::Answered { .. }), Some(GateDecision::Granted { .. })]
        ),
        "{gates:?}"
    );
}

#[tokio::test]
async fn a_question_that_a_grant_has_answered_counts_as_one_with_a_yes() {
    let (house, _, _) = house(vec![sends(&["a", "b", "c"]), sends(&["z"])]).await;
    let runs = Runs::of(&house, json!({}));
    let (run, asked) = runs.begin().await;
    house.park(&run, &asked).await;
    let rules =
        [("text".to_owned(), Rule::OneOf(["a", "b", "c"].map(Value::from).to_vec()))].into();
    let covers = Cover::like(&asked.asks[0], rules);
    let always = Answer::Always(NewGrant { covers, expires_at: None, uses: None });
    house.decide(&asked.asks[0], &always).await;
    house.start_again(&run).await;
    let outcome = runs.go_on(&run).await;
    let error = outcome.error.unwrap_or_default();
    assert!(error.contains("Grant what it needs always"), "{error}");
}
