//! The queue for the one writing connection.
//!
//! Owns the lock, in the order of requests, and the number of waiting writers: a prepared claim gives the writer up as soon
//! as another one waits. Pitfall: counting requests; a dropped request would be waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Mutex, Notify, OwnedMutexGuard};

use super::writer::Writer;

pub(crate) struct WriterQueue {
    writer: Arc<Mutex<Writer>>,
    waiting: AtomicUsize,
    /// Notified when a writer begins to wait.
    arrived: Notify,
}

impl WriterQueue {
    pub(super) fn of(writer: Writer) -> Self {
        let (waiting, arrived) = (AtomicUsize::new(0), Notify::new());
        Self { writer: Arc::new(Mutex::new(writer)), waiting, arrived }
    }

    pub(crate) async fn acquire(&self) -> OwnedMutexGuard<Writer> {
        if let Some(writer) = self.try_acquire() {
            return writer;
        }
        let _waiting = WaitingWriter::in_queue(self);
        self.writer.clone().lock_owned().await
    }

    pub(crate) fn try_acquire(&self) -> Option<OwnedMutexGuard<Writer>> {
        self.writer.clone().try_lock_owned().ok()
    }

    pub(crate) fn has_waiting_writer(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Returns once a writer waits.
    pub(crate) async fn wait_for_writer(&self) {
        loop {
            let arrived = self.arrived.notified();
            if self.has_waiting_writer() {
                return;
            }
            arrived.await;
        }
    }
}

/// Counts one waiting writer until it is dropped.
struct WaitingWriter<'q>(&'q WriterQueue);

impl<'q> WaitingWriter<'q> {
    fn in_queue(queue: &'q WriterQueue) -> Self {
        queue.waiting.fetch_add(1, Ordering::SeqCst);
        queue.arrived.notify_one();
        Self(queue)
    }
}

impl Drop for WaitingWriter<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
