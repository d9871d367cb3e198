//! The heartbeat: when the main session gets a turn.
//!
//! Beats lie on a grid that hangs on a stored anchor, so neither a restart nor a long beat moves it. A request (a wake,
//! a reminder) gets its turn at once: without a model it waits for one, and while a beat is going it waits for its end
//! and becomes a turn only if there is still an event to see. Any number of requests are one turn. A beat that is left
//! out makes no run; the reason is kept. One could get it wrong by counting beats from the last one, or by letting a
//! request count as taken before there is a run to take it.

use rouse_core::decide::Firing;
use rouse_core::event::EventKind;
use rouse_core::schedule::every_next_after;
use rouse_core::{RunTrigger, UnixMs};
use rouse_store::StoreError;
use serde_json::{Value, json};

use crate::HeartbeatStatus;
use crate::engine::Engine;
use crate::tick::new_run;

const ANCHOR: &str = "heartbeat.anchorMs";
const PENDING: &str = "heartbeat.pending";
const LAST_SKIP: &str = "heartbeat.lastSkip";
const LEAST_EVERY_MS: i64 = 1_000;

const NO_MODEL: &str = "No model is set up";
const STILL_GOING: &str = "The beat before was still going";
const NOTHING_TO_DO: &str = "There was nothing to do: no event waits and HEARTBEAT.md is empty";

/// What the engine knows of the heartbeat.
#[derive(Debug, Default)]
pub(crate) struct Heartbeat {
    next_at: Option<UnixMs>,
    request: Option<Asked>,
    last_skip: Option<String>,
    /// Whether a beat waits in its lane or is at work.
    has_run: bool,
}

/// A request that has no run yet.
#[derive(Debug)]
struct Asked {
    reason: String,
    /// It came while a beat was going, which may have seen to everything.
    only_for_events: bool,
    is_stored: bool,
}

impl Heartbeat {
    /// Asks for a turn.
    pub(crate) fn request(&mut self, reason: &str) {
        self.ask(reason, self.has_run);
    }

    /// Asks for a turn if an event waits by then.
    pub(crate) fn request_for_events(&mut self, reason: &str) {
        self.ask(reason, true);
    }

    fn ask(&mut self, reason: &str, only_for_events: bool) {
        let reason = reason.to_owned();
        self.request.get_or_insert(Asked { reason, only_for_events, is_stored: false });
    }

    /// The run of a beat is over.
    pub(crate) const fn beat_ended(&mut self) {
        self.has_run = false;
    }

    /// A beat was found in its lane; false when there was one already.
    pub(crate) const fn takes_over(&mut self) -> bool {
        !std::mem::replace(&mut self.has_run, true)
    }

    /// When the next beat comes by itself.
    pub(crate) const fn next_at(&self) -> Option<UnixMs> {
        self.next_at
    }
}

impl Engine {
    /// Reads what an earlier life left, and plans the next beat by the settings.
    pub(crate) async fn load_heartbeat(&mut self) -> Result<(), StoreError> {
        let last_skip = self.store.setting(LAST_SKIP).await?;
        self.heartbeat.last_skip = text(last_skip.as_ref().and_then(|skip| skip.get("reason")));
        let pending = self.store.setting(PENDING).await?;
        if let Some(reason) = text(pending.as_ref())
            && self.heartbeat.request.is_none()
        {
            let only_for_events = false;
            self.heartbeat.request = Some(Asked { reason, only_for_events, is_stored: true });
        }
        self.plan_beat().await
    }

    pub(crate) async fn plan_beat(&mut self) -> Result<(), StoreError> {
        if !self.config.heartbeat.enabled {
            self.heartbeat.next_at = None;
            return Ok(());
        }
        let now = self.clock.now();
        let stored = self.store.setting(ANCHOR).await?.as_ref().and_then(Value::as_i64);
        // An anchor in the future was made by a clock that was ahead, and would silence the heartbeat until then.
        let anchor = match stored.filter(|anchor| *anchor <= now.0) {
            Some(anchor) => anchor,
            None => {
                self.store.put_setting(ANCHOR, &json!(now.0), None, now).await?;
                now.0
            }
        };
        let every = self.config.heartbeat.every_ms.max(LEAST_EVERY_MS);
        self.heartbeat.next_at = every_next_after(anchor, every, now.0).map(UnixMs);
        Ok(())
    }

