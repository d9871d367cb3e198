//! Of which kind a refusal is, as the journal keeps it: one test a way to be refused.

use std::sync::Arc;

use rouse_agent::{CallAnswer, CallSeen, Hook, HookError, Secret, SecretValue};
use rouse_core::approval::{Answer, Cover, NewGrant, Surroundings};
use rouse_core::policy::{ApprovedCall, ToolPolicy};
use rouse_core::run::Run;
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Fault, SandboxMode, Tool, ToolContext, ToolOutput,
    ToolSpec,
};
use rouse_core::{Job, RunState};
use rouse_store::StepKind;
use rouse_testkit::scripted_model::{Scripted, calls};
use serde_json::{Value, json};

use super::guarded::{Guard, Keeper, Reached, VALUE, done, echoing, reached};
use super::house::{House, TestTool, agent_job, call_of, job, tools};

/// What the gate has decided about the run's calls of `tool`, as the journal keeps it.
async fn decided(house: &House, run: &Run, tool: &str) -> Vec<Value> {
    let steps = house.steps(run).await.into_iter();
    let calls = steps.filter(|step| step.kind == StepKind::ToolCall && step.name == tool);
    calls.map(|step| json!(step.gate)).collect()
}

fn refused(why: Value) -> Value {
    json!({ "decision": "refused", "why": why })
}

/// What one call comes to that is refused.
async fn decided_of(house: &House, policy: &ToolPolicy, tool: &str, arguments: Value) -> Value {
    let (run, called) = house.pass(policy, tool, arguments).await;
    assert!(!called.reached_tool, "{called:?}");
    decided(house, &run, tool).await.remove(0)
}

fn all() -> ToolPolicy {
    ToolPolicy::default()
}

#[tokio::test]
async fn what_a_call_is_itself_and_what_the_run_may_call_are_told_apart() {
    let attended = TestTool::answering("attended", ToolOutput::ok("yes"))
        .with(|spec| spec.attended_only = true);
    let changes = TestTool::answering("changes", ToolOutput::ok("yes"))
        .with(|spec| spec.annotations = Annotations::OVERWRITES);
    let mut tools = tools();
    tools.extend([Arc::new(attended) as Arc<dyn Tool>, Arc::new(changes)]);
    let house = House::with_tools([], tools).await;
    let only_echo = ToolPolicy::of_tools(Some(vec!["echo".to_owned()]));
    let read = all().having_read(["theirs".to_owned()]);
    for (policy, tool, arguments, why) in [
        (all(), "shell", json!({}), json!({ "kind": "unknownTool" })),
        (all(), "echo", json!({ "text": 5 }), json!({ "kind": "misfit" })),
        (only_echo, "outside", json!({}), json!({ "kind": "notListed" })),
        (read, "changes", json!({}), json!({ "kind": "ceiling", "skills": ["theirs"] })),
        (all(), "attended", json!({}), json!({ "kind": "unattended" })),
        (all(), "asks", json!({}), json!({ "kind": "unasked", "approvals": "deny" })),
    ] {
        assert_eq!(decided_of(&house, &policy, tool, arguments).await, refused(why), "{tool}");
    }
}

#[tokio::test]
async fn a_call_over_the_rate_of_its_tool_keeps_how_long_it_was_until_the_next() {
    let rare =
        TestTool::answering("rare", ToolOutput::ok("yes")).with(|spec| spec.rate.per_minute = 1);
    let house = House::with_tools([], vec![Arc::new(rare)]).await;
    assert!(house.pass(&all(), "rare", json!({})).await.1.reached_tool);
    house.clock.advance(20_000);
    let why = json!({ "kind": "rateLimited", "waitMs": 40_000 });
    assert_eq!(decided_of(&house, &all(), "rare", json!({})).await, refused(why));
}

/// Asks, and says of each call that it cannot be carried out.
struct Placeless(TestTool, Fault);

