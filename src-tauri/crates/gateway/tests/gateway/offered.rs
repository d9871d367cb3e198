//! What a job's model is offered, and what of the granted is kept from it, as a client is told.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::approval::{
    Answer, AnsweredFrom, Approval, ApprovalState, Cover, Fingerprint, NewGrant, Surroundings,
};
use rouse_core::policy::ApprovedCall;
use rouse_core::run::{Run, Usage};
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Domain, RateLimit, SandboxMode, Tool, ToolContext,
    ToolOutput, ToolSpec,
};
use rouse_core::{ApprovalId, JobId, RunId, RunState, RunTrigger};
use rouse_gateway::BoundPort;
use rouse_store::Park;
use serde_json::{Value, json};

use crate::house::{House, NOON};

/// Is asked for each time outside the sandbox, like a command.
struct Command(ToolSpec);

impl Command {
    fn new() -> Self {
        Self(ToolSpec {
            name: "command".to_owned(),
            label: None,
            description: "Runs.".to_owned(),
            parameters: json!({ "type": "object" }),
            annotations: Annotations::ANYTHING,
            approval: ApprovalRule::UnlessGranted,
            domain: Domain::Container,
            rate: RateLimit::USUAL,
            call_for: Duration::from_secs(1),
            untrusted_output: true,
            sensitive: Vec::new(),
            shell_text: Vec::new(),
            attended_only: false,
            listed_only: false,
        })
    }
}

impl Tool for Command {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn usual_approval(&self, sandbox: &SandboxMode) -> ApprovalRule {
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

/// A run of the job that asks about its call of `command`.
async fn asked(house: &House, job: &JobId, is_highest: bool) -> Approval {
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
    house.store.insert_run(&run, NOON).await.expect("inserted");
    let (arguments, surroundings) = (json!({}), Surroundings::default());
    let asked = Approval {
        id: ApprovalId::new("asked"),
        run_id: id.clone(),
        job_id: Some(job.clone()),
        job_name: "Tidy".to_owned(),
        call_id: "c".to_owned(),
        tool: "command".to_owned(),
        fingerprint: Fingerprint::of("command", &arguments, &surroundings),
        arguments,
        surroundings,
        preview: "Runs.".to_owned(),
        why: "It changes something.".to_owned(),
        is_highest,
        asked_at: NOON,
        expires_at: NOON.plus_ms(60_000),
        state: ApprovalState::Pending,
        answered_from: None,
        used_at: None,
    };
    let park = Park {
        worked_ms: 0,
        run_id: id,
        questions: vec![asked.clone()],
        usage: Usage::default(),
        deliveries: Vec::new(),
        now: NOON,
    };
    house.store.park_run(&park).await.expect("parked").expect("at work");
    asked
}

/// Grants the job its call of `command`, as a yes for always does.
async fn grant(house: &House, job: &JobId) {
    let asked = asked(house, job, false).await;
    let covers = Cover::exactly(&asked);
    let always = Answer::Always(NewGrant { covers, expires_at: None, uses: None });
    house.store.decide(&asked.id, &always, AnsweredFrom::Page, NOON).await.expect("decided");
}

#[tokio::test]
async fn what_was_granted_and_would_be_refused_each_time_is_told_with_the_reason_and_not_offered() {
    let port = BoundPort::bind(0, false).await.expect("a port");
    let house = House::with(port, vec![Arc::new(Command::new())]).await;
    let draft = json!({
        "name": "Tidy", "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Tidy up." },
        "policies": { "approvals": "skip" },
    });
    let job = house.call("cron.add", draft).await["job"].clone();
    grant(&house, &JobId::new(job["id"].as_str().expect("an id"))).await;
    let effective = async |sandbox: &str, use_tools: bool| {
        let patch = json!({
            "policies": { "sandbox": sandbox }, "payload": { "useTools": use_tools },
        });
        house.call("cron.update", json!({ "id": job["id"], "patch": patch })).await;
        let told = house.call("tools.effective", json!({ "id": job["id"] })).await;
        let stored = house.call("cron.get", json!({ "id": job["id"] })).await["job"].clone();
        let form = json!({ "id": job["id"], "name": "Other", "schedule": { "kind": "manual" }, "payload": stored["payload"], "policies": stored["policies"] });
        let in_form = house.call("tools.effective", json!({ "job": form })).await;
        assert_eq!(in_form, told, "the form and the runs go by one rule");
        let tools: Vec<Value> = told["tools"].as_array().expect("tools").clone();
        let names = tools.iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>();
        (names, told["withheld"].clone())
    };
    assert_eq!(effective("required", true).await, (vec![json!("command")], json!([])));
    let (offered, withheld) = effective("open", true).await;
    assert_eq!((offered, &withheld[0]["name"]), (Vec::new(), &json!("command")));
    let why = withheld[0]["why"].as_str().expect("words");
    assert!(why.contains("whatever was granted") && why.contains("sandbox to required"), "{why}");
    assert_eq!(effective("open", false).await, (Vec::new(), json!([])));
    house.stop().await;
}

#[tokio::test]
async fn a_call_of_the_highest_class_is_not_allowed_in_passing() {
    let port = BoundPort::bind(0, false).await.expect("a port");
    let house = House::with(port, vec![Arc::new(Command::new())]).await;
    let draft = json!({
        "name": "Tidy", "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Tidy up." },
    });
    let job = house.call("cron.add", draft).await["job"].clone();
    let job = JobId::new(job["id"].as_str().expect("an id"));
    let asked = asked(&house, &job, true).await;
    let yes =
        |from: &str| json!({ "id": asked.id.as_str(), "answer": { "kind": "once" }, "from": from });
    for from in ["notification", "tray"] {
        let refused = house.client.call("approvals.decide", yes(from)).await;
        let refused = refused.expect_err(from).to_string();
        assert!(refused.contains("where all of it is seen"), "{from}: {refused}");
    }
    assert_eq!(house.call("approvals.decide", yes("page")).await["counts"], true);
    house.stop().await;
}
