//! The servers of a job's run: required and optional ones, the tools that a run keeps, and the taint of their results.

use std::sync::{Arc, Mutex};

use rouse_agent::AgentDriver;
use rouse_core::extension::{
    ExtensionName, MissingTool, MissingToolCause, OpenServer, ServerUnavailable, ToolOrigin,
    ToolServers, UnavailableKind,
};
use rouse_core::message::Message;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::{BoxFuture, Tool, ToolOutput};
use rouse_core::{RunState, SessionKey};
use rouse_testkit::scripted_model::{Scripted, calls, says};
use serde_json::{Value, json};

use super::fixtures::done;
use super::run_fixture::{RunFixture, TestTool, agent_job, tools, turn_of};

/// A server that is there, or the reason why not.
#[derive(Clone)]
pub(crate) enum FakeServer {
    Open { missing: Vec<MissingTool> },
    Missing(UnavailableKind),
}

/// Servers of a test, with the opened ones and the number of leases that are held.
#[derive(Default)]
pub(crate) struct FakeServers {
    pub(crate) servers: Mutex<Vec<(&'static str, FakeServer)>>,
    pub(crate) opened: Mutex<Vec<String>>,
    pub(crate) leases: Arc<()>,
}

impl FakeServers {
    pub(crate) fn with(servers: &[(&'static str, FakeServer)]) -> Arc<Self> {
        Arc::new(Self { servers: Mutex::new(servers.to_vec()), ..Self::default() })
    }
}

impl ToolServers for FakeServers {
    fn open<'a>(
        &'a self,
        server: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<OpenServer, ServerUnavailable>> {
        self.opened.lock().expect("not poisoned").push(server.to_string());
        let servers = self.servers.lock().expect("not poisoned");
        let found = servers.iter().find(|(name, _)| *name == server.as_str());
        let result = match found.map(|(_, found)| found.clone()) {
            Some(FakeServer::Open { missing }) => {
                Ok(OpenServer { missing, lease: Box::new(Arc::clone(&self.leases)) })
            }
            Some(FakeServer::Missing(kind)) => Err(ServerUnavailable {
                server: server.clone(),
                kind,
                reason: format!("The MCP server {server} is {kind:?}."),
                remedy: "Look at it.".to_owned(),
            }),
            None => Err(ServerUnavailable::not_installed(server)),
        };
        Box::pin(std::future::ready(result))
    }

    fn known_tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }
}

/// The tool `raw` of `server` with a fixed output.
pub(crate) fn server_tool(server: &str, raw: &str) -> Arc<dyn Tool> {
    let extension: ExtensionName = server.parse().expect("a name");
    let tool = TestTool::answering(&format!("{server}_{raw}"), ToolOutput::ok("three events"));
    Arc::new(tool.with(|spec| {
        spec.untrusted_output = true;
        spec.origin = Some(ToolOrigin {
            extension,
            raw_name: raw.to_owned(),
            version: Some("calendar 1.2.0".to_owned()),
            hash: "00ff".to_owned(),
        });
    }))
}

async fn fixture(script: Vec<Scripted>) -> RunFixture {
    let fixture = RunFixture::with_tools(script, tools()).await;
    let names = ["list", "delete"].map(|raw| server_tool("cal", raw));
    fixture.registry.replace_server_tools(names.to_vec());
    fixture
}

fn driver(fixture: &RunFixture, servers: &Arc<FakeServers>) -> AgentDriver {
    fixture.driver().with_servers(Arc::clone(servers) as Arc<dyn ToolServers>)
}

/// A run of an agent turn with this payload.
async fn turn(fixture: &RunFixture, servers: &Arc<FakeServers>, payload: Value) -> (Run, Outcome) {
    let job = agent_job(payload, json!({}));
    let run = fixture.run_of(Some(&job)).await;
    let driver = driver(fixture, servers);
    let outcome =
        driver.run_turn(&run, &job, turn_of(&job), fixture.chosen(), &fixture.cancel).await;
    (run, outcome)
}

fn open() -> FakeServer {
    FakeServer::Open { missing: Vec::new() }
}

fn lists() -> Scripted {
    calls([("c1", "cal_list", json!({}))])
}

async fn task(fixture: &RunFixture, run: &Run) -> String {
    let session = SessionKey::new("cron:j1");
    let messages = fixture.store.messages_of_run(&session, &run.id).await.expect("messages");
    match &messages[0] {
        Message::User { text } => text.clone(),
        other => panic!("not a task: {other:?}"),
    }
}

#[tokio::test]
async fn tool_of_a_named_server_is_called() {
    let fixture = fixture(vec![lists(), done()]).await;
    let servers = FakeServers::with(&[("cal", open())]);
    let (run, outcome) =
        turn(&fixture, &servers, json!({"message": "Today?", "servers": ["cal"]})).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    let steps = fixture.steps(&run).await;
    let step = steps.iter().find(|step| step.name == "cal_list").expect("journalled");
    assert_eq!(step.output, Some(json!("three events")));
    assert_eq!(Arc::strong_count(&servers.leases), 1, "the run has returned its lease");
}

#[tokio::test]
async fn missing_required_server_fails_the_run() {
    for (kind, is_transient) in [
        (UnavailableKind::Unreachable, true),
        (UnavailableKind::NeedsSignIn, false),
        (UnavailableKind::Quarantined, false),
        (UnavailableKind::Off, false),
    ] {
        let fixture = fixture(vec![says("All quiet.")]).await;
        let servers = FakeServers::with(&[("cal", FakeServer::Missing(kind))]);
        let (_, outcome) =
            turn(&fixture, &servers, json!({"message": "Today?", "servers": ["cal"]})).await;
        assert_eq!((outcome.state, outcome.is_transient), (RunState::Failed, is_transient));
        let error = outcome.error.expect("an error");
        assert_eq!(error, format!("The MCP server cal is {kind:?}. Look at it."));
        assert!(fixture.model.requests().is_empty(), "no model was called");
    }
}

#[tokio::test]
async fn server_that_is_not_installed_fails_the_run() {
    let fixture = fixture(vec![says("All quiet.")]).await;
    let servers = FakeServers::with(&[("cal", open())]);
    let payload = json!({"message": "Today?", "servers": ["cal", "mail"]});
    let (_, outcome) = turn(&fixture, &servers, payload).await;
    assert_eq!((outcome.state, outcome.is_transient), (RunState::Failed, false));
    assert!(outcome.error.expect("an error").contains("mail is not installed"));
}

#[tokio::test]
async fn missing_optional_server_is_named_to_the_model() {
    let fixture = fixture(vec![done()]).await;
    let servers = FakeServers::with(&[("cal", FakeServer::Missing(UnavailableKind::Unreachable))]);
    let (run, outcome) =
        turn(&fixture, &servers, json!({"message": "Today?", "servers": ["cal:optional"]})).await;
    assert_eq!(outcome.state, RunState::Succeeded);
    let task = task(&fixture, &run).await;
    assert!(task.contains("The MCP server cal is not available"), "{task}");
}

#[tokio::test]
async fn missing_tools_are_named_to_the_model() {
    let fixture = fixture(vec![done()]).await;
    let missing = [("delete", MissingToolCause::Changed), ("move", MissingToolCause::Gone)];
    let missing = missing.map(|(raw, cause)| MissingTool {
        server: "cal".parse().expect("a name"),
        name: format!("cal_{raw}"),
        cause,
    });
    let servers = FakeServers::with(&[("cal", FakeServer::Open { missing: missing.to_vec() })]);
    let (run, _) = turn(&fixture, &servers, json!({"message": "Today?", "servers": ["cal"]})).await;
    let task = task(&fixture, &run).await;
    assert!(task.contains("wait for the user's review: cal_delete."), "{task}");
    assert!(task.contains("cal does not offer these tools now: cal_move."), "{task}");
}

#[tokio::test]
async fn listed_tool_that_is_gone_fails_the_run() {
    let fixture = fixture(vec![done()]).await;
    let servers = FakeServers::with(&[("cal", open())]);
    let payload = json!({"message": "Today?", "servers": ["cal"], "tools": ["cal_move"]});
    let (_, outcome) = turn(&fixture, &servers, payload).await;
    assert_eq!((outcome.state, outcome.is_transient), (RunState::Failed, false));
    let error = outcome.error.expect("an error");
    assert!(error.contains("lists the tool cal_move") && error.contains("no accepted tool"));
}

/// The registry loses its server tools while the run works.
#[tokio::test]
async fn run_keeps_the_tools_that_it_began_with() {
    let fixture = RunFixture::with_tools([], tools()).await;
    let registry = Arc::clone(&fixture.registry);
    let removing = TestTool::new("cal_list", move |_, _| {
        registry.replace_server_tools(Vec::new());
        Box::pin(std::future::ready(ToolOutput::ok("three events")))
    });
    let origin = server_tool("cal", "list").spec().origin.clone();
    let removing = Arc::new(removing.with(|spec| spec.origin = origin));
    fixture.registry.replace_server_tools(vec![removing, server_tool("cal", "delete")]);
    fixture.model.extend([lists(), calls([("c2", "cal_delete", json!({}))]), done()]);
    let servers = FakeServers::with(&[("cal", open())]);
    let (run, outcome) =
        turn(&fixture, &servers, json!({"message": "Today?", "servers": ["cal"]})).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    let steps = fixture.steps(&run).await;
    let step = steps.iter().find(|step| step.name == "cal_delete").expect("journalled");
    assert!(!step.is_error, "{step:?}");
    assert!(fixture.registry.current().get("cal_delete").is_none(), "the next run is without it");
}

#[tokio::test]
async fn result_of_a_removed_tool_taints_the_session() {
    let fixture = fixture(vec![lists(), done()]).await;
    let servers = FakeServers::with(&[("cal", open())]);
    let (run, _) = turn(&fixture, &servers, json!({"message": "Today?", "servers": ["cal"]})).await;
    fixture.registry.replace_server_tools(Vec::new());
    let tools = fixture.registry.current();
    let has_read = fixture.store.has_read_untrusted(&run.id, &tools.trusted_tools()).await;
    assert!(has_read.expect("read"));
}
