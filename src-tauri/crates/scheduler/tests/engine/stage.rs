//! One scheduler with everything around it, and short words for what tests do with it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rouse_core::event::Event;
use rouse_core::job::{Job, job_from_json};
use rouse_core::time::Clock as _;
use rouse_core::tool::BoxFuture;
use rouse_core::{JobId, Outcome, Run, RunId, RunState, UnixMs};
use rouse_scheduler::{
    HeartbeatConfig, MainSession, Runner, Scheduler, SchedulerConfig, SchedulerHandle,
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

/// A run whose work has begun and ends as the test says.
pub(crate) struct Begun {
    pub(crate) run: Run,
    pub(crate) job: Option<Job>,
    pub(crate) cancel: CancellationToken,
    end: oneshot::Sender<Option<Outcome>>,
}

impl Begun {
    pub(crate) fn end(self, outcome: Outcome) {
        assert!(self.end.send(Some(outcome)).is_ok(), "the work was given up");
    }

    /// The same, when the work may have been given up.
    pub(crate) fn try_end(self, outcome: Outcome) {
        drop(self.end.send(Some(outcome)));
    }

    pub(crate) fn succeed(self) {
        self.end(Outcome::succeeded("Done."));
    }

    pub(crate) fn panic(self) {
        assert!(self.end.send(None).is_ok(), "the work was given up");
    }

    /// Whether nobody waits for the end any more.
    pub(crate) async fn given_up(&mut self) {
        self.end.closed().await;
    }
}

#[derive(Clone)]
struct Hands(Recorder<Begun>);

impl Runner for Hands {
    fn run(
        &self,
        run: Run,
        job: Option<Job>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Outcome> {
        let (end, told) = oneshot::channel();
        self.0.record(Begun { run, job, cancel, end });
        Box::pin(async move {
            match told.await {
                Ok(Some(outcome)) => outcome,
                Ok(None) => panic!("a fault in the runner"),
                Err(_) => std::future::pending().await,
            }
        })
    }
}

#[derive(Default)]
pub(crate) struct Main {
    pub(crate) has_work: AtomicBool,
}

impl MainSession for Main {
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
    pub(crate) begun: Recorder<Begun>,
    pub(crate) main: Arc<Main>,
    pub(crate) model: watch::Sender<bool>,
    pub(crate) outbox: Arc<Notify>,
    pub(crate) config: SchedulerConfig,
    pub(crate) handle: SchedulerHandle,
    /// Milliseconds that each write takes by the clock.
    pub(crate) disk_takes: Arc<AtomicU64>,
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

    /// One of so many runs at once.
    pub(crate) async fn of_places(max_concurrent_runs: usize) -> Self {
        Self::with(SchedulerConfig { max_concurrent_runs, ..config() }, false).await
    }

    pub(crate) async fn with(config: SchedulerConfig, has_model: bool) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = ManualClock::new(START);
        let events = Recorder::new();
        let disk_takes = Arc::default();
        let store = open(&folder, &events, &clock, &disk_takes).await;
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
            disk_takes,
        }
    }

    /// As if the process was killed and started again after `ms` milliseconds.
    pub(crate) async fn killed_for(self, ms: i64) -> Self {
        self.killed_and(ms, async |_| {}).await
    }

    /// The same, with something happening to the file in between.
    pub(crate) async fn killed_and(self, ms: i64, meanwhile: impl AsyncFnOnce(&Path)) -> Self {
        // What was at work is gone with the old handle; it gets no chance to say anything.
        drop(self.begun.take_all());
        drop(self.handle);
        let (events, begun) = (Recorder::new(), Recorder::new());
        // Before time passes: the old engine must do nothing with it.
        self.store.close().await;
        self.clock.advance(ms.unsigned_abs());
        meanwhile(&self.folder.path().join("rouse.db")).await;
        let store = open(&self.folder, &events, &self.clock, &self.disk_takes).await;
        let handle =
            start(&store, &self.clock, &begun, &self.main, &self.model, &self.outbox, &self.config)
                .await;
        Self { store, events, begun, handle, ..self }
    }

    pub(crate) fn database(&self) -> std::path::PathBuf {
        self.folder.path().join("rouse.db")
    }

    /// Lets time pass, and the scheduler see it.
    pub(crate) async fn pass(&self, ms: i64) {
        self.clock.advance(ms.unsigned_abs());
        self.settle().await;
    }

    pub(crate) fn now(&self) -> UnixMs {
        self.clock.now()
    }

    /// Until the scheduler has caught up with clock and requests.
    pub(crate) async fn settle(&self) {
        self.handle.status().await.expect("a status");
    }

    pub(crate) async fn add(&self, document: Value) -> Job {
        self.handle.add_job(self.job(document)).await.expect("saved")
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

    /// Waits until the run is over, and answers it.
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

    /// Waits until the run waits for its next attempt, and answers it.
    pub(crate) async fn between_attempts(&self, id: &RunId) -> Run {
        loop {
            let run = self.run(id).await;
            if run.next_attempt_at.is_some() {
                return run;
            }
            self.events.next_where(|event| event.data["runId"] == id.as_str()).await;
        }
    }

    /// Waits until the run waits for something, or is over.
    pub(crate) async fn waits_or_over(&self, id: &RunId) -> Run {
        loop {
            let run = self.run(id).await;
            if run.next_attempt_at.is_some() || run.state.is_final() {
                return run;
            }
            self.events.next_where(|event| event.data["runId"] == id.as_str()).await;
        }
    }

    /// Waits until the run waits for a person.
    pub(crate) async fn parked(&self, id: &RunId) {
        if self.run(id).await.state != RunState::AwaitingApproval {
            let name = RunState::AwaitingApproval.name();
            let is_parked =
                |event: &Event| event.data["runId"] == id.as_str() && event.data["state"] == name;
            self.events.next_where(is_parked).await;
        }
        // The engine has given its place back by the time it answers.
        self.settle().await;
    }

    /// (at work, waiting).
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

/// The file of a store, to do what no engine does.
pub(crate) async fn opened(path: &Path) -> SqlitePool {
    SqlitePool::connect(&format!("sqlite:{}", path.display())).await.expect("opened")
}

/// One such thing, with nobody else at the file.
pub(crate) async fn break_with(path: &Path, statement: &'static str) {
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
    disk_takes: &Arc<AtomicU64>,
) -> Store {
    let (events, clock, takes) = (events.clone(), clock.clone(), Arc::clone(disk_takes));
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
    begun: &Recorder<Begun>,
    main: &Arc<Main>,
    model: &watch::Sender<bool>,
    outbox: &Arc<Notify>,
    config: &SchedulerConfig,
) -> SchedulerHandle {
    let scheduler = Scheduler {
        store: store.clone(),
        clock: Arc::new(clock.clone()),
        timer: Box::new(clock.timer()),
        runner: Arc::new(Hands(begun.clone())),
        hooks: Arc::new(()),
        main_session: Arc::clone(main) as Arc<dyn MainSession>,
        model: model.subscribe(),
        model_is_awaited: watch::Sender::new(false),
        outbox: Arc::clone(outbox),
        config: config.clone(),
    };
    scheduler.start().await.expect("started")
}
