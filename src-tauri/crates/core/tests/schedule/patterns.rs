//! Random patterns, mostly close to a clock change.

use chrono::{Datelike as _, Timelike as _};

use super::generator::Random;
use super::oracle::{naive, offset};
use super::places::Place;

/// Times close to the change `around`, more often than not.
pub(crate) fn random_pattern(
    random: &mut Random,
    tz: Place,
    around: i64,
    with_seconds: bool,
) -> String {
    let (before, after) = (offset(tz, around - 1), offset(tz, around));
    let (low, high) =
        (around + before.min(after), around + before.max(after) - i64::from(before != after));
    let margin = if random.chance(60) { 0 } else { 90 * 60 };
    let shown = naive(random.between(low - margin, high + margin));
    let minute = random_field(random, 0, 59, i64::from(shown.minute()));
    let hour = random_field(random, 0, 23, i64::from(shown.hour()));
    let date_is_near = random.chance(30);
    let day = match random.between(0, 9) {
        _ if date_is_near => shown.day().to_string(),
        0 => random_field(random, 1, 31, i64::from(shown.day())),
        1 => random.pick(&["L", "LW", "15W", "1W,L", "1-7", "31W"]).to_owned(),
        _ => "*".to_owned(),
    };
    let month =
        if date_is_near && random.chance(50) { shown.month().to_string() } else { "*".to_owned() };
    let weekday = random_weekday(random, i64::from(shown.weekday().num_days_from_sunday()));
    let fields = format!("{minute} {hour} {day} {month} {weekday}");
    if with_seconds { format!("{} {fields}", random_field(random, 0, 59, 0)) } else { fields }
}

fn random_weekday(random: &mut Random, near: i64) -> String {
    let plus = if random.chance(30) { "+" } else { "" };
    match random.between(0, 9) {
        0 => format!("{plus}{}", random_field(random, 0, 7, near)).replace("+*", "*"),
        1 => format!(
            "{plus}{}",
            random.pick(&["1-5", "0,6", "5-7", "1#1", "5#L", "0#L,3", "1-3#2", "7#5"])
        ),
        _ => "*".to_owned(),
    }
}

fn random_field(random: &mut Random, least: i64, most: i64, near: i64) -> String {
    let any = random.between(least, most);
    let near = if random.chance(70) { near } else { any };
    let end = random.between(near, most);
    match random.between(0, 9) {
        0 | 1 => "*".to_owned(),
        2 => format!("*/{}", random.between(1, most - least)),
        3 => format!("{near}-{end}/{}", random.between(1, 7)),
        4 => format!("{near}-{end}"),
        5 => format!("{near},{any}"),
        6 => format!("{any},{near}-{end}"),
        _ => near.to_string(),
    }
}

pub(crate) fn random_sparse_pattern(random: &mut Random) -> String {
    let minute = random.pick(&["0", "30", "0,30", "*/30", "59", "15-17"]);
    let hour = random.pick(&["0", "2", "1,2,3", "23", "*/6", "0-2", "12"]);
    let day = random
        .pick(&["*", "1", "29", "30", "31", "L", "LW", "15W", "1W", "29W", "31W", "1,15", "28-31"]);
    let month = random.pick(&["*", "2", "3", "10", "2,3", "*/3", "4,6,9,11", "1-12/5"]);
    let weekday = random.pick(&[
        "*", "*", "1", "0", "1-5", "+5", "+1", "+0,6", "+3#5", "5#L", "1#1", "+0#L", "7#5",
    ]);
    let weekday = if day == "*" { weekday.trim_start_matches('+') } else { weekday };
    format!("{minute} {hour} {day} {month} {weekday}")
}
