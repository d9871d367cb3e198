//! Quiet hours: when notifications wait for the morning.
//!
//! Owns the shape that the job format and the settings share, and the answers to "is it quiet" and "until when". Both
//! look at the wall clock, so a change of the clock or of the zone moves nothing by an hour; days are the ones on which
//! a night begins. One could get it wrong by keeping only the instant at which a night ends: somebody sets the clock
//! back by a year, and the morning never comes.

use chrono::Weekday;
use chrono_tz::Tz;
use serde_json::{Map, Value, json};

use crate::UnixMs;
use crate::day_hours::DayHours;
use crate::json_fields::Fields;
use crate::schedule::{DayWindow, Zones};

const MINUTE_MS: i64 = 60_000;
/// A week and the largest change of a clock.
const MOST_MINUTES: i64 = 8 * 24 * 60;
const DAYS: [(&str, Weekday); 7] = [
    ("mon", Weekday::Mon),
    ("tue", Weekday::Tue),
    ("wed", Weekday::Wed),
    ("thu", Weekday::Thu),
    ("fri", Weekday::Fri),
    ("sat", Weekday::Sat),
    ("sun", Weekday::Sun),
];

/// A stretch of some days in which nothing is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuietHours {
    /// `22:00`.
    pub from: String,
    /// `07:00`; over midnight when it is the earlier one.
    pub to: String,
    /// The zone of both; none: wherever the machine is.
    pub tz: Option<String>,
    /// The days on which it begins; none: every day.
    pub days: Vec<Weekday>,
    /// Keys that this version does not know.
    pub extra: Map<String, Value>,
    window: DayWindow,
}

/// What a job says about quiet hours.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum QuietPolicy {
    /// Those of the settings hold for it.
    #[default]
    Respect,
    /// It may speak at any time.
    Ignore,
    /// It has its own.
    Own(Box<QuietHours>),
}

impl QuietHours {
    /// Reads `{from, to, tz?, days?}`; what is wrong is complained about by field. The zone is looked up in `zones`;
    /// without them it was judged when it was saved.
    pub fn read(mut fields: Fields<'_>, zones: Option<&Zones>) -> Option<Self> {
        let days = read_days(&mut fields);
        let DayHours { from, to, tz, window } = DayHours::read(&mut fields, zones)?;
        let mut hours = Self { from, to, tz, days, extra: Map::new(), window };
        if hours.ends_at(UnixMs(0), Tz::UTC).is_none() && hours.is_quiet(UnixMs(0), Tz::UTC) {
            fields.complain("to", "would never come; name the days, or another time");
            return None;
        }
        hours.extra = fields.rest();
        Some(hours)
    }

    /// The inverse of `read`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut document = Map::new();
        document.insert("from".to_owned(), json!(self.from));
        document.insert("to".to_owned(), json!(self.to));
        if let Some(tz) = &self.tz {
            document.insert("tz".to_owned(), json!(tz));
        }
        if !self.days.is_empty() {
            document.insert("days".to_owned(), json!(self.day_names()));
        }
        document.extend(self.extra.clone());
        Value::Object(document)
    }

    /// `mon`, `tue`, …
    #[must_use]
    pub fn day_names(&self) -> Vec<&'static str> {
        DAYS.iter().filter(|(_, day)| self.days.contains(day)).map(|(name, _)| *name).collect()
    }

    /// Whether it is quiet at `at`.
    #[must_use]
    pub fn is_quiet(&self, at: UnixMs, zones: impl Into<Zones>) -> bool {
        let began_on = self.window.began_on(at, zones);
        began_on.is_some_and(|day| self.days.is_empty() || self.days.contains(&day))
    }

    /// When it is not quiet any more; none when it is not quiet at `at`.
    #[must_use]
    pub fn ends_at(&self, at: UnixMs, zones: impl Into<Zones>) -> Option<UnixMs> {
        let zones = zones.into();
        if !self.is_quiet(at, &zones) {
            return None;
        }
        let next_minute = at.0.div_euclid(MINUTE_MS) + 1;
        (next_minute..next_minute + MOST_MINUTES)
            .map(|minute| UnixMs(minute * MINUTE_MS))
            .find(|minute| !self.is_quiet(*minute, &zones))
    }
}

impl QuietPolicy {
    /// Reads the value of `key`: `respect`, `ignore`, or hours of its own.
    pub fn read(fields: &mut Fields<'_>, key: &str, zones: Option<&Zones>) -> Self {
        if fields.is_object(key) {
            let own = fields.object(key, |own| QuietHours::read(own, zones)).flatten();
            return own.map_or(Self::Respect, |own| Self::Own(Box::new(own)));
        }
        match fields.choice(key, &[("respect", false), ("ignore", true)]) {
            Some(true) => Self::Ignore,
            Some(false) | None => Self::Respect,
        }
    }

