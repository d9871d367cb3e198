//! Lanes: the order in which queued runs start.
//!
//! Owns the queue of each lane and the permits of all lanes. Within a lane, runs start in order of arrival. Between
//! lanes, on-time and manual runs have priority over catch-up runs, then the longest waiting run starts first. A
//! catch-up run in front of an on-time or manual run gets the same priority, since it holds up the lane. The width of a
//! lane is the maximum of active runs. Never knows the store or the work of a run.
//! Pitfall: with a scan over all lanes, each end of a run costs as much as all queued runs together.

use std::collections::{BTreeMap, VecDeque};

use rouse_core::{JobId, RunId};

use super::permits::{PermitKind, Permits};

/// The name of a lane.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LaneKey {
    /// Turns of the main session.
    Main,
    /// Runs of a job.
    Job(JobId),
    /// Tool trials.
    Trials,
}

/// All lanes. `T` is the data of a queued run.
#[derive(Debug)]
pub struct Lanes<T> {
    permits: Permits,
    queued: usize,
    next_seq: u64,
    lanes: BTreeMap<LaneKey, Lane<T>>,
    /// Lanes with room for another run.
    ready: ByPool<LaneKey>,
    /// Runs that need a permit to continue, still active in their lanes.
    resuming: ByPool<RunId>,
}

#[derive(Debug)]
struct Lane<T> {
    width: usize,
    active: usize,
    queue: VecDeque<LaneEntry<T>>,
    /// Arrivals of the queued runs that are no catch-up runs.
    on_time: VecDeque<u64>,
}

#[derive(Debug)]
struct LaneEntry<T> {
    permit: PermitKind,
    seq: u64,
    id: RunId,
    load: T,
}

/// A position among all runs that wait for a permit: priority, then arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    is_catch_up: bool,
    seq: u64,
    permit: PermitKind,
}

impl Position {
    const fn new(permit: PermitKind, seq: u64) -> Self {
        Self { is_catch_up: matches!(permit, PermitKind::CatchUp), seq, permit }
    }
}

/// Waiting items in order, apart for each concurrency limit.
#[derive(Debug)]
struct ByPool<V> {
    scheduled: BTreeMap<Position, V>,
    manual: BTreeMap<Position, V>,
}

impl<V> ByPool<V> {
    const fn new() -> Self {
        Self { scheduled: BTreeMap::new(), manual: BTreeMap::new() }
    }

    const fn pool_mut(&mut self, permit: PermitKind) -> &mut BTreeMap<Position, V> {
        match permit {
            PermitKind::Manual => &mut self.manual,
            PermitKind::OnTime | PermitKind::CatchUp => &mut self.scheduled,
        }
    }

    fn insert(&mut self, position: Position, value: V) {
        self.pool_mut(position.permit).insert(position, value);
    }

    fn remove(&mut self, position: Position) -> Option<V> {
        self.pool_mut(position.permit).remove(&position)
    }

    /// The first positions, one for each limit.
    fn firsts(&self) -> [Option<Position>; 2] {
        [&self.scheduled, &self.manual].map(|pool| pool.keys().next().copied())
    }

    /// The first position that has a free permit and comes before the `rivals` of its limit.
    fn next<R>(&self, permits: &Permits, rivals: &ByPool<R>) -> Option<Position> {
        let pairs = self.firsts().into_iter().zip(rivals.firsts());
        let startable = pairs.filter_map(|(first, rival)| {
            first.filter(|first| {
                rival.is_none_or(|rival| *first < rival) && permits.has_free(first.permit)
            })
        });
        startable.min()
    }
}

/// A run that may start: active in its lane, with a permit.
#[derive(Debug, PartialEq, Eq)]
pub struct Startable<T> {
    /// The lane, for `finish`.
    pub lane: LaneKey,
    /// The permit, for `finish`.
    pub permit: PermitKind,
    /// The run.
    pub id: RunId,
    /// The data.
    pub load: T,
    /// The kind in the queue: in front of an on-time run, a catch-up run gets an on-time permit.
    queued_as: PermitKind,
    seq: u64,
}

