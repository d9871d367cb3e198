//! The pause of all jobs.
//!
//! A pause is a setting in the store, so it outlives the process. During the pause, slots and queued runs that have not
//! started are skipped; nothing old starts at the end. Manual runs are not paused.

use rouse_core::UnixMs;
use rouse_core::event::EventKind;
use rouse_store::{StoreError, StoredSetting};
use serde_json::{Value, json};

use super::{Engine, PAUSED};
use crate::error::SchedulerError;
use crate::status::JobsPause;

const SETTING: &str = "pause";
/// The start of a stored pause without a start.
const UNKNOWN_START: UnixMs = UnixMs(0);

impl Engine {
    pub(super) async fn load_pause(&mut self) -> Result<(), StoreError> {
        self.pause = match self.store.stored_setting(SETTING).await? {
            StoredSetting::Absent | StoredSetting::Value(Value::Null) => None,
            StoredSetting::Value(value) => Some(parse(&value)),
            StoredSetting::Unreadable => Some(unreadable_pause()),
        };
        Ok(())
    }

    pub(super) async fn pause(&mut self, until: Option<UnixMs>) -> Result<(), SchedulerError> {
        let now = self.clock.now();
        // A changed end keeps the start.
        let since = self.pause.map_or(now, |pause| pause.since);
        self.write_pause(Some(JobsPause { since, until, set_at: now }), now).await?;
        tracing::info!(until = until.map(|at| at.0), "everything is paused");
        self.skip_scheduled_runs(None, PAUSED);
        Ok(())
    }

    pub(super) async fn resume(&mut self) -> Result<(), SchedulerError> {
        if self.pause.is_some() {
            self.end_pause(self.clock.now()).await?;
        }
        Ok(())
    }

    pub(super) async fn end_pause(&mut self, now: UnixMs) -> Result<(), StoreError> {
        self.write_pause(None, now).await?;
        tracing::info!("the pause is over");
        Ok(())
    }

    /// Moves a pause that was set by a clock ahead: the pause keeps its length, counted from now.
    pub(super) async fn advance_pause(&mut self, now: UnixMs) -> Result<(), StoreError> {
        let Some(pause) = self.pause.filter(|pause| pause.set_at > now) else { return Ok(()) };
        let until = pause.until.map(|until| now.plus_ms(until.since(pause.set_at)));
        let since = pause.since.min(now);
        self.write_pause(Some(JobsPause { since, until, set_at: now }), now).await
    }

    async fn write_pause(
        &mut self,
        pause: Option<JobsPause>,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let (value, event) = match pause {
            Some(JobsPause { since, until, set_at }) => {
                let until = until.map(|at| at.0);
                let value = json!({ "untilMs": until, "sinceMs": since.0, "setAtMs": set_at.0 });
                (value, json!({ "untilMs": until }))
            }
            None => (Value::Null, Value::Null),
        };
        let event = (EventKind::Config, json!({ "pause": event }));
        self.store.put_setting(SETTING, &value, Some(event), now).await?;
        self.pause = pause;
        Ok(())
    }
}

fn parse(stored: &Value) -> JobsPause {
    let Some(pause) = stored.as_object() else { return unreadable_pause() };
    let at = |name: &str| pause.get(name).and_then(Value::as_i64).map(UnixMs);
    let since = at("sinceMs").unwrap_or(UNKNOWN_START);
    JobsPause { since, until: at("untilMs"), set_at: at("setAtMs").unwrap_or(since) }
}

/// Fails closed: an unreadable pause pauses everything.
fn unreadable_pause() -> JobsPause {
    tracing::error!(
        "the stored pause cannot be read, so all jobs stay paused until `rouse cron resume`"
    );
    JobsPause { since: UNKNOWN_START, until: None, set_at: UNKNOWN_START }
}
