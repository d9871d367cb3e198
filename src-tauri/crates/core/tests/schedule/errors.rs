//! Refused patterns and their messages.

use rouse_core::schedule::{CronError, CronField, CronPattern, parse_duration};

use super::generator::Random;

fn refusal(text: &str) -> CronError {
    CronPattern::parse(text).err().unwrap_or_else(|| panic!("`{text}` was accepted"))
}

#[test]
fn wrong_field_is_named_with_the_expected_values() {
    let table = [
        ("60 * * * *", "minute: expected 0 to 59, found `60`"),
        ("300 * * * *", "minute: expected 0 to 59, found `300`"),
        ("-5 * * * *", "minute: expected a value on each side of the hyphen, found `-5`"),
        ("+5 * * * *", "minute: expected 0 to 59, found `+5`"),
        ("5 24 * * *", "hour: expected 0 to 23, found `24`"),
        ("5 9am * * *", "hour: expected 0 to 23, found `9AM`"),
        ("5 9 0 * *", "day of month: expected 1 to 31, L, LW or a day such as 15W, found `0`"),
        ("5 9 32W * *", "day of month: expected 1 to 31, L, LW or a day such as 15W, found `32W`"),
        ("5 9 W * *", "day of month: expected 1 to 31, L, LW or a day such as 15W, found `W`"),
        (
            "5 9 1-5W * *",
            "day of month: expected 1 to 31, L, LW or a day such as 15W, found `1-5W`",
        ),
        ("5 9 L-3 * *", "day of month: expected 1 to 31, L, LW or a day such as 15W, found `L-3`"),
        ("5 9 L,LW * *", "day of month: expected either L or LW, found `L,LW`"),
        ("5 9 * 13 *", "month: expected 1 to 12 or JAN to DEC, found `13`"),
        ("0 0 * MON *", "month: expected 1 to 12 or JAN to DEC, found `MON`"),
        (
            "5 9 * * 8",
            "day of week: expected 0 to 7, SUN to SAT or a day such as FRI#2 or FRI#L, found `8`",
        ),
        (
            "5 9 * * JAN",
            "day of week: expected 0 to 7, SUN to SAT or a day such as FRI#2 or FRI#L, found `JAN`",
        ),
        (
            "5 9 * * MONDAY",
            "day of week: expected 0 to 7, SUN to SAT or a day such as FRI#2 or FRI#L, found `MONDAY`",
        ),
        ("5 9 * * FRI#6", "day of week: expected 1 to 5 or L after `#`, found `FRI#6`"),
        ("5 9 * * FRI#", "day of week: expected 1 to 5 or L after `#`, found `FRI#`"),
        (
            "5 9 * * L",
            "day of week: expected a weekday before `L` or `#`, such as FRI#L, found `L`",
        ),
        (
            "5 9 * * *#1",
            "day of week: expected 0 to 7, SUN to SAT or a day such as FRI#2 or FRI#L, found `*#1`",
        ),
        ("99 5 9 * * *", "seconds: expected 0 to 59, found `99`"),
        (", * * * *", "minute: expected a value on each side of a comma, found `,`"),
        ("1,,2 * * * *", "minute: expected a value on each side of a comma, found `1,,2`"),
        ("5 9 * * 1,", "day of week: expected a value on each side of a comma, found `1,`"),
        ("0 7 * * MON-", "day of week: expected a value on each side of the hyphen, found `MON-`"),
        ("*,5 * * * *", "minute: expected `*` without anything beside it, found `*`"),
        (
            "0/15 * * * *",
            "minute: expected `*` or a range before the slash, such as `*/15`, found `0/15`",
        ),
        (
            "/15 * * * *",
            "minute: expected `*` or a range before the slash, such as `*/15`, found `/15`",
        ),
        (
            "5/15 * * * *",
            "minute: expected `*` or a range before the slash, such as `5-59/15`, found `5/15`",
        ),
        (
            "0 0 1/2 * *",
            "day of month: expected `*` or a range before the slash, such as `*/2`, found `1/2`",
        ),
        (
            "0 0 * * MON/2",
            "day of week: expected `*` or a range before the slash, such as `1-6/2`, found `MON/2`",
        ),
        ("*/0 * * * *", "minute: expected a step of 1 to 60 after the slash, found `*/0`"),
        ("*/90 * * * *", "minute: expected a step of 1 to 60 after the slash, found `*/90`"),
        ("*/ * * * *", "minute: expected a step of 1 to 60 after the slash, found `*/`"),
        ("*/5/5 * * * *", "minute: expected a step of 1 to 60 after the slash, found `*/5/5`"),
        ("5 22-6 * * *", "hour: expected a range that goes up, such as `22-23,0-6`, found `22-6`"),
        (
            "5 9 * NOV-FEB *",
            "month: expected a range that goes up, such as `11-12,1-2`, found `NOV-FEB`",
        ),
        (
            "5 9 * * FRI-MON",
            "day of week: expected a range that goes up, such as `5-6,0-1`, found `FRI-MON`",
        ),
        ("5 1-2-3 * * *", "hour: expected 0 to 23, found `1-2-3`"),
        ("5 ? * * *", "hour: expected 0 to 23, found `?`"),
        ("٥ * * * *", "minute: expected 0 to 59, found `٥`"),
    ];
    for (text, words) in table {
        assert_eq!(refusal(text).to_string(), words, "`{text}`");
    }
    let found = "x".repeat(300);
    let CronError::Field { field, found, .. } = refusal(&format!("0 {found} * * *")) else {
        panic!("not a field")
    };
    assert_eq!((field, found.len()), (CronField::Hour, 40), "quotes stay short");
}

