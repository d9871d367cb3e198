//! croner: patterns without a scheduler.

use std::hint::black_box;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use croner::Cron;

const PATTERNS: [&str; 4] = ["* * * * *", "30 2 * * *", "0 9 * * 1-5", "0 0 29 2 *"];
const ZONES: [Tz; 2] = [Tz::UTC, Tz::America__New_York];
/// Instants spread over 2026, so that consecutive results differ.
const INSTANTS: usize = 64;

pub(crate) fn patterns() -> anyhow::Result<()> {
    for text in PATTERNS {
        let parsed = nanos(|_| drop(black_box(black_box(text).parse::<Cron>())));
        println!("parse\t{text}\t{parsed:.1}");
        let pattern: Cron = text.parse()?;
        for zone in ZONES {
            let instants: Vec<_> =
                (0..INSTANTS).map(|index| instant(index).with_timezone(&zone)).collect();
            let next = nanos(|index| {
                let next = pattern.find_next_occurrence(&instants[index], false);
                drop(black_box(next));
            });
            println!("next\t{zone}\t{text}\t{next:.1}");
        }
    }
    Ok(())
}

fn instant(index: usize) -> DateTime<Utc> {
    DateTime::from_timestamp_secs(1_767_225_617 + index as i64 * 494_621).expect("a date of 2026")
}

/// The fastest of many rounds, in nanoseconds per call; other load only slows rounds down.
fn nanos(mut call: impl FnMut(usize)) -> f64 {
    let (began, mut best, mut rounds) = (Instant::now(), Duration::MAX, 0);
    while rounds < 5 || began.elapsed() < Duration::from_millis(300) {
        let before = Instant::now();
        for index in 0..INSTANTS {
            call(index);
        }
        best = best.min(before.elapsed());
        rounds += 1;
    }
    best.as_nanos() as f64 / INSTANTS as f64
}
