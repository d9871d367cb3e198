//! The next slot of a pattern.

use std::hint::black_box;

use rouse_core::schedule::{CronPattern, Zone};

use super::fixture::timed;
use crate::report::Report;

const PATTERNS: [&str; 5] =
    ["* * * * *", "30 2 * * *", "0 9 * * 1-5", "0 0 29 2 *", "0 12 LW * 5#L"];
const CALLS: u32 = 100_000;
/// 2026-01-01T00:00:00Z.
const NEW_YEAR: i64 = 1_767_225_600_000;

pub(crate) fn measure(report: &mut Report) {
    for text in PATTERNS {
        let Ok(pattern) = CronPattern::parse(text) else { continue };
        for zone in [Zone::UTC, Zone::from(chrono_tz::America::New_York)] {
            // Spread over eight years, including clock changes and leap days.
            let at = |call: u32| NEW_YEAR + i64::from(call) * 2_500_000;
            let next = nanos(|call| pattern.next_after(zone, black_box(at(call))).is_some());
            report.at_most(&format!("next run of `{text}` in {zone}"), next, 500.0, "ns");
        }
    }
}

/// The best of five rounds, per call.
fn nanos(call: impl Fn(u32) -> bool) -> f64 {
    let round = |_| {
        let (all, elapsed) = timed(|| (0..CALLS).all(|number| black_box(call(number))));
        assert!(all, "a pattern has no next run");
        elapsed.as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    (0..5).map(round).fold(f64::INFINITY, f64::min)
}
