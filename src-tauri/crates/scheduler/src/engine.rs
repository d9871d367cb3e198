//! The engine: one task that owns everything that changes.
//!
//! It waits for the timer, a request, the end of a run's attempt or a change of the model, takes that into its memory,
//! and then catches up: whatever memory and clock say must be written or started is written and started, in a fixed
//! order. A step that the store refuses leaves memory as it was and is tried again later, so nothing needs a second way
//! for failures. One could get it wrong by awaiting a run in here: then the engine would stand still as long as the run.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rouse_core::schedule::Zones;
use rouse_core::time::{Clock, Timer, Wake};
use rouse_core::{JobId, Outcome, RunId, UnixMs};
use rouse_store::{JobCounts, Store, StoreError};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::{self, JoinError, JoinSet};

use crate::ahead::Ahead;
use crate::attempt::Running;
use crate::execute::Waiting;
use crate::finish::WaitEnded;
use crate::handle::{Request, SchedulerHandle};
use crate::heartbeat::Heartbeat;
use crate::lanes::Lanes;
use crate::listeners::Listeners;
use crate::parked::Parked;
use crate::prepared::{Prepared, wanted};
use crate::trouble::Trouble;
use crate::{MainSession, Pause, RunHooks, Runner, SchedulerConfig, SchedulerError};

/// Everything that the scheduler works with, ready to be started.
pub struct Scheduler {
    /// Where jobs and runs are.
    pub store: Store,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What it waits with; must follow the same clock.
    pub timer: Box<dyn Timer>,
    /// What does the work.
    pub runner: Arc<dyn Runner>,
    /// Who is told of runs.
    pub hooks: Arc<dyn RunHooks>,
    /// What the heartbeat asks.
    pub main_session: Arc<dyn MainSession>,
    /// Whether there is a model for the main session.
    pub model: watch::Receiver<bool>,
    /// Told whether a turn of the main session waits for a model.
    pub model_is_awaited: watch::Sender<bool>,
    /// Told when there is something new in the outbox.
    pub outbox: Arc<Notify>,
    /// The settings.
    pub config: SchedulerConfig,
}

impl Scheduler {
    /// Takes up what an earlier life left behind, then arms the timer and begins to work. When the store cannot be
    /// written (a full disk), it begins all the same and takes up the rest as soon as there is room.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn start(self) -> Result<SchedulerHandle, SchedulerError> {
        let (requests, inbox) = mpsc::unbounded_channel();
        let mut engine = Engine::new(self, inbox);
        engine.warn_when_off();
        match engine.take_up_once().await {
            Err(error @ StoreError::Write { .. }) => {
                engine.trouble.begins(&error, engine.clock.monotonic());
            }
            taken_up => taken_up?,
        }
        let problem = engine.trouble.sentence();
        tokio::spawn(engine.work());
        Ok(SchedulerHandle { requests, problem })
    }
}

/// The scheduler at work.
pub(crate) struct Engine {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    timer: Box<dyn Timer>,
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) hooks: Arc<dyn RunHooks>,
    pub(crate) main_session: Arc<dyn MainSession>,
    /// None once nobody can tell of a change any more.
    model: Option<watch::Receiver<bool>>,
    pub(crate) has_model: bool,
    pub(crate) model_is_awaited: watch::Sender<bool>,
    pub(crate) outbox: Arc<Notify>,
    pub(crate) config: SchedulerConfig,
    pub(crate) pause: Option<Pause>,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) lanes: Lanes<Waiting>,
    pub(crate) running: BTreeMap<RunId, Running>,
    pub(crate) tasks: JoinSet<Outcome>,
    /// Requests and ends of attempts take turns, so that neither starves the other.
    first_look: FirstLook,
    pub(crate) runs_of_tasks: HashMap<task::Id, RunId>,
    /// Runs taken out of their lanes whose end is still to be written.
    pub(crate) wait_ended: VecDeque<WaitEnded>,
    pub(crate) zones: Zones,
    pub(crate) listeners: Listeners,
    pub(crate) parked: Parked,
    /// Jobs that may have an open incident.
    pub(crate) with_incidents: HashSet<JobId>,
    /// The earliest next slot of all jobs, as last read.
    next_due: Option<UnixMs>,
    /// Whether a job has changed since.
    pub(crate) next_due_is_stale: bool,
    pub(crate) ahead: Option<Ahead>,
    pub(crate) prepared: Option<Prepared>,
    /// The newest instant whose slots were prepared, whatever came of it.
    pub(crate) prepared_for: Option<UnixMs>,
    /// Whether the runs of an earlier life are where they belong; nothing is claimed before.
    pub(crate) has_taken_up: bool,
    /// Whether the wall clock was set and the next slots must be looked at again.
    pub(crate) clock_was_set: bool,
    /// Whether the next slots were planned by rules of which nothing can be read.
    pub(crate) rules_are_new: bool,
    /// The zones whose rules are written down.
    pub(crate) zones_kept: BTreeSet<String>,
    pub(crate) trouble: Trouble,
    pub(crate) inbox: mpsc::UnboundedReceiver<Request>,
}

