//! The scheduler before the start.

use std::collections::VecDeque;
use std::sync::Arc;

use rouse_core::channel::SharedDirectory;
use rouse_core::time::{Clock, Timer};
use rouse_store::{Store, StoreError};
use tokio::sync::{Notify, mpsc, watch};

use crate::config::SchedulerConfig;
use crate::engine::Engine;
use crate::error::SchedulerError;
use crate::handle::SchedulerHandle;
use crate::ports::{MainSession, RunHooks, Runner};
use crate::state::active_runs::ActiveRuns;
use crate::state::event_listeners::EventListeners;
use crate::state::heartbeat::HeartbeatTimer;
use crate::state::inbox::Inbox;
use crate::state::incidents::OpenIncidents;
use crate::state::lanes::Lanes;
use crate::state::model_presence::ModelPresence;
use crate::state::parked_runs::ParkedRuns;
use crate::state::slot_schedule::SlotSchedule;
use crate::state::store_backoff::StoreBackoff;
use crate::state::zone_rules::ZoneRules;

/// The parts of a scheduler.
pub struct Scheduler {
    /// Jobs and runs.
    pub store: Store,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The timer, on the same clock.
    pub timer: Box<dyn Timer>,
    /// Executes attempts.
    pub runner: Arc<dyn Runner>,
    /// Observes runs.
    pub hooks: Arc<dyn RunHooks>,
    /// The main session.
    pub main_session: Arc<dyn MainSession>,
    /// Whether the main session has a model.
    pub model: watch::Receiver<bool>,
    /// Set while a turn of the main session waits for a model.
    pub model_is_awaited: watch::Sender<bool>,
    /// The channels and recipients of messages.
    pub channels: SharedDirectory,
    /// Notified of new rows in the outbox.
    pub outbox: Arc<Notify>,
    /// The settings.
    pub config: SchedulerConfig,
}

impl Scheduler {
    /// Recovers the runs of an earlier process, arms the timer and starts the engine. If the store cannot be written (a
    /// full disk), the engine starts anyway and recovers later.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn start(self) -> Result<SchedulerHandle, SchedulerError> {
        let (requests, inbox) = mpsc::unbounded_channel();
        let mut engine = Engine {
            lanes: Lanes::new(self.config.max_concurrent_runs),
            active: ActiveRuns::new(self.runner),
            parked: ParkedRuns::default(),
            queue_exits: VecDeque::new(),
            heartbeat: HeartbeatTimer::default(),
            model: ModelPresence::new(self.model, self.model_is_awaited),
            pause: None,
            slots: SlotSchedule::default(),
            zones: ZoneRules::new(self.clock.zones()),
            listeners: EventListeners::default(),
            incidents: OpenIncidents::default(),
            store_backoff: StoreBackoff::default(),
            is_recovered: false,
            inbox: Inbox::new(inbox),
            store: self.store,
            clock: self.clock,
            timer: self.timer,
            hooks: self.hooks,
            main_session: self.main_session,
            channels: self.channels,
            outbox: self.outbox,
            config: self.config,
        };
        engine.warn_if_off();
        match engine.recover_once().await {
            Err(error @ StoreError::Write { .. }) => {
                engine.store_backoff.begin(&error, engine.clock.monotonic());
            }
            recovered => recovered?,
        }
        let problem = engine.store_backoff.problem();
        tokio::spawn(engine.run());
        Ok(SchedulerHandle { requests, problem })
    }
}
