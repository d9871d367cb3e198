//! Refusal kinds in the journal: a test for each kind.

use std::sync::Arc;

use rouse_agent::{Hook, HookDecision, HookError, ToolCallEvent};
use rouse_core::RunState;
use rouse_core::approval::{ApprovalDecision, GrantScope, NewGrant, Surroundings};
use rouse_core::policy::{ApprovedCall, ToolPolicy};
use rouse_core::run::Run;
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Fault, SandboxMode, Tool, ToolContext, ToolOutput,
    ToolSpec,
};
use rouse_store::StepKind;
use rouse_testkit::scripted_model::{Scripted, calls};
use serde_json::{Value, json};

use super::fixtures::{
    CallLog, JobRuns, ScriptedHook, VALUE, done, key_shaped, logged, logging_tool, secret,
};
use super::run_fixture::{RunFixture, TestTool, agent_job, call_of, job, tools};

/// The decisions about the run's calls of `tool` in the journal.
async fn decided(fixture: &RunFixture, run: &Run, tool: &str) -> Vec<Value> {
    let steps = fixture.steps(run).await.into_iter();
    let calls = steps.filter(|step| step.kind == StepKind::ToolCall && step.name == tool);
    calls.map(|step| json!(step.gate)).collect()
}

fn refused(why: Value) -> Value {
    json!({ "decision": "refused", "refusal": why })
}

/// The decision about a refused call.
async fn decided_of(
    fixture: &RunFixture,
    policy: &ToolPolicy,
    tool: &str,
    arguments: Value,
) -> Value {
    let (run, called) = fixture.pass(policy, tool, arguments).await;
    assert!(!called.reached_tool, "{called:?}");
    decided(fixture, &run, tool).await.remove(0)
}

fn all() -> ToolPolicy {
    ToolPolicy::default()
}

#[tokio::test]
async fn policy_refusals_have_their_kinds() {
    let attended = TestTool::answering("attended", ToolOutput::ok("yes"))
        .with(|spec| spec.attended_only = true);
    let changes = TestTool::answering("changes", ToolOutput::ok("yes"))
        .with(|spec| spec.annotations = Annotations::OVERWRITES);
    let mut tools = tools();
    tools.extend([Arc::new(attended) as Arc<dyn Tool>, Arc::new(changes)]);
    let fixture = RunFixture::with_tools([], tools).await;
    let only_echo = ToolPolicy::for_tools(Some(vec!["echo".to_owned()]));
    let read = all().after_reading(["theirs".to_owned()]);
    for (policy, tool, arguments, why) in [
        (all(), "shell", json!({}), json!({ "kind": "unknownTool" })),
        (all(), "echo", json!({ "text": 5 }), json!({ "kind": "invalidArguments" })),
        (only_echo, "outside", json!({}), json!({ "kind": "notListed" })),
        (read, "changes", json!({}), json!({ "kind": "ceiling", "skills": ["theirs"] })),
        (all(), "attended", json!({}), json!({ "kind": "unattended" })),
        (all(), "asks", json!({}), json!({ "kind": "approvalDisabled", "approvals": "deny" })),
    ] {
        assert_eq!(decided_of(&fixture, &policy, tool, arguments).await, refused(why), "{tool}");
    }
}

#[tokio::test]
async fn rate_limit_refusal_has_the_wait() {
    let rare =
        TestTool::answering("rare", ToolOutput::ok("yes")).with(|spec| spec.rate.per_minute = 1);
    let fixture = RunFixture::with_tools([], vec![Arc::new(rare)]).await;
    assert!(fixture.pass(&all(), "rare", json!({})).await.1.reached_tool);
    fixture.clock.advance(20_000);
    let why = json!({ "kind": "rateLimited", "waitMs": 40_000 });
    assert_eq!(decided_of(&fixture, &all(), "rare", json!({})).await, refused(why));
}

/// A tool that cannot make any call.
struct ImpossibleTool(TestTool, Fault);

