//! The shared fixture: a host over a temporary data directory, with a manual clock and a scripted model.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rouse_agent::{ChosenModel, Hook};
use rouse_core::delivery::Delivery;
use rouse_core::time::Timer;
use rouse_core::tool::BoxFuture;
use rouse_core::{DeliveryId, UnixMs};
use rouse_gateway::wire::EngineMode;
use rouse_gateway::{RpcError, Subscription, UiFile, UiFiles};
use rouse_host::{Home, Host, HostOptions, Notifier, NotifyError};
use rouse_testkit::scripted_model::Scripted;
use rouse_testkit::{ManualClock, Recorder, ScriptedModel};
use serde_json::{Value, json};

/// Saturday, 21 November 2026, 12:00 UTC.
pub(crate) const NOON: i64 = 1_795_262_400_000;
pub(crate) const MINUTE: u64 = 60_000;
pub(crate) const HOUR: u64 = 60 * MINUTE;
pub(crate) const DAY: u64 = 24 * HOUR;

/// A running host.
pub(crate) struct TestEngine {
    pub(crate) host: Host,
    pub(crate) clock: ManualClock,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) notifier: Arc<RecordingNotifier>,
}

/// The options of a `TestEngine`.
pub(crate) struct EngineBuilder<'a> {
    folder: &'a Path,
    clock: ManualClock,
    context_tokens: Option<u32>,
    script: Option<Vec<Scripted>>,
    env: HashMap<String, String>,
    hooks: Vec<Arc<dyn Hook>>,
    notifier: Arc<RecordingNotifier>,
    has_screen: bool,
}

impl<'a> EngineBuilder<'a> {
    pub(crate) fn new(folder: &'a Path) -> Self {
        let clock = ManualClock::new(UnixMs(NOON));
        let notifier = Arc::default();
        Self {
            folder,
            clock,
            script: None,
            context_tokens: None,
            env: HashMap::new(),
            hooks: Vec::new(),
            notifier,
            has_screen: true,
        }
    }

    /// Continues on the clock of an earlier engine.
    pub(crate) fn clock(mut self, clock: &ManualClock) -> Self {
        self.clock = clock.clone();
        self
    }

    pub(crate) fn model(mut self, script: impl IntoIterator<Item = Scripted>) -> Self {
        self.script = Some(script.into_iter().collect());
        self
    }

    pub(crate) fn context_tokens(mut self, tokens: u32) -> Self {
        self.context_tokens = Some(tokens);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Adds an in-process hook.
    #[cfg_attr(windows, expect(dead_code, reason = "hook tests run Unix commands"))]
    pub(crate) fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.push(hook);
        self
    }

    pub(crate) fn notifier(mut self, notifier: Arc<RecordingNotifier>) -> Self {
        self.notifier = notifier;
        self
    }

    /// Runs without a notifier, like `rouse serve`: an attached app shows notifications.
    pub(crate) fn without_screen(mut self) -> Self {
        self.has_screen = false;
        self
    }

    pub(crate) async fn build(self) -> TestEngine {
        let model = ScriptedModel::new(self.script.clone().unwrap_or_default());
        let model = match self.context_tokens {
            Some(tokens) => model.reading(tokens),
            None => model,
        };
        let model = Arc::new(model);
        let mut env = self.env;
        for name in ["ROUSE_LOCAL_MODELS", "ROUSE_KEYRING"] {
            env.entry(name.to_owned()).or_insert_with(|| "0".to_owned());
        }
        let clock = self.clock.clone();
        let mut options =
            HostOptions::headless(Home::at(self.folder), EngineMode::Serve, Some(0), no_ui());
        options.clock = Arc::new(self.clock.clone());
        options.timer = Some(Arc::new(move || Box::new(clock.timer()) as Box<dyn Timer>));
        options.env = Arc::new(move |name| env.get(name).cloned());
        options.hooks = self.hooks;
        options.notifier = self.has_screen.then(|| Arc::clone(&self.notifier) as _);
        options.model = self
            .script
            .map(|_| ChosenModel { provider: Arc::clone(&model) as _, model: "scripted-1".into() });
        let host = Host::start(options).await.expect("a host");
        let engine = TestEngine { host, clock: self.clock, model, notifier: self.notifier };
        engine.remove_example_job().await;
        engine
    }
}