/// Why the engine woke up.
enum Cause {
    Timer(Wake),
    Model(bool),
    Attempt(Box<Result<(task::Id, Outcome), JoinError>>),
    Request(Option<Request>),
    /// A job turned out to be deaf.
    Deaf,
    /// Somebody wants to write while the next slots are prepared.
    Wanted,
}

/// What the engine looks for first: requests or ends of attempts.
enum FirstLook {
    Requests,
    Ends,
}

impl FirstLook {
    fn swap(&mut self) {
        *self = match self {
            Self::Requests => Self::Ends,
            Self::Ends => Self::Requests,
        };
    }
}

impl Cause {
    const fn wake(&self) -> Option<Wake> {
        match self {
            Self::Timer(wake) => Some(*wake),
            _ => None,
        }
    }
}

/// Who waits for the engine to have stopped.
pub(crate) type Stop = oneshot::Sender<Result<(), SchedulerError>>;

impl Engine {
    fn new(parts: Scheduler, inbox: mpsc::UnboundedReceiver<Request>) -> Self {
        let Scheduler { store, clock, timer, runner, hooks, main_session, .. } = parts;
        let Scheduler { model, model_is_awaited, outbox, config, .. } = parts;
        let has_model = *model.borrow();
        Self {
            lanes: Lanes::new(config.max_concurrent_runs),
            heartbeat: Heartbeat::default(),
            has_model,
            model: Some(model),
            model_is_awaited,
            pause: None,
            running: BTreeMap::new(),
            tasks: JoinSet::new(),
            first_look: FirstLook::Requests,
            runs_of_tasks: HashMap::new(),
            wait_ended: VecDeque::new(),
            zones: clock.zones(),
            listeners: Listeners::default(),
            parked: Parked::default(),
            with_incidents: HashSet::new(),
            next_due: None,
            next_due_is_stale: true,
            ahead: None,
            prepared: None,
            prepared_for: None,
            has_taken_up: false,
            clock_was_set: false,
            rules_are_new: false,
            zones_kept: BTreeSet::new(),
            trouble: Trouble::default(),
            inbox,
            store,
            clock,
            timer,
            runner,
            hooks,
            main_session,
            outbox,
            config,
        }
    }

    async fn work(mut self) {
        self.catch_up().await;
        self.arm();
        // Nothing is held back by what follows.
        self.use_prepared(None).await;
        self.log_started().await;
        self.listen().await;
        let mut wake = None;
        loop {
            let cause = self.next_cause(wake).await;
            wake = cause.wake();
            self.take_stock(wake).await;
            match cause {
                Cause::Timer(Wake::Due) | Cause::Deaf | Cause::Wanted => {}
                Cause::Timer(Wake::ClockChanged) => self.clock_changed(),
                Cause::Model(is_there) => {
                    self.has_model = is_there;
                    self.heartbeat.model_changed();
                }
                Cause::Attempt(result) => self.attempt_ended(*result),
                Cause::Request(Some(request)) => {
                    if let Some(stop) = self.handle(request).await {
                        self.shut_down().await;
                        crate::requests::answer(stop, Ok(()));
                        return;
                    }
                }
                // Nobody holds a handle any more, so nobody could stop it in an orderly way.
                Cause::Request(None) => return,
            }
            self.catch_up().await;
            self.arm();
            self.listeners.read_ahead();
        }
    }

