//! Lanes: who runs next.
//!
//! Owns the order of waiting runs: first come, first served within a lane, and between lanes by who has waited longest,
//! under one cap for all. What comes at its own time goes before what makes up for the past, and the latter never has
//! more than half of the places (one, when there is only one), nor more than a few: a machine that wakes up to a thousand
//! missed slots works through them beside its day, not instead of it. What waits in its lane before something that is on
//! time holds that up, so it counts as on time, too. A lane is as wide as the runs it may have at work
//! at once: one, unless its job's overlap is `parallel`. It refuses to know the store or what a run does, and holds no
//! lock while anything works, so no run can wait for a place that it holds itself. One could get it wrong by scanning all
//! lanes for one that may start: with ten thousand waiting runs each end of a run would cost as much as all of them.

use std::collections::{BTreeMap, VecDeque};

use rouse_core::{JobId, RunId, RunTrigger};

/// Most runs at work at once that make up for the past, however large the cap is.
const MOST_CATCH_UPS: usize = 4;

/// Names a lane.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LaneKey {
    /// The main session's turns.
    Main,
    /// One job's runs.
    Job(JobId),
    /// The calls that a person tries tools with.
    Trials,
}

/// What goes first where several lanes could start a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rank {
    /// Its time is now: a slot that came on time, a run by hand, a beat.
    OnTime,
    /// It makes up for a slot that passed or a run that was cut off.
    CatchUp,
}

impl From<RunTrigger> for Rank {
    fn from(trigger: RunTrigger) -> Self {
        if trigger == RunTrigger::CatchUp { Self::CatchUp } else { Self::OnTime }
    }
}

/// All lanes and the one cap. `T` is what comes with a waiting run.
#[derive(Debug)]
pub struct Lanes<T> {
    cap: usize,
    at_work: usize,
    catch_ups_at_work: usize,
    waiting: usize,
    next_seq: u64,
    lanes: BTreeMap<LaneKey, Lane<T>>,
    /// The lanes that could start a run if the cap allowed it, by their places.
    ready: BTreeMap<(Rank, u64), LaneKey>,
    /// The runs that wait for a permit to go on. They stay in their lanes.
    resuming: BTreeMap<(Rank, u64), RunId>,
}

#[derive(Debug)]
struct Lane<T> {
    width: usize,
    at_work: usize,
    waiting: VecDeque<Waiting<T>>,
    /// Arrivals of the waiting runs that are on time.
    on_time: VecDeque<u64>,
}

#[derive(Debug)]
struct Waiting<T> {
    rank: Rank,
    seq: u64,
    id: RunId,
    load: T,
}

/// A run that may start; its place in the lane and under the cap is taken.
#[derive(Debug, PartialEq, Eq)]
pub struct Startable<T> {
    /// Its lane, which `finished` wants back.
    pub lane: LaneKey,
    /// The rank of its place, which `finished` wants back, too.
    pub rank: Rank,
    /// The run.
    pub id: RunId,
    /// What came with it.
    pub load: T,
    /// Its own rank: in front of one that is on time, a catch-up has the place of that.
    own_rank: Rank,
    seq: u64,
}

impl<T> Lanes<T> {
    /// No lanes yet; at most `cap` runs at work, at least one.
    #[must_use]
    pub fn new(cap: usize) -> Self {
        let cap = cap.max(1);
        Self {
            cap,
            at_work: 0,
            catch_ups_at_work: 0,
            waiting: 0,
            next_seq: 0,
            lanes: BTreeMap::new(),
            ready: BTreeMap::new(),
            resuming: BTreeMap::new(),
        }
    }

    /// Puts a run at the end of its lane, which from now on is `width` wide.
    pub fn enqueue(&mut self, key: LaneKey, width: usize, rank: Rank, id: RunId, load: T) {
        let seq = self.next_seq();
        self.waiting += 1;
        self.change(key, |lane| {
            lane.width = width.max(1);
            lane.waiting.push_back(Waiting { rank, seq, id, load });
            if rank == Rank::OnTime {
                lane.on_time.push_back(seq);
            }
        });
    }

    const fn next_seq(&mut self) -> u64 {
        let seq = self.next_seq;
        self.next_seq += 1;
        seq
    }

