//! Quiet hours: when notifications are held until morning.
//!
//! Owns the shape shared by jobs and settings, and the end of the present quiet hours. Everything follows the wall clock;
//! a day is the day on which a night begins.
//! Pitfall: storing only the end instant; after a clock rollback by a year the morning would never come.

use chrono::Weekday;
use chrono_tz::Tz;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use super::daily_window::DayWindow;
use super::day_hours::day_hours_violations;
use super::zones::Zones;
use crate::UnixMs;
use crate::json_fields::FieldError;

const MINUTE_MS: i64 = 60_000;
/// A week and the largest clock change.
const MOST_MINUTES: i64 = 8 * 24 * 60;

/// Hours in which notifications wait, on some days.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct QuietHours {
    /// The first time of day, such as `22:00`.
    #[schemars(extend("format" = "time-of-day"))]
    pub from: String,
    /// The end, such as `07:00`; on the next day when earlier than `from`.
    #[schemars(extend("format" = "time-of-day"))]
    pub to: String,
    /// The IANA zone of both [default: the local zone].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tz: Option<String>,
    /// The days on which the hours begin [default: every day].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<DayOfWeek>>")]
    pub days: Vec<DayOfWeek>,
    /// Unknown keys.
    #[serde(flatten)]
    #[schemars(skip)]
    #[ts(skip)]
    pub extra: Map<String, Value>,
}

/// A day of the week.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, TS,
)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the variants are the days")]
pub enum DayOfWeek {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

impl From<Weekday> for DayOfWeek {
    fn from(day: Weekday) -> Self {
        match day {
            Weekday::Mon => Self::Mon,
            Weekday::Tue => Self::Tue,
            Weekday::Wed => Self::Wed,
            Weekday::Thu => Self::Thu,
            Weekday::Fri => Self::Fri,
            Weekday::Sat => Self::Sat,
            Weekday::Sun => Self::Sun,
        }
    }
}

/// The quiet hours of a job: those of the settings, none, or its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(untagged)]
pub enum QuietPolicy {
    /// Those of the settings, or none.
    Word(QuietWord),
    /// The own (of an import).
    Own(Box<QuietHours>),
}

/// Whether the quiet hours of the settings apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum QuietWord {
    /// They apply.
    Respect,
    /// Notifications are shown at any time.
    Ignore,
}

impl Default for QuietPolicy {
    fn default() -> Self {
        Self::RESPECT
    }
}

impl QuietHours {
    /// Whether `at` is in quiet hours.
    #[must_use]
    pub fn is_quiet(&self, at: UnixMs, zones: impl Into<Zones>) -> bool {
        self.window().is_some_and(|window| self.is_inside(&window, at, zones))
    }

    /// The end of the quiet hours at `at`; none outside.
    #[must_use]
    pub fn ends_at(&self, at: UnixMs, zones: impl Into<Zones>) -> Option<UnixMs> {
        let (zones, window) = (zones.into(), self.window()?);
        if !self.is_inside(&window, at, &zones) {
            return None;
        }
        let next_minute = at.0.div_euclid(MINUTE_MS) + 1;
        (next_minute..next_minute + MOST_MINUTES)
            .map(|minute| UnixMs(minute * MINUTE_MS))
            .find(|minute| !self.is_inside(&window, *minute, &zones))
    }

    /// None for hours of an older version that this version cannot read: such hours are never quiet.
    fn window(&self) -> Option<DayWindow> {
        // silent-ok: hours are validated when written.
        DayWindow::parse(&self.from, &self.to, self.tz.as_deref()).ok()
    }

    fn is_inside(&self, window: &DayWindow, at: UnixMs, zones: impl Into<Zones>) -> bool {
        let began_on = window.began_on(at, zones).map(DayOfWeek::from);
        began_on.is_some_and(|day| self.days.is_empty() || self.days.contains(&day))
    }

    pub(crate) fn canonicalise(&mut self, zones: &Zones) {
        self.from = self.from.trim().to_owned();
        self.to = self.to.trim().to_owned();
        if let Some(zone) = self.tz.as_deref().and_then(|tz| zones.zone(tz)) {
            self.tz = Some(zone.name().to_owned());
        }
        self.days.sort_unstable();
        self.days.dedup();
    }
}

impl QuietPolicy {
    /// The quiet hours of the settings apply.
    pub const RESPECT: Self = Self::Word(QuietWord::Respect);
    /// Notifications are shown at any time.
    pub const IGNORE: Self = Self::Word(QuietWord::Ignore);

    /// The hours in force, with the hours of the settings in `settings`.
    #[must_use]
    pub fn hours<'a>(&'a self, settings: Option<&'a QuietHours>) -> Option<&'a QuietHours> {
        match self {
            Self::Word(QuietWord::Respect) => settings,
            Self::Word(QuietWord::Ignore) => None,
            Self::Own(own) => Some(own),
        }
    }

    pub(crate) fn canonicalise(&mut self, zones: &Zones) {
        if let Self::Own(own) = self {
            own.canonicalise(zones);
        }
    }
}

/// Days are read in any letter case.
pub(crate) fn lower_days(hours: &mut Value) {
    for day in hours.get_mut("days").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(text) = day.as_str() {
            *day = text.trim().to_ascii_lowercase().into();
        }
    }
}

/// Violations across the fields of quiet hours, with relative paths.
pub(crate) fn quiet_hours_violations(hours: &Value, zones: &Zones) -> Vec<FieldError> {
    let violations = day_hours_violations(hours, zones);
    if !violations.is_empty() || !is_endless(hours) {
        return violations;
    }
    let message = "would never come; name the days, or another time".to_owned();
    vec![FieldError { path: "to".to_owned(), message }]
}