impl Tool for ImpossibleTool {
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
async fn impossible_call_refusal_tells_a_missing_sandbox_apart() {
    for (fault, kind) in [(Fault::Sandbox, "noSandbox"), (Fault::InvalidParameters, "impossible")] {
        let tool = TestTool::answering("command", ToolOutput::ok("yes"))
            .with(|spec| spec.approval = ApprovalRule::UnlessGranted);
        let fixture = RunFixture::with_tools([], vec![Arc::new(ImpossibleTool(tool, fault))]).await;
        let (run, called) = fixture.pass(&all(), "command", json!({})).await;
        assert_eq!(called.output.fault, Some(fault), "the tool's own text is kept");
        let why = json!({ "kind": kind });
        assert_eq!(decided(&fixture, &run, "command").await, [refused(why)]);
    }
}

#[tokio::test]
async fn leak_refusals_have_names_and_no_values() {
    let made = CallLog::default();
    let sender =
        logging_tool("sender", Annotations { open_world: true, ..Annotations::READS }, &made);
    let secrets = vec![secret("mail", VALUE)];
    let fixture = RunFixture::guarded([], vec![Arc::new(sender)], secrets, Vec::new()).await;
    let stored = refused(json!({ "kind": "storedSecret", "names": ["mail"] }));
    assert_eq!(decided_of(&fixture, &all(), "sender", json!({ "body": VALUE })).await, stored);
    let leak = refused(json!({ "kind": "leak", "found": ["stripe-access-token"] }));
    assert_eq!(decided_of(&fixture, &all(), "sender", json!({ "body": key_shaped() })).await, leak);
    let handle = json!({ "body": "{{secret:other}}" });
    let named = refused(json!({ "kind": "secret", "name": "other" }));
    assert_eq!(decided_of(&fixture, &all(), "sender", handle).await, named);
    assert!(logged(&made).is_empty());
}

/// A hook that fails.
struct FailingHook;

impl Hook for FailingHook {
    fn name(&self) -> &str {
        "silent"
    }

    fn before_tool_call<'h>(
        &'h self,
        _: &'h ToolCallEvent,
    ) -> BoxFuture<'h, Result<HookDecision, HookError>> {
        Box::pin(std::future::ready(Err(HookError("it took too long".to_owned()))))
    }
}

#[tokio::test]
async fn hook_refusal_has_hook_and_kind() {
    let no = ScriptedHook::with(vec![HookDecision::Deny("not on Sundays".to_owned())]).0;
    let endless = (0..9).map(|number| HookDecision::Rewrite(json!({ "n": number }))).collect();
    let circles = ScriptedHook::with(endless).0;
    let hook_refusal = |hook: &str, how: &str| json!({ "kind": "hook", "hook": hook, "how": how });
    let circling = json!({
        "decision": "refused", "refusal": hook_refusal("guard", "rewriteLimit"), "rewrittenBy": "guard",
    });
    for (hook, decision) in [
        (no, refused(hook_refusal("guard", "denied"))),
        (Arc::new(FailingHook) as Arc<dyn Hook>, refused(hook_refusal("silent", "failed"))),
        (circles, circling),
    ] {
        let free = logging_tool("free", Annotations::OVERWRITES, &CallLog::default());
        let fixture = RunFixture::guarded([], vec![Arc::new(free)], Vec::new(), vec![hook]).await;
        assert_eq!(decided_of(&fixture, &all(), "free", json!({})).await, decision);
    }
}

#[tokio::test]
async fn decision_names_the_hook_that_rewrote_the_call() {
    let rewrites = |arguments| ScriptedHook::with(vec![HookDecision::Rewrite(arguments)]).0;
    let fixture =
        RunFixture::guarded([], tools(), Vec::new(), vec![rewrites(json!({ "text": "b" }))]);
    let fixture = fixture.await;
    let (run, called) = fixture.pass(&all(), "echo", json!({ "text": "a" })).await;
    assert!(called.reached_tool, "{called:?}");
    let made = json!({ "decision": "rewritten", "rewrittenBy": "guard" });
    assert_eq!(decided(&fixture, &run, "echo").await, [made]);

    let fixture =
        RunFixture::guarded([], tools(), Vec::new(), vec![rewrites(json!({ "text": 5 }))]);
    let misfit = json!({
        "decision": "refused", "refusal": { "kind": "invalidArguments" }, "rewrittenBy": "guard",
    });
    assert_eq!(decided_of(&fixture.await, &all(), "echo", json!({ "text": "a" })).await, misfit);
}