impl<T> Lanes<T> {
    /// No lanes yet, with `limit` permits for scheduled and as many for manual runs, at least 1.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self {
            permits: Permits::new(limit),
            queued: 0,
            next_seq: 0,
            lanes: BTreeMap::new(),
            ready: ByPool::new(),
            resuming: ByPool::new(),
        }
    }

    /// Puts a run at the end of a lane and sets the lane's width.
    pub fn enqueue(&mut self, key: LaneKey, width: usize, permit: PermitKind, id: RunId, load: T) {
        let seq = self.next_seq();
        self.queued += 1;
        self.change(key, |lane| {
            lane.width = width.max(1);
            lane.queue.push_back(LaneEntry { permit, seq, id, load });
            if permit != PermitKind::CatchUp {
                lane.on_time.push_back(seq);
            }
        });
    }

    const fn next_seq(&mut self) -> u64 {
        let seq = self.next_seq;
        self.next_seq += 1;
        seq
    }

    /// Takes every run that may start now, in order. Stops before a resuming run that has waited longer, so call
    /// [`Self::take_resumable`] first.
    pub fn take_startable(&mut self) -> Vec<Startable<T>> {
        let mut startable = Vec::new();
        while let Some(position) = self.ready.next(&self.permits, &self.resuming) {
            let lane = self.ready.remove(position).expect("BUG: a ready lane is not listed");
            let first = self.change(lane.clone(), |lane| {
                lane.active += 1;
                lane.pop_first()
            });
            let LaneEntry { permit: queued_as, seq, id, load } =
                first.expect("BUG: a ready lane has no queued run");
            self.queued -= 1;
            self.permits.acquire(position.permit);
            let permit = position.permit;
            startable.push(Startable { lane, permit, id, load, queued_as, seq });
        }
        startable
    }

    /// Returns runs that could not be started to their positions.
    pub fn put_back(&mut self, startable: Vec<Startable<T>>) {
        for Startable { lane, permit, id, load, queued_as, seq } in startable.into_iter().rev() {
            self.permits.release(permit);
            self.queued += 1;
            self.change(lane, |lane| {
                lane.active -= 1;
                lane.queue.push_front(LaneEntry { permit: queued_as, seq, id, load });
                if queued_as != PermitKind::CatchUp {
                    lane.on_time.push_front(seq);
                }
            });
        }
    }

    /// Frees lane and permit of a run that has ended.
    pub fn finish(&mut self, key: &LaneKey, permit: PermitKind) {
        self.release_permit(permit);
        self.leave(key);
    }

    /// Frees the permit of an active run, which stays in its lane.
    pub const fn release_permit(&mut self, permit: PermitKind) {
        self.permits.release(permit);
    }

    /// Frees the lane of an active run that holds no permit.
    pub fn leave(&mut self, key: &LaneKey) {
        self.change(key.clone(), |lane| lane.active -= 1);
    }

    /// Adds an active run without a permit to a lane and sets the lane's width.
    pub fn hold(&mut self, key: LaneKey, width: usize) {
        self.change(key, |lane| {
            lane.width = width.max(1);
            lane.active += 1;
        });
    }

    /// Queues an active run for a permit, behind all runs that wait already.
    pub fn queue_resuming(&mut self, permit: PermitKind, id: RunId) {
        let seq = self.next_seq();
        self.resuming.insert(Position::new(permit, seq), id);
    }

    /// Takes the next resuming run with a permit; none when another run comes first or no permit is free.
    pub fn take_resumable(&mut self) -> Option<(PermitKind, RunId)> {
        let position = self.resuming.next(&self.permits, &self.ready)?;
        let id = self.resuming.remove(position)?;
        self.permits.acquire(position.permit);
        Some((position.permit, id))
    }

    /// Removes a queued run from its lane.
    pub fn remove(&mut self, id: &RunId) -> Option<T> {
        let mut lanes = self.lanes.iter();
        let (key, _) = lanes.find(|(_, lane)| lane.queue.iter().any(|run| run.id == *id))?;
        let key = key.clone();
        self.extract(key, |run| run.id == *id).pop().map(|run| run.load)
    }

    /// Removes the matching queued runs of a lane.
    pub fn remove_from(&mut self, key: &LaneKey, matches: impl Fn(&T) -> bool) -> Vec<RunId> {
        let removed = self.extract(key.clone(), |run| matches(&run.load));
        removed.into_iter().map(|run| run.id).collect()
    }

    /// Removes the queued runs of all lanes that match, in order of arrival.
    pub fn remove_where(&mut self, matches: impl Fn(&T) -> bool) -> Vec<RunId> {
        let keys: Vec<LaneKey> = self.lanes.keys().cloned().collect();
        let removed = keys.into_iter().flat_map(|key| self.extract(key, |run| matches(&run.load)));
        let mut removed: Vec<_> = removed.collect();
        removed.sort_by_key(|run| run.seq);
        removed.into_iter().map(|run| run.id).collect()
    }

    /// The queued runs, lane by lane in order.
    pub fn queued(&self) -> impl Iterator<Item = (&RunId, &T)> {
        self.lanes.values().flat_map(|lane| &lane.queue).map(|run| (&run.id, &run.load))
    }

    /// The data of the queued runs of a lane.
    pub fn loads_mut(&mut self, key: &LaneKey) -> impl Iterator<Item = &mut T> {
        self.lanes
            .get_mut(key)
            .into_iter()
            .flat_map(|lane| &mut lane.queue)
            .map(|run| &mut run.load)
    }

    /// Changes the width of a lane that is in use.
    pub fn set_width(&mut self, key: &LaneKey, width: usize) {
        if self.lanes.contains_key(key) {
            self.change(key.clone(), |lane| lane.width = width.max(1));
        }
    }

    /// How many more runs of a lane may be active.
    #[must_use]
    pub fn room_in(&self, key: &LaneKey) -> usize {
        self.lanes.get(key).map_or(1, |lane| lane.width.saturating_sub(lane.active))
    }

    /// Changes both concurrency limits. Excess active runs continue.
    pub const fn set_limit(&mut self, limit: usize) {
        self.permits.set_limit(limit);
    }

    /// The permits in use.
    #[must_use]
    pub const fn permits(&self) -> &Permits {
        &self.permits
    }

    /// The number of queued runs.
    #[must_use]
    pub const fn queued_count(&self) -> usize {
        self.queued
    }

    fn extract(
        &mut self,
        key: LaneKey,
        matches: impl Fn(&LaneEntry<T>) -> bool,
    ) -> Vec<LaneEntry<T>> {
        if !self.lanes.contains_key(&key) {
            return Vec::new();
        }
        let removed = self.change(key, |lane| {
            let (removed, rest): (VecDeque<_>, VecDeque<_>) =
                std::mem::take(&mut lane.queue).into_iter().partition(|run| matches(run));
            lane.queue = rest;
            let on_time = lane.queue.iter().filter(|run| run.permit != PermitKind::CatchUp);
            lane.on_time = on_time.map(|run| run.seq).collect();
            Vec::from(removed)
        });
        self.queued -= removed.len();
        removed
    }

    /// Changes a lane and keeps `ready` up to date. Forgets a lane without runs. No other function changes a lane.
    fn change<R>(&mut self, key: LaneKey, change: impl FnOnce(&mut Lane<T>) -> R) -> R {
        let lane = self.lanes.entry(key.clone()).or_insert_with(Lane::new);
        if let Some(position) = lane.position() {
            self.ready.remove(position);
        }
        let result = change(lane);
        match lane.position() {
            Some(position) if lane.active < lane.width => self.ready.insert(position, key),
            None if lane.active == 0 => drop(self.lanes.remove(&key)),
            _ => {}
        }
        result
    }
}

