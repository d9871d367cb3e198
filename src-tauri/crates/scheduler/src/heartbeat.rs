//! The heartbeat: when the main session gets a turn.
//!
//! Beats lie on a grid that hangs on a stored anchor, so neither a restart nor a long beat moves it. A request (a wake,
//! a reminder) gets its turn at once: without a model it waits for one, and while a beat is going it waits for its end
//! and becomes a turn only if there is still an event to see. Requests that come together are one turn, and a flood of
//! them is a few turns a minute: each may cost money. A beat that is left out makes no run; the reason is kept. Without
//! a model it does not beat at all. One could get it wrong by counting beats from the last one, or by letting a request
//! count as taken before there is a run to take it.

use std::collections::VecDeque;
use std::time::Duration;

use rouse_core::decide::Firing;
use rouse_core::event::EventKind;
use rouse_core::schedule::every_next_after;
use rouse_core::{RunTrigger, UnixMs};
use rouse_store::{PENDING_TURN, StoreError};
use serde_json::{Value, json};

use crate::engine::Engine;
use crate::tick::new_run;
use crate::{HeartbeatConfig, HeartbeatStatus, LastRequest, LastSkip, Pending};

const ANCHOR: &str = "heartbeat.anchorMs";
const LAST_SKIP: &str = "heartbeat.lastSkip";
const LEAST_EVERY_MS: i64 = 1_000;
/// Requests for a turn that come within this are one, where nobody says otherwise.
pub const COALESCE: Duration = Duration::from_millis(250);
/// How long after a turn that no model has answered it is asked for again, doubled each time up to the most.
const AGAIN: Duration = Duration::from_secs(60);
const MOST_AGAIN: Duration = Duration::from_secs(30 * 60);
/// Turns that were asked for within `FLOOD_SPAN`; more wait.
const MOST_ASKED: usize = 6;
const FLOOD_SPAN: Duration = Duration::from_secs(60);

const OFF: &str = "It is switched off";
const PAUSED: &str = "Everything is paused";
const NO_MODEL: &str = "No model is set up";
const STILL_GOING: &str = "The beat before was still going";
const OUTSIDE_HOURS: &str = "It was not one of its active hours any more";
const NOTHING_TO_DO: &str = "There was nothing to do: no event waits and HEARTBEAT.md is empty";

/// What the engine knows of the heartbeat.
#[derive(Debug, Default)]
pub(crate) struct Heartbeat {
    next_at: Option<UnixMs>,
    request: Option<Asked>,
    last_request: Option<LastRequest>,
    last_skip: Option<LastSkip>,
    /// Whether a beat came since.
    skip_is_over: bool,
    /// Whether a beat waits in its lane or is at work.
    has_run: bool,
    /// Whether the next beat must be planned anew.
    is_stale: bool,
    /// Turns in a row that no model has answered.
    unanswered: u32,
    /// When the latest turns that were asked for began, the oldest first.
    given: VecDeque<Duration>,
}

/// A request that has no run yet.
#[derive(Debug)]
struct Asked {
    reason: String,
    /// Others that come until then are the same request.
    not_before: Duration,
    /// It came while a beat was going, which may have seen to everything.
    only_for_events: bool,
    /// It comes after one that no model has answered, and takes its time.
    is_again: bool,
    is_stored: bool,
}

impl Heartbeat {
    /// Asks for a turn at the monotonic instant `until`, which stands for every request until then. One that gathers for
    /// less long is not held up by one before it.
    pub(crate) fn request(&mut self, reason: &str, now: UnixMs, until: Duration) {
        self.last_request = Some(LastRequest { reason: reason.to_owned(), at: now });
        self.ask(reason, until, self.has_run);
        if let Some(asked) = &mut self.request {
            asked.not_before = asked.not_before.min(until);
            asked.is_again = false;
        }
    }

    /// The same for a request that is on the disk.
    pub(crate) fn request_stored(&mut self, reason: &str, now: UnixMs, until: Duration) {
        self.request(reason, now, until);
        if let Some(asked) = &mut self.request {
            asked.is_stored = true;
        }
    }

