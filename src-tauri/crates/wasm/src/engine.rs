//! The engine that runs compiled components, and its clock for time limits.
//!
//! Owns the settings, which compiler and engine share, and one engine per process, made on first use. The engine of a
//! running program has no compiler: it loads only what the compiler process wrote. Pitfall: a setting of one side
//! only; the engine then refuses every compiled component.

use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use wasmtime::{Config, Engine};

use crate::error::GuestError;

/// The version of wasmtime, in the names of compiled files. A test compares it with the lock file.
pub const ENGINE_VERSION: &str = "48.0.8";

/// The time between two ticks of the epoch clock.
pub(crate) const EPOCH_TICK: Duration = Duration::from_millis(10);

/// Stack of a guest.
const GUEST_STACK_BYTES: usize = 1 << 20;

/// Stack of a guest with the host functions that it calls.
const CALL_STACK_BYTES: usize = 3 << 20;

/// The settings of the compiler process.
pub(crate) fn compiler_engine() -> wasmtime::Result<Engine> {
    Engine::new(&settings())
}

/// The engine of this process, without a compiler.
pub(crate) fn running_engine() -> Result<&'static Engine, GuestError> {
    static ENGINE: OnceLock<Result<Engine, String>> = OnceLock::new();
    let made = ENGINE.get_or_init(|| {
        Engine::new(settings().enable_compiler(false)).map_err(|error| error.to_string())
    });
    made.as_ref().map_err(|cause| GuestError::Engine(cause.clone()))
}

fn settings() -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(GUEST_STACK_BYTES)
        .async_stack_size(CALL_STACK_BYTES)
        .generate_address_map(false)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false);
    config
}

/// Ticks the epoch of the engine while calls run. A thread of its own: busy guests may hold every thread of the
/// runtime. The thread waits without a limit while no call runs.
pub(crate) struct EpochClock {
    calls: Arc<(Mutex<usize>, Condvar)>,
}

impl EpochClock {
    /// Starts the ticks for one call; dropping the permit ends them.
    pub(crate) fn tick(engine: &'static Engine) -> EpochTicks {
        static CLOCK: OnceLock<EpochClock> = OnceLock::new();
        let clock = CLOCK.get_or_init(|| Self::start(engine));
        let (calls, changed) = &*clock.calls;
        *calls.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        changed.notify_one();
        EpochTicks { calls: Arc::clone(&clock.calls) }
    }

    fn start(engine: &'static Engine) -> Self {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let calls = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("wasm-epoch".to_owned());
        // Without the thread, fuel and the outer time limit still end a call.
        if let Err(error) = thread.spawn(move || tick_while_calls_run(engine, &calls)) {
            tracing::warn!(%error, "the epoch clock of WebAssembly did not start");
        }
        Self { calls: shared }
    }
}

fn tick_while_calls_run(engine: &Engine, (calls, changed): &(Mutex<usize>, Condvar)) {
    let mut running = calls.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        running = changed
            .wait_while(running, |running| *running == 0)
            .unwrap_or_else(PoisonError::into_inner);
        // A call that begins in between must not shorten the tick of the others.
        let waited = changed.wait_timeout_while(running, EPOCH_TICK, |_| true);
        running = waited.unwrap_or_else(PoisonError::into_inner).0;
        engine.increment_epoch();
    }
}

/// The ticks for one call.
pub(crate) struct EpochTicks {
    calls: Arc<(Mutex<usize>, Condvar)>,
}

impl Drop for EpochTicks {
    fn drop(&mut self) {
        *self.calls.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_version_is_that_of_the_lock_file() {
        let lock = include_str!("../../../../Cargo.lock");
        let entry = format!("name = \"wasmtime\"\nversion = \"{ENGINE_VERSION}\"\n");
        assert!(lock.replace('\r', "").contains(&entry));
    }

    #[test]
    fn running_engine_has_no_compiler() {
        let engine = running_engine().expect("an engine");
        assert!(engine.precompile_component(b"\0asm\x0d\0\x01\0").is_err());
    }
}
