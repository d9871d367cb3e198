//! Approvals and grants: requests, decisions, resumption, and approvals that do not count.

use std::sync::{Arc, Mutex};

use rouse_agent::{ChosenModel, RunModels};
use rouse_core::approval::{
    ApprovalDecision, ArgumentRule, GateDecision, GrantScope, NewGrant, Refusal, Surroundings,
};
use rouse_core::job::{Approvals, Payload};
use rouse_core::message::{Message, Part};
use rouse_core::model::ProviderErrorKind;
use rouse_core::policy::ApprovedCall;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec,
};
use rouse_core::{RunState, SessionKey};
use rouse_store::StepStatus;
use rouse_testkit::ScriptedModel;
use rouse_testkit::scripted_model::{Scripted, calls, fails};
use serde_json::{Value, json};

use super::fixtures::{JobRuns, done};
use super::run_fixture::{RunFixture, TestTool, tools, turn_of};

/// Texts of the calls that were made.
type EffectLog = Arc<Mutex<Vec<String>>>;

/// Needs an approval or a grant, bound to the content of a file.
struct FileBoundTool {
    inner: TestTool,
    file: Arc<Mutex<String>>,
}

impl Tool for FileBoundTool {
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

fn recording(name: &str, effects: &EffectLog) -> TestTool {
    let effects = Arc::clone(effects);
    TestTool::new(name, move |call, _| {
        let text = call.arguments()["text"].as_str().unwrap_or_default().to_owned();
        effects.lock().expect("not poisoned").push(text);
        Box::pin(std::future::ready(ToolOutput::ok("sent")))
    })
}

/// A fixture, the effects of the tools, and the file in the fingerprint of `send`.
async fn fixture(script: Vec<Scripted>) -> (RunFixture, EffectLog, Arc<Mutex<String>>) {
    let effects = EffectLog::default();
    let file = Arc::new(Mutex::new("one".to_owned()));
    let asks = |rule| {
        move |spec: &mut ToolSpec| {
            spec.approval = rule;
            spec.annotations = Annotations::ANYTHING;
        }
    };
    let sender = FileBoundTool {
        inner: recording("send", &effects).with(asks(ApprovalRule::UnlessGranted)),
        file: Arc::clone(&file),
    };
    let dangerous = recording("dangerous", &effects).with(asks(ApprovalRule::Always));
    let looks = recording("looks", &effects).with(|spec| spec.annotations.open_world = true);
    let mut all = tools();
    all.extend([Arc::new(sender) as Arc<dyn Tool>, Arc::new(dangerous), Arc::new(looks)]);
    (RunFixture::with_tools(script, all).await, effects, file)
}

fn sends(texts: &[&str]) -> Scripted {
    calls(texts.iter().map(|text| ("c0", "send", json!({ "text": text }))))
}

fn effects(effects: &EffectLog) -> Vec<String> {
    effects.lock().expect("not poisoned").clone()
}

#[tokio::test]
async fn call_waits_for_its_approval_and_is_made_once() {
    let (fixture, done_by, _) = fixture(vec![sends(&["a"]), done()]).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let (run, requested) = runs.begin().await;
    assert!(effects(&done_by).is_empty(), "nothing was done before the answer");
    let approval = &requested.approvals[0];
    assert_eq!((approval.tool.as_str(), &approval.arguments), ("send", &json!({ "text": "a" })));
    assert_eq!(approval.expires_at.since(approval.requested_at), 30 * 60_000);
    assert!(approval.reason.contains("no grant of this job"), "{}", approval.reason);

    let outcome = runs.decide(&run, &requested, &[ApprovalDecision::Once]).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    assert_eq!(effects(&done_by), ["a"]);
    let steps = fixture.steps(&run).await;
    let sent = steps.iter().find(|step| step.name == "send").expect("journalled");
    let by = GateDecision::Approved { approval_id: approval.id.clone(), rewritten_by: None };
    assert_eq!((sent.status, &sent.gate), (StepStatus::Finished, &Some(by)));
}

#[tokio::test]
async fn approvals_of_one_answer_are_requested_together() {
    let looks = ("c0", "echo", json!({ "text": "x" }));
    let send = |id, text: &str| (id, "send", json!({ "text": text }));
    let script = vec![calls([looks, send("c1", "a"), send("c2", "b")]), done()];
    let (fixture, done_by, _) = fixture(script).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let (run, requested) = runs.begin().await;
    let no = ApprovalDecision::Deny { reason: Some("Not that.".to_owned()) };
    let outcome = runs.decide(&run, &requested, &[ApprovalDecision::Once, no]).await;
    assert_eq!((outcome.state, effects(&done_by)), (RunState::Succeeded, vec!["a".to_owned()]));
    let echoes = fixture.steps(&run).await;
    assert_eq!(echoes.iter().filter(|step| step.name == "echo").count(), 1, "made once");
    let transcript = fixture.transcript(&SessionKey::of_job(&runs.job.id)).await;
    let is_denial = |message: &Message| matches!(message, Message::ToolResult { text, is_error: true, .. } if text.contains("The person denied this call of send: Not that."));
    assert!(transcript.iter().any(is_denial), "{transcript:?}");
}

#[tokio::test]
async fn approval_once_is_used_up_and_for_run_is_not() {
    for (answer, asks_again) in [(ApprovalDecision::Once, true), (ApprovalDecision::Run, false)] {
        let (fixture, done_by, _) = fixture(vec![sends(&["a"]), sends(&["a"]), done()]).await;
        let runs = JobRuns::new(&fixture, json!({}));
        let (run, requested) = runs.begin().await;
        let then = runs.decide(&run, &requested, &[answer]).await;
        assert_eq!(then.state == RunState::AwaitingApproval, asks_again, "{then:?}");
        assert_eq!(effects(&done_by).len(), if asks_again { 1 } else { 2 });
    }
}

#[tokio::test]
async fn run_of_a_deleted_job_requests_no_approval() {
    let (fixture, done_by, _) = fixture(vec![sends(&["a"]), sends(&["b"]), done()]).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let (run, requested) = runs.begin().await;
    fixture.say_yes(&run, &requested).await;
    fixture.store.remove_job(&runs.job.id, fixture.now()).await.expect("written").expect("a job");
    let outcome = runs.resume(&run).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    assert_eq!(effects(&done_by), ["a"], "only the approved call is made");
    let transcript = fixture.transcript(&SessionKey::of_job(&runs.job.id)).await;
    let is_denial = |message: &Message| matches!(message, Message::ToolResult { text, is_error: true, .. } if text.contains("The call needs an approval, but the job was deleted."));
    assert!(transcript.iter().any(is_denial), "{transcript:?}");
}

#[tokio::test]
async fn changed_file_needs_another_approval() {
    let (fixture, done_by, file) = fixture(vec![sends(&["a"]), done()]).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let (run, requested) = runs.begin().await;
    *file.lock().expect("not poisoned") = "two".to_owned();
    let then = runs.decide(&run, &requested, &[ApprovalDecision::Run]).await;
    assert_eq!(then.state, RunState::AwaitingApproval, "{then:?}");
    assert!(
        then.approvals[0].reason.contains("have changed since"),
        "{}",
        then.approvals[0].reason
    );
    assert!(effects(&done_by).is_empty());
    let outcome = runs.decide(&run, &then, &[ApprovalDecision::Once]).await;
    assert_eq!((outcome.state, effects(&done_by).len()), (RunState::Succeeded, 1));
}

#[tokio::test]
async fn grant_covers_later_runs_until_revoked() {
    let script = vec![sends(&["a"]), done(), sends(&["b"]), done(), sends(&["b"])];
    let (fixture, done_by, _) = fixture(script).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let (run, requested) = runs.begin().await;
    let rules = [("text".to_owned(), ArgumentRule::OneOf(vec![json!("a"), json!("b")]))].into();
    let covers = GrantScope::matching(&requested.approvals[0], rules);
    let grant = NewGrant { covers, expires_at: None, uses: None };
    runs.decide(&run, &requested, &[ApprovalDecision::Always(grant)]).await;
    let (later, outcome) = runs.begin().await;
    assert_eq!((outcome.state, effects(&done_by).len()), (RunState::Succeeded, 2));
    let granted = fixture.steps(&later).await;
    let by = granted.iter().find(|step| step.name == "send").and_then(|step| step.gate.clone());
    assert!(matches!(by, Some(GateDecision::Granted { .. })), "{by:?}");

    let grants = fixture.store.grants_of_job(&runs.job.id).await.expect("read");
    assert!(fixture.store.revoke_grant(&grants[0].id, fixture.now()).await.expect("revoked"));
    let (_, outcome) = runs.begin().await;
    assert_eq!(outcome.state, RunState::AwaitingApproval);
    assert_eq!(effects(&done_by).len(), 2);
}

#[tokio::test]
async fn grant_gives_no_tools_to_a_job_without_tools() {
    let (fixture, done_by, _) = fixture(vec![sends(&["a"]), done(), sends(&["a"]), done()]).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let (run, requested) = runs.begin().await;
    let covers = GrantScope::exact_call(&requested.approvals[0]);
    let grant = NewGrant { covers, expires_at: None, uses: None };
    runs.decide(&run, &requested, &[ApprovalDecision::Always(grant)]).await;
    assert_eq!(effects(&done_by).len(), 1);
    let mut job = runs.job.clone();
    if let Payload::AgentTurn(turn) = &mut job.payload {
        turn.use_tools = Some(false);
    }
    let run = fixture.run_of(Some(&job)).await;
    fixture.go(&run, &job).await;
    assert_eq!(effects(&done_by).len(), 1, "{:?}", fixture.steps(&run).await);
}

#[tokio::test]
async fn drifted_grant_is_the_reason_of_the_request() {
    let (fixture, _, file) =
        fixture(vec![sends(&["a"]), done(), sends(&["a"]), sends(&["b"])]).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let (run, requested) = runs.begin().await;
    let covers = GrantScope::exact_call(&requested.approvals[0]);
    let grant = NewGrant { covers, expires_at: None, uses: None };
    runs.decide(&run, &requested, &[ApprovalDecision::Always(grant)]).await;
    *file.lock().expect("not poisoned") = "two".to_owned();
    let why = async || runs.begin().await.1.approvals.remove(0).reason;
    let words = why().await;
    assert!(words.contains("granted this exact call") && words.contains("PATH"), "{words}");
    let words = why().await;
    assert!(words.contains("no grant of this job"), "{words}");
}

#[tokio::test]
async fn grant_never_covers_the_highest_class() {
    let call = || calls([("c0", "dangerous", json!({ "text": "a" }))]);
    let (fixture, done_by, _) = fixture(vec![call(), done(), call()]).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let (run, requested) = runs.begin().await;
    assert!(requested.approvals[0].is_highest);
    let covers = GrantScope::exact_call(&requested.approvals[0]);
    // The gateway refuses such a grant, so the test puts the grant into the store.
    let grant = ApprovalDecision::Always(NewGrant { covers, expires_at: None, uses: None });
    runs.decide(&run, &requested, &[grant]).await;
    let (_, later) = runs.begin().await;
    assert_eq!((later.state, effects(&done_by).len()), (RunState::AwaitingApproval, 1));
}

#[tokio::test]
async fn approval_policy_deny_refuses_and_skip_hides_the_tool() {
    for (mode, approvals, offered) in
        [("deny", Approvals::Deny, true), ("skip", Approvals::Skip, false)]
    {
        let (fixture, done_by, _) = fixture(vec![sends(&["a"]), done()]).await;
        let (run, outcome) = JobRuns::new(&fixture, json!({ "approvals": mode })).begin().await;
        assert_eq!(outcome.state, RunState::Succeeded, "{mode}: {outcome:?}");
        assert!(effects(&done_by).is_empty());
        let requests = fixture.model.requests();
        assert_eq!(requests[0].tools.iter().any(|tool| tool.name == "send"), offered, "{mode}");
        let refused = &fixture.steps(&run).await[1];
        let refusal = Some(Refusal::ApprovalDisabled { approvals });
        let gate = Some(GateDecision::Refused { refusal, rewritten_by: None });
        assert_eq!((&refused.gate, refused.is_error), (&gate, true));
    }
}

#[tokio::test]
async fn approval_policy_skip_offers_granted_tools_only() {
    let both = || sends(&["a", "b"]);
    let (fixture, done_by, _) =
        fixture(vec![sends(&["a"]), done(), both(), done(), both(), done()]).await;
    let asks = JobRuns::new(&fixture, json!({}));
    let (run, requested) = asks.begin().await;
    let covers = GrantScope::exact_call(&requested.approvals[0]);
    let grant = ApprovalDecision::Always(NewGrant { covers, expires_at: None, uses: None });
    asks.decide(&run, &requested, &[grant]).await;
    let skips = JobRuns::new(&fixture, json!({ "approvals": "skip" }));
    let (later, outcome) = skips.begin().await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    assert_eq!(effects(&done_by), ["a", "a"], "the grant covers no other call");
    let is_offered = |request: usize| {
        fixture.model.requests()[request].tools.iter().any(|tool| tool.name == "send")
    };
    assert!(is_offered(2));
    let steps = fixture.steps(&later).await;
    let sent: Vec<_> = steps.iter().filter(|step| step.name == "send").collect();
    assert!(matches!(sent[0].gate, Some(GateDecision::Granted { .. })), "{sent:?}");
    let refusal = sent[1].output.as_ref().map(ToString::to_string).unwrap_or_default();
    assert!(refusal.contains("this job requests no approvals"), "{refusal}");

    let grants = fixture.store.grants_of_job(&skips.job.id).await.expect("read");
    assert!(fixture.store.revoke_grant(&grants[0].id, fixture.now()).await.expect("revoked"));
    skips.begin().await;
    assert!(!is_offered(4), "a grant that was taken back offers nothing");
    assert_eq!(effects(&done_by).len(), 2);
}

#[tokio::test]
async fn expired_approval_is_not_requested_again() {
    let (fixture, done_by, _) = fixture(vec![sends(&["a"]), sends(&["a"]), done()]).await;
    let runs = JobRuns::new(&fixture, json!({ "approvalSeconds": 60 }));
    let (run, requested) = runs.begin().await;
    runs.fixture.park(&run, &requested).await;
    fixture.clock.advance(60_000);
    let resumed = fixture.store.expire_approvals(fixture.now()).await.expect("expired");
    assert_eq!(resumed.len(), 1);
    fixture.start_again(&run).await;
    let outcome = runs.resume(&run).await;
    assert_eq!((outcome.state, effects(&done_by).len()), (RunState::Succeeded, 0), "{outcome:?}");
}

#[tokio::test]
async fn denial_and_expiry_hold_after_a_file_change() {
    let no = ApprovalDecision::Deny { reason: Some("Not that.".to_owned()) };
    for (answer, expected) in [(Some(no), "denied this call of send: Not that."), (None, "expired")]
    {
        let (fixture, done_by, file) = fixture(vec![sends(&["a"]), sends(&["a"]), done()]).await;
        let runs = JobRuns::new(&fixture, json!({ "approvalSeconds": 60 }));
        let (run, requested) = runs.begin().await;
        fixture.park(&run, &requested).await;
        *file.lock().expect("not poisoned") = "two".to_owned();
        match &answer {
            Some(answer) => fixture.decide(&requested.approvals[0], answer).await,
            None => {
                fixture.clock.advance(60_000);
                fixture.store.expire_approvals(fixture.now()).await.expect("expired");
            }
        }
        fixture.start_again(&run).await;
        let outcome = runs.resume(&run).await;
        assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
        assert!(effects(&done_by).is_empty());
        let transcript = fixture.transcript(&SessionKey::of_job(&runs.job.id)).await;
        let is_denial = |message: &&Message| matches!(message, Message::ToolResult { text, is_error: true, .. } if text.contains(expected));
        assert_eq!(transcript.iter().filter(is_denial).count(), 2, "{transcript:?}");
    }
}

#[tokio::test]
async fn too_many_approvals_advise_grants_only_if_approved() {
    let no = || ApprovalDecision::Deny { reason: None };
    for (answers, advice) in [
        (
            [ApprovalDecision::Once, ApprovalDecision::Once, ApprovalDecision::Once],
            "Grant the needed calls permanently",
        ),
        ([ApprovalDecision::Once, no(), ApprovalDecision::Once], "Not all requests were allowed"),
    ] {
        let script = ["a", "b", "c", "d"].map(|text| sends(&[text])).to_vec();
        let (fixture, _, _) = fixture(script).await;
        let runs = JobRuns::new(&fixture, json!({}));
        let (run, mut outcome) = runs.begin().await;
        for answer in answers {
            outcome = runs.decide(&run, &outcome, &[answer]).await;
        }
        let error = outcome.error.expect("words");
        assert!(error.contains(advice), "{error}");
        assert_eq!(error.contains("Grant"), advice.contains("Grant"), "{error}");
    }
}

/// Some providers restart the ids of calls with each answer.
#[tokio::test]
async fn repeated_call_with_the_same_id_needs_another_approval() {
    let (fixture, done_by, _) = fixture(vec![sends(&["a"]); 4]).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let (run, mut outcome) = runs.begin().await;
    for _ in 0..3 {
        assert_eq!(outcome.state, RunState::AwaitingApproval, "{outcome:?}");
        outcome = runs.decide(&run, &outcome, &[ApprovalDecision::Once]).await;
    }
    assert_eq!(outcome.state, RunState::Failed, "{outcome:?}");
    assert!(outcome.error.as_ref().is_some_and(|error| error.contains("requested 3 approvals")));
    assert_eq!(effects(&done_by), ["a", "a", "a"]);
}

#[tokio::test]
async fn too_many_approvals_fail_the_run_and_pause_the_job() {
    let script = ["a", "b", "c", "d"].map(|text| sends(&[text])).to_vec();
    let (fixture, done_by, _) = fixture(script).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let (run, mut outcome) = runs.begin().await;
    for _ in 0..3 {
        outcome = runs.decide(&run, &outcome, &[ApprovalDecision::Once]).await;
    }
    assert_eq!(outcome.state, RunState::Failed);
    assert!(outcome.error.as_ref().is_some_and(|error| error.contains("requested 3 approvals")));
    assert!(outcome.pauses.is_some(), "{outcome:?}");
    assert_eq!(effects(&done_by), ["a", "b", "c"]);
}

#[tokio::test]
async fn pending_approvals_of_earlier_runs_limit_new_requests() {
    let script =
        [sends(&["a"]), sends(&["a"]), done(), sends(&["b"]), sends(&["c"]), sends(&["d"]), done()];
    let (fixture, done_by, _) = fixture(script.to_vec()).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let (first, requested) = runs.begin().await;
    runs.fixture.park(&first, &requested).await;
    let (_, same) = runs.begin().await;
    assert_eq!(same.state, RunState::Succeeded, "refused, then ended: {same:?}");
    for _ in ["b", "c"] {
        let (run, requested) = runs.begin().await;
        runs.fixture.park(&run, &requested).await;
    }
    let (_, fourth) = runs.begin().await;
    assert_eq!(fourth.state, RunState::Succeeded, "refused, then ended: {fourth:?}");
    assert!(effects(&done_by).is_empty());
}

#[tokio::test]
async fn tainted_run_needs_an_approval_for_egress() {
    let look = || calls([("c0", "looks", json!({ "text": "a" }))]);
    let read = || calls([("c0", "outside", json!({}))]);
    let (fixture, done_by, _) = fixture(vec![look(), read(), look(), done(), look()]).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let (run, requested) = runs.begin().await;
    assert_eq!(
        effects(&done_by).len(),
        1,
        "read-only calls need no approval before untrusted input"
    );
    assert!(
        requested.approvals[0].reason.starts_with("The run has read untrusted input"),
        "{:?}",
        requested.approvals
    );
    runs.decide(&run, &requested, &[ApprovalDecision::Once]).await;
    // The next run inherits the taint of the session.
    let (_, later) = runs.begin().await;
    assert!(
        later.approvals[0].reason.contains("read earlier in the session"),
        "{:?}",
        later.approvals
    );
    assert_eq!((later.state, effects(&done_by).len()), (RunState::AwaitingApproval, 2));
}

#[tokio::test]
async fn changed_byte_needs_another_approval() {
    use rouse_testkit::Dice;
    let (fixture, done_by, file) = fixture(vec![sends(&["pay 10 to anna"]), done()]).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let (run, requested) = runs.begin().await;
    runs.fixture.park(&run, &requested).await;
    runs.fixture.decide(&requested.approvals[0], &ApprovalDecision::Run).await;
    fixture.start_again(&run).await;
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
        let request =
            fixture.approval_request(&run, &runs.job, "send", json!({ "text": text })).await;
        assert!(request.is_some(), "{text}");
    }
    assert!(effects(&done_by).is_empty());
    *file.lock().expect("not poisoned") = "one".to_owned();
    assert_eq!(runs.resume(&run).await.state, RunState::Succeeded);
    assert_eq!(effects(&done_by), ["pay 10 to anna"]);
}