impl<T> Lane<T> {
    const fn new() -> Self {
        Self { width: 1, active: 0, queue: VecDeque::new(), on_time: VecDeque::new() }
    }

    /// The position of the first run, or of the first on-time run of the lane.
    fn position(&self) -> Option<Position> {
        let first = self.queue.front()?;
        let permit = match (first.permit, self.on_time.front()) {
            (PermitKind::CatchUp, Some(_)) => PermitKind::OnTime,
            (permit, _) => permit,
        };
        Some(Position::new(permit, *self.on_time.front().unwrap_or(&first.seq)))
    }

    fn pop_first(&mut self) -> Option<LaneEntry<T>> {
        let first = self.queue.pop_front()?;
        if first.permit != PermitKind::CatchUp {
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
            lanes.enqueue(job(lane), 1, PermitKind::OnTime, RunId::new(*run), ());
        }
        lanes
    }

    fn take(lanes: &mut Lanes<()>) -> Vec<String> {
        lanes.take_startable().into_iter().map(|run| run.id.to_string()).collect()
    }

    #[test]
    fn run_without_permit_holds_its_lane_until_it_ends() {
        let mut lanes = lanes(1, &[]);
        lanes.hold(job("a"), 1);
        assert_eq!(lanes.permits().in_use(), 0, "the run holds no permit");
        lanes.enqueue(job("a"), 1, PermitKind::OnTime, RunId::new("a2"), ());
        lanes.enqueue(job("b"), 1, PermitKind::OnTime, RunId::new("b1"), ());
        assert_eq!(take(&mut lanes), ["b1"]);
        lanes.finish(&job("b"), PermitKind::OnTime);
        assert_eq!(take(&mut lanes), [""; 0]);
        lanes.leave(&job("a"));
        assert_eq!(take(&mut lanes), ["a2"]);
    }

