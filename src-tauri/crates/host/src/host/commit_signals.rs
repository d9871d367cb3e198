//! The signals after a commit of the store.
//!
//! Owns one signal per task that waits for commits. Never reads the store: the listener runs while the writer is locked.

use std::sync::Arc;

use rouse_core::event::{Event, EventKind};
use rouse_gateway::EventBus;
use rouse_store::EventListener;
use tokio::sync::Notify;

use crate::retention::FinishedRuns;

/// The signals after a commit. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct CommitSignals {
    /// After every commit and every gateway call. Memory is released when activity stops.
    pub(super) activity: Arc<Notify>,
    /// After every commit, for backups.
    pub(super) backups: Arc<Notify>,
    /// After every commit, for the refresh of sign-ins.
    pub(super) sign_ins: Arc<Notify>,
    /// After every change of a run, for the end of waiting coding agents.
    pub(super) runs: Arc<Notify>,
    /// After every change of a delivery.
    pub(super) outbox: Arc<Notify>,
    /// After every change of an approval or a delivery, for the messages of ended approvals.
    pub(super) sent_requests: Arc<Notify>,
}

impl CommitSignals {
    /// Publishes the events of a commit to clients, counts finished runs, and sends the signals.
    pub(super) fn listener(
        &self,
        events: EventBus,
        finished_runs: Arc<FinishedRuns>,
    ) -> EventListener {
        let signals = self.clone();
        Arc::new(move |committed: &[Event]| {
            finished_runs.count(committed);
            [&signals.activity, &signals.backups, &signals.sign_ins]
                .into_iter()
                .for_each(|signal| signal.notify_one());
            let has = |kind: EventKind| committed.iter().any(|event| event.kind == kind);
            let has_deliveries = has(EventKind::Delivery);
            if has_deliveries {
                signals.outbox.notify_one();
            }
            if has(EventKind::Run) {
                signals.runs.notify_one();
            }
            if has_deliveries || has(EventKind::Approval) {
                signals.sent_requests.notify_one();
            }
            events.publish(committed);
        })
    }
}
