//! The engine's inbox: requests and ended attempts, in turns, so that neither starves the other.

use std::future::poll_fn;
use std::task::Poll;

use tokio::sync::mpsc;

use super::active_runs::{ActiveRuns, AttemptResult};
use crate::handle::EngineRequest;

/// Requests to the engine.
pub(crate) struct Inbox {
    requests: mpsc::UnboundedReceiver<EngineRequest>,
    polls_attempts_first: bool,
}

/// A request or an ended attempt.
#[expect(
    clippy::large_enum_variant,
    reason = "a single item lives at a time, so a box would only add an allocation"
)]
pub(crate) enum InboxItem {
    /// None once no handle is left.
    Request(Option<EngineRequest>),
    Attempt(AttemptResult),
}

impl Inbox {
    pub(crate) const fn new(requests: mpsc::UnboundedReceiver<EngineRequest>) -> Self {
        Self { requests, polls_attempts_first: false }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    pub(crate) fn try_next_request(&mut self) -> Option<EngineRequest> {
        self.requests.try_recv().ok()
    }

    /// Waits for the next request or ended attempt.
    pub(crate) async fn next(&mut self, active: &mut ActiveRuns) -> InboxItem {
        self.polls_attempts_first = !self.polls_attempts_first;
        poll_fn(|context| {
            if self.polls_attempts_first
                && let Poll::Ready(result) = active.poll_result(context)
            {
                return Poll::Ready(InboxItem::Attempt(result));
            }
            if let Poll::Ready(request) = self.requests.poll_recv(context) {
                return Poll::Ready(InboxItem::Request(request));
            }
            active.poll_result(context).map(InboxItem::Attempt)
        })
        .await
    }
}