    #[test]
    fn lane_starts_one_run_at_a_time_in_order() {
        let mut lanes = lanes(9, &[("a", "a1"), ("a", "a2"), ("b", "b1"), ("a", "a3")]);
        assert_eq!(take(&mut lanes), ["a1", "b1"]);
        assert_eq!(take(&mut lanes), [""; 0]);
        lanes.finish(&job("a"), PermitKind::OnTime);
        assert_eq!(take(&mut lanes), ["a2"]);
        lanes.finish(&job("b"), PermitKind::OnTime);
        assert_eq!(take(&mut lanes), [""; 0]);
        lanes.finish(&job("a"), PermitKind::OnTime);
        assert_eq!(take(&mut lanes), ["a3"]);
        assert_eq!((lanes.permits().in_use(), lanes.queued_count()), (1, 0));
    }

    #[test]
    fn limit_holds_for_all_lanes_and_longest_waiting_goes_first() {
        let mut lanes =
            lanes(2, &[("a", "a1"), ("b", "b1"), ("c", "c1"), ("a", "a2"), ("d", "d1")]);
        assert_eq!(take(&mut lanes), ["a1", "b1"]);
        lanes.finish(&job("a"), PermitKind::OnTime);
        assert_eq!(take(&mut lanes), ["c1"]);
        lanes.finish(&job("b"), PermitKind::OnTime);
        lanes.finish(&job("c"), PermitKind::OnTime);
        assert_eq!(take(&mut lanes), ["a2", "d1"]);
    }

    #[test]
    fn wide_lane_runs_several_at_once() {
        let mut lanes = Lanes::new(9);
        for run in ["1", "2", "3", "4"] {
            lanes.enqueue(job("p"), 3, PermitKind::OnTime, RunId::new(run), ());
        }
        assert_eq!(take(&mut lanes), ["1", "2", "3"]);
        lanes.finish(&job("p"), PermitKind::OnTime);
        assert_eq!(take(&mut lanes), ["4"]);
        lanes.enqueue(job("p"), 3, PermitKind::OnTime, RunId::new("5"), ());
        lanes.enqueue(job("p"), 3, PermitKind::OnTime, RunId::new("6"), ());
        lanes.set_width(&job("p"), 4);
        assert_eq!(take(&mut lanes), ["5"]);
    }