    /// Takes up who waits for events before the first one comes; nobody waits for it at a start.
    async fn listen(&mut self) {
        if let Err(error) = self.refresh_listeners().await {
            tracing::warn!(%error, "who waits for events is read with the first of them");
        }
        self.listeners.read_ahead();
    }

    /// The words are the cron RFC's. Said when the timer is armed, so that nobody waits for the counting.
    async fn log_started(&self) {
        let next_wake_at = self.next_due.map(|at| at.0);
        match self.store.job_counts().await {
            Ok(JobCounts { all: job_count, .. }) => {
                tracing::debug!(job_count, "cron: store loaded");
                tracing::info!(job_count, next_wake_at, "cron: scheduler started");
            }
            Err(error) => tracing::warn!(%error, next_wake_at, "cron: scheduler started"),
        }
    }

    /// What comes before anything else, whatever woke the engine: what was prepared, since it holds the store's turn to
    /// write; then the attempts that have ended by now, so that none of them holds up a slot of this moment.
    async fn take_stock(&mut self, wake: Option<Wake>) {
        self.use_prepared(wake).await;
        while let Some(result) = self.tasks.try_join_next_with_id() {
            self.attempt_ended(result);
        }
    }

    /// The timer goes first: a request that comes at a due instant finds its slots claimed. After one (`before`) it is the
    /// turn of whoever asks: with a slot due at every moment nobody could stop them otherwise.
    async fn next_cause(&mut self, before: Option<Wake>) -> Cause {
        if before.is_some() && !self.inbox.is_empty() {
            self.take_stock(None).await;
            self.catch_up().await;
            if let Ok(request) = self.inbox.try_recv() {
                return Cause::Request(Some(request));
            }
        }
        let Self { timer, model, tasks, first_look, listeners, prepared, inbox, .. } = self;
        tokio::select! {
            biased;
            wake = timer.wait() => Cause::Timer(wake),
            is_there = model_changed(model) => Cause::Model(is_there),
            () = wanted(prepared.as_ref()) => Cause::Wanted,
            cause = request_or_end(inbox, tasks, first_look) => cause,
            () = listeners.found_deaf() => Cause::Deaf,
        }
    }

    /// Does what memory and clock ask for.
    async fn catch_up(&mut self) {
        let now = self.clock.monotonic();
        self.expire(now);
        if self.trouble.keeps_still_until(now).is_some() {
            return;
        }
        match self.write_and_start().await {
            Ok(()) => self.trouble.ends(self.clock.monotonic()),
            Err(error) => self.trouble.begins(&error, self.clock.monotonic()),
        }
    }

    async fn write_and_start(&mut self) -> Result<(), StoreError> {
        self.take_up_once().await?;
        self.take_nearer_if_set().await?;
        self.keep_waits().await?;
        self.record_ends().await?;
        self.pause_deaf().await?;
        self.follow_questions().await?;
        self.tick_if_due().await?;
        self.plan_anew_if_needed().await?;
        self.beat_if_wanted().await?;
        self.tell_whether_model_is_awaited();
        self.start_startable().await?;
        self.look_ahead().await?;
        self.prepare_if_near().await;
        Ok(())
    }

    /// Settings and runs of an earlier life. May fail half-way and begin again.
    pub(crate) async fn take_up_once(&mut self) -> Result<(), StoreError> {
        if !self.has_taken_up {
            self.load_pause().await?;
            self.load_zone_data().await?;
            self.load_heartbeat().await?;
            self.load_incidents().await?;
            self.plan_nearer_if_set_back().await?;
            self.settle_restored().await?;
            self.recover().await?;
            self.has_taken_up = true;
            self.record_ends().await?;
        }
        Ok(())
    }

    async fn tick_if_due(&mut self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let pause_is_over = self.pause_end().is_some_and(|until| until <= now);
        if !pause_is_over && self.next_due().await?.is_none_or(|due| due > now) {
            return Ok(());
        }
        self.tick(now).await?;
        if self.next_due().await?.is_some_and(|due| due <= now) {
            // Cannot happen unless somebody else writes the file; it must not become a loop.
            self.trouble.stalls(self.clock.monotonic());
        }
        Ok(())
    }

