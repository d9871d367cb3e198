//! Schedules, clock changes and durations in words.

use chrono::DateTime;
use chrono_tz::Tz;
use rouse_core::schedule::{
    ClockEffect, CronPattern, DurationError, describe_at, describe_every, format_duration,
    instant_note, interval_effect, parse_duration, transitions_in,
};

fn ms(text: &str) -> i64 {
    DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis()
}

#[test]
fn patterns_are_described_exactly() {
    let table = [
        // Times of day.
        ("30 7 * * 1-5", "Weekdays at 07:30"),
        ("0 7 * * *", "Every day at 07:00"),
        ("@daily", "Every day at 00:00"),
        ("0 7 * * MON-FRI", "Weekdays at 07:00"),
        ("0 10 * * 0,6", "Weekends at 10:00"),
        ("0 9 * * 3", "Wednesdays at 09:00"),
        ("0 9 * * MON,FRI", "Mondays and Fridays at 09:00"),
        ("0 9 * * SUN,MON", "Mondays and Sundays at 09:00"),
        ("0 9 * * MON-THU", "Mondays to Thursdays at 09:00"),
        ("0 9 * * 0-6", "Every day at 09:00"),
        ("0 9,17 * * *", "Every day at 09:00 and 17:00"),
        ("0,30 8,20 * * 1-5", "Weekdays at 08:00, 08:30, 20:00 and 20:30"),
        ("15 30 7 * * *", "Every day at 07:30:15"),
        ("0 30 7 * * *", "Every day at 07:30"),
        ("0 */24 * * *", "Every day at 00:00"),
        // Days of the month.
        ("0 9 1 * *", "On day 1 of every month at 09:00"),
        ("@monthly", "On day 1 of every month at 00:00"),
        ("0 9 1,15 * *", "On days 1 and 15 of every month at 09:00"),
        ("0 9 1-7 * *", "On days 1 to 7 of every month at 09:00"),
        ("0 9 1,15,L * *", "On days 1 and 15 and the last day of every month at 09:00"),
        ("0 9 L * *", "On the last day of every month at 09:00"),
        ("0 9 LW * *", "On the last weekday of every month at 09:00"),
        ("0 9 15W * *", "On the weekday nearest to day 15 of every month at 09:00"),
        ("0 9 * * MON#1", "On the first Monday of every month at 09:00"),
        ("0 9 * * FRI#L", "On the last Friday of every month at 09:00"),
        ("0 9 * * 5L,1#3", "On the last Friday and the third Monday of every month at 09:00"),
        ("0 9 1 */3 *", "On day 1 of January, April, July and October at 09:00"),
        ("@yearly", "Every year on 1 January at 00:00"),
        ("30 18 24 12 *", "Every year on 24 December at 18:30"),
        ("0 9 * 6,7 *", "Every day in June and July at 09:00"),
        ("0 9 * 6-8 1-5", "Weekdays in June to August at 09:00"),
        ("0 9 13 * +FRI", "On day 13 of every month if it is a Friday, at 09:00"),
        ("0 9 1-7 * +1-5", "On days 1 to 7 of every month if it is a weekday, at 09:00"),
        ("0 9 1 * MON", "On day 1 of every month and on Mondays at 09:00"),
        ("0 9 1-31 * MON", "Every day at 09:00"),
        ("0 9 * * +MON", "Mondays at 09:00"),
        // Intervals.
        ("* * * * *", "Every minute"),
        ("*/1 * * * *", "Every minute"),
        ("*/15 * * * *", "Every 15 minutes"),
        ("0,15,30,45 * * * *", "Every 15 minutes"),
        ("*/15 * * * 1-5", "Every 15 minutes on weekdays"),
        ("*/15 9-17 * * 1-5", "Every 15 minutes from 09:00 to 17:45 on weekdays"),
        ("* 9-17 * * *", "Every minute from 09:00 to 17:59"),
        ("*/10 9 * * WED", "Every 10 minutes from 09:00 to 09:50 on Wednesdays"),
        ("*/20 6,18 * * *", "Every 20 minutes in hours 6 and 18"),
        ("0 * * * *", "Every hour"),
        ("5 * * * *", "Every hour at minute 5"),
        ("0 */2 * * *", "Every 2 hours"),
        ("15 */6 * * *", "Every 6 hours at minute 15"),
        ("0 9-17 * * 1-5", "Every hour from 09:00 to 17:00 on weekdays"),
        ("30 8-20 * * *", "Every hour from 08:30 to 20:30"),
        ("0 * 13 * +FRI", "Every hour on day 13 of every month if it is a Friday"),
        ("0 */2 1 * *", "Every 2 hours on day 1 of every month"),
        ("0 * * 12 *", "Every hour in December"),
        ("*/10 * * * * *", "Every 10 seconds"),
        ("* * * * * *", "Every second"),
        ("30 * * * * *", "Every minute, at second 30"),
        // Uneven steps are listed, never rounded.
        ("*/25 * * * *", "At minutes 0, 25 and 50 of every hour"),
        ("0-30/10 * * * *", "At minutes 0, 10, 20 and 30 of every hour"),
        ("*/15,7 * * * *", "At minutes 0, 7, 15, 30 and 45 of every hour"),
        ("5,35 9-17 * * *", "At minutes 5 and 35 past hours 9 to 17"),
        ("0 */5 * * *", "At minute 0 past hours 0, 5, 10, 15 and 20"),
        ("0 9-17/4 * * *", "At minute 0 past hours 9, 13 and 17"),
        // And where no short sentence is exact, the pattern stands for itself.
        ("*/7 * * * *", "At minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour"),
        ("*/10 5 * * * *", "Cron */10 5 * * * *"),
        ("0 9 1 * MON#1", "Cron 0 9 1 * MON#1"),
        ("*/3 */5 */2 */5 *", "Cron */3 */5 */2 */5 *"),
    ];
    for (text, words) in table {
        let pattern = CronPattern::parse(text).unwrap_or_else(|error| panic!("`{text}`: {error}"));
        assert_eq!(pattern.describe(), words, "`{text}`");
    }
}