#[test]
fn wrong_field_count_alias_and_zone_are_explained() {
    let fields = "expected five fields (minute, hour, day of month, month, day of week), or six with seconds first; found ";
    for (text, found) in [("", 0), ("  ", 0), ("5", 1), ("* * * *", 4), ("0 0 12 1 1 * 2027", 7)] {
        assert_eq!(refusal(text).to_string(), format!("{fields}{found}"), "`{text}`");
    }
    for text in ["@reboot", "@dayly", "@"] {
        let words = format!(
            "expected one of @hourly, @daily, @weekly, @monthly or @yearly, found `{text}`"
        );
        assert_eq!(refusal(text).to_string(), words);
    }
    for (text, found) in [
        ("CRON_TZ=Europe/Berlin 0 7 * * *", "CRON_TZ=Europe/Berlin"),
        (" tz=UTC 0 7 * * *", "tz=UTC"),
    ] {
        let words = format!(
            "name the zone with --tz (`tz` of the schedule), not in the pattern: found `{found}`"
        );
        assert_eq!(refusal(text).to_string(), words);
    }
    assert_eq!(refusal(&"1,".repeat(900)).to_string(), "expected at most 1000 characters");
}

#[test]
fn pattern_that_never_fires_is_refused() {
    let never = [
        "0 0 31 2 *",
        "0 0 30 FEB *",
        "0 0 31 4,6,9,11 *",
        "0 0 1W 1 +SUN",
        "0 0 1-6 * +MON#2",
        "0 0 31W 2 *",
    ];
    for text in never {
        assert!(matches!(refusal(text), CronError::NeverFires { .. }), "`{text}`");
    }
    let words =
        "this never fires: no date matches day of month `31`, month `2` and day of week `*`";
    assert_eq!(refusal("0 0 31 2 *").to_string(), words);
    for text in [
        "0 0 31 2 MON",
        "0 0 29 2 *",
        "0 0 29 2 +MON",
        "0 0 * * MON#5",
        "0 0 29 2 +MON#5",
        "0 0 29W 2 *",
    ] {
        assert!(CronPattern::parse(text).is_ok(), "`{text}`");
    }
}

#[test]
fn leap_day_on_any_weekday_fires() {
    for weekday in 0..7 {
        let text = format!("0 0 29 2 +{weekday}");
        assert!(CronPattern::parse(&text).is_ok(), "`{text}`");
    }
}

#[test]
fn fixed_and_interval_patterns_are_distinguished() {
    let fixed = [
        "30 2 * * *",
        "0,30 2 * * *",
        "0-59 0-23 * * *",
        "15 30 2 * * *",
        "0 0 */2 */3 */2",
        "@daily",
    ];
    let interval = [
        "* * * * *",
        "0 * * * *",
        "*/30 2 * * *",
        "0 0-23/2 * * *",
        "* 30 2 * * *",
        "0 2-2/1 * * *",
        "@hourly",
    ];
    for (texts, is_interval) in [(&fixed[..], false), (&interval[..], true)] {
        for text in texts {
            assert_eq!(CronPattern::parse(text).unwrap().is_interval(), is_interval, "`{text}`");
        }
    }
}

#[test]
fn every_form_of_a_day_is_read() {
    let same = [
        ("0 0 * * SUN", "0 0 * * 7"),
        ("0 0 * * 0", "0 0 ? * 7"),
        ("0 0 * * FRI-SUN", "0 0 * * 5,6,0"),
        ("0 0 * * SUN-TUE", "0 0 * * 0,1,2"),
        ("0 0 * * 7-2", "0 0 * * 0-2"),
        ("0 0 * * SUN-SUN", "0 0 * * 0"),
        ("0 0 * * FRIL", "0 0 * * 5#L"),
        ("0 0 * jan-mar fri#2", "0 0 * 1,2,3 5#2"),
        ("00 07 01 01 *", "0 7 1 1 ?"),
        ("@midnight", "@daily"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@hourly", "0 * * * *"),
    ];
    let start = 1_767_225_600_000;
    for (left, right) in same {
        let slots = |text: &str| {
            let pattern =
                CronPattern::parse(text).unwrap_or_else(|error| panic!("`{text}`: {error}"));
            pattern.slots(rouse_core::schedule::Zone::UTC, start).take(40).collect::<Vec<_>>()
        };
        assert_eq!(slots(left), slots(right), "`{left}` and `{right}`");
    }
}

#[test]
fn any_text_is_parsed_or_refused() {
    let seed = Random::fresh_seed();
    let mut random = Random::new(seed);
    let scraps =
        ["0", "7", "59", "*", "/", ",", "-", "#", "L", "W", "+", "?", " ", "MON", "jan", "@", "é"];
    let likely =
        ["0", "1-5", "*", "*/2", "1,3", "2-6/2", "?", "L", "1W", "FRI", "feb", "5#2", "+1"];
    let (mut read, mut refused) = (0, 0);
    for _ in 0..6_000 {
        let field = |random: &mut Random| match random.between(0, 9) {
            0 => (0..random.between(1, 3)).map(|_| random.pick(&scraps)).collect(),
            _ => random.pick(&likely).to_owned(),
        };
        let fields: Vec<String> = (0..random.between(5, 6)).map(|_| field(&mut random)).collect();
        let text = fields.join(" ");
        let bystander = parse_duration(&text).is_ok();
        assert!(!bystander, "`{text}` is no duration, seed {seed}");
        match CronPattern::parse(&text) {
            Ok(pattern) => {
                assert!(
                    pattern.next_after(rouse_core::schedule::Zone::UTC, 0).is_some(),
                    "`{text}` never fires, seed {seed}"
                );
                assert!(!pattern.describe().is_empty(), "`{text}`, seed {seed}");
                read += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(read > 20 && refused > 1_000, "{read} read, {refused} refused, seed {seed}");
}
