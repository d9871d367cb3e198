//! Bounds of durations in the units of the command line.
//!
//! The job format counts seconds and milliseconds; a flag takes `30d`. Rewrites messages about bounds and leaves other
//! messages alone.

use rouse_core::schedule::format_duration;

use super::flags::is_job_field;

/// Writes the bounds in `message` as durations: `must be at most 7 d, found 30 d`.
pub(crate) fn humanize(path: &str, message: &str) -> String {
    let humanized = unit_of(path).and_then(|unit| {
        let (low, high, found) = parse_bounds(message)?;
        let duration = |count: i64| format_duration(count.saturating_mul(unit));
        let (side, bound) = if found < low { ("least", low) } else { ("most", high) };
        Some(format!("must be at {side} {}, found {}", duration(bound), duration(found)))
    });
    humanized.unwrap_or_else(|| message.to_owned())
}

/// Milliseconds per unit of a duration field; none for other fields. The unit is the end of the key.
fn unit_of(path: &str) -> Option<i64> {
    let key = path.rsplit('.').next().unwrap_or(path);
    let is_instant = matches!(key, "atMs" | "anchorMs") || key.ends_with("AtMs");
    if is_instant || !(path == "coalesceMs" || is_job_field(path)) {
        return None;
    }
    if key.ends_with("Seconds") { Some(1_000) } else { key.ends_with("Ms").then_some(1) }
}

/// The numbers of `must be between 1 and 20, found 30`.
fn parse_bounds(message: &str) -> Option<(i64, i64, i64)> {
    let (range, found) = message.strip_prefix("must be between ")?.split_once(", found ")?;
    let (low, high) = range.split_once(" and ")?;
    let number = |text: &str| text.parse::<i64>().ok();
    Some((number(low)?, number(high)?, number(found)?))
}

#[cfg(test)]
mod tests {
    use super::humanize;

    #[test]
    fn bounds_are_written_as_durations() {
        let cooldown = "must be between 0 and 604800, found 2592000";
        for (path, message, expected) in [
            ("policies.cooldownSeconds", cooldown, "must be at most 7 d, found 30 d"),
            (
                "schedule.everyMs",
                "must be between 1000 and 253402300799999, found 1",
                "must be at least 1 s, found 1 ms",
            ),
            (
                "coalesceMs",
                "must be between 0 and 60000, found 120000",
                "must be at most 1 min, found 2 min",
            ),
            (
                "payload.maxSteps",
                "must be between 1 and 50, found 51",
                "must be between 1 and 50, found 51",
            ),
            (
                "schedule.atMs",
                "must be between 0 and 9, found 10",
                "must be between 0 and 9, found 10",
            ),
            ("policies.cooldownSeconds", "expected a whole number", "expected a whole number"),
        ] {
            assert_eq!(humanize(path, message), expected, "{path}");
        }
    }
}
