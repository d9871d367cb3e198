//! Named cases: the zones and dates on which schedulers are known to fail.

use chrono::DateTime;
use chrono_tz::Tz;
use rouse_core::schedule::{
    CronPattern, TransitionKind, Zone, every_count_slots, every_next_after, transitions_in,
};

fn pattern(text: &str) -> CronPattern {
    CronPattern::parse(text).unwrap_or_else(|error| panic!("`{text}`: {error}"))
}

fn zone(name: &str) -> Zone {
    name.parse::<Tz>().unwrap().into()
}

/// `2026-03-08T02:30:00-05:00` as unix milliseconds.
fn ms(text: &str) -> i64 {
    DateTime::parse_from_rfc3339(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .timestamp_millis()
}

/// Checks that the slots of `text` after `after` begin with `expected`, also when searched backwards.
#[track_caller]
fn check(text: &str, tz: &str, after: &str, expected: &[&str]) {
    let (pattern, tz, after) = (pattern(text), zone(tz), ms(after));
    let shown =
        |at: i64| DateTime::from_timestamp_millis(at).unwrap().with_timezone(&tz).to_rfc3339();
    let found: Vec<i64> = pattern.slots(tz, after).take(expected.len()).collect();
    assert_eq!(found.iter().copied().map(shown).collect::<Vec<_>>(), expected, "`{text}`");
    let last = *found.last().unwrap();
    assert_eq!(
        pattern.newest_slots(tz, after, last, expected.len() + 9),
        found,
        "`{text}` looking back"
    );
    assert_eq!(
        pattern.count_slots(tz, after, last),
        u32::try_from(found.len()).unwrap(),
        "`{text}` counted"
    );
}

#[test]
fn fixed_time_in_a_gap_runs_at_its_end() {
    let (tz, before) = ("America/New_York", "2026-03-08T00:00:00-05:00");
    check("30 2 * * *", tz, before, &["2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"]);
    check("30 15 2 * * *", tz, before, &["2026-03-08T03:00:00-04:00", "2026-03-09T02:15:30-04:00"]);
    check("0 2 * * 0", tz, before, &["2026-03-08T03:00:00-04:00", "2026-03-15T02:00:00-04:00"]);
    check("30 1 * * *", tz, before, &["2026-03-08T01:30:00-05:00", "2026-03-09T01:30:00-04:00"]);
}

#[test]
fn several_fixed_times_in_one_gap_are_one_slot() {
    let (tz, before) = ("America/New_York", "2026-03-08T00:00:00-05:00");
    let next_day =
        ["2026-03-08T03:00:00-04:00", "2026-03-09T02:00:00-04:00", "2026-03-09T02:30:00-04:00"];
    check("0,30 2 * * *", tz, before, &next_day);
    check("0,30 2 8 3 *", tz, before, &["2026-03-08T03:00:00-04:00", "2027-03-08T02:00:00-05:00"]);
    check(
        "15 1-3 * * *",
        tz,
        before,
        &[
            "2026-03-08T01:15:00-05:00",
            "2026-03-08T03:00:00-04:00",
            "2026-03-08T03:15:00-04:00",
            "2026-03-09T01:15:00-04:00",
        ],
    );
}

#[test]
fn regular_time_at_the_end_of_a_gap_is_not_doubled() {
    let (tz, before) = ("America/New_York", "2026-03-08T00:00:00-05:00");
    check("0 2,3 * * *", tz, before, &["2026-03-08T03:00:00-04:00", "2026-03-09T02:00:00-04:00"]);
    check(
        "0,30 2-3 * * *",
        tz,
        before,
        &["2026-03-08T03:00:00-04:00", "2026-03-08T03:30:00-04:00"],
    );
}

#[test]
fn interval_pattern_skips_a_gap() {
    let (tz, before) = ("America/New_York", "2026-03-08T00:45:00-05:00");
    check("*/30 2 * * *", tz, before, &["2026-03-09T02:00:00-04:00", "2026-03-09T02:30:00-04:00"]);
    check("30 * * * *", tz, before, &["2026-03-08T01:30:00-05:00", "2026-03-08T03:30:00-04:00"]);
    check("0 */2 * * *", tz, before, &["2026-03-08T04:00:00-04:00", "2026-03-08T06:00:00-04:00"]);
    check(
        "59 59 * * * *",
        tz,
        before,
        &["2026-03-08T00:59:59-05:00", "2026-03-08T01:59:59-05:00", "2026-03-08T03:59:59-04:00"],
    );
    check("0 2-2/1 8 3 *", tz, before, &["2027-03-08T02:00:00-05:00"]);
}

#[test]
fn fixed_time_in_an_overlap_runs_in_the_first_pass_only() {
    let (tz, before) = ("America/New_York", "2026-11-01T00:00:00-04:00");
    check("30 1 * * *", tz, before, &["2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"]);
    let both =
        ["2026-11-01T01:00:00-04:00", "2026-11-01T01:30:00-04:00", "2026-11-02T01:00:00-05:00"];
    check("0,30 1 * * *", tz, before, &both);
    check(
        "0 0-2 * * *",
        tz,
        before,
        &["2026-11-01T01:00:00-04:00", "2026-11-01T02:00:00-05:00", "2026-11-02T00:00:00-05:00"],
    );
    let in_second_pass = "2026-11-01T01:10:00-05:00";
    check("45 1 * * *", tz, in_second_pass, &["2026-11-02T01:45:00-05:00"]);
    check(
        "0-59 1-2 * * *",
        tz,
        in_second_pass,
        &["2026-11-01T02:00:00-05:00", "2026-11-01T02:01:00-05:00"],
    );
}

#[test]
fn interval_pattern_runs_in_both_passes() {
    let tz = "America/New_York";
    check(
        "*/30 * * * *",
        tz,
        "2026-11-01T00:30:00-04:00",
        &[
            "2026-11-01T01:00:00-04:00",
            "2026-11-01T01:30:00-04:00",
            "2026-11-01T01:00:00-05:00",
            "2026-11-01T01:30:00-05:00",
            "2026-11-01T02:00:00-05:00",
        ],
    );
    check(
        "*/30 1 * * *",
        tz,
        "2026-11-01T01:45:00-04:00",
        &["2026-11-01T01:00:00-05:00", "2026-11-01T01:30:00-05:00"],
    );
    check(
        "10 1-1/1 * * *",
        tz,
        "2026-11-01T01:10:00-04:00",
        &["2026-11-01T01:10:00-05:00", "2026-11-02T01:10:00-05:00"],
    );
    check(
        "* * * * * *",
        tz,
        "2026-11-01T01:59:58.500-04:00",
        &["2026-11-01T01:59:59-04:00", "2026-11-01T01:00:00-05:00"],
    );
}

#[test]
fn lord_howe_changes_by_half_an_hour() {
    let tz = "Australia/Lord_Howe";
    check(
        "15 2 * * *",
        tz,
        "2026-10-04T00:00:00+10:30",
        &["2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"],
    );
    check(
        "45 1 * * *",
        tz,
        "2026-04-05T00:00:00+11:00",
        &["2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"],
    );
    check(
        "*/15 * * * *",
        tz,
        "2026-04-05T01:30:00+11:00",
        &[
            "2026-04-05T01:45:00+11:00",
            "2026-04-05T01:30:00+10:30",
            "2026-04-05T01:45:00+10:30",
            "2026-04-05T02:00:00+10:30",
        ],
    );
}

#[test]
fn fixed_time_in_a_gap_to_another_date_runs() {
    let nuuk = ("America/Nuuk", "2024-03-30T12:00:00-02:00");
    check(
        "30 23 * * *",
        nuuk.0,
        nuuk.1,
        &["2024-03-31T00:00:00-01:00", "2024-03-31T23:30:00-01:00"],
    );
    check("30 23 30 3 *", nuuk.0, nuuk.1, &["2024-03-31T00:00:00-01:00"]);
    check(
        "15,45 23 * * 6",
        nuuk.0,
        nuuk.1,
        &["2024-03-31T00:00:00-01:00", "2024-04-06T23:15:00-01:00"],
    );
}

#[test]
fn apia_had_no_30_december_2011() {
    let (tz, before) = ("Pacific/Apia", "2011-12-29T12:00:00-10:00");
    check("0 9 30 12 *", tz, before, &["2011-12-31T00:00:00+14:00", "2012-12-30T09:00:00+14:00"]);
    check(
        "0 9,17 * * *",
        tz,
        before,
        &["2011-12-29T17:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T09:00:00+14:00"],
    );
    check(
        "0 */8 * * *",
        tz,
        before,
        &["2011-12-29T16:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T08:00:00+14:00"],
    );
}

#[test]
fn casablanca_goes_back_for_ramadan() {
    let tz = "Africa/Casablanca";
    check(
        "30 2 * * *",
        tz,
        "2026-02-15T00:00:00+01:00",
        &["2026-02-15T02:30:00+01:00", "2026-02-16T02:30:00+00:00"],
    );
    check(
        "30 2 * * *",
        tz,
        "2026-03-22T00:00:00+00:00",
        &["2026-03-22T03:00:00+01:00", "2026-03-23T02:30:00+01:00"],
    );
    check(
        "0 * * * *",
        tz,
        "2026-02-15T01:30:00+01:00",
        &["2026-02-15T02:00:00+01:00", "2026-02-15T02:00:00+00:00", "2026-02-15T03:00:00+00:00"],
    );
}

#[test]
fn tehran_changed_at_midnight() {
    let tz = "Asia/Tehran";
    check(
        "15 0 * * *",
        tz,
        "2022-03-21T12:00:00+03:30",
        &["2022-03-22T01:00:00+04:30", "2022-03-23T00:15:00+04:30"],
    );
    check(
        "30 23 * * *",
        tz,
        "2022-09-21T12:00:00+04:30",
        &["2022-09-21T23:30:00+04:30", "2022-09-22T23:30:00+03:30"],
    );
    check(
        "30 * * * *",
        tz,
        "2022-09-21T22:45:00+04:30",
        &["2022-09-21T23:30:00+04:30", "2022-09-21T23:30:00+03:30"],
    );
}

#[test]
fn troll_changes_by_two_hours() {
    let tz = "Antarctica/Troll";
    check(
        "30 1,2 * * *",
        tz,
        "2026-03-29T00:00:00+00:00",
        &["2026-03-29T03:00:00+02:00", "2026-03-30T01:30:00+02:00"],
    );
    check(
        "30 1,2 * * *",
        tz,
        "2026-10-25T00:00:00+02:00",
        &["2026-10-25T01:30:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-26T01:30:00+00:00"],
    );
    check(
        "0 * * * *",
        tz,
        "2026-10-25T00:30:00+02:00",
        &[
            "2026-10-25T01:00:00+02:00",
            "2026-10-25T02:00:00+02:00",
            "2026-10-25T01:00:00+00:00",
            "2026-10-25T02:00:00+00:00",
            "2026-10-25T03:00:00+00:00",
        ],
    );
}

#[test]
fn monrovia_was_44_minutes_and_30_seconds_behind() {
    let monrovia = ("Africa/Monrovia", "1972-01-06T12:00:00+00:00");
    // The clock was 44:30 behind, which RFC 3339 cannot write.
    let slots: Vec<i64> =
        pattern("20 0 * * *").slots(zone(monrovia.0), ms(monrovia.1)).take(2).collect();
    assert_eq!(slots, [ms("1972-01-07T00:44:30Z"), ms("1972-01-08T00:20:00Z")]);
    let slots: Vec<i64> =
        pattern("50 23 * * *").slots(zone(monrovia.0), ms(monrovia.1)).take(2).collect();
    assert_eq!(slots, [ms("1972-01-07T00:34:30Z"), ms("1972-01-07T23:50:00Z")]);
}

#[test]
fn leap_days_fire() {
    check(
        "0 0 29 2 *",
        "UTC",
        "2023-01-01T00:00:00Z",
        &["2024-02-29T00:00:00+00:00", "2028-02-29T00:00:00+00:00"],
    );
    check("0 0 29 2 *", "UTC", "2096-02-29T00:00:00Z", &["2104-02-29T00:00:00+00:00"]);
    check(
        "0 0 29 2 +MON",
        "UTC",
        "2016-03-01T00:00:00Z",
        &["2044-02-29T00:00:00+00:00", "2072-02-29T00:00:00+00:00"],
    );
    check(
        "0 12 L 2 *",
        "UTC",
        "2099-03-01T00:00:00Z",
        &["2100-02-28T12:00:00+00:00", "2101-02-28T12:00:00+00:00"],
    );
}

#[test]
fn zones_with_quarter_hour_offsets_fire() {
    check("0 7 * * *", "Asia/Kathmandu", "2026-01-01T00:00:00Z", &["2026-01-01T07:00:00+05:45"]);
    let chatham = "Pacific/Chatham";
    check(
        "0 3 * * *",
        chatham,
        "2026-09-26T12:00:00Z",
        &["2026-09-27T03:45:00+13:45", "2026-09-28T03:00:00+13:45"],
    );
    check(
        "0,30 3 * * *",
        chatham,
        "2026-04-04T12:00:00Z",
        &["2026-04-05T03:00:00+13:45", "2026-04-05T03:30:00+13:45", "2026-04-06T03:00:00+12:45"],
    );
}

#[test]
fn clock_changes_continue_after_2099() {
    let tz = "America/New_York";
    let next_day = "2100-03-15T02:30:00-04:00";
    check("30 2 * * *", tz, "2100-03-13T12:00:00-05:00", &["2100-03-14T03:00:00-04:00", next_day]);
    check(
        "30 1 * * *",
        tz,
        "2100-11-06T12:00:00-04:00",
        &["2100-11-07T01:30:00-04:00", "2100-11-08T01:30:00-05:00"],
    );
    check("0 7 1 7 *", "Europe/Berlin", "2400-01-01T00:00:00Z", &["2400-07-01T07:00:00+02:00"]);
}

#[test]
fn nuuk_skips_into_the_next_date_every_march() {
    for (year, day) in [(2025, 29), (2026, 28), (2027, 27), (2030, 30)] {
        let before = format!("{year}-03-{day}T12:00:00-02:00");
        let slot = format!("{year}-03-{}T00:00:00-01:00", day + 1);
        check("30 23 * * *", "America/Nuuk", &before, &[slot.as_str()]);
        check(&format!("30 23 {day} 3 *"), "America/Nuuk", &before, &[slot.as_str()]);
    }
}

#[test]
fn next_slot_is_strictly_after_to_the_millisecond() {
    let tz = "Europe/Berlin";
    let today = &["2026-01-15T07:00:00+01:00"];
    let tomorrow = &["2026-01-16T07:00:00+01:00"];
    check("0 7 * * *", tz, "2026-01-15T06:59:59.999+01:00", today);
    check("0 7 * * *", tz, "2026-01-15T07:00:00+01:00", tomorrow);
    check("0 7 * * *", tz, "2026-01-15T07:00:00.001+01:00", tomorrow);
    check("0 7 * * *", tz, "2026-01-15T07:00:00.999+01:00", tomorrow);
    assert_eq!(pattern("* * * * * *").next_after(Zone::UTC, -1_500), Some(-1_000));
    assert_eq!(pattern("* * * * * *").next_after(Zone::UTC, -1), Some(0));
    assert_eq!(pattern("* * * * * *").last_until(Zone::UTC, -1), Some(-1_000));
}

#[test]
fn ends_of_the_calendar_return_none() {
    let daily = pattern("0 0 * * *");
    for tz in [Zone::UTC, zone("Pacific/Kiritimati"), zone("America/New_York")] {
        for text in ["0 0 * * *", "* * * * * *", "0 0 29 2 *"] {
            assert_eq!(pattern(text).next_after(tz, i64::MAX), None);
            assert_eq!(pattern(text).last_until(tz, i64::MIN), None);
            assert!(pattern(text).next_after(tz, i64::MIN).is_some());
            assert!(pattern(text).last_until(tz, i64::MAX).is_some());
        }
    }
    let last = daily.last_until(Zone::UTC, i64::MAX).unwrap();
    assert_eq!(daily.next_after(Zone::UTC, last + 86_400_000), None);
    assert!(daily.newest_slots(Zone::UTC, i64::MIN, i64::MIN + 5, 5).is_empty());
    assert_eq!(daily.clock_note(Zone::UTC, i64::MAX), None);
    assert_eq!(daily.clock_note(Zone::UTC, i64::MIN), None);
    assert!(transitions_in(Zone::UTC, i64::MIN, i64::MAX).is_empty());
}

#[test]
fn slots_are_counted_to_the_last_slot() {
    let (tz, hour, day) = (zone("Europe/Berlin"), 3_600_000, 86_400_000);
    let noon = ms("2026-06-01T12:00:00+02:00");
    let count = |text: &str, length: i64| pattern(text).count_slots(tz, noon, noon + length);
    assert_eq!(count("* * * * *", hour), 60);
    assert_eq!(count("* * * * *", 0), 0);
    assert_eq!(count("* * * * *", -hour), 0);
    // A year has both clock changes, so no hour is missing.
    assert_eq!(count("* * * * *", 366 * day), 527_040);
    assert_eq!(count("* * * * * *", 365 * day), 31_536_000);
    assert_eq!(count("30 2 * * *", 365 * day), 365);
    assert_eq!(count("* * * * * *", 200 * 365 * day), u32::MAX, "saturated");
}

#[test]
fn newest_slots_are_bounded_by_number() {
    let (tz, day) = (zone("Europe/Berlin"), 86_400_000);
    let noon = ms("2026-06-01T12:00:00+02:00");
    let year_of_seconds = pattern("* * * * * *").newest_slots(tz, noon, noon + 365 * day, 3);
    assert_eq!(
        year_of_seconds,
        [noon + 365 * day - 2_000, noon + 365 * day - 1_000, noon + 365 * day]
    );
    assert_eq!(
        pattern("0 12 * * *").newest_slots(tz, noon, noon + 2 * day, 9),
        [noon + day, noon + 2 * day]
    );
    assert!(pattern("0 12 * * *").newest_slots(tz, noon, noon, 9).is_empty());
    assert!(pattern("0 12 * * *").newest_slots(tz, noon, noon + day, 0).is_empty());
}

#[test]
fn interval_depends_on_its_anchor_only() {
    let table = [
        // anchor, every, after, next
        (0, 1_000, -5_000, Some(0)),
        (0, 1_000, -1, Some(0)),
        (0, 1_000, 0, Some(1_000)),
        (0, 1_000, 999, Some(1_000)),
        (0, 1_000, 1_000, Some(2_000)),
        (7, 900_000, 1_763_712_000_000, Some(1_763_712_900_007 - 900_000)),
        (i64::MAX, 1_000, 0, Some(i64::MAX)),
        (i64::MIN, 1_000, i64::MAX, None),
        (0, 1_000, i64::MAX, None),
        (0, i64::MAX, 5, Some(i64::MAX)),
        (i64::MIN, i64::MAX, 0, Some(i64::MAX - 1)),
        (0, 0, 5, None),
        (0, -5, 5, None),
    ];
    for (anchor, every, after, next) in table {
        assert_eq!(
            every_next_after(anchor, every, after),
            next,
            "{anchor} + k·{every} after {after}"
        );
    }
}

#[test]
fn interval_slots_are_counted_without_enumeration() {
    let table = [
        // anchor, every, from, to, cap, count
        (0, 1_000, 0, 5_000, 99, 5),
        (0, 1_000, -1, 5_000, 99, 6),
        (0, 1_000, 0, 4_999, 99, 4),
        (0, 1_000, 0, 5_000, 3, 3),
        (10_000, 1_000, 0, 5_000, 99, 0),
        (10_000, 1_000, 0, 10_000, 99, 1),
        (0, 1_000, 5_000, 0, 99, 0),
        (i64::MIN, 1, i64::MIN, i64::MAX, u32::MAX, u32::MAX),
        (0, 0, 0, 5_000, 99, 0),
    ];
    for (anchor, every, from, to, cap, count) in table {
        assert_eq!(
            every_count_slots(anchor, every, from, to, cap),
            count,
            "{anchor} + k·{every} in {from}..={to}"
        );
    }
}

#[test]
fn transitions_are_listed_with_kind_and_size() {
    let list = |name: &str, from: &str, to: &str| {
        let found = transitions_in(zone(name), ms(from), ms(to));
        found.iter().map(|change| (change.at, change.kind(), change.minutes())).collect::<Vec<_>>()
    };
    let year = |name: &str, year: i32| {
        list(name, &format!("{year}-01-01T00:00:00Z"), &format!("{year}-12-31T23:00:00Z"))
    };
    let (gap, overlap) = (TransitionKind::Gap, TransitionKind::Overlap);
    assert_eq!(
        year("America/New_York", 2026),
        [(ms("2026-03-08T07:00:00Z"), gap, 60), (ms("2026-11-01T06:00:00Z"), overlap, 60)]
    );
    assert_eq!(
        year("Australia/Lord_Howe", 2026),
        [(ms("2026-04-04T15:00:00Z"), overlap, 30), (ms("2026-10-03T15:30:00Z"), gap, 30)]
    );
    assert_eq!(year("Pacific/Apia", 2011).last(), Some(&(ms("2011-12-30T10:00:00Z"), gap, 1_440)));
    assert_eq!(year("Africa/Monrovia", 1972), [(ms("1972-01-07T00:44:30Z"), gap, 44)]);
    // The closest two changes of any zone.
    let a_week = [(ms("2000-10-08T03:00:00Z"), gap, 60), (ms("2000-10-15T02:00:00Z"), overlap, 60)];
    assert_eq!(year("America/Recife", 2000).split_off(1), a_week);
    assert!(year("Asia/Tokyo", 2026).is_empty());
    let change = "2026-03-08T07:00:00Z";
    assert!(
        list("America/New_York", change, "2026-03-09T00:00:00Z").is_empty(),
        "the start is not included"
    );
    assert_eq!(
        list("America/New_York", "2026-03-08T00:00:00Z", change).len(),
        1,
        "the end is included"
    );
}

#[test]
fn equivalent_patterns_are_equal() {
    assert_eq!(pattern("@daily"), pattern("0 0 * * *"));
    assert_eq!(pattern("0 9 * jan mon"), pattern(" 0  9 * 1 1 "));
    assert_ne!(pattern("0 9 * * *"), pattern("0 9 * * 1"));
    assert_eq!(pattern(" @Weekly ").as_str(), "@Weekly");
    assert_eq!(format!("{:?}", pattern("0 9 * * *")), "CronPattern(\"0 9 * * *\")");
}