    #[test]
    fn main_lane_runs_one_at_a_time() {
        let mut lanes = lanes(9, &[("a", "a1")]);
        lanes.enqueue(LaneKey::Main, 1, PermitKind::OnTime, RunId::new("turn 1"), ());
        lanes.enqueue(LaneKey::Main, 1, PermitKind::OnTime, RunId::new("turn 2"), ());
        assert_eq!(take(&mut lanes), ["a1", "turn 1"]);
    }

    #[test]
    fn run_put_back_keeps_its_position() {
        let mut lanes = lanes(2, &[("a", "a1"), ("b", "b1"), ("a", "a2")]);
        let startable = lanes.take_startable();
        lanes.put_back(startable);
        assert_eq!((lanes.permits().in_use(), lanes.queued_count()), (0, 3));
        assert_eq!(take(&mut lanes), ["a1", "b1"]);
        lanes.finish(&job("a"), PermitKind::OnTime);
        assert_eq!(take(&mut lanes), ["a2"]);
    }

    #[test]
    fn removed_run_never_starts_and_next_one_does() {
        let mut lanes = lanes(9, &[("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1")]);
        assert_eq!(lanes.remove(&RunId::new("a1")), Some(()));
        assert_eq!(lanes.remove(&RunId::new("a1")), None);
        assert_eq!(take(&mut lanes), ["a2", "b1"]);
        assert_eq!(lanes.remove_from(&job("a"), |()| true), [RunId::new("a3")]);
        lanes.finish(&job("a"), PermitKind::OnTime);
        assert_eq!(take(&mut lanes), [""; 0]);
        assert_eq!((lanes.permits().in_use(), lanes.queued_count()), (1, 0));
    }

    #[test]
    fn runs_removed_from_all_lanes_come_in_order() {
        let mut lanes = Lanes::new(1);
        for (lane, run, load) in [("a", "a1", 1), ("b", "b1", 2), ("a", "a2", 2), ("c", "c1", 1)] {
            lanes.enqueue(job(lane), 1, PermitKind::OnTime, RunId::new(run), load);
        }
        let out: Vec<_> =
            lanes.remove_where(|load| *load == 2).iter().map(ToString::to_string).collect();
        assert_eq!(out, ["b1", "a2"]);
        let left: Vec<_> =
            lanes.take_startable().into_iter().map(|run| run.id.to_string()).collect();
        assert_eq!((left, lanes.queued_count()), (vec!["a1".to_owned()], 1));
    }

    #[test]
    fn smaller_limit_starts_nothing_until_it_fits() {
        let mut lanes = lanes(3, &[("a", "a1"), ("b", "b1"), ("c", "c1"), ("d", "d1")]);
        assert_eq!(take(&mut lanes).len(), 3);
        lanes.set_limit(0);
        lanes.finish(&job("a"), PermitKind::OnTime);
        lanes.finish(&job("b"), PermitKind::OnTime);
        assert_eq!(take(&mut lanes), [""; 0]);
        lanes.finish(&job("c"), PermitKind::OnTime);
        assert_eq!(take(&mut lanes), ["d1"], "a limit of zero counts as one");
    }

    fn late(lanes: &mut Lanes<()>, name: &str) {
        lanes.enqueue(job(name), 1, PermitKind::CatchUp, RunId::new(name), ());
    }

    #[test]
    fn on_time_run_goes_before_catch_up_runs() {
        let mut lanes = Lanes::new(1);
        late(&mut lanes, "late 1");
        late(&mut lanes, "late 2");
        lanes.enqueue(job("now"), 1, PermitKind::OnTime, RunId::new("now"), ());
        assert_eq!(take(&mut lanes), ["now"]);
        lanes.finish(&job("now"), PermitKind::OnTime);
        assert_eq!(take(&mut lanes), ["late 1"], "one permit for catch-up runs");
        lanes.enqueue(job("now"), 1, PermitKind::OnTime, RunId::new("now again"), ());
        lanes.finish(&job("late 1"), PermitKind::CatchUp);
        assert_eq!(take(&mut lanes), ["now again"]);
    }

