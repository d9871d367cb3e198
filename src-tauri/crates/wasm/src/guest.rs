//! Calls of guests: a component, or a script on the engine component.
//!
//! Owns the store of a call, its limits, the permits of running calls, and the end of every call within its time. Each
//! call has a store and an instance of its own, so nothing stays between calls. Never compiles inside a time limit of a
//! call. Pitfall: a limit that host calls do not count against; the outer time limit covers them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;
use wasmtime::component::Component;
use wasmtime::{Engine, Store, Trap};

use crate::cache::{ComponentBytes, ComponentCache};
use crate::engine::{EPOCH_TICK, EpochClock, running_engine};
use crate::error::{GuestError, GuestTrap};
use crate::host::{CallRecord, CallState, GuestPorts, ToolLog, linker_for, ungranted_imports};
use crate::limits::{FUEL_YIELD_INTERVAL, GuestLimits, HOST_CALL_BYTES, MAX_CALLS, MAX_HANDLES};
use crate::permissions::ToolPermissions;
use crate::world::{RUN, world_problem};

/// Bound of a guest's error text.
const MAX_ERROR_BYTES: usize = 4_096;

/// Bound of a function's name in an error.
const MAX_NAME_BYTES: usize = 200;

/// What a call runs.
#[derive(Debug, Clone)]
pub enum Guest {
    /// A component of the world `tool`.
    Component(ComponentBytes),
    /// A script on a component of the world `script-engine`.
    Script {
        /// The engine.
        engine: ComponentBytes,
        /// The source of the script.
        source: Arc<str>,
    },
}

impl Guest {
    /// The component that runs.
    #[must_use]
    pub const fn component(&self) -> &ComponentBytes {
        match self {
            Self::Component(component) => component,
            Self::Script { engine, .. } => engine,
        }
    }
}

/// A call that succeeded.
#[derive(Debug, Clone, PartialEq)]
pub struct CallReport {
    /// The result.
    pub result: Value,
    /// The log.
    pub log: ToolLog,
    /// The number of HTTP exchanges.
    pub http_exchanges: usize,
}

/// A call that ended, with the log also of a failure.
#[derive(Debug, Clone, PartialEq)]
pub struct CallTrace {
    /// The result, or the failure.
    pub result: Result<Value, GuestError>,
    /// The log.
    pub log: ToolLog,
    /// The number of HTTP exchanges.
    pub http_exchanges: usize,
}

/// Runs guests, a few at once.
pub struct WasmRuntime {
    cache: ComponentCache,
    permits: Semaphore,
}

impl WasmRuntime {
    /// A runtime with this cache.
    #[must_use]
    pub const fn new(cache: ComponentCache) -> Self {
        Self { cache, permits: Semaphore::const_new(MAX_CALLS) }
    }

    /// The compiled components.
    #[must_use]
    pub const fn cache(&self) -> &ComponentCache {
        &self.cache
    }

    /// Compiles the component of `guest`, so that no call has to wait for that.
    ///
    /// # Errors
    /// The component is not valid, or the compiler failed.
    pub async fn prepare(&self, guest: &Guest) -> Result<(), GuestError> {
        self.cache.get(guest.component()).await.map(drop)
    }

    /// The problems of the component of `guest`, as sentences: its world and its imports.
    pub async fn problems_of(&self, guest: &Guest, grants: &ToolPermissions) -> Vec<String> {
        let engine = running_engine();
        let (component, engine) = match (self.cache.get(guest.component()).await, engine) {
            (Ok(component), Ok(engine)) => (component, engine),
            (Err(error), _) | (_, Err(error)) => return vec![error.to_string()],
        };
        match guest {
            Guest::Component(_) => {
                let imports = ungranted_imports(engine, &component, grants).into_iter();
                let imports = imports.map(|name| GuestError::ImportNotGranted(name).to_string());
                world_problem(engine, &component, 1).into_iter().chain(imports).collect()
            }
            // The engine comes with Rouse.
            Guest::Script { .. } => world_problem(engine, &component, 2).into_iter().collect(),
        }
    }

    /// Calls a guest.
    ///
    /// # Errors
    /// The call failed; see [`GuestError`].
    pub async fn call(
        &self,
        guest: &Guest,
        arguments: &Value,
        grants: &ToolPermissions,
        limits: &GuestLimits,
        ports: &GuestPorts,
    ) -> Result<CallReport, GuestError> {
        let CallTrace { result, log, http_exchanges } =
            self.trace_call(guest, arguments, grants, limits, ports).await;
        Ok(CallReport { result: result?, log, http_exchanges })
    }

    /// Calls a guest, and keeps the log of a failure.
    pub async fn trace_call(
        &self,
        guest: &Guest,
        arguments: &Value,
        grants: &ToolPermissions,
        limits: &GuestLimits,
        ports: &GuestPorts,
    ) -> CallTrace {
        let record = Arc::new(Mutex::new(CallRecord::default()));
        let state =
            CallState::new(grants.clone(), limits.clone(), ports.clone(), Arc::clone(&record));
        let output = self.run(guest, arguments, state).await;
        let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
        let result = match output {
            Ok(text) => parse_output(&record.secrets.redact(&text), limits.output_bytes),
            Err(error) => Err(redact_error(error, &record)),
        };
        let log = std::mem::take(&mut record.log);
        CallTrace { result, log, http_exchanges: record.http_exchanges }
    }

