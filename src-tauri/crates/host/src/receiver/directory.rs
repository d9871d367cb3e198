//! The channel directory, kept up to date with the settings and the paired recipients.
//!
//! Owns every rebuild of the directory. A rebuild reads the recipients inside a lock, so no rebuild restores an older state.

use rouse_core::channel::{Recipient, SharedDirectory};
use rouse_core::{RunTrigger, channel::Route};
use rouse_store::{RunQuery, Store, StoreError};
use tokio::sync::{Mutex, watch};

use crate::channels::directory;
use crate::config::Config;

/// Rebuilds the directory.
pub(crate) struct DirectoryKeeper {
    pub(crate) store: Store,
    pub(crate) settings: watch::Receiver<Config>,
    pub(crate) channels: SharedDirectory,
    pub(crate) is_headless: bool,
    lock: Mutex<()>,
}

impl DirectoryKeeper {
    /// A keeper of an empty directory.
    pub(crate) fn new(store: Store, settings: watch::Receiver<Config>, is_headless: bool) -> Self {
        let channels = SharedDirectory::default();
        Self { store, settings, channels, is_headless, lock: Mutex::default() }
    }

    /// Reads the place of the newest chat message, then builds the directory.
    pub(crate) async fn load(&self) -> Result<(), StoreError> {
        let query = RunQuery { triggers: vec![RunTrigger::Chat], limit: 1, ..RunQuery::default() };
        let newest = self.store.runs(&query).await?.runs.into_iter().next();
        let last: Option<Route> = newest.and_then(|run| run.reply_to());
        self.channels.update(|directory| directory.last = last);
        self.rebuild().await
    }

    /// Builds the directory from the present settings and recipients.
    pub(crate) async fn rebuild(&self) -> Result<(), StoreError> {
        let _rebuilding = self.lock.lock().await;
        let paired: Vec<Recipient> = self.store.recipients().await?;
        let built = directory(&self.settings.borrow(), &paired, self.is_headless);
        self.channels.update(|directory| {
            let last = directory.last.take();
            *directory = built;
            directory.last = last;
        });
        Ok(())
    }
}