impl Tool for Placeless {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn surroundings<'a>(
        &'a self,
        _: &'a Value,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        Box::pin(std::future::ready(Err(ToolOutput::faulty(self.1, "There is no place for it."))))
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        self.0.call(call, context)
    }
}

#[tokio::test]
async fn a_call_that_could_not_be_carried_out_says_whether_it_is_for_want_of_a_sandbox() {
    for (fault, kind) in [(Fault::Sandbox, "noSandbox"), (Fault::InvalidParameters, "impossible")] {
        let tool = TestTool::answering("command", ToolOutput::ok("yes"))
            .with(|spec| spec.approval = ApprovalRule::UnlessGranted);
        let house = House::with_tools([], vec![Arc::new(Placeless(tool, fault))]).await;
        let (run, called) = house.pass(&all(), "command", json!({})).await;
        assert_eq!(called.output.fault, Some(fault), "its own words are told");
        let why = json!({ "kind": kind });
        assert_eq!(decided(&house, &run, "command").await, [refused(why)]);
    }
}

fn secret(name: &str, value: &str) -> Secret {
    let value = SecretValue::new(value).expect("a value");
    Secret::new(name, value, &["api.example.com".to_owned()]).expect("a secret")
}

#[tokio::test]
async fn what_the_safety_layer_has_found_is_kept_by_its_name_and_never_its_value() {
    let made = Reached::default();
    let sender = echoing("sender", Annotations { open_world: true, ..Annotations::READS }, &made);
    let secrets = vec![secret("mail", VALUE)];
    let house = House::guarded([], vec![Arc::new(sender)], secrets, Vec::new()).await;
    let leak = refused(json!({ "kind": "leak", "found": ["secret:mail"] }));
    assert_eq!(decided_of(&house, &all(), "sender", json!({ "body": VALUE })).await, leak);
    let handle = json!({ "body": "{{secret:other}}" });
    let named = refused(json!({ "kind": "secret", "name": "other" }));
    assert_eq!(decided_of(&house, &all(), "sender", handle).await, named);
    assert!(reached(&made).is_empty());
}

/// A hook that is asked and does not answer.
struct Silent;

impl Hook for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    fn before_tool_call<'h>(
        &'h self,
        _: &'h CallSeen,
    ) -> BoxFuture<'h, Result<CallAnswer, HookError>> {
        Box::pin(std::future::ready(Err(HookError("it took too long".to_owned()))))
    }
}

#[tokio::test]
async fn a_hook_that_stands_against_a_call_is_named_with_how_it_does() {
    let no = Guard::saying(vec![CallAnswer::Deny("not on Sundays".to_owned())]).0;
    let endless = (0..9).map(|number| CallAnswer::Rewrite(json!({ "n": number }))).collect();
    let circles = Guard::saying(endless).0;
    let said = |hook: &str, how: &str| json!({ "kind": "hook", "hook": hook, "how": how });
    let circling = json!({
        "decision": "refused", "why": said("guard", "keptRewriting"), "rewrittenBy": "guard",
    });
    for (hook, decision) in [
        (no, refused(said("guard", "saidNo"))),
        (Arc::new(Silent) as Arc<dyn Hook>, refused(said("silent", "didNotAnswer"))),
        (circles, circling),
    ] {
        let free = echoing("free", Annotations::OVERWRITES, &Reached::default());
        let house = House::guarded([], vec![Arc::new(free)], Vec::new(), vec![hook]).await;
        assert_eq!(decided_of(&house, &all(), "free", json!({})).await, decision);
    }
}