    /// Takes out every run that may start now: those that are on time first, then the longest waiting. Stops where a run
    /// that goes on has waited longer: [`Self::take_resumable`] comes first then.
    pub fn take_startable(&mut self) -> Vec<Startable<T>> {
        let mut startable = Vec::new();
        while let Some((rank, key)) = self.next_ready() {
            let first = self.change(key.clone(), |lane| {
                lane.at_work += 1;
                lane.take_first()
            });
            let first = first.expect("BUG: a ready lane has no waiting run");
            self.waiting -= 1;
            let Waiting { rank: own_rank, seq, id, load } = first;
            self.occupy(rank);
            startable.push(Startable { lane: key, rank, id, load, own_rank, seq });
        }
        startable
    }

    /// The lane whose first run starts next, and with which rank, if there is a place for it. Nothing that is on time is
    /// left when the first one is a catch-up.
    fn next_ready(&mut self) -> Option<(Rank, LaneKey)> {
        let (place, _) = self.ready.first_key_value()?;
        let has_turn = self.resuming.first_key_value().is_none_or(|(resuming, _)| place < resuming);
        if !has_turn || !self.has_place(place.0) {
            return None;
        }
        self.ready.pop_first().map(|((rank, _), key)| (rank, key))
    }

    fn has_place(&self, rank: Rank) -> bool {
        let may = match rank {
            Rank::OnTime => true,
            Rank::CatchUp => self.catch_ups_at_work < (self.cap / 2).clamp(1, MOST_CATCH_UPS),
        };
        may && self.at_work < self.cap
    }

    fn occupy(&mut self, rank: Rank) {
        self.at_work += 1;
        self.catch_ups_at_work += usize::from(rank == Rank::CatchUp);
    }

    fn vacate(&mut self, rank: Rank) {
        self.at_work -= 1;
        self.catch_ups_at_work -= usize::from(rank == Rank::CatchUp);
    }

    /// Gives runs back that could not be started; they wait where they waited before.
    pub fn put_back(&mut self, startable: Vec<Startable<T>>) {
        for Startable { lane, rank, id, load, own_rank, seq } in startable.into_iter().rev() {
            self.vacate(rank);
            self.waiting += 1;
            self.change(lane, |lane| {
                lane.at_work -= 1;
                lane.waiting.push_front(Waiting { rank: own_rank, seq, id, load });
                if own_rank == Rank::OnTime {
                    lane.on_time.push_front(seq);
                }
            });
        }
    }

    /// Frees the place of a run that was startable.
    pub fn finished(&mut self, key: &LaneKey, rank: Rank) {
        self.rest(rank);
        self.finished_at_rest(key);
    }

    /// Lets a run that has begun rest: it stays in its lane, and others may have its place under the cap.
    pub fn rest(&mut self, rank: Rank) {
        self.vacate(rank);
    }

    /// Lets a run that rests wait for a permit, behind the runs that wait already.
    pub fn queue_resuming(&mut self, rank: Rank, id: RunId) {
        let seq = self.next_seq();
        self.resuming.insert((rank, seq), id);
    }

    /// The next run that goes on, with a permit of `rank`; none when another run comes first or no permit is free.
    pub fn take_resumable(&mut self) -> Option<(Rank, RunId)> {
        let (place, _) = self.resuming.first_key_value()?;
        let has_turn = self.ready.first_key_value().is_none_or(|(ready, _)| place < ready);
        if !has_turn || !self.has_place(place.0) {
            return None;
        }
        let ((rank, _), id) = self.resuming.pop_first()?;
        self.occupy(rank);
        Some((rank, id))
    }

    /// Gives a run that rests its place back in any case; the cap may not hold until others end.
    pub fn retake(&mut self, rank: Rank) {
        self.occupy(rank);
    }

    /// Takes up a run that rests and had begun before these lanes: it stays in its lane, which is `width` wide.
    pub fn hold(&mut self, key: LaneKey, width: usize) {
        self.change(key, |lane| {
            lane.width = width.max(1);
            lane.at_work += 1;
        });
    }

    /// Frees the lane of a run that rests.
    pub fn finished_at_rest(&mut self, key: &LaneKey) {
        self.change(key.clone(), |lane| lane.at_work -= 1);
    }

    /// Takes a waiting run out of its lane.
    pub fn remove(&mut self, id: &RunId) -> Option<T> {
        let key = self.lanes.iter().find(|(_, lane)| lane.waiting.iter().any(|run| run.id == *id));
        let key = key.map(|(key, _)| key.clone())?;
        self.take_out(key, |run| run.id == *id).pop().map(|run| run.load)
    }

