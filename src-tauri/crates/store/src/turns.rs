//! Turns at the one writing connection.
//!
//! Owns who has it, in the order of asking, and who waits for it: a turn that is held until an instant comes can be given
//! up for whoever wants to write now. One could get it wrong by counting those who ask: one that went away would be waited
//! for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Mutex, Notify, OwnedMutexGuard};

use crate::write::Writer;

/// The writing connection and those who wait for it.
pub(crate) struct Turns {
    writer: Arc<Mutex<Writer>>,
    waiting: AtomicUsize,
    /// Told of each who begins to wait.
    came: Notify,
}

impl Turns {
    pub(crate) fn of(writer: Writer) -> Self {
        let (waiting, came) = (AtomicUsize::new(0), Notify::new());
        Self { writer: Arc::new(Mutex::new(writer)), waiting, came }
    }

    /// The next turn.
    pub(crate) async fn take(&self) -> OwnedMutexGuard<Writer> {
        if let Some(writer) = self.take_free() {
            return writer;
        }
        let _waits = Waits::at(self);
        self.writer.clone().lock_owned().await
    }

    /// The turn, if nobody has it.
    pub(crate) fn take_free(&self) -> Option<OwnedMutexGuard<Writer>> {
        self.writer.clone().try_lock_owned().ok()
    }

    /// Whether somebody waits.
    pub(crate) fn are_wanted(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Waits until somebody waits.
    pub(crate) async fn wanted(&self) {
        loop {
            let came = self.came.notified();
            if self.are_wanted() {
                return;
            }
            came.await;
        }
    }
}

/// One who waits, as long as it does.
struct Waits<'t>(&'t Turns);

impl<'t> Waits<'t> {
    fn at(turns: &'t Turns) -> Self {
        turns.waiting.fetch_add(1, Ordering::SeqCst);
        turns.came.notify_one();
        Self(turns)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