#[test]
fn single_times_are_described_in_their_zone() {
    let at = ms("2025-12-14T06:00:00Z");
    assert_eq!(describe_at(at, Tz::Europe__Berlin.into()), "Once on 14 Dec 2025 at 07:00");
    assert_eq!(describe_at(at, Tz::America__New_York.into()), "Once on 14 Dec 2025 at 01:00");
    assert_eq!(describe_at(at + 5_250, Tz::UTC.into()), "Once on 14 Dec 2025 at 06:00:05");
    assert_eq!(describe_at(i64::MAX, Tz::UTC.into()), "Once, at a time no calendar has");
}

#[test]
fn intervals_are_described() {
    let table = [
        (1_000, "Every second"),
        (90_000, "Every 90 seconds"),
        (60_000, "Every minute"),
        (900_000, "Every 15 minutes"),
        (5_400_000, "Every 90 minutes"),
        (9_000_000, "Every 2 h 30 min"),
        (3_600_000, "Every hour"),
        (7_200_000, "Every 2 hours"),
        (86_400_000, "Every 24 hours"),
        (90_000_000, "Every 25 hours"),
        (172_800_000, "Every 2 days"),
        (604_800_000, "Every 7 days"),
        (1_500, "Every 1 s 500 ms"),
    ];
    for (every, words) in table {
        assert_eq!(describe_every(every), words, "{every}");
    }
}

#[test]
fn clock_changes_are_described() {
    let note = |tz: Tz, year: i32| {
        let ends = [format!("{year}-01-01T00:00:00Z"), format!("{year}-12-31T23:00:00Z")];
        transitions_in(tz.into(), ms(&ends[0]), ms(&ends[1]))
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        note(Tz::Europe__Berlin, 2026),
        [
            "On 29 Mar 2026 the clock goes forward from 02:00 to 03:00",
            "On 25 Oct 2026 the clock goes back from 03:00 to 02:00"
        ]
    );
    assert_eq!(
        note(Tz::America__Nuuk, 2024),
        [
            "On 30 Mar 2024 the clock goes forward from 23:00 to 00:00 on 31 Mar 2024",
            "On 27 Oct 2024 the clock goes back from 00:00 to 23:00 on 26 Oct 2024"
        ]
    );
    assert_eq!(
        note(Tz::Africa__Monrovia, 1972),
        ["On 7 Jan 1972 the clock goes forward from 00:00 to 00:44:30"]
    );
}

