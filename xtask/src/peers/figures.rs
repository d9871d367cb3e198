//! The output of the peer programs, and the statistics common to all peers.
//!
//! Owns the format of a fact (a line with tab-separated fields, times in microseconds since 1970) and the counting of
//! late, lost and doubled runs. A run belongs to the last whole second before it; a run up to 50 ms early belongs to
//! the next second. Pitfall: matching runs to seconds by order; a lost run would make all later runs late. The last
//! fact is `end`, so truncated output is an error instead of lost runs.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};

use super::SECONDS;
use crate::error::ChoreError;

const SECOND: i64 = 1_000_000;
/// The maximum earliness of a run for the next second.
const EARLY: i64 = 50_000;

/// All results of a peer.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) version: Option<String>,
    pub(super) lateness: Option<Lateness>,
    /// By the number of jobs.
    pub(super) bursts: BTreeMap<usize, Burst>,
    /// Nanoseconds by pattern.
    pub(super) parse: BTreeMap<String, f64>,
    /// Nanoseconds by zone and pattern.
    pub(super) next: BTreeMap<(String, String), f64>,
}

/// The lateness of a job per second, in milliseconds.
#[derive(Debug, PartialEq)]
pub(super) struct Lateness {
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) worst: f64,
    /// Seconds without a run.
    pub(super) lost: usize,
    /// Further runs of a second.
    pub(super) doubled: usize,
    /// The program reports whole milliseconds only.
    pub(super) is_whole_millis: bool,
}

/// The result of many jobs at one instant.
#[derive(Debug, PartialEq)]
pub(super) struct Burst {
    /// The time of the last handler, in milliseconds after the instant.
    pub(super) last: f64,
    pub(super) lost: usize,
    pub(super) doubled: usize,
    pub(super) is_whole_millis: bool,
}

impl Figures {
    /// Adds the output of a measurement.
    pub(super) fn take(&mut self, measurement: &[&str], text: &str) -> Result<(), ChoreError> {
        let facts: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        if facts.last().is_none_or(|fact| fact[..] != ["end"]) {
            return Err(ChoreError::new("the output of the program is incomplete"));
        }
        let stamps = |of: &str| -> Result<Vec<i64>, ChoreError> {
            facts.iter().filter(|fact| fact[0] == of).map(|fact| number(fact, 1)).collect()
        };
        for fact in &facts {
            match fact[..] {
                ["version", version] => self.version = Some(version.to_owned()),
                ["parse", pattern, _] => {
                    self.parse.insert(pattern.to_owned(), number(fact, 2)?);
                }
                ["next", zone, pattern, _] => {
                    self.next.insert((zone.to_owned(), pattern.to_owned()), number(fact, 3)?);
                }
                _ => {}
            }
        }
        match measurement {
            ["lateness", ..] => {
                let first = first_stamp(&stamps("first")?)?;
                self.lateness = Some(lateness(first, SECONDS, &stamps("fired")?)?);
            }
            ["burst", count, ..] => {
                let count = number(&[count], 0)?;
                let fired = facts.iter().filter(|fact| fact[0] == "fired");
                let jobs: HashSet<_> = fired.filter_map(|fact| fact.get(2)).collect();
                let stamps_of_runs = stamps("fired")?;
                let burst =
                    burst(first_stamp(&stamps("due")?)?, count, jobs.len(), &stamps_of_runs)?;
                self.bursts.insert(count, burst);
            }
            _ => {}
        }
        Ok(())
    }
}

fn number<T: std::str::FromStr>(fact: &[&str], position: usize) -> Result<T, ChoreError> {
    let text = fact.get(position).and_then(|text| text.parse().ok());
    text.ok_or_else(|| ChoreError::new(format!("unexpected output `{}`", fact.join(" "))))
}

fn first_stamp(stamps: &[i64]) -> Result<i64, ChoreError> {
    stamps.first().copied().ok_or_else(|| ChoreError::new("the output has no due time"))
}

