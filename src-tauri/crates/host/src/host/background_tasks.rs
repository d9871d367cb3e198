//! The background tasks of an engine.
//!
//! Owns the tasks beside the scheduler: outbox, retention, backups, settings, models, sleep inhibition and memory.
//! Never starts a task that outlives `closing`.

use std::sync::Arc;

use rouse_agent::Safety;
use rouse_gateway::Gateway;
use rouse_scheduler::SchedulerHandle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Components;
use super::servers::Servers;
use crate::apply_settings::{apply_changes, refresh_models};
use crate::backup::{BackupFolder, DailyBackup};
use crate::engine_marker::EngineMarker;
use crate::error::HostError;
use crate::home::Home;
use crate::machine::{self, SystemMachine};
use crate::memory::{self, MemoryRelease};
use crate::notifier::{AttachedNotifier, Notifier};
use crate::options::HostOptions;
use crate::outbox::{Outbox, OutboxParts};
use crate::receiver::ReceiverParts;
use crate::retention::Retention;

impl Components {
    pub(super) fn backups(&self, home: &Home) -> BackupFolder {
        let workspace = self.settings.now().workspace;
        BackupFolder::of(home.clone(), workspace, Arc::clone(&self.clock))
    }

    pub(super) fn notifier(&self, options: &HostOptions) -> Arc<dyn Notifier> {
        match options.notifier.as_ref() {
            Some(own) => Arc::clone(own),
            None => Arc::new(AttachedNotifier(self.desktop_apps.clone())),
        }
    }

    fn outbox(
        &self,
        options: &HostOptions,
        scheduler: &SchedulerHandle,
        closing: &CancellationToken,
    ) -> Result<Outbox, HostError> {
        let parts = OutboxParts {
            store: self.store.clone(),
            scheduler: scheduler.clone(),
            clock: Arc::clone(&self.clock),
            settings: self.settings.watch(),
            notifier: self.notifier(options),
            channels: self.directory.channels.clone(),
            senders: Arc::clone(&self.senders),
            safety: Safety::new(Arc::clone(&self.book)),
            hooks: self.hooks.clone(),
            notification_error: self.notification_error.clone(),
            closing: closing.clone(),
        };
        Ok(Outbox {
            parts,
            timer: options.build_timer()?,
            signal: Arc::clone(&self.signals.outbox),
        })
    }

    fn receiver(&self, gateway: &Gateway, closing: &CancellationToken) -> ReceiverParts {
        ReceiverParts {
            store: self.store.clone(),
            clock: Arc::clone(&self.clock),
            settings: self.settings.watch(),
            senders: Arc::clone(&self.senders),
            channels: self.directory.channels.clone(),
            gateway: gateway.clone(),
            safety: Safety::new(Arc::clone(&self.book)),
            status: Arc::clone(&self.receiver),
            sent_requests: Arc::clone(&self.signals.sent_requests),
            machine_changed: Arc::clone(&self.machine_changed),
            closing: closing.clone(),
        }
    }

    /// Starts the release of memory when activity stops.
    pub(super) fn spawn_memory_release(
        &self,
        servers: &Servers,
        closing: &CancellationToken,
    ) -> JoinHandle<()> {
        let servers = servers.clone();
        let release = MemoryRelease {
            activity: Arc::clone(&self.signals.activity),
            idle: memory::IDLE,
            store: self.store.clone(),
            release_tools: move || servers.release_memory(),
        };
        tokio::spawn(release.run(closing.clone()))
    }

    /// Starts the background tasks of the engine.
    pub(super) fn spawn_tasks(
        &self,
        home: &Home,
        options: &HostOptions,
        (scheduler, gateway): (&SchedulerHandle, &Gateway),
        closing: &CancellationToken,
    ) -> Result<Vec<JoinHandle<()>>, HostError> {
        let receiver = self.receiver(gateway, closing);
        let outbox = self.outbox(options, scheduler, closing)?;
        let retention = Retention {
            store: self.store.clone(),
            clock: Arc::clone(&self.clock),
            settings: self.settings.watch(),
            job_homes: home.job_homes(),
            finished_runs: Arc::clone(&self.finished_runs),
            closing: closing.clone(),
        };
        let settings = apply_changes(
            Arc::clone(&self.settings),
            Arc::clone(&self.ledger),
            Arc::clone(&self.directory),
            scheduler.clone(),
        );
        let models = refresh_models(
            self.settings.watch(),
            Arc::clone(&self.models),
            Arc::clone(&self.secrets),
            self.model_is_awaited.subscribe(),
        );
        let machine = machine::follow(
            SystemMachine::default(),
            scheduler.clone(),
            Arc::clone(&self.machine_changed),
            self.settings.watch(),
            self.run_counter.clone(),
        );
        let daily_backup = DailyBackup {
            store: self.store.clone(),
            clock: Arc::clone(&self.clock),
            folder: self.backups(&options.home),
            marker: EngineMarker::of(&options.home),
            committed: Arc::clone(&self.signals.backups),
            closing: closing.clone(),
        };
        let (listening, looking, closing) = (closing.clone(), closing.clone(), closing.clone());
        Ok(vec![
            tokio::spawn(outbox.run()),
            tokio::spawn(receiver.run()),
            tokio::spawn(retention.run()),
            tokio::spawn(daily_backup.run()),
            tokio::spawn(async move { closing.run_until_cancelled(settings).await.unwrap_or(()) }),
            tokio::spawn(async move { looking.run_until_cancelled(models).await.unwrap_or(()) }),
            tokio::spawn(async move { listening.run_until_cancelled(machine).await.unwrap_or(()) }),
        ])
    }
}
