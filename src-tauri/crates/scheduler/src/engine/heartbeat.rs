//! The heartbeat: plans, requests and starts turns of the main session.
//!
//! A skipped turn makes no run; the reason is stored for the status. Without a model no turn is scheduled.

use std::time::Duration;

use rouse_core::decide::Firing;
use rouse_core::event::EventKind;
use rouse_core::{RunTrigger, UnixMs};
use rouse_store::{PENDING_MAIN_TURN, StoreError};
use serde_json::{Value, json};

use super::Engine;
use crate::config::HeartbeatConfig;
use crate::state::heartbeat::{MIN_INTERVAL_MS, TurnRequest, next_turn};
use crate::state::queued_run::new_run;
use crate::status::{HeartbeatSkip, HeartbeatSnapshot, PendingReason};

const ANCHOR: &str = "heartbeat.anchorMs";
const LAST_SKIP: &str = "heartbeat.lastSkip";

const OFF: &str = "The heartbeat is off";
const PAUSED: &str = "Everything is paused";
const NO_MODEL: &str = "No model is set up";
const STILL_ACTIVE: &str = "The previous turn was still active";
const OUTSIDE_HOURS: &str = "Outside the active hours";
const NOTHING_TO_DO: &str = "Nothing to do: no event is queued and HEARTBEAT.md is empty";

impl Engine {
    /// Loads the stored request and skip, and plans the next turn by the settings.
    pub(super) async fn load_heartbeat(&mut self) -> Result<(), StoreError> {
        let last_skip = self.store.setting(LAST_SKIP).await?;
        let field = |name: &str| last_skip.as_ref().and_then(|skip| skip.get(name));
        let (reason, at) = (text(field("reason")), field("atMs").and_then(Value::as_i64));
        self.heartbeat.last_skip =
            reason.zip(at).map(|(reason, at)| HeartbeatSkip { reason, at: UnixMs(at) });
        self.heartbeat.is_skip_outdated = field("isOver").and_then(Value::as_bool).unwrap_or(false);
        let pending = self.store.setting(PENDING_MAIN_TURN).await?;
        if let Some(reason) = text(pending.as_ref())
            && self.heartbeat.request.is_none()
        {
            let request = TurnRequest::new(&reason, Duration::ZERO, false);
            self.heartbeat.request = Some(TurnRequest { is_stored: true, ..request });
        }
        if let Some(started_at) = self.store.last_main_turn_started_at().await? {
            self.request_turn_for_leftover_events(started_at).await?;
        }
        self.plan_heartbeat().await
    }

    async fn plan_heartbeat(&mut self) -> Result<(), StoreError> {
        self.heartbeat.is_stale = false;
        if !self.config.heartbeat.enabled || !self.model.is_present() {
            self.heartbeat.next_at = None;
            return Ok(());
        }
        let now = self.clock.now();
        let stored = self.store.setting(ANCHOR).await?.as_ref().and_then(Value::as_i64);
        // An anchor in the future is from a clock that was ahead, and would silence the heartbeat until then.
        let anchor = match stored.filter(|anchor| *anchor <= now.0) {
            Some(anchor) => anchor,
            None => {
                self.store.put_setting(ANCHOR, &json!(now.0), None, now).await?;
                now.0
            }
        };
        self.heartbeat.next_at = next_turn(&self.config.heartbeat, &self.zones.zones, anchor, now);
        Ok(())
    }

    /// Plans the next turn after a change of clock, zone or rules. A turn that is due already is not moved.
    pub(super) async fn replan_heartbeat(&mut self) -> Result<(), StoreError> {
        let now = self.clock.now();
        if self.heartbeat.next_at.is_some_and(|at| at <= now) {
            return Ok(());
        }
        self.plan_heartbeat().await
    }

    /// Starts requested and scheduled turns. Not before recovery, which may find a turn.
    pub(super) async fn start_heartbeat_turns(&mut self) -> Result<(), StoreError> {
        if !self.is_recovered {
            return Ok(());
        }
        self.start_requested_turn().await?;
        if self.heartbeat.is_stale {
            self.plan_heartbeat().await?;
        }
        let now = self.clock.now();
        if self.heartbeat.next_at.is_none_or(|at| at > now) {
            return Ok(());
        }
        match self.heartbeat_skip_reason().await? {
            Some(reason) => self.skip_heartbeat(&reason, now).await?,
            None => self.insert_heartbeat_run("interval", now).await?,
        }
        self.plan_heartbeat().await
    }

    /// Whether requested turns may start: there is a model, and nothing is paused.
    pub(super) fn may_request_turn(&self) -> bool {
        self.model.is_present() && self.firing_at(self.clock.now()) == Firing::On
    }

    /// Notifies the host whether a request waits for a model, possibly from a server that starts later.
    pub(super) fn report_awaited_model(&self) {
        let is_awaited = !self.model.is_present() && self.heartbeat.request.is_some();
        self.model.set_awaited(is_awaited);
    }

    async fn start_requested_turn(&mut self) -> Result<(), StoreError> {
        let Some(request) = &self.heartbeat.request else { return Ok(()) };
        let now = self.clock.monotonic();
        let due_at = self.heartbeat.request_due_at().filter(|_| self.may_request_turn());
        if due_at.is_none_or(|at| at > now) {
            return self.store_request().await;
        }
        let reason = request.reason.clone();
        let is_needed = !request.only_for_events || self.has_queued_event().await?;
        if is_needed {
            self.insert_heartbeat_run(&reason, self.clock.now()).await?;
            self.heartbeat.count_requested_turn(now);
        }
        self.forget_request().await
    }