fn lateness(first: i64, seconds: usize, fired: &[i64]) -> Result<Lateness, ChoreError> {
    let mut late: BTreeMap<i64, i64> = BTreeMap::new();
    let mut doubled = 0;
    for stamp in fired {
        let slot = (stamp + EARLY).div_euclid(SECOND);
        let position = slot - first / SECOND;
        if !usize::try_from(position).is_ok_and(|position| position < seconds) {
            continue;
        }
        match late.entry(slot) {
            Entry::Vacant(free) => {
                free.insert(stamp - slot * SECOND);
            }
            Entry::Occupied(_) => doubled += 1,
        }
    }
    let mut sorted: Vec<i64> = late.into_values().collect();
    sorted.sort_unstable();
    if sorted.is_empty() {
        return Err(ChoreError::new("no run at all"));
    }
    Ok(Lateness {
        p50: quantile(&sorted, 50),
        p99: quantile(&sorted, 99),
        worst: quantile(&sorted, 100),
        lost: seconds - sorted.len(),
        doubled,
        is_whole_millis: is_whole_millis(fired),
    })
}

fn burst(due: i64, count: usize, jobs: usize, fired: &[i64]) -> Result<Burst, ChoreError> {
    let last = fired.iter().max().ok_or_else(|| ChoreError::new("no run at all"))?;
    Ok(Burst {
        last: millis(last - due),
        lost: count - jobs.min(count),
        doubled: fired.len() - jobs,
        is_whole_millis: is_whole_millis(fired),
    })
}

fn is_whole_millis(stamps: &[i64]) -> bool {
    stamps.iter().all(|stamp| stamp % 1_000 == 0)
}

/// The percentile of sorted values, in milliseconds.
fn quantile(sorted: &[i64], percent: usize) -> f64 {
    let at = ((sorted.len() - 1) * percent + 50) / 100;
    millis(sorted[at])
}

#[expect(clippy::cast_precision_loss, reason = "a few seconds at most")]
fn millis(micros: i64) -> f64 {
    micros as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Microseconds at `millis` milliseconds after second 100.
    fn at(millis: i64) -> i64 {
        100 * SECOND + millis * 1_000
    }

    #[test]
    fn lateness_assigns_runs_to_their_seconds() {
        let fired = [at(-998), at(1), at(2_300), at(2_301), at(2_998), at(5_000)];
        let found = lateness(at(0), 4, &fired).expect("runs");
        let Lateness { p50, p99, worst, lost, doubled, is_whole_millis } = found;
        // Seconds 0, 2 and 3 of 4; second 2 twice; runs outside do not count.
        assert_eq!((p50, p99, worst), (1.0, 300.0, 300.0));
        assert_eq!((lost, doubled, is_whole_millis), (1, 1, true));
        assert!(lateness(at(0), 4, &[at(9_000)]).is_err());
    }

    #[test]
    fn doubled_run_hides_no_lost_run() {
        let mut figures = Figures::default();
        let due = at(0);
        let text = format!(
            "version\t1.2\ndue\t{due}\nfired\t{}\t7\nfired\t{}\t7\nfired\t{}\t8\nend\n",
            due + 500,
            due + 1_250,
            due + 900
        );
        figures.take(&["burst", "3", "5"], &text).expect("valid");
        let burst = Burst { last: 1.25, lost: 1, doubled: 1, is_whole_millis: false };
        assert_eq!(figures.bursts[&3], burst);
        let cut_off = text.trim_end_matches("end\n");
        assert!(figures.take(&["burst", "3", "5"], cut_off).is_err());
        assert_eq!(figures.version.as_deref(), Some("1.2"));
    }

    #[test]
    fn program_output_is_parsed_or_refused() {
        let mut figures = Figures::default();
        let text = "parse\t* * * * *\t12.5\nnext\tUTC\t* * * * *\t3\nend\n";
        figures.take(&["patterns"], text).expect("valid");
        assert_eq!(figures.parse["* * * * *"].to_string(), "12.5");
        assert_eq!(figures.next[&("UTC".to_owned(), "* * * * *".to_owned())].to_string(), "3");
        for nonsense in ["parse\t*\tfast\nend", "end", "", "first\t1\nfired\tsoon\nend"] {
            let measurement = if nonsense.starts_with("parse") { "patterns" } else { "lateness" };
            assert!(figures.take(&[measurement], nonsense).is_err(), "{nonsense:?}");
        }
    }
}