    /// The earliest next slot of all jobs.
    pub(crate) async fn next_due(&mut self) -> Result<Option<UnixMs>, StoreError> {
        if self.next_due_is_stale {
            self.next_due = self.store.next_due_at().await?;
            self.next_due_is_stale = false;
        }
        Ok(self.next_due)
    }

    /// The same, as long as no job has changed since.
    pub(crate) fn next_due_known(&self) -> Option<UnixMs> {
        self.next_due.filter(|_| !self.next_due_is_stale)
    }

    /// Arms the one timer for whatever comes first.
    fn arm(&mut self) {
        let (now, monotonic) = (self.clock.now(), self.clock.monotonic());
        // What needs the store waits while the store is in trouble, or a timer that is due already would not let the
        // engine rest.
        let is_still = self.trouble.keeps_still_until(monotonic).is_some();
        let slot = self.next_due.filter(|_| !is_still).map(|at| self.lead_or_slot(at, now));
        let first = self.first_besides_slots(now, monotonic);
        self.timer.arm(first.into_iter().chain(slot).min());
    }

    /// The earliest of everything that is waited for but the slots.
    pub(crate) fn first_besides_slots(&self, now: UnixMs, monotonic: Duration) -> Option<UnixMs> {
        let on_the_wall = |at: Option<Duration>| at.map(|at| wall(now, monotonic, at));
        let expires = on_the_wall(self.running.values().filter_map(Running::expires_at).min());
        let at = match self.trouble.keeps_still_until(monotonic) {
            Some(until) => [expires, on_the_wall(Some(until)), None, None, None, None],
            None => {
                let resumes = self.running.values().filter_map(Running::resumes_at).min();
                let (pause_end, beat) = (self.pause_end(), self.heartbeat.next_at());
                let asked = on_the_wall(self.heartbeat.asked_at(self.may_ask_main()));
                let expiry = self.parked.next_expiry();
                [expires, on_the_wall(resumes), pause_end, beat, asked, expiry]
            }
        };
        at.into_iter().flatten().min()
    }

    pub(crate) fn pause_end(&self) -> Option<UnixMs> {
        self.pause.and_then(|pause| pause.until)
    }
}

/// The wall instant at which the monotonic clock will show `at`, unless somebody sets the wall clock; then the timer
/// wakes and this is asked again. Rounded up, so that it is never too early.
pub(crate) fn wall(now: UnixMs, monotonic: Duration, at: Duration) -> UnixMs {
    let left = at.saturating_sub(monotonic).as_micros().div_ceil(1_000);
    now.plus_ms(i64::try_from(left).unwrap_or(i64::MAX))
}

/// The next request or end of an attempt.
async fn request_or_end(
    inbox: &mut mpsc::UnboundedReceiver<Request>,
    tasks: &mut JoinSet<Outcome>,
    first: &mut FirstLook,
) -> Cause {
    first.swap();
    poll_fn(|context| {
        let mut request = |context: &mut Context<'_>| inbox.poll_recv(context).map(Cause::Request);
        let mut end = |context: &mut Context<'_>| match tasks.poll_join_next_with_id(context) {
            Poll::Ready(Some(end)) => Poll::Ready(Cause::Attempt(Box::new(end))),
            // Nothing is at work; the next look comes with whatever starts something.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        };
        match first {
            FirstLook::Requests => either(request(context), || end(context)),
            FirstLook::Ends => either(end(context), || request(context)),
        }
    })
    .await
}

fn either<T>(first: Poll<T>, second: impl FnOnce() -> Poll<T>) -> Poll<T> {
    match first {
        Poll::Pending => second(),
        ready => ready,
    }
}

async fn model_changed(model: &mut Option<watch::Receiver<bool>>) -> bool {
    if let Some(receiver) = model {
        if receiver.changed().await.is_ok() {
            return *receiver.borrow_and_update();
        }
        *model = None;
    }
    std::future::pending().await
}