/// The name of a hook is the whole command.
#[tokio::test]
async fn hook_name_in_the_journal_is_redacted_and_cut() {
    struct NamedHook(String);
    impl Hook for NamedHook {
        fn name(&self) -> &str {
            &self.0
        }
        fn before_tool_call<'h>(
            &'h self,
            _: &'h ToolCallEvent,
        ) -> BoxFuture<'h, Result<HookDecision, HookError>> {
            Box::pin(std::future::ready(Ok(HookDecision::Deny("no".to_owned()))))
        }
    }
    let hook = NamedHook(format!("guard --key {VALUE} {}", "x".repeat(900)));
    let hooks: Vec<Arc<dyn Hook>> = vec![Arc::new(hook)];
    let fixture = RunFixture::guarded([], tools(), vec![secret("mail", VALUE)], hooks).await;
    let decision = decided_of(&fixture, &all(), "echo", json!({ "text": "a" })).await;
    let name = decision["refusal"]["hook"].as_str().expect("a name");
    assert!(name.starts_with("guard --key [redacted: secret:mail]"), "{name}");
    assert_eq!(name.chars().count(), 200);
}

/// A run with this decision about the first approval, or an expired approval.
async fn decided_run(runs: &JobRuns<'_>, answer: Option<ApprovalDecision>) -> Run {
    let (run, outcome) = runs.begin().await;
    runs.fixture.park(&run, &outcome).await;
    answer_all(runs.fixture, &outcome.approvals, answer).await;
    runs.fixture.start_again(&run).await;
    assert_eq!(runs.resume(&run).await.state, RunState::Succeeded);
    run
}

async fn answer_all(
    fixture: &RunFixture,
    asks: &[rouse_core::approval::Approval],
    answer: Option<ApprovalDecision>,
) {
    match answer {
        Some(answer) => fixture.decide(&asks[0], &answer).await,
        None => {
            fixture.clock.advance(60_000);
            fixture.store.expire_approvals(fixture.now()).await.expect("expired");
        }
    }
}

fn asks() -> Scripted {
    calls([("c0", "asks", json!({}))])
}

#[tokio::test]
async fn denied_and_expired_refusals_have_their_kinds() {
    let no =
        |reason: Option<&str>| Some(ApprovalDecision::Deny { reason: reason.map(str::to_owned) });
    for (answer, why) in [
        (no(Some("Not that.")), json!({ "kind": "denied", "reason": "Not that." })),
        (no(None), json!({ "kind": "denied", "reason": null })),
        (None, json!({ "kind": "expired" })),
    ] {
        let policies = json!({ "approvalSeconds": 60 });
        let fixture = RunFixture::new(vec![asks(), done()]).await;
        let runs = JobRuns::new(&fixture, policies.clone());
        let run = decided_run(&runs, answer.clone()).await;
        assert_eq!(decided(runs.fixture, &run, "asks").await, [refused(why.clone())]);

        // The same in a `toolCall` job.
        let wants = ScriptedHook::with(vec![HookDecision::RequireApproval("look".to_owned())]).0;
        let fixture = RunFixture::guarded([], tools(), Vec::new(), vec![wants]).await;
        let payload = json!({ "kind": "toolCall", "tool": "echo", "arguments": { "text": "a" } });
        let job = job(payload, policies);
        let run = fixture.run_of(Some(&job)).await;
        let go = async || {
            fixture.driver().run_tool_call(&run, &job, call_of(&job), &fixture.cancel).await
        };
        let outcome = go().await;
        fixture.park(&run, &outcome).await;
        answer_all(&fixture, &outcome.approvals, answer).await;
        fixture.start_again(&run).await;
        go().await;
        assert_eq!(decided(&fixture, &run, "echo").await, [refused(why)]);
    }
}

#[tokio::test]
async fn reason_of_a_denial_is_redacted() {
    let fixture =
        RunFixture::guarded([asks(), done()], tools(), vec![secret("mail", VALUE)], Vec::new())
            .await;
    let runs = JobRuns::new(&fixture, json!({}));
    let reason = Some(format!("It holds {VALUE}."));
    let run = decided_run(&runs, Some(ApprovalDecision::Deny { reason })).await;
    let kept = json!({ "kind": "denied", "reason": "It holds [redacted: secret:mail]." });
    assert_eq!(decided(runs.fixture, &run, "asks").await, [refused(kept)]);
}

