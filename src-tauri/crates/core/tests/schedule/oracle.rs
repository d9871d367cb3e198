//! A brute-force oracle: walk the clock, apply the rule literally, compare with the engine.
//!
//! Nothing here is shared with the engine but the offsets of chrono-tz, except for the zone files of the system: the
//! fields are expanded anew, the clock is walked step by step, and shown or skipped times are recorded instead of
//! computed.

use std::collections::HashSet;

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use rouse_core::schedule::{CronPattern, transitions_in};

use super::expander::Expander;
use super::generator::Random;
use super::patterns::{random_pattern, random_sparse_pattern};
use super::places::{Place, built_in, of_system};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
const FIXED_SEED: u64 = 20_251_121;

#[test]
fn walking_the_clock_of_every_zone_agrees_fixed_seed() {
    walk_every_zone(&built_in(), FIXED_SEED);
}

#[test]
fn walking_the_clock_of_every_zone_agrees_fresh_seed() {
    walk_every_zone(&built_in(), Random::fresh_seed());
}

#[test]
fn walking_dates_over_years_agrees_fixed_seed() {
    walk_dates(&built_in(), FIXED_SEED);
}

#[test]
fn walking_dates_over_years_agrees_fresh_seed() {
    walk_dates(&built_in(), Random::fresh_seed());
}

#[test]
fn walking_the_clock_of_every_zone_file_agrees() {
    let places = of_system();
    if !places.is_empty() {
        walk_every_zone(&places, Random::fresh_seed());
    }
}

#[test]
fn walking_dates_by_zone_files_agrees() {
    let places = of_system();
    if !places.is_empty() {
        walk_dates(&places, Random::fresh_seed());
    }
}

/// Each zone, each time in another year: around a change of the clock in that year, else anywhere.
fn walk_every_zone(places: &[Place], seed: u64) {
    let mut random = Random::new(seed);
    let mut seen = Seen::default();
    for tz in places.iter().copied() {
        for _ in 0..2 {
            let year_start = random_year_start(&mut random);
            let changes = changes_by_probing(tz, year_start, year_start + 366 * DAY);
            let listed =
                transitions_in(tz.zone(), year_start * 1000, (year_start + 366 * DAY) * 1000);
            let listed: Vec<i64> = listed.iter().map(|transition| transition.at / 1000).collect();
            assert_eq!(
                listed,
                changes,
                "transitions_in {tz} from {}, seed {seed}",
                show(tz, year_start)
            );
            let any = random.between(year_start, year_start + 365 * DAY);
            let around = if changes.is_empty() {
                any
            } else {
                *random.pick(&changes.iter().collect::<Vec<_>>())
            };
            seen.changes += usize::from(!changes.is_empty());
            check_around(tz, around, &mut random, seed, &mut seen);
        }
    }
    // The number of comparisons must not shrink unnoticed.
    assert!(seen.changes > 300 && seen.patterns > 2_000 && seen.slots > 20_000, "{seen:?}");
    assert!(seen.in_gap > 100 && seen.in_overlap > 5_000, "{seen:?}");
}

/// How much a run compared.
#[derive(Debug, Default)]
struct Seen {
    changes: usize,
    patterns: usize,
    slots: usize,
    in_gap: usize,
    in_overlap: usize,
}

fn check_around(tz: Place, around: i64, random: &mut Random, seed: u64, seen: &mut Seen) {
    let change = offset(tz, around) - offset(tz, around - 1);
    let radius = if change == 0 { 4 * HOUR } else { 26 * HOUR + change.abs() };
    let by_minute = Walk::around(tz, around, radius, None);
    for _ in 0..if change == 0 { 1 } else { 5 } {
        let text = random_pattern(random, tz, around, false);
        check_pattern(&text, &by_minute, random, seed, seen);
    }
    if (1..=HOUR).contains(&change.abs()) && random.chance(15) {
        let by_second = Walk::around(tz, around, 90 * 60, Some(1));
        for _ in 0..3 {
            let text = random_pattern(random, tz, around, true);
            check_pattern(&text, &by_second, random, seed, seen);
        }
    }
}

