//! The engine in this process: a host over a temporary data directory, with a manual clock and a scripted model.

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
use rouse_host::{
    CompilerProgram, Home, Host, HostError, HostOptions, Notifier, NotifyError, ReaderProgram,
};
use rouse_testkit::scripted_model::Scripted;
use rouse_testkit::{ManualClock, Recorder, ScriptedModel};
use serde_json::{Value, json};

/// Saturday, 21 November 2026, 12:00 UTC.
pub const NOON: i64 = 1_795_262_400_000;
/// A minute in milliseconds.
pub const MINUTE: u64 = 60_000;
/// An hour in milliseconds.
pub const HOUR: u64 = 60 * MINUTE;
/// A day in milliseconds.
pub const DAY: u64 = 24 * HOUR;

/// A running host.
pub struct TestEngine {
    /// The engine.
    pub host: Host,
    /// The clock of the engine.
    pub clock: ManualClock,
    /// The only model, if the builder has a script.
    pub model: Arc<ScriptedModel>,
    /// The notifier of the engine, unless it runs without a screen.
    pub notifier: Arc<RecordingNotifier>,
}

/// The options of a `TestEngine`.
pub struct EngineBuilder {
    options: HostOptions,
    clock: ManualClock,
    context_tokens: Option<u32>,
    script: Option<Vec<Scripted>>,
    env: HashMap<String, String>,
    notifier: Arc<RecordingNotifier>,
}

impl EngineBuilder {
    /// An engine over the data directory `folder`, without a model.
    pub fn new(folder: &Path) -> Self {
        let (ui, notifier) = (Arc::new(EmptyUiFiles), Arc::<RecordingNotifier>::default());
        let mut options = HostOptions::headless(Home::at(folder), EngineMode::Serve, Some(0), ui);
        options.notifier = Some(Arc::clone(&notifier) as _);
        let clock = ManualClock::new(UnixMs(NOON));
        let env = HashMap::new();
        Self { options, clock, context_tokens: None, script: None, env, notifier }
    }

    /// Continues on the clock of an earlier engine.
    pub fn clock(mut self, clock: &ManualClock) -> Self {
        self.clock = clock.clone();
        self
    }

    /// Answers model calls with `script`, in order.
    pub fn model(mut self, script: impl IntoIterator<Item = Scripted>) -> Self {
        self.script = Some(script.into_iter().collect());
        self
    }

    /// Uses another model than a scripted one.
    pub fn chosen_model(mut self, model: ChosenModel) -> Self {
        self.options.model = Some(model);
        self
    }

    /// The size of the scripted model's context window.
    pub fn context_tokens(mut self, tokens: u32) -> Self {
        self.context_tokens = Some(tokens);
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Adds an in-process hook.
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.options.hooks.push(hook);
        self
    }

    /// Reads web pages with `reader`.
    pub fn reader(mut self, reader: ReaderProgram) -> Self {
        self.options.reader = reader;
        self
    }

    /// Compiles tools with `compiler`.
    pub fn wasm_compiler(mut self, compiler: CompilerProgram) -> Self {
        self.options.wasm_compiler = compiler;
        self
    }

    /// Listens on the port of the settings.
    pub fn configured_port(mut self) -> Self {
        self.options.port = None;
        self
    }

    /// Shows notifications with `notifier`.
    pub fn notifier(mut self, notifier: Arc<RecordingNotifier>) -> Self {
        self.options.notifier = Some(Arc::clone(&notifier) as _);
        self.notifier = notifier;
        self
    }

    /// Runs without a notifier, like `rouse serve`: an attached app shows notifications.
    pub fn without_screen(mut self) -> Self {
        self.options.notifier = None;
        self
    }

    /// Starts the engine and removes the example job.
    pub async fn build(self) -> TestEngine {
        self.try_build().await.expect("a host")
    }

    /// Starts an engine that may be refused.
    pub async fn try_build(self) -> Result<TestEngine, HostError> {
        let Self { mut options, clock, context_tokens, script, mut env, notifier } = self;
        let is_scripted = script.is_some();
        let model = ScriptedModel::new(script.unwrap_or_default());
        let model = Arc::new(match context_tokens {
            Some(tokens) => model.reading(tokens),
            None => model,
        });
        if is_scripted {
            let model = Arc::clone(&model);
            options.model = Some(ChosenModel { provider: model, model: "scripted-1".into() });
        }
        for name in ["ROUSE_LOCAL_MODELS", "ROUSE_KEYRING"] {
            env.entry(name.to_owned()).or_insert_with(|| "0".to_owned());
        }
        options.env = Arc::new(move |name| env.get(name).cloned());
        options.clock = Arc::new(clock.clone());
        let timers = clock.clone();
        options.timer = Some(Arc::new(move || Box::new(timers.timer()) as Box<dyn Timer>));
        let host = Host::start(options).await?;
        let engine = TestEngine { host, clock, model, notifier };
        engine.remove_example_job().await;
        Ok(engine)
    }
}

