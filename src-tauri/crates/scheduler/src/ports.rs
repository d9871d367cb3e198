//! What the scheduler asks of the rooms around it.

use rouse_core::tool::BoxFuture;
use rouse_core::{Job, Outcome, Run};
use tokio_util::sync::CancellationToken;

/// Does the work of one attempt of a run, and nothing around it: time limit, attempts, announcements and the fate of
/// the job are the scheduler's.
pub trait Runner: Send + Sync + 'static {
    /// Works on `run`. `job` is its job as it stands at the start, none for a beat of the heartbeat; the payload to work
    /// on is the run's own. When `cancel` is cancelled there are two seconds left before the future is dropped.
    fn run(
        &self,
        run: Run,
        job: Option<Job>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Outcome>;
}

/// Is told of runs when what it is told is on the disk. The engine does not wait, so whoever has much to do does it
/// elsewhere.
///
/// A run is told once that it begins, with its first attempt, and once that it is over, by whatever ended it. One that
/// never began is told neither way. Each is told at most once: the end of the process between the disk and the telling
/// loses it, and nothing is told again by the next life.
pub trait RunHooks: Send + Sync + 'static {
    /// The first attempt of `run` begins.
    fn started(&self, run: &Run);

    /// `run` has begun some time and is over; the row says how.
    fn finished(&self, run: &Run);
}

/// Nobody is told.
impl RunHooks for () {
    fn started(&self, _: &Run) {}

    fn finished(&self, _: &Run) {}
}

/// What the heartbeat must know of the main session.
pub trait MainSession: Send + Sync + 'static {
    /// Whether a beat would have anything to do: an event waits, or `HEARTBEAT.md` says something. Must be quick.
    fn has_work(&self) -> BoxFuture<'_, bool>;
}