fn check_pattern(text: &str, walk: &Walk, random: &mut Random, seed: u64, seen: &mut Seen) {
    let expected = Expander::read(text);
    let Some(pattern) = parsed(text, &expected) else { return };
    let slots = walk.slots(&expected);
    seen.patterns += 1;
    seen.in_gap += slots.iter().filter(|slot| slot.in_gap).count();
    seen.in_overlap += slots.iter().filter(|slot| slot.in_overlap).count();
    for _ in 0..6 {
        let mut after = walk.random_instant(random);
        for _ in 0..3 {
            let context = || {
                format!(
                    "`{text}` in {}, {}, seed {seed}",
                    walk.tz,
                    show(walk.tz, after.div_euclid(1000))
                )
            };
            let want = slots.iter().map(|slot| slot.at * 1000).find(|at| *at > after);
            let got = pattern.next_after(walk.tz.zone(), after);
            let got_inside = got.filter(|at| *at <= walk.end * 1000);
            assert_eq!(got_inside, want, "next after: {}", context());
            assert!(got.is_none_or(|at| at > after), "not after: {}", context());
            let want = slots.iter().map(|slot| slot.at * 1000).rfind(|at| *at <= after);
            let got =
                pattern.last_until(walk.tz.zone(), after).filter(|at| *at > walk.start * 1000);
            assert_eq!(got, want, "last until: {}", context());
            seen.slots += usize::from(got_inside.is_some());
            let until = walk.random_instant(random);
            let inside = slots.iter().map(|slot| slot.at * 1000);
            let want = inside.filter(|at| (after + 1..=until).contains(at)).count();
            let got = pattern.count_slots(walk.tz.zone(), after, until);
            assert_eq!(got as usize, want, "counted up to {until}: {}", context());
            let Some(next) = got_inside else { break };
            after = next;
        }
    }
}

/// The pattern; none when the engine refuses the pattern, and then no date may match.
fn parsed(text: &str, expected: &Expander) -> Option<CronPattern> {
    match CronPattern::parse(text) {
        Ok(pattern) => {
            assert_eq!(pattern.is_interval(), expected.is_interval, "`{text}`");
            Some(pattern)
        }
        Err(error) => {
            let first = NaiveDate::from_ymd_opt(2000, 1, 1).unwrap();
            let matching =
                first.iter_days().take(28 * 366).find(|date| expected.matches_date(*date));
            assert_eq!(matching, None, "`{text}` was refused: {error}");
            None
        }
    }
}

/// A stretch of the clock of a zone, walked in steps.
struct Walk {
    tz: Place,
    /// Slots are compared after this second up to `end`; the walk begins earlier, to know the times shown before.
    start: i64,
    end: i64,
    around: i64,
    step: i64,
    steps: Vec<Step>,
}

/// The clock at an instant.
struct Step {
    at: i64,
    shown: i64,
    shown_before: bool,
}

struct Slot {
    at: i64,
    in_gap: bool,
    in_overlap: bool,
}

impl Walk {
    fn around(tz: Place, around: i64, radius: i64, step: Option<i64>) -> Self {
        // Whole minutes, but where the clock was set by half minutes.
        let has_half_minutes =
            [-DAY, DAY].into_iter().any(|shift| offset(tz, around + shift) % 60 != 0);
        let step = step.unwrap_or(if has_half_minutes { 30 } else { 60 });
        let centre = around.div_euclid(step) * step;
        let change = (offset(tz, around) - offset(tz, around - 1)).abs();
        let (start, end) = (centre - radius, centre + radius);
        let mut steps: Vec<Step> = Vec::new();
        let mut shown_times = HashSet::new();
        let mut at = start - change - HOUR;
        while at <= end {
            let shown = at + offset(tz, at);
            steps.push(Step { at, shown, shown_before: !shown_times.insert(shown) });
            at += step;
        }
        Self { tz, start, end, around, step, steps }
    }

    /// The rule, word for word.
    fn slots(&self, pattern: &Expander) -> Vec<Slot> {
        let mut slots = Vec::new();
        for pair in self.steps.windows(2).filter(|pair| pair[1].at > self.start) {
            let (previous, step) = (&pair[0], &pair[1]);
            let matches = pattern.matches(step.shown);
            let mut skipped =
                ((previous.shown + self.step)..step.shown).step_by(self.step as usize);
            let in_gap = !pattern.is_interval && skipped.any(|time| pattern.matches(time));
            let in_overlap = matches && step.shown_before;
            let fires = if pattern.is_interval {
                matches
            } else {
                in_gap || (matches && !step.shown_before)
            };
            if fires {
                slots.push(Slot { at: step.at, in_gap, in_overlap });
            }
        }
        slots
    }

    /// Often at or beside the change, often with parts of a second.
    fn random_instant(&self, random: &mut Random) -> i64 {
        let change = (offset(self.tz, self.around) - offset(self.tz, self.around - 1)).abs();
        let seconds = match random.between(0, 5) {
            0 => self.around + random.between(-1, 1),
            1 => self.around - change + random.between(-60, 60),
            2 => self.around + change + random.between(-60, 60),
            3 => self.around + random.between(-2 * HOUR, 2 * HOUR),
            _ => random.between(self.start, self.end),
        };
        let part = if random.chance(50) { 0 } else { random.between(-999, 999) };
        let aligned =
            if random.chance(50) { seconds } else { seconds.div_euclid(self.step) * self.step };
        (aligned * 1000 + part).clamp(self.start * 1000, self.end * 1000)
    }
}

