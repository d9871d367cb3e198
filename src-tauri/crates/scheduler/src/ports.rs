//! The ports of the scheduler to other rooms.

use rouse_core::tool::BoxFuture;
use rouse_core::{Job, Outcome, Run};
use tokio_util::sync::CancellationToken;

/// Executes an attempt of a run. The scheduler owns time limits, retries, notifications and the job_effect.
pub trait Runner: Send + Sync + 'static {
    /// Executes the payload of `run`. `job` is the job at the start; none for a turn of the main session. After
    /// `cancel` the future has two seconds before it is dropped.
    fn run(
        &self,
        run: Run,
        job: Option<Job>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Outcome>;
}

/// Observes the start and the end of runs, after the commit. Must return quickly.
///
/// A run starts with the first attempt and ends once, for any reason; a run that never started is not reported.
/// Delivery is at most once: a crash between the commit and the call loses the call.
pub trait RunHooks: Send + Sync + 'static {
    /// The first attempt of `run` starts.
    fn started(&self, run: &Run);

    /// `run` had started and has ended, with the state in the row.
    fn finished(&self, run: &Run);
}

/// No observer.
impl RunHooks for () {
    fn started(&self, _: &Run) {}

    fn finished(&self, _: &Run) {}
}

/// The main session, as a port of the heartbeat.
pub trait MainSession: Send + Sync + 'static {
    /// Whether a turn would have work: a queued system event, or text in `HEARTBEAT.md`. Must be quick.
    fn has_work(&self) -> BoxFuture<'_, bool>;
}
