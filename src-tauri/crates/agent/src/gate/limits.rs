//! How often a tool may be called.
//!
//! One count a tool, over all jobs and the main session: there is one machine and one person, and ten jobs that call in
//! circles must not reach ten times as far as one. A caller has no share of its own in it: a share would have to be
//! smaller than the limit, and would refuse calls that nobody else wants to make. What keeps one job from using up what
//! others need is that its steps are limited, that it is ended when it goes in circles, and that runs have few places;
//! what it has used up comes back within the minute or the hour. What a person has written into a job is theirs and not
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

use rouse_core::Clock;
use rouse_core::tool::{RateLimit, ToolSpec};
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

/// The ages of the calls of the last hour, as the monotonic time of each less its count's own beginning; the oldest
/// first.
#[derive(Default)]
struct Calls(VecDeque<Instant>);

/// Milliseconds on the monotonic clock; before its beginning for what the journal tells of.
type Instant = i128;

impl Calls {
    /// Those that were made so long before `now`.
    fn of_ages(now: Instant, ages: impl Iterator<Item = i64>) -> Self {
        let mut calls: Vec<Instant> = ages.map(|age| now - Instant::from(age.max(0))).collect();
        calls.sort_unstable();
        Self(calls.into())
    }

    fn forget(&mut self, now: Instant) {
        while self.0.front().is_some_and(|call| now - call >= millis(HOUR)) {
            self.0.pop_front();
        }
    }

    /// How long until there is one; none when there is one now.
    fn wait(&mut self, rate: RateLimit, now: Instant) -> Option<Duration> {
        self.forget(now);
        let waits = [(rate.per_minute, MINUTE), (rate.per_hour, HOUR)];
        waits.into_iter().filter_map(|(most, span)| self.wait_for(most, span, now)).max()
    }

    /// Takes one, or says how long until there is one.
    fn take(&mut self, rate: RateLimit, now: Instant) -> Result<(), Duration> {
        match self.wait(rate, now) {
            Some(wait) => Err(wait),
            None => {
                self.0.push_back(now);
                Ok(())
            }
        }
    }

    /// The one that was taken at `at` was not made.
    fn give_back(&mut self, at: Instant) {
        if let Some(index) = self.0.iter().rposition(|call| *call == at) {
            self.0.remove(index);
        }
    }

    /// How long until less than `most` calls are younger than `span`.
    fn wait_for(&self, most: u32, span: Duration, now: Instant) -> Option<Duration> {
        let nth_newest = self.0.len().checked_sub(most.max(1) as usize)?;
        let left = self.0[nth_newest] + millis(span) - now;
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
    pub(super) async fn wait(&self, tool: &str) -> Result<Option<Duration>, StoreError> {
        let Some(rate) = self.by_tool.get(tool) else { return Ok(None) };
        let mut calls = locked(self.calls.get_or_try_init(|| self.before()).await?);
        Ok(calls.get_mut(tool).and_then(|calls| calls.wait(*rate, self.now())))
    }

    /// Takes one call of `tool`, no place where it has no limit; how long to wait when there is none left.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub(super) async fn take(
        &self,
        tool: &str,
    ) -> Result<Result<Option<Place<'_>>, Duration>, StoreError> {
        let Some(rate) = self.by_tool.get(tool) else { return Ok(Ok(None)) };
        let calls = self.calls.get_or_try_init(|| self.before()).await?;
        let mut by_tool = locked(calls);
        // Read behind the lock, so that the newest stays the last.
        let at = self.now();
        let taken = by_tool.entry(tool.to_owned()).or_default().take(*rate, at);
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
        calls.take(RATE, seconds * 1_000).err().map(|wait| wait.as_secs())
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