    /// Takes requests up and beats when it is time.
    pub(crate) async fn beat_if_wanted(&mut self) -> Result<(), StoreError> {
        self.take_request_up().await?;
        let now = self.clock.now();
        if self.heartbeat.next_at.is_none_or(|at| at > now) {
            return Ok(());
        }
        match self.reason_to_skip().await? {
            Some(reason) => self.skip_beat(&reason, now).await?,
            None => self.insert_beat("interval", now).await?,
        }
        self.plan_beat().await
    }

    async fn take_request_up(&mut self) -> Result<(), StoreError> {
        let Some(asked) = &self.heartbeat.request else { return Ok(()) };
        if !self.has_model || self.heartbeat.has_run {
            return self.store_request().await;
        }
        let reason = asked.reason.clone();
        let is_wanted =
            !asked.only_for_events || !self.store.pending_system_events().await?.is_empty();
        if is_wanted {
            self.insert_beat(&reason, self.clock.now()).await?;
        }
        self.forget_request().await
    }

    /// A request that has to wait survives the end of the process.
    async fn store_request(&mut self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let Some(asked) = &mut self.heartbeat.request else { return Ok(()) };
        if !asked.is_stored {
            let event = (EventKind::Heartbeat, json!({ "pending": true }));
            self.store.put_setting(PENDING, &json!(asked.reason), Some(event), now).await?;
            asked.is_stored = true;
        }
        Ok(())
    }

    async fn forget_request(&mut self) -> Result<(), StoreError> {
        if self.heartbeat.request.as_ref().is_some_and(|asked| asked.is_stored) {
            let event = (EventKind::Heartbeat, json!({ "pending": false }));
            self.store.put_setting(PENDING, &Value::Null, Some(event), self.clock.now()).await?;
        }
        self.heartbeat.request = None;
        Ok(())
    }

    async fn reason_to_skip(&self) -> Result<Option<String>, StoreError> {
        if let Firing::Off(reason) = self.firing_at(self.clock.now()) {
            return Ok(Some(reason));
        }
        if self.heartbeat.has_run {
            return Ok(Some(STILL_GOING.to_owned()));
        }
        if !self.has_model {
            return Ok(Some(NO_MODEL.to_owned()));
        }
        let has_work = !self.store.pending_system_events().await?.is_empty()
            || self.main_session.has_work().await;
        Ok((!has_work).then(|| NOTHING_TO_DO.to_owned()))
    }

    async fn skip_beat(&mut self, reason: &str, now: UnixMs) -> Result<(), StoreError> {
        let skip = json!({ "reason": reason, "atMs": now.0 });
        let event = (EventKind::Heartbeat, json!({ "skipped": reason }));
        self.store.put_setting(LAST_SKIP, &skip, Some(event), now).await?;
        tracing::debug!(reason, "a beat was left out");
        self.heartbeat.last_skip = Some(reason.to_owned());
        Ok(())
    }

    async fn insert_beat(&mut self, reason: &str, now: UnixMs) -> Result<(), StoreError> {
        let payload = json!({ "kind": "heartbeat", "reason": reason });
        let run = new_run(None, RunTrigger::Heartbeat, payload, now);
        self.store.insert_run(&run, now).await?;
        self.heartbeat.takes_over();
        self.enqueue(run, None);
        if self.heartbeat.last_skip.take().is_some() {
            self.store.put_setting(LAST_SKIP, &Value::Null, None, now).await?;
        }
        Ok(())
    }

    pub(crate) fn heartbeat_status(&self) -> HeartbeatStatus {
        HeartbeatStatus {
            enabled: self.config.heartbeat.enabled,
            every_ms: self.config.heartbeat.every_ms.max(LEAST_EVERY_MS),
            next_at: self.heartbeat.next_at,
            last_skip_reason: self.heartbeat.last_skip.clone(),
            pending: self.heartbeat.request.is_some(),
        }
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}