    /// The inverse of `read`; none for the default.
    #[must_use]
    pub fn to_json(&self) -> Option<Value> {
        match self {
            Self::Respect => None,
            Self::Ignore => Some(json!("ignore")),
            Self::Own(own) => Some(own.to_json()),
        }
    }

    /// The hours that hold, when these are the ones of the settings.
    #[must_use]
    pub fn hours<'a>(&'a self, of_settings: Option<&'a QuietHours>) -> Option<&'a QuietHours> {
        match self {
            Self::Respect => of_settings,
            Self::Ignore => None,
            Self::Own(own) => Some(own),
        }
    }
}

fn read_days(fields: &mut Fields<'_>) -> Vec<Weekday> {
    let names = fields.texts("days").unwrap_or_default();
    let mut days = Vec::new();
    for (index, name) in names.iter().enumerate() {
        match DAYS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name.trim())) {
            Some((_, day)) => days.push(*day),
            None => fields.complain(
                &format!("days[{index}]"),
                format!("expected one of mon, tue, wed, thu, fri, sat, sun, found `{name}`"),
            ),
        }
    }
    days.sort_by_key(Weekday::num_days_from_monday);
    days.dedup();
    days
}

#[cfg(test)]
mod tests {
    use chrono::{NaiveDateTime, TimeZone as _};

    use super::*;
    use crate::json_fields::FieldError;

    const BERLIN: Tz = Tz::Europe__Berlin;

    fn read(document: Value) -> Result<QuietHours, Vec<FieldError>> {
        let mut errors = Vec::new();
        let fields = Fields::new("quietHours", document, &mut errors);
        let read = QuietHours::read(fields, Some(&Tz::UTC.into()));
        match read {
            Some(hours) if errors.is_empty() => Ok(hours),
            _ => Err(errors),
        }
    }

    fn at(local: &str) -> UnixMs {
        let naive = NaiveDateTime::parse_from_str(local, "%Y-%m-%d %H:%M").expect("a time");
        UnixMs(BERLIN.from_local_datetime(&naive).earliest().expect("exists").timestamp_millis())
    }

    fn night() -> QuietHours {
        read(json!({ "from": "22:00", "to": "07:00" })).expect("hours")
    }

    #[test]
    fn a_night_ends_in_the_morning_of_where_the_machine_is() {
        let evening = at("2026-01-10 23:30");
        assert_eq!(night().ends_at(evening, BERLIN), Some(at("2026-01-11 07:00")));
        assert_eq!(night().ends_at(at("2026-01-10 12:00"), BERLIN), None);
        // The traveller's evening is not Berlin's.
        assert_eq!(night().ends_at(at("2026-01-11 03:00"), Tz::America__New_York), None);
        let own = read(json!({ "from": "22:00", "to": "07:00", "tz": "Europe/Berlin" }));
        let own = own.expect("hours");
        let morning = Some(at("2026-01-11 07:00"));
        assert_eq!(own.ends_at(at("2026-01-11 03:00"), Tz::America__New_York), morning);
    }

    #[test]
    fn a_night_in_which_the_clock_changes_ends_at_seven_all_the_same() {
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
    fn days_are_the_ones_on_which_a_night_begins() {
        let days = json!({ "from": "22:00", "to": "07:00", "days": ["Sat", "fri"] });
        let weekend = read(days).expect("hours");
        assert_eq!(weekend.day_names(), ["fri", "sat"]);
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
    fn reads_what_it_writes() {
        let full =
            json!({ "from": "22:00", "to": "07:00", "tz": "Asia/Tokyo", "days": ["mon", "sun"] });
        for document in [json!({ "from": "22:00", "to": "07:00" }), full] {
            assert_eq!(read(document.clone()).expect("hours").to_json(), document);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
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
    fn a_job_follows_the_settings_unless_it_says_otherwise() {
        let read = |value: Value| {
            let mut errors = Vec::new();
            let document = json!({ "quietHours": value });
            let policy =
                QuietPolicy::read(&mut Fields::new("", document, &mut errors), "quietHours", None);
            (policy, errors.len())
        };
        let (night, noon) = (night(), json!({ "from": "12:00", "to": "13:00" }));
        assert_eq!(read(json!("respect")).0.hours(Some(&night)), Some(&night));
        assert_eq!(read(json!("ignore")).0.hours(Some(&night)), None);
        let own = read(noon.clone()).0;
        assert_eq!(own.hours(Some(&night)).map(QuietHours::to_json), Some(noon.clone()));
        assert_eq!(own.to_json(), Some(noon));
        assert_eq!(read(json!(null)), (QuietPolicy::Respect, 0));
        assert_eq!(read(json!("never")), (QuietPolicy::Respect, 1));
        assert_eq!(read(json!({ "from": "x", "to": "y" })), (QuietPolicy::Respect, 1));
    }
}
