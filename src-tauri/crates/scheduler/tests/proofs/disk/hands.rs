//! An engine whose runs leave a mark where no power cut reaches.
//!
//! A run's effect is written into a ledger after its step was journalled as one that must not be repeated: as a tool
//! would do it. Some calls fail in a way that may pass, and are made again as often as their job says; each attempt is an
//! effect of its own. Some runs of an agent's turn ask first; of these, nothing but the answer that is used up keeps the work
//! from being done twice.

use std::sync::{Arc, Mutex};

use rouse_core::approval::{ApprovalState, Permit};
use rouse_core::job::Job;
use rouse_core::time::Clock as _;
use rouse_core::tool::BoxFuture;
use rouse_core::{Outcome, Run, RunId, RunState, UnixMs};
use rouse_scheduler::{
    HeartbeatConfig, MainSession, Runner, Scheduler, SchedulerConfig, SchedulerHandle,
};
use rouse_store::{Store, StoreError};
use rouse_testkit::ManualClock;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::script::{question, step};

const HALF_AN_HOUR: i64 = 30 * 60_000;
/// Attempts of a run; the last of them meets nothing that may pass.
pub(super) const ATTEMPTS: u32 = 3;

/// What an attempt did.
#[derive(Debug, Clone)]
pub(super) struct Effect {
    /// Its run.
    pub(super) run: RunId,
    /// The run that this one makes up for, or itself.
    pub(super) first: RunId,
    /// Its number. A turn of an agent does its work once, in whatever attempt, so that counts as the first.
    pub(super) attempt: u32,
}

/// What runs did.
pub(super) type Ledger = Arc<Mutex<Vec<Effect>>>;

struct Hands {
    store: Store,
    ledger: Ledger,
    clock: ManualClock,
}

impl Runner for Hands {
    fn run(&self, run: Run, _: Option<Job>, _: CancellationToken) -> BoxFuture<'static, Outcome> {
        let (store, ledger, now) = (self.store.clone(), self.ledger.clone(), self.clock.now());
        Box::pin(async move {
            match begin(&store, &run, now).await {
                Ok(Begun::AtWork) => {}
                Ok(Begun::Over(outcome)) => return *outcome,
                Err(_) => return Outcome::failed("The step could not be journalled."),
            }
            let first = run.retry_of.clone().unwrap_or_else(|| run.id.clone());
            let is_turn = run.payload["kind"] == "agentTurn";
            let (id, attempt) = (run.id.clone(), if is_turn { 1 } else { run.attempt });
            ledger.lock().expect("whole").push(Effect { run: id, first, attempt });
            // Some runs are still at work when the power goes.
            match luck(&run) {
                0..=2 => std::future::pending().await,
                3..=5 => Outcome::failed("It did not work."),
                6..=9 if run.attempt < ATTEMPTS => {
                    Outcome { may_pass: true, ..Outcome::failed("It was not reached.") }
                }
                _ => Outcome::succeeded("Done."),
            }
        })
    }
}

/// What stands before the effect of a run.
enum Begun {
    /// It is in the journal.
    AtWork,
    /// There will be none.
    Over(Box<Outcome>),
}

impl Begun {
    fn over(outcome: Outcome) -> Result<Self, StoreError> {
        Ok(Self::Over(Box::new(outcome)))
    }
}

async fn begin(store: &Store, run: &Run, now: UnixMs) -> Result<Begun, StoreError> {
    // A beat of the heartbeat that goes on has nothing to do here.
    if run.job_id.is_none() {
        return Begun::over(Outcome::of(RunState::NothingToReport));
    }
    if run.payload["kind"] != "agentTurn" {
        return store.begin_step(&step(&run.id), now).await.map(|_| Begun::AtWork);
    }
    let asked = store.approvals_of(&run.id).await?;
    let Some(asked) = asked.first() else {
        if luck(run) % 4 != 0 {
            let mut asks = question(run, &format!("question-{}", run.id));
            (asks.asked_at, asks.expires_at) = (now, now.plus_ms(24 * 2 * HALF_AN_HOUR));
            let waits = Outcome::of(RunState::AwaitingApproval);
            return Begun::over(Outcome { asks: vec![asks], ..waits });
        }
        // It goes on from its journal.
        if store.has_unrepeatable_step(&run.id).await? {
            return Begun::over(Outcome::succeeded("It was done before."));
        }
        return store.begin_step(&step(&run.id), now).await.map(|_| Begun::AtWork);
    };
    let permit = Permit::Answer(asked.id.clone());
    match asked.state {
        ApprovalState::Approved { .. } => {
            match store.begin_permitted_step(&step(&run.id), &permit, now).await? {
                Some(_) => Ok(Begun::AtWork),
                None => Begun::over(Outcome::succeeded("It was done before.")),
            }
        }
        _ => Begun::over(Outcome::failed("It was not allowed.")),
    }
}

/// From 0 to 15; a run's own, whatever happens. When it was made is in its id for good; its row has that nearer once the
/// clock was set back.
fn luck(run: &Run) -> i64 {
    let made: String = run.id.as_str().chars().filter(|c| *c != '-').take(12).collect();
    let made = i64::from_str_radix(&made, 16).expect("an id begins with its instant");
    let job = run.job_id.iter().flat_map(|id| id.as_str().bytes()).map(i64::from);
    (made + job.sum::<i64>()).rem_euclid(16)
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
        hooks: Arc::new(()),
        main_session: Arc::new(Nobody),
        model: watch::Sender::new(false).subscribe(),
        model_is_awaited: watch::Sender::new(false),
        outbox: Arc::new(Notify::new()),
        config: SchedulerConfig {
            max_concurrent_runs: 3,
            firing: true,
            off_reason: String::new(),
            model_patience: std::time::Duration::ZERO,
            heartbeat: HeartbeatConfig {
                enabled: false,
                every_ms: HALF_AN_HOUR,
                active_hours: None,
            },
        },
    };
    scheduler.start().await.ok()
}
