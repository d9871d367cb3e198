//! An engine whose runs leave a mark where no power cut reaches.
//!
//! A run's effect is written into a ledger after its step was journalled as one that must not be repeated: as a tool
//! would do it.

use std::sync::{Arc, Mutex};

use rouse_core::job::Job;
use rouse_core::time::Clock as _;
use rouse_core::tool::BoxFuture;
use rouse_core::{Outcome, Run, RunId};
use rouse_scheduler::{
    HeartbeatConfig, MainSession, Runner, Scheduler, SchedulerConfig, SchedulerHandle,
};
use rouse_store::{NewStep, StepKind, Store};
use rouse_testkit::ManualClock;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

const HALF_AN_HOUR: i64 = 30 * 60_000;

/// What runs did: the run, and the one that it makes up for, or itself.
pub(super) type Ledger = Arc<Mutex<Vec<(RunId, RunId)>>>;

struct Hands {
    store: Store,
    ledger: Ledger,
    clock: ManualClock,
}

impl Runner for Hands {
    fn run(&self, run: Run, _: Option<Job>, _: CancellationToken) -> BoxFuture<'static, Outcome> {
        let (store, ledger, now) = (self.store.clone(), self.ledger.clone(), self.clock.now());
        Box::pin(async move {
            let step = NewStep {
                gate: None,
                call_id: None,
                run_id: run.id.clone(),
                kind: StepKind::ToolCall,
                name: "mark".to_owned(),
                input: Value::Null,
                repeatable: false,
            };
            if store.begin_step(&step, now).await.is_err() {
                return Outcome::failed("The step could not be journalled.");
            }
            let first = run.retry_of.clone().unwrap_or_else(|| run.id.clone());
            ledger.lock().expect("whole").push((run.id.clone(), first));
            // Some runs are still at work when the power goes.
            let job = run.job_id.iter().flat_map(|id| id.as_str().bytes()).map(i64::from);
            match (run.created_at.0 + job.sum::<i64>()).rem_euclid(16) {
                0..=2 => std::future::pending().await,
                3..=5 => Outcome::failed("It did not work."),
                _ => Outcome::succeeded("Done."),
            }
        })
    }
}

struct Nobody;

impl MainSession for Nobody {
    fn has_work(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { false })
    }
}

pub(super) async fn start(
    store: &Store,
    clock: &ManualClock,
    ledger: &Ledger,
) -> Option<SchedulerHandle> {
    let scheduler = Scheduler {
        store: store.clone(),
        clock: Arc::new(clock.clone()),
        timer: Box::new(clock.timer()),
        runner: Arc::new(Hands {
            store: store.clone(),
            ledger: ledger.clone(),
            clock: clock.clone(),
        }),
        main_session: Arc::new(Nobody),
        model: watch::Sender::new(false).subscribe(),
        outbox: Arc::new(Notify::new()),
        config: SchedulerConfig {
            max_concurrent_runs: 3,
            firing: true,
            off_reason: String::new(),
            heartbeat: HeartbeatConfig {
                enabled: false,
                every_ms: HALF_AN_HOUR,
                active_hours: None,
            },
        },
    };
    scheduler.start().await.ok()
}