impl TestEngine {
    /// Calls a method that succeeds.
    pub async fn call(&self, method: &str, params: Value) -> Value {
        self.try_call(method, params).await.unwrap_or_else(|error| panic!("{method}: {error:?}"))
    }

    /// Calls a method that may be refused.
    pub async fn try_call(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        self.host.gateway().call(method, params).await
    }

    /// Adds a job and returns the id.
    pub async fn add_job(&self, job: Value) -> String {
        let view = self.call("cron.add", job).await;
        view["job"]["id"].as_str().expect("an id").to_owned()
    }

    /// All events, from the first.
    pub fn events(&self) -> Subscription {
        self.host.gateway().events(0)
    }

    /// Starts a run of job `id` by hand.
    pub async fn start_run(&self, id: &str) {
        self.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    }

    /// Evaluates `condition` at every event until there is a value.
    pub async fn wait_until<T>(&self, mut condition: impl AsyncFnMut(&Self) -> Option<T>) -> T {
        let mut events = self.events();
        loop {
            if let Some(value) = condition(self).await {
                return value;
            }
            events.next().await.expect("the host goes on");
        }
    }

    /// Waits until job `id` has `count` finished runs. Returns the newest first.
    pub async fn finished_runs(&self, id: &str, count: usize) -> Vec<Value> {
        self.wait_until(async |engine| {
            let runs = engine.runs(id).await;
            (runs.len() >= count && runs.iter().all(is_finished)).then_some(runs)
        })
        .await
    }

    /// The runs of job `id`, newest first.
    pub async fn runs(&self, id: &str) -> Vec<Value> {
        let page = self.call("cron.runs", json!({ "id": id, "limit": 500 })).await;
        page["entries"].as_array().cloned().unwrap_or_default()
    }

    /// Returns the run of job `id` as soon as one is in `state`.
    pub async fn wait_for_run(&self, id: &str, state: &str) -> Value {
        self.wait_until(async |engine| {
            engine.runs(id).await.into_iter().find(|run| run["state"] == state)
        })
        .await
    }

    /// Decides an approval with a decision of this kind, such as `once`, and asserts the effect.
    pub async fn decide(&self, approval: &Value, kind: &str) -> Value {
        let decision =
            json!({ "id": approval["id"], "decision": { "kind": kind }, "from": "page" });
        let decided = self.call("approvals.decide", decision).await;
        assert_eq!(decided["applied"], true, "{decided}");
        decided
    }

    /// The newest pending approval.
    pub async fn pending_approval(&self) -> Value {
        self.call("approvals.list", json!({})).await["approvals"][0].clone()
    }

    /// The record of a run.
    pub async fn run_detail(&self, run: &Value) -> Value {
        self.call("runs.get", json!({ "id": run["id"] })).await
    }

    /// Waits for a pending wake and passes the coalescing delay.
    pub async fn coalesce_wakes(&self) {
        let pending = self.wait_until(async |engine| {
            let status = engine.call("heartbeat.status", json!({})).await;
            status["pending"].is_string().then_some(())
        });
        pending.await;
        self.clock.advance(250);
    }

    /// The job `id`.
    pub async fn job(&self, id: &str) -> Value {
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
pub struct RecordingNotifier {
    /// The shown deliveries.
    pub shown: Recorder<Delivery>,
    /// The errors of the next deliveries, in order.
    pub refuse: Mutex<Vec<NotifyError>>,
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

struct EmptyUiFiles;

impl UiFiles for EmptyUiFiles {
    fn get(&self, _: &str) -> Option<UiFile> {
        None
    }
}

/// Whether a run is in a final state.
pub fn is_finished(run: &Value) -> bool {
    !matches!(run["state"].as_str(), Some("queued" | "running" | "awaitingApproval"))
}

/// The tool calls among the steps of a run.
pub fn tool_calls(detail: &Value) -> Vec<&Value> {
    let steps = detail["steps"].as_array().expect("steps");
    steps.iter().filter(|step| step["kind"] == "toolCall").collect()
}

/// An `echo` job with this schedule.
pub fn echo_job(schedule: &Value) -> Value {
    json!({
        "name": "Echo",
        "schedule": schedule,
        "payload": { "kind": "toolCall", "tool": "echo", "arguments": { "text": "hello" } }
    })
}

/// A manual agent job.
pub fn agent_job(message: &str) -> Value {
    json!({
        "name": "Ask",
        "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": message }
    })
}
