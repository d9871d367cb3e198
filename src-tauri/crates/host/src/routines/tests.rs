//! Routine requests against a running host with store, scheduler and gateway.

use std::collections::HashMap;
use std::sync::Arc;

use rouse_agent::ToolRegistry;
use rouse_core::call_progress::ProgressReporter;
use rouse_core::time::Timer;
use rouse_core::tool::{PendingCleanup, SandboxMode, ToolContext};
use rouse_core::{Clock as _, RunId, UnixMs};
use rouse_gateway::wire::EngineMode;
use rouse_gateway::{UiFile, UiFiles};
use rouse_store::Store;
use rouse_testkit::ManualClock;
use rouse_tools::{ToolsConfig, builtin};

use super::*;
use crate::{Home, Host, HostOptions};

const NOON: UnixMs = UnixMs(1_795_262_400_000);

struct EmptyUi;

impl UiFiles for EmptyUi {
    fn get(&self, _: &str) -> Option<UiFile> {
        None
    }
}

struct RoutineFixture {
    _folder: tempfile::TempDir,
    host: Host,
    routines: Arc<GatewayRoutines>,
    _open: RoutineLink,
    context: ToolContext,
}

impl RoutineFixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = ManualClock::new(NOON);
        let mut options = HostOptions::headless(
            Home::at(folder.path()),
            EngineMode::Serve,
            Some(0),
            Arc::new(EmptyUi),
        );
        let env = HashMap::from([("ROUSE_LOCAL_MODELS", "0")]);
        let timers = clock.clone();
        options.clock = Arc::new(clock.clone());
        options.timer = Some(Arc::new(move || Box::new(timers.timer()) as Box<dyn Timer>));
        options.env = Arc::new(move |name| env.get(name).map(|value| (*value).to_owned()));
        let host = Host::start(options).await.expect("a host");
        let other = Store::open(&folder.path().join("other.db"), Arc::new(|_| {})).await;
        let registry = ToolRegistry::new(builtin(ToolsConfig::default())).expect("tools");
        let gate = Gate::new(registry, other.expect("a store"), Arc::new(clock.clone()));
        let routines = Arc::new(GatewayRoutines::default());
        let open = Arc::clone(&routines).connect(host.gateway(), Arc::new(gate));
        let context = ToolContext {
            named_hosts: Vec::new(),
            folders: Vec::new(),
            run_id: RunId::new("chat-1"),
            job_id: None,
            job_name: "Chat".to_owned(),
            workspace: folder.path().to_owned(),
            sandbox: SandboxMode::Sandboxed { hosts: Vec::new() },
            zone: clock.zones().local(),
            clock: Arc::new(clock),
            skills: Vec::new(),
            event: None,
            requested_at: None,
            pending_cleanup: PendingCleanup::default(),
            searchable_tools: Arc::default(),
            progress: ProgressReporter::default(),
        };
        Self { _folder: folder, host, routines, _open: open, context }
    }

    async fn ask(&self, request: RoutineRequest) -> Result<Value, RoutineRefusal> {
        self.routines.ask(request, RoutineAuthor::Run(&self.context)).await
    }

    async fn succeed(&self, request: RoutineRequest) -> Value {
        self.ask(request).await.unwrap_or_else(|refusal| panic!("{refusal:?}"))
    }

    async fn refusal_message(&self, request: RoutineRequest) -> String {
        self.ask(request).await.expect_err("a refusal").message
    }

    /// Calls a gateway method as a person.
    async fn person(&self, method: &str, params: Value) -> Value {
        self.host.gateway().call(method, params).await.expect("accepted")
    }

    async fn add(&self, change: Value) -> (String, i64) {
        let view = self.person("cron.add", draft(change)).await;
        let job = &view["job"];
        (
            job["id"].as_str().expect("an id").to_owned(),
            job["state"]["revision"].as_i64().expect("a number"),
        )
    }
}

fn draft(change: Value) -> Value {
    let mut draft = json!({
        "name": "A", "schedule": { "kind": "every", "everyMs": 3_600_000 },
        "payload": { "kind": "agentTurn", "message": "Look" },
    });
    for (key, value) in change.as_object().cloned().unwrap_or_default() {
        draft[key] = value;
    }
    draft
}

fn create(change: Value) -> RoutineRequest {
    RoutineRequest::Create { draft: draft(change) }
}

fn update(id: &str, revision: i64, patch: Value) -> RoutineRequest {
    RoutineRequest::Update { id: id.to_owned(), patch, revision }
}

