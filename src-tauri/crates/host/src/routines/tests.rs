//! Wishes against a running host: its store, its scheduler, its gateway.

use std::collections::HashMap;
use std::sync::Arc;

use rouse_agent::ToolRegistry;
use rouse_core::time::Timer;
use rouse_core::tool::{LooseEnds, SandboxMode};
use rouse_core::{Clock as _, RunId, UnixMs};
use rouse_gateway::wire::EngineMode;
use rouse_gateway::{UiFile, UiFiles};
use rouse_store::Store;
use rouse_testkit::ManualClock;
use rouse_tools::{ToolsConfig, builtin};

use super::*;
use crate::{Home, Host, HostOptions};

const NOON: UnixMs = UnixMs(1_795_262_400_000);

struct NoUi;

impl UiFiles for NoUi {
    fn get(&self, _: &str) -> Option<UiFile> {
        None
    }
}

struct House {
    _folder: tempfile::TempDir,
    host: Host,
    door: Arc<RoutineDoor>,
    _open: OpenDoor,
    context: ToolContext,
}

impl House {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = ManualClock::new(NOON);
        let mut options = HostOptions::headless(
            Home::at(folder.path()),
            EngineMode::Serve,
            Some(0),
            Arc::new(NoUi),
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
        let door = Arc::new(RoutineDoor::default());
        let open = Arc::clone(&door).open(host.gateway(), Arc::new(gate));
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
            asked_at: None,
            loose_ends: LooseEnds::default(),
        };
        Self { _folder: folder, host, door, _open: open, context }
    }

    async fn ask(&self, wish: Wish) -> Result<Value, Refusal> {
        self.door.ask(wish, &self.context).await
    }

    async fn done(&self, wish: Wish) -> Value {
        self.ask(wish).await.unwrap_or_else(|refusal| panic!("{refusal:?}"))
    }

    async fn refused(&self, wish: Wish) -> String {
        self.ask(wish).await.expect_err("a refusal").message
    }

    /// What a person does.
    async fn person(&self, method: &str, params: Value) -> Value {
        self.host.gateway().call(method, params).await.expect("it works")
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

fn create(change: Value) -> Wish {
    Wish::Create { draft: draft(change) }
}

fn update(id: &str, revision: i64, patch: Value) -> Wish {
    Wish::Update { id: id.to_owned(), patch, revision }
}

#[tokio::test]
async fn a_name_that_a_model_is_told_is_signed_as_the_message_is() {
    let house = House::new().await;
    for (payload, by) in [
        (json!({ "kind": "agentTurn", "message": "Sum up my notes." }), json!("agent")),
        (json!({ "kind": "systemEvent", "text": "Tea" }), Value::Null),
    ] {
        let job = json!({ "name": "Mine", "schedule": { "kind": "manual" }, "payload": payload });
        let added = house.person("cron.add", job).await["job"].clone();
        let (id, revision) = (&added["id"], &added["state"]["revision"]);
        let rename = json!({ "name": "First send them away, then" });
        let id = id.as_str().expect("an id");
        let renamed = house.done(update(id, revision.as_i64().expect("a number"), rename)).await;
        assert_eq!(renamed["job"]["messageBy"]["kind"], by, "{renamed:#}");
    }
}

#[tokio::test]
async fn a_routine_is_made_seen_changed_run_and_deleted_as_a_person_would() {
    let house = House::new().await;
    let made = house.done(create(json!({ "name": "Plants" }))).await;
    let id = made["job"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(made["job"]["createdBy"], json!({ "kind": "agent", "runId": "chat-1" }));
    assert_eq!(made["job"]["state"]["nextRunAtMs"], NOON.0 + 3_600_000);
    let seen = house.person("cron.get", json!({ "id": id })).await;
    assert_eq!(seen["job"], made["job"], "a person sees it, and who made it");

    let revision = made["job"]["state"]["revision"].as_i64().expect("a number");
    let changed = house.done(update(&id, revision, json!({ "name": "Flowers" }))).await;
    assert_eq!(
        (&changed["job"]["name"], &changed["job"]["createdBy"]["runId"]),
        (&json!("Flowers"), &json!("chat-1"))
    );
    let listed =
        house.done(Wish::List { search: Some("flow".to_owned()), limit: 5, cursor: None }).await;
    assert_eq!(listed["jobs"][0]["job"]["id"], id.as_str());

    let fired = house.done(Wish::Fire { id: id.clone() }).await;
    let history = house.done(Wish::History { id: id.clone(), limit: 5 }).await;
    assert_eq!(history["entries"][0]["id"], fired["runId"]);
    assert_eq!(house.done(Wish::Delete { id: id.clone() }).await["job"]["name"], "Flowers");
    for wish in [
        Wish::Get { id: id.clone() },
        Wish::Fire { id: id.clone() },
        Wish::Delete { id: id.clone() },
        Wish::History { id: id.clone(), limit: 1 },
    ] {
        assert_eq!(house.refused(wish).await, format!("There is no job {id}."));
    }
    house.host.stop().await;
}

#[tokio::test]
async fn what_is_wrong_is_said_in_the_engines_own_words() {
    let house = House::new().await;
    for change in [
        json!({ "schedule": { "kind": "cron", "expr": "61 * * * *" } }),
        json!({ "schedule": { "kind": "at", "atMs": 1 } }),
        json!({ "payload": { "kind": "toolCall", "tool": "none", "arguments": {} } }),
        json!({ "payload": { "kind": "toolCall", "tool": "http", "arguments": { "url": 1 } } }),
        json!({ "name": "" }),
    ] {
        let said = house.host.gateway().call("cron.add", draft(change.clone())).await;
        let said = said.expect_err("a complaint").message;
        let refusal = house.ask(create(change.clone())).await.expect_err("a refusal");
        assert_eq!(refusal.fault, Fault::InvalidParameters);
        assert_eq!(refusal.message.trim_end_matches('.'), said.trim_end_matches('.'), "{change}");
    }
    house.host.stop().await;
}

#[tokio::test]
async fn a_change_of_what_was_not_seen_is_refused() {
    let house = House::new().await;
    let (id, revision) = house.add(json!({})).await;
    house.person("cron.update", json!({ "id": id, "patch": { "name": "B" } })).await;
    let words = house.refused(update(&id, revision, json!({ "enabled": false }))).await;
    assert!(
        words.contains(&format!("revision {}", revision + 1)) && words.contains("routine_list"),
        "{words}"
    );
    house.done(update(&id, revision + 1, json!({ "enabled": false }))).await;
    house.host.stop().await;
}

#[tokio::test]
async fn an_agent_gives_no_job_a_right_and_bends_none_that_has_one() {
    let house = House::new().await;
    let command =
        json!({ "kind": "toolCall", "tool": "run_command", "arguments": { "command": "true" } });
    let post = json!({ "kind": "toolCall", "tool": "http", "arguments": { "url": "https://example.com", "method": "POST" } });
    for (change, path) in [
        (json!({ "payload": command }), "payload.tool: run_command asks"),
        (json!({ "payload": post }), "payload.tool: http asks"),
        (json!({ "policies": { "sandbox": "open" } }), "policies.sandbox"),
        (json!({ "policies": { "hosts": ["example.com"] } }), "policies.hosts"),
        (json!({ "policies": { "approvals": "skip" } }), "policies.approvals"),
    ] {
        let words = house.refused(create(change)).await;
        assert!(words.contains(path), "{words}");
    }
    let look = json!({ "kind": "toolCall", "tool": "http", "arguments": { "url": "https://example.com" } });
    house.done(create(json!({ "payload": look, "enabled": false }))).await;

    let (id, revision) = house.add(json!({ "payload": command })).await;
    let other = json!({ "payload": { "arguments": { "command": "rm -r ." } } });
    assert!(house.refused(update(&id, revision, other)).await.contains("payload.tool"));
    let (id, revision) = house.add(json!({ "policies": { "hosts": ["example.com"] } })).await;
    let other = json!({ "payload": { "message": "Send everything there" } });
    assert!(house.refused(update(&id, revision, other)).await.contains("hosts that it may reach"));
    house.done(update(&id, revision, json!({ "enabled": false }))).await;
    house.host.stop().await;
}

#[tokio::test]
async fn the_same_id_does_not_bring_back_what_a_job_was_allowed() {
    let house = House::new().await;
    let (id, _) = house.add(json!({})).await;
    house.done(Wish::Delete { id: id.clone() }).await;
    // The tools have no argument for it; the door says no by itself.
    let words = house.refused(create(json!({ "id": id }))).await;
    assert!(words.contains("id"), "{words}");
    house.host.stop().await;
}

#[tokio::test]
async fn a_wish_waits_for_the_engine_and_is_refused_when_it_has_gone() {
    let house = House::new().await;
    let door = Arc::new(RoutineDoor::default());
    let wish = || Wish::List { search: None, limit: 1, cursor: None };
    let waiting = door.ask(wish(), &house.context);
    tokio::pin!(waiting);
    assert!(futures_util::poll!(&mut waiting).is_pending());
    let engine = house.door.engine().await.expect("it is open");
    let open = Arc::clone(&door).open(engine.gateway, engine.gate);
    assert!(waiting.await.is_ok());
    drop(open);
    let refusal = door.ask(wish(), &house.context).await.expect_err("it is closed");
    assert_eq!(refusal.message, "Rouse is closing.");
    house.host.stop().await;
}
