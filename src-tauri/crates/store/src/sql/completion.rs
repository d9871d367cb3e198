//! Futures that complete although their caller was dropped.
//!
//! A future runs in the awaiting task, without waking another thread. When the caller is dropped (a client hung up), the
//! future continues in a separate task. Pitfall: without a runtime, or during shutdown, the future is dropped as well.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future that completes even if dropped.
pub(crate) struct CompletingFuture<F: Future<Output: Send> + Send + 'static>(Option<Pin<Box<F>>>);

impl<F: Future<Output: Send> + Send + 'static> CompletingFuture<F> {
    pub(crate) fn of(work: F) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl<F: Future<Output: Send> + Send + 'static> Future for CompletingFuture<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // Taken out, so that work that panics is not resumed on drop.
        let mut work = self.0.take().expect("BUG: polled after completion");
        let polled = work.as_mut().poll(context);
        if polled.is_pending() {
            self.0 = Some(work);
        }
        polled
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for CompletingFuture<F> {
    fn drop(&mut self) {
        if let Some(work) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(work);
        }
    }
}
