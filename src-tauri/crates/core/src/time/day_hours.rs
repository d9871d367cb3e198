//! Hours of each day in the settings: `{from, to, tz?}`.
//!
//! Owns the shape and the rules. [`DayWindow`] evaluates the hours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::daily_window::{DayWindow, time_of_day};
use super::zones::{Zones, no_zone};
use crate::json_fields::FieldError;

/// Hours of each day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct DayHours {
    /// The start, such as `08:00`.
    #[schemars(extend("format" = "time-of-day"))]
    pub from: String,
    /// The end, exclusive; on the next day if earlier than the start.
    #[schemars(extend("format" = "time-of-day"))]
    pub to: String,
    /// The IANA zone [default: the local zone].
    pub tz: Option<String>,
}

impl DayHours {
    /// The window on the wall clock; none for invalid hours.
    #[must_use]
    pub fn window(&self) -> Option<DayWindow> {
        // silent-ok: hours are validated when read.
        DayWindow::parse(&self.from, &self.to, self.tz.as_deref()).ok()
    }

    pub(crate) fn canonicalise(&mut self, zones: &Zones) {
        self.from = self.from.trim().to_owned();
        self.to = self.to.trim().to_owned();
        if let Some(zone) = self.tz.as_deref().and_then(|tz| zones.zone(tz)) {
            self.tz = Some(zone.name().to_owned());
        }
    }
}

/// Violations across the fields of hours, with relative paths.
pub(crate) fn day_hours_violations(hours: &Value, zones: &Zones) -> Vec<FieldError> {
    let zone = hours["tz"].as_str().filter(|tz| zones.zone(tz).is_none());
    let zone = zone.map(|tz| FieldError { path: "tz".to_owned(), message: no_zone(tz) });
    // The schema reports times that are none.
    let time =
        |key: &str| hours[key].as_str().map(str::trim).filter(|text| time_of_day(text).is_ok());
    let window = time("from").zip(time("to")).map(|(from, to)| DayWindow::parse(from, to, None));
    let end = window.and_then(Result::err);
    let end = end.map(|message| FieldError { path: "to".to_owned(), message });
    zone.into_iter().chain(end).collect()
}
