//! A scheduler with scripted ports, and helpers for the tests.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rouse_core::channel::SharedDirectory;
use rouse_core::event::Event;
use rouse_core::job::{Job, job_from_json};
use rouse_core::time::Clock as _;
use rouse_core::tool::BoxFuture;
use rouse_core::{JobId, Outcome, Run, RunId, RunState, UnixMs};
use rouse_scheduler::{
    ChatMessage, HeartbeatConfig, MainSession, Runner, Scheduler, SchedulerConfig, SchedulerHandle,
    WebhookRequest,
};
use rouse_store::{RunQuery, Store};
use rouse_testkit::{ManualClock, Recorder};
use serde_json::{Value, json};
use sqlx::SqlitePool;
use tempfile::TempDir;
use tokio::sync::{Notify, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// Monday, 2026-01-05T00:00:00Z.
pub(crate) const START: UnixMs = UnixMs(1_767_571_200_000);
pub(crate) const SECOND: i64 = 1_000;
pub(crate) const MINUTE: i64 = 60 * SECOND;
pub(crate) const HOUR: i64 = 60 * MINUTE;

/// A started run with an end decided by the test.
pub(crate) struct ScriptedRun {
    pub(crate) run: Run,
    pub(crate) job: Option<Job>,
    pub(crate) cancel: CancellationToken,
    end: oneshot::Sender<Option<Outcome>>,
}

impl ScriptedRun {
    pub(crate) fn end(self, outcome: Outcome) {
        assert!(self.end.send(Some(outcome)).is_ok(), "the run was aborted");
    }

    /// As `end`, for a run that may have been aborted.
    pub(crate) fn try_end(self, outcome: Outcome) {
        drop(self.end.send(Some(outcome)));
    }

    pub(crate) fn succeed(self) {
        self.end(Outcome::succeeded("Done."));
    }

    pub(crate) fn panic(self) {
        assert!(self.end.send(None).is_ok(), "the run was aborted");
    }

    /// Waits until the run is aborted.
    pub(crate) async fn aborted(&mut self) {
        self.end.closed().await;
    }
}

#[derive(Clone)]
struct ScriptedRunner(Recorder<ScriptedRun>);

impl Runner for ScriptedRunner {
    fn run(
        &self,
        run: Run,
        job: Option<Job>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Outcome> {
        let (end, reported) = oneshot::channel();
        self.0.record(ScriptedRun { run, job, cancel, end });
        Box::pin(async move {
            match reported.await {
                Ok(Some(outcome)) => outcome,
                Ok(None) => panic!("a fault in the runner"),
                Err(_) => std::future::pending().await,
            }
        })
    }
}

#[derive(Default)]
pub(crate) struct ScriptedMainSession {
    pub(crate) has_work: AtomicBool,
}

impl MainSession for ScriptedMainSession {
    fn has_work(&self) -> BoxFuture<'_, bool> {
        let has_work = self.has_work.load(Ordering::SeqCst);
        Box::pin(async move { has_work })
    }
}

pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) clock: ManualClock,
    pub(crate) store: Store,
    pub(crate) events: Recorder<Event>,
    pub(crate) begun: Recorder<ScriptedRun>,
    pub(crate) main: Arc<ScriptedMainSession>,
    pub(crate) model: watch::Sender<bool>,
    pub(crate) outbox: Arc<Notify>,
    pub(crate) config: SchedulerConfig,
    pub(crate) handle: SchedulerHandle,
    /// The duration of each write, in milliseconds of the clock.
    pub(crate) disk_delay: Arc<AtomicU64>,
}