/// An answer with a text and a call.
fn answer_and_send(words: &str, text: &str) -> Scripted {
    let Scripted::Answer(mut answer) = sends(&[text]) else { panic!("an answer") };
    answer.parts.insert(0, Part::Text { text: words.to_owned() });
    Scripted::Answer(answer)
}

/// Approves the pending call and resumes the run with these models.
async fn resume_with(
    runs: &JobRuns<'_>,
    run: &Run,
    requested: &Outcome,
    models: RunModels,
) -> Outcome {
    let fixture = runs.fixture;
    fixture.say_yes(run, requested).await;
    fixture.driver().run_turn(run, &runs.job, turn_of(&runs.job), models, &fixture.cancel).await
}

#[tokio::test]
async fn approved_call_is_made_without_a_model() {
    let (fixture, done_by, _) = fixture(vec![answer_and_send("Three mails so far.", "a")]).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let (run, requested) = runs.begin().await;
    let absent = RunModels::not_running("Ollama is not running on this computer.");
    let outcome = resume_with(&runs, &run, &requested, absent).await;
    assert_eq!(effects(&done_by), ["a"]);
    assert_eq!((outcome.state, outcome.is_transient), (RunState::Failed, true), "{outcome:?}");
    assert_eq!(outcome.error.as_deref(), Some("Ollama is not running on this computer."));
    assert_eq!(outcome.summary.as_deref(), Some("Three mails so far."));
}

