//! Waiting for what comes within some microseconds.
//!
//! Owns the moment before a task goes to sleep. The thread of a connection answers statement by statement, and for each
//! answer that somebody sleeps for it wakes them: that takes longer than the statement. So whoever waits looks again for a
//! moment first, and sleeps only for what takes long, which is the flush of the disk. It refuses to look on where there is
//! no second core: the answer could not come. One could get it wrong by leaving the waker of the looks behind: the last
//! poll is always that of the task.

use std::future::Future;
use std::num::NonZero;
use std::pin::{Pin, pin};
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};
use std::thread::available_parallelism;

/// How often it looks: together some twenty microseconds.
const LOOKS: u32 = 40;
/// What lies between two looks, so that the other thread is not kept from answering.
const PAUSE: u32 = 32;

static LOOKS_HERE: LazyLock<u32> = LazyLock::new(|| {
    let cores = available_parallelism().map_or(1, NonZero::get);
    if cores > 1 { LOOKS } else { 0 }
});

/// The output of `work`, which is looked for a moment before the task sleeps.
pub(crate) async fn soon<F: Future>(work: F) -> F::Output {
    let mut work = pin!(work);
    match looked_for(work.as_mut()) {
        Some(done) => done,
        None => work.await,
    }
}

fn looked_for<F: Future>(mut work: Pin<&mut F>) -> Option<F::Output> {
    let mut awake = Context::from_waker(Waker::noop());
    for _ in 0..*LOOKS_HERE {
        if let Poll::Ready(done) = work.as_mut().poll(&mut awake) {
            return Some(done);
        }
        for _ in 0..PAUSE {
            std::hint::spin_loop();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::soon;

    #[tokio::test]
    async fn what_does_not_come_while_it_looks_is_slept_for() {
        let (tell, told) = tokio::sync::oneshot::channel();
        // It runs on this very thread, so only once this task sleeps.
        tokio::spawn(async move { tell.send(7) });
        assert_eq!(soon(told).await, Ok(7));
        assert_eq!(soon(async { 8 }).await, 8);
    }
}