    #[test]
    fn on_time_run_lends_its_priority_to_run_before_it() {
        let mut lanes = Lanes::new(2);
        for name in ["a", "b", "c"] {
            late(&mut lanes, name);
        }
        assert_eq!(take(&mut lanes), ["a"], "half of the permits");
        lanes.enqueue(job("c"), 1, PermitKind::OnTime, RunId::new("c now"), ());
        assert_eq!(take(&mut lanes), ["c"], "a permit is free, and the lane keeps its order");
        lanes.finish(&job("c"), PermitKind::OnTime);
        assert_eq!(take(&mut lanes), ["c now"]);
        lanes.finish(&job("a"), PermitKind::CatchUp);
        assert_eq!(take(&mut lanes), ["b"]);
    }

    #[test]
    fn removed_on_time_run_takes_its_priority_along() {
        let mut lanes = Lanes::new(2);
        for name in ["a", "b"] {
            late(&mut lanes, name);
        }
        assert_eq!(take(&mut lanes), ["a"]);
        lanes.enqueue(job("b"), 1, PermitKind::OnTime, RunId::new("b now"), ());
        lanes.remove(&RunId::new("b now"));
        assert_eq!(take(&mut lanes), [""; 0]);
        lanes.enqueue(job("b"), 1, PermitKind::OnTime, RunId::new("b later"), ());
        let startable = lanes.take_startable();
        lanes.put_back(startable);
        lanes.remove(&RunId::new("b later"));
        assert_eq!(take(&mut lanes), [""; 0], "put back, the run is a catch-up run again");
        lanes.enqueue(job("b"), 1, PermitKind::OnTime, RunId::new("b again"), ());
        assert_eq!(take(&mut lanes), ["b"]);
    }

    #[test]
    fn catch_up_runs_take_half_of_the_permits() {
        let mut lanes = Lanes::new(4);
        for name in ["a", "b", "c", "d"] {
            late(&mut lanes, name);
        }
        assert_eq!(take(&mut lanes), ["a", "b"]);
        let taken = [("a", PermitKind::CatchUp), ("b", PermitKind::CatchUp)];
        lanes.enqueue(job("now"), 1, PermitKind::OnTime, RunId::new("now"), ());
        assert_eq!(take(&mut lanes), ["now"], "a permit is free at once");
        lanes.finish(&job(taken[0].0), taken[0].1);
        let startable = lanes.take_startable();
        assert_eq!(startable.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["c"]);
        lanes.put_back(startable);
        assert_eq!(take(&mut lanes), ["c"], "putting back frees the permit as well");
        lanes.set_limit(8);
        assert_eq!(take(&mut lanes), ["d"]);
        lanes.set_limit(1_000);
        for name in ["e", "f", "g"] {
            late(&mut lanes, name);
        }
        assert_eq!(take(&mut lanes), ["e"], "never more than four");
    }

    #[test]
    fn idle_lane_is_forgotten() {
        let mut lanes = lanes(9, &[("a", "a1")]);
        take(&mut lanes);
        lanes.finish(&job("a"), PermitKind::OnTime);
        assert!(lanes.lanes.is_empty() && lanes.ready.firsts() == [None, None]);
    }

    #[test]
    fn manual_runs_have_a_limit_of_their_own() {
        let mut lanes = lanes(1, &[("a", "a1"), ("b", "b1")]);
        for name in ["m", "n"] {
            lanes.enqueue(job(name), 1, PermitKind::Manual, RunId::new(name), ());
        }
        assert_eq!(take(&mut lanes), ["a1", "m"]);
        lanes.finish(&job("a"), PermitKind::OnTime);
        assert_eq!(take(&mut lanes), ["b1"]);
        lanes.finish(&job("m"), PermitKind::Manual);
        assert_eq!(take(&mut lanes), ["n"]);
    }

