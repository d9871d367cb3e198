//! The rate limits of tools.
//!
//! Owns the calls of each tool, over all jobs and the main session, in sliding windows of a minute and an hour on the
//! monotonic clock. Runs of jobs queue for permits in order of arrival; a chat never waits. After a start, the calls of the
//! last hour come from the journal. Written calls and `complete_run` do not count. Pitfall: counting refused calls; a model
//! that keeps trying would lock itself out.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rouse_core::tool::RateLimit;
use rouse_core::{Clock, RunId};
use rouse_store::{Store, StoreError};
use tokio::sync::OnceCell;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// The rate limits of all tools.
pub(super) struct RateLimits {
    clock: Arc<dyn Clock>,
    store: Store,
    /// Read from the journal with the first call.
    calls: OnceCell<Mutex<ByTool>>,
}

type ByTool = HashMap<String, ToolCalls>;

/// How long a run stays in the queue after its wait.
const TURN_GRACE: Duration = Duration::from_secs(30);

/// The calls of a tool.
#[derive(Default)]
struct ToolCalls {
    /// Times of the calls of the last hour, the oldest first.
    made: VecDeque<Instant>,
    /// The runs that wait for a permit in order, each with the end of the grace.
    waiting: VecDeque<(RunId, Instant)>,
}

/// Milliseconds on the monotonic clock; negative for calls before this start.
type Instant = i128;

impl ToolCalls {
    /// Calls with these ages in milliseconds.
    fn with_ages(now: Instant, ages: impl Iterator<Item = i64>) -> Self {
        let mut calls: Vec<Instant> = ages.map(|age| now - Instant::from(age.max(0))).collect();
        calls.sort_unstable();
        Self { made: calls.into(), waiting: VecDeque::new() }
    }

    fn drop_expired(&mut self, now: Instant) {
        while self.made.front().is_some_and(|call| now - call >= millis(HOUR)) {
            self.made.pop_front();
        }
        self.waiting.retain(|(_, grace_until)| now < *grace_until);
    }

    /// The wait until `run` gets a permit behind earlier runs; none if available now. A run that `may_wait` joins the
    /// queue.
    fn wait(
        &mut self,
        rate: RateLimit,
        now: Instant,
        run: &RunId,
        may_wait: bool,
    ) -> Option<Duration> {
        self.drop_expired(now);
        let turn = self.waiting.iter().position(|(waiting, _)| waiting == run);
        let ahead = turn.unwrap_or(self.waiting.len());
        let waits = [(rate.per_minute, MINUTE), (rate.per_hour, HOUR)];
        let wait = waits
            .into_iter()
            .filter_map(|(most, span)| self.wait_for(most, ahead, span, now))
            .max()?;
        if may_wait {
            let grace_until = now + millis(wait) + millis(TURN_GRACE);
            match turn {
                Some(turn) => self.waiting[turn].1 = grace_until,
                None => self.waiting.push_back((run.clone(), grace_until)),
            }
        }
        Some(wait)
    }

    /// Takes a permit for `run`, or returns the wait.
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

    /// Returns the permit that was taken at `at`.
    fn release(&mut self, at: Instant) {
        if let Some(index) = self.made.iter().rposition(|call| *call == at) {
            self.made.remove(index);
        }
    }

    /// How long until fewer than `most` calls are younger than `span`, if the `ahead` earlier runs call as soon as
    /// possible.
    fn wait_for(&self, most: u32, ahead: usize, span: Duration, now: Instant) -> Option<Duration> {
        let most = most.max(1) as usize;
        // Every `most` runs ahead take a whole span.
        let (spans, ahead) = (ahead / most, ahead % most);
        let nth_newest = (self.made.len() + ahead).checked_sub(most)?;
        let freed_at = self.made.get(nth_newest).copied().unwrap_or(now) + millis(span);
        let left = freed_at + millis(span) * Instant::try_from(spans).unwrap_or(0) - now;
        u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_millis)
    }
}

/// A permit of a tool's rate limit. Dropping without `consume` releases the permit.
pub(super) struct RatePermit<'l> {
    calls: &'l Mutex<ByTool>,
    tool: String,
    at: Instant,
    is_consumed: bool,
}

impl RatePermit<'_> {
    /// Counts the call as made.
    pub(super) fn consume(mut self) {
        self.is_consumed = true;
    }
}

impl Drop for RatePermit<'_> {
    fn drop(&mut self) {
        if !self.is_consumed
            && let Some(calls) = locked(self.calls).get_mut(&self.tool)
        {
            calls.release(self.at);
        }
    }
}

fn locked(calls: &Mutex<ByTool>) -> MutexGuard<'_, ByTool> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

fn millis(span: Duration) -> Instant {
    Instant::try_from(span.as_millis()).expect("BUG: a duration fits into 128 bits")
}