#[tokio::test]
async fn earlier_request_and_deleted_job_have_their_kinds() {
    let fixture = RunFixture::new(vec![asks(), asks(), done()]).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let first = runs.fixture.run_of(Some(&runs.job)).await;
    let outcome = runs.fixture.go(&first, &runs.job).await;
    runs.fixture.park(&first, &outcome).await;
    let second = runs.fixture.run_of(Some(&runs.job)).await;
    assert_eq!(runs.fixture.go(&second, &runs.job).await.state, RunState::Succeeded);
    let earlier = refused(json!({ "kind": "earlierApprovals" }));
    assert_eq!(decided(runs.fixture, &second, "asks").await, [earlier]);

    let fixture = RunFixture::new(vec![asks(), done()]).await;
    let runs = JobRuns::new(&fixture, json!({}));
    let run = runs.fixture.run_of(Some(&runs.job)).await;
    let removed = runs.fixture.store.remove_job(&runs.job.id, runs.fixture.now()).await;
    removed.expect("written").expect("a job");
    assert_eq!(runs.fixture.go(&run, &runs.job).await.state, RunState::Succeeded);
    let gone = refused(json!({ "kind": "jobDeleted" }));
    assert_eq!(decided(runs.fixture, &run, "asks").await, [gone]);
}

/// Needs an approval each time if the sandbox is open, and cannot run without a sandbox.
struct CommandTool(TestTool, Option<&'static str>);

impl Tool for CommandTool {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn default_approval(&self, sandbox: &SandboxMode) -> ApprovalRule {
        match sandbox {
            SandboxMode::OpenedByPerson { .. } => ApprovalRule::Always,
            SandboxMode::Sandboxed { .. } | SandboxMode::ByPersonUnsandboxed { .. } => {
                self.0.spec.approval
            }
        }
    }

    fn approval(&self, _: &Value, context: &ToolContext) -> ApprovalRule {
        self.default_approval(&context.sandbox)
    }

    fn unavailable_reason<'a>(&'a self, sandbox: &'a SandboxMode) -> BoxFuture<'a, Option<String>> {
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

/// A grant covers no command outside the sandbox, and none without a sandbox.
#[tokio::test]
async fn granted_tool_without_a_usable_sandbox_is_not_offered() {
    let no_place = Some("There is no sandbox here.");
    for (sandbox, missing, approvals, is_offered) in [
        ("required", None, "skip", true),
        ("required", no_place, "skip", false),
        ("open", None, "skip", false),
        ("open", no_place, "skip", false),
        // A person can still approve the call, or see the missing sandbox in the run.
        ("required", no_place, "ask", true),
        ("open", None, "ask", true),
    ] {
        let command = || calls([("c0", "command", json!({ "text": "a" }))]);
        let tool = TestTool::answering("command", ToolOutput::ok("done"))
            .with(|spec| spec.approval = ApprovalRule::UnlessGranted);
        let mut all = tools();
        all.push(Arc::new(CommandTool(tool, missing)));
        let fixture = RunFixture::with_tools([command(), done(), done()], all).await;
        let granting = agent_job(json!({ "message": "Do it." }), json!({}));
        let run = fixture.run_of(Some(&granting)).await;
        let outcome = fixture.go(&run, &granting).await;
        let covers = GrantScope::exact_call(&outcome.approvals[0]);
        fixture.park(&run, &outcome).await;
        let grant = ApprovalDecision::Always(NewGrant { covers, expires_at: None, uses: None });
        fixture.decide(&outcome.approvals[0], &grant).await;
        fixture.start_again(&run).await;
        assert_eq!(fixture.go(&run, &granting).await.state, RunState::Succeeded);

        let policies = json!({ "sandbox": sandbox, "approvals": approvals });
        let later = agent_job(json!({ "message": "Do it." }), policies);
        let run = fixture.run_of(Some(&later)).await;
        assert_eq!(fixture.go(&run, &later).await.state, RunState::Succeeded);
        let tools = &fixture.model.requests()[2].tools;
        let offered = tools.iter().any(|tool| tool.name == "command");
        assert_eq!(offered, is_offered, "{sandbox} {missing:?} {approvals}");
    }
}