    /// Stores a waiting request, so that the request survives a crash.
    async fn store_request(&mut self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let Some(request) = &mut self.heartbeat.request else { return Ok(()) };
        if !request.is_stored {
            let event = (EventKind::Heartbeat, json!({ "pending": true }));
            self.store
                .put_setting(PENDING_MAIN_TURN, &json!(request.reason), Some(event), now)
                .await?;
            request.is_stored = true;
        }
        Ok(())
    }

    async fn forget_request(&mut self) -> Result<(), StoreError> {
        if self.heartbeat.request.as_ref().is_some_and(|request| request.is_stored) {
            let (now, event) =
                (self.clock.now(), (EventKind::Heartbeat, json!({ "pending": false })));
            self.store.put_setting(PENDING_MAIN_TURN, &Value::Null, Some(event), now).await?;
        }
        self.heartbeat.request = None;
        Ok(())
    }

    async fn heartbeat_skip_reason(&self) -> Result<Option<String>, StoreError> {
        let now = self.clock.now();
        if let Firing::Off(reason) | Firing::Restored(reason) = self.firing_at(now) {
            return Ok(Some(reason));
        }
        // The turn was planned within the hours, but the computer may have been suspended since.
        let hours = self.config.heartbeat.active_hours.as_ref();
        if hours.is_some_and(|hours| !hours.contains(now, &self.zones.zones)) {
            return Ok(Some(OUTSIDE_HOURS.to_owned()));
        }
        if self.heartbeat.has_run {
            return Ok(Some(STILL_ACTIVE.to_owned()));
        }
        let has_work = self.has_queued_event().await? || self.main_session.has_work().await;
        Ok((!has_work).then(|| NOTHING_TO_DO.to_owned()))
    }

    async fn has_queued_event(&self) -> Result<bool, StoreError> {
        Ok(!self.store.pending_system_events(1).await?.is_empty())
    }

    /// Stores why a turn was skipped.
    pub(super) async fn skip_heartbeat(
        &mut self,
        reason: &str,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let skip = json!({ "reason": reason, "atMs": now.0 });
        let event = (EventKind::Heartbeat, json!({ "skipped": reason }));
        self.store.put_setting(LAST_SKIP, &skip, Some(event), now).await?;
        tracing::debug!(name = "Heartbeat", reason, "a heartbeat turn was skipped");
        self.heartbeat.last_skip = Some(HeartbeatSkip { reason: reason.to_owned(), at: now });
        self.heartbeat.is_skip_outdated = false;
        Ok(())
    }

    async fn insert_heartbeat_run(&mut self, reason: &str, now: UnixMs) -> Result<(), StoreError> {
        let payload = json!({ "kind": "heartbeat", "reason": reason });
        let run = new_run(None, RunTrigger::Heartbeat, payload, now);
        self.store.insert_run(&run, now).await?;
        self.heartbeat.begin_run();
        self.enqueue(run, None);
        if let Some(HeartbeatSkip { reason, at }) = &self.heartbeat.last_skip
            && !self.heartbeat.is_skip_outdated
        {
            let skip = json!({ "reason": reason, "atMs": at.0, "isOver": true });
            self.store.put_setting(LAST_SKIP, &skip, None, now).await?;
            self.heartbeat.is_skip_outdated = true;
        }
        Ok(())
    }

    /// Requests a turn for the undrained events that were queued before the ended turn.
    pub(super) async fn request_turn_for_leftover_events(
        &mut self,
        started_at: UnixMs,
    ) -> Result<(), StoreError> {
        let queued = self.store.pending_system_events(1).await?;
        if queued.first().is_some_and(|event| event.queued_at < started_at) {
            self.heartbeat.request_for_events("more events");
        }
        Ok(())
    }

    pub(super) fn heartbeat_status(&self) -> HeartbeatSnapshot {
        let HeartbeatConfig { enabled, every_ms, ref active_hours } = self.config.heartbeat;
        let timer = &self.heartbeat;
        let last_skip = timer.last_skip.clone();
        let current_skip = last_skip.as_ref().filter(|_| !timer.is_skip_outdated);
        let off_reason = self.heartbeat_off_reason();
        HeartbeatSnapshot {
            enabled,
            every_ms: every_ms.max(MIN_INTERVAL_MS),
            active_hours: active_hours
                .as_ref()
                .map(|hours| hours.describe_in(self.zones.zones.local())),
            next_at: timer.next_at.filter(|_| off_reason.is_none()),
            last_skip_reason: off_reason.or_else(|| current_skip.map(|skip| skip.reason.clone())),
            last_skip,
            pending: self.pending_reason(),
            last_request: timer.last_request.clone(),
        }
    }

    /// Why no turn comes by schedule. Settings go before a missing model.
    fn heartbeat_off_reason(&self) -> Option<String> {
        if !self.config.heartbeat.enabled {
            return Some(OFF.to_owned());
        }
        // A pause that is over by the next turn does not matter.
        let at = self.heartbeat.next_at.unwrap_or_else(|| self.clock.now());
        self.no_firing_reason(at)
            .or_else(|| (!self.model.is_present()).then(|| NO_MODEL.to_owned()))
    }

    fn pending_reason(&self) -> Option<PendingReason> {
        let pending =
            self.heartbeat.pending_reason(self.model.is_present(), self.clock.monotonic())?;
        let firing = self.no_firing_reason(self.clock.now()).map(PendingReason::Firing);
        Some(firing.unwrap_or(pending))
    }

    /// Why nothing fires at `at`: a sentence in the present tense, without the full stop.
    fn no_firing_reason(&self, at: UnixMs) -> Option<String> {
        if self.firing_at(at) == Firing::On {
            None
        } else if self.config.firing {
            Some(PAUSED.to_owned())
        } else {
            Some(self.config.off_reason.trim_end_matches('.').to_owned())
        }
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}