#[tokio::test]
async fn changed_name_is_signed_if_visible_to_model() {
    let fixture = RoutineFixture::new().await;
    for (payload, by) in [
        (json!({ "kind": "agentTurn", "message": "Sum up my notes." }), json!("agent")),
        (json!({ "kind": "systemEvent", "text": "Tea" }), Value::Null),
    ] {
        let job = json!({ "name": "Mine", "schedule": { "kind": "manual" }, "payload": payload });
        let added = fixture.person("cron.add", job).await["job"].clone();
        let (id, revision) = (&added["id"], &added["state"]["revision"]);
        let rename = json!({ "name": "First send them away, then" });
        let id = id.as_str().expect("an id");
        let renamed =
            fixture.succeed(update(id, revision.as_i64().expect("a number"), rename)).await;
        assert_eq!(renamed["job"]["messageBy"]["kind"], by, "{renamed:#}");
    }
}

#[tokio::test]
async fn agent_manages_a_routine_end_to_end() {
    let fixture = RoutineFixture::new().await;
    let made = fixture.succeed(create(json!({ "name": "Plants" }))).await;
    let id = made["job"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(made["job"]["createdBy"], json!({ "kind": "agent", "runId": "chat-1" }));
    assert_eq!(made["job"]["state"]["nextRunAtMs"], NOON.0 + 3_600_000);
    let seen = fixture.person("cron.get", json!({ "id": id })).await;
    assert_eq!(seen["job"], made["job"], "a person sees the signature");

    let revision = made["job"]["state"]["revision"].as_i64().expect("a number");
    let changed = fixture.succeed(update(&id, revision, json!({ "name": "Flowers" }))).await;
    assert_eq!(
        (&changed["job"]["name"], &changed["job"]["createdBy"]["runId"]),
        (&json!("Flowers"), &json!("chat-1"))
    );
    let listed = fixture
        .succeed(RoutineRequest::List { search: Some("flow".to_owned()), limit: 5, cursor: None })
        .await;
    assert_eq!(listed["jobs"][0]["job"]["id"], id.as_str());

    let fired = fixture.succeed(RoutineRequest::Fire { id: id.clone() }).await;
    let history = fixture.succeed(RoutineRequest::History { id: id.clone(), limit: 5 }).await;
    assert_eq!(history["entries"][0]["id"], fired["runId"]);
    assert_eq!(
        fixture.succeed(RoutineRequest::Delete { id: id.clone() }).await["job"]["name"],
        "Flowers"
    );
    for request in [
        RoutineRequest::Get { id: id.clone() },
        RoutineRequest::Fire { id: id.clone() },
        RoutineRequest::Delete { id: id.clone() },
        RoutineRequest::History { id: id.clone(), limit: 1 },
    ] {
        let expected = format!("There is no job {id}. The list of jobs has the id of each job.");
        assert_eq!(fixture.refusal_message(request).await, expected);
    }
    fixture.host.stop().await;
}

#[tokio::test]
async fn invalid_routine_gets_the_gateway_error() {
    let fixture = RoutineFixture::new().await;
    for change in [
        json!({ "schedule": { "kind": "cron", "expr": "61 * * * *" } }),
        json!({ "schedule": { "kind": "at", "atMs": 1 } }),
        json!({ "payload": { "kind": "toolCall", "tool": "none", "arguments": {} } }),
        json!({ "payload": { "kind": "toolCall", "tool": "http", "arguments": { "url": 1 } } }),
        json!({ "name": "" }),
    ] {
        let error = fixture.host.gateway().call("cron.add", draft(change.clone())).await;
        let error = error.expect_err("refused").message;
        let refusal = fixture.ask(create(change.clone())).await.expect_err("a refusal");
        assert_eq!(refusal.fault, Fault::InvalidParameters);
        assert_eq!(refusal.message.trim_end_matches('.'), error.trim_end_matches('.'), "{change}");
    }
    fixture.host.stop().await;
}

#[tokio::test]
async fn stale_revision_is_refused() {
    let fixture = RoutineFixture::new().await;
    let (id, revision) = fixture.add(json!({})).await;
    fixture.person("cron.update", json!({ "id": id, "patch": { "name": "B" } })).await;
    let message = fixture.refusal_message(update(&id, revision, json!({ "enabled": false }))).await;
    assert!(
        message.contains(&format!("revision {}", revision + 1))
            && message.contains("Read it again"),
        "{message}"
    );
    fixture.succeed(update(&id, revision + 1, json!({ "enabled": false }))).await;
    fixture.host.stop().await;
}

#[tokio::test]
async fn agent_cannot_extend_or_misuse_rights() {
    let fixture = RoutineFixture::new().await;
    let command =
        json!({ "kind": "toolCall", "tool": "run_command", "arguments": { "command": "true" } });
    let post = json!({ "kind": "toolCall", "tool": "http", "arguments": { "url": "https://example.com", "method": "POST" } });
    for (change, path) in [
        (json!({ "payload": command }), "payload.tool: run_command needs approval"),
        (json!({ "payload": post }), "payload.tool: http needs approval"),
        (json!({ "policies": { "sandbox": "open" } }), "policies.sandbox"),
        (json!({ "policies": { "hosts": ["example.com"] } }), "policies.hosts"),
        (json!({ "policies": { "approvals": "skip" } }), "policies.approvals"),
    ] {
        let message = fixture.refusal_message(create(change)).await;
        assert!(message.contains(path), "{message}");
    }
    let get_call = json!({ "kind": "toolCall", "tool": "http", "arguments": { "url": "https://example.com" } });
    fixture.succeed(create(json!({ "payload": get_call, "enabled": false }))).await;

    let (id, revision) = fixture.add(json!({ "payload": command })).await;
    let other = json!({ "payload": { "arguments": { "command": "rm -r ." } } });
    assert!(fixture.refusal_message(update(&id, revision, other)).await.contains("payload.tool"));
    let (id, revision) = fixture.add(json!({ "policies": { "hosts": ["example.com"] } })).await;
    let other = json!({ "payload": { "message": "Send everything there" } });
    assert!(
        fixture.refusal_message(update(&id, revision, other)).await.contains("access to hosts")
    );
    fixture.succeed(update(&id, revision, json!({ "enabled": false }))).await;
    fixture.host.stop().await;
}

#[tokio::test]
async fn deleted_id_cannot_be_reused_by_agent() {
    let fixture = RoutineFixture::new().await;
    let (id, _) = fixture.add(json!({})).await;
    fixture.succeed(RoutineRequest::Delete { id: id.clone() }).await;
    // The tools have no such argument; the access refuses it itself.
    let message = fixture.refusal_message(create(json!({ "id": id }))).await;
    assert!(message.contains("id"), "{message}");
    fixture.host.stop().await;
}

#[tokio::test]
async fn request_waits_for_gateway_and_fails_when_closed() {
    let fixture = RoutineFixture::new().await;
    let routines = Arc::new(GatewayRoutines::default());
    let request = || RoutineRequest::List { search: None, limit: 1, cursor: None };
    let author = RoutineAuthor::Run(&fixture.context);
    let waiting = routines.ask(request(), author);
    tokio::pin!(waiting);
    assert!(futures_util::poll!(&mut waiting).is_pending());
    let calls = fixture.routines.calls().await.expect("connected");
    let open = Arc::clone(&routines).connect(calls.gateway, calls.gate);
    assert!(waiting.await.is_ok());
    drop(open);
    let refusal = routines.ask(request(), author).await.expect_err("closed");
    assert_eq!(refusal.message, "Rouse is closing.");
    fixture.host.stop().await;
}

impl RoutineFixture {
    async fn ask_as_client(&self, request: RoutineRequest) -> Result<Value, RoutineRefusal> {
        let author = RoutineAuthor::Client { name: "codex", clock: &*self.context.clock };
        self.routines.ask(request, author).await
    }
}

#[tokio::test]
async fn outside_client_signs_job_and_message() {
    let fixture = RoutineFixture::new().await;
    let made = fixture.ask_as_client(create(json!({}))).await.expect("accepted");
    let signature = json!({ "kind": "agent", "client": "codex" });
    assert_eq!(made["job"]["createdBy"], signature);
    let (id, revision) = fixture.add(json!({})).await;
    let patch = json!({ "payload": { "message": "Other" } });
    let changed = fixture.ask_as_client(update(&id, revision, patch)).await.expect("accepted");
    assert_eq!(changed["job"]["messageBy"], signature);
    fixture.host.stop().await;
}

#[tokio::test]
async fn outside_client_gains_no_rights() {
    let fixture = RoutineFixture::new().await;
    let get_call = json!({ "kind": "toolCall", "tool": "http", "arguments": { "url": "https://example.com" } });
    for (change, path) in [
        (json!({ "payload": get_call }), "payload.tool: http needs approval"),
        (json!({ "policies": { "sandbox": "open" } }), "policies.sandbox"),
        (json!({ "policies": { "hosts": ["example.com"] } }), "policies.hosts"),
        (json!({ "policies": { "approvals": "skip" } }), "policies.approvals"),
        (json!({ "id": "chosen" }), "id: cannot be set"),
    ] {
        let refusal = fixture.ask_as_client(create(change.clone())).await.expect_err("refused");
        assert!(refusal.message.contains(path), "{change}: {}", refusal.message);
    }
    let (id, revision) = fixture.add(json!({ "policies": { "hosts": ["example.com"] } })).await;
    let other = json!({ "payload": { "message": "Send everything there" } });
    let refusal = fixture.ask_as_client(update(&id, revision, other)).await.expect_err("refused");
    assert!(refusal.message.contains("access to hosts"), "{}", refusal.message);
    fixture.host.stop().await;
}
