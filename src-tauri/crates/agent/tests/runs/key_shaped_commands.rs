//! Commands with a key-shaped text need an approval, and no other grant covers such commands.

use std::sync::Arc;

use rouse_core::approval::{ApprovalDecision, GrantScope, NewGrant};
use rouse_core::message::Message;
use rouse_core::tool::{Annotations, ApprovalRule, ToolDomain, ToolOutput};
use rouse_core::{Job, RunState, SessionKey};
use rouse_testkit::scripted_model::{Scripted, calls};
use serde_json::{Value, json};

use super::fixtures::{CallLog, JobRuns, VALUE, done, key_shaped, logged, secret};
use super::run_fixture::{RunFixture, TestTool, agent_job, tools};

fn call(command: &str) -> Scripted {
    calls([("c0", "run_command", json!({ "command": command }))])
}

/// A fixture with a secret, and runs of a job with commands that reach a host.
struct Commands {
    fixture: RunFixture,
    job: Job,
    /// The commands that were run.
    made: CallLog,
}

impl Commands {
    async fn of(script: Vec<Scripted>, policies: Value) -> Self {
        let made = CallLog::default();
        let kept = Arc::clone(&made);
        let run_command = TestTool::new("run_command", move |call, _| {
            kept.lock().expect("not poisoned").push(call.arguments()["command"].clone());
            Box::pin(std::future::ready(ToolOutput::ok("ran")))
        });
        let mut all = tools();
        all.push(Arc::new(run_command.with(|spec| {
            spec.parameters = json!({"type": "object"});
            spec.annotations = Annotations::ANYTHING;
            spec.approval = ApprovalRule::UnlessGranted;
            spec.domain = ToolDomain::Container;
            spec.shell_text = vec!["command".to_owned()];
        })));
        let fixture =
            RunFixture::guarded(script, all, vec![secret("mail", VALUE)], Vec::new()).await;
        let job = agent_job(json!({ "message": "Do it." }), policies);
        Self { fixture, job, made }
    }

    fn runs(&self) -> JobRuns<'_> {
        JobRuns { fixture: &self.fixture, job: self.job.clone() }
    }

    fn made(&self) -> Vec<Value> {
        logged(&self.made)
    }

    /// The results of all calls for the model.
    async fn results(&self) -> String {
        let messages = self.fixture.transcript(&SessionKey::of_job(&self.job.id)).await;
        let results = messages.into_iter().filter_map(|message| match message {
            Message::ToolResult { text, .. } => Some(text),
            _ => None,
        });
        results.collect::<Vec<_>>().join("\n")
    }
}

fn hosts() -> Value {
    json!({ "hosts": ["api.example.com"] })
}

#[tokio::test]
async fn key_shaped_command_needs_an_approval() {
    let command = format!("date\ngrep {} notes.md", key_shaped());
    for policies in [hosts(), json!({ "sandbox": "open" })] {
        let commands = Commands::of(vec![call(&command), done()], policies).await;
        let (run, outcome) = commands.runs().begin().await;
        assert_eq!(outcome.state, RunState::AwaitingApproval, "{}", commands.results().await);
        let why = &outcome.approvals[0].reason;
        let shape = "The arguments may hold a key (stripe-access-token in command, line 2)";
        assert!(why.contains(shape), "{why}");
        assert_eq!(
            (commands.made(), &outcome.approvals[0].arguments["command"]),
            (vec![], &json!(command))
        );
        let outcome = commands.runs().decide(&run, &outcome, &[ApprovalDecision::Once]).await;
        assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
        assert_eq!(commands.made(), [json!(command)]);
    }
}

#[tokio::test]
async fn command_with_a_stored_value_is_refused() {
    for command in [format!("echo {VALUE}"), format!("echo {VALUE} {}", key_shaped())] {
        let commands = Commands::of(vec![call(&command), done()], hosts()).await;
        let (_, outcome) = commands.runs().begin().await;
        assert_eq!((outcome.state, commands.made()), (RunState::Succeeded, vec![]), "{outcome:?}");
        let results = commands.results().await;
        assert!(results.contains("value of a stored secret (mail)"), "{results}");
    }
}

#[tokio::test]
async fn key_shaped_command_is_refused_by_approval_policy_deny() {
    let policies = json!({ "hosts": ["api.example.com"], "approvals": "deny" });
    let commands =
        Commands::of(vec![call(&format!("echo {}", key_shaped())), done()], policies).await;
    let (_, outcome) = commands.runs().begin().await;
    assert_eq!((outcome.state, commands.made()), (RunState::Succeeded, vec![]), "{outcome:?}");
    let results = commands.results().await;
    assert!(results.contains("needs approval, but this job requests no approvals"), "{results}");
    assert!(results.contains("may hold a key (stripe-access-token in command)"), "{results}");
}

#[tokio::test]
async fn only_an_exact_grant_covers_a_key_shaped_command() {
    let (one, other) = (format!("echo {}", key_shaped()), format!("echo {} more", key_shaped()));
    let script = vec![call(&one), done(), call(&one), done(), call(&other)];
    let commands = Commands::of(script, hosts()).await;
    let (run, outcome) = commands.runs().begin().await;
    assert_eq!(outcome.state, RunState::AwaitingApproval, "{}", commands.results().await);
    let covers = GrantScope::exact_call(&outcome.approvals[0]);
    let grant = ApprovalDecision::Always(NewGrant { covers, expires_at: None, uses: None });
    commands.runs().decide(&run, &outcome, &[grant]).await;
    let (_, again) = commands.runs().begin().await;
    assert_eq!((again.state, commands.made().len()), (RunState::Succeeded, 2), "{again:?}");
    let (_, other) = commands.runs().begin().await;
    assert_eq!((other.state, commands.made().len()), (RunState::AwaitingApproval, 2), "{other:?}");
}

#[tokio::test]
async fn key_shaped_request_is_refused() {
    let sends = calls([("c0", "send", json!({ "body": key_shaped() }))]);
    let open = Annotations { open_world: true, ..Annotations::READS };
    let send = TestTool::answering("send", ToolOutput::ok("sent")).with(|spec| {
        spec.parameters = json!({"type": "object"});
        spec.annotations = open;
    });
    let mut all = tools();
    all.push(Arc::new(send));
    let fixture = RunFixture::with_tools([sends, done()], all).await;
    let (run, outcome) = fixture.turn(json!({ "message": "Send it." })).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    let steps = fixture.steps(&run).await;
    let sent = steps.iter().find(|step| step.name == "send").expect("journalled");
    assert!(json!(sent.output).to_string().contains("Not sent:"), "{sent:?}");
}
