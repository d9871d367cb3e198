//! A simulated world of jobs: years of slots, crashes, clock steps, other zone data, edits and removals in seconds.
//!
//! The decisions are the real ones (`plan_claim`, `Slots`, `recover`, `fate_of_job`, `Lanes`); what stands between them
//! is told here as the engine and the store do it, on a disk that is a map in memory. The oracle counts slots by plain
//! arithmetic, without the offset of their jitter: with another one they are the same slots. A failing world is played
//! again with fewer jobs until it is small. One could get it wrong by letting the world go on from what the engine says
//! instead of from what the oracle expects.

mod events;
mod job;
mod life;
mod retries;
mod rules;
pub(crate) mod shape;

use std::collections::{BTreeMap, BTreeSet};

use rouse_core::{Cause, RunState, RunTrigger};
use rouse_scheduler::lanes::{Lanes, Rank};

use self::job::{SimJob, ZoneData};
use self::rules::CAP;
use self::shape::{DAY, HOUR, MINUTE, SECOND};
use crate::rules::Rules;
use rouse_testkit::Dice;
use rouse_testkit::dice::{count_or, first_seed};

/// What did not hold.
type Broken = String;

/// Answers from the enclosing function when something does not hold.
macro_rules! hold {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err(format!($($words)+));
        }
    };
}
use hold;

/// Monday, 2024-01-01T00:00:00Z, before a leap day.
const START: i64 = 1_704_067_200_000;
const JOBS: usize = 24;
const STEPS: usize = 260;
/// Enough for a million days of jobs.
const WORLDS: usize = 252;

/// A run that is not over, as the disk has it.
#[derive(Debug, Clone)]
struct Row {
    job: usize,
    slot: Option<i64>,
    trigger: RunTrigger,
    state: RunState,
    is_again: bool,
    /// For which slot it makes up; none also for what makes up for a run by hand.
    makes_up_for: Option<i64>,
    /// Which attempt it is at, from 1.
    attempt: u32,
    /// Between two attempts: when the next one is due, and how long the wait is.
    waits: Option<Wait>,
    /// What fired it, if it was the end of another run.
    cause: Option<Cause>,
    /// Of a slot: how many seconds after the last start it may start.
    cooldown: Option<u32>,
}

impl Row {
    fn new(job: usize, slot: Option<i64>, trigger: RunTrigger) -> Self {
        let (state, is_again, attempt) = (RunState::Queued, false, 1);
        let (waits, cause, cooldown) = (None, None, None);
        let makes_up_for = None;
        Self { job, slot, trigger, state, is_again, makes_up_for, attempt, waits, cause, cooldown }
    }

    /// Whether a slot has asked for it.
    fn is_for_slot(&self) -> bool {
        self.slot.or(self.makes_up_for).is_some()
    }

    fn is_by_hand(&self) -> bool {
        self.trigger == RunTrigger::Manual
    }
}

/// What the disk knows of a wait between two attempts.
#[derive(Debug, Clone, Copy)]
struct Wait {
    until: i64,
    whole: i64,
}

/// Everything is paused.
#[derive(Debug, Clone, Copy)]
struct Pause {
    until: Option<i64>,
}

/// What the jobs of worlds lived through.
#[derive(Debug, Clone, Copy, Default)]
struct Lived {
    job_days: i64,
    /// Attempts that followed a failed one.
    attempts: usize,
    /// Rows that the end of another run made.
    fired: usize,
    /// Rows of slots that came in a pause.
    left_out: usize,
}

impl Lived {
    fn and(self, other: Self) -> Self {
        Self {
            job_days: self.job_days + other.job_days,
            attempts: self.attempts + other.attempts,
            fired: self.fired + other.fired,
            left_out: self.left_out + other.left_out,
        }
    }
}

struct World {
    dice: Dice,
    now: i64,
    /// Days that went by, over all jobs.
    job_days: i64,
    days_seen: i64,
    // The disk.
    jobs: BTreeMap<usize, SimJob>,
    open: BTreeMap<u64, Row>,
    pause: Option<Pause>,
    ended: u64,
    made: u64,
    /// Which jobs the ends of which runs have fired.
    heard: BTreeSet<(usize, u64)>,
    /// How many such rows there must be.
    owed: usize,
    /// Attempts that followed a failed one.
    attempts: usize,
    /// Rows of slots that came in a pause.
    left_out: usize,
    // The machine.
    data: ZoneData,
    /// Since the process was up.
    has_new_rules: bool,
    was_set: bool,
    // The memory of the process.
    is_up: bool,
    lanes: Lanes<()>,
    /// Runs at work, and after how much more time they end.
    working: BTreeMap<u64, i64>,
    /// Runs between two attempts, and after how much more time the next one is due.
    resting: BTreeMap<u64, i64>,
    /// Runs whose wait is over, which queue for a permit.
    resuming: BTreeSet<u64>,
    /// With the ranks of their places.
    started: BTreeMap<u64, Rank>,
    next_job: usize,
    most_jobs: usize,
}

impl World {
    fn new(seed: u64, most_jobs: usize) -> Self {
        let mut world = Self {
            dice: Dice::new(seed),
            now: START,
            job_days: 0,
            days_seen: START.div_euclid(DAY),
            jobs: BTreeMap::new(),
            open: BTreeMap::new(),
            pause: None,
            ended: 0,
            made: 0,
            heard: BTreeSet::new(),
            owed: 0,
            attempts: 0,
            left_out: 0,
            data: ZoneData { rules: Rules::default(), zones: chrono_tz::UTC.into() },
            has_new_rules: false,
            was_set: false,
            is_up: true,
            lanes: Lanes::new(CAP),
            working: BTreeMap::new(),
            resting: BTreeMap::new(),
            resuming: BTreeSet::new(),
            started: BTreeMap::new(),
            next_job: 0,
            most_jobs,
        };
        (0..most_jobs).for_each(|_| world.add());
        world
    }

