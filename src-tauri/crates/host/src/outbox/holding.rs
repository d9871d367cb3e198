//! Quiet hours and digests: which deliveries wait, and which share one message.
//!
//! Owns the hold until quiet hours end, the digest of a night, and the digest of many runs that ended alike. All rules hold
//! for every channel. A digest has the deliveries of one route. Pitfall: delaying approvals with a digest; each approval is
//! announced on its own.

use std::collections::HashMap;

use rouse_core::channel::{ChannelName, MessageKind, Route};
use rouse_core::decide::{build_digest, build_mass_digest};
use rouse_core::delivery::Delivery;
use rouse_core::{DeliveryId, RunId, RunState, UnixMs};
use rouse_store::StoreError;

use super::OutboxParts;

/// Deliveries read at once. A claim covers at most 512 jobs, so a mass digest fits.
const BATCH: u32 = 1_000;

impl OutboxParts {
    /// Replaces many missed or interrupted runs on one route, for example after a weekend or a crash, by one digest each.
    pub(super) async fn collect_digests(&self, channel: &ChannelName) -> Result<(), StoreError> {
        let now = self.clock.now();
        let due = self.store.due_deliveries(channel, now, BATCH).await?;
        let runs: Vec<RunId> = due.iter().filter_map(|delivery| delivery.run_id.clone()).collect();
        let states = self.store.run_states(&runs).await?;
        let mut groups: HashMap<(Route, RunState), Vec<Delivery>> = HashMap::new();
        for delivery in due {
            let run = delivery
                .run_id
                .as_ref()
                .filter(|_| !delivery.is_repeat() && self.quiet_until(&delivery, now).is_none());
            if let Some((_, state)) = run.and_then(|id| states.get(id)) {
                groups.entry((delivery.route.clone(), *state)).or_default().push(delivery);
            }
        }
        for ((route, state), group) in groups {
            let id = DeliveryId::of_digest(now);
            if let Some(digest) = build_mass_digest(&group, state, &route, id) {
                let ids: Vec<DeliveryId> = group.into_iter().map(|delivery| delivery.id).collect();
                self.store.digest_deliveries(&ids, &digest, now).await?;
            }
        }
        Ok(())
    }

    /// The end of the quiet hours for `delivery`; none if the delivery may be sent now.
    pub(super) fn quiet_until(&self, delivery: &Delivery, now: UnixMs) -> Option<UnixMs> {
        let settings = self.settings.borrow();
        let hours = delivery.quiet_hours.hours(settings.quiet_hours.as_ref())?;
        hours.ends_at(now, self.clock.zones())
    }

    /// Releases deliveries whose quiet hours are over: approvals and a single result of a route on their own, several
    /// results as a digest. Returns the end of the next quiet hours.
    pub(super) async fn release_held(&self) -> Result<Option<UnixMs>, StoreError> {
        let now = self.clock.now();
        let (mut results, mut ends) = (Vec::<(Route, Vec<Delivery>)>::new(), None);
        let mut has_moved = false;
        for delivery in self.store.held_deliveries().await? {
            let is_approval = delivery.kind == MessageKind::Approval;
            match self.quiet_until(&delivery, now) {
                None if is_approval => {
                    self.store.release_approval(&delivery.id, now).await?;
                    has_moved = true;
                }
                // A digest would not be marked as a repeat.
                None if delivery.is_repeat() => {
                    self.store.release_delivery(&delivery.id, now).await?;
                }
                None => match results.iter_mut().find(|(route, _)| *route == delivery.route) {
                    Some((_, group)) => group.push(delivery),
                    None => results.push((delivery.route.clone(), vec![delivery])),
                },
                Some(until) => {
                    if delivery.held_until != Some(until) {
                        self.store.hold_delivery(&delivery.id, until, now).await?;
                        has_moved = has_moved || is_approval;
                    }
                    ends = ends.into_iter().chain([until]).min();
                }
            }
        }
        if has_moved {
            self.announce_moved_deadlines().await;
        }
        for (route, group) in results {
            self.release_results(&route, &group, now).await?;
        }
        Ok(ends)
    }

    async fn release_results(
        &self,
        route: &Route,
        results: &[Delivery],
        now: UnixMs,
    ) -> Result<(), StoreError> {
        if let [single] = results {
            return self.store.release_delivery(&single.id, now).await;
        }
        let ids: Vec<DeliveryId> = results.iter().map(|held| held.id.clone()).collect();
        let runs: Vec<RunId> = results.iter().filter_map(|held| held.run_id.clone()).collect();
        let announced = self.store.announced_runs(&runs).await?;
        let digest = build_digest(results, &announced, route, DeliveryId::of_digest(now));
        self.store.digest_deliveries(&ids, &digest, now).await
    }

    /// Tells the scheduler that approval deadlines moved with the quiet hours.
    async fn announce_moved_deadlines(&self) {
        if let Err(error) = self.scheduler.approvals_moved().await {
            tracing::debug!(%error, "the next start reads the approval deadlines");
        }
    }
}