#[test]
fn effect_of_a_clock_change_on_a_pattern_is_described() {
    let effects = |text: &str| {
        let pattern = CronPattern::parse(text).unwrap();
        let ends = (ms("2026-01-01T00:00:00Z"), ms("2026-12-31T00:00:00Z"));
        let changes = transitions_in(Tz::Europe__Berlin.into(), ends.0, ends.1);
        changes.iter().map(|change| pattern.effect_of(change)).collect::<Vec<_>>()
    };
    assert_eq!(effects("30 2 * * *"), [Some(ClockEffect::AtOnce), Some(ClockEffect::Once)]);
    assert_eq!(effects("*/30 * * * *"), [Some(ClockEffect::LeftOut), Some(ClockEffect::Twice)]);
    assert_eq!(
        effects("0 3 * * *"),
        [None, None],
        "the end of both is neither skipped nor repeated"
    );
    assert_eq!(effects("0 2 * * *"), [Some(ClockEffect::AtOnce), Some(ClockEffect::Once)]);
    assert_eq!(effects("30 2 29 3 *"), [Some(ClockEffect::AtOnce), None]);
    assert_eq!(effects("30 7 * * *"), [None, None]);
}

#[test]
fn slot_at_a_clock_change_is_explained() {
    let note = |text: &str, tz: Tz, slot: &str| {
        let pattern = CronPattern::parse(text).unwrap();
        let slot = ms(slot);
        assert_eq!(
            pattern.last_until(tz.into(), slot),
            Some(slot),
            "`{text}` has no slot at {slot}"
        );
        pattern.clock_note(tz.into(), slot).map(|note| note.to_string())
    };
    let (new_york, nuuk, apia) = (Tz::America__New_York, Tz::America__Nuuk, Tz::Pacific__Apia);
    let table = [
        (
            "30 2 * * *",
            new_york,
            "2026-03-08T03:00:00-04:00",
            "02:30 does not exist on 8 Mar 2026; runs at 03:00",
        ),
        (
            "0 2,3 * * *",
            new_york,
            "2026-03-08T03:00:00-04:00",
            "02:00 does not exist on 8 Mar 2026; runs at 03:00",
        ),
        (
            "30 23 * * *",
            nuuk,
            "2024-03-31T00:00:00-01:00",
            "23:30 does not exist on 30 Mar 2024; runs at 00:00 on 31 Mar 2024",
        ),
        (
            "0 9 * * *",
            apia,
            "2011-12-31T00:00:00+14:00",
            "09:00 does not exist on 30 Dec 2011; runs at 00:00 on 31 Dec 2011",
        ),
        (
            "30 1 * * *",
            new_york,
            "2026-11-01T01:30:00-04:00",
            "01:30 comes twice on 1 Nov 2026; runs the first time only",
        ),
        (
            "*/30 * * * *",
            new_york,
            "2026-11-01T01:30:00-04:00",
            "01:30 comes twice on 1 Nov 2026; this is the first time",
        ),
        (
            "*/30 * * * *",
            new_york,
            "2026-11-01T01:30:00-05:00",
            "01:30 comes twice on 1 Nov 2026; this is the second time",
        ),
    ];
    for (text, tz, slot, words) in table {
        assert_eq!(note(text, tz, slot).as_deref(), Some(words), "`{text}` at {slot}");
    }
    assert_eq!(
        note("0 3 * * *", new_york, "2026-03-08T03:00:00-04:00"),
        None,
        "a regular time at the end of a gap"
    );
    assert_eq!(
        note("0 * * * *", new_york, "2026-03-08T03:00:00-04:00"),
        None,
        "an interval after a gap"
    );
    assert_eq!(note("30 2 * * *", new_york, "2026-03-09T02:30:00-04:00"), None, "an ordinary day");
}

#[test]
fn durations_are_parsed() {
    let table = [
        ("10m", 600_000),
        ("10 min", 600_000),
        ("1h30m", 5_400_000),
        ("1h 30m", 5_400_000),
        ("1 h 30 min", 5_400_000),
        ("90 minutes", 5_400_000),
        ("1.5h", 5_400_000),
        ("1.5 Hours", 5_400_000),
        ("1 hour, 5 minutes", 3_900_000),
        ("1 hour and 5 minutes", 3_900_000),
        ("1 day, 2 hours, and 5 minutes", 93_900_000),
        ("PT1H30M", 5_400_000),
        ("pt90s", 90_000),
        ("PT0.5S", 500),
        ("P1DT12H", 129_600_000),
        ("P2W", 1_209_600_000),
        ("P1D", 86_400_000),
        ("250ms", 250),
        ("0.25 s", 250),
        ("2d", 172_800_000),
        ("1w 1d", 691_200_000),
        (" 45 s ", 45_000),
        ("0s", 0),
        ("1.50000000000h", 5_400_000),
    ];
    for (text, ms) in table {
        assert_eq!(parse_duration(text), Ok(ms), "`{text}`");
    }
}