    /// Takes out the waiting runs of one lane that `goes` names.
    pub fn remove_of(&mut self, key: &LaneKey, goes: impl Fn(&T) -> bool) -> Vec<RunId> {
        let out = self.take_out(key.clone(), |run| goes(&run.load));
        out.into_iter().map(|run| run.id).collect()
    }

    /// Takes out the waiting runs that `goes` names, in all lanes.
    pub fn remove_where(&mut self, goes: impl Fn(&T) -> bool) -> Vec<RunId> {
        let keys: Vec<LaneKey> = self.lanes.keys().cloned().collect();
        let out = keys.into_iter().flat_map(|key| self.take_out(key, |run| goes(&run.load)));
        let mut out: Vec<_> = out.collect();
        out.sort_by_key(|run| run.seq);
        out.into_iter().map(|run| run.id).collect()
    }

    /// The waiting runs, lane by lane.
    pub fn waiting(&self) -> impl Iterator<Item = (&RunId, &T)> {
        self.lanes.values().flat_map(|lane| &lane.waiting).map(|run| (&run.id, &run.load))
    }

    /// What came with the waiting runs of one lane.
    pub fn loads_of(&mut self, key: &LaneKey) -> impl Iterator<Item = (&RunId, &mut T)> {
        let lane = self.lanes.get_mut(key).into_iter();
        lane.flat_map(|lane| &mut lane.waiting).map(|run| (&run.id, &mut run.load))
    }

    /// Changes the width of a lane that is in use.
    pub fn set_width(&mut self, key: &LaneKey, width: usize) {
        if self.lanes.contains_key(key) {
            self.change(key.clone(), |lane| lane.width = width.max(1));
        }
    }

    /// Changes the cap; runs at work beyond it go on.
    pub fn set_cap(&mut self, cap: usize) {
        self.cap = cap.max(1);
    }

    /// How many runs are at work.
    #[must_use]
    pub const fn at_work(&self) -> usize {
        self.at_work
    }

    /// How many runs wait.
    #[must_use]
    pub const fn waiting_count(&self) -> usize {
        self.waiting
    }

    fn take_out(&mut self, key: LaneKey, goes: impl Fn(&Waiting<T>) -> bool) -> Vec<Waiting<T>> {
        if !self.lanes.contains_key(&key) {
            return Vec::new();
        }
        let out = self.change(key, |lane| {
            let (out, rest): (VecDeque<_>, VecDeque<_>) =
                std::mem::take(&mut lane.waiting).into_iter().partition(|run| goes(run));
            lane.waiting = rest;
            let on_time = lane.waiting.iter().filter(|run| run.rank == Rank::OnTime);
            lane.on_time = on_time.map(|run| run.seq).collect();
            Vec::from(out)
        });
        self.waiting -= out.len();
        out
    }

    /// The one way to change a lane: `ready` follows, and a lane without anything is forgotten.
    fn change<R>(&mut self, key: LaneKey, change: impl FnOnce(&mut Lane<T>) -> R) -> R {
        let lane = self.lanes.entry(key.clone()).or_insert_with(Lane::new);
        if let Some(place) = lane.place() {
            self.ready.remove(&place);
        }
        let result = change(lane);
        match lane.place() {
            Some(place) if lane.at_work < lane.width => {
                self.ready.insert(place, key);
            }
            None if lane.at_work == 0 => {
                self.lanes.remove(&key);
            }
            _ => {}
        }
        result
    }
}

impl<T> Lane<T> {
    const fn new() -> Self {
        Self { width: 1, at_work: 0, waiting: VecDeque::new(), on_time: VecDeque::new() }
    }

    /// Where it stands among the others: by the first run that is on time, where one waits, else by the first of all.
    fn place(&self) -> Option<(Rank, u64)> {
        match self.on_time.front() {
            Some(seq) => Some((Rank::OnTime, *seq)),
            None => self.waiting.front().map(|run| (Rank::CatchUp, run.seq)),
        }
    }

    fn take_first(&mut self) -> Option<Waiting<T>> {
        let first = self.waiting.pop_front()?;
        if first.rank == Rank::OnTime {
            self.on_time.pop_front();
        }
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &str) -> LaneKey {
        LaneKey::Job(JobId::new(name))
    }

