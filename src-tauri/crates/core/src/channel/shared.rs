//! The channel directory of an engine, shared by all rooms.

use std::sync::{Arc, PoisonError, RwLock};

use super::route::ChannelDirectory;

/// The current channel directory. Cheap to clone; all clones show the same directory.
#[derive(Debug, Clone, Default)]
pub struct SharedDirectory(Arc<RwLock<Arc<ChannelDirectory>>>);

impl SharedDirectory {
    /// The current directory.
    #[must_use]
    pub fn now(&self) -> Arc<ChannelDirectory> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the directory, after a change of settings, recipients or the newest place.
    pub fn update(&self, change: impl FnOnce(&mut ChannelDirectory)) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut current));
    }
}
