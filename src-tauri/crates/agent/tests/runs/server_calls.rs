//! Single calls of a server's tool: the server is opened as for an agent turn.

use std::sync::Arc;

use rouse_agent::HookDecision;
use rouse_core::approval::ApprovalDecision;
use rouse_core::extension::{MissingTool, MissingToolCause, ToolServers, UnavailableKind};
use rouse_core::run::{Outcome, Run};
use rouse_core::{Job, RunState};
use serde_json::json;

use super::fixtures::ScriptedHook;
use super::run_fixture::{RunFixture, call_of, job, tools};
use super::servers::{FakeServer, FakeServers, server_tool};

fn call_job(tool: &str) -> Job {
    job(json!({ "kind": "toolCall", "tool": tool, "arguments": {} }), json!({}))
}

async fn fixture() -> RunFixture {
    let fixture = RunFixture::with_tools([], tools()).await;
    fixture.registry.replace_server_tools(vec![server_tool("cal", "list")]);
    fixture
}

async fn call(fixture: &RunFixture, servers: &Arc<FakeServers>, run: &Run, job: &Job) -> Outcome {
    let driver = fixture.driver().with_servers(Arc::clone(servers) as Arc<dyn ToolServers>);
    driver.run_tool_call(run, job, call_of(job), &fixture.cancel).await
}

/// The outcome of a job that calls `tool` once.
async fn outcome(tool: &str, server: FakeServer) -> Outcome {
    let (fixture, job) = (fixture().await, call_job(tool));
    let run = fixture.run_of(Some(&job)).await;
    call(&fixture, &FakeServers::with(&[("cal", server)]), &run, &job).await
}

fn open(missing: &[(&str, MissingToolCause)]) -> FakeServer {
    let missing = missing.iter().map(|(name, cause)| MissingTool {
        server: "cal".parse().expect("a name"),
        name: (*name).to_owned(),
        cause: *cause,
    });
    FakeServer::Open { missing: missing.collect() }
}

#[tokio::test]
async fn tool_call_job_holds_its_server_during_the_call() {
    let (fixture, job) = (fixture().await, call_job("cal_list"));
    let run = fixture.run_of(Some(&job)).await;
    let servers = FakeServers::with(&[("cal", open(&[]))]);
    let outcome = call(&fixture, &servers, &run, &job).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    assert_eq!(*servers.opened.lock().expect("not poisoned"), ["cal"]);
    assert_eq!(Arc::strong_count(&servers.leases), 1, "the run has returned its lease");
}

#[tokio::test]
async fn tool_of_rouse_opens_no_server() {
    let (fixture, job) = (fixture().await, call_job("outside"));
    let run = fixture.run_of(Some(&job)).await;
    let servers = FakeServers::with(&[]);
    assert_eq!(call(&fixture, &servers, &run, &job).await.state, RunState::Succeeded);
    assert!(servers.opened.lock().expect("not poisoned").is_empty());
}

#[tokio::test]
async fn unavailable_server_fails_the_call_by_its_kind() {
    for (kind, is_transient) in [
        (UnavailableKind::Unreachable, true),
        (UnavailableKind::Off, false),
        (UnavailableKind::NeedsSignIn, false),
        (UnavailableKind::Quarantined, false),
        (UnavailableKind::MissingSecret, false),
    ] {
        // The registry has no tool of a server that is off.
        for tool in ["cal_list", "cal_off"] {
            let outcome = outcome(tool, FakeServer::Missing(kind)).await;
            assert_eq!((outcome.state, outcome.is_transient), (RunState::Failed, is_transient));
            let expected = format!("The MCP server cal is {kind:?}. Look at it.");
            assert_eq!(outcome.error, Some(expected), "{tool}");
        }
    }
}

#[tokio::test]
async fn tool_of_a_removed_server_names_the_command() {
    let outcome = outcome("mail_send", open(&[])).await;
    assert_eq!((outcome.state, outcome.is_transient), (RunState::Failed, false));
    let error = outcome.error.expect("an error");
    assert!(error.starts_with("There is no tool called mail_send. The MCP server mail is not"));
    assert!(error.contains("`rouse mcp add mail "), "{error}");
}

/// A misspelt tool of Rouse has no server to install.
#[tokio::test]
async fn unknown_single_word_names_no_server() {
    let outcome = outcome("ecko", open(&[])).await;
    let error = outcome.error.expect("an error");
    assert!(error.contains("ecko") && !error.contains("MCP server"), "{error}");
}

#[tokio::test]
async fn missing_tool_fails_the_call_with_its_cause() {
    for (missing, part) in [
        (&[("cal_list", MissingToolCause::Gone)][..], "does not offer cal_list now"),
        (&[("cal_list", MissingToolCause::Changed)][..], "`rouse extensions accept cal`"),
    ] {
        let outcome = outcome("cal_list", open(missing)).await;
        assert_eq!((outcome.state, outcome.is_transient), (RunState::Failed, false));
        assert!(outcome.error.as_ref().is_some_and(|error| error.contains(part)), "{outcome:?}");
    }
    let error = outcome("cal_send", open(&[])).await.error.expect("an error");
    assert!(error.contains("no accepted tool cal_send"), "{error}");
}

#[tokio::test]
async fn denied_call_opens_no_server() {
    let wants = ScriptedHook::with(vec![HookDecision::RequireApproval("look".to_owned())]).0;
    let fixture = RunFixture::guarded([], tools(), Vec::new(), vec![wants]).await;
    fixture.registry.replace_server_tools(vec![server_tool("cal", "list")]);
    let job = call_job("cal_list");
    let run = fixture.run_of(Some(&job)).await;
    let servers = FakeServers::with(&[("cal", open(&[]))]);
    let requested = call(&fixture, &servers, &run, &job).await;
    assert_eq!(requested.state, RunState::AwaitingApproval, "{requested:?}");
    fixture.park(&run, &requested).await;
    fixture.decide(&requested.approvals[0], &ApprovalDecision::Deny { reason: None }).await;
    fixture.start_again(&run).await;
    let gone = FakeServers::with(&[("cal", FakeServer::Missing(UnavailableKind::Unreachable))]);
    let outcome = call(&fixture, &gone, &run, &job).await;
    assert_eq!(outcome.state, RunState::Cancelled, "{outcome:?}");
    assert!(gone.opened.lock().expect("not poisoned").is_empty());
}