#[tokio::test]
async fn a_call_that_a_hook_has_rewritten_says_so_whatever_was_decided() {
    let rewrites = |arguments| Guard::saying(vec![CallAnswer::Rewrite(arguments)]).0;
    let house = House::guarded([], tools(), Vec::new(), vec![rewrites(json!({ "text": "b" }))]);
    let house = house.await;
    let (run, called) = house.pass(&all(), "echo", json!({ "text": "a" })).await;
    assert!(called.reached_tool, "{called:?}");
    let made = json!({ "decision": "rewritten", "rewrittenBy": "guard" });
    assert_eq!(decided(&house, &run, "echo").await, [made]);

    let house = House::guarded([], tools(), Vec::new(), vec![rewrites(json!({ "text": 5 }))]);
    let misfit = json!({
        "decision": "refused", "why": { "kind": "misfit" }, "rewrittenBy": "guard",
    });
    assert_eq!(decided_of(&house.await, &all(), "echo", json!({ "text": "a" })).await, misfit);
}

/// A command's name is all of it, and may hold anything.
#[tokio::test]
async fn the_name_of_a_hook_is_kept_without_secrets_and_not_whole() {
    struct Named(String);
    impl Hook for Named {
        fn name(&self) -> &str {
            &self.0
        }
        fn before_tool_call<'h>(
            &'h self,
            _: &'h CallSeen,
        ) -> BoxFuture<'h, Result<CallAnswer, HookError>> {
            Box::pin(std::future::ready(Ok(CallAnswer::Deny("no".to_owned()))))
        }
    }
    let hook = Named(format!("guard --key {VALUE} {}", "x".repeat(900)));
    let hooks: Vec<Arc<dyn Hook>> = vec![Arc::new(hook)];
    let house = House::guarded([], tools(), vec![secret("mail", VALUE)], hooks).await;
    let decision = decided_of(&house, &all(), "echo", json!({ "text": "a" })).await;
    let name = decision["why"]["hook"].as_str().expect("a name");
    assert!(name.starts_with("guard --key [redacted: secret:mail]"), "{name}");
    assert_eq!(name.chars().count(), 200);
}

/// Runs of a job whose model calls `asks`.
struct Runs {
    house: House,
    job: Job,
}

impl Runs {
    async fn of(script: Vec<Scripted>, policies: Value) -> Self {
        let house = House::new(script).await;
        Self { house, job: agent_job(json!({ "message": "Do it." }), policies) }
    }

    /// A run that goes on after this answer to its first question; nobody's when none.
    async fn answered(&self, answer: Option<Answer>) -> Run {
        let run = self.house.run_of(Some(&self.job)).await;
        let outcome = self.house.go(&run, &self.job).await;
        self.house.park(&run, &outcome).await;
        answer_all(&self.house, &outcome.asks, answer).await;
        self.house.start_again(&run).await;
        assert_eq!(self.house.go(&run, &self.job).await.state, RunState::Succeeded);
        run
    }
}

async fn answer_all(
    house: &House,
    asks: &[rouse_core::approval::Approval],
    answer: Option<Answer>,
) {
    match answer {
        Some(answer) => house.decide(&asks[0], &answer).await,
        None => {
            house.clock.advance(60_000);
            house.store.expire_approvals(house.now()).await.expect("expired");
        }
    }
}

fn asks() -> Scripted {
    calls([("c0", "asks", json!({}))])
}

#[tokio::test]
async fn a_persons_no_keeps_its_reason_and_nobodys_answer_is_another_kind() {
    let no = |reason: Option<&str>| Some(Answer::Deny { reason: reason.map(str::to_owned) });
    for (answer, why) in [
        (no(Some("Not that.")), json!({ "kind": "denied", "reason": "Not that." })),
        (no(None), json!({ "kind": "denied", "reason": null })),
        (None, json!({ "kind": "expired" })),
    ] {
        let policies = json!({ "approvalSeconds": 60 });
        let runs = Runs::of(vec![asks(), done()], policies.clone()).await;
        let run = runs.answered(answer.clone()).await;
        assert_eq!(decided(&runs.house, &run, "asks").await, [refused(why.clone())]);

        // The same of a run that makes the one call of its job.
        let wants = Guard::saying(vec![CallAnswer::Ask("look".to_owned())]).0;
        let house = House::guarded([], tools(), Vec::new(), vec![wants]).await;
        let payload = json!({ "kind": "toolCall", "tool": "echo", "arguments": { "text": "a" } });
        let job = job(payload, policies);
        let run = house.run_of(Some(&job)).await;
        let go =
            async || house.driver().run_tool_call(&run, &job, call_of(&job), &house.cancel).await;
        let outcome = go().await;
        house.park(&run, &outcome).await;
        answer_all(&house, &outcome.asks, answer).await;
        house.start_again(&run).await;
        go().await;
        assert_eq!(decided(&house, &run, "echo").await, [refused(why)]);
    }
}