    fn lanes(cap: usize, arrivals: &[(&str, &str)]) -> Lanes<()> {
        let mut lanes = Lanes::new(cap);
        for (lane, run) in arrivals {
            lanes.enqueue(job(lane), 1, Rank::OnTime, RunId::new(*run), ());
        }
        lanes
    }

    fn take(lanes: &mut Lanes<()>) -> Vec<String> {
        lanes.take_startable().into_iter().map(|run| run.id.to_string()).collect()
    }

    #[test]
    fn a_lane_is_held_by_a_run_that_rests_until_it_is_over() {
        let mut lanes = lanes(1, &[]);
        lanes.hold(job("a"), 1);
        assert_eq!(lanes.at_work(), 0, "it has no place");
        lanes.enqueue(job("a"), 1, Rank::OnTime, RunId::new("a2"), ());
        lanes.enqueue(job("b"), 1, Rank::OnTime, RunId::new("b1"), ());
        assert_eq!(take(&mut lanes), ["b1"]);
        lanes.finished(&job("b"), Rank::OnTime);
        assert_eq!(take(&mut lanes), [""; 0]);
        lanes.finished_at_rest(&job("a"));
        assert_eq!(take(&mut lanes), ["a2"]);
    }

    #[test]
    fn one_run_of_a_lane_at_a_time_in_order() {
        let mut lanes = lanes(9, &[("a", "a1"), ("a", "a2"), ("b", "b1"), ("a", "a3")]);
        assert_eq!(take(&mut lanes), ["a1", "b1"]);
        assert_eq!(take(&mut lanes), [""; 0]);
        lanes.finished(&job("a"), Rank::OnTime);
        assert_eq!(take(&mut lanes), ["a2"]);
        lanes.finished(&job("b"), Rank::OnTime);
        assert_eq!(take(&mut lanes), [""; 0]);
        lanes.finished(&job("a"), Rank::OnTime);
        assert_eq!(take(&mut lanes), ["a3"]);
        assert_eq!((lanes.at_work(), lanes.waiting_count()), (1, 0));
    }

    #[test]
    fn the_cap_holds_for_all_lanes_and_serves_the_longest_waiting() {
        let mut lanes =
            lanes(2, &[("a", "a1"), ("b", "b1"), ("c", "c1"), ("a", "a2"), ("d", "d1")]);
        assert_eq!(take(&mut lanes), ["a1", "b1"]);
        lanes.finished(&job("a"), Rank::OnTime);
        assert_eq!(take(&mut lanes), ["c1"]);
        lanes.finished(&job("b"), Rank::OnTime);
        lanes.finished(&job("c"), Rank::OnTime);
        assert_eq!(take(&mut lanes), ["a2", "d1"]);
    }

    #[test]
    fn a_wide_lane_runs_several_at_once() {
        let mut lanes = Lanes::new(9);
        for run in ["1", "2", "3", "4"] {
            lanes.enqueue(job("p"), 3, Rank::OnTime, RunId::new(run), ());
        }
        assert_eq!(take(&mut lanes), ["1", "2", "3"]);
        lanes.finished(&job("p"), Rank::OnTime);
        assert_eq!(take(&mut lanes), ["4"]);
        lanes.enqueue(job("p"), 3, Rank::OnTime, RunId::new("5"), ());
        lanes.enqueue(job("p"), 3, Rank::OnTime, RunId::new("6"), ());
        lanes.set_width(&job("p"), 4);
        assert_eq!(take(&mut lanes), ["5"]);
    }

    #[test]
    fn the_main_lane_is_one_of_them() {
        let mut lanes = lanes(9, &[("a", "a1")]);
        lanes.enqueue(LaneKey::Main, 1, Rank::OnTime, RunId::new("beat 1"), ());
        lanes.enqueue(LaneKey::Main, 1, Rank::OnTime, RunId::new("beat 2"), ());
        assert_eq!(take(&mut lanes), ["a1", "beat 1"]);
    }

    #[test]
    fn what_could_not_start_waits_where_it_was() {
        let mut lanes = lanes(2, &[("a", "a1"), ("b", "b1"), ("a", "a2")]);
        let startable = lanes.take_startable();
        lanes.put_back(startable);
        assert_eq!((lanes.at_work(), lanes.waiting_count()), (0, 3));
        assert_eq!(take(&mut lanes), ["a1", "b1"]);
        lanes.finished(&job("a"), Rank::OnTime);
        assert_eq!(take(&mut lanes), ["a2"]);
    }