pub(crate) fn config() -> SchedulerConfig {
    SchedulerConfig {
        max_concurrent_runs: 4,
        firing: true,
        off_reason: String::new(),
        model_patience: Duration::from_secs(900),
        heartbeat: HeartbeatConfig { enabled: false, every_ms: 30 * MINUTE, active_hours: None },
    }
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(config(), false).await
    }

    /// With this concurrency limit.
    pub(crate) async fn with_permits(max_concurrent_runs: usize) -> Self {
        Self::with(SchedulerConfig { max_concurrent_runs, ..config() }, false).await
    }

    pub(crate) async fn with(config: SchedulerConfig, has_model: bool) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = ManualClock::new(START);
        let events = Recorder::new();
        let disk_delay = Arc::default();
        let store = open(&folder, &events, &clock, &disk_delay).await;
        let (begun, main, outbox) = (Recorder::new(), Arc::default(), Arc::default());
        let model = watch::Sender::new(has_model);
        let handle = start(&store, &clock, &begun, &main, &model, &outbox, &config).await;
        Self {
            folder,
            clock,
            store,
            events,
            begun,
            main,
            model,
            outbox,
            config,
            handle,
            disk_delay,
        }
    }

    /// Kills the process and starts another after `ms` milliseconds.
    pub(crate) async fn killed_for(self, ms: i64) -> Self {
        self.killed_and(ms, async |_| {}).await
    }

    /// As `killed_for`, with a change of the file in between.
    pub(crate) async fn killed_and(self, ms: i64, meanwhile: impl AsyncFnOnce(&Path)) -> Self {
        // Active runs end with the old handle, without an outcome.
        drop(self.begun.take_all());
        drop(self.handle);
        let (events, begun) = (Recorder::new(), Recorder::new());
        // Before time passes, so that the old engine does nothing.
        self.store.close().await;
        self.clock.advance(ms.unsigned_abs());
        meanwhile(&self.folder.path().join("rouse.db")).await;
        let store = open(&self.folder, &events, &self.clock, &self.disk_delay).await;
        let handle =
            start(&store, &self.clock, &begun, &self.main, &self.model, &self.outbox, &self.config)
                .await;
        Self { store, events, begun, handle, ..self }
    }

    pub(crate) fn database(&self) -> std::path::PathBuf {
        self.folder.path().join("rouse.db")
    }

    /// Lets time pass and waits for the scheduler.
    pub(crate) async fn pass(&self, ms: i64) {
        self.clock.advance(ms.unsigned_abs());
        self.settle().await;
    }

    pub(crate) fn now(&self) -> UnixMs {
        self.clock.now()
    }

    /// Waits until the scheduler has caught up with clock and requests.
    pub(crate) async fn settle(&self) {
        self.handle.status().await.expect("a status");
    }

    pub(crate) async fn add(&self, document: Value) -> Job {
        self.handle.add_job(self.job(document)).await.expect("saved")
    }

    /// Adds a webhook job, whose runs count toward the limit of scheduled runs.
    pub(crate) async fn add_hook(&self, id: &str) -> Job {
        let schedule = json!({ "kind": "webhook" });
        self.add(every(SECOND, json!({ "id": id, "name": id, "schedule": schedule }))).await
    }

    /// Fires a webhook job.
    pub(crate) async fn fire(&self, job: &Job) {
        let call = WebhookRequest { job_id: job.id.clone(), body: String::new(), key: None };
        self.handle.call_webhook(call).await.expect("fired");
    }

    pub(crate) fn job(&self, document: Value) -> Job {
        job_from_json(document, self.clock.now(), self.clock.zones()).expect("a job")
    }

    pub(crate) async fn stored(&self, job: &Job) -> Job {
        self.store.job(&job.id).await.expect("read").expect("there")
    }

    pub(crate) async fn run(&self, id: &RunId) -> Run {
        self.store.run(id).await.expect("read").expect("there")
    }

    /// All runs of a job, the oldest first.
    pub(crate) async fn runs_of(&self, job: &JobId) -> Vec<Run> {
        let query = RunQuery { job_id: Some(job.clone()), limit: 500, ..RunQuery::default() };
        let mut runs = self.store.runs(&query).await.expect("read").runs;
        runs.reverse();
        runs
    }

    pub(crate) async fn states_of(&self, job: &Job) -> Vec<RunState> {
        self.runs_of(&job.id).await.iter().map(|run| run.state).collect()
    }

    /// Waits for the end of the run, and returns the run.
    pub(crate) async fn ended(&self, id: &RunId) -> Run {
        let is_end = |event: &Event| {
            let state = event.data["state"].as_str().and_then(RunState::from_name);
            event.data["runId"] == id.as_str() && state.is_some_and(RunState::is_final)
        };
        let run = self.run(id).await;
        if run.state.is_final() {
            return run;
        }
        self.events.next_where(is_end).await;
        self.run(id).await
    }

    /// Waits until the run is in a backoff, and returns the run.
    pub(crate) async fn between_attempts(&self, id: &RunId) -> Run {
        loop {
            let run = self.run(id).await;
            if run.next_attempt_at.is_some() {
                return run;
            }
            self.events.next_where(|event| event.data["runId"] == id.as_str()).await;
        }
    }

    /// Waits until the run is in a backoff or has ended, and returns the run.
    pub(crate) async fn waits_or_over(&self, id: &RunId) -> Run {
        loop {
            let run = self.run(id).await;
            if run.next_attempt_at.is_some() || run.state.is_final() {
                return run;
            }
            self.events.next_where(|event| event.data["runId"] == id.as_str()).await;
        }
    }

    /// Waits until the run is parked.
    pub(crate) async fn parked(&self, id: &RunId) {
        if self.run(id).await.state != RunState::AwaitingApproval {
            let name = RunState::AwaitingApproval.name();
            let is_parked =
                |event: &Event| event.data["runId"] == id.as_str() && event.data["state"] == name;
            self.events.next_where(is_parked).await;
        }
        // When the engine answers, the permit is free.
        self.settle().await;
    }

    /// (active, queued).
    pub(crate) async fn load(&self) -> (u32, u32) {
        let status = self.handle.status().await.expect("a status");
        (status.running, status.queued)
    }
}

