//! What the programs print, and the sums that are the same for all of them.
//!
//! Owns the form of a fact (one a line, fields parted by tabs, instants in microseconds since 1970) and how late, lost
//! and doubled are counted. A run belongs to the last whole second before it; one that comes up to a twentieth of a
//! second early belongs to the second it came before. One could get it wrong by taking runs in order for seconds in
//! order: a single lost one would make all that follow late. Or by trusting a program that stops in the middle of what it
//! prints: what it did not print would count as lost; hence the last fact is `end`.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};

use super::SECONDS;
use crate::failure::Failure;

const SECOND: i64 = 1_000_000;
/// How early a run may be and still count as one of the second that follows.
const EARLY: i64 = 50_000;

/// Everything that one peer answered.
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

/// How late the runs of one job a second were, in milliseconds.
#[derive(Debug, PartialEq)]
pub(super) struct Lateness {
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) most: f64,
    /// Seconds without a run.
    pub(super) lost: usize,
    /// Runs of a second that had one already.
    pub(super) doubled: usize,
    /// The program knows no parts of a millisecond.
    pub(super) whole: bool,
}

/// What became of many jobs at one instant.
#[derive(Debug, PartialEq)]
pub(super) struct Burst {
    /// When the last handler ran, in milliseconds after the instant.
    pub(super) last: f64,
    pub(super) lost: usize,
    pub(super) doubled: usize,
    pub(super) whole: bool,
}

impl Figures {
    /// Takes the answer to the question into account.
    pub(super) fn take(&mut self, question: &[&str], text: &str) -> Result<(), Failure> {
        let facts: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        if facts.last().is_none_or(|fact| fact[..] != ["end"]) {
            return Err(Failure::new("what its program printed was cut off"));
        }
        let stamps = |of: &str| -> Result<Vec<i64>, Failure> {
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
        match question {
            ["lateness", ..] => {
                let first = one(&stamps("first")?)?;
                self.lateness = Some(lateness(first, SECONDS, &stamps("fired")?)?);
            }
            ["burst", count, ..] => {
                let count = number(&[count], 0)?;
                let fired = facts.iter().filter(|fact| fact[0] == "fired");
                let jobs: HashSet<_> = fired.filter_map(|fact| fact.get(2)).collect();
                let stamps_of_runs = stamps("fired")?;
                let burst = burst(one(&stamps("due")?)?, count, jobs.len(), &stamps_of_runs)?;
                self.bursts.insert(count, burst);
            }
            _ => {}
        }
        Ok(())
    }
}

fn number<T: std::str::FromStr>(fact: &[&str], place: usize) -> Result<T, Failure> {
    let text = fact.get(place).and_then(|text| text.parse().ok());
    text.ok_or_else(|| Failure::new(format!("its program printed `{}`", fact.join(" "))))
}

fn one(stamps: &[i64]) -> Result<i64, Failure> {
    stamps.first().copied().ok_or_else(|| Failure::new("its program did not say what was due"))
}

fn lateness(first: i64, seconds: usize, fired: &[i64]) -> Result<Lateness, Failure> {
    let mut late: BTreeMap<i64, i64> = BTreeMap::new();
    let mut doubled = 0;
    for stamp in fired {
        let slot = (stamp + EARLY).div_euclid(SECOND);
        let place = slot - first / SECOND;
        if !usize::try_from(place).is_ok_and(|place| place < seconds) {
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
        return Err(Failure::new("no run at all"));
    }
    Ok(Lateness {
        p50: quantile(&sorted, 50),
        p99: quantile(&sorted, 99),
        most: quantile(&sorted, 100),
        lost: seconds - sorted.len(),
        doubled,
        whole: whole(fired),
    })
}

fn burst(due: i64, count: usize, jobs: usize, fired: &[i64]) -> Result<Burst, Failure> {
    let last = fired.iter().max().ok_or_else(|| Failure::new("no run at all"))?;
    Ok(Burst {
        last: millis(last - due),
        lost: count - jobs.min(count),
        doubled: fired.len() - jobs,
        whole: whole(fired),
    })
}

fn whole(stamps: &[i64]) -> bool {
    stamps.iter().all(|stamp| stamp % 1_000 == 0)
}

/// The value below which `percent` of the sorted ones lie, in milliseconds.
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
    fn a_run_belongs_to_its_second_even_where_others_are_lost_or_early() {
        let fired = [at(-998), at(1), at(2_300), at(2_301), at(2_998), at(5_000)];
        let found = lateness(at(0), 4, &fired).expect("runs");
        let Lateness { p50, p99, most, lost, doubled, whole } = found;
        // Seconds 0, 2 and 3 of 4; second 2 twice; what lies outside does not count.
        assert_eq!((p50, p99, most), (1.0, 300.0, 300.0));
        assert_eq!((lost, doubled, whole), (1, 1, true));
        assert!(lateness(at(0), 4, &[at(9_000)]).is_err());
    }

    #[test]
    fn a_job_that_ran_twice_hides_none_that_was_lost() {
        let mut figures = Figures::default();
        let due = at(0);
        let text = format!(
            "version\t1.2\ndue\t{due}\nfired\t{}\t7\nfired\t{}\t7\nfired\t{}\t8\nend\n",
            due + 500,
            due + 1_250,
            due + 900
        );
        figures.take(&["burst", "3", "5"], &text).expect("understood");
        let burst = Burst { last: 1.25, lost: 1, doubled: 1, whole: false };
        assert_eq!(figures.bursts[&3], burst);
        let cut_off = text.trim_end_matches("end\n");
        assert!(figures.take(&["burst", "3", "5"], cut_off).is_err());
        assert_eq!(figures.version.as_deref(), Some("1.2"));
    }

    #[test]
    fn what_a_program_prints_is_understood_or_refused() {
        let mut figures = Figures::default();
        let text = "parse\t* * * * *\t12.5\nnext\tUTC\t* * * * *\t3\nend\n";
        figures.take(&["patterns"], text).expect("understood");
        assert_eq!(figures.parse["* * * * *"].to_string(), "12.5");
        assert_eq!(figures.next[&("UTC".to_owned(), "* * * * *".to_owned())].to_string(), "3");
        for nonsense in ["parse\t*\tfast\nend", "end", "", "first\t1\nfired\tsoon\nend"] {
            let question = if nonsense.starts_with("parse") { "patterns" } else { "lateness" };
            assert!(figures.take(&[question], nonsense).is_err(), "{nonsense:?}");
        }
    }
}