    /// Asks once more after a turn that no model has answered, if an event waits by then: later each time.
    pub(crate) fn request_again(&mut self, now: Duration) {
        let wait = AGAIN * 2_u32.saturating_pow(self.unanswered.min(16));
        self.unanswered += 1;
        let (reason, not_before) = ("no answer before".to_owned(), now + wait.min(MOST_AGAIN));
        self.request.get_or_insert(Asked {
            reason,
            not_before,
            only_for_events: true,
            is_again: true,
            is_stored: false,
        });
    }

    /// Whether the request is one of those, and not yet due.
    fn waits_for_answer(&self) -> bool {
        self.request.as_ref().is_some_and(|asked| asked.is_again)
    }

    /// A turn was answered.
    pub(crate) const fn has_gone_well(&mut self) {
        self.unanswered = 0;
    }

    /// Asks for a turn if an event waits by then.
    pub(crate) fn request_for_events(&mut self, reason: &str) {
        self.ask(reason, Duration::ZERO, true);
    }

    fn ask(&mut self, reason: &str, not_before: Duration, only_for_events: bool) {
        let reason = reason.to_owned();
        let asked =
            Asked { reason, not_before, only_for_events, is_again: false, is_stored: false };
        self.request.get_or_insert(asked);
    }

    /// There is a model now, or none any more.
    pub(crate) const fn model_changed(&mut self) {
        self.is_stale = true;
    }

    /// When a request that waits for its time, and for nothing else, gets its turn.
    pub(crate) fn asked_at(&self, may_ask: bool) -> Option<Duration> {
        let asked = self.request.as_ref().filter(|_| may_ask && !self.has_run)?;
        Some(asked.not_before.max(self.flood_ends_at()))
    }

    /// Before that, another turn that was asked for would be one too many.
    fn flood_ends_at(&self) -> Duration {
        match self.given.len().checked_sub(MOST_ASKED) {
            Some(index) => self.given[index] + FLOOD_SPAN,
            None => Duration::ZERO,
        }
    }

    fn gives_turn(&mut self, now: Duration) {
        self.given.push_back(now);
        if self.given.len() > MOST_ASKED {
            self.given.pop_front();
        }
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
        let of_skip = |name: &str| last_skip.as_ref().and_then(|skip| skip.get(name));
        let (reason, at) = (text(of_skip("reason")), of_skip("atMs").and_then(Value::as_i64));
        self.heartbeat.last_skip =
            reason.zip(at).map(|(reason, at)| LastSkip { reason, at: UnixMs(at) });
        self.heartbeat.skip_is_over = of_skip("isOver").and_then(Value::as_bool).unwrap_or(false);
        let pending = self.store.setting(PENDING_TURN).await?;
        if let Some(reason) = text(pending.as_ref())
            && self.heartbeat.request.is_none()
        {
            let (not_before, only_for_events) = (Duration::ZERO, false);
            self.heartbeat.request = Some(Asked {
                reason,
                not_before,
                only_for_events,
                is_again: false,
                is_stored: true,
            });
        }
        if let Some(begun_at) = self.store.last_main_turn_begun_at().await? {
            self.ask_for_the_rest(begun_at).await?;
        }
        self.plan_beat().await
    }