impl TestEngine {
    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        self.try_call(method, params).await.unwrap_or_else(|error| panic!("{method}: {error:?}"))
    }

    pub(crate) async fn try_call(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        self.host.gateway().call(method, params).await
    }

    /// Adds a job and returns the id.
    pub(crate) async fn add_job(&self, job: Value) -> String {
        let view = self.call("cron.add", job).await;
        view["job"]["id"].as_str().expect("an id").to_owned()
    }

    pub(crate) fn events(&self) -> Subscription {
        self.host.gateway().events(0)
    }

    /// Starts a run of job `id` by hand.
    pub(crate) async fn start_run(&self, id: &str) {
        self.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    }

    /// Evaluates `condition` at every event until there is a value.
    pub(crate) async fn wait_until<T>(
        &self,
        mut condition: impl AsyncFnMut(&Self) -> Option<T>,
    ) -> T {
        let mut events = self.events();
        loop {
            if let Some(value) = condition(self).await {
                return value;
            }
            events.next().await.expect("the host goes on");
        }
    }

    /// Waits until job `id` has `count` finished runs. Returns the newest first.
    pub(crate) async fn finished_runs(&self, id: &str, count: usize) -> Vec<Value> {
        self.wait_until(async |engine| {
            let runs = engine.runs(id).await;
            let is_finished = |run: &Value| {
                !matches!(run["state"].as_str(), Some("queued" | "running" | "awaitingApproval"))
            };
            (runs.len() >= count && runs.iter().all(is_finished)).then_some(runs)
        })
        .await
    }

    /// The runs of job `id`, newest first.
    pub(crate) async fn runs(&self, id: &str) -> Vec<Value> {
        let page = self.call("cron.runs", json!({ "id": id, "limit": 500 })).await;
        page["entries"].as_array().cloned().unwrap_or_default()
    }

    /// Returns the run of job `id` as soon as one is in `state`.
    pub(crate) async fn wait_for_run(&self, id: &str, state: &str) -> Value {
        self.wait_until(async |engine| {
            engine.runs(id).await.into_iter().find(|run| run["state"] == state)
        })
        .await
    }

    /// Decides an approval with a decision of this kind, such as `once`, and asserts the effect.
    pub(crate) async fn decide(&self, approval: &Value, kind: &str) -> Value {
        let decision =
            json!({ "id": approval["id"], "decision": { "kind": kind }, "from": "page" });
        let decided = self.call("approvals.decide", decision).await;
        assert_eq!(decided["applied"], true, "{decided}");
        decided
    }

    /// The newest pending approval.
    pub(crate) async fn pending_approval(&self) -> Value {
        self.call("approvals.list", json!({})).await["approvals"][0].clone()
    }

    pub(crate) async fn run_detail(&self, run: &Value) -> Value {
        self.call("runs.get", json!({ "id": run["id"] })).await
    }

    /// Waits for a pending wake and passes the coalescing delay.
    pub(crate) async fn coalesce_wakes(&self) {
        let pending = self.wait_until(async |engine| {
            let status = engine.call("heartbeat.status", json!({})).await;
            status["pending"].is_string().then_some(())
        });
        pending.await;
        self.clock.advance(250);
    }

    pub(crate) async fn job(&self, id: &str) -> Value {
        self.call("cron.get", json!({ "id": id })).await["job"].clone()
    }

    /// The example job of the first start would fire in every test.
    async fn remove_example_job(&self) {
        let status = self.call("system.status", json!({})).await;
        if let Some(id) = status["firstStart"]["exampleJobId"].as_str() {
            self.call("cron.remove", json!({ "id": id })).await;
        }
    }
}

/// A notifier that records deliveries.
#[derive(Default)]
pub(crate) struct RecordingNotifier {
    pub(crate) shown: Recorder<Delivery>,
    /// The errors of the next deliveries, in order.
    pub(crate) refuse: Mutex<Vec<NotifyError>>,
}

impl Notifier for RecordingNotifier {
    fn show<'a>(&'a self, delivery: &'a Delivery) -> BoxFuture<'a, Result<(), NotifyError>> {
        Box::pin(async move {
            let mut refuse = self.refuse.lock().expect("BUG: a test panicked");
            if !refuse.is_empty() {
                return Err(refuse.remove(0));
            }
            self.shown.record(delivery.clone());
            Ok(())
        })
    }

    fn withdraw(&self, _: &DeliveryId) {}
}

pub(crate) fn no_ui() -> Arc<dyn UiFiles> {
    Arc::new(EmptyUiFiles)
}

struct EmptyUiFiles;

impl UiFiles for EmptyUiFiles {
    fn get(&self, _: &str) -> Option<UiFile> {
        None
    }
}

/// The tool calls among the steps of a run.
pub(crate) fn tool_calls(detail: &Value) -> Vec<&Value> {
    let steps = detail["steps"].as_array().expect("steps");
    steps.iter().filter(|step| step["kind"] == "toolCall").collect()
}

/// An `echo` job with this schedule.
pub(crate) fn echo_job(schedule: &Value) -> Value {
    json!({
        "name": "Echo",
        "schedule": schedule,
        "payload": { "kind": "toolCall", "tool": "echo", "arguments": { "text": "hello" } }
    })
}

/// A manual agent job.
pub(crate) fn agent_job(message: &str) -> Value {
    json!({
        "name": "Ask",
        "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": message }
    })
}