    /// The result as text.
    async fn run(
        &self,
        guest: &Guest,
        arguments: &Value,
        state: CallState,
    ) -> Result<String, GuestError> {
        let arguments = arguments.to_string();
        let (bytes, limit) = (arguments.len(), state.limits.arguments_bytes);
        if bytes > limit {
            return Err(GuestError::ArgumentsTooLarge { bytes, limit });
        }
        let component = self.cache.get(guest.component()).await?;
        let engine = running_engine()?;
        // The engine of scripts comes with Rouse and imports everything; each import checks its own permission.
        if let Guest::Component(_) = guest
            && let Some(import) = ungranted_imports(engine, &component, &state.grants).pop()
        {
            return Err(GuestError::ImportNotGranted(import));
        }
        let time = state.limits.time;
        let mut is_queued = true;
        let running = async {
            let _permit = self.permits.acquire().await.expect("BUG: the permits are never closed");
            is_queued = false;
            run_instance(engine, guest, &component, &arguments, state).await
        };
        match tokio::time::timeout(time, running).await {
            Ok(output) => output,
            Err(_) if is_queued => Err(GuestError::Queued { calls: MAX_CALLS, time }),
            Err(_) => Err(GuestError::TimeLimit(time)),
        }
    }
}

/// Runs an instance in a store of its own.
async fn run_instance(
    engine: &'static Engine,
    guest: &Guest,
    component: &Component,
    arguments: &str,
    state: CallState,
) -> Result<String, GuestError> {
    let (time, fuel) = (state.limits.time, state.limits.fuel);
    let _ticks = EpochClock::tick(engine);
    let mut store = Store::new(engine, state);
    store.limiter(|state| &mut state.growth);
    let ticks = time.as_millis() / EPOCH_TICK.as_millis() + 2;
    store.set_epoch_deadline(u64::try_from(ticks).unwrap_or(u64::MAX).min(u64::MAX / 2));
    store.set_hostcall_fuel(HOST_CALL_BYTES);
    store.set_max_component_handles(MAX_HANDLES);
    let fueled = store
        .set_fuel(fuel)
        .and_then(|()| store.fuel_async_yield_interval(Some(FUEL_YIELD_INTERVAL)));
    fueled.map_err(|error| GuestError::Engine(error.to_string()))?;
    let linker = linker_for(engine, component).map_err(|error| unusable(&error))?;
    let instance = linker.instantiate_async(&mut store, component).await;
    let instance =
        instance.map_err(|error| trap_of(&error, time).unwrap_or_else(|| unusable(&error)))?;
    let ended = match guest {
        Guest::Component(_) => {
            let run =
                instance.get_typed_func::<(&str,), (Result<String, String>,)>(&mut store, RUN);
            let run = run.map_err(|error| unusable(&error))?;
            run.call_async(&mut store, (arguments,)).await
        }
        Guest::Script { source, .. } => {
            let run =
                instance.get_typed_func::<(&str, &str), (Result<String, String>,)>(&mut store, RUN);
            let run = run.map_err(|error| unusable(&error))?;
            run.call_async(&mut store, (source, arguments)).await
        }
    };
    let (output,) = ended.map_err(|error| {
        trap_of(&error, time).unwrap_or_else(|| {
            tracing::debug!(error = format!("{error:#}"), "a tool broke the canonical ABI");
            GuestError::Trap(GuestTrap::BadData)
        })
    })?;
    output.map_err(GuestError::Tool)
}

fn unusable(error: &wasmtime::Error) -> GuestError {
    GuestError::Unusable(format!("{error:#}"))
}

/// The trap in an error of the engine.
fn trap_of(error: &wasmtime::Error, time: Duration) -> Option<GuestError> {
    let trap = match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => return Some(GuestError::TimeLimit(time)),
        Some(Trap::StackOverflow) => GuestTrap::Stack,
        Some(Trap::MemoryOutOfBounds | Trap::TableOutOfBounds) => GuestTrap::Memory,
        Some(Trap::UnreachableCodeReached) => GuestTrap::Unreachable,
        Some(Trap::OutOfFuel) => GuestTrap::Fuel,
        Some(_) => GuestTrap::Other,
        // These have no type of their own.
        None => {
            let text = format!("{error:#}");
            if text.contains("too much data is being copied") {
                GuestTrap::HostCallSize
            } else {
                let name = text.split("unknown import: `").nth(1)?.split('`').next()?;
                GuestTrap::Wasi(name[..name.floor_char_boundary(MAX_NAME_BYTES)].to_owned())
            }
        }
    };
    Some(GuestError::Trap(trap))
}

fn parse_output(text: &str, limit: usize) -> Result<Value, GuestError> {
    if text.len() > limit {
        return Err(GuestError::OutputTooLarge { bytes: text.len(), limit });
    }
    serde_json::from_str(text).map_err(|error| GuestError::InvalidOutput(error.to_string()))
}

/// The error with bounded texts and without values of secrets.
fn redact_error(error: GuestError, record: &CallRecord) -> GuestError {
    let clean = |text: String| {
        let text = record.secrets.redact(&text);
        text[..text.floor_char_boundary(MAX_ERROR_BYTES)].to_owned()
    };
    match error {
        GuestError::Tool(text) => GuestError::Tool(clean(text)),
        GuestError::InvalidOutput(text) => GuestError::InvalidOutput(clean(text)),
        GuestError::Unusable(text) => GuestError::Unusable(clean(text)),
        GuestError::Engine(text) => GuestError::Engine(clean(text)),
        other => other,
    }
}
