//! Text of numbers, sizes and Rouse's own messages, for people.
//!
//! Owns letter case, grouped thousands, byte counts and the backticks of Rouse's own messages.
//! Never reads Markdown of a model: `markdown` does.

/// Capitalises the first letter.
#[must_use]
pub fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.map(|first| first + letters.as_str()).unwrap_or_default()
}

/// Groups thousands: `52,310`.
#[must_use]
pub fn group_thousands(number: u64) -> String {
    let digits = number.to_string();
    let head = digits.len() % 3;
    let apart = |(at, digit): (usize, char)| {
        let comma = at > 0 && at % 3 == head;
        [comma.then_some(','), Some(digit)]
    };
    digits.chars().enumerate().flat_map(apart).flatten().collect()
}

/// Replaces byte counts such as `1048576 bytes` by `1 MB`. Counts below 1,000 stay.
#[must_use]
pub fn humanize_sizes(text: &str) -> String {
    let mut parts = text.split(" bytes").peekable();
    let mut shown = String::with_capacity(text.len());
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let digits = part.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (before, number) = part.split_at(part.len() - digits);
        match number.parse::<u64>() {
            Ok(bytes @ 1_000..) if !is_last => shown.extend([before, &format_bytes(bytes)]),
            Ok(_) | Err(_) => shown.extend([part, if is_last { "" } else { " bytes" }]),
        }
    }
    shown
}

/// A size in decimal units, with a decimal place where useful.
#[must_use]
pub fn format_bytes(bytes: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let Some((unit, name)) = units.into_iter().find(|(unit, _)| bytes >= *unit) else {
        return format!("{bytes} bytes");
    };
    let tenths = bytes.saturating_add(unit / 20) / (unit / 10);
    match (tenths / 10, tenths % 10) {
        (whole @ 0..100, tenth @ 1..) => format!("{whole}.{tenth} {name}"),
        (0..100, 0) => format!("{} {name}", tenths / 10),
        _ => format!("{} {name}", bytes.saturating_add(unit / 2) / unit),
    }
}

/// The first line after `escape`, cut to `max` characters. `…` marks omitted text.
#[must_use]
pub fn first_line(text: &str, max: usize, escape: impl Fn(&str) -> String) -> String {
    let mut lines = text.trim().lines();
    let line = escape(&lines.next().unwrap_or_default().replace('\t', " "));
    let has_more_lines = lines.next().is_some();
    let count = line.chars().count() + usize::from(has_more_lines);
    if count <= max {
        return if has_more_lines { format!("{line}…") } else { line };
    }
    let start: String = line.chars().take(max.saturating_sub(1)).collect();
    format!("{}…", start.trim_end())
}

/// Removes the paired backticks of a message of Rouse.
#[must_use]
pub fn strip_backticks(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(strip_backticks_of_line).collect();
    lines.join("\n")
}

fn strip_backticks_of_line(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    let has_pairs_only = parts.len() % 2 == 1;
    if has_pairs_only {
        return parts.concat();
    }
    let (last, paired) = parts.split_last().unwrap_or((&"", &[]));
    format!("{}`{last}", paired.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_loses_only_paired_backticks() {
        for (written, seen) in [
            ("There is no tool `http` here.", "There is no tool http here."),
            ("`a` and `b_c` in **x**", "a and b_c in **x**"),
            ("one ` tick", "one ` tick"),
            ("`a` and ` tick", "a and ` tick"),
            ("`two\nlines`", "`two\nlines`"),
        ] {
            assert_eq!(strip_backticks(written), seen, "{written:?}");
        }
    }

    #[test]
    fn byte_counts_are_humanized() {
        for (written, expected) in [
            ("at most 1048576 bytes at once", "at most 1 MB at once"),
            ("524288 bytes, or 65536 bytes.", "524 kB, or 65.5 kB."),
            ("900 bytes of 2000000000 bytes", "900 bytes of 2 GB"),
            ("some bytes and 1048576", "some bytes and 1048576"),
            (" bytes", " bytes"),
            ("", ""),
        ] {
            assert_eq!(humanize_sizes(written), expected);
        }
    }

    #[test]
    fn first_letter_is_capitalized() {
        assert_eq!(
            ["", "x", "über Nacht", "9 days"].map(capitalize),
            ["", "X", "Über Nacht", "9 days"]
        );
    }
}