/// Sparse patterns over decades, with leap days and the year 2100: walk the dates, then place each time.
fn walk_dates(places: &[Place], seed: u64) {
    let mut random = Random::new(seed);
    for round in 0..700 {
        let tz = places[random.between(0, places.len() as i64 - 1) as usize];
        let from = random.between(0, 4_733_510_400);
        let text = random_sparse_pattern(&mut random);
        let expected = Expander::read(&text);
        let Some(pattern) = parsed(&text, &expected) else { continue };
        let after = from * 1000 + random.between(0, 999);
        let got = pattern.next_after(tz.zone(), after);
        let want = next_by_dates(&expected, tz, after);
        assert_eq!(got, want, "`{text}` in {tz}, {}, round {round}, seed {seed}", show(tz, from));
        let until = after + random.between(0, 8 * 366 * DAY * 1000);
        let walked = pattern.slots(tz.zone(), after).take_while(|at| *at <= until).count();
        let counted = pattern.count_slots(tz.zone(), after, until) as usize;
        assert_eq!(counted, walked, "`{text}` in {tz}, {after} to {until}, seed {seed}");
        let back = got.and_then(|at| pattern.last_until(tz.zone(), at + 999));
        assert_eq!(
            back,
            got,
            "back: `{text}` in {tz}, {}, round {round}, seed {seed}",
            show(tz, from)
        );
    }
}

fn next_by_dates(pattern: &Expander, tz: Place, after: i64) -> Option<i64> {
    let first = naive(after.div_euclid(1000) - 3 * DAY).date();
    let mut best: Option<i64> = None;
    for date in first.iter_days().take(41 * 366) {
        let midnight = date.and_hms_opt(0, 0, 0).unwrap().and_utc().timestamp();
        if best.is_some_and(|best| midnight > best + 3 * DAY) {
            break;
        }
        if !pattern.matches_date(date) {
            continue;
        }
        let slots =
            pattern.times_of_day().into_iter().flat_map(|time| place(pattern, tz, midnight + time));
        let next = slots.filter(|at| at * 1000 > after).min();
        best = [best, next].into_iter().flatten().min();
    }
    best.map(|at| at * 1000)
}

/// The instants at which a time of the clock is a slot.
fn place(pattern: &Expander, tz: Place, wanted: i64) -> Vec<i64> {
    let mut offsets: Vec<i64> = (-30..=30).map(|hours| offset(tz, wanted + hours * HOUR)).collect();
    offsets.sort_unstable();
    offsets.dedup();
    let mut instants: Vec<i64> = offsets.into_iter().map(|east| wanted - east).collect();
    instants.retain(|at| at + offset(tz, *at) == wanted);
    instants.sort_unstable();
    if pattern.is_interval {
        return instants;
    }
    if instants.is_empty() {
        let mut at = wanted - 30 * HOUR;
        while at + offset(tz, at) < wanted {
            at += 1;
        }
        instants.push(at);
    }
    instants.truncate(1);
    instants
}

fn random_year_start(random: &mut Random) -> i64 {
    let last = if random.chance(70) { 2037 } else { 2099 };
    let year = random.between(1970, last) as i32;
    NaiveDate::from_ymd_opt(year, 1, 1).unwrap().and_hms_opt(0, 0, 0).unwrap().and_utc().timestamp()
}

/// The first seconds with a new offset, found by looking every six hours and then at every half minute.
fn changes_by_probing(tz: Place, from: i64, to: i64) -> Vec<i64> {
    let mut changes = Vec::new();
    let mut before = offset(tz, from);
    let mut probe = from;
    while probe < to {
        let next = (probe + 6 * HOUR).min(to);
        if offset(tz, next) != before {
            let mut at = probe;
            while offset(tz, at) == before {
                at += 30;
            }
            changes.push(at);
            before = offset(tz, next);
        }
        probe = next;
    }
    changes
}

pub(crate) fn offset(tz: Place, at: i64) -> i64 {
    tz.offset(at)
}

pub(crate) fn naive(seconds: i64) -> NaiveDateTime {
    DateTime::from_timestamp(seconds, 0).unwrap().naive_utc()
}

fn show(tz: Place, at: i64) -> String {
    format!("{} ({at})", naive(at + tz.offset(at)))
}
