//! Waiting for the reply of a connection's thread.
//!
//! Owns the two ways to wait. In the product a task polls for some microseconds before it sleeps: waking a sleeping task
//! takes longer than most statements. In a proof the thread of the runtime blocks, so no other task runs meanwhile and
//! every run has the same order of tasks. Never spins on a machine with one core.
//! Pitfall: blocking for work that another task of the same thread must do first; only database replies are awaited here.

use std::cell::Cell;
use std::future::Future;
use std::num::NonZero;
use std::pin::{Pin, pin};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread, available_parallelism};

use tokio::task::unconstrained;

/// Polls before the task sleeps: together some twenty microseconds.
const POLLS: u32 = 40;
/// Spins between two polls, so that the other thread can reply.
const SPINS: u32 = 32;

static POLLS_HERE: LazyLock<u32> = LazyLock::new(|| {
    let cores = available_parallelism().map_or(1, NonZero::get);
    if cores > 1 { POLLS } else { 0 }
});

thread_local! {
    static BLOCKS: Cell<bool> = const { Cell::new(false) };
}

/// Makes this thread block while it waits for the database. For proofs: in a runtime of one thread the order of tasks then
/// depends on the program alone, not on how busy the machine is.
pub fn block_while_waiting() {
    BLOCKS.set(true);
}

/// Whether this thread blocks while it waits for the database.
pub(crate) fn is_blocking() -> bool {
    BLOCKS.get()
}

/// Awaits `work`, which needs only the thread of a connection.
pub(crate) async fn await_reply<F: Future>(work: F) -> F::Output {
    if is_blocking() {
        // Without the runtime's budget: once that is used up, the work would wait for the blocked thread to yield.
        return block_on(pin!(unconstrained(work)));
    }
    let mut work = pin!(work);
    match spin(work.as_mut()) {
        Some(output) => output,
        None => work.await,
    }
}

fn spin<F: Future>(mut work: Pin<&mut F>) -> Option<F::Output> {
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..*POLLS_HERE {
        if let Poll::Ready(output) = work.as_mut().poll(&mut context) {
            return Some(output);
        }
        for _ in 0..SPINS {
            std::hint::spin_loop();
        }
    }
    None
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(mut work: Pin<&mut F>) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match work.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{await_reply, block_while_waiting};

    #[tokio::test]
    async fn late_reply_lets_the_task_sleep() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        // The sender runs on this thread, so only while the test sleeps.
        tokio::spawn(async move { sender.send(7) });
        assert_eq!(await_reply(receiver).await, Ok(7));
        assert_eq!(await_reply(async { 8 }).await, 8);
    }

    #[tokio::test]
    async fn blocked_thread_runs_no_other_task() {
        block_while_waiting();
        let other = tokio::spawn(async { 1 });
        let (sender, receiver) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || sender.send(7));
        assert_eq!(await_reply(receiver).await, Ok(7));
        assert!(!other.is_finished());
    }
}