#[test]
fn invalid_duration_is_explained() {
    let table = [
        ("", "expected a duration such as `10m` or `1h30m`"),
        ("  ", "expected a duration such as `10m` or `1h30m`"),
        ("500", "`500` has no unit: write `500s`, `500m` or `500h`"),
        ("1h 30", "`30` has no unit: write `30s`, `30m` or `30h`"),
        ("PT5", "`5` has no unit: write `5s`, `5m` or `5h`"),
        ("5 parsecs", "`parsecs` is not a unit: use ms, s, min, h, d or w"),
        ("5 %", "`%` is not a unit: use ms, s, min, h, d or w"),
        ("PT5D", "`d` is not a unit: use ms, s, min, h, d or w"),
        ("2 months", "`months` has no fixed length: use days, or a cron pattern"),
        ("P1M", "`m` has no fixed length: use days, or a cron pattern"),
        ("P1Y", "`y` has no fixed length: use days, or a cron pattern"),
        ("soon", "expected a number with a unit such as `30m`, found `soon`"),
        ("-5m", "expected a number with a unit such as `30m`, found `-5m`"),
        ("1.h", "expected a number with a unit such as `30m`, found `1.h`"),
        (".5h", "expected a number with a unit such as `30m`, found `.5h`"),
        ("1.2.3h", "expected a number with a unit such as `30m`, found `1.2.3h`"),
        ("1h,", "expected a number with a unit such as `30m`, found `,`"),
        ("1h,30m", "expected a number with a unit such as `30m`, found `,30m`"),
        ("1h and", "expected a number with a unit such as `30m`, found `and`"),
        ("P", "expected a number with a unit such as `30m`, found `p`"),
        ("PT", "expected a number with a unit such as `30m`, found `t`"),
        ("P1DT", "expected a number with a unit such as `30m`, found `t`"),
        ("30m1h", "units go from large to small, each once, such as `1h30m`"),
        ("1h1h", "units go from large to small, each once, such as `1h30m`"),
        ("PT30M1H", "units go from large to small, each once, such as `1h30m`"),
        ("1.5h 30m", "only the last part can have a fraction, such as `1h 1.5m`"),
        ("0.5ms", "a duration is a whole number of milliseconds"),
        ("0.0000000001h", "a duration is a whole number of milliseconds"),
        ("99999999999999999999999999999999999999999999s", "this duration is too long"),
        ("9223372036854775807w", "this duration is too long"),
    ];
    for (text, words) in table {
        let error: DurationError = parse_duration(text).expect_err(text);
        assert_eq!(error.to_string(), words, "`{text}`");
    }
}

#[test]
fn durations_round_trip() {
    let table = [
        (0, "0 s"),
        (250, "250 ms"),
        (45_000, "45 s"),
        (60_000, "1 min"),
        (5_400_000, "1 h 30 min"),
        (90_061_001, "1 d 1 h 1 min 1 s 1 ms"),
        (604_800_000, "7 d"),
        (-5_400_000, "-1 h 30 min"),
    ];
    for (ms, words) in table {
        assert_eq!(format_duration(ms), words, "{ms}");
        assert!(ms < 0 || parse_duration(words) == Ok(ms), "{words}");
    }
    assert!(format_duration(i64::MIN).starts_with("-106751991167 d"));
}

#[test]
fn interval_note_appears_only_for_a_visible_change() {
    let zone = chrono_tz::Europe::Berlin.into();
    let year = transitions_in(zone, ms("2027-01-01T00:00:00Z"), ms("2028-01-01T00:00:00Z"));
    let effect = |n: usize, hours: i64| interval_effect(&year[n], hours * 3_600_000);
    let words = |by: &str| {
        format!("the interval stays the same, so from then on runs are {by} by the clock")
    };
    assert_eq!(effect(0, 24), Some(words("1 h later")));
    assert_eq!(effect(1, 24), Some(words("1 h earlier")));
    assert_eq!((effect(0, 1), effect(1, 1)), (None, None), "the clock shows the same times");
    assert_eq!(interval_effect(&year[0], 1_800_000), None);
}

#[test]
fn instant_in_a_repeated_hour_names_its_pass() {
    let zone = chrono_tz::Europe::Berlin.into();
    let note = |at: &str| instant_note(zone, ms(at)).map(|note| note.to_string());
    let words = |which| Some(format!("02:30 comes twice on 31 Oct 2027; this is the {which} time"));
    assert_eq!(note("2027-10-31T00:30:00Z"), words("first"));
    assert_eq!(note("2027-10-31T01:30:00Z"), words("second"));
    assert_eq!(note("2027-10-31T02:30:00Z"), None);
    assert_eq!(instant_note(zone, i64::MAX), None);
}
