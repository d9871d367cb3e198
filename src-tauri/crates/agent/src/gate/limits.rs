//! How often a tool may be called.
//!
//! One limiter a tool, shared by all runs: what it protects (a web server, the person's attention) does not care which
//! job calls. It counts on the app's monotonic clock, so a test can let a minute pass.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use rouse_core::Clock;
use rouse_core::tool::ToolSpec;

#[derive(Clone)]
struct Monotonic(Arc<dyn Clock>);

impl governor::clock::Clock for Monotonic {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.monotonic()
    }
}

type Limiter = RateLimiter<NotKeyed, InMemoryState, Monotonic, NoOpMiddleware<Duration>>;

/// The limiters of all tools.
pub(super) struct CallLimits {
    clock: Arc<dyn Clock>,
    by_tool: HashMap<String, Limiter>,
}

impl CallLimits {
    pub(super) fn new<'s>(specs: impl Iterator<Item = &'s ToolSpec>, clock: &Arc<dyn Clock>) -> Self {
        let by_tool = specs.map(|spec| {
            let a_minute = NonZeroU32::new(spec.calls_per_minute).unwrap_or(NonZeroU32::MIN);
            let limiter = RateLimiter::direct_with_clock(Quota::per_minute(a_minute), Monotonic(Arc::clone(clock)));
            (spec.name.clone(), limiter)
        });
        Self { clock: Arc::clone(clock), by_tool: by_tool.collect() }
    }

    /// Takes one call of `tool`.
    ///
    /// # Errors
    /// How long to wait when there is none left.
    pub(super) fn take(&self, tool: &str) -> Result<(), Duration> {
        match self.by_tool.get(tool).map(Limiter::check) {
            Some(Err(not_until)) => Err(not_until.wait_time_from(self.clock.monotonic())),
            Some(Ok(())) | None => Ok(()),
        }
    }
}
