//! The state of one call, which the imports share.
//!
//! Owns what the call has used. The record outlives the store, so a call that is stopped keeps its log. Pitfall: a
//! lock of the record over an await.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rouse_core::Clock;
use rouse_core::http_exchange::HttpExchange;

use super::log::ToolLog;
use super::secrets::{FilledSecrets, SecretFill};
use crate::limits::{GuestLimits, StoreGrowth};
use crate::permissions::ToolPermissions;

/// The ports of a call.
#[derive(Clone)]
pub struct GuestPorts {
    /// The clock of the run.
    pub clock: Arc<dyn Clock>,
    /// Guarded HTTP.
    pub http: Arc<dyn HttpExchange>,
    /// The values of secrets.
    pub secrets: Arc<dyn SecretFill>,
    /// The folder of the tool's files; created when the tool writes. None: no files.
    pub folder: Option<PathBuf>,
    /// Whether requests to this computer may use plain HTTP. For tests.
    pub allows_loopback_http: bool,
}

/// What a call has used.
#[derive(Debug, Default)]
pub(crate) struct CallRecord {
    pub(crate) log: ToolLog,
    pub(crate) http_exchanges: usize,
    pub(crate) secrets: FilledSecrets,
}

/// The data of a store.
pub(crate) struct CallState {
    pub(crate) growth: StoreGrowth,
    pub(crate) grants: ToolPermissions,
    pub(crate) limits: GuestLimits,
    pub(crate) ports: GuestPorts,
    record: Arc<Mutex<CallRecord>>,
}

impl CallState {
    pub(crate) fn new(
        grants: ToolPermissions,
        limits: GuestLimits,
        ports: GuestPorts,
        record: Arc<Mutex<CallRecord>>,
    ) -> Self {
        Self { growth: StoreGrowth::new(limits.memory_bytes), grants, limits, ports, record }
    }

    /// The record, locked.
    pub(crate) fn record(&self) -> MutexGuard<'_, CallRecord> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
