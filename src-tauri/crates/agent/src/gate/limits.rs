//! The rate limits of tools.
//!
//! Owns one count per tool, over all jobs and the main session: ten jobs that call in circles must not reach ten times as
//! far as one. A call of a job that is over the limit waits its turn: runs queue in the order in which they came, so no job
//! takes the permits that another one waits for. A chat never waits. Calls that a person has written into a job are not
//! counted, and the end of a run has no limit.
//!
//! Calls count for exactly a minute and an hour, on the app's monotonic clock, so a test can let a minute pass. What was
//! called before Rouse began comes out of the journal when the first call comes: a restart is no fresh allowance.
//!
//! What counts is what the journal counts: a call that is made. One could get it wrong by counting what was refused, also
//! by a hook, for then a model that asks on would never be let through; by counting a call both when a person is asked
//! about it and when it is made; or by only looking before the call and counting after it, between which runs overtake
//! each other.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rouse_core::tool::{RateLimit, ToolSpec};
use rouse_core::{Clock, RunId};
use rouse_store::{Store, StoreError};
use tokio::sync::OnceCell;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// The counts of all tools.
pub(super) struct CallLimits {
    clock: Arc<dyn Clock>,
    store: Store,
    by_tool: HashMap<String, RateLimit>,
    /// Read from the journal once.
    calls: OnceCell<Mutex<ByTool>>,
}

type ByTool = HashMap<String, Calls>;

/// How long the turn of a waiting run is kept for it after its wait is over.
const TURN_KEPT: Duration = Duration::from_secs(30);

/// The calls of one tool.
#[derive(Default)]
struct Calls {
    /// When those of the last hour were made, the oldest first.
    made: VecDeque<Instant>,
    /// The runs that wait for a permit, in the order of their turns, and until when the turn of each is kept.
    waiting: VecDeque<(RunId, Instant)>,
}

/// Milliseconds on the monotonic clock; before its beginning for what the journal tells of.
type Instant = i128;

impl Calls {
    /// Those that were made so long before `now`.
    fn of_ages(now: Instant, ages: impl Iterator<Item = i64>) -> Self {
        let mut calls: Vec<Instant> = ages.map(|age| now - Instant::from(age.max(0))).collect();
        calls.sort_unstable();
        Self { made: calls.into(), waiting: VecDeque::new() }
    }

    fn forget(&mut self, now: Instant) {
        while self.made.front().is_some_and(|call| now - call >= millis(HOUR)) {
            self.made.pop_front();
        }
        self.waiting.retain(|(_, kept_until)| now < *kept_until);
    }

    /// How long until `run` may call, behind those that wait before it; none when it may now. A run that `may_wait` gets a
    /// turn.
    fn wait(
        &mut self,
        rate: RateLimit,
        now: Instant,
        run: &RunId,
        may_wait: bool,
    ) -> Option<Duration> {
        self.forget(now);
        let turn = self.waiting.iter().position(|(waiting, _)| waiting == run);
        let ahead = turn.unwrap_or(self.waiting.len());
        let waits = [(rate.per_minute, MINUTE), (rate.per_hour, HOUR)];
        let wait = waits
            .into_iter()
            .filter_map(|(most, span)| self.wait_for(most, ahead, span, now))
            .max()?;
        if may_wait {
            let kept_until = now + millis(wait) + millis(TURN_KEPT);
            match turn {
                Some(turn) => self.waiting[turn].1 = kept_until,
                None => self.waiting.push_back((run.clone(), kept_until)),
            }
        }
        Some(wait)
    }

    /// Takes a permit, or says how long until there is one for `run`.
    fn take(
        &mut self,
        rate: RateLimit,
        now: Instant,
        run: &RunId,
        may_wait: bool,
    ) -> Result<(), Duration> {
        if let Some(wait) = self.wait(rate, now, run, may_wait) {
            return Err(wait);
        }
        self.waiting.retain(|(waiting, _)| waiting != run);
        self.made.push_back(now);
        Ok(())
    }

    /// The one that was taken at `at` was not made.
    fn give_back(&mut self, at: Instant) {
        if let Some(index) = self.made.iter().rposition(|call| *call == at) {
            self.made.remove(index);
        }
    }

    /// How long until fewer than `most` calls are younger than `span`, when those `ahead` have made theirs as soon as they
    /// could.
    fn wait_for(&self, most: u32, ahead: usize, span: Duration, now: Instant) -> Option<Duration> {
        let most = most.max(1) as usize;
        // Turns that are more than a full limit ahead wait for one span each.
        let (spans, ahead) = (ahead / most, ahead % most);
        let nth_newest = (self.made.len() + ahead).checked_sub(most)?;
        let freed_at = self.made.get(nth_newest).copied().unwrap_or(now) + millis(span);
        let left = freed_at + millis(span) * Instant::try_from(spans).unwrap_or(0) - now;
        u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_millis)
    }
}

/// A place among the calls of a tool. It is free again when it is dropped before the call has begun.
pub(super) struct Place<'l> {
    calls: &'l Mutex<ByTool>,
    tool: String,
    at: Instant,
    is_used: bool,
}

impl Place<'_> {
    /// The call has begun.
    pub(super) fn used(mut self) {
        self.is_used = true;
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.is_used
            && let Some(calls) = locked(self.calls).get_mut(&self.tool)
        {
            calls.give_back(self.at);
        }
    }
}

fn locked(calls: &Mutex<ByTool>) -> MutexGuard<'_, ByTool> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

fn millis(span: Duration) -> Instant {
    Instant::try_from(span.as_millis()).expect("BUG: a time that no clock reaches")
}

