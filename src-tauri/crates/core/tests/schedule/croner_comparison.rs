//! The same dialect as croner's, on a clock without changes.

use chrono::{DateTime, NaiveDateTime};
use croner::Cron;
use croner::parser::CronParser;
use rouse_core::schedule::{CronPattern, Zone};

use super::generator::Random;
use super::patterns::{random_pattern, random_sparse_pattern};
use super::places::Place;

/// 2120-01-01, far enough for leap days around 2100, which has none.
const LATEST: i64 = 4_733_510_400;

#[test]
fn every_pattern_agrees_with_croner() {
    let seed = Random::fresh_seed();
    let mut random = Random::new(seed);
    let mut compared = 0;
    for _ in 0..2_000 {
        let near = random.between(0, LATEST);
        let text = match random.between(0, 2) {
            0 => random_sparse_pattern(&mut random),
            1 => random_pattern(&mut random, Place::BuiltIn(chrono_tz::UTC), near, false),
            _ => random_pattern(&mut random, Place::BuiltIn(chrono_tz::UTC), near, true),
        };
        // Patterns without any date are refused here and searched for centuries in croner.
        let Ok(pattern) = CronPattern::parse(&text) else { continue };
        let theirs = CronParser::new().parse(&text).unwrap();
        for _ in 0..10 {
            let from = random.between(0, LATEST);
            let (next, last) = croner_matches(&theirs, from);
            let context = || format!("`{text}` at {from}, seed {seed}");
            assert_eq!(pattern.next_after(Zone::UTC, from * 1000 - 1), next, "{}", context());
            assert_eq!(pattern.last_until(Zone::UTC, from * 1000), last, "{}", context());
            compared += usize::from(next.is_some() && last.is_some());
        }
    }
    assert!(compared > 10_000, "{compared} instants, seed {seed}");
}

/// The first match at or after the unix second `from` and the last match at or before, in unix milliseconds.
fn croner_matches(cron: &Cron, from: i64) -> (Option<i64>, Option<i64>) {
    let from = DateTime::from_timestamp(from, 0).unwrap().naive_utc();
    let millis = |at: NaiveDateTime| at.and_utc().timestamp_millis();
    (
        cron.find_next_occurrence(&from, true).ok().map(millis),
        cron.find_previous_occurrence(&from, true).ok().map(millis),
    )
}