    #[test]
    fn a_removed_run_never_starts_and_lets_the_next_one_by() {
        let mut lanes = lanes(9, &[("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1")]);
        assert_eq!(lanes.remove(&RunId::new("a1")), Some(()));
        assert_eq!(lanes.remove(&RunId::new("a1")), None);
        assert_eq!(take(&mut lanes), ["a2", "b1"]);
        assert_eq!(lanes.remove_of(&job("a"), |()| true), [RunId::new("a3")]);
        lanes.finished(&job("a"), Rank::OnTime);
        assert_eq!(take(&mut lanes), [""; 0]);
        assert_eq!((lanes.at_work(), lanes.waiting_count()), (1, 0));
    }

    #[test]
    fn runs_are_taken_out_of_all_lanes_in_order() {
        let mut lanes = Lanes::new(1);
        for (lane, run, load) in [("a", "a1", 1), ("b", "b1", 2), ("a", "a2", 2), ("c", "c1", 1)] {
            lanes.enqueue(job(lane), 1, Rank::OnTime, RunId::new(run), load);
        }
        let out: Vec<_> =
            lanes.remove_where(|load| *load == 2).iter().map(ToString::to_string).collect();
        assert_eq!(out, ["b1", "a2"]);
        let left: Vec<_> =
            lanes.take_startable().into_iter().map(|run| run.id.to_string()).collect();
        assert_eq!((left, lanes.waiting_count()), (vec!["a1".to_owned()], 1));
    }

    #[test]
    fn a_smaller_cap_starts_nothing_new_until_it_fits() {
        let mut lanes = lanes(3, &[("a", "a1"), ("b", "b1"), ("c", "c1"), ("d", "d1")]);
        assert_eq!(take(&mut lanes).len(), 3);
        lanes.set_cap(0);
        lanes.finished(&job("a"), Rank::OnTime);
        lanes.finished(&job("b"), Rank::OnTime);
        assert_eq!(take(&mut lanes), [""; 0]);
        lanes.finished(&job("c"), Rank::OnTime);
        assert_eq!(take(&mut lanes), ["d1"], "a cap of nothing would never start anything");
    }

    fn late(lanes: &mut Lanes<()>, name: &str) {
        lanes.enqueue(job(name), 1, Rank::CatchUp, RunId::new(name), ());
    }

    #[test]
    fn what_is_on_time_goes_before_what_makes_up_for_the_past() {
        let mut lanes = Lanes::new(1);
        late(&mut lanes, "late 1");
        late(&mut lanes, "late 2");
        lanes.enqueue(job("now"), 1, Rank::OnTime, RunId::new("now"), ());
        assert_eq!(take(&mut lanes), ["now"]);
        lanes.finished(&job("now"), Rank::OnTime);
        assert_eq!(take(&mut lanes), ["late 1"], "one place is enough for them");
        lanes.enqueue(job("now"), 1, Rank::OnTime, RunId::new("now again"), ());
        lanes.finished(&job("late 1"), Rank::CatchUp);
        assert_eq!(take(&mut lanes), ["now again"]);
    }

    #[test]
    fn what_is_on_time_takes_what_it_waits_behind_along() {
        let mut lanes = Lanes::new(2);
        for name in ["a", "b", "c"] {
            late(&mut lanes, name);
        }
        assert_eq!(take(&mut lanes), ["a"], "half of the places");
        lanes.enqueue(job("c"), 1, Rank::OnTime, RunId::new("c now"), ());
        assert_eq!(take(&mut lanes), ["c"], "there is a place, and the lane has its order");
        lanes.finished(&job("c"), Rank::OnTime);
        assert_eq!(take(&mut lanes), ["c now"]);
        lanes.finished(&job("a"), Rank::CatchUp);
        assert_eq!(take(&mut lanes), ["b"]);
    }

