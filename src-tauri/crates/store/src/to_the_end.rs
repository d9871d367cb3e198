//! Work that is not cut off half-way.
//!
//! Owns what becomes of a future whose waiter goes away: it goes on in a task of its own. Until then it runs where it is
//! waited for: a task from the beginning would wake another thread, and that one the first again. Outside of a runtime, or
//! in one that is being shut down, it ends like every task.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future that goes on when nobody waits for it any more.
pub(crate) struct ToTheEnd<F: Future<Output: Send> + Send + 'static>(Option<Pin<Box<F>>>);

impl<F: Future<Output: Send> + Send + 'static> ToTheEnd<F> {
    pub(crate) fn of(work: F) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl<F: Future<Output: Send> + Send + 'static> Future for ToTheEnd<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // Taken out, so that work that panics is not taken up again.
        let mut work = self.0.take().expect("BUG: waited for after its end");
        let polled = work.as_mut().poll(context);
        if polled.is_pending() {
            self.0 = Some(work);
        }
        polled
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for ToTheEnd<F> {
    fn drop(&mut self) {
        if let Some(work) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(work);
        }
    }
}
