//! The comparison table in Markdown for `docs/benchmarks.md`: a row per figure, a column per peer.
//!
//! Owns the row names and number formats. Pitfall: an empty cell; a missing figure is a dash.

use super::SECONDS;
use super::figures::{Burst, Figures, Lateness};

const PATTERNS: [&str; 4] = ["* * * * *", "30 2 * * *", "0 9 * * 1-5", "0 0 29 2 *"];
const ZONES: [&str; 2] = ["UTC", "America/New_York"];
/// A figure of the lateness.
type LatenessField = fn(&Lateness) -> f64;
const LATENESS: [(&str, LatenessField); 3] =
    [("p50", |late| late.p50), ("p99", |late| late.p99), ("worst", |late| late.worst)];
const BURSTS: [(usize, &str); 2] = [(1_000, "1,000"), (10_000, "10,000")];

/// Renders the table.
pub(super) fn render(columns: &[(&str, Figures)]) -> String {
    let heads = columns.iter().map(|(name, figures)| match &figures.version {
        Some(version) => format!("{name} {version}"),
        None => (*name).to_owned(),
    });
    let heads: Vec<String> = heads.collect();
    let mut lines = vec![row("measure", heads.into_iter()), "|---".repeat(columns.len() + 1) + "|"];
    let mut add = |title: &str, cell: &dyn Fn(&Figures) -> Option<String>| {
        let cells = columns.iter().map(|(_, figures)| cell(figures).unwrap_or_else(|| "–".into()));
        lines.push(row(title, cells));
    };
    for (name, field) in LATENESS {
        add(&format!("one job a second, {name} of the lateness"), &|figures| {
            figures.lateness.as_ref().map(|late| millis_text(field(late), late.is_whole_millis))
        });
    }
    add(&format!("one job a second, seconds lost of {SECONDS}"), &|figures| {
        figures.lateness.as_ref().map(|late| lost_text(late.lost, late.doubled))
    });
    for (count, name) in BURSTS {
        let burst =
            |figures: &Figures, cell: fn(&Burst) -> String| figures.bursts.get(&count).map(cell);
        add(&format!("{name} jobs at one instant, the last handler ran after"), &|figures| {
            burst(figures, |burst| millis_text(burst.last, burst.is_whole_millis))
        });
        add(&format!("{name} jobs at one instant, lost"), &|figures| {
            burst(figures, |burst| lost_text(burst.lost, burst.doubled))
        });
    }
    for zone in ZONES {
        for pattern in PATTERNS {
            add(&format!("next run of `{pattern}`, {zone}"), &|figures| {
                figures.next.get(&(zone.to_owned(), pattern.to_owned())).map(|ns| nanos_text(*ns))
            });
        }
    }
    for pattern in PATTERNS {
        add(&format!("reading `{pattern}`"), &|figures| {
            figures.parse.get(pattern).map(|ns| nanos_text(*ns))
        });
    }
    lines.join("\n")
}

fn row(title: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    format!("| {title} | {} |", cells.join(" | "))
}

fn millis_text(millis: f64, is_whole_millis: bool) -> String {
    let decimals = if is_whole_millis || millis >= 100.0 { 0 } else { 2 };
    format!("{millis:.decimals$} ms")
}

fn lost_text(lost: usize, doubled: usize) -> String {
    if doubled == 0 { lost.to_string() } else { format!("{lost} (and {doubled} ran twice)") }
}

/// Nanoseconds with thousands separators.
fn nanos_text(nanos: f64) -> String {
    let digits = format!("{nanos:.0}");
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).expect("BUG: digits"))
        .collect();
    format!("{} ns", groups.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_formatted() {
        assert_eq!(nanos_text(22_682_741.6), "22,682,742 ns");
        assert_eq!(nanos_text(31.4), "31 ns");
        assert_eq!(
            (millis_text(0.654, false), millis_text(3.0, true)),
            ("0.65 ms".into(), "3 ms".into())
        );
        assert_eq!((lost_text(2, 0), lost_text(2, 1)), ("2".into(), "2 (and 1 ran twice)".into()));
    }

    #[test]
    fn missing_figure_is_a_dash() {
        let mut able = Figures { version: Some("1.0".into()), ..Figures::default() };
        able.parse.insert("* * * * *".into(), 27.0);
        let table = render(&[("One", able), ("Other", Figures::default())]);
        assert!(table.starts_with("| measure | One 1.0 | Other |\n|---|---|---|\n"), "{table}");
        assert!(table.contains("| reading `* * * * *` | 27 ns | – |"), "{table}");
        assert!(table.lines().all(|line| line.matches('|').count() == 4), "{table}");
    }
}