    pub(crate) async fn plan_beat(&mut self) -> Result<(), StoreError> {
        self.heartbeat.is_stale = false;
        if !self.config.heartbeat.enabled || !self.has_model {
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
        self.heartbeat.next_at = self.next_beat(anchor, now);
        Ok(())
    }

    /// Plans the next beat by another clock, zone or rule; one that is due already is still decided.
    pub(crate) async fn plan_beat_anew(&mut self) -> Result<(), StoreError> {
        let now = self.clock.now();
        if self.heartbeat.next_at.is_some_and(|at| at <= now) {
            return Ok(());
        }
        self.plan_beat().await
    }

    /// The first beat after `now`: on the grid, or, where the grid never meets the active hours, at their beginning.
    fn next_beat(&self, anchor: i64, now: UnixMs) -> Option<UnixMs> {
        let (config, zones) = (&self.config.heartbeat, &self.zones);
        let every = config.every_ms.max(LEAST_EVERY_MS);
        let on_grid = |after: i64| every_next_after(anchor, every, after).map(UnixMs);
        let next = on_grid(now.0)?;
        let Some(hours) = config.active_hours.as_ref().filter(|hours| !hours.contains(next, zones))
        else {
            return Some(next);
        };
        let begin = hours.first_inside(next, zones)?;
        let end = hours.first_outside(begin, zones)?;
        on_grid(begin.0 - 1).filter(|beat| *beat < end).or(Some(begin))
    }

    /// Takes requests up and beats when it is time; not before the runs of an earlier life are where they belong, as one of
    /// them may be a beat.
    pub(crate) async fn beat_if_wanted(&mut self) -> Result<(), StoreError> {
        if !self.has_taken_up {
            return Ok(());
        }
        self.take_request_up().await?;
        if self.heartbeat.is_stale {
            self.plan_beat().await?;
        }
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

    /// Whether the main session may get a turn that nobody makes by hand: there is a model, and nothing is paused.
    pub(crate) fn may_ask_main(&self) -> bool {
        self.has_model && matches!(self.firing_at(self.clock.now()), Firing::On)
    }

    /// A model server may be started after Rouse, and whoever can look for it is to know that somebody waits.
    pub(crate) fn tell_whether_model_is_awaited(&self) {
        let awaits = !self.has_model && self.heartbeat.request.is_some();
        self.model_is_awaited
            .send_if_modified(|awaited| std::mem::replace(awaited, awaits) != awaits);
    }

    async fn take_request_up(&mut self) -> Result<(), StoreError> {
        let Some(asked) = &self.heartbeat.request else { return Ok(()) };
        let now = self.clock.monotonic();
        if self.heartbeat.asked_at(self.may_ask_main()).is_none_or(|at| at > now) {
            return self.store_request().await;
        }
        let reason = asked.reason.clone();
        let is_wanted =
            !asked.only_for_events || !self.store.pending_system_events(1).await?.is_empty();
        if is_wanted {
            self.insert_beat(&reason, self.clock.now()).await?;
            self.heartbeat.gives_turn(now);
        }
        self.forget_request().await
    }

    /// A request that has to wait survives the end of the process.
    async fn store_request(&mut self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let Some(asked) = &mut self.heartbeat.request else { return Ok(()) };
        if !asked.is_stored {
            let event = (EventKind::Heartbeat, json!({ "pending": true }));
            self.store.put_setting(PENDING_TURN, &json!(asked.reason), Some(event), now).await?;
            asked.is_stored = true;
        }
        Ok(())
    }

    async fn forget_request(&mut self) -> Result<(), StoreError> {
        if self.heartbeat.request.as_ref().is_some_and(|asked| asked.is_stored) {
            let event = (EventKind::Heartbeat, json!({ "pending": false }));
            self.store
                .put_setting(PENDING_TURN, &Value::Null, Some(event), self.clock.now())
                .await?;
        }
        self.heartbeat.request = None;
        Ok(())
    }

    async fn reason_to_skip(&self) -> Result<Option<String>, StoreError> {
        let now = self.clock.now();
        if let Firing::Off(reason) | Firing::Restored(reason) = self.firing_at(now) {
            return Ok(Some(reason));
        }
        // It was planned inside its hours, and the computer may have slept since.
        let hours = self.config.heartbeat.active_hours.as_ref();
        if hours.is_some_and(|hours| !hours.contains(now, &self.zones)) {
            return Ok(Some(OUTSIDE_HOURS.to_owned()));
        }
        if self.heartbeat.has_run {
            return Ok(Some(STILL_GOING.to_owned()));
        }
        let has_work = !self.store.pending_system_events(1).await?.is_empty()
            || self.main_session.has_work().await;
        Ok((!has_work).then(|| NOTHING_TO_DO.to_owned()))
    }

    /// Keeps why a beat did nothing, for the status.
    pub(crate) async fn skip_beat(&mut self, reason: &str, now: UnixMs) -> Result<(), StoreError> {
        let skip = json!({ "reason": reason, "atMs": now.0 });
        let event = (EventKind::Heartbeat, json!({ "skipped": reason }));
        self.store.put_setting(LAST_SKIP, &skip, Some(event), now).await?;
        tracing::debug!(name = "Heartbeat", reason, "a beat was left out");
        self.heartbeat.last_skip = Some(LastSkip { reason: reason.to_owned(), at: now });
        self.heartbeat.skip_is_over = false;
        Ok(())
    }

    async fn insert_beat(&mut self, reason: &str, now: UnixMs) -> Result<(), StoreError> {
        let payload = json!({ "kind": "heartbeat", "reason": reason });
        let run = new_run(None, RunTrigger::Heartbeat, payload, now);
        self.store.insert_run(&run, now).await?;
        self.heartbeat.takes_over();
        self.enqueue(run, None);
        if let Some(LastSkip { reason, at }) = &self.heartbeat.last_skip
            && !self.heartbeat.skip_is_over
        {
            let skip = json!({ "reason": reason, "atMs": at.0, "isOver": true });
            self.store.put_setting(LAST_SKIP, &skip, None, now).await?;
            self.heartbeat.skip_is_over = true;
        }
        Ok(())
    }

    /// Lines that were queued before the turn that has just ended, and that it did not get to, get a turn of their own.
    pub(crate) async fn ask_for_the_rest(&mut self, begun_at: UnixMs) -> Result<(), StoreError> {
        let waiting = self.store.pending_system_events(1).await?;
        if waiting.first().is_some_and(|event| event.queued_at < begun_at) {
            self.heartbeat.request_for_events("more events");
        }
        Ok(())
    }

    pub(crate) fn heartbeat_status(&self) -> HeartbeatStatus {
        let HeartbeatConfig { enabled, every_ms, ref active_hours } = self.config.heartbeat;
        let last_skip = self.heartbeat.last_skip.clone();
        let newest = last_skip.as_ref().filter(|_| !self.heartbeat.skip_is_over);
        let none_because = self.no_beat_because();
        let next_at = self.heartbeat.next_at.filter(|_| none_because.is_none());
        HeartbeatStatus {
            enabled,
            every_ms: every_ms.max(LEAST_EVERY_MS),
            active_hours: active_hours.as_ref().map(|hours| hours.describe_in(self.zones.local())),
            next_at,
            last_skip_reason: none_because.or_else(|| newest.map(|skip| skip.reason.clone())),
            last_skip,
            pending: self.pending(),
            last_request: self.heartbeat.last_request.clone(),
        }
    }

    /// Why no beat comes by itself. What somebody has decided goes before what is not there.
    fn no_beat_because(&self) -> Option<String> {
        if !self.config.heartbeat.enabled {
            return Some(OFF.to_owned());
        }
        // A pause that is over by then leaves no beat out.
        let at = self.heartbeat.next_at.unwrap_or_else(|| self.clock.now());
        self.not_firing_because(at).or_else(|| (!self.has_model).then(|| NO_MODEL.to_owned()))
    }

    fn pending(&self) -> Option<Pending> {
        self.heartbeat.request.as_ref()?;
        if let Some(reason) = self.not_firing_because(self.clock.now()) {
            return Some(Pending::Firing(reason));
        }
        Some(match (self.has_model, self.heartbeat.has_run) {
            (false, _) => Pending::Model,
            (true, true) => Pending::Turn,
            (true, false) if self.heartbeat.flood_ends_at() > self.clock.monotonic() => {
                Pending::Flood
            }
            (true, false) if self.heartbeat.waits_for_answer() => Pending::Answer,
            (true, false) => Pending::Others,
        })
    }

    /// Why nothing fires at `at`, as somebody is told who asks now: a sentence without its full stop.
    fn not_firing_because(&self, at: UnixMs) -> Option<String> {
        match (self.config.firing, self.firing_at(at)) {
            (_, Firing::On) => None,
            (true, Firing::Off(_) | Firing::Restored(_)) => Some(PAUSED.to_owned()),
            (false, Firing::Off(reason) | Firing::Restored(reason)) => {
                Some(reason.trim_end_matches('.').to_owned())
            }
        }
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}