#[tokio::test]
async fn what_a_person_says_with_a_no_is_kept_without_secrets() {
    let house =
        House::guarded([asks(), done()], tools(), vec![secret("mail", VALUE)], Vec::new()).await;
    let runs = Runs { house, job: agent_job(json!({ "message": "Do it." }), json!({})) };
    let reason = Some(format!("It holds {VALUE}."));
    let run = runs.answered(Some(Answer::Deny { reason })).await;
    let kept = json!({ "kind": "denied", "reason": "It holds [redacted: secret:mail]." });
    assert_eq!(decided(&runs.house, &run, "asks").await, [refused(kept)]);
}

#[tokio::test]
async fn whom_nobody_asks_any_more_says_why() {
    let runs = Runs::of(vec![asks(), asks(), done()], json!({})).await;
    let first = runs.house.run_of(Some(&runs.job)).await;
    let outcome = runs.house.go(&first, &runs.job).await;
    runs.house.park(&first, &outcome).await;
    let second = runs.house.run_of(Some(&runs.job)).await;
    assert_eq!(runs.house.go(&second, &runs.job).await.state, RunState::Succeeded);
    let earlier = refused(json!({ "kind": "earlierAsks" }));
    assert_eq!(decided(&runs.house, &second, "asks").await, [earlier]);

    let runs = Runs::of(vec![asks(), done()], json!({})).await;
    let run = runs.house.run_of(Some(&runs.job)).await;
    let removed = runs.house.store.remove_job(&runs.job.id, runs.house.now()).await;
    removed.expect("written").expect("it was there");
    assert_eq!(runs.house.go(&run, &runs.job).await.state, RunState::Succeeded);
    let gone = refused(json!({ "kind": "jobGone" }));
    assert_eq!(decided(&runs.house, &run, "asks").await, [gone]);
}

/// What a call that asks nobody is told when it has waited behind another one's question, with a value that cannot be kept
/// by a handle.
async fn waited(name: &'static str, tool: Arc<dyn Tool>, text: &str) -> (Value, String) {
    let behind = calls([("c0", "asks", json!({})), ("c1", name, json!({ "text": text }))]);
    let mut all = tools();
    all.push(tool);
    let secrets = vec![secret("mail", VALUE)];
    let house = House::guarded([behind, done()], all, secrets, Vec::new()).await;
    let job = agent_job(json!({ "message": "Do it." }), json!({}));
    let run = house.run_of(Some(&job)).await;
    let outcome = house.go(&run, &job).await;
    house.say_yes(&run, &outcome).await;
    assert_eq!(house.go(&run, &job).await.state, RunState::Succeeded);
    let steps = house.steps(&run).await;
    let step = steps.iter().find(|step| step.name == name).expect("journalled");
    (json!(step.gate), json!(step.output).to_string())
}

#[tokio::test]
async fn a_call_that_asks_nobody_and_could_not_be_kept_is_not_said_to_need_a_yes() {
    let made = Reached::default();
    let free = Arc::new(echoing("free", Annotations::OVERWRITES, &made));
    let (gate, words) = waited("free", free, VALUE).await;
    assert_eq!(gate, refused(json!({ "kind": "unkept" })));
    assert!(words.contains("has waited until a person had answered about another"), "{words}");
    assert!(words.contains("so it was not made") && words.contains("Take it out"), "{words}");
    for untrue in ["needs a person's yes", "the person is asked", "be asked about"] {
        assert!(!words.contains(untrue), "{words}");
    }
    assert!(reached(&made).is_empty());
}

