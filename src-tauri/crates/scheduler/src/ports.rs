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

/// What the heartbeat must know of the main session.
pub trait MainSession: Send + Sync + 'static {
    /// Whether a beat would have anything to do: an event waits, or `HEARTBEAT.md` says something. Must be quick.
    fn has_work(&self) -> BoxFuture<'_, bool>;
}
