//! A host over a folder of its own, and the ways to look at it.

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
pub(crate) struct House {
    pub(crate) host: Host,
    pub(crate) clock: ManualClock,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) notifier: Arc<Recording>,
}

/// What a house is built from.
pub(crate) struct Plan<'a> {
    folder: &'a Path,
    clock: ManualClock,
    context_tokens: Option<u32>,
    script: Option<Vec<Scripted>>,
    env: HashMap<String, String>,
    hooks: Vec<Arc<dyn Hook>>,
    notifier: Arc<Recording>,
    has_screen: bool,
}

impl<'a> Plan<'a> {
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

    /// The same clock as an earlier house, to go on in time.
    pub(crate) fn clock(mut self, clock: &ManualClock) -> Self {
        self.clock = clock.clone();
        self
    }

    pub(crate) fn model(mut self, script: impl IntoIterator<Item = Scripted>) -> Self {
        self.script = Some(script.into_iter().collect());
        self
    }

    /// The model reads at most so many tokens at once.
    pub(crate) fn reading(mut self, tokens: u32) -> Self {
        self.context_tokens = Some(tokens);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// A hook in this process.
    #[cfg_attr(windows, expect(dead_code, reason = "the tests of hooks run commands of Unix"))]
    pub(crate) fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.push(hook);
        self
    }

    pub(crate) fn notifier(mut self, notifier: Arc<Recording>) -> Self {
        self.notifier = notifier;
        self
    }

    /// As `rouse serve` runs: notifications are shown by who is attached.
    pub(crate) fn without_screen(mut self) -> Self {
        self.has_screen = false;
        self
    }

    pub(crate) async fn build(self) -> House {
        let model = ScriptedModel::new(self.script.clone().unwrap_or_default());
        let model = match self.context_tokens {
            Some(tokens) => model.reading(tokens),
            None => model,
        };
        let model = Arc::new(model);
        let mut env = self.env;
        for off in ["ROUSE_LOCAL_MODELS", "ROUSE_KEYRING"] {
            env.entry(off.to_owned()).or_insert_with(|| "0".to_owned());
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
        let house = House { host, clock: self.clock, model, notifier: self.notifier };
        house.drop_example().await;
        house
    }
}

impl House {
    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        self.try_call(method, params).await.unwrap_or_else(|error| panic!("{method}: {error:?}"))
    }

    pub(crate) async fn try_call(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        self.host.gateway().call(method, params).await
    }

    /// Adds a job; answers its id.
    pub(crate) async fn add(&self, job: Value) -> String {
        let view = self.call("cron.add", job).await;
        view["job"]["id"].as_str().expect("an id").to_owned()
    }

    pub(crate) fn events(&self) -> Subscription {
        self.host.gateway().events(0)
    }

    /// Waits until `look` finds what it looks for; looks again at every event.
    pub(crate) async fn until<T>(&self, mut look: impl AsyncFnMut(&Self) -> Option<T>) -> T {
        let mut events = self.events();
        loop {
            if let Some(found) = look(self).await {
                return found;
            }
            events.next().await.expect("the host goes on");
        }
    }

    /// Waits until job `id` has `count` runs that are over; answers them, newest first.
    pub(crate) async fn ended(&self, id: &str, count: usize) -> Vec<Value> {
        self.until(async |house| {
            let runs = house.runs(id).await;
            let over = |run: &Value| {
                !matches!(run["state"].as_str(), Some("queued" | "running" | "awaitingApproval"))
            };
            (runs.len() >= count && runs.iter().all(over)).then_some(runs)
        })
        .await
    }

    /// The runs of job `id`, newest first.
    pub(crate) async fn runs(&self, id: &str) -> Vec<Value> {
        let answer = self.call("cron.runs", json!({ "id": id, "limit": 500 })).await;
        answer["entries"].as_array().cloned().unwrap_or_default()
    }

    /// Waits until job `id` has a run in `state`; answers it.
    pub(crate) async fn run_in(&self, id: &str, state: &str) -> Value {
        self.until(async |house| house.runs(id).await.into_iter().find(|run| run["state"] == state))
            .await
    }

    /// Answers a question; `says` is a kind of answer such as `once`. It must count.
    pub(crate) async fn answer(&self, question: &Value, says: &str) -> Value {
        let answer = json!({ "id": question["id"], "answer": { "kind": says }, "from": "page" });
        let decided = self.call("approvals.decide", answer).await;
        assert_eq!(decided["counts"], true, "{decided}");
        decided
    }

    /// The newest question that is open.
    pub(crate) async fn question(&self) -> Value {
        self.call("approvals.list", json!({})).await["approvals"][0].clone()
    }

    pub(crate) async fn detail(&self, run: &Value) -> Value {
        self.call("runs.get", json!({ "id": run["id"] })).await
    }

    /// Lets the moment pass in which several wakes become one.
    pub(crate) async fn gather(&self) {
        let pending = self.until(async |house| {
            let status = house.call("heartbeat.status", json!({})).await;
            status["pending"].is_string().then_some(())
        });
        pending.await;
        self.clock.advance(250);
    }

    pub(crate) async fn job(&self, id: &str) -> Value {
        self.call("cron.get", json!({ "id": id })).await["job"].clone()
    }

    /// The example of the first start would fire into every test.
    async fn drop_example(&self) {
        let status = self.call("system.status", json!({})).await;
        if let Some(id) = status["firstStart"]["exampleJobId"].as_str() {
            self.call("cron.remove", json!({ "id": id })).await;
        }
    }
}

/// A notifier that shows nothing and remembers everything.
#[derive(Default)]
pub(crate) struct Recording {
    pub(crate) shown: Recorder<Delivery>,
    /// Refusals still to come, first to last.
    pub(crate) refuse: Mutex<Vec<NotifyError>>,
}

impl Notifier for Recording {
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

/// No files: these tests have no page.
pub(crate) fn no_ui() -> Arc<dyn UiFiles> {
    Arc::new(NoUi)
}

struct NoUi;

impl UiFiles for NoUi {
    fn get(&self, _: &str) -> Option<UiFile> {
        None
    }
}

/// The calls of tools among the steps of a run.
pub(crate) fn of_calls(detail: &Value) -> Vec<&Value> {
    let steps = detail["steps"].as_array().expect("steps");
    steps.iter().filter(|step| step["kind"] == "toolCall").collect()
}

/// An `echo` job with this schedule.
pub(crate) fn echo(schedule: &Value) -> Value {
    json!({
        "name": "Echo",
        "schedule": schedule,
        "payload": { "kind": "toolCall", "tool": "echo", "arguments": { "text": "hello" } }
    })
}

/// An agent's job that fires only by hand.
pub(crate) fn ask(message: &str) -> Value {
    json!({
        "name": "Ask",
        "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": message }
    })
}
