//! How often a tool may be called.
//!
//! One count a tool and job: it stops a run that calls in circles, and must not let forty jobs that fire at the full
//! hour fail each other. It counts on the app's monotonic clock, so a test can let a minute pass.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::middleware::NoOpMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use rouse_core::tool::ToolSpec;
use rouse_core::{Clock, JobId};

#[derive(Clone)]
struct Monotonic(Arc<dyn Clock>);

impl governor::clock::Clock for Monotonic {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.monotonic()
    }
}

/// Who calls: a job, or the main session.
type Caller = Option<JobId>;

type Limiter = RateLimiter<Caller, HashMapStateStore<Caller>, Monotonic, NoOpMiddleware<Duration>>;

/// Counts kept a tool before those that are full again are dropped.
const MOST_KEPT: usize = 1_024;

/// The limiters of all tools.
pub(super) struct CallLimits {
    clock: Arc<dyn Clock>,
    by_tool: HashMap<String, Both>,
}

/// A minute's bound and an hour's.
struct Both {
    minute: Limiter,
    hour: Limiter,
}

impl CallLimits {
    pub(super) fn new<'s>(
        specs: impl Iterator<Item = &'s ToolSpec>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let by_tool = specs.map(|spec| {
            let most = |count| NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN);
            let limiter =
                |quota| RateLimiter::hashmap_with_clock(quota, Monotonic(Arc::clone(clock)));
            let minute = limiter(Quota::per_minute(most(spec.rate.per_minute)));
            let hour = limiter(Quota::per_hour(most(spec.rate.per_hour)));
            (spec.name.clone(), Both { minute, hour })
        });
        Self { clock: Arc::clone(clock), by_tool: by_tool.collect() }
    }

    /// Takes one call of `tool` by `caller`.
    ///
    /// # Errors
    /// How long to wait when there is none left.
    pub(super) fn take(&self, tool: &str, caller: &Caller) -> Result<(), Duration> {
        let Some(Both { minute, hour }) = self.by_tool.get(tool) else { return Ok(()) };
        // The minute first: a call that it refuses is not one of the hour's.
        for limiter in [minute, hour] {
            if limiter.len() > MOST_KEPT {
                limiter.retain_recent();
            }
            limiter
                .check_key(caller)
                .map_err(|not_until| not_until.wait_time_from(self.clock.monotonic()))?;
        }
        Ok(())
    }
}
