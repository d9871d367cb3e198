//! Pause all.
//!
//! A pause outlives the process: it is a setting of the store. While it lasts, slots are recorded as skipped, and what
//! had come before but not begun is skipped as well; nothing old begins when the pause is over. A run by hand is still
//! a run somebody wants.

use rouse_core::UnixMs;
use rouse_core::event::EventKind;
use rouse_store::{Setting, StoreError};
use serde_json::{Value, json};

use crate::engine::Engine;
use crate::tick::PAUSED;
use crate::{Pause, SchedulerError};

const SETTING: &str = "pause";
/// When a pause began that does not say so.
const LONG_AGO: UnixMs = UnixMs(0);

impl Engine {
    pub(crate) async fn load_pause(&mut self) -> Result<(), StoreError> {
        self.pause = match self.store.stored_setting(SETTING).await? {
            Setting::Absent | Setting::Is(Value::Null) => None,
            Setting::Is(value) => Some(read(&value)),
            Setting::Unreadable => Some(unreadable()),
        };
        Ok(())
    }

    pub(crate) async fn pause(&mut self, until: Option<UnixMs>) -> Result<(), SchedulerError> {
        let now = self.clock.now();
        // Another end of a pause is no other pause.
        let since = self.pause.map_or(now, |pause| pause.since);
        self.write_pause(Some(Pause { since, until, set_at: now }), now).await?;
        tracing::info!(until = until.map(|at| at.0), "everything is paused");
        self.skip_waiting(None, PAUSED);
        Ok(())
    }

    pub(crate) async fn resume(&mut self) -> Result<(), SchedulerError> {
        if self.pause.is_some() {
            self.end_pause(self.clock.now()).await?;
        }
        Ok(())
    }

    pub(crate) async fn end_pause(&mut self, now: UnixMs) -> Result<(), StoreError> {
        self.write_pause(None, now).await?;
        tracing::info!("the pause is over");
        Ok(())
    }

    /// A pause whose end was set later than now was made by a clock that was ahead: it is as long from now on as it was from
    /// then on.
    pub(crate) async fn take_pause_nearer(&mut self, now: UnixMs) -> Result<(), StoreError> {
        let Some(pause) = self.pause.filter(|pause| pause.set_at > now) else { return Ok(()) };
        let until = pause.until.map(|until| now.plus_ms(until.since(pause.set_at)));
        let since = pause.since.min(now);
        self.write_pause(Some(Pause { since, until, set_at: now }), now).await
    }

    async fn write_pause(&mut self, pause: Option<Pause>, now: UnixMs) -> Result<(), StoreError> {
        let (value, told) = match pause {
            Some(Pause { since, until, set_at }) => {
                let until = until.map(|at| at.0);
                let value = json!({ "untilMs": until, "sinceMs": since.0, "setAtMs": set_at.0 });
                (value, json!({ "untilMs": until }))
            }
            None => (Value::Null, Value::Null),
        };
        let event = (EventKind::Config, json!({ "pause": told }));
        self.store.put_setting(SETTING, &value, Some(event), now).await?;
        self.pause = pause;
        Ok(())
    }
}

fn read(stored: &Value) -> Pause {
    match stored.as_object() {
        Some(pause) => {
            let at = |name: &str| pause.get(name).and_then(Value::as_i64).map(UnixMs);
            let since = at("sinceMs").unwrap_or(LONG_AGO);
            Pause { since, until: at("untilMs"), set_at: at("setAtMs").unwrap_or(since) }
        }
        None => unreadable(),
    }
}

/// Somebody had paused everything: what cannot be read must not set it all going.
fn unreadable() -> Pause {
    tracing::error!(
        "the stored pause cannot be read, so everything stays paused until somebody resumes it (`rouse cron resume`)"
    );
    Pause { since: LONG_AGO, until: None, set_at: LONG_AGO }
}