impl RateLimits {
    pub(super) fn new(store: &Store, clock: &Arc<dyn Clock>) -> Self {
        Self { clock: Arc::clone(clock), store: store.clone(), calls: OnceCell::new() }
    }

    /// Takes a permit for a call of `tool`, or returns the wait. A tool without a limit has no permit.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub(super) async fn take(
        &self,
        tool: &str,
        rate: RateLimit,
        run: &RunId,
        may_wait: bool,
    ) -> Result<Result<Option<RatePermit<'_>>, Duration>, StoreError> {
        if rate == RateLimit::NONE {
            return Ok(Ok(None));
        }
        let calls = self.calls.get_or_try_init(|| self.journalled_calls()).await?;
        let mut by_tool = locked(calls);
        // Read under the lock, so that the times stay sorted.
        let at = self.now();
        let taken = by_tool.entry(tool.to_owned()).or_default().take(rate, at, run, may_wait);
        Ok(taken
            .map(|()| Some(RatePermit { calls, tool: tool.to_owned(), at, is_consumed: false })))
    }

    /// The calls of the last hour in the journal.
    async fn journalled_calls(&self) -> Result<Mutex<ByTool>, StoreError> {
        let wall = self.clock.now();
        let since = wall.plus_ms(-i64::try_from(HOUR.as_millis()).unwrap_or(i64::MAX));
        let mut ages: HashMap<String, Vec<i64>> = HashMap::new();
        for (tool, at) in self.store.tool_calls_since(since).await? {
            ages.entry(tool).or_default().push(wall.0 - at.0);
        }
        let now = self.now();
        let calls = ages
            .into_iter()
            .map(|(tool, ages)| (tool, ToolCalls::with_ages(now, ages.into_iter())));
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

    fn taken(calls: &mut ToolCalls, seconds: i128) -> Option<u64> {
        taken_by(calls, seconds, "chat", false)
    }

    fn taken_by(calls: &mut ToolCalls, seconds: i128, run: &str, may_wait: bool) -> Option<u64> {
        let taken = calls.take(RATE, seconds * 1_000, &RunId::new(run), may_wait);
        taken.err().map(|wait| wait.as_secs())
    }

    #[test]
    fn waiting_runs_get_their_permits_in_turn() {
        let mut calls = ToolCalls::default();
        let rate = RateLimit { per_minute: 1, per_hour: 100 };
        let mut take = |seconds: i128, run: &str, may_wait| {
            let taken = calls.take(rate, seconds * 1_000, &RunId::new(run), may_wait);
            taken.err().map(|wait| wait.as_secs())
        };
        assert_eq!(take(0, "a", true), None);
        assert_eq!(take(10, "b", true), Some(50));
        assert_eq!(take(20, "c", true), Some(100), "a minute behind b");
        assert_eq!(take(30, "chat", false), Some(150), "and the chat behind both");
        assert_eq!(take(60, "c", true), Some(60), "b's turn");
        assert_eq!(take(60, "b", true), None);
        assert_eq!(take(120, "c", true), None);
    }

    #[test]
    fn turn_of_an_absent_run_expires() {
        let mut calls = ToolCalls::default();
        for at in [0, 1] {
            assert_eq!(taken_by(&mut calls, at, "a", true), None);
        }
        assert_eq!(taken_by(&mut calls, 2, "gone", true), Some(58));
        assert_eq!(taken_by(&mut calls, 91, "b", true), None, "60 + 30 s later");
    }

    #[test]
    fn any_minute_and_any_hour_are_limited() {
        let mut calls = ToolCalls::default();
        assert_eq!(
            [0, 10, 20, 59].map(|at| taken(&mut calls, at)),
            [None, None, Some(40), Some(1)]
        );
        assert_eq!([60, 61].map(|at| taken(&mut calls, at)), [None, Some(3_539)]);
        assert_eq!([3_599, 3_600, 3_601].map(|at| taken(&mut calls, at)), [Some(1), None, Some(9)]);
    }

    #[test]
    fn dropped_permit_is_released() {
        let mut calls = ToolCalls::default();
        assert_eq!([0, 10].map(|at| taken(&mut calls, at)), [None, None]);
        let calls = Mutex::new(ByTool::from([("rare".to_owned(), calls)]));
        let permit = || RatePermit {
            calls: &calls,
            tool: "rare".to_owned(),
            at: 10_000,
            is_consumed: false,
        };
        let taken = |seconds| taken(locked(&calls).get_mut("rare").expect("calls"), seconds);
        permit().consume();
        assert_eq!(taken(20), Some(40));
        drop(permit());
        assert_eq!([20, 21].map(taken), [None, Some(39)]);
    }

    #[test]
    fn calls_before_this_start_count_for_an_hour() {
        let mut calls = ToolCalls::with_ages(0, [3_500_000, 30_000, -5].into_iter());
        assert_eq!(taken(&mut calls, 0), Some(100));
        assert_eq!(taken(&mut calls, 100), None);
    }
}
