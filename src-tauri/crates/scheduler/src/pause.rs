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
        let pause = Pause { until };
        self.write_pause(Some(pause), self.clock.now()).await?;
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

    async fn write_pause(&mut self, pause: Option<Pause>, now: UnixMs) -> Result<(), StoreError> {
        let value =
            pause.map_or(Value::Null, |pause| json!({ "untilMs": pause.until.map(|at| at.0) }));
        let event = (EventKind::Config, json!({ "pause": value }));
        self.store.put_setting(SETTING, &value, Some(event), now).await?;
        self.pause = pause;
        Ok(())
    }
}

fn read(stored: &Value) -> Pause {
    match stored.as_object() {
        Some(pause) => Pause { until: pause.get("untilMs").and_then(Value::as_i64).map(UnixMs) },
        None => unreadable(),
    }
}

/// Somebody had paused everything: what cannot be read must not set it all going.
fn unreadable() -> Pause {
    tracing::error!(
        "the stored pause cannot be read, so everything stays paused until somebody resumes it (`rouse cron resume`)"
    );
    Pause { until: None }
}