impl CallLimits {
    pub(super) fn new<'s>(
        specs: impl Iterator<Item = &'s ToolSpec>,
        store: &Store,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let limited = specs.filter(|spec| spec.rate != RateLimit::NONE);
        let by_tool = limited.map(|spec| (spec.name.clone(), spec.rate)).collect();
        let (clock, store) = (Arc::clone(clock), store.clone());
        Self { clock, store, by_tool, calls: OnceCell::new() }
    }

    /// How long to wait for a call of `tool`; none when one may be made now. Nothing is taken.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub(super) async fn wait(
        &self,
        tool: &str,
        run: &RunId,
        may_wait: bool,
    ) -> Result<Option<Duration>, StoreError> {
        let Some(rate) = self.by_tool.get(tool) else { return Ok(None) };
        let mut calls = locked(self.calls.get_or_try_init(|| self.before()).await?);
        let now = self.now();
        Ok(calls.get_mut(tool).and_then(|calls| calls.wait(*rate, now, run, may_wait)))
    }

    /// Takes one call of `tool`, no place where it has no limit; how long to wait when there is none left.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub(super) async fn take(
        &self,
        tool: &str,
        run: &RunId,
        may_wait: bool,
    ) -> Result<Result<Option<Place<'_>>, Duration>, StoreError> {
        let Some(rate) = self.by_tool.get(tool) else { return Ok(Ok(None)) };
        let calls = self.calls.get_or_try_init(|| self.before()).await?;
        let mut by_tool = locked(calls);
        // Read behind the lock, so that the newest stays the last.
        let at = self.now();
        let taken = by_tool.entry(tool.to_owned()).or_default().take(*rate, at, run, may_wait);
        Ok(taken.map(|()| Some(Place { calls, tool: tool.to_owned(), at, is_used: false })))
    }

    /// What the journal knows of the last hour.
    async fn before(&self) -> Result<Mutex<ByTool>, StoreError> {
        let wall = self.clock.now();
        let since = wall.plus_ms(-i64::try_from(HOUR.as_millis()).unwrap_or(i64::MAX));
        let mut ages: HashMap<String, Vec<i64>> = HashMap::new();
        for (tool, at) in self.store.called_since(since).await? {
            ages.entry(tool).or_default().push(wall.0 - at.0);
        }
        let now = self.now();
        let calls =
            ages.into_iter().map(|(tool, ages)| (tool, Calls::of_ages(now, ages.into_iter())));
        Ok(Mutex::new(calls.collect()))
    }

    fn now(&self) -> Instant {
        millis(self.clock.monotonic())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: RateLimit = RateLimit { per_minute: 2, per_hour: 3 };

    fn taken(calls: &mut Calls, seconds: i128) -> Option<u64> {
        taken_by(calls, seconds, "chat", false)
    }

    fn taken_by(calls: &mut Calls, seconds: i128, run: &str, may_wait: bool) -> Option<u64> {
        let taken = calls.take(RATE, seconds * 1_000, &RunId::new(run), may_wait);
        taken.err().map(|wait| wait.as_secs())
    }

    #[test]
    fn waiting_runs_get_their_permits_in_turn() {
        let mut calls = Calls::default();
        let rate = RateLimit { per_minute: 1, per_hour: 100 };
        let mut take = |seconds: i128, run: &str, may_wait| {
            let taken = calls.take(rate, seconds * 1_000, &RunId::new(run), may_wait);
            taken.err().map(|wait| wait.as_secs())
        };
        assert_eq!(take(0, "a", true), None);
        assert_eq!(take(10, "b", true), Some(50));
        assert_eq!(take(20, "c", true), Some(100), "one minute behind b");
        assert_eq!(take(30, "chat", false), Some(150), "and the chat behind both");
        assert_eq!(take(60, "c", true), Some(60), "it is b's turn");
        assert_eq!(take(60, "b", true), None);
        assert_eq!(take(120, "c", true), None);
    }

    #[test]
    fn turn_of_a_run_that_never_comes_is_given_up() {
        let mut calls = Calls::default();
        for at in [0, 1] {
            assert_eq!(taken_by(&mut calls, at, "a", true), None);
        }
        assert_eq!(taken_by(&mut calls, 2, "gone", true), Some(58));
        assert_eq!(taken_by(&mut calls, 91, "b", true), None, "60 + 30 s later");
    }

    #[test]
    fn any_minute_and_any_hour_have_their_bounds() {
        let mut calls = Calls::default();
        assert_eq!(
            [0, 10, 20, 59].map(|at| taken(&mut calls, at)),
            [None, None, Some(40), Some(1)]
        );
        assert_eq!([60, 61].map(|at| taken(&mut calls, at)), [None, Some(3_539)]);
        assert_eq!([3_599, 3_600, 3_601].map(|at| taken(&mut calls, at)), [Some(1), None, Some(9)]);
    }

    #[test]
    fn a_place_whose_call_has_not_begun_is_free_again() {
        let mut calls = Calls::default();
        assert_eq!([0, 10].map(|at| taken(&mut calls, at)), [None, None]);
        let calls = Mutex::new(ByTool::from([("rare".to_owned(), calls)]));
        let place = || Place { calls: &calls, tool: "rare".to_owned(), at: 10_000, is_used: false };
        let taken = |seconds| taken(locked(&calls).get_mut("rare").expect("calls"), seconds);
        place().used();
        assert_eq!(taken(20), Some(40));
        drop(place());
        assert_eq!([20, 21].map(taken), [None, Some(39)]);
    }

    #[test]
    fn what_is_older_than_this_clock_counts_until_its_hour_is_over() {
        let mut calls = Calls::of_ages(0, [3_500_000, 30_000, -5].into_iter());
        assert_eq!(taken(&mut calls, 0), Some(100));
        assert_eq!(taken(&mut calls, 100), None);
    }
}