    #[test]
    fn what_comes_on_time_and_goes_again_leaves_the_catch_ups_as_they_were() {
        let mut lanes = Lanes::new(2);
        for name in ["a", "b"] {
            late(&mut lanes, name);
        }
        assert_eq!(take(&mut lanes), ["a"]);
        lanes.enqueue(job("b"), 1, Rank::OnTime, RunId::new("b now"), ());
        lanes.remove(&RunId::new("b now"));
        assert_eq!(take(&mut lanes), [""; 0]);
        lanes.enqueue(job("b"), 1, Rank::OnTime, RunId::new("b later"), ());
        let startable = lanes.take_startable();
        lanes.put_back(startable);
        lanes.remove(&RunId::new("b later"));
        assert_eq!(take(&mut lanes), [""; 0], "given back it is a catch-up still");
        lanes.enqueue(job("b"), 1, Rank::OnTime, RunId::new("b at last"), ());
        assert_eq!(take(&mut lanes), ["b"]);
    }

    #[test]
    fn making_up_for_the_past_takes_half_of_the_places() {
        let mut lanes = Lanes::new(4);
        for name in ["a", "b", "c", "d"] {
            late(&mut lanes, name);
        }
        assert_eq!(take(&mut lanes), ["a", "b"]);
        let taken = [("a", Rank::CatchUp), ("b", Rank::CatchUp)];
        lanes.enqueue(job("now"), 1, Rank::OnTime, RunId::new("now"), ());
        assert_eq!(take(&mut lanes), ["now"], "there is a place for it at once");
        lanes.finished(&job(taken[0].0), taken[0].1);
        let startable = lanes.take_startable();
        assert_eq!(startable.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["c"]);
        lanes.put_back(startable);
        assert_eq!(take(&mut lanes), ["c"], "giving back frees the place, too");
        lanes.set_cap(8);
        assert_eq!(take(&mut lanes), ["d"]);
        lanes.set_cap(1_000);
        for name in ["e", "f", "g"] {
            late(&mut lanes, name);
        }
        assert_eq!(take(&mut lanes), ["e"], "four is no stampede");
    }

    #[test]
    fn an_idle_lane_is_forgotten() {
        let mut lanes = lanes(9, &[("a", "a1")]);
        take(&mut lanes);
        lanes.finished(&job("a"), Rank::OnTime);
        assert!(lanes.lanes.is_empty() && lanes.ready.is_empty());
    }

    #[test]
    fn whatever_happens_everything_starts_once() {
        // A long walk with a fixed seed: arrivals, ends, give-backs and removals in any order.
        let mut seed = 7_u64;
        let mut dice = |sides: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % sides
        };
        let mut lanes = Lanes::new(3);
        let (mut arrived, mut ended, mut removed) = (0_u64, 0_u64, 0_u64);
        let mut going: Vec<(LaneKey, Rank)> = Vec::new();
        for _ in 0..20_000 {
            match dice(6) {
                0 | 1 => {
                    let lane = dice(5);
                    let id = RunId::new(arrived.to_string());
                    let rank = if dice(2) == 0 { Rank::OnTime } else { Rank::CatchUp };
                    lanes.enqueue(job(&lane.to_string()), 1 + usize::from(lane == 0), rank, id, ());
                    arrived += 1;
                }
                2 | 3 if !going.is_empty() => {
                    let index = usize::try_from(dice(going.len() as u64)).expect("small");
                    let (lane, rank) = going.swap_remove(index);
                    lanes.finished(&lane, rank);
                    ended += 1;
                }
                4 => {
                    let taken = lanes.take_startable();
                    lanes.put_back(taken);
                }
                5 => {
                    removed += u64::from(
                        lanes.remove(&RunId::new(dice(arrived + 1).to_string())).is_some(),
                    )
                }
                _ => {}
            }
            going.extend(lanes.take_startable().into_iter().map(|run| (run.lane, run.rank)));
            assert!(going.len() <= 3);
            assert_eq!((lanes.at_work(), lanes.at_work() < 3), (going.len(), going.len() < 3));
            assert!(going.iter().filter(|(_, rank)| *rank == Rank::CatchUp).count() <= 1);
            for lane in 0..5 {
                let at_once =
                    going.iter().filter(|(key, _)| *key == job(&lane.to_string())).count();
                assert!(at_once <= 1 + usize::from(lane == 0));
            }
        }
        while let Some((key, rank)) = going.pop() {
            lanes.finished(&key, rank);
            ended += 1;
            going.extend(lanes.take_startable().into_iter().map(|run| (run.lane, run.rank)));
        }
        assert_eq!(ended + removed, arrived);
        assert!(lanes.lanes.is_empty() && lanes.ready.is_empty());
    }
}
