//! An engine whose runs record their effects outside the reach of power cuts.
//!
//! An effect goes into the ledger after the step was journalled as not repeatable, like the effect of a tool. Some
//! calls fail with a transient error and are retried; each attempt is a separate effect. Some agent turns need an
//! approval first; only the single use of the approval keeps the work from being repeated.

use std::sync::{Arc, Mutex};

use rouse_core::approval::{ApprovalState, Authorization};
use rouse_core::channel::SharedDirectory;
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

use super::script::{approval_of, step};

const HALF_AN_HOUR: i64 = 30 * 60_000;
/// Attempts of a run; the last attempt meets no transient error.
pub(super) const ATTEMPTS: u32 = 3;

/// The effect of an attempt.
#[derive(Debug, Clone)]
pub(super) struct Effect {
    /// The run.
    pub(super) run: RunId,
    /// The interrupted run that this run replaces, or the run itself.
    pub(super) first: RunId,
    /// The attempt; always 1 for an agent turn, whose work is done once over all attempts.
    pub(super) attempt: u32,
}

/// All effects.
pub(super) type EffectLedger = Arc<Mutex<Vec<Effect>>>;

struct EffectRunner {
    store: Store,
    ledger: EffectLedger,
    clock: ManualClock,
}

impl Runner for EffectRunner {
    fn run(&self, run: Run, _: Option<Job>, _: CancellationToken) -> BoxFuture<'static, Outcome> {
        let (store, ledger, now) = (self.store.clone(), self.ledger.clone(), self.clock.now());
        Box::pin(async move {
            match begin(&store, &run, now).await {
                Ok(Preparation::Journalled) => {}
                Ok(Preparation::Ended(outcome)) => return *outcome,
                Err(_) => return Outcome::failed("The step could not be journalled."),
            }
            let first = run.retry_of.clone().unwrap_or_else(|| run.id.clone());
            let is_turn = run.payload["kind"] == "agentTurn";
            let (id, attempt) = (run.id.clone(), if is_turn { 1 } else { run.attempt });
            ledger.lock().expect("whole").push(Effect { run: id, first, attempt });
            // Some runs are active when the power is cut.
            match luck(&run) {
                0..=2 => std::future::pending().await,
                3..=5 => Outcome::failed("It did not work."),
                6..=9 if run.attempt < ATTEMPTS => {
                    Outcome { is_transient: true, ..Outcome::failed("It was not reached.") }
                }
                _ => Outcome::succeeded("Done."),
            }
        })
    }
}

/// The preparation of an effect.
enum Preparation {
    /// The step is journalled.
    Journalled,
    /// The run has ended without an effect.
    Ended(Box<Outcome>),
}

impl Preparation {
    fn ended(outcome: Outcome) -> Result<Self, StoreError> {
        Ok(Self::Ended(Box::new(outcome)))
    }
}

async fn begin(store: &Store, run: &Run, now: UnixMs) -> Result<Preparation, StoreError> {
    // A resumed heartbeat turn has no work here.
    if run.job_id.is_none() {
        return Preparation::ended(Outcome::of(RunState::NothingToReport));
    }
    if run.payload["kind"] != "agentTurn" {
        return store.begin_step(&step(&run.id), now).await.map(|_| Preparation::Journalled);
    }
    let approvals = store.approvals_of_run(&run.id).await?;
    let Some(approvals) = approvals.first() else {
        if luck(run) % 4 != 0 {
            let mut approval = approval_of(run, &format!("approval-{}", run.id));
            (approval.requested_at, approval.expires_at) =
                (now, now.plus_ms(24 * 2 * HALF_AN_HOUR));
            let waits = Outcome::of(RunState::AwaitingApproval);
            return Preparation::ended(Outcome { approvals: vec![approval], ..waits });
        }
        // A resumed run, which continues from the journal.
        if store.has_unrepeatable_step(&run.id).await? {
            return Preparation::ended(Outcome::succeeded("It was done before."));
        }
        return store.begin_step(&step(&run.id), now).await.map(|_| Preparation::Journalled);
    };
    let permit = Authorization::Approval(approvals.id.clone());
    match approvals.state {
        ApprovalState::Approved { .. } => {
            match store.begin_permitted_step(&step(&run.id), &permit, now).await? {
                Some(_) => Ok(Preparation::Journalled),
                None => Preparation::ended(Outcome::succeeded("It was done before.")),
            }
        }
        _ => Preparation::ended(Outcome::failed("It was not allowed.")),
    }
}

/// A number from 0 to 15 that is fixed for a run. The creation time is taken from the id, because a rollback moves
/// the time in the row.
fn luck(run: &Run) -> i64 {
    let made: String = run.id.as_str().chars().filter(|c| *c != '-').take(12).collect();
    let made = i64::from_str_radix(&made, 16).expect("an id begins with an instant");
    let job = run.job_id.iter().flat_map(|id| id.as_str().bytes()).map(i64::from);
    (made + job.sum::<i64>()).rem_euclid(16)
}

struct IdleMainSession;

impl MainSession for IdleMainSession {
    fn has_work(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { false })
    }
}

pub(super) async fn start(
    store: &Store,
    clock: &ManualClock,
    ledger: &EffectLedger,
) -> Option<SchedulerHandle> {
    let scheduler = Scheduler {
        store: store.clone(),
        clock: Arc::new(clock.clone()),
        timer: Box::new(clock.timer()),
        runner: Arc::new(EffectRunner {
            store: store.clone(),
            ledger: ledger.clone(),
            clock: clock.clone(),
        }),
        hooks: Arc::new(()),
        main_session: Arc::new(IdleMainSession),
        model: watch::Sender::new(false).subscribe(),
        model_is_awaited: watch::Sender::new(false),
        channels: SharedDirectory::default(),
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