#[tokio::test]
async fn fallback_model_stays_after_an_approval() {
    let (fixture, done_by, _) = fixture(vec![]).await;
    let first =
        ScriptedModel::new([fails(ProviderErrorKind::Auth, "no key"), done()]).named("first");
    let second = ScriptedModel::new([sends(&["a"]), done()]).named("second");
    let models = [Arc::new(first), Arc::new(second)];
    let lineup = || {
        let chosen = |model: &Arc<ScriptedModel>| ChosenModel {
            provider: Arc::clone(model) as _,
            model: "same".to_owned(),
        };
        RunModels::of(models.iter().map(chosen))
    };
    let runs = JobRuns::new(&fixture, json!({}));
    let run = fixture.run_of(Some(&runs.job)).await;
    let driver = fixture.driver();
    let requested =
        driver.run_turn(&run, &runs.job, turn_of(&runs.job), lineup(), &fixture.cancel).await;
    let outcome = resume_with(&runs, &run, &requested, lineup()).await;
    assert_eq!((outcome.state, effects(&done_by)), (RunState::Succeeded, vec!["a".to_owned()]));
    assert_eq!(outcome.fallback_reason.as_deref(), Some("no key."));
    let counts: Vec<usize> = models.iter().map(|model| model.requests().len()).collect();
    assert_eq!(counts, [1, 2], "the first model is not called again");
}

