//! The background tasks of an engine.
//!
//! Owns what runs beside the scheduler until the engine stops: outbox, retention, backups, settings, models, the computer's
//! sleep, and memory. Never starts a task that outlives `closing`.

use std::sync::Arc;

use rouse_agent::Safety;
use rouse_scheduler::SchedulerHandle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Ground;
use crate::backup::{BackupFolder, Safekeeping};
use crate::clock::timer;
use crate::error::HostError;
use crate::home::Home;
use crate::in_force::{look_for_models, put_into_force};
use crate::machine::{self, System};
use crate::memory;
use crate::notifier::{Borrowed, Notifier};
use crate::options::HostOptions;
use crate::outbox::Outbox;
use crate::retention::Retention;
use crate::running_mark::RunningMark;

impl Ground {
    pub(super) fn backups(&self, home: &Home) -> BackupFolder {
        let workspace = self.settings.now().workspace;
        BackupFolder::of(home.clone(), workspace, Arc::clone(&self.clock))
    }

    pub(super) fn notifier(&self, options: &HostOptions) -> Arc<dyn Notifier> {
        match options.notifier.as_ref() {
            Some(own) => Arc::clone(own),
            None => Arc::new(Borrowed(self.screens.clone())),
        }
    }

    fn outbox(
        &self,
        options: &HostOptions,
        scheduler: &SchedulerHandle,
        closing: &CancellationToken,
    ) -> Result<Outbox, HostError> {
        Ok(Outbox {
            store: self.store.clone(),
            scheduler: scheduler.clone(),
            clock: Arc::clone(&self.clock),
            timer: timer(options, &self.clock)?,
            settings: self.settings.watch(),
            notifier: self.notifier(options),
            safety: Safety::new(Arc::clone(&self.book)),
            hooks: self.hooks.clone(),
            unshown: self.unshown.clone(),
            signal: Arc::clone(&self.outbox),
            closing: closing.clone(),
        })
    }

    /// Starts the background tasks of the engine.
    pub(super) fn tasks(
        &self,
        home: &Home,
        options: &HostOptions,
        scheduler: &SchedulerHandle,
        closing: &CancellationToken,
    ) -> Result<Vec<JoinHandle<()>>, HostError> {
        let outbox = self.outbox(options, scheduler, closing)?;
        let retention = Retention {
            store: self.store.clone(),
            clock: Arc::clone(&self.clock),
            settings: self.settings.watch(),
            job_homes: home.job_homes(),
            ended: Arc::clone(&self.ended),
            closing: closing.clone(),
        };
        let settings =
            put_into_force(Arc::clone(&self.settings), Arc::clone(&self.ledger), scheduler.clone());
        let models = look_for_models(
            self.settings.watch(),
            Arc::clone(&self.models),
            Arc::clone(&self.secrets),
            self.model_is_awaited.subscribe(),
        );
        let machine = machine::follow(
            System::default(),
            scheduler.clone(),
            self.settings.watch(),
            self.at_work.clone(),
        );
        let safekeeping = Safekeeping {
            store: self.store.clone(),
            clock: Arc::clone(&self.clock),
            folder: self.backups(&options.home),
            mark: RunningMark::of(&options.home),
            committed: Arc::clone(&self.committed),
            closing: closing.clone(),
        };
        let resting = memory::give_back_when_quiet(
            Arc::clone(&self.worked),
            self.store.clone(),
            closing.clone(),
        );
        let (listening, looking, closing) = (closing.clone(), closing.clone(), closing.clone());
        Ok(vec![
            tokio::spawn(resting),
            tokio::spawn(outbox.run()),
            tokio::spawn(retention.run()),
            tokio::spawn(safekeeping.run()),
            tokio::spawn(async move { closing.run_until_cancelled(settings).await.unwrap_or(()) }),
            tokio::spawn(async move { looking.run_until_cancelled(models).await.unwrap_or(()) }),
            tokio::spawn(async move { listening.run_until_cancelled(machine).await.unwrap_or(()) }),
        ])
    }
}