    /// Plays `steps` steps; answers what its jobs lived through.
    fn play(mut self, steps: usize) -> Result<Lived, Broken> {
        for step in 0..steps {
            self.step().map_err(|broken| format!("step {step}, at {}: {broken}", self.now))?;
        }
        self.finish()?;
        let Self { job_days, attempts, left_out, .. } = self;
        Ok(Lived { job_days, attempts, left_out, fired: self.heard.len() })
    }

    fn step(&mut self) -> Result<(), Broken> {
        match self.dice.below(24) {
            0 => self.crash(),
            1 => self.set_clock()?,
            2 => self.add(),
            3 | 4 => self.edit(),
            5 => self.remove()?,
            6 | 7 => self.switch_any()?,
            8 => self.pause_or_resume()?,
            9 | 10 => self.run_by_hand()?,
            11 => self.change_zones()?,
            12 => self.spread()?,
            _ => {
                let span = match self.dice.below(8) {
                    0 => self.dice.between(1, SECOND),
                    1 | 2 => self.dice.between(SECOND, HOUR),
                    3 | 4 => self.dice.between(HOUR, DAY),
                    _ => self.dice.between(DAY, 6 * DAY),
                };
                self.pass(span)?;
            }
        }
        if !self.is_up && self.dice.once_in(3) {
            self.start()?;
        }
        Ok(())
    }

    /// Everything that is going comes to an end; then nothing is left open.
    fn finish(&mut self) -> Result<(), Broken> {
        if !self.is_up {
            self.start()?;
        }
        self.jobs.values_mut().for_each(|sim| sim.job.enabled = false);
        self.give_up_waits(|_| true)?;
        self.start_startable()?;
        while let Some(run) = self.working.keys().next().copied() {
            self.end(run, RunState::Succeeded)?;
            self.start_startable()?;
        }
        hold!(self.open.is_empty(), "runs without an end: {:?}", self.open);
        hold!(self.heard.len() == self.owed, "{} ends fire, not {}", self.heard.len(), self.owed);
        hold!(self.ended == self.made, "{} runs were made and {} ended", self.made, self.ended);
        hold!(self.lanes.waiting_count() + self.lanes.at_work() == 0, "places are still taken");
        Ok(())
    }

    fn set_clock(&mut self) -> Result<(), Broken> {
        let by = match self.dice.below(4) {
            0 => self.dice.between(1, 2 * MINUTE),
            1 | 2 => self.dice.between(MINUTE, 3 * HOUR),
            _ => self.dice.between(DAY, 400 * DAY),
        };
        let back = self.dice.once_in(2);
        self.step_clock(if back { -by } else { by })
    }

    fn step_clock(&mut self, by: i64) -> Result<(), Broken> {
        let before = self.now;
        self.now += by;
        for sim in self.jobs.values_mut() {
            if by < -DAY {
                // A date that the clock has shown by earlier rules lies later by those of now, and is settled up to there.
                sim.seen_until = sim.seen_until.max(before).max(sim.settled);
            }
            // How far apart two starts are, the clock does not say any more.
            sim.started_at = None;
        }
        self.was_set = true;
        if self.is_up { self.catch_up() } else { Ok(()) }
    }

    fn count_days(&mut self) {
        let day = self.now.div_euclid(DAY);
        let jobs = i64::try_from(self.jobs.len()).expect("few");
        self.job_days += (day - self.days_seen).clamp(0, 7) * jobs;
        self.days_seen = day;
    }
}

/// Plays the world of a seed, and when it breaks, the smallest one of that seed that does.
fn judge(seed: u64) -> Lived {
    let broken = match World::new(seed, JOBS).play(STEPS) {
        Ok(lived) => return lived,
        Err(broken) => broken,
    };
    let smaller =
        (1..JOBS).find_map(|jobs| Some((jobs, World::new(seed, jobs).play(STEPS).err()?)));
    let (jobs, broken) = smaller.unwrap_or((JOBS, broken));
    panic!("ROUSE_SEED={seed} with {jobs} jobs: {broken}");
}

/// The short form lives through a million days of jobs.
#[test]
fn a_million_job_days_lose_nothing_and_double_nothing() {
    let worlds = count_or(WORLDS);
    let halves: Vec<_> = (0..2)
        .map(|half| {
            let seeds = (0..worlds).filter(move |n| n % 2 == half);
            let first = first_seed();
            std::thread::spawn(move || {
                let lived = seeds.map(|n| judge(first + u64::try_from(n).expect("few")));
                lived.fold(Lived::default(), Lived::and)
            })
        })
        .collect();
    let halves = halves.into_iter().map(|half| half.join().expect("no world broke"));
    let lived = halves.fold(Lived::default(), Lived::and);
    println!("{worlds} worlds, {lived:?}");
    let Lived { job_days, attempts, fired, left_out } = lived;
    let is_enough = job_days >= 1_000_000 && attempts.min(fired).min(left_out) > 1_000;
    assert!(worlds < WORLDS || is_enough, "only {lived:?} in {worlds} worlds");
}