/// What no handle can stand for waits in memory.
#[tokio::test]
async fn a_local_write_that_asks_nobody_is_made_as_written_after_another_ones_question() {
    let spelled = "c3VuZmxvd2VyLTQyLVRhbmdv";
    let beside = format!("{VALUE} {{{{secret:mail}}}}");
    for text in [VALUE, spelled, beside.as_str()] {
        let made = Reached::default();
        let inner = echoing("keeper", Annotations::OVERWRITES, &made);
        waited("keeper", Arc::new(Keeper { inner }), text).await;
        assert_eq!(reached(&made), [json!({ "text": text })]);
    }
}

/// Asks each time where the sandbox is open, and has no place where there is none.
struct Command(TestTool, Option<&'static str>);

impl Tool for Command {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn usual_approval(&self, sandbox: &SandboxMode) -> ApprovalRule {
        match sandbox {
            SandboxMode::OpenedByPerson { .. } => ApprovalRule::Always,
            SandboxMode::Sandboxed { .. } | SandboxMode::ByPersonUnsandboxed { .. } => {
                self.0.spec.approval
            }
        }
    }

    fn approval(&self, _: &Value, context: &ToolContext) -> ApprovalRule {
        self.usual_approval(&context.sandbox)
    }

    fn why_not_here<'a>(&'a self, sandbox: &'a SandboxMode) -> BoxFuture<'a, Option<String>> {
        let is_confined = matches!(sandbox, SandboxMode::Sandboxed { .. });
        let why = self.1.filter(|_| is_confined).map(str::to_owned);
        Box::pin(std::future::ready(why))
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        self.0.call(call, context)
    }
}

/// An old grant covers no command outside the sandbox, and none where there is no sandbox.
#[tokio::test]
async fn a_job_that_asks_nobody_offers_no_granted_tool_whose_every_call_would_be_refused() {
    let no_place = Some("There is no sandbox here.");
    for (sandbox, missing, approvals, is_offered) in [
        ("required", None, "skip", true),
        ("required", no_place, "skip", false),
        ("open", None, "skip", false),
        ("open", no_place, "skip", false),
        // Who is asked can still say yes, or see in the run what is missing.
        ("required", no_place, "ask", true),
        ("open", None, "ask", true),
    ] {
        let command = || calls([("c0", "command", json!({ "text": "a" }))]);
        let tool = TestTool::answering("command", ToolOutput::ok("done"))
            .with(|spec| spec.approval = ApprovalRule::UnlessGranted);
        let mut all = tools();
        all.push(Arc::new(Command(tool, missing)));
        let house = House::with_tools([command(), done(), done()], all).await;
        let granting = agent_job(json!({ "message": "Do it." }), json!({}));
        let run = house.run_of(Some(&granting)).await;
        let outcome = house.go(&run, &granting).await;
        let covers = Cover::exactly(&outcome.asks[0]);
        house.park(&run, &outcome).await;
        let grant = Answer::Always(NewGrant { covers, expires_at: None, uses: None });
        house.decide(&outcome.asks[0], &grant).await;
        house.start_again(&run).await;
        assert_eq!(house.go(&run, &granting).await.state, RunState::Succeeded);

        let policies = json!({ "sandbox": sandbox, "approvals": approvals });
        let later = agent_job(json!({ "message": "Do it." }), policies);
        let run = house.run_of(Some(&later)).await;
        assert_eq!(house.go(&run, &later).await.state, RunState::Succeeded);
        let tools = &house.model.requests()[2].tools;
        let offered = tools.iter().any(|tool| tool.name == "command");
        assert_eq!(offered, is_offered, "{sandbox} {missing:?} {approvals}");
    }
}