/// A tool call every `every_ms` from the start on, with more keys.
pub(crate) fn every(every_ms: i64, more: Value) -> Value {
    let mut document = json!({
        "id": format!("every-{every_ms}"),
        "name": "Look",
        "schedule": { "kind": "every", "everyMs": every_ms, "anchorMs": START.0 },
        "payload": { "kind": "toolCall", "tool": "echo" },
    });
    merge(&mut document, more);
    document
}

/// A tool call once.
pub(crate) fn once(at: UnixMs, more: Value) -> Value {
    let schedule = json!({ "kind": "at", "atMs": at.0 });
    let mut document = every(SECOND, json!({ "id": "once" }));
    document["schedule"] = schedule;
    merge(&mut document, more);
    document
}

fn merge(document: &mut Value, more: Value) {
    let Value::Object(more) = more else { return };
    document.as_object_mut().expect("an object").extend(more);
}

/// Opens the file of a store for changes that no engine makes.
pub(crate) async fn opened(path: &Path) -> SqlitePool {
    SqlitePool::connect(&format!("sqlite:{}", path.display())).await.expect("opened")
}

/// Executes a statement on a closed store.
pub(crate) async fn execute_closed(path: &Path, statement: &'static str) {
    let file = opened(path).await;
    execute(&file, statement).await;
    file.close().await;
}

pub(crate) async fn execute(file: &SqlitePool, statement: &'static str) {
    sqlx::raw_sql(statement).execute(file).await.expect("executed");
}

async fn open(
    folder: &TempDir,
    events: &Recorder<Event>,
    clock: &ManualClock,
    disk_delay: &Arc<AtomicU64>,
) -> Store {
    let (events, clock, takes) = (events.clone(), clock.clone(), Arc::clone(disk_delay));
    let listener = Arc::new(move |new: &[Event]| {
        match takes.load(Ordering::SeqCst) {
            0 => {}
            ms => clock.advance(ms),
        }
        new.iter().for_each(|e| events.record(e.clone()));
    });
    Store::open(&folder.path().join("rouse.db"), listener).await.expect("a store")
}

async fn start(
    store: &Store,
    clock: &ManualClock,
    begun: &Recorder<ScriptedRun>,
    main: &Arc<ScriptedMainSession>,
    model: &watch::Sender<bool>,
    outbox: &Arc<Notify>,
    config: &SchedulerConfig,
) -> SchedulerHandle {
    let scheduler = Scheduler {
        store: store.clone(),
        clock: Arc::new(clock.clone()),
        timer: Box::new(clock.timer()),
        runner: Arc::new(ScriptedRunner(begun.clone())),
        hooks: Arc::new(()),
        main_session: Arc::clone(main) as Arc<dyn MainSession>,
        model: model.subscribe(),
        model_is_awaited: watch::Sender::new(false),
        channels: SharedDirectory::default(),
        outbox: Arc::clone(outbox),
        config: config.clone(),
    };
    scheduler.start().await.expect("started")
}

/// A chat message of the app.
pub(crate) fn message(text: &str) -> ChatMessage {
    ChatMessage { text: text.to_owned(), key: None, reply_to: None }
}