#[tokio::test]
async fn new_grant_covers_another_pending_request() {
    let (fixture, done_by, _) = fixture(vec![sends(&["a", "b"]), done()]).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let (run, requested) = runs.begin().await;
    fixture.park(&run, &requested).await;
    let rules = [("text".to_owned(), ArgumentRule::OneOf(vec![json!("a"), json!("b")]))].into();
    let covers = GrantScope::matching(&requested.approvals[0], rules);
    fixture
        .decide(
            &requested.approvals[0],
            &ApprovalDecision::Always(NewGrant { covers, expires_at: None, uses: None }),
        )
        .await;
    fixture.start_again(&run).await;
    let outcome = runs.resume(&run).await;
    assert_eq!(
        (outcome.state, effects(&done_by)),
        (RunState::Succeeded, vec!["a".to_owned(), "b".to_owned()])
    );
    let steps = fixture.steps(&run).await;
    let gates: Vec<_> =
        steps.iter().filter(|step| step.name == "send").map(|step| &step.gate).collect();
    assert!(
        matches!(
            gates[..],
            [Some(GateDecision::Approved { .. }), Some(GateDecision::Granted { .. })]
        ),
        "{gates:?}"
    );
}

#[tokio::test]
async fn covered_request_counts_as_approved() {
    let (fixture, _, _) = fixture(vec![sends(&["a", "b", "c"]), sends(&["z"])]).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let (run, requested) = runs.begin().await;
    fixture.park(&run, &requested).await;
    let rules =
        [("text".to_owned(), ArgumentRule::OneOf(["a", "b", "c"].map(Value::from).to_vec()))]
            .into();
    let covers = GrantScope::matching(&requested.approvals[0], rules);
    let always = ApprovalDecision::Always(NewGrant { covers, expires_at: None, uses: None });
    fixture.decide(&requested.approvals[0], &always).await;
    fixture.start_again(&run).await;
    let outcome = runs.resume(&run).await;
    let error = outcome.error.unwrap_or_default();
    assert!(error.contains("Grant the needed calls permanently"), "{error}");
}
