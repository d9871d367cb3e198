//! The bounds of a length of time in the words of whoever typed it.
//!
//! The job format counts seconds and milliseconds, a person types `30d`: told that it must be at most 604800, nobody
//! knows what to type instead. It changes a complaint about bounds and leaves every other as it is.

use rouse_core::schedule::format_duration;

/// The fields that a person writes as a length of time, and their unit in milliseconds.
const LENGTHS: [(&str, i64); 9] = [
    ("coalesceMs", 1),
    ("schedule.everyMs", 1),
    ("schedule.jitterMs", 1),
    ("runtime.retryBackoffMs", 1),
    ("payload.timeoutSeconds", 1_000),
    ("policies.timeoutSeconds", 1_000),
    ("policies.cooldownSeconds", 1_000),
    ("policies.approvalSeconds", 1_000),
    ("policies.misfire.maxLatenessSeconds", 1_000),
];

/// The complaint `message` about the field at `path`: `must be at most 7 d, found 30 d`.
pub(crate) fn in_words(path: &str, message: &str) -> String {
    let unit = LENGTHS.iter().find(|(length, _)| *length == path).map(|(_, unit)| *unit);
    let words = unit.and_then(|unit| {
        let (low, high, found) = bounds(message)?;
        let length = |count: i64| format_duration(count.saturating_mul(unit));
        let (bound, most) = if found < low { ("least", low) } else { ("most", high) };
        Some(format!("must be at {bound} {}, found {}", length(most), length(found)))
    });
    words.unwrap_or_else(|| message.to_owned())
}

/// The numbers of `must be between 1 and 20, found 30`.
fn bounds(message: &str) -> Option<(i64, i64, i64)> {
    let (range, found) = message.strip_prefix("must be between ")?.split_once(", found ")?;
    let (low, high) = range.split_once(" and ")?;
    let number = |text: &str| text.parse::<i64>().ok();
    Some((number(low)?, number(high)?, number(found)?))
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn bounds_are_told_as_they_are_typed() {
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
            ("policies.cooldownSeconds", "expected a whole number", "expected a whole number"),
        ] {
            assert_eq!(in_words(path, message), expected, "{path}");
        }
    }
}