    #[test]
    fn scheduled_run_waits_behind_a_manual_run_of_its_lane() {
        let mut lanes = Lanes::new(1);
        lanes.enqueue(job("b"), 1, PermitKind::Manual, RunId::new("b1"), ());
        lanes.enqueue(job("a"), 1, PermitKind::Manual, RunId::new("a1"), ());
        lanes.enqueue(job("a"), 1, PermitKind::OnTime, RunId::new("a2"), ());
        assert_eq!(take(&mut lanes), ["b1"]);
        lanes.finish(&job("b"), PermitKind::Manual);
        assert_eq!(take(&mut lanes), ["a1"]);
        lanes.finish(&job("a"), PermitKind::Manual);
        assert_eq!(take(&mut lanes), ["a2"]);
    }

    #[test]
    fn catch_up_run_before_a_manual_run_shares_its_priority() {
        let mut lanes = Lanes::new(2);
        for name in ["a", "b"] {
            late(&mut lanes, name);
        }
        assert_eq!(take(&mut lanes), ["a"]);
        lanes.enqueue(job("b"), 1, PermitKind::Manual, RunId::new("b by hand"), ());
        assert_eq!(take(&mut lanes), ["b"]);
    }

    #[test]
    fn resuming_run_takes_a_permit_of_its_own_limit() {
        let mut lanes = lanes(1, &[("a", "a1")]);
        assert_eq!(take(&mut lanes), ["a1"]);
        for (name, permit) in [("x", PermitKind::OnTime), ("m", PermitKind::Manual)] {
            lanes.hold(job(name), 1);
            lanes.queue_resuming(permit, RunId::new(name));
        }
        assert_eq!(lanes.take_resumable(), Some((PermitKind::Manual, RunId::new("m"))));
        assert_eq!(lanes.take_resumable(), None);
        lanes.finish(&job("a"), PermitKind::OnTime);
        assert_eq!(lanes.take_resumable(), Some((PermitKind::OnTime, RunId::new("x"))));
    }

    #[test]
    fn random_walk_starts_every_run_once() {
        // A fixed seed: arrivals, ends, runs put back and removals in any order.
        let mut seed = 7_u64;
        let mut dice = |sides: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % sides
        };
        let mut lanes = Lanes::new(3);
        let (mut arrived, mut ended, mut removed) = (0_u64, 0_u64, 0_u64);
        let mut active: Vec<(LaneKey, PermitKind)> = Vec::new();
        for _ in 0..20_000 {
            match dice(6) {
                0 | 1 => {
                    let lane = dice(5);
                    let id = RunId::new(arrived.to_string());
                    let kinds = [PermitKind::OnTime, PermitKind::CatchUp, PermitKind::Manual];
                    let permit = kinds[usize::try_from(dice(3)).expect("small")];
                    lanes.enqueue(
                        job(&lane.to_string()),
                        1 + usize::from(lane == 0),
                        permit,
                        id,
                        (),
                    );
                    arrived += 1;
                }
                2 | 3 if !active.is_empty() => {
                    let index = usize::try_from(dice(active.len() as u64)).expect("small");
                    let (lane, permit) = active.swap_remove(index);
                    lanes.finish(&lane, permit);
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
            active.extend(lanes.take_startable().into_iter().map(|run| (run.lane, run.permit)));
            let manual = active.iter().filter(|(_, permit)| *permit == PermitKind::Manual).count();
            assert!(manual <= 3 && active.len() - manual <= 3);
            assert_eq!(lanes.permits().in_use(), active.len());
            assert!(
                active.iter().filter(|(_, permit)| *permit == PermitKind::CatchUp).count() <= 1
            );
            for lane in 0..5 {
                let at_once =
                    active.iter().filter(|(key, _)| *key == job(&lane.to_string())).count();
                assert!(at_once <= 1 + usize::from(lane == 0));
            }
        }
        while let Some((key, permit)) = active.pop() {
            lanes.finish(&key, permit);
            ended += 1;
            active.extend(lanes.take_startable().into_iter().map(|run| (run.lane, run.permit)));
        }
        assert_eq!(ended + removed, arrived);
        assert!(lanes.lanes.is_empty() && lanes.ready.firsts() == [None, None]);
    }
}