fn is_endless(hours: &Value) -> bool {
    // silent-ok: the schema reports fields of a wrong type.
    let hours = serde_json::from_value::<QuietHours>(hours.clone()).ok();
    hours.is_some_and(|hours| {
        hours.is_quiet(UnixMs(0), Tz::UTC) && hours.ends_at(UnixMs(0), Tz::UTC).is_none()
    })
}

#[cfg(test)]
mod tests {
    use chrono::{NaiveDateTime, TimeZone as _};
    use serde_json::json;

    use super::*;
    use crate::settings::read_settings;

    const BERLIN: Tz = Tz::Europe__Berlin;

    fn read(document: Value) -> Result<QuietHours, Vec<FieldError>> {
        let settings = read_settings(json!({ "quietHours": document }), &Tz::UTC.into())?;
        Ok(settings.quiet_hours.expect("the hours of the document"))
    }

    fn at(local: &str) -> UnixMs {
        let naive = NaiveDateTime::parse_from_str(local, "%Y-%m-%d %H:%M").expect("a time");
        UnixMs(BERLIN.from_local_datetime(&naive).earliest().expect("exists").timestamp_millis())
    }

    fn night() -> QuietHours {
        read(json!({ "from": "22:00", "to": "07:00" })).expect("hours")
    }

    #[test]
    fn night_ends_in_the_morning_of_the_local_zone() {
        let evening = at("2026-01-10 23:30");
        assert_eq!(night().ends_at(evening, BERLIN), Some(at("2026-01-11 07:00")));
        assert_eq!(night().ends_at(at("2026-01-10 12:00"), BERLIN), None);
        // The evening of the local zone is not Berlin's.
        assert_eq!(night().ends_at(at("2026-01-11 03:00"), Tz::America__New_York), None);
        let own = read(json!({ "from": "22:00", "to": "07:00", "tz": "Europe/Berlin" }));
        let own = own.expect("hours");
        let morning = Some(at("2026-01-11 07:00"));
        assert_eq!(own.ends_at(at("2026-01-11 03:00"), Tz::America__New_York), morning);
    }

    #[test]
    fn night_with_a_clock_change_ends_at_seven() {
        let hours = |from: &str, to: &str| at(to).since(at(from)) / 3_600_000;
        for (evening, morning, length) in [
            ("2026-03-28 22:00", "2026-03-29 07:00", 8),
            ("2026-10-24 22:00", "2026-10-25 07:00", 10),
        ] {
            assert_eq!(night().ends_at(at(evening), BERLIN), Some(at(morning)));
            assert_eq!(hours(evening, morning), length);
        }
        let gap = read(json!({ "from": "01:00", "to": "02:30" })).expect("hours");
        assert_eq!(gap.ends_at(at("2026-03-29 01:30"), BERLIN), Some(at("2026-03-29 03:00")));
    }

    #[test]
    fn day_is_the_one_on_which_a_night_begins() {
        let days = json!({ "from": "22:00", "to": "07:00", "days": ["Sat", "fri"] });
        let weekend = read(days).expect("hours");
        assert_eq!(weekend.days, [DayOfWeek::Fri, DayOfWeek::Sat]);
        // 2026-01-09 is a Friday.
        for (time, quiet) in [
            ("2026-01-09 06:00", false),
            ("2026-01-09 22:30", true),
            ("2026-01-11 06:59", true),
            ("2026-01-11 22:30", false),
        ] {
            assert_eq!(weekend.is_quiet(at(time), BERLIN), quiet, "{time}");
        }
        let whole = json!({ "from": "00:00", "to": "24:00", "days": ["sat", "sun"] });
        let whole = read(whole).expect("hours");
        assert_eq!(whole.ends_at(at("2026-01-10 10:00"), BERLIN), Some(at("2026-01-12 00:00")));
    }

    #[test]
    fn quiet_hours_json_round_trips() {
        let full =
            json!({ "from": "22:00", "to": "07:00", "tz": "Asia/Tokyo", "days": ["mon", "sun"] });
        for document in [json!({ "from": "22:00", "to": "07:00" }), full] {
            let hours = read(document.clone()).expect("hours");
            assert_eq!(crate::job::to_json(&hours), document);
        }
    }

    #[test]
    fn invalid_quiet_hours_are_reported_by_field() {
        for (document, path) in [
            (json!({ "from": "22:00" }), "quietHours.to"),
            (json!({ "to": "22:00" }), "quietHours.from"),
            (json!({ "from": "25:00", "to": "07:00" }), "quietHours.from"),
            (json!({ "from": "22:00", "to": "7" }), "quietHours.to"),
            (json!({ "from": "07:00", "to": "07:00" }), "quietHours.to"),
            (json!({ "from": "00:00", "to": "24:00" }), "quietHours.to"),
            (json!({ "from": "22:00", "to": "07:00", "tz": "Berlin" }), "quietHours.tz"),
            (json!({ "from": "22:00", "to": "07:00", "days": ["mon", "x"] }), "quietHours.days[1]"),
        ] {
            let errors = read(document.clone()).expect_err("refused");
            let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
            assert_eq!(paths, [path], "{document}");
        }
    }

    #[test]
    fn job_policy_has_priority_over_settings() {
        let read = |value: Value| serde_json::from_value::<QuietPolicy>(value).expect("a policy");
        let (night, noon) = (night(), json!({ "from": "12:00", "to": "13:00" }));
        assert_eq!(read(json!("respect")).hours(Some(&night)), Some(&night));
        assert_eq!(read(json!("ignore")).hours(Some(&night)), None);
        let own = read(noon.clone());
        assert_eq!(own.hours(Some(&night)).map(crate::job::to_json), Some(noon.clone()));
        assert_eq!(crate::job::to_json(&own), noon);
    }
}
