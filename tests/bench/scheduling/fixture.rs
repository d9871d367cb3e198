//! A scheduler on a real store and a real timer, with runs that record their start and finish at once.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rouse_core::channel::SharedDirectory;
use rouse_core::job::{Job, job_from_json};
use rouse_core::schedule::Zones;
use rouse_core::slots::Slots;
use rouse_core::time::{Clock, Timer};
use rouse_core::tool::BoxFuture;
use rouse_core::{Outcome, Run, UnixMs};
use rouse_host::SystemClock;
use rouse_scheduler::timer::WallTimer;
use rouse_scheduler::{
    HeartbeatConfig, MainSession, Runner, Scheduler, SchedulerConfig, SchedulerHandle,
};
use rouse_store::Store;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// Microseconds since 1970.
pub(crate) fn wall_us() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "a bench measures")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Runs `work` and measures its duration.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    #[expect(clippy::disallowed_methods, reason = "a bench measures")]
    let started = Instant::now();
    let result = work();
    (result, started.elapsed())
}

/// Runs `work` to its end and measures its duration.
pub(crate) async fn timed_async<T>(work: impl Future<Output = T>) -> (T, Duration) {
    #[expect(clippy::disallowed_methods, reason = "a bench measures")]
    let started = Instant::now();
    let result = work.await;
    (result, started.elapsed())
}

/// The system's clock with replaceable zones.
struct BenchClock {
    system: SystemClock,
    zones: Mutex<Zones>,
}

impl BenchClock {
    fn new() -> Self {
        let zones = Mutex::new(Zones::built_in(chrono_tz::UTC));
        Self { system: SystemClock::default(), zones }
    }
}

impl Clock for BenchClock {
    fn now(&self) -> UnixMs {
        self.system.now()
    }

    fn monotonic(&self) -> Duration {
        self.system.monotonic()
    }

    fn zones(&self) -> Zones {
        self.zones.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The starts of runs: slot in milliseconds and start in microseconds.
#[derive(Clone, Default)]
pub(crate) struct RunStarts(Arc<Mutex<Vec<(i64, i64)>>>, Arc<Notify>);

impl RunStarts {
    fn add(&self, run: &Run) {
        let started_at = wall_us();
        let slot = run.slot_at.map_or(0, |at| at.0);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((slot, started_at));
        self.1.notify_one();
    }

    /// Waits for `count` starts and takes them.
    pub(crate) async fn take(&self, count: usize) -> Vec<(i64, i64)> {
        loop {
            let notified = self.1.notified();
            {
                let mut starts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                if starts.len() >= count {
                    return std::mem::take(&mut *starts);
                }
            }
            notified.await;
        }
    }
}

impl Runner for RunStarts {
    fn run(&self, run: Run, _: Option<Job>, _: CancellationToken) -> BoxFuture<'static, Outcome> {
        self.add(&run);
        Box::pin(async { Outcome::succeeded("Done.") })
    }
}

/// The engine's timer on this system.
#[cfg(target_os = "linux")]
fn timer(_: &Arc<BenchClock>) -> anyhow::Result<Box<dyn Timer>> {
    Ok(Box::new(WallTimer::new()?))
}

/// The engine's timer on this system.
#[cfg(not(target_os = "linux"))]
fn timer(clock: &Arc<BenchClock>) -> anyhow::Result<Box<dyn Timer>> {
    Ok(Box::new(WallTimer::new(clock.clone())))
}

/// A timer without an engine.
pub(crate) fn new_timer() -> anyhow::Result<Box<dyn Timer>> {
    timer(&Arc::new(BenchClock::new()))
}

struct NoMainWork;

impl MainSession for NoMainWork {
    fn has_work(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { false })
    }
}

pub(crate) struct SchedulerFixture {
    folder: TempDir,
    pub(crate) store: Store,
    pub(crate) starts: RunStarts,
    clock: Arc<BenchClock>,
}

impl SchedulerFixture {
    /// A new store; nothing fires before `start`. `on_commit` receives the events of every durable write.
    pub(crate) async fn new(on_commit: rouse_store::EventListener) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let store = Store::open(&folder.path().join("rouse.db"), on_commit).await?;
        let clock = Arc::new(BenchClock::new());
        Ok(Self { folder, store, starts: RunStarts::default(), clock })
    }

    pub(crate) async fn start(&self, limit: usize) -> anyhow::Result<SchedulerHandle> {
        let scheduler = Scheduler {
            store: self.store.clone(),
            clock: self.clock.clone(),
            timer: timer(&self.clock)?,
            runner: Arc::new(self.starts.clone()),
            hooks: Arc::new(()),
            main_session: Arc::new(NoMainWork),
            model: watch::Sender::new(false).subscribe(),
            model_is_awaited: watch::Sender::new(false),
            channels: SharedDirectory::default(),
            outbox: Arc::new(Notify::new()),
            config: SchedulerConfig {
                max_concurrent_runs: limit,
                firing: true,
                off_reason: String::new(),
                model_patience: std::time::Duration::ZERO,
                heartbeat: HeartbeatConfig { enabled: false, every_ms: 60_000, active_hours: None },
            },
        };
        Ok(scheduler.start().await?)
    }

    /// The database file.
    pub(crate) fn database_path(&self) -> PathBuf {
        self.folder.path().join("rouse.db")
    }

    /// Replaces the zones of the clock.
    pub(crate) fn set_zones(&self, zones: Zones) {
        *self.clock.zones.lock().unwrap_or_else(PoisonError::into_inner) = zones;
    }

    /// Stores jobs without a scheduler.
    pub(crate) async fn store_jobs(
        &self,
        schedules: impl Iterator<Item = Value>,
    ) -> anyhow::Result<()> {
        for (number, schedule) in schedules.enumerate() {
            let job = self.job(number, &schedule)?;
            self.store.insert_job(&job, self.clock.now()).await?;
        }
        Ok(())
    }

    pub(crate) fn job(&self, number: usize, schedule: &Value) -> anyhow::Result<Job> {
        let document = json!({
            "name": format!("Job {number}"),
            "schedule": schedule,
            "payload": { "kind": "toolCall", "tool": "echo", "arguments": { "text": "x" } }
        });
        let mut job = job_from_json(document, self.clock.now(), self.clock.zones())?;
        let slots = Slots::compile(&job.schedule, &job.id, &self.clock.zones())
            .map_err(anyhow::Error::msg)?;
        job.state.next_run_at = slots.next_after(self.clock.now());
        Ok(job)
    }
}
