//! The one table: a row a figure, a column a peer, as Markdown for `docs/benchmarks.md`.
//!
//! Owns names of rows and how a figure is written. One could get it wrong by leaving a cell empty: a peer that cannot do
//! something, or failed, has a dash.

use super::SECONDS;
use super::figures::{Burst, Figures, Lateness};

const PATTERNS: [&str; 4] = ["* * * * *", "30 2 * * *", "0 9 * * 1-5", "0 0 29 2 *"];
const ZONES: [&str; 2] = ["UTC", "America/New_York"];
/// A figure of the lateness.
type Part = fn(&Lateness) -> f64;
const LATENESS: [(&str, Part); 3] =
    [("p50", |late| late.p50), ("p99", |late| late.p99), ("worst", |late| late.most)];
const BURSTS: [(usize, &str); 2] = [(1_000, "1,000"), (10_000, "10,000")];

/// The table of these columns.
pub(super) fn of(columns: &[(&str, Figures)]) -> String {
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
    for (name, part) in LATENESS {
        add(&format!("one job a second, {name} of the lateness"), &|figures| {
            figures.lateness.as_ref().map(|late| in_millis(part(late), late.whole))
        });
    }
    add(&format!("one job a second, seconds lost of {SECONDS}"), &|figures| {
        figures.lateness.as_ref().map(|late| counted(late.lost, late.doubled))
    });
    for (count, name) in BURSTS {
        let burst =
            |figures: &Figures, cell: fn(&Burst) -> String| figures.bursts.get(&count).map(cell);
        add(&format!("{name} jobs at one instant, the last handler ran after"), &|figures| {
            burst(figures, |burst| in_millis(burst.last, burst.whole))
        });
        add(&format!("{name} jobs at one instant, lost"), &|figures| {
            burst(figures, |burst| counted(burst.lost, burst.doubled))
        });
    }
    for zone in ZONES {
        for pattern in PATTERNS {
            add(&format!("next run of `{pattern}`, {zone}"), &|figures| {
                figures.next.get(&(zone.to_owned(), pattern.to_owned())).map(|ns| in_nanos(*ns))
            });
        }
    }
    for pattern in PATTERNS {
        add(&format!("reading `{pattern}`"), &|figures| {
            figures.parse.get(pattern).map(|ns| in_nanos(*ns))
        });
    }
    lines.join("\n")
}

fn row(title: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    format!("| {title} | {} |", cells.join(" | "))
}

fn in_millis(millis: f64, whole: bool) -> String {
    let decimals = if whole || millis >= 100.0 { 0 } else { 2 };
    format!("{millis:.decimals$} ms")
}

fn counted(lost: usize, doubled: usize) -> String {
    if doubled == 0 { lost.to_string() } else { format!("{lost} (and {doubled} ran twice)") }
}

/// Nanoseconds, with a comma for thousands.
fn in_nanos(nanos: f64) -> String {
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
    fn figures_are_written_as_people_read_them() {
        assert_eq!(in_nanos(22_682_741.6), "22,682,742 ns");
        assert_eq!(in_nanos(31.4), "31 ns");
        assert_eq!(
            (in_millis(0.654, false), in_millis(3.0, true)),
            ("0.65 ms".into(), "3 ms".into())
        );
        assert_eq!((counted(2, 0), counted(2, 1)), ("2".into(), "2 (and 1 ran twice)".into()));
    }

    #[test]
    fn what_a_peer_does_not_do_is_a_dash() {
        let mut able = Figures { version: Some("1.0".into()), ..Figures::default() };
        able.parse.insert("* * * * *".into(), 27.0);
        let table = of(&[("One", able), ("Other", Figures::default())]);
        assert!(table.starts_with("| measure | One 1.0 | Other |\n|---|---|---|\n"), "{table}");
        assert!(table.contains("| reading `* * * * *` | 27 ns | – |"), "{table}");
        assert!(table.lines().all(|line| line.matches('|').count() == 4), "{table}");
    }
}
