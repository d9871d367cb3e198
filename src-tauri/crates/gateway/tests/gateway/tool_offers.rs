//! Offered and withheld tools of a job, and the surface of a decision.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::approval::{
    Approval, ApprovalDecision, ApprovalState, DecisionSurface, Fingerprint, GrantScope, NewGrant,
    Surroundings,
};
use rouse_core::policy::ApprovedCall;
use rouse_core::run::{Run, Usage};
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, RateLimit, SandboxMode, Tool, ToolContext, ToolDomain,
    ToolOutput, ToolSpec,
};
use rouse_core::{ApprovalId, JobId, RunId, RunState, RunTrigger};
use rouse_gateway::BoundPort;
use rouse_store::ParkRequest;
use serde_json::{Value, json};

use crate::fixture::{GatewayFixture, NOON};

/// A tool that needs approval for each call outside the sandbox.
struct GrantableCommand(ToolSpec);

impl GrantableCommand {
    fn new() -> Self {
        Self(ToolSpec {
            name: "command".to_owned(),
            label: None,
            description: "Runs.".to_owned(),
            parameters: json!({ "type": "object" }),
            annotations: Annotations::ANYTHING,
            approval: ApprovalRule::UnlessGranted,
            domain: ToolDomain::Container,
            rate: RateLimit::USUAL,
            call_for: Duration::from_secs(1),
            untrusted_output: true,
            sensitive: Vec::new(),
            shell_text: Vec::new(),
            attended_only: false,
            listed_only: false,
            origin: None,
        })
    }
}

impl Tool for GrantableCommand {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn default_approval(&self, sandbox: &SandboxMode) -> ApprovalRule {
        match sandbox {
            SandboxMode::OpenedByPerson { .. } => ApprovalRule::Always,
            SandboxMode::Sandboxed { .. } | SandboxMode::ByPersonUnsandboxed { .. } => {
                self.0.approval
            }
        }
    }

    fn call<'a>(&'a self, _: ApprovedCall, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        Box::pin(std::future::ready(ToolOutput::ok("done")))
    }
}

/// Parks a run of the job with an approval for a call of `command`.
pub(crate) async fn park_run(fixture: &GatewayFixture, job: &JobId, is_highest: bool) -> Approval {
    let id = RunId::new("earlier");
    let run = Run {
        job_id: Some(job.clone()),
        job_name: "Tidy".to_owned(),
        state: RunState::Running,
        started_at: Some(NOON),
        attempt: 1,
        payload: json!({}),
        ..Run::queued(id.clone(), RunTrigger::Manual, NOON)
    };
    fixture.store.insert_run(&run, NOON).await.expect("inserted");
    let (arguments, surroundings) = (json!({}), Surroundings::default());
    let approval = Approval {
        id: ApprovalId::new("approval-1"),
        run_id: id.clone(),
        job_id: Some(job.clone()),
        job_name: "Tidy".to_owned(),
        call_id: "c".to_owned(),
        tool: "command".to_owned(),
        fingerprint: Fingerprint::of("command", &arguments, &surroundings),
        arguments,
        surroundings,
        preview: "Runs.".to_owned(),
        reason: "It changes something.".to_owned(),
        is_highest,
        requested_at: NOON,
        expires_at: NOON.plus_ms(60_000),
        state: ApprovalState::Pending,
        decided_from: None,
        used_at: None,
        input: None,
    };
    let park = ParkRequest {
        worked_ms: 0,
        run_id: id,
        approvals: vec![approval.clone()],
        usage: Usage::default(),
        deliveries: Vec::new(),
        now: NOON,
    };
    fixture.store.park_run(&park).await.expect("parked").expect("an active run");
    approval
}

/// Grants the job its call of `command`.
async fn grant(fixture: &GatewayFixture, job: &JobId) {
    let approval = park_run(fixture, job, false).await;
    let covers = GrantScope::exact_call(&approval);
    let always = ApprovalDecision::Always(NewGrant { covers, expires_at: None, uses: None });
    fixture
        .store
        .decide_approval(&approval.id, &always, DecisionSurface::Page, NOON)
        .await
        .expect("decided");
}

#[tokio::test]
async fn granted_but_unusable_tool_is_withheld_with_reason() {
    let port = BoundPort::bind(0, false).await.expect("a port");
    let fixture = GatewayFixture::with_tools(port, vec![Arc::new(GrantableCommand::new())]).await;
    let draft = json!({
        "name": "Tidy", "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Tidy up." },
        "policies": { "approvals": "skip" },
    });
    let job = fixture.call("cron.add", draft).await["job"].clone();
    grant(&fixture, &JobId::new(job["id"].as_str().expect("an id"))).await;
    let effective = async |sandbox: &str, use_tools: bool| {
        let patch = json!({
            "policies": { "sandbox": sandbox }, "payload": { "useTools": use_tools },
        });
        fixture.call("cron.update", json!({ "id": job["id"], "patch": patch })).await;
        let by_id = fixture.call("tools.effective", json!({ "id": job["id"] })).await;
        let stored = fixture.call("cron.get", json!({ "id": job["id"] })).await["job"].clone();
        let unsaved = json!({ "id": job["id"], "name": "Other", "schedule": { "kind": "manual" }, "payload": stored["payload"], "policies": stored["policies"] });
        let by_draft = fixture.call("tools.effective", json!({ "job": unsaved })).await;
        assert_eq!(by_draft, by_id, "stored and unsaved job have the same tools");
        let tools: Vec<Value> = by_id["tools"].as_array().expect("tools").clone();
        let names = tools.iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>();
        (names, by_id["withheld"].clone())
    };
    assert_eq!(effective("required", true).await, (vec![json!("command")], json!([])));
    let (offered, withheld) = effective("open", true).await;
    assert_eq!((offered, &withheld[0]["name"]), (Vec::new(), &json!("command")));
    let reason = withheld[0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("even with a grant"), "{reason}");
    assert!(reason.contains("sandbox to `required`"), "{reason}");
    assert_eq!(effective("open", false).await, (Vec::new(), json!([])));
    fixture.stop().await;
}

#[tokio::test]
async fn highest_call_is_not_allowed_from_a_notification() {
    let port = BoundPort::bind(0, false).await.expect("a port");
    let fixture = GatewayFixture::with_tools(port, vec![Arc::new(GrantableCommand::new())]).await;
    let draft = json!({
        "name": "Tidy", "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Tidy up." },
    });
    let job = fixture.call("cron.add", draft).await["job"].clone();
    let job = JobId::new(job["id"].as_str().expect("an id"));
    let approval = park_run(&fixture, &job, true).await;
    let allow = |from: &str| json!({ "id": approval.id.as_str(), "decision": { "kind": "once" }, "from": from });
    for from in ["notification", "tray"] {
        let refused = fixture.client.call("approvals.decide", allow(from)).await;
        let refused = refused.expect_err(from).to_string();
        assert!(refused.contains("the whole call must be visible"), "{from}: {refused}");
    }
    assert_eq!(fixture.call("approvals.decide", allow("page")).await["applied"], true);
    fixture.stop().await;
}
