//! An ordered list of entries, with an asynchronous wait for the next one.
//!
//! Tests wait for an entry, never for a time. Clones share the list.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};

/// Entries recorded in order. Clones share them.
pub struct Recorder<T> {
    shared: Arc<Mutex<Entries<T>>>,
}

struct Entries<T> {
    unread: VecDeque<T>,
    waiting: Vec<Waker>,
}

impl<T> Recorder<T> {
    /// An empty recorder.
    #[must_use]
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Mutex::new(Entries { unread: VecDeque::new(), waiting: Vec::new() })),
        }
    }

    /// Appends an entry and wakes the waiting tasks.
    pub fn record(&self, entry: T) {
        let waiting = {
            let mut entries = self.entries();
            entries.unread.push_back(entry);
            std::mem::take(&mut entries.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Removes the oldest entry, or waits for one.
    pub async fn next(&self) -> T {
        self.next_where(|_| true).await
    }

    /// Removes the oldest matching entry, or waits for one; the others stay.
    pub async fn next_where(&self, mut is_match: impl FnMut(&T) -> bool) -> T {
        poll_fn(|context| {
            let mut entries = self.entries();
            if let Some(index) = entries.unread.iter().position(&mut is_match)
                && let Some(entry) = entries.unread.remove(index)
            {
                return Poll::Ready(entry);
            }
            entries.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Removes all entries.
    #[must_use]
    pub fn take_all(&self) -> Vec<T> {
        self.entries().unread.drain(..).collect()
    }

    fn entries(&self) -> MutexGuard<'_, Entries<T>> {
        self.shared.lock().expect("BUG: the recorder is poisoned")
    }
}

impl<T> Clone for Recorder<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> Default for Recorder<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Context;

    use super::*;

    fn poll_once<T>(future: impl Future<Output = T>) -> Poll<T> {
        pin!(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn entries_are_removed_in_order() {
        let recorder = Recorder::new();
        assert_eq!(poll_once(recorder.next()), Poll::Pending);
        recorder.clone().record(1);
        recorder.record(2);
        recorder.record(3);
        assert_eq!(poll_once(recorder.next()), Poll::Ready(1));
        assert_eq!(poll_once(recorder.next_where(|entry| *entry == 3)), Poll::Ready(3));
        assert_eq!(recorder.take_all(), [2]);
        assert_eq!(recorder.take_all(), Vec::<i32>::new());
    }
}
